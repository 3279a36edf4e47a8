"""Noisy curvature and score moments of a weighted loss, at a public point and in mapped coordinates.

    C = (1/n) sum v phi'' Bz (Bz)',    tau = (1/n) sum v^2 phi'^2 |Bz|^2,    V = (1/n) sum v^2 phi'^2 Bz (Bz)',

with v = min(1, 1/|Bz|, b/|Bz|^2), b >= 1 (`weighted`), 0 <= phi'' <= k and |phi'| <= s. Matrices are released in the
coordinates (diagonal, sqrt(2) times the entries above it). Records add positive semi-definite matrices of Frobenius norm at most
b k and s^2, so replacing one moves the sums by at most sqrt(2) b k and sqrt(2) s^2, and the number n tau by at most s^2.

Source: Dong, Roth and Su 2022, Theorem 2.7. Proof: docs/proofs/curvature.md.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems._noisy_mean import (
    BEND,
    CURVATURE,
    MAPPED_ROWS,
    NOISY_MEAN,
    POINT,
    ROOT_TWO,
    SLOPE,
    SOURCE,
    check_mapped_rows,
    check_noisy_mean,
)  # fmt: skip

theorem(
    "curvature.noisy_curvature", "noisy curvature of a weighted loss", SOURCE,
    Hypothesis("convex", "convexity of every loss", "0 <= phi''", "True",
               "Use a convex loss, or clip the second derivative of a record to [0, k].", "loss"),
    POINT, *MAPPED_ROWS, CURVATURE, BEND, *NOISY_MEAN,
)  # fmt: skip


def noisy_curvature(
    *,
    curvature: float,
    n: int,
    noise: float,
    convex: bool,
    public_point: bool,
    public_map: bool,
    weights_of_rows_alone: bool,
    bend: float = 1.0,
    float_error: float = 0.0,
    headroom: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """C with independent N(0, sigma^2) on its isometric coordinates is mu-GDP, mu = (sqrt(2) b k (1 + h)^2/n + 2 e)/sigma.

    `curvature` is k with 0 <= phi'' <= k (`convex`: without it the factor is 2 for sqrt(2)), `bend` b, finite: with weights
    min(1, 1/|Bz|) the norm reaches k |Bz|. `headroom` is h, with v |Bz|^2 <= b (1 + h)^2 for the computed weights; `noise`
    is sigma; `float_error` is a bound e on the rounding error of the mean in Frobenius norm. `public_point`: theta was
    released or is public.
    Source: Dong, Roth and Su 2022, Theorem 2.7; docs/proofs/curvature.md.
    """
    h = Hypotheses("curvature.noisy_curvature")
    h.flags(convex=convex, public_point=public_point)
    longest = check_mapped_rows(h, public_map, weights_of_rows_alone, headroom)
    k, b = map(Fraction, h.numbers(curvature=curvature, bend=bend))
    return h.guarantee(
        Gaussian(check_noisy_mean(h, ROOT_TWO * b * k * longest**2, n, noise, float_error)), adjacency, unit
    )


theorem("curvature.score_scale", "noisy score scale", SOURCE, POINT, *MAPPED_ROWS, SLOPE, *NOISY_MEAN)


def score_scale(
    *,
    slope: float,
    n: int,
    noise: float,
    public_point: bool,
    public_map: bool,
    weights_of_rows_alone: bool,
    float_error: float = 0.0,
    headroom: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """The number tau with N(0, sigma^2) added is mu-GDP, mu = (s^2 (1 + h)^2/n + 2 e)/sigma.

    A record adds v^2 phi'^2 |Bz|^2 in [0, s^2 (1 + h)^2]: `slope` is s with |phi'| <= s, `headroom` h with |v Bz| <= 1 + h
    as computed; any bend, infinite as well. `noise` is sigma, `float_error` a bound e on the rounding error of the mean.
    `public_point`: theta was released or is public.
    Source: Dong, Roth and Su 2022, Theorem 2.7; docs/proofs/curvature.md.
    """
    h = Hypotheses("curvature.score_scale")
    square = _largest_score(h, slope, public_point, public_map, weights_of_rows_alone, headroom)
    return h.guarantee(Gaussian(check_noisy_mean(h, square, n, noise, float_error)), adjacency, unit)


theorem("curvature.score_matrix", "noisy score matrix", SOURCE, POINT, *MAPPED_ROWS, SLOPE, *NOISY_MEAN)


def score_matrix(
    *,
    slope: float,
    n: int,
    noise: float,
    public_point: bool,
    public_map: bool,
    weights_of_rows_alone: bool,
    float_error: float = 0.0,
    headroom: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """V with independent N(0, sigma^2) on its isometric coordinates is mu-GDP, mu = (sqrt(2) s^2 (1 + h)^2/n + 2 e)/sigma.

    A record adds a positive semi-definite matrix of Frobenius norm v^2 phi'^2 |Bz|^2 <= s^2 (1 + h)^2, and two such matrices
    have a non-negative inner product. Arguments as for `score_scale`; `float_error` bounds the Frobenius norm of the
    rounding error.
    Source: Dong, Roth and Su 2022, Theorem 2.7; docs/proofs/curvature.md.
    """
    h = Hypotheses("curvature.score_matrix")
    square = _largest_score(h, slope, public_point, public_map, weights_of_rows_alone, headroom)
    return h.guarantee(Gaussian(check_noisy_mean(h, ROOT_TWO * square, n, noise, float_error)), adjacency, unit)


theorem("curvature.noisy_shares", "noisy shares of cells", SOURCE, POINT, *NOISY_MEAN)


def noisy_shares(
    *,
    n: int,
    noise: float,
    public_point: bool,
    float_error: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """The shares of records in disjoint cells, with independent N(0, sigma^2) on each, are mu-GDP, mu = (sqrt(2)/n + 2 e)/sigma.

    A record adds a vector p >= 0 with |p|_1 <= 1: 1 in its own cell, its weight there, or the average over a person's rows. Then
    |p - q|^2 = |p|^2 + |q|^2 - 2 p.q <= 2. In which cell a record lies depends on itself and on numbers that were released or are
    public (`public_point`). `noise` is sigma, `float_error` a bound e on the rounding error of the shares in norm.
    Source: Dong, Roth and Su 2022, Theorem 2.7; docs/proofs/curvature.md.
    """
    h = Hypotheses("curvature.noisy_shares")
    h.flag(public_point, "public-point")
    return h.guarantee(Gaussian(check_noisy_mean(h, ROOT_TWO, n, noise, float_error)), adjacency, unit)


def _largest_score(
    h: Hypotheses, slope: float, public_point: bool, public_map: bool, weights_of_rows_alone: bool, headroom: float
) -> Fraction:
    """Check a score's hypotheses and return s^2 (1 + h)^2, the largest squared norm of a record's score."""
    h.flag(public_point, "public-point")
    longest = check_mapped_rows(h, public_map, weights_of_rows_alone, headroom)
    return (Fraction(h.number(slope, "slope")) * longest) ** 2
