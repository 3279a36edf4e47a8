"""Posterior sampling under a distance rho between data sets, priced by how smooth the likelihood is.

l(theta) is the Lipschitz constant of x -> log p_theta(x) under rho.

Assumption 1, l(theta) <= L for every theta: the log ratio of two posteriors is log p_theta(x)/p_theta(y) plus a
constant, so it lies in an interval of length 2 L rho, and a draw is (2L, 0)-private under rho.
Assumption 2, only most parameters have a small l: the `stochastic_*` functions (`_metric_stochastic`).

Composition of metric claims (Theorem 4) is the addition of `Metric` curves. A power r of the likelihood multiplies
l by r: L becomes r L.

Source: Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein, JMLR 18 (2017). Proofs: docs/proofs/metric.md.
"""

from __future__ import annotations

from sfumato.privacy.curves import BoundedRange
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.theorems._common import DISTANCE, DRAWS, NOT_NEGATIVE, POSITIVE, RADIUS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems._metric_stochastic import stochastic_divergence as stochastic_divergence
from sfumato.theorems._metric_stochastic import stochastic_draws as stochastic_draws
from sfumato.theorems._metric_stochastic import stochastic_draws_within as stochastic_draws_within
from sfumato.theorems._metric_stochastic import stochastic_renyi_within as stochastic_renyi_within
from sfumato.theorems._metric_stochastic import total_variation as total_variation

_PAPER = "Dimitrakakis et al. 2017, "
_UP = 1 + 1e-12  # covers the rounding of the few operations behind each number


_UNIFORM = (
    Hypothesis("lipschitz", "uniform Lipschitz constant", "L", NOT_NEGATIVE,
               "Exclude the parameters at which some data set has probability 0, or use Assumption 2 (stochastic_draws).",
               "likelihood"),
    Hypothesis("power", "power", "r", POSITIVE, "Choose a positive power."),
)  # fmt: skip


theorem("metric.posterior_draws", "uniform Lipschitz theorem", _PAPER + "Theorem 8(1)", *_UNIFORM, DISTANCE, DRAWS)


def posterior_draws(
    *, lipschitz: float, distance: str, draws: int = 1, power: float = 1.0, unit: str = "row"
) -> Guarantee:
    """(2 N r L, 0)-privacy under rho for N draws: P(B|x) <= exp(2 N r L rho(x,y)) P(B|y) for every x, y and event B.

    `lipschitz` is L of Assumption 1 for the whole data set (by Lemma 5 that of one record, under the summed distance of
    the records), `distance` names rho, `power` is r. Theorem 8(1) and Corollary 10(1), with the power added.
    Source: Dimitrakakis et al. 2017.
    """
    h = Hypotheses("metric.posterior_draws")
    slope = _uniform(h, lipschitz, power)
    name = h.distance(distance)
    n = h.count(draws, "draws")
    return h.guarantee(Metric(2 * n * slope * _UP, 0.0, name), "metric", unit, draws=n)


theorem(
    "metric.posterior_draws_within", "uniform Lipschitz theorem (bounded range)",
    _PAPER + "Theorem 8(1), with Cesar and Rogers 2021",
    *_UNIFORM, RADIUS, DRAWS,
)  # fmt: skip


def posterior_draws_within(
    *,
    lipschitz: float,
    rho: float,
    draws: int = 1,
    power: float = 1.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """N draws, for neighbours at distance at most rho: each draw has bounded range 2 r L rho.

    Bounded range gives N (r L rho)^2/2-zCDP and a whole (eps, delta) curve, where the paper has pure 2 N r L rho only.
    `rho` is the largest distance between two data sets that are neighbours by `adjacency`. Theorem 8(1), sharpened.
    Source: Dimitrakakis et al. 2017; bounded range by Cesar and Rogers 2021.
    """
    h = Hypotheses("metric.posterior_draws_within")
    slope = _uniform(h, lipschitz, power)
    radius = h.number(rho, "rho")
    n = h.count(draws, "draws")
    return h.guarantee(n * BoundedRange(2 * slope * radius * _UP), adjacency, unit, draws=n)


theorem("metric.divergence", "robustness under Assumption 1", _PAPER + "Theorem 7(1)", *_UNIFORM, RADIUS)


def divergence(*, lipschitz: float, rho: float, power: float = 1.0) -> float:
    """KL(posterior given x || posterior given y) <= min(2 r L rho, (r L rho)^2 / 2) at distance at most rho.

    Theorem 7(1) is the first term; the second is eta^2/8 for a log ratio within an interval of length eta = 2 r L rho.
    `lipschitz` is L, `power` r, `rho` the largest distance of the two data sets; rounded up.
    Source: Dimitrakakis et al. 2017, Theorem 7(1).
    """
    h = Hypotheses("metric.divergence")
    half = _uniform(h, lipschitz, power) * h.number(rho, "rho")  # half the length of the interval
    return min(2 * half, half * half / 2) * _UP


theorem(
    "metric.restricted_prior_draws", "restricted prior (Corollary 9 as it holds)", _PAPER + "Theorem 17(a)",
    Hypothesis("prior-restricted", "prior restricted to Theta_L", "xi(Theta_L)", "True",
               "Set the prior to 0 outside Theta_L, or claim metric.stochastic_renyi_within; Corollary 9 is false as printed.",
               "prior"),
    *_UNIFORM, DISTANCE, DRAWS,
)  # fmt: skip


def restricted_prior_draws(
    *, lipschitz: float, prior_restricted: bool, distance: str, draws: int = 1, power: float = 1.0, unit: str = "row"
) -> Guarantee:
    """(2 N r L, 0)-privacy under rho when the prior is RESTRICTED to Theta_L = {theta : l(theta) <= L}.

    This is what is true of Corollary 9, which claims the same "with prior probability 1 - exp(-c (L - L0))" for an
    unrestricted prior: its event does not depend on theta, so it has probability 0 or 1, and a family with one
    parameter outside Theta_L breaks it. Restriction (or rejection until the draw is in Theta_L) is public and costs
    nothing more. Without it, `stochastic_renyi_within` gives the honest tail.
    """
    h = Hypotheses("metric.restricted_prior_draws")
    h.flag(prior_restricted, "prior-restricted")
    slope = _uniform(h, lipschitz, power)
    name = h.distance(distance)
    n = h.count(draws, "draws")
    return h.guarantee(Metric(2 * n * slope * _UP, 0.0, name), "metric", unit, draws=n)


def _uniform(h: Hypotheses, lipschitz: float, power: float) -> float:
    slope = h.number(lipschitz, "lipschitz")
    return slope * h.number(power, "power")
