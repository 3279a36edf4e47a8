"""Noisy second moments of the rows: the shape that a regression learns first.

    S = (1/n) sum_i w(z_i) z_i z_i',    w(z) = min(1, R^2/|z|^2),    R^2 = r^2 + l^2,

with |x| <= r the declared radius of the rows and l that of a label which is clipped, scaled and appended to the row (0: no
label). A symmetric matrix is released in the coordinates (diagonal, sqrt(2) times the entries above it), in which the Euclidean
norm is the Frobenius norm, with independent N(0, sigma^2) on each. On the matrix that is a variance of sigma^2 on the diagonal
and sigma^2/2 off it.

Source: Dong, Roth and Su 2022, Theorem 2.7. Proof: docs/proofs/moments.md.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import NOT_NEGATIVE, POSITIVE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems._noisy_mean import NOISY_MEAN, ROOT_TWO, SOURCE, check_noisy_mean

theorem(
    "moments.noisy_moments", "noisy second moments", SOURCE,
    Hypothesis("public-weights", "public weights", "w(z)", "True",
               "Weight a row by min(1, R^2/|z|^2) alone, with a declared R.", "declared"),
    Hypothesis("radius", "radius of the rows", "r", POSITIVE, "Declare a bound on the rows (data_norm, radius).", "schema"),
    Hypothesis("label-radius", "radius of the scaled label", "l", NOT_NEGATIVE,
               "Declare bounds of the label; 0 where none is appended.", "schema"),
    *NOISY_MEAN,
)  # fmt: skip


def noisy_moments(
    *,
    radius: float,
    n: int,
    noise: float,
    public_weights: bool,
    label_radius: float = 0.0,
    float_error: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """S with independent N(0, sigma^2) on its isometric coordinates is mu-GDP, mu = (sqrt(2) R^2/n + 2 e)/sigma.

    w zz' has Frobenius norm at most R^2 = r^2 + l^2, and two positive semi-definite matrices have a non-negative inner
    product, so |w zz' - w' yy'|_F^2 <= 2 R^4. `radius` is r, `label_radius` l (0 without a label), `noise` sigma;
    `float_error` is a bound e on the rounding error of the mean in Frobenius norm. Whoever sums the rows declares
    `public_weights`: w(z) = min(1, R^2/|z|^2), or a smaller public function of the row.
    Source: Dong, Roth and Su 2022, Theorem 2.7; docs/proofs/moments.md.
    """
    h = Hypotheses("moments.noisy_moments")
    h.flag(public_weights, "public-weights")
    r, label = map(Fraction, h.numbers(radius=radius, label_radius=label_radius))
    joint = r**2 + label**2
    return h.guarantee(Gaussian(check_noisy_mean(h, ROOT_TWO * joint, n, noise, float_error)), adjacency, unit)
