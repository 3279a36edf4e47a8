"""Huber loss, which is the clipped squared loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import REALS, LabelInterval
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss, Target

# Deviation of normal noise over the clipping level: at 1.345 deviations Huber's estimate is 95 % efficient.
NOISE_SHARE = 1 / 1.345


@dataclass(frozen=True)
class Huber(ScalarLinkLoss):
    """With residual e = u - y and y any real number: phi = e^2/2 for |e| <= c, c |e| - c^2/2 beyond.

    phi' = clip(e, -c, c): clipping the gradient of the squared loss per record at c is this loss, so there is one class
    for both names. |phi'| <= c, phi'' <= 1: L = c r, G/power = 2 c r (attained in every dimension), M_l = r^2. Only the
    slope bounds what a record can do, so no bound on the labels is needed; on |theta| <= R, Delta = 2 c r R.

    `lower` and `upper`, both or neither, declare public bounds of the labels. The constants do not depend on them; a
    procedure that sums squares of labels does, and a target with wider bounds is refused.
    """

    radius: float
    clip: float
    lower: float | None = None
    upper: float | None = None
    name = "huber"
    positive = ("radius", "clip")
    compiled = 1, ("clip",)
    link = "mean"
    effect_deviation = None
    spec_name = "linear"
    spec_keys = ("clip",)

    def __post_init__(self) -> None:
        """Check the radius, the clipping level and the bounds of the labels."""
        super().__post_init__()
        if self.lower is None and self.upper is None:
            return
        if self.lower is None or self.upper is None:
            raise ArgumentError(
                f"lower and upper must be given both or neither; got {self.lower!r} and {self.upper!r}. "
                "Give both public bounds of the labels."
            )
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _validate.finite(name, getattr(self, name)))
        if not self.lower < self.upper:
            raise ArgumentError(f"lower must be below upper; got {self.lower!r} and {self.upper!r}.")

    @cached_property
    def label_domain(self) -> LabelInterval:  # type: ignore[override]
        """[lower, upper] where declared, else every number."""
        return REALS if self.lower is None or self.upper is None else LabelInterval(self.lower, self.upper)

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """Half the squared residual, continued linearly beyond the clipping level."""
        scores, labels = _scalar.arrays(u, y)
        residual = scores - labels
        inside = np.clip(residual, -self.clip, self.clip)
        value: FloatArray = 0.5 * inside * inside + self.clip * np.abs(residual - inside)
        return value

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """clip(u - y, -c, c)."""
        scores, labels = _scalar.arrays(u, y)
        return np.clip(scores - labels, -self.clip, self.clip)

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """1 where |u - y| < c, else 0."""
        scores, labels = _scalar.arrays(u, y)
        return np.where(np.abs(scores - labels) < self.clip, min(1.0, self.largest_curvature()), 0.0)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = c r, G/power = 2 c r, M_l = r^2, Delta = 2 c r R."""
        bound = _scalar.slope_bound(self.radius, self.clip, domain_radius)
        return _scalar.constants_of_slope(self, slope=self.clip, curvature=1.0, bound=bound, convex=True)

    def label_limit(self, largest_score: float) -> float:
        """Where every residual is clipped: the largest score plus c."""
        return largest_score + self.clip

    @property
    def squared_labels(self) -> tuple[float, float] | None:
        """The declared bounds of the labels."""
        return None if self.lower is None or self.upper is None else (self.lower, self.upper)

    @property
    def estimand(self) -> str:  # type: ignore[override]
        """With declared bounds of the labels the clip is chosen so that noise hides it; without, it is part of the fit."""
        if self.squared_labels is None:
            return "the penalised Huber fit at the declared clip: that of the mean where errors are symmetric"
        return "the penalised least-squares fit to labels cut at their bounds; intervals allow for what clipping takes from it"

    @property
    def regression_name(self) -> str:
        """Clipped squares with declared label bounds are what a linear regression is here."""
        return self.name if self.squared_labels is None else "linear"

    def reclipped(self, clip: float) -> Huber:
        """The same loss clipped at `clip`, at most at the declared clip; one of half the range or more stands for the range."""
        whole = 0.0 if self.lower is None or self.upper is None else self.upper - self.lower
        return replace(self, clip=min(clip, whole if 0 < whole * (1 - 1e-9) <= 2 * self.clip else self.clip))

    def simulate(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Normal labels about the score, for whose deviation this clipping level is the usual choice; within the bounds."""
        labels = np.asarray(scores[:, 0] + NOISE_SHARE * self.clip * rng.normal(size=len(scores)))
        return np.clip(labels, self.label_domain.lower, self.label_domain.upper)

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> Huber:
        """Residuals are clipped at half the range of the target, unless the spec gives clip."""
        lower, upper = target.number.lower, target.number.upper
        return cls(radius, target.given("clip", (upper - lower) / 2), lower, upper)

    def to_json(self) -> dict[str, Any]:
        """{"loss": "huber", "radius": ..., "clip": ...}, with "lower" and "upper" where they are declared."""
        return {key: value for key, value in super().to_json().items() if value is not None}
