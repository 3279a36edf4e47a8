"""A private quantile: the exponential mechanism on public candidates, with the rank error as its loss.

A candidate c covers the ranks from #{x < c} to #{x <= c}; its loss is how far these are from q n,

    loss(c) = max(0, #{x < c} - q n, q n - #{x <= c}).

Replacing one record changes each count by at most 1, hence the loss by at most 1, at every c at once: sensitivity 1, and a
draw with probability proportional to exp(-power loss(c)) has bounded range 2 power, whatever n, the level and the ties.
Source: McSherry and Talwar 2007; Smith 2011 for quantiles. Proofs: docs/proofs/quantile.md.
"""

from __future__ import annotations

from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import COUNT, LOG_ERROR, POWER
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems.exponential import exponential_mechanism

theorem(
    "quantile.quantile_draws", "private quantile", "McSherry and Talwar 2007; Smith 2011",
    Hypothesis("candidates", "number of public candidates", "m", COUNT,
               "List candidates that were chosen without the data."),
    POWER, LOG_ERROR,
)  # fmt: skip


def quantile_draws(
    *, candidates: int, power: float, draws: int = 1, log_error: float = 0.0, unit: str = "row"
) -> Guarantee:
    """Bounded range 2 power + 4 e for one draw from `candidates` public numbers, and the composition of as many for several.

    `log_error` is e, how far the log of a drawn candidate's probability may be from the exact one: it moves a log ratio by
    at most 2 e to either side.
    `power` is beta. Source: McSherry and Talwar 2007; Smith 2011; docs/proofs/quantile.md.
    """
    h = Hypotheses("quantile.quantile_draws")
    h.count(candidates, "candidates")
    beta = h.number(power, "power")
    off = h.number(log_error, "log-error")
    claim = exponential_mechanism(power=beta, sensitivity=1.0 + 2 * off / beta, draws=draws, unit=unit)
    h.inherit(claim)
    return h.guarantee(claim.curve, unit=unit, draws=claim.draws)
