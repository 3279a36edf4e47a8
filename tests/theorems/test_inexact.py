"""Total-variation slack against the worst perturbation, and the Langevin schedule against chains with known laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from sfumato.errors import AssumptionError
from sfumato.privacy.curves import Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.theorems import inexact, sharp

EXACT = sharp.gibbs_draw(difference=0.5, strong_convexity=1.0, convex=True, convex_domain=True)
GAMMA = {"total_variation": 1e-3, "every_data_set": True}
LANGEVIN = {"strong_convexity": 0.05, "smoothness": 1.0, "dimension": 2, "total_variation": 0.1}


# --- Proposition 12 ------------------------------------------------------------------------------------------------


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.planted
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_proposition_12_is_attained(epsilon: float) -> None:
    # Randomised response at epsilon, and one point that neither law charges. The sampler moves gamma of D's mass there
    # and takes gamma of D''s mass away from where D lives.
    gamma = 0.01
    high = math.exp(epsilon) / (1 + math.exp(epsilon))
    p, q = np.array([high, 1 - high, 0.0]), np.array([1 - high, high, 0.0])
    p_run = p + gamma * np.array([0, -1, 1])
    q_run = q + gamma * np.array([-1, 1, 0])
    exact = Guarantee(Pure(epsilon), "replace-one", "randomised response", "exact")
    assert hockey_stick(p, q, epsilon) <= exact.delta(epsilon) + 1e-15
    cost = hockey_stick(p_run, q_run, epsilon)
    claim = inexact.approximate_sampler(exact, total_variation=gamma, every_data_set=True)
    assert cost <= claim.delta(epsilon) * (1 + 1e-12)
    assert cost == pytest.approx((1 + math.exp(epsilon)) * gamma, rel=1e-9)
    # The display (D.8) without its gamma, or gamma alone, would be rejected by the same inequality.
    assert cost > math.exp(epsilon) * gamma * (1 + 1e-9)
    assert cost > gamma


def test_random_perturbations_stay_within_the_slack() -> None:
    rng = np.random.default_rng(20160901)
    for _ in range(200):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        epsilon, gamma = rng.uniform(0, 3), 10 ** rng.uniform(-4, -1)
        shift_p, shift_q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        p_run, q_run = (1 - gamma) * p + gamma * shift_p, (1 - gamma) * q + gamma * shift_q
        bound = hockey_stick(p, q, epsilon) + (1 + math.exp(epsilon)) * gamma
        assert hockey_stick(p_run, q_run, epsilon) <= bound


def test_slack_is_kept_apart_and_summed_over_draws() -> None:
    claim = inexact.approximate_sampler(EXACT, **GAMMA)
    assert claim.curve == EXACT.curve
    assert claim.slack == pytest.approx(1e-3, rel=1e-12)
    assert claim.slack >= 1e-3
    assert claim.trust == "proved with slack"
    assert claim.delta(1.0) == pytest.approx(EXACT.delta(1.0) + (1 + math.e) * 1e-3, rel=1e-12)
    assert claim.renyi(2.0) == math.inf
    five = sharp.gibbs_draw(difference=0.5, strong_convexity=1.0, convex=True, draws=5, convex_domain=True)
    many = inexact.approximate_sampler(five, **GAMMA)
    assert many.slack == pytest.approx(5e-3, rel=1e-12)
    assert (5 * claim).slack == pytest.approx(many.slack, rel=1e-12)
    again = inexact.approximate_sampler(claim, **GAMMA)
    assert again.slack == pytest.approx(2e-3, rel=1e-12)
    assert "Proposition 12" in claim.theorem
    assert "sharp theorem" in claim.theorem


def test_trust_only_falls() -> None:
    doubtful = replace(EXACT, trust="assumes converged")
    assert inexact.approximate_sampler(doubtful, **GAMMA).trust == "assumes converged"
    assert inexact.approximate_sampler(EXACT, total_variation=0.0, every_data_set=True).trust == "proved"


@pytest.mark.parametrize(
    ("change", "hypothesis"),
    [
        ({"every_data_set": False}, "total variation bounded for every data set"),
        ({"every_data_set": None}, "total variation bounded for every data set"),
        ({"total_variation": 1.5}, "total variation of one draw"),
        ({"total_variation": math.nan}, "total variation of one draw"),
    ],
)
def test_each_hypothesis_of_proposition_12(change: dict, hypothesis: str) -> None:
    with pytest.raises(AssumptionError, match=hypothesis):
        inexact.approximate_sampler(EXACT, **(GAMMA | change))


def test_a_metric_guarantee_is_refused() -> None:
    claim = Guarantee(Metric(1.0, 0.0, "|x - y|"), "metric", "some theorem", "some source")
    with pytest.raises(AssumptionError, match="ordinary neighbours"):
        inexact.approximate_sampler(claim, **GAMMA)


# --- Proposition 13 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gamma", "steps"), [(1e-3, 1.2e16), (1e-6, 1.3e22)])
def test_the_schedule_is_astronomical(gamma: float, steps: float) -> None:
    # d = 101, n = 32561, power 0.1, n lambda = 32.6, r^2 = 2: M = n beta r^2/4 + n lambda.
    smoothness = 32561 * 0.1 * 2 / 4 + 32.6
    run = inexact.langevin_schedule(strong_convexity=32.6, smoothness=smoothness, dimension=101, total_variation=gamma)
    assert run.steps == pytest.approx(steps, rel=0.04)
    assert run.step * run.steps == pytest.approx(run.horizon, rel=1e-12)


def normal_distance(mean: float, variance: float, target: float) -> float:
    """Total variation between N(mean, variance) and N(0, target), by quadrature."""
    spread, wide = math.sqrt(variance), math.sqrt(max(variance, target))
    low, high = min(mean, 0) - 12 * wide, max(mean, 0) + 12 * wide
    grid = np.linspace(low, high, 400_001)
    gap = np.abs(stats.norm.pdf(grid, mean, spread) - stats.norm.pdf(grid, 0, math.sqrt(target)))
    return 0.5 * float(integrate.trapezoid(gap, grid))


def chain_distances(curvatures: list[float], smoothness: float, step: float, steps: int, offset: float) -> list[float]:
    """Exact distance of each coordinate of a quadratic chain from its target, started at N(offset, 1/M)."""
    distances = []
    for curvature in curvatures:
        log_c = steps * math.log1p(-step * curvature)
        limit = 2 * step / -math.expm1(2 * math.log1p(-step * curvature))
        variance = math.exp(2 * log_c) / smoothness + limit * -math.expm1(2 * log_c)
        distances.append(normal_distance(offset * math.exp(log_c), variance, 1 / curvature))
    return distances


@pytest.mark.planted
def test_the_schedule_reaches_its_distance_and_the_printed_one_does_not() -> None:
    run = inexact.langevin_schedule(**LANGEVIN)
    m, big_m, gamma, d = 0.05, 1.0, 0.1, 2
    bracket = 4 * math.log(1 / gamma) + d * math.log(big_m / m)
    assert run.horizon == pytest.approx(bracket / (2 * m), rel=1e-12)
    assert run.steps == pytest.approx(d * big_m**2 * bracket**2 / (4 * m**2 * gamma**2), rel=1e-6)
    assert run.step <= gamma**2 / (big_m**2 * run.horizon * d)
    # The distance of the product is at most the sum over coordinates.
    assert sum(chain_distances([m, big_m], big_m, run.step, run.steps, 0.0)) <= gamma
    # (17) with m_pi for m_pi^2: at its own step size (16) the chain has not arrived, in one coordinate alone.
    printed_steps = math.ceil(d * big_m**2 * bracket**2 / (4 * m * gamma**2))
    printed_step = 2 * m * gamma**2 / (d * big_m**2 * bracket)
    assert printed_steps * printed_step < 0.06 * run.horizon
    assert max(chain_distances([m, big_m], big_m, printed_step, printed_steps, 0.0)) > gamma


@pytest.mark.planted
def test_an_inexact_minimiser_is_paid_for() -> None:
    error = 1e5
    naive = inexact.langevin_schedule(**LANGEVIN)
    run = inexact.langevin_schedule(**LANGEVIN, argmin_error=error)
    assert run.horizon - naive.horizon == pytest.approx(2 * error**2 / (2 * 0.05), rel=1e-9)
    assert max(chain_distances([0.05], 1.0, naive.step, naive.steps, error)) > 0.1
    assert sum(chain_distances([0.05, 1.0], 1.0, run.step, run.steps, error)) <= 0.1


def test_equal_curvatures_have_no_dimension_term() -> None:
    run = inexact.langevin_schedule(strong_convexity=2.0, smoothness=2.0, dimension=50, total_variation=0.01)
    assert run.horizon == pytest.approx(4 * math.log(100) / 4, rel=1e-12)
    assert run.total_variation == 0.01


@pytest.mark.parametrize(
    ("change", "hypothesis"),
    [
        ({"strong_convexity": 0.0}, "strong convexity of the potential"),
        ({"smoothness": math.inf}, "smoothness of the potential"),
        ({"smoothness": 0.01}, "smoothness at least strong convexity"),
        ({"dimension": 1}, "dimension"),
        ({"total_variation": 0.0}, "total variation"),
        ({"total_variation": 0.5}, "total variation below one half"),
        ({"argmin_error": -1.0}, "error of the minimiser"),
        ({"total_variation": 1e-200}, "a number of steps that can be counted"),
    ],
)
def test_each_hypothesis_of_proposition_13(change: dict, hypothesis: str) -> None:
    inexact.langevin_schedule(**LANGEVIN)
    with pytest.raises(AssumptionError, match=hypothesis):
        inexact.langevin_schedule(**(LANGEVIN | change))
