"""What answers from posterior draws lose: sampling error, the price of another prior, the price of a restricted prior.

A query is answered with r = argmax over responses of the mean over the N released draws of a utility u_theta(q, r) in
[0, 1]. The loss is the best posterior expected utility minus that of the answer. None of this is a privacy claim, and
no number here depends on records; the answers are post-processing of the draws.

Source: Dimitrakakis et al. 2017, Lemmas 11, 14 and 15, Corollary 16, Theorem 17. Proofs: docs/proofs/sampling_error.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import DRAWS, FAILURE
from sfumato.theorems._hypotheses import Hypotheses
from sfumato.theorems.metric import restricted_prior_draws

_PAPER = "Dimitrakakis et al. 2017, "
# Rounds a bound up: more than the rounding errors of a few operations.
_UP = 1 + 1e-12


def response_loss(
    *,
    draws: int,
    responses: int,
    queries: int,
    delta: float,
    adaptive: bool = False,
    query_set: int | None = None,
) -> float:
    """With probability 1 - delta EVERY answer loses at most 2 sqrt(ln(2 |R| T/delta)/(2N)), and never more than 1.

    `responses` is |R|, `queries` is T, the number of queries fixed before the draws; where later queries may depend on
    earlier answers (`adaptive`), T is replaced by the number |Q| of queries that could be asked, `query_set`.
    Lemma 11 prints sqrt(ln(2/delta)/(2N)) for all q and r at once: Hoeffding's inequality without the union bound.
    """
    h = Hypotheses("loss of answers from draws", _PAPER + "Lemma 11, with its union bound")
    n = h.count(draws, DRAWS)
    return min(1.0, 2 * math.sqrt(_log_events(h, responses, queries, delta, adaptive, query_set) / (2 * n)) * _UP)


def draws_needed(
    *,
    loss: float,
    responses: int,
    queries: int,
    delta: float,
    adaptive: bool = False,
    query_set: int | None = None,
) -> int:
    """Smallest N for which `response_loss` is at most `loss`: the ceiling of 2 ln(2 |R| T/delta)/loss^2.

    |R| is the number of `responses`, T of `queries`, `delta` the failure probability; with `adaptive` T is `query_set`.
    Rounded up.
    Source: Dimitrakakis et al. 2017, Lemma 11, with its union bound.
    """
    h = Hypotheses("draws for a loss", _PAPER + "Lemma 11, with its union bound")
    target = h.number(loss, "loss", "loss", "in (0, 1]", "Utilities lie in [0, 1], so a loss above 1 needs no draw.")
    log_events = _log_events(h, responses, queries, delta, adaptive, query_set)
    if target == 1:
        return 1
    # Bisection with the test of `response_loss` itself, so that rounding cannot return one draw too few.
    low, high = 0, math.ceil(2 * log_events / target**2 * (1 + 1e-11)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = 2 * math.sqrt(log_events / (2 * middle)) * _UP <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def regret(*, total_variation: float) -> float:
    """Loss of optimising under a belief xi when xi* is right: at most 2 TV(xi, xi*), which is the L1 distance.

    Lemma 14 prints 2 |xi - xi*|_1; for utilities in [0, 1] half of that suffices, because |E u - E* u| <= TV.
    `total_variation` is TV(xi, xi*), half the L1 distance.
    Source: Dimitrakakis et al. 2017, Lemma 14.
    """
    h = Hypotheses("regret of another belief", _PAPER + "Lemma 14")
    tv = h.number(total_variation, "total variation", "TV", "in [0, 1]", "Give half the L1 distance.")
    return min(1.0, 2 * tv * _UP)


def prior_change_divergence(*, log_ratio: float) -> float:
    """KL between the posteriors of two priors with |ln xi*/xi| <= eta: at most min(2 eta, eta^2/2), for EVERY data set.

    The log ratio of the posteriors lies in an interval of length 2 eta. Lemma 15 has 2 eta, on average over x.
    `log_ratio` is eta; rounded up.
    Source: Dimitrakakis et al. 2017, Lemma 15.
    """
    h = Hypotheses("posteriors of two close priors", _PAPER + "Lemma 15")
    eta = h.number(log_ratio, "log ratio of the priors", "eta", "finite and 0 or greater", "Bound it.", origin="prior")
    return min(2 * eta, eta * eta / 2) * _UP


def preferred_prior_loss(
    *,
    log_ratio: float,
    draws: int,
    responses: int,
    queries: int,
    delta: float,
    adaptive: bool = False,
    query_set: int | None = None,
) -> float:
    """Loss under the analyst's own prior xi*, |ln xi*/xi| <= eta: 2 tanh(eta/2) + `response_loss`, for every data set.

    tanh(eta/2) is the largest total variation of posteriors whose log ratio has range 2 eta. Corollary 16, explicit.
    `log_ratio` is eta; the other arguments are those of `response_loss`.
    Source: Dimitrakakis et al. 2017, Corollary 16.
    """
    h = Hypotheses("loss under a preferred prior", _PAPER + "Corollary 16")
    eta = h.number(log_ratio, "log ratio of the priors", "eta", "finite and 0 or greater", "Bound it.", origin="prior")
    sampling = response_loss(
        draws=draws, responses=responses, queries=queries, delta=delta, adaptive=adaptive, query_set=query_set
    )
    return min(1.0, regret(total_variation=min(1.0, math.tanh(eta / 2) * _UP)) + sampling)


class RestrictedPriorRelease(NamedTuple):
    """Theorem 17: the privacy of the draws (a) and the loss of the answers, averaged over data sets (b)."""

    guarantee: Guarantee
    mean_loss: float


def restricted_prior_release(
    *,
    lipschitz: float,
    mass: float,
    prior_restricted: bool,
    distance: str,
    draws: int,
    responses: int,
    queries: int,
    delta: float,
    adaptive: bool = False,
    query_set: int | None = None,
    unit: str = "row",
) -> RestrictedPriorRelease:
    """N draws, xi* restricted to Theta_L: (a) (2 L N, 0)-private under rho; (b) loss 2 (1 - xi*(Theta_L)) + sampling.

    `mass` is xi*(Theta_L), the PRIOR mass. (b) is the average over x ~ phi*, the data that xi* expects, of a bound that
    holds with probability 1 - delta over the draws: at one x the first term is 2 (1 - xi*(Theta_L | x)), the POSTERIOR
    mass, which may be near 2. The paper's proof uses the prior mass at every x, which is false.
    """
    h = Hypotheses("answers under a restricted prior", _PAPER + "Theorem 17(b)")
    kept = h.number(mass, "prior mass of Theta_L", "xi*(Theta_L)", "in (0, 1]", "Restrict to a set of positive mass.")
    guarantee = restricted_prior_draws(
        lipschitz=lipschitz, prior_restricted=prior_restricted, distance=distance, draws=draws, unit=unit
    )
    sampling = response_loss(
        draws=draws, responses=responses, queries=queries, delta=delta, adaptive=adaptive, query_set=query_set
    )
    return RestrictedPriorRelease(guarantee, min(1.0, regret(total_variation=1 - kept) + sampling))


def _log_events(
    h: Hypotheses, responses: int, queries: int, delta: float, adaptive: bool, query_set: int | None
) -> float:
    """ln(2 |R| T/delta): both tails of every response to every query that has to be covered."""
    count = h.count(responses, "finite response set", "|R|", 1, "List the responses, or discretise them.")
    asked = h.count(queries, "number of queries", "T", 1, "State how many queries are fixed in advance.")
    if adaptive:
        remedy = "Adaptive queries need the number of queries that could be asked: query_set=..."
        asked = h.count(query_set, "finite set of possible queries", "|Q|", asked, remedy)
    risk = h.number(delta, FAILURE)
    return math.log(2) + math.log(count) + math.log(asked) - math.log(risk)
