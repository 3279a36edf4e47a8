"""Draws of a location under a normal prior: the exact price of normal posteriors, and the sharp one of log odds.

A normal posterior whose covariance is public and whose mean alone depends on the records is a Gaussian mechanism: one draw
is mu-GDP with mu the largest shift of the mean in standard deviations, and no better claim is true. Log odds with a normal
prior are not normal, but strongly log-concave, and two neighbours differ by a linear term: the sharp theorem applies.

Derivations: docs/proofs/location.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.privacy.curves import Curve, Gaussian
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.profiles import Profile
from sfumato.theorems._common import LOG_ERROR, NOT_NEGATIVE, POSITIVE, RECORDS, TEMPERING
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

_PROPER = "Give a proper normal model."


def _curve(mu: float, draws: int, log_error: float) -> Curve:
    """sqrt(N) mu, and the stated error of every drawn mass where there is one."""
    if log_error == 0:
        return Gaussian(mu * math.sqrt(draws) * (1 + 4 * UNIT))
    return Profile("perturbed-gaussian", {"mu": mu, "draws": draws, "error": log_error})


theorem(
    "location.gaussian_location", "shift of a normal posterior",
    "Dong, Roth and Su 2022; Minami et al. 2016, Theorem 15, made exact",
    Hypothesis("coordinates", "coordinates", "d", "as many prior precisions as curvatures, at least 1",
               "Give both numbers for every coordinate."),
    Hypothesis("curvatures", "precision of one record", "a_i", f"{POSITIVE} in every coordinate", _PROPER, "model"),
    Hypothesis("precisions", "precision of the prior", "l_i", f"{NOT_NEGATIVE} in every coordinate", _PROPER, "model"),
    RECORDS,
    Hypothesis("sensitivity", "how far one record moves the sum", "D", POSITIVE, "Declare bounds or a norm.", "schema"),
    *TEMPERING, LOG_ERROR,
)  # fmt: skip


def gaussian_location(
    *,
    curvatures: Sequence[float],
    precisions: Sequence[float],
    n: int,
    sensitivity: float,
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of N(m, P^-1), P diagonal with P_i = s l_i + r n a_i, m moved by r a_i D_i/P_i when one record is replaced.

    For |D| <= `sensitivity` S the shift in standard deviations is at most mu = r S max_i a_i/sqrt(P_i), attained by D along
    the coordinate of the maximum; N draws cost sqrt(N) mu. `curvatures` are a_i, the precision of one record in each
    coordinate, `precisions` l_i those of the prior. One coordinate: a normal mean; equal ones: Minami et al. 2016, Theorem
    15; an eigenbasis: the setting of Dimitrakakis et al. 2017, Lemma 23.
    """
    h = Hypotheses("location.gaussian_location")
    same = len(curvatures) == len(precisions) >= 1
    h.holds(same, "coordinates", given=f"{len(curvatures)} and {len(precisions)}")
    h.holds(all(0 < a < math.inf for a in curvatures), "curvatures", given=_span(curvatures))
    h.holds(all(0 <= prior < math.inf for prior in precisions), "precisions", given=_span(precisions))
    count = h.count(n, "records")
    width = h.number(sensitivity, "sensitivity")
    r, s, k = h.tempering(power, strength, draws)
    h.number(log_error, "log-error")
    steepest = max(a / math.sqrt(s * prior + r * count * a) for a, prior in zip(curvatures, precisions, strict=True))
    # Ten operations, each rounded once, make the product.
    return h.guarantee(_curve(r * width * steepest * (1 + 16 * UNIT), k, log_error), unit=unit, draws=k)


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.6g} to {max(values):.6g}"


theorem(
    "location.logit_draw", "sharp theorem (log odds)",
    "Gopi, Lee and Liu 2022, Theorem 4; Minami et al. 2016, Example 17",
    Hypothesis("precision", "precision of the prior", "l", POSITIVE, "Use a proper normal prior.", "prior"),
    *TEMPERING, LOG_ERROR,
)  # fmt: skip


def logit_draw(
    *,
    precision: float,
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of log odds t with density exp(r (k t - n log(1 + e^t)) + s log prior(t)), k ones among n bits.

    The negative log prior is l-strongly convex (`precision` l). Two neighbours differ by r t, whose slope is G = r, not 2 r,
    and m = s l: mu = r/sqrt(s l) by the sharp theorem, sqrt(N) mu for N draws. Source: Minami et al. 2016, Example 17, with
    Gopi, Lee and Liu 2022, Theorem 4. `log_error` bounds how far the log of a drawn point's mass is from the exact one.
    """
    h = Hypotheses("location.logit_draw")
    prior = h.number(precision, "precision")
    r, s, k = h.tempering(power, strength, draws)
    h.number(log_error, "log-error")
    return h.guarantee(_curve(r / math.sqrt(s * prior) * (1 + 8 * UNIT), k, log_error), unit=unit, draws=k)
