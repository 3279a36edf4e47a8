"""What answers from draws lose: exact failure probabilities and exact regrets on finite families."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from finite_oracle import kl, random_family, total_variation
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import AssumptionError
from sfumato.theorems import sampling_error

# --- Lemma 11 -------------------------------------------------------------------------------------------------------


def failure_probability(draws: int, decoys: int, loss: float) -> float:
    """Exact chance that an answer loses `loss`: one response is worth 1/2 + loss, `decoys` are independent fair bits.

    A decoy wins when its mean over the draws exceeds 1/2 + loss; decoys are independent bits of theta.
    """
    needed = math.floor(draws * (0.5 + loss)) + 1
    one = stats.binom.sf(needed - 1, draws, 0.5)
    return float(-np.expm1(decoys * np.log1p(-one)))


def printed(draws: int, delta: float) -> float:
    """Lemma 11 without its union bound."""
    return 2 * math.sqrt(math.log(2 / delta) / (2 * draws))


@pytest.mark.parametrize("draws", [30, 100, 400, 3000])
@pytest.mark.parametrize("decoys", [1, 10, 10_000])
@pytest.mark.parametrize("queries", [1, 20])
def test_bound_holds_with_its_union(draws, decoys, queries):
    for delta in (0.5, 0.05, 1e-4):
        bound = sampling_error.response_loss(draws=draws, responses=decoys + 1, queries=queries, delta=delta)
        if bound < 0.5:  # a fair bit loses at most 1/2; queries have their own independent decoys
            assert failure_probability(draws, decoys * queries, bound * (1 + 1e-9)) <= delta


@pytest.mark.planted
def test_printed_bound_fails_for_many_responses_and_for_many_queries():
    draws, delta = 50, 0.5
    loss = printed(draws, delta) + 1e-3
    assert failure_probability(draws, 1, loss) <= delta
    assert failure_probability(draws, 10_000, loss) > delta
    assert failure_probability(draws, 2 * 5_000, loss) > delta  # two responses, 5,000 queries
    fixed = sampling_error.response_loss(draws=draws, responses=2, queries=5_000, delta=delta)
    assert failure_probability(draws, 5_000, fixed) <= delta


def test_adaptive_queries_pay_for_all_that_could_be_asked():
    known = {"draws": 1000, "responses": 4, "delta": 0.1}
    fixed = sampling_error.response_loss(**known, queries=3)
    adaptive = sampling_error.response_loss(**known, queries=3, adaptive=True, query_set=1 << 20)
    assert adaptive == sampling_error.response_loss(**known, queries=1 << 20)
    assert adaptive > fixed


@pytest.mark.planted
def test_the_bound_for_fixed_queries_fails_when_the_last_query_reads_the_earlier_answers():
    # theta is 4,000 fair bits. 4,000 queries read their majorities in the 50 draws; the last offers "theta agrees with
    # these majorities in more than 53 % of its bits" against a sure 0.99. All draws agree, almost no theta does.
    rng = np.random.default_rng(1)
    theta = rng.integers(0, 2, size=(50, 4000))
    majority = theta.mean(axis=0) >= 0.5
    in_draws = ((theta == majority).mean(axis=1) > 0.53).mean()
    in_posterior = stats.binom.sf(2120, 4000, 0.5)
    assert in_draws > 0.99  # so the answer is "agrees"
    loss = 0.99 - in_posterior
    fixed = sampling_error.response_loss(draws=50, responses=2, queries=4001, delta=0.5)
    assert loss > fixed + 0.3
    query_set = 4000 + 2**4000
    honest = sampling_error.response_loss(
        draws=50, responses=2, queries=4001, delta=0.5, adaptive=True, query_set=query_set
    )
    assert honest == 1.0


@given(
    loss=st.floats(1e-4, 1.0),
    responses=st.integers(1, 10**6),
    queries=st.integers(1, 10**6),
    delta=st.floats(1e-9, 0.9),
)
@settings(max_examples=150, deadline=None)
def test_draws_needed_is_the_exact_inverse(loss, responses, queries, delta):
    known = {"responses": responses, "queries": queries, "delta": delta}
    n = sampling_error.draws_needed(loss=loss, **known)
    assert sampling_error.response_loss(draws=n, **known) <= loss
    if n > 1:
        assert sampling_error.response_loss(draws=n - 1, **known) > loss


def test_draws_needed_for_a_tiny_loss_returns_at_once():
    n = sampling_error.draws_needed(loss=1e-9, responses=3, queries=1, delta=0.01)
    assert n == pytest.approx(2 * math.log(600) * 1e18, rel=1e-9)


# --- Lemma 14 -------------------------------------------------------------------------------------------------------


def test_regret_is_bounded_by_twice_the_total_variation_and_the_constant_is_attained():
    rng = np.random.default_rng(2)
    for _ in range(500):
        size, responses = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        utility = rng.random((responses, size)).round(int(rng.integers(0, 3)))
        used, right = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
        answer, best = np.argmax(utility @ used), np.max(utility @ right)
        bound = sampling_error.regret(total_variation=total_variation(used, right))
        assert best - utility[answer] @ right <= bound + 1e-12
    used, right = np.array([0.5 + 1e-9, 0.5 - 1e-9]), np.array([0.3, 0.7])
    utility = np.eye(2)
    true = np.max(utility @ right) - utility[np.argmax(utility @ used)] @ right
    assert true > 0.99 * sampling_error.regret(total_variation=total_variation(used, right))
    assert sampling_error.regret(total_variation=0.9) == 1.0


# --- Lemma 15, Corollary 16 -----------------------------------------------------------------------------------------


def two_priors(seed: int, count: int):
    """Families with a second prior, and the largest log ratio of the two."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        family = random_family(rng)
        other = family.prior * np.exp(rng.uniform(-1, 1, len(family.prior)) * rng.choice([0.01, 0.3, 2.0]))
        other = family._replace(prior=other / other.sum())
        yield family, other, float(np.max(np.abs(np.log(other.prior / family.prior))))


@pytest.mark.planted
def test_divergence_after_a_change_of_prior_holds_for_every_data_set():
    worst = worst_half = 0.0
    for family, other, eta in two_priors(3, 400):
        bound = sampling_error.prior_change_divergence(log_ratio=eta)
        assert bound <= 2 * eta * (1 + 1e-9)
        for x in range(len(family.rho)):
            true = kl(other.posteriors()[:, x], family.posteriors()[:, x])
            worst = max(worst, true / bound)
            worst_half = max(worst_half, true / (bound / 2))
    assert worst <= 1 + 1e-6
    assert worst_half > 1  # half the bound is broken


def test_preferred_prior_loss_covers_the_worst_utility():
    for family, other, eta in two_priors(4, 300):
        loss = sampling_error.preferred_prior_loss(log_ratio=eta, draws=10**12, responses=2, queries=1, delta=0.5)
        for x in range(len(family.rho)):
            used, right = family.posteriors()[:, x], other.posteriors()[:, x]
            for subset in itertools.product([0.0, 1.0], repeat=len(used)):
                utility = np.array([subset, 1 - np.array(subset)])
                answer = np.argmax(utility @ used)
                assert np.max(utility @ right) - utility[answer] @ right <= loss + 1e-9
    sampling = sampling_error.response_loss(draws=100, responses=3, queries=2, delta=0.1)
    total = sampling_error.preferred_prior_loss(log_ratio=0.2, draws=100, responses=3, queries=2, delta=0.1)
    assert total == pytest.approx(2 * math.tanh(0.1) + sampling)


def test_half_of_the_prior_term_is_not_enough():
    # Data that say nothing; the used prior is all but undecided, the right one leans the other way.
    eta = 0.02
    used, right = np.array([0.5, 0.5]), np.array([math.exp(-eta), 2 - math.exp(-eta)]) / 2
    assert np.max(np.abs(np.log(right / used))) == pytest.approx(eta)
    true = right[1] - right[0]  # the answer 0, chosen by a hair under the used prior
    bound = sampling_error.preferred_prior_loss(log_ratio=eta, draws=10**15, responses=2, queries=1, delta=0.5)
    assert 0.98 * bound < true <= bound


# --- Theorem 17 -----------------------------------------------------------------------------------------------------

RELEASE = {
    "lipschitz": 1.0,
    "prior_restricted": True,
    "distance": "Hamming",
    "responses": 2,
    "queries": 1,
    "delta": 0.5,
}


@pytest.mark.planted
def test_restricted_prior_holds_on_average_and_fails_at_one_data_set():
    theta = np.arange(1, 20) / 20
    n = 4
    records = np.array(list(itertools.product([0, 1], repeat=n))).sum(axis=1)
    p = theta[:, None] ** records * (1 - theta[:, None]) ** (n - records)
    prior = np.full(19, 1 / 19)
    kept = np.abs(np.log(theta / (1 - theta))) <= 1.0
    phi = prior @ p
    posterior = prior[:, None] * p / phi
    restricted = np.where(kept[:, None], posterior, 0)
    restricted /= restricted.sum(axis=0)
    variation = np.abs(posterior - restricted).sum(axis=0) / 2
    mass = float(prior[kept].sum())
    assert np.sum(phi * variation) == pytest.approx(1 - mass)  # an equality on average over x
    assert variation.max() > 1 - mass + 0.2  # and false at x = 0000
    utility = np.stack([kept, ~kept]).astype(float)  # "is theta in Theta_L?"
    chosen = np.argmax(utility @ restricted, axis=0)
    worth = utility @ posterior
    losses = worth.max(axis=0) - worth[chosen, np.arange(len(records))]
    # So many draws that sampling error is negligible.
    assert phi @ losses <= sampling_error.restricted_prior_release(mass=mass, draws=10**12, **RELEASE).mean_loss


@pytest.mark.planted
def test_a_data_set_that_breaks_theorem_17_b_as_printed():
    # Theta_L misses 5 % of the prior, and one data set is explained by that part alone.
    prior, p = np.array([0.95, 0.05]), np.array([[1e-4, 1 - 1e-4], [0.9, 0.1]])
    posterior = prior * p[:, 0] / (prior @ p[:, 0])
    mean_loss = sampling_error.restricted_prior_release(mass=0.95, draws=10**12, **RELEASE).mean_loss
    loss = posterior[1] - posterior[0]  # "in Theta_L" is answered although the other is all but certain
    assert loss > 0.99 > mean_loss
    average = (prior @ p[:, 0]) * loss
    assert average <= mean_loss


def test_theorem_17_a_is_the_restricted_claim():
    release = sampling_error.restricted_prior_release(mass=0.9, draws=7, **RELEASE)
    assert release.guarantee.curve.epsilon_value == pytest.approx(14.0)
    assert release.guarantee.draws == 7
    many = sampling_error.restricted_prior_release(mass=0.9, draws=100, **RELEASE)
    sampling = sampling_error.response_loss(draws=100, responses=2, queries=1, delta=0.5)
    assert many.mean_loss == pytest.approx(0.2 + sampling)


# --- Hypotheses -----------------------------------------------------------------------------------------------------

ASKED = {"responses": 3, "queries": 2, "delta": 0.1}


@pytest.mark.parametrize(
    ("function", "arguments", "change", "name"),
    [
        (sampling_error.response_loss, ASKED | {"draws": 5}, {"draws": 0}, "number of draws"),
        (sampling_error.response_loss, ASKED | {"draws": 5}, {"responses": math.inf}, "finite response set"),
        (sampling_error.response_loss, ASKED | {"draws": 5}, {"queries": 0}, "number of queries"),
        (sampling_error.response_loss, ASKED | {"draws": 5}, {"delta": 0.0}, "failure probability"),
        (sampling_error.response_loss, ASKED | {"draws": 5}, {"adaptive": True}, "finite set of possible queries"),
        (
            sampling_error.response_loss,
            ASKED | {"draws": 5},
            {"adaptive": True, "query_set": 1},
            "finite set of possible queries",
        ),
        (sampling_error.draws_needed, ASKED | {"loss": 0.1}, {"loss": 0.0}, "loss"),
        (sampling_error.draws_needed, ASKED | {"loss": 0.1}, {"delta": 1.0}, "failure probability"),
        (sampling_error.regret, {}, {"total_variation": 1.2}, "total variation"),
        (sampling_error.prior_change_divergence, {}, {"log_ratio": math.inf}, "log ratio of the priors"),
        (sampling_error.preferred_prior_loss, ASKED | {"draws": 5}, {"log_ratio": -1.0}, "log ratio of the priors"),
        (sampling_error.restricted_prior_release, RELEASE | {"draws": 5}, {"mass": 0.0}, "prior mass of Theta_L"),
        (
            sampling_error.restricted_prior_release,
            RELEASE | {"draws": 5, "mass": 0.5},
            {"prior_restricted": False},
            "prior restricted to Theta_L",
        ),
    ],
)
def test_each_hypothesis_is_checked_by_name(function, arguments, change, name):
    with pytest.raises(AssumptionError, match=name):
        function(**(arguments | change))
