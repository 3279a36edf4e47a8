"""Large samples: the variance of a draw from a power posterior. Numbers, not privacy claims.

Rows from p(.|theta_0), loss -log p, fixed power beta, Fisher information I_0 of one row. As n grows, the posterior
given the data is normal around the maximum likelihood estimate, N(MLE, (n beta I_0)^-1), and the MLE is N(theta_0, (n
I_0)^-1). So one draw scatters around the truth with

    (1 + 1/beta) (n I_0)^-1       over data and draw, against (n beta I_0)^-1 given the data.

Both are formulas in public numbers once I_0 is. An I_0 estimated from the rows is not public.

Source: Theorem 16 and Example 17 of the supplement of Minami et al. 2016. (C.3) prints theta_0 as the centre, which
is wrong (the centre moves with the data, by as much as the spread), its LAN display has lost the linear term, and
condition (iii) has the sign of the second derivative of a log likelihood where the loss is minus that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.theorems._common import POSITIVE, POWER, RECORDS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis

THEOREM = "Bernstein-von Mises for power posteriors"
SOURCE = "Minami et al. 2016, supplement Theorem 16"
Matrix = NDArray[np.float64]
_ROWS = Hypothesis(
    "", "rows from the model", "p_0 = p(.|theta_0)", "True",
    "Under a wrong model both variances are sandwiches, and these formulas do not hold.", "model",
)  # fmt: skip
_INFORMATION = Hypothesis(
    "", "Fisher information", "I_0", POSITIVE,
    "Give the Fisher information of one row; a singular model has no normal limit.",
)  # fmt: skip
_MATRIX = replace(_INFORMATION, required="a symmetric positive definite matrix")


def variance_given_data(
    *, n: int, power: float, information: float | ArrayLike, well_specified: bool
) -> float | Matrix:
    """(n beta I_0)^-1, the limiting variance of a draw around the maximum likelihood estimate, the data held fixed.

    `information` is the Fisher information of one row: a number, or a symmetric positive definite matrix, and the
    answer has the same shape. `well_specified` declares that the rows come from the model.
    Source: Minami et al. 2016, supplement Theorem 16.
    """
    count, beta = _run(n, power, well_specified)
    return _inverse(information, 1.0 / (count * beta))


def variance_over_data(*, n: int, power: float, information: float | ArrayLike, well_specified: bool) -> float | Matrix:
    """(1 + 1/beta) (n I_0)^-1, the limiting variance of a draw around the true parameter, over data and draw.

    The estimate's own variance (n I_0)^-1 plus the draw's (n beta I_0)^-1.
    Arguments as for `variance_given_data`.
    Source: Minami et al. 2016, supplement Theorem 16, with the centre corrected.
    """
    count, beta = _run(n, power, well_specified)
    return _inverse(information, (1.0 + 1.0 / beta) / count)


def inflation(*, power: float) -> float:
    """1/beta: how many times the variance given the data exceeds that of the Bayesian posterior (beta = 1).

    Example 17 (Bernoulli in logit form, standard normal prior, (0.1, 0.001)): 17.4 at the sharp power 0.0575.
    `power` is beta. Below 1 the draw is wider than the posterior, above 1 narrower.
    Source: Minami et al. 2016, supplement Theorem 16.
    """
    h = Hypotheses(THEOREM, SOURCE)
    return 1.0 / h.number(power, POWER)


def _run(n: int, power: float, well_specified: bool) -> tuple[int, float]:
    """Check the sample and the power, and return them."""
    h = Hypotheses(THEOREM, SOURCE)
    h.flag(well_specified, _ROWS)
    return h.count(n, RECORDS), h.number(power, POWER)


def _inverse(information: float | ArrayLike, scale: float) -> float | Matrix:
    """Return scale * I_0^-1 for a positive number or a symmetric positive definite matrix."""
    h = Hypotheses(THEOREM, SOURCE)
    array = np.asarray(information, dtype=np.float64)
    if array.ndim == 0:
        return scale / h.number(float(array), _INFORMATION)
    square = array.ndim == 2 and array.shape[0] == array.shape[1] and bool(np.all(np.isfinite(array)))
    symmetric = square and bool(np.allclose(array, array.T, rtol=1e-10, atol=0.0))
    definite = symmetric and float(np.linalg.eigvalsh(array)[0]) > 0
    h.holds(definite, _MATRIX, given=f"shape {array.shape}")
    return np.asarray(scale * np.linalg.inv(array), dtype=np.float64)
