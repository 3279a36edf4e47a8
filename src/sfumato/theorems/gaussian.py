"""The Gaussian mechanism: a total with normal noise, released on a public grid.

Totals that one replaced record moves by at most Delta in Euclidean norm, with independent normal noise of standard deviation
sigma on every coordinate, are Delta/sigma-Gaussian private: the two laws are N(0, 1) and N(Delta/sigma, 1) in the direction
of the change. An exact sample of the noisy total rounded to a public grid is a post-processing and costs nothing more.

Source: Dong, Roth and Su 2022, Theorem 2.7; the exact rounded sample: Karney 2016.
"""

from __future__ import annotations

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import POSITIVE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

# Covers the rounding of the quotient.
_UP = 1 + 1e-15

theorem(
    "gaussian.gaussian_mechanism", "Gaussian mechanism, rounded to a public grid", "Dong, Roth and Su 2022; Karney 2016",
    Hypothesis("noise", "noise", "sigma", POSITIVE, "Add positive noise."),
    Hypothesis("sensitivity", "sensitivity", "Delta", POSITIVE, "Declare the bounds.", "schema"),
)  # fmt: skip


def gaussian_mechanism(*, noise: float, sensitivity: float = 1.0, draws: int = 1) -> Guarantee:
    """Mu = sensitivity/noise, so Renyi(a) = a sensitivity^2/(2 noise^2); the baseline of Geumlek et al. 2017 prints twice that.

    `noise` is the standard deviation sigma of each coordinate and `sensitivity` Delta, in the same unit. The price does not
    grow with `draws`, which are made from one set of noisy totals; the number is recorded with the guarantee.
    Source: Dong, Roth and Su 2022, Theorem 2.7.
    """
    h = Hypotheses("gaussian.gaussian_mechanism")
    sigma, width = h.number(noise, "noise"), h.number(sensitivity, "sensitivity")
    return h.guarantee(Gaussian(width / sigma * _UP), draws=draws)
