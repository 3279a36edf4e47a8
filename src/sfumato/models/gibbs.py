"""The Gibbs posterior: a loss, a prior, and the constants of its potential."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from sfumato import _validate
from sfumato.errors import ArgumentError, AssumptionError
from sfumato.models._prior import Prior, common_dimension
from sfumato.models._rounding import line_down, line_up, product_up
from sfumato.models.constants import Constants
from sfumato.models.losses.attack import attack
from sfumato.models.losses.protocol import Loss
from sfumato.models.model import LOSSES
from sfumato.schema import Schema

# Named in errors in the place of a theorem: these conditions belong to the model itself.
_THEOREM = "Gibbs posterior"


@dataclass(frozen=True)
class Gibbs:
    """U_D(theta) = power * sum_i l(theta, x_i) - log pi(theta); the posterior is proportional to exp(-U_D) on the
    domain.

    `dimension` is the parameter's; it may be left to the prior or the loss, and must agree with both. With a Softmax
    loss it is classes * features. A known dimension can only make constants smaller (logistic in one dimension). `intercept` is
    the value of a constant feature that is appended to every row, 0 for none; the loss's radius includes it. `terms` are the
    columns of a table that enter, their powers and products ("age", "age^2", "age:sex"), coded as `schema.coding` describes;
    None takes every column by the older coding, one indicator for each level.
    """

    loss: Loss
    prior: Prior
    dimension: int | None = None
    intercept: float = 0.0
    terms: tuple[str, ...] | None = None
    summed: ClassVar[Literal["losses"]] = LOSSES
    conjugate: ClassVar[bool] = False
    goal: ClassVar[str] = "draws"
    quantity: ClassVar[str] = "coefficient"
    highest_power: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        """Check that loss, prior and dimension fit, and that the posterior can be normalised."""
        if not isinstance(self.loss, Loss):
            raise ArgumentError(
                f"loss must be one of sf.losses, or of a class that extends sf.losses.Loss; got {self.loss!r}."
            )
        if not isinstance(self.prior, Prior):
            raise ArgumentError(f"prior must be one of sf.priors; got {self.prior!r}.")
        given = None if self.dimension is None else _validate.whole("dimension", self.dimension)
        agreed = common_dimension("model (dimension, loss and prior)", given, self.loss.dimension, self.prior.dimension)
        object.__setattr__(self, "dimension", agreed)
        object.__setattr__(self, "intercept", _validate.non_negative("intercept", self.intercept))
        object.__setattr__(self, "terms", _texts(self.terms))
        attack(self.loss, self.dimension, self.prior.domain_radius)
        curvature = self.constants.strong_convexity + self.prior.strong_convexity
        if curvature == 0 and self.prior.domain_radius == math.inf:
            raise AssumptionError(
                _THEOREM,
                "proper posterior",
                "m or K",
                "m > 0 or a bounded domain",
                f"m = 0 on R^d with {self.prior}",
                "Use sf.priors.Gaussian, or truncate: sf.priors.Ball(prior, radius=...).",
            )

    @cached_property
    def constants(self) -> Constants:
        """Constants of one record's loss in this dimension and on the prior's domain, at power 1."""
        return self.loss.constants(self.dimension, self.prior.domain_radius)

    def difference(self, power: float) -> float:
        """G, the Lipschitz constant of U_D - U_D' over all neighbours, rounded up."""
        return product_up(_validate.positive("power", power), self.constants.difference)

    def strong_convexity(self, n: int, power: float) -> float:
        """Return m = n m_l power + m_pi, rounded down; an error for a loss that is not convex, which has no such m."""
        count, exponent = _validate.whole("n", n), _validate.positive("power", power)
        constants = self.constants
        if not constants.convex:
            raise AssumptionError(
                _THEOREM,
                "convexity of every loss",
                "convex",
                "True",
                "False",
                "Use a convex loss, or a mechanism priced by its path ('langevin-path').",
            )
        return line_down(count, constants.strong_convexity, exponent, self.prior.strong_convexity)

    def smoothness(self, n: int, power: float) -> float:
        """Return M = n M_l power + M_pi, rounded up; `math.inf` if the loss is not smooth."""
        count, exponent = _validate.whole("n", n), _validate.positive("power", power)
        return line_up(count, self.constants.smoothness, exponent, self.prior.smoothness)

    def strengthened(self, strength: float) -> Gibbs:
        """Return the model with its prior's precision multiplied by `strength`."""
        return self if strength == 1 else self.with_prior(self.prior.scaled(strength))

    def with_prior(self, prior: Prior) -> Gibbs:
        """Return the model with another prior, in the same dimension."""
        return Gibbs(self.loss, prior, self.dimension, self.intercept, self.terms)

    @property
    def size(self) -> int | None:
        """The dimension of the parameter, where it is known."""
        return self.dimension

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns that are read; refuse rows or labels outside the bounds of the loss."""
        from sfumato.models.regression import check_rows, columns_read

        check_rows(self, schema)
        return columns_read(self, schema)

    def released(self, schema: Schema) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """A name for every coefficient, and their number."""
        from sfumato.models.regression import coordinates

        self.columns(schema)
        labels = coordinates(self, schema)
        return labels, (len(labels),)

    def to_json(self) -> dict[str, Any]:
        """{"model": "gibbs", "loss": ..., "prior": ..., "dimension": ...}, and "terms" where there are any."""
        document = {
            "model": "gibbs",
            "loss": self.loss.to_json(),
            "prior": self.prior.to_json(),
            "dimension": self.dimension,
            "intercept": self.intercept,
        }
        return document if self.terms is None else {**document, "terms": list(self.terms)}

    def __str__(self) -> str:
        where = "any dimension" if self.dimension is None else f"{self.dimension} dimension{'s' * (self.dimension > 1)}"
        return f"Gibbs posterior of {self.loss!r} with prior {self.prior}, {where}"


def _texts(terms: Any) -> tuple[str, ...] | None:
    """The terms as a tuple of texts, or None."""
    if terms is None:
        return None
    if not isinstance(terms, list | tuple) or not terms or not all(isinstance(term, str) for term in terms):
        raise ArgumentError(f'terms must be a list of texts such as ["age", "sex", "age:sex"]; got {terms!r}.')
    return tuple(terms)
