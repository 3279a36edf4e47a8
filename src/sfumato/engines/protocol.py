"""The contract between engines and procedures: the sums that an engine computes, and the error that each may have.

A plan is priced before any engine is opened, so the price relies on bounds that every engine keeps:

- `totals` and `values` are sums of whole numbers, exact, whatever the order of the rows;
- `gradient` is a float sum in which no term takes part in more than `most_additions(n)` additions. A sum of terms of norm
  at most L is then off by at most 2 u L n most_additions(n), u being the unit roundoff (`gradient_error`).

An engine states in `additions` the most additions that a term of its gradient sums takes part in; `open_engine` refuses one
that states more than prices assume. An engine without gradients states 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tally = Callable[[Mapping[str, Any], Sequence[str]], NDArray[np.int64]]
# The sums that procedures may need of an engine.
TOTALS, GRADIENTS, VALUES = "totals", "gradients", "values"
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

    def totals(self, tally: Tally) -> list[int]:
        """Sum of `tally` over all records."""


class GradientEngine(Engine, Protocol):
    """Sums of one loss's gradients, for chains."""

    labels: tuple[str, ...]
    dimension: int

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""


class ValuesEngine(GradientEngine, Protocol):
    """Exact sums of rounded loss values at public points, for draws on grids and by rejection."""

    def values(self, points: Array, unit: float, bound: float) -> list[int]:
        """Sum over the records of round(clip(l(theta, x) - l(0, x), -bound, bound)/unit) at each of (points, d)."""


def most_additions(n: int) -> float:
    """Most additions that one term of a gradient sum over n records takes part in: within its part, then over the parts."""
    return (PART_ROWS + IN_A_PART) + n / PART_ROWS + _OVER_PARTS


def gradient_error(n: int, largest: float) -> float:
    """Bound on the rounding error of a gradient sum over n records whose terms have norm at most `largest`.

    A sum whose every term takes part in at most k additions is off by at most k u sum |terms|; twice that leaves room for
    the roundings of a slope and of its product with the row.
    """
    return 2 * most_additions(n) * UNIT_ROUNDOFF * n * largest
