"""What a loss must answer. Losses are frozen dataclasses that fit these protocols; none inherits from another."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.models.constants import Constants
from sfumato.models.losses.labels import Labels

FloatArray = NDArray[np.float64]

# What one record is: features with a label, a number that plays the label with the constant 1 as its only feature,
# or a vector of the parameter's own dimension.
LABELLED_ROW, LABEL, ROW = "labelled row", "label", "row"


@runtime_checkable
class Loss(Protocol):
    """The loss l(theta, x) of one record, with constants that hold for every record.

    `record` is one of "labelled row", "label" and "row"; `dimension` is the parameter's dimension where the loss fixes
    it, else None. `constants(dimension, domain_radius)` may use the parameter's dimension and the largest |theta| of
    the prior's domain to say something sharper.
    """

    @property
    def name(self) -> str:
        """The loss's key in documents."""

    @property
    def record(self) -> str:
        """What one record is."""

    @property
    def dimension(self) -> int | None:
        """The parameter's dimension, where the loss fixes it."""

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """Return the constants of one record's loss at power 1."""

    def to_json(self) -> dict[str, Any]:
        """Return {"loss": name, ...parameters}."""


@runtime_checkable
class ScalarLinkLoss(Loss, Protocol):
    """l(theta, (x, y)) = phi(<theta, x>, y) with |x| <= radius: the gradient is phi'(u, y) x.

    `value` is phi and `derivative` is phi' in u, both vectorised over u and y. Where a loss is clipped, phi' is the
    clipped derivative and phi its antiderivative: the loss IS the clipped one, and it is convex because a clipped
    non-decreasing function is non-decreasing. `radius` is the norm that the loss sees, intercept included.
    """

    @property
    def radius(self) -> float:
        """Bound on |x|, intercept included."""

    @property
    def label_domain(self) -> Labels:
        """The public set that labels come from."""

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """phi(u, y)."""

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """The derivative of phi in u."""
