"""Base classes of the losses, in this package or outside it.

A loss is a frozen dataclass in a file of its own and one line in the table `LOSSES`. Planning reads its constants, engines
its values and slopes, rehearsals its random labels, releases its predictions, and spec files its name; no other file lists
the losses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.models.constants import Constants
from sfumato.models.losses.labels import LabelInterval, Labels, LabelSet
from sfumato.schema import Category, Column, Number

FloatArray = NDArray[np.float64]

# What one record is: features with a label; a label alone, whose only feature is the constant 1; or a vector of the
# parameter's own dimension.
LABELLED_ROW, LABEL, ROW = "labelled row", "label", "row"
# Points of an interval of labels from which random labels are taken: the interval in steps of half a percent.
_LABEL_POINTS = 201
# Half the distance between the points of a difference quotient: large enough that rounding changes it by 1e-11 only.
_STEP = 1e-5


@dataclass(frozen=True)
class Target:
    """The labels as a spec file and its schema declare them: the column, its name, and numbers for the loss."""

    name: str
    column: Column
    numbers: Mapping[str, Any]

    @property
    def number(self) -> Number:
        """The column, which must be a Number."""
        if not isinstance(self.column, Number):
            raise FormatError(
                f"a {self.numbers['regression']} regression needs a Number as its target; {self.name!r} is none."
            )
        return self.column

    @property
    def levels(self) -> int:
        """How many levels a Category has; 0 for another column."""
        return len(self.column.levels) if isinstance(self.column, Category) else 0

    def given(self, key: str, default: float) -> float:
        """A number of the spec file, which must be finite."""
        return _validate.finite(key, self.numbers.get(key, default))


class Loss:
    """The loss l(theta, x) of one record, with constants that hold for every record.

    The loss of a record with features x and label y depends on theta through its scores: with theta cut into `outputs`
    vectors of equal length, the scores are their inner products with x. Arrays of scores have the shape (..., outputs).
    The defaults below fit most losses; each loss overrides what differs.
    """

    name: str  # in documents, and the key in LOSSES
    radius: float  # bound on |x|, intercept included
    label_domain: Labels  # the public set that labels come from; a loss of rows alone has none
    record: str = LABELLED_ROW  # what one record is
    positive: tuple[str, ...] = ("radius",)  # fields that must be positive numbers
    proportions: tuple[str, ...] = ()  # fields that must lie strictly between 0 and 1
    dimension: int | None = None  # the parameter's dimension, where the loss fixes it
    outputs: int = 1  # scores of a record
    score_name: str = "score"  # what a score is called where the parameter is one
    # The number of its slope in engines/kernels.py and the fields that are its parameters; None: run by NumPy.
    compiled: tuple[int, tuple[str, ...]] | None = None
    probabilistic: bool = False  # whether `predict` returns probabilities of the classes
    likelihood: bool = False  # whether it is a log-likelihood whose Hessian is the variance of a record's gradient
    link: str = "score"  # what a score is of the target, in the words of a summary
    # Which fit the intervals of a release are for, or that there are none: said by plan, summary and docs/regression_intervals.md.
    estimand: str = "the penalised fit of least mean loss"
    ratio: str | None = None  # what exp(coefficient) is called, where it has a name
    # Prior deviation, where none is declared, of the effect on the score of going from one end of a column to the other: odds or
    # rates may differ 3,700-fold at 90 %. None: some ranges of the target, for scores in its units.
    effect_deviation: float | None = 5.0
    spec_name: str | None = None  # regression = "..." in a spec file; None: not available there
    spec_keys: tuple[str, ...] = ()  # numbers that a spec file may give beside it

    def __post_init__(self) -> None:
        """Check the fields named by `positive` and `proportions`."""
        for name in self.positive:
            object.__setattr__(self, name, _validate.positive(name, getattr(self, name)))
        for name in self.proportions:
            object.__setattr__(self, name, _validate.between(name, getattr(self, name), 0.0, 1.0))

    @property
    def regression_name(self) -> str:
        """What a regression with this loss is called: "linear", "poisson", "svm"; else the name of the loss."""
        return self.spec_name or self.name

    # --- mathematics -------------------------------------------------------------------------------------------------

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """Return the constants of one record's loss at power 1.

        The parameter's dimension and the largest |theta| of the prior's domain may make them smaller.
        """
        raise NotImplementedError

    def largest_slope(self) -> float:
        """Bound on the slope in a score over all scores and labels: the Lipschitz constant over the radius."""
        return self.constants().lipschitz / self.radius

    def largest_curvature(self) -> float:
        """Bound on the second derivative in a score over all scores and labels: smoothness over radius squared, or infinite."""
        return self.constants().smoothness / self.radius**2

    def value_at(self, scores: FloatArray, y: ArrayLike) -> FloatArray:
        """The loss at scores (..., outputs) and labels (...)."""
        raise NotImplementedError

    def slope_at(self, scores: FloatArray, y: ArrayLike) -> FloatArray:
        """Derivatives of the loss in each score, shaped (..., outputs); the gradient is their outer product with x."""
        raise NotImplementedError

    def label_limit(self, largest_score: float) -> float | None:
        """Size from which on all labels of one sign give the same slopes at all |scores| <= largest_score, or None."""
        return None

    @property
    def squared_labels(self) -> tuple[float, float] | None:
        """Declared bounds of the labels of a linear regression, whose moments give a start and a clipping level; else None."""
        return None

    @property
    def counted_labels(self) -> float | None:
        """Declared bound of labels that are counts with mean exp(score), whose mean gives start and clipping level; else None."""
        return None

    def reclipped(self, clip: float) -> Loss:
        """The loss with slopes clipped at `clip`, where that is less than its own bound; most losses stay as they are."""
        return self

    def mode_bound(self, power: float, n: int, precision: float) -> float | None:
        """Bound on the norm of the mode of n records under the prior N(0, I/precision).

        Every loss has the bound power n L/precision; None if no smaller one is known.
        """
        return None

    # --- simulated labels and predictions ----------------------------------------------------------------------------

    def label_shares(self, scores: FloatArray, labels: FloatArray) -> FloatArray:
        """Probabilities proportional to exp(-loss), shaped (n, labels), of labels at scores (n, outputs)."""
        costs = self.value_at(scores[:, None, :], labels[None, :])
        weights = np.exp(costs.min(axis=1, keepdims=True) - costs)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def simulate(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Random labels (n,) of simulated records with scores (n, outputs), with probabilities from `label_shares`."""
        domain = self.label_domain
        if isinstance(domain, LabelInterval) and not domain.bounded:
            raise ArgumentError(
                f"labels of the {self.name} loss have no bounds, so random ones need a method of its own: define "
                "simulate(scores, rng) in its class."
            )
        if isinstance(domain, LabelSet):
            labels = np.array(domain.values)
        else:
            labels = np.linspace(domain.lower, domain.upper, _LABEL_POINTS)
        shares = self.label_shares(scores, labels)
        places = (shares.cumsum(axis=1) < rng.random((len(scores), 1))).sum(axis=1)
        return np.asarray(labels[places.clip(0, len(labels) - 1)])

    def predict(self, scores: FloatArray) -> FloatArray:
        """Prediction of one parameter for rows with these scores: a number (..., 1), or shares of the classes (..., classes).

        By default the number is the score, and the class of least loss (the first at a tie) has a share of 1.
        """
        domain = self.label_domain
        if isinstance(domain, LabelInterval):
            return scores
        costs = self.value_at(scores[..., None, :], np.array(domain.values))
        return np.asarray(np.eye(len(domain.values))[costs.argmin(axis=-1)])

    # --- documents ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> Loss:
        """The loss for rows of norm at most `radius` and the target of a spec file."""
        return cls(radius)  # type: ignore[call-arg]

    def to_json(self) -> dict[str, Any]:
        """{"loss": name, ...fields}: LOSSES[name](**fields) is the loss again."""
        return {"loss": self.name, **{field.name: getattr(self, field.name) for field in fields(self)}}  # type: ignore[arg-type]


class ScalarLinkLoss(Loss):
    """l(theta, (x, y)) = phi(<theta, x>, y) with |x| <= radius: one score, and the gradient is phi'(u, y) x.

    `value` is phi and `derivative` is phi' in u, both vectorised over u and y. Where a loss is clipped, phi' is the
    clipped derivative and phi its antiderivative: the loss IS the clipped one, and it is convex because a clipped
    non-decreasing function is non-decreasing.
    """

    search_radius: float = 1e4  # the largest score at which the declared numbers are attacked

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """phi(u, y)."""
        raise NotImplementedError

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """The derivative of phi in u."""
        raise NotImplementedError

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """The second derivative of phi in u, between 0 and `largest_curvature()`, and 0 where the slope is clipped.

        This default is a central difference of `derivative`; a loss with a formula overrides it. Where the quotient is not
        a number (an infinite score), or u is so large that the two points are equal, the value is 0.
        """
        scores, labels = np.broadcast_arrays(np.asarray(u, dtype=np.float64), np.asarray(y, dtype=np.float64))
        with np.errstate(all="ignore"):
            above, below = scores + _STEP, scores - _STEP
            rise = self.derivative(above, labels) - self.derivative(below, labels)
            quotient = np.where(above > below, rise / (above - below), 0.0)
        return np.asarray(np.clip(np.nan_to_num(quotient, nan=0.0), 0.0, self.largest_curvature()))

    def zero_slope(self) -> float:
        """Bound on |phi'(0, y)| over all labels; it follows from that at all scores unless a loss states less.

        In one dimension a convex loss then has gradients that differ by at most this and the largest slope
        (`theorems.weighted.difference_factor`).
        """
        return self.largest_slope()

    def value_at(self, scores: FloatArray, y: ArrayLike) -> FloatArray:
        """The link at the only score."""
        return self.value(scores[..., 0], y)

    def slope_at(self, scores: FloatArray, y: ArrayLike) -> FloatArray:
        """The link's derivative at the only score."""
        return self.derivative(scores[..., 0], y)[..., None]
