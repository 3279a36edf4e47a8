"""The contract between engines and procedures: the sums that an engine computes, and the error that each may have.

A plan is priced before any engine is opened, so the price relies on bounds that every engine keeps:

- `totals` and `values` are sums of whole numbers, exact, whatever the order of the rows;
- `gradient` is a float sum in which no term takes part in more than `most_additions(n)` additions. A sum of terms of norm
  at most L is then off by at most 2 u L n most_additions(n), u being the unit roundoff (`gradient_error`);
- `moments` and `second_sums` are float sums of the same kind whose terms are matrices w z z' with w >= 0, and the same bound
  holds in Frobenius norm. Each entry is off by at most k u times the sum of the absolute values of its terms, k being
  the number of additions. The matrix of those sums is the sum of the matrices w |z| |z|', |z| having the absolute values of
  z as entries, and |z| |z|' has the Frobenius norm of z z'. So its norm is at most n times the largest |w z z'|_F.

An engine states in `additions` the most additions that a term of its gradient sums takes part in; `open_engine` refuses one
that states more than prices assume. An engine without gradients states 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.models.losses.protocol import Loss

Array = NDArray[np.float64]
Tally = Callable[[Mapping[str, Any], Sequence[str]], NDArray[np.int64]]
# The sums that procedures may need of an engine.
TOTALS, GRADIENTS, VALUES, SHAPES = "totals", "gradients", "values", "shapes"
# And how: with scores in float64, which a price needs that bounds the rounding of a step over all records and not of one.
EXACT_SCORES = "exact scores"
# Most rows that an engine adds up before it starts a new sum; the longest part of any engine here (`engines.dense`).
PART_ROWS = 8192
# Half an ulp of 1 is 1.11e-16; the rest covers second-order terms.
UNIT_ROUNDOFF = 1.2e-16
# Additions beside those of a part's rows: the accumulators of a kernel, and those of the sum over parts.
IN_A_PART, _OVER_PARTS = 8, 16


class Engine(Protocol):
    """The records of one data set, as one model reads them."""

    n: int
    additions: float

    # An engine has one or more of the methods below; the table of engines states which.


class TotalsEngine(Engine, Protocol):
    """Exact totals of whole numbers per record, for families."""

    def totals(self, tally: Tally) -> list[int] | list[Fraction]:
        """Sum of `tally` over all records; fractions where a record is the average of a person's rows, or has a weight."""


class GradientEngine(Engine, Protocol):
    """Sums of one loss's gradients, for chains."""

    labels: tuple[str, ...]
    dimension: int

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""


class ValuesEngine(GradientEngine, Protocol):
    """Exact sums of rounded loss values at public points, for draws on grids and by rejection."""

    def values(self, points: Array, unit: float, bound: float, reach: float | None = None) -> list[int]:
        """Sum over the records of round(clip(l(theta, x) - l(0, x), -bound, bound)/unit) at each of (points, d).

        `reach` is a public bound on the norm of every point that is ever asked for. With it the sum at a point does not depend,
        not even by a rounding, on the points that are asked for together with it; without it the largest of these is taken.
        """


@dataclass(frozen=True)
class LabelScale:
    """How a label enters the moments as one more column: scale * clip(y - centre, -half, half)."""

    centre: float
    half: float
    scale: float

    def __post_init__(self) -> None:
        """Refuse numbers that are not finite, and a width or a scale that is not positive."""
        object.__setattr__(self, "centre", _validate.finite("centre", self.centre))
        object.__setattr__(self, "half", _validate.positive("half", self.half))
        object.__setattr__(self, "scale", _validate.positive("scale", self.scale))

    def column(self, labels: Array) -> Array:
        """The labels as a column of the moments; its entries are at most scale * half in absolute value."""
        return np.asarray(self.scale * np.clip(labels - self.centre, -self.half, self.half))


class WeighedEngine(Engine, Protocol):
    """Sums of a scalar-link loss phi whose records have weights v(z) in [0, 1] that depend on the row z alone."""

    labels: tuple[str, ...]
    dimension: int

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of v phi'(z.theta, y) z at each of (chains, d) parameters, in the rows' coordinates."""

    def second_sums(self, theta: Array, scores: bool) -> tuple[Array, Array | None, float]:
        """Second-order sums at one parameter (d,), from one pass over the rows.

        Curvature: sum v phi'' Bz (Bz)', phi'' clipped to [0, `largest_curvature()`]. Score matrix, if `scores`: sum v^2
        phi'^2 Bz (Bz)', phi' clipped to `largest_slope()`. Score scale: sum v^2 phi'^2 |Bz|^2, a number. Values of a
        record that are not finite become 0.
        """


class ShapedEngine(GradientEngine, Protocol):
    """The sums from which the shape of the rows is estimated. z is a row with the constant feature of the intercept, if any.

    Offered for smooth losses of one score and labelled rows.
    """

    def moments(self, radius: float, label: LabelScale | None = None) -> Array:
        """Sum over the records of min(1, R^2/|z|^2) z z', exactly symmetric, shaped (d, d); R is `radius`.

        With `label` its column is the last coordinate of z, the shape is (d + 1, d + 1), and R is the joint radius. The
        computed term of a record has Frobenius norm at most R^2, also where the row is longer than R.
        """

    def residual_shares(self, theta: Array, edges: Array) -> Array:
        """Sum over the records of the indicator of the cell that y - z.theta lies in, times the record's share.

        Cells are (-inf, e_0], (e_0, e_1], ..., (e_k, inf) for ascending `edges`, shaped (k + 2,) together; a residual that is not
        a number lies in none. A record adds a vector whose entries are not negative and sum to at most 1.
        """

    def weighed(self, matrix: Array, bend: float, loss: Loss | None = None) -> WeighedEngine:
        """The same records with weights v = min(1, 1/|Bz|, bend/|Bz|^2); `matrix` is the public map B, shaped (d, d).

        bend = 1 gives min(1, |Bz|^-2) and infinity min(1, 1/|Bz|). The computed weights satisfy v |Bz| <= 1 and
        v |Bz|^2 <= bend exactly; a length that is not finite has weight 0. `loss` replaces the model's loss.
        """


def most_additions(n: int) -> float:
    """Most additions that one term of a gradient sum over n records takes part in: within its part, then over the parts."""
    return (PART_ROWS + IN_A_PART) + n / PART_ROWS + _OVER_PARTS


def gradient_error(n: int, largest: float) -> float:
    """Bound on the rounding error of a gradient sum over n records whose terms have norm at most `largest`.

    A sum whose every term takes part in at most k additions is off by at most k u sum |terms|; twice that leaves room for
    the roundings of a slope and of its product with the row.
    """
    return 2 * most_additions(n) * UNIT_ROUNDOFF * n * largest
