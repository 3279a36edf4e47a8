"""What the prices of noisy means share: hypotheses in the same words, and the quotient of shift and noise, rounded up.

A record adds a vector a(z) to a sum that is divided by the public number n of records. If |a(z) - a(z')| <= Delta for all
records z, z', and the computed mean is off by at most e in norm, the means of neighbours differ by at most Delta/n + 2 e. With
independent N(0, sigma^2) on every coordinate that costs mu = (Delta/n + 2 e)/sigma (Dong, Roth and Su 2022, Theorem 2.7).
"""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.models._rounding import up
from sfumato.theorems._common import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, RECORDS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis

SOURCE = "Dong, Roth and Su 2022, Theorem 2.7"
# The float nearest to the square root of 2 lies above it (by 1e-16), so products with it are upper bounds.
ROOT_TWO = Fraction(math.sqrt(2))

NOISE = Hypothesis("noise", "noise on every coordinate", "sigma", POSITIVE, "Add positive noise.")
# `Hypotheses.float_error` checks both by these ids.
_MEAN_ERROR = (
    Hypothesis("float-error", "rounding error of the mean", "e", NOT_NEGATIVE, "Give a bound of 0 or more."),
    Hypothesis("float-noise", "noise on the mean", "xi", "exact normals", "", "assumed"),
)  # fmt: skip
NOISY_MEAN = (RECORDS, NOISE, *_MEAN_ERROR)
MAPPED_ROWS = (
    Hypothesis("public-map", "public map", "B", "True",
               "Compute the map from public numbers and from what has been released, never from rows.", "declared"),
    Hypothesis("weights-of-rows-alone", "weights of rows alone", "v(z)", "True",
               "Compute a record's weight from its own row and the public map: not from other records, its label or theta.",
               "declared"),
    Hypothesis("headroom", "relative excess of a computed weight", "headroom", NOT_NEGATIVE,
               "Bound the rounding of lengths and weights."),
)  # fmt: skip
POINT = Hypothesis("public-point", "public point", "theta", "True",
                   "Evaluate at a released or public parameter, such as the published average.", "declared")  # fmt: skip
SLOPE = Hypothesis("slope", "bound on the loss's slope", "s", POSITIVE, "Use a loss with a bounded slope, or clip it.",
                   "loss")  # fmt: skip
CURVATURE = Hypothesis("curvature", "bound on the loss's curvature", "k", POSITIVE,
                       "Use a smooth loss (a smoothed hinge or quantile, declared label bounds for Poisson).",
                       "loss")  # fmt: skip
BEND = Hypothesis("bend", "bend of the weights", "b", AT_LEAST_ONE,
                  "Use a finite bend: with weights 1/|Bz| alone (b infinite) the curvature of a record is unbounded.")  # fmt: skip


def check_mapped_rows(h: Hypotheses, public_map: bool, weights_of_rows_alone: bool, headroom: float) -> Fraction:
    """Check MAPPED_ROWS and return 1 + headroom."""
    h.flags(public_map=public_map, weights_of_rows_alone=weights_of_rows_alone)
    return 1 + Fraction(h.number(headroom, "headroom"))


def check_noisy_mean(
    h: Hypotheses, change: Fraction, n: int, noise: float, float_error: float, root: float = 1.0
) -> float:
    """Check NOISY_MEAN and return `root` times (Delta/n + 2 e)/sigma, rounded up; `change` is Delta."""
    count, sigma, error = h.count(n, "records"), h.number(noise, "noise"), h.float_error(float_error)
    return up(Fraction(root) * (change / count + 2 * Fraction(error)) / Fraction(sigma))
