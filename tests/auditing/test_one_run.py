"""Audits from one release: the bounds against linear programs, another library and simulation; records, runs and faults."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

import sfumato as sf
from effort import sized
from sfumato.auditing.claims import Claim
from sfumato.auditing.guesses import Guesses, best_number, guessed, least_mass
from sfumato.auditing.one_run import canaries, one_run
from sfumato.errors import ArgumentError


def gaussian(mu: float) -> Claim:
    return Claim.of(sf.Guarantee(sf.Gaussian(mu), "replace-one", "a test", "a test"))


def most_likely(case: Guesses, lines: list[tuple[float, float]]) -> float:
    """The largest P(W >= v) over laws p of W with H_(c-1) >= height + slope A_c for every line: a linear program.

    f(1 - a) is the largest of the lines.
    """
    m, r, v = case.records, case.guesses, case.right
    k = np.arange(r + 1)
    upper = []
    for c in range(1, r + 1):
        right, wrong = np.where(k >= c, k / m, 0.0), np.where(k >= c - 1, (r - k) / m, 0.0)
        upper += [(slope * right - wrong, -height) for height, slope in lines]
    solved = optimize.linprog(
        -(k >= v).astype(float), np.array([a for a, _ in upper]), [b for _, b in upper], np.ones((1, r + 1)), [1.0]
    )
    return -solved.fun


def largest_rate(case: Guesses, least_missed) -> float:
    """The largest P(W >= v) that the recursion does not contradict."""
    allowed = case.guesses / case.records
    return optimize.brentq(lambda rate: least_mass(case, least_missed, rate) - allowed - 1e-12, 1e-12, 1.0 + 1e-9)


@pytest.mark.parametrize("case", [Guesses(12, 12, 9), Guesses(20, 8, 7), Guesses(30, 6, 6)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.02)])
def test_the_recursion_is_the_linear_program_of_a_claim_of_two_lines(
    case: Guesses, epsilon: float, delta: float
) -> None:
    most = math.exp(epsilon)
    # f(a) = max(0, 1 - delta - e^eps a, (1 - delta - a)/e^eps) at a = 1 - A.
    lines = [(0.0, 0.0), (1 - delta - most, most), (-delta / most, 1 / most)]
    rate = largest_rate(case, lambda a: max(0.0, 1 - delta - most * a, (1 - delta - a) / most))
    assert rate == pytest.approx(most_likely(case, lines), rel=1e-6)


@pytest.mark.parametrize("case", [Guesses(12, 12, 9), Guesses(20, 8, 7)])
def test_the_recursion_is_the_linear_program_of_a_gaussian_claim(case: Guesses) -> None:
    """Tangents of f(1 - a) = Phi(Phi^-1(a) - mu), 300 of them: their maximum is below by less than 1e-4."""
    mu = 0.8
    z = np.linspace(-5, 5, 300)
    slopes = np.exp(stats.norm.logpdf(z - mu) - stats.norm.logpdf(z))
    heights = stats.norm.cdf(z - mu) - slopes * stats.norm.cdf(z)
    rate = largest_rate(case, lambda a: float(stats.norm.cdf(-stats.norm.ppf(a) - mu)))
    exact = most_likely(case, list(zip(heights.tolist(), slopes.tolist(), strict=True)))
    assert rate == pytest.approx(exact, rel=2e-3)
    assert case.contradict(gaussian(mu), 1 - rate * 1.001)
    assert not case.contradict(gaussian(mu), 1 - rate * 0.999)


# Values of jax_privacy 2.0.0 (auditing.py): `_one_run_p_value` at (0.5, delta), and, at significance 0.05, `_epsilon_one_run`
# and `_epsilon_one_run_fdp`.
OTHERS = [
    (Guesses(100, 40, 30), 1e-5, 0.0640422, 0.459048, 0.828289),
    (Guesses(1000, 100, 90), 1e-3, 0.0539401, 0.388474, 1.691953),
    (Guesses(1000, 400, 310), 1e-5, 0.000248476, 1.034521, 1.759855),
    (Guesses(500, 500, 350), 1e-5, 0.000342477, 0.682993, 1.351995),
    (Guesses(200, 60, 60), 1e-3, 0.0134125, 2.298741, 4.101737),
]


@pytest.mark.parametrize(("case", "delta", "probability", "epsilon", "of_gaussian"), OTHERS)
def test_the_bounds_are_those_of_another_library(
    case: Guesses, delta: float, probability: float, epsilon: float, of_gaussian: float
) -> None:
    assert case.probability(0.5, delta) == pytest.approx(probability, rel=1e-5)
    # The library has the first bound alone; the second can only add to it.
    assert case.epsilon(delta) >= epsilon - 1e-5
    assert sf.Gaussian(case.mu()).epsilon(delta) == pytest.approx(of_gaussian, abs=1e-5)


def test_without_delta_the_bound_is_the_tail_of_fair_responses() -> None:
    """Randomised response reaches it: each coin is reported with probability e^eps/(1 + e^eps)."""
    case, q = Guesses(30, 30, 22), 1 / (1 + math.exp(-0.4))
    assert case.probability(0.4, 0.0) == pytest.approx(stats.binom.sf(21, 30, q), rel=1e-12)
    assert Guesses(30, 30, 0).probability(0.4, 0.0) == 1.0


def test_a_mechanism_that_fails_with_probability_delta_stays_within_the_bound() -> None:
    """Every coin is published with probability delta, else reported by randomised response: P(W >= v) is known."""
    m, epsilon, delta = 20, 0.5, 0.02
    q = 1 / (1 + math.exp(-epsilon))
    for v in range(10, m + 1):
        true = stats.binom.sf(v - 1, m, q + delta * (1 - q))
        case = Guesses(m, m, v)
        assert true <= case.probability(epsilon, delta)
        assert least_mass(case, lambda a: max(0.0, 1 - delta - math.exp(epsilon) * a), true) <= 1 + 1e-9


def simulated(mu: float, m: int, guesses: int, seed: int) -> Guesses:
    """A Gaussian mechanism whose m records have a coordinate each: the worst that mu allows."""
    rng = np.random.default_rng(seed)
    coins = 2 * rng.integers(0, 2, m) - 1
    return guessed(0.5 * mu * coins + rng.normal(size=m), coins, guesses)


@pytest.mark.parametrize("mu", [0.5, 1.0])
def test_the_confidence_is_kept_and_a_quarter_of_the_noise_is_seen(mu: float) -> None:
    """Wrong rejections are at most 5 %: of the runs below, more than the 1e-6 quantile of that would be a fault."""
    runs, m = sized(300, 2000), 300
    claim, guesses = gaussian(mu), best_number(m, mu, 0.95)
    wrong = sum(simulated(mu, m, guesses, seed).contradict(claim) for seed in range(runs))
    assert wrong <= stats.binom.ppf(1 - 1e-6, runs, 0.05)
    assert all(simulated(4 * mu, m, guesses, seed).contradict(claim) for seed in range(20))
    bounds = [simulated(mu, m, guesses, seed).mu() for seed in range(20)]
    assert 0.25 * mu < np.mean(bounds) < mu


def test_the_bounds_grow_with_right_guesses_and_fall_with_the_level() -> None:
    bounds = [Guesses(400, 80, right).mu() for right in (40, 60, 70, 80)]
    assert bounds[0] == 0 < bounds[1] < bounds[2] < bounds[3]
    epsilons = [Guesses(400, 80, right).epsilon(1e-5) for right in (40, 60, 70, 80)]
    assert epsilons[0] == 0 < epsilons[1] < epsilons[2] < epsilons[3]
    assert Guesses(400, 80, 70).mu(0.99) < Guesses(400, 80, 70).mu(0.95)
    assert not Guesses(400, 80, 0).contradict(gaussian(0.0))


def test_the_number_of_guesses_is_near_the_best() -> None:
    """Against every hundredth of the records, by the expected number of right guesses."""
    m, mu = 400, 1.5
    right = lambda t: (stats.norm.cdf(mu / 2 - t), stats.norm.cdf(-mu / 2 - t))
    bounds = []
    for share in np.linspace(0.02, 0.98, 49):
        t = optimize.brentq(lambda t, share=share: sum(right(t)) - share, 0.0, 10.0)
        bounds.append(Guesses(m, int(share * m), int(m * right(t)[0])).mu())
    chosen = best_number(m, mu, 0.95)
    t = optimize.brentq(lambda t: sum(right(t)) - chosen / m, 0.0, 10.0)
    assert Guesses(m, chosen, int(m * right(t)[0])).mu() > 0.9 * max(bounds)


def test_guesses_are_the_signs_of_the_largest_scores() -> None:
    scores, coins = np.array([0.1, -3.0, 2.0, -0.5]), np.array([1, -1, -1, -1])
    assert guessed(scores, coins, 1) == Guesses(4, 1, 1)
    assert guessed(scores, coins, 2) == Guesses(4, 2, 1)
    assert guessed(scores, coins, 4) == Guesses(4, 4, 3)
    with pytest.raises(ArgumentError, match="1 to 4 guesses"):
        guessed(scores, coins, 5)
    with pytest.raises(ArgumentError, match="among the guesses"):
        Guesses(10, 3, 4)


# --- whole runs ---------------------------------------------------------------------------------------------------------

D = 200


def path(mu: float, loss=None, **more) -> sf.Plan:
    model = sf.Gibbs(loss or sf.losses.Hinge(1.0), sf.priors.Gaussian(1.0), D)
    options = {"keep": ("transcript",), "steps": 10, **more}
    return sf.plan(model, D, mechanism="langevin-path", goal="estimate", target=sf.Gaussian(mu), **options)


def test_a_path_is_not_broken_by_one_run_and_a_quarter_of_its_noise_is() -> None:
    """Rows along the axes have the largest gradients of the hinge loss: a run has the power of a Gaussian mechanism's."""
    claimed, noisier = path(1.0), path(4.0)
    honest = [one_run(claimed, seed=seed, randomness=sf.seeded(seed)) for seed in range(3)]
    assert not any(run.broken for run in honest)
    assert 0.25 < np.mean([run.mu for run in honest]) < 1
    assert all(run.epsilon(1e-5) <= run.guarantee.epsilon(1e-5) for run in honest)
    number = honest[0].guesses.guesses
    for seed in range(3):
        faulty = one_run(noisier, seed=seed, guesses=number, randomness=sf.seeded(seed))
        assert not faulty.broken
        assert faulty.guesses.contradict(Claim.of(claimed.guarantee))


def families() -> dict:
    at = {"target": sf.Gaussian(3.0)}
    return {
        "estimate alone": path(3.0, sf.losses.Logistic(1.0), keep=()),
        "linear, with an intercept": sf.plan(
            sf.Gibbs(sf.losses.Huber(1.0, 0.5, 0.0, 1.0), sf.priors.Gaussian(1.0), D + 1, 0.5),
            D + 20,
            mechanism="langevin-path",
            goal="estimate",
            steps=10,
            keep=("transcript",),
            **at,
        ),
        "shares": sf.plan(
            sf.families.DirichletCategorical(41), 30, mechanism="noisy-statistics", draws=30, target=sf.Gaussian(6.0)
        ),
        "vector mean": sf.plan(sf.families.GaussianMean(40, 30.0, 1.0), 50, mechanism="noisy-statistics", **at),
    }


@pytest.mark.parametrize("name", families())
def test_runs_of_other_models_guess_better_than_coins_and_stay_within_the_claim(name: str) -> None:
    plan = families()[name]
    run = one_run(plan, seed=5, randomness=sf.seeded(5))
    assert not run.broken
    everyone = one_run(plan, seed=5, guesses=run.guesses.records, randomness=sf.seeded(5)).guesses
    # More right guesses than 999 of 1,000 sets of coins would have.
    least = stats.binom.ppf(0.999, everyone.records, 0.5)
    assert everyone.right > least
    assert everyone.records == {"shares": 20, "vector mean": 40}.get(name, D)
    assert run.mu <= run.most


def test_records_at_risk_are_the_two_values_of_their_coin_and_no_other_record_moves() -> None:
    made = canaries(path(1.0))
    coins = np.ones(D, dtype=np.int64)
    flipped = coins.copy()
    flipped[3] = -1
    first, second = made.dataset(coins), made.dataset(flipped)
    model = path(1.0).model
    from sfumato.engines.opening import open_engine

    gradients = [open_engine(data, model, ("gradients",)).gradient(np.zeros((1, D)))[0] for data in (first, second)]
    moved = gradients[0] - gradients[1]
    assert np.linalg.norm(moved) == pytest.approx(model.constants.difference, rel=1e-9)
    assert np.flatnonzero(moved).tolist() == [3]


def test_models_without_such_records_are_refused() -> None:
    with pytest.raises(ArgumentError, match="audit from one run"):
        canaries(sf.plan(sf.families.BetaBernoulli(2, 2), 20, mechanism="noisy-statistics", epsilon=1.0, delta=1e-6))
