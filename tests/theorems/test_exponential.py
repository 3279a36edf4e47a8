"""The exponential mechanism against every pair of small data sets, and OPS against posteriors on a ball."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from sfumato.errors import AssumptionError
from sfumato.theorems import exponential

SETTINGS = settings(max_examples=60, deadline=None)


def gibbs(losses: np.ndarray, prior: np.ndarray, power: float) -> np.ndarray:
    return special.softmax(-power * losses + np.log(prior))


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


# --- Theorems 3 and 4 ----------------------------------------------------------------------------------------------


@SETTINGS
@given(seed=st.integers(0, 10**6), power=st.floats(0.01, 3))
def test_every_pair_of_a_random_table_is_covered(seed: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    table = rng.uniform(-1, 1, (4, 6))  # four possible records, six parameters
    prior = rng.dirichlet(np.ones(6))
    sensitivity = max(np.abs(a - b).max() for a, b in itertools.product(table, table))
    claim = exponential.exponential_mechanism(power=power, sensitivity=sensitivity)
    bound = exponential.lipschitz_composition(sensitivity=sensitivity, power=power)
    assert claim.epsilon(0.0) == pytest.approx(2 * power * sensitivity, rel=1e-12)
    for kept, one, two in itertools.product(range(4), repeat=3):
        p, q = (gibbs(table[kept] + table[k], prior, power) for k in (one, two))
        ratio = np.log(p) - np.log(q)
        assert ratio.max() - ratio.min() <= bound * (1 + 1e-12)
        assert exponential.dp_distance(p, q) <= bound
        for epsilon in (0.0, 0.3 * bound, bound):
            assert hockey_stick(p, q, epsilon) <= claim.delta(epsilon) + 1e-15
    far_p, far_q = gibbs(2 * table[0], prior, power), gibbs(2 * table[1], prior, power)
    assert exponential.dp_distance(far_p, far_q) <= exponential.lipschitz_composition(
        sensitivity=sensitivity, power=power, distance=2
    )


@pytest.mark.planted
def test_the_factor_two_is_needed() -> None:
    # Two parameters, losses +-Delta/2: the log ratio itself reaches 2 beta Delta minus what the normaliser takes back.
    power, delta = 0.5, 2.0
    losses = np.array([[delta, 0.0], [0.0, delta]])
    for tilt in (1e-6, 1 - 1e-6):
        prior = np.array([tilt, 1 - tilt])
        p, q = gibbs(losses[0], prior, power), gibbs(losses[1], prior, power)
        distance = exponential.dp_distance(p, q)
        assert distance == pytest.approx(2 * power * delta, rel=1e-4)
        assert distance > power * delta * 1.5  # half the constant is rejected
        assert distance <= exponential.exponential_mechanism(power=power, sensitivity=delta).epsilon(0.0)


def test_bounded_losses() -> None:
    assert exponential.bounded_loss_sensitivity(lower=-3.0, upper=3.0) == pytest.approx(6.0)  # |l| <= A: 2A
    assert exponential.bounded_loss_sensitivity(lower=0.0, upper=3.0) == pytest.approx(3.0)  # [0, A]: A
    # 4 beta A of Theorem 4(a), and half of it for a non-negative loss.
    for lower, factor in ((-3.0, 4), (0.0, 2)):
        claim = exponential.exponential_mechanism(
            power=0.1, sensitivity=exponential.bounded_loss_sensitivity(lower=lower, upper=3.0)
        )
        assert claim.epsilon(0.0) == pytest.approx(factor * 0.1 * 3.0, rel=1e-12)


def test_several_draws_compose() -> None:
    one = exponential.exponential_mechanism(power=0.1, sensitivity=1.0)
    five = exponential.exponential_mechanism(power=0.1, sensitivity=1.0, draws=5)
    assert five.draws == 5
    assert five.curve == (5 * one).curve
    assert five.epsilon(0.0) == pytest.approx(1.0, rel=1e-12)
    assert five.epsilon(1e-3) < 1.0


def test_dp_distance() -> None:
    assert exponential.dp_distance([0.5, 0.5], [0.25, 0.75]) == pytest.approx(math.log(2))
    assert exponential.dp_distance([0.5, 0.5, 0.0], [0.4, 0.6, 0.0]) == pytest.approx(math.log(1.25))
    assert exponential.dp_distance([1.0, 0.0], [0.5, 0.5]) == math.inf
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.35, 0.25])
    events = [list(e) for k in (1, 2, 3) for e in itertools.combinations(range(3), k)]
    brute = max(abs(math.log(p[e].sum() / q[e].sum())) for e in events)
    assert exponential.dp_distance(p, q) == pytest.approx(brute)


# --- OPS -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("power", "c", "ball"), [(1.0, 1.0, 2.0), (0.3, 2.0, 1.5)])
def test_ops_on_a_segment_is_exactly_this_bounded_range(power: float, c: float, ball: float) -> None:
    theta = np.linspace(-ball, ball, 4001)
    prior = np.exp(-0.5 * theta**2)
    loss = {y: np.logaddexp(0, -y * c * theta) for y in (-1, 1)}
    p, q = gibbs(loss[1], prior, power), gibbs(loss[-1], prior, power)
    ratio = np.log(p) - np.log(q)
    claim = exponential.ops_draw(power=power, radius=c, ball=ball, difference=c * ball)
    assert ratio.max() - ratio.min() == pytest.approx(claim.epsilon(0.0), rel=1e-9)  # attained
    assert claim.epsilon(0.0) == pytest.approx(2 * power * c * ball, rel=1e-12)  # printed: 4 rho c R_T
    for epsilon in (0.0, 0.5, 1.5):
        assert hockey_stick(p, q, epsilon) <= claim.delta(epsilon)


def test_ops_for_other_losses() -> None:
    logistic = exponential.scalar_link_difference(
        loss=lambda u: float(np.logaddexp(0, -u)), radius=2.0, ball=1.5, convex=True
    )
    assert logistic == pytest.approx(3.0, rel=1e-12)
    assert logistic >= 3.0
    hinge = exponential.scalar_link_difference(loss=lambda u: max(0.0, 1 - u), radius=2.0, ball=1.5, convex=True)
    assert hinge == pytest.approx(4.0, rel=1e-12)
    square = exponential.scalar_link_difference(
        loss=lambda u: 0.5 * (1 - u) ** 2, radius=2.0, ball=1.5, convex=True, minimum=0.0
    )
    assert square == pytest.approx(8.0, rel=1e-12)
    claim = exponential.ops_draw(power=0.1, radius=2.0, ball=1.5, difference=hinge)
    assert claim.epsilon(0.0) == pytest.approx(0.8, rel=1e-12)
    # Brute force over rows and parameters: no pair of records differs by more.
    rng = np.random.default_rng(7)
    u = rng.uniform(-3, 3, (2, 10_000))
    for loss, bound in ((lambda v: np.maximum(0, 1 - v), hinge), (lambda v: 0.5 * (1 - v) ** 2, square)):
        assert np.abs(loss(u[0]) - loss(u[1])).max() <= bound


def map_estimate(rows: np.ndarray, labels: np.ndarray, power: float, b: float) -> np.ndarray:
    """The MAP of logistic regression, prior N(0, (n b)^-1 I), by Newton's method in scipy."""
    n, d = rows.shape

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        margin = labels * (rows @ theta)
        value = power * np.logaddexp(0, -margin).sum() + 0.5 * n * b * theta @ theta
        gradient = -power * (labels * special.expit(-margin)) @ rows + n * b * theta
        return value / n, gradient / n

    found = optimize.minimize(objective, np.zeros(d), jac=True, method="BFGS", options={"gtol": 1e-12, "maxiter": 1000})
    return found.x


@pytest.mark.parametrize(
    ("b", "c", "power", "golden"), [(1e-3, 1.0, 1.0, 16.687), (0.5, 1.0, 1.0, None), (10.0, 2.0, 0.3, None)]
)
def test_the_smallest_ball_holds_every_map_and_is_attained(b: float, c: float, power: float, golden) -> None:
    radius = exponential.logistic_map_radius(power=power, radius=c, precision_per_record=b)
    if golden is not None:
        assert radius == pytest.approx(golden, abs=5e-4)
        assert c / b == 1000  # what is called the smallest ball in print
    rng = np.random.default_rng(5)
    for _ in range(30):
        rows = rng.normal(size=(4, 2))
        rows *= c * rng.uniform(0, 1, (4, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
        estimate = map_estimate(rows, rng.choice([-1.0, 1.0], 4), power, b)
        assert np.linalg.norm(estimate) <= radius
    # Attained: equal rows of the right length.
    lengths = np.linspace(0.01 * c, c, 400)
    roots = [
        optimize.brentq(lambda r, x=x: b * r - power * x * special.expit(-x * r), 0, 2 * radius, xtol=1e-13)
        for x in lengths
    ]
    assert max(roots) <= radius
    assert max(roots) == pytest.approx(radius, rel=1e-4)


@SETTINGS
@given(power=st.floats(0.01, 1), c=st.floats(0.1, 5), exponent=st.floats(-4, 2))
def test_general_ball_agrees_with_the_logistic_one(power: float, c: float, exponent: float) -> None:
    b = 10**exponent
    exact = exponential.logistic_map_radius(power=power, radius=c, precision_per_record=b)
    general = exponential.scalar_link_map_radius(
        slope=lambda u: -1 / (1 + math.exp(min(u, 700))), slope_bound=1.0, power=power, radius=c,
        precision_per_record=b, convex=True, cells=512,
    )  # fmt: skip
    assert exact <= general * (1 + 1e-12)
    assert general <= exact * 1.025  # half the ratio 10^(9/512) of the cells, and the tolerance of the iteration
    closed = math.sqrt(0.2784646 * power / b)
    if c * closed >= 1.28:
        assert exact == pytest.approx(closed, rel=1e-6)
    else:
        assert exact == pytest.approx(power * c / b * special.expit(-c * exact), rel=1e-3)


def test_general_ball_for_the_hinge() -> None:
    # -u phi'(u) = u below 1 and 0 above: R = sqrt(rho/b) while c R >= 1, else rho c/b.
    def ball(b: float) -> float:
        return exponential.scalar_link_map_radius(
            slope=lambda u: -1.0 if u < 1 else 0.0, slope_bound=1.0, power=1.0, radius=1.0, precision_per_record=b,
            convex=True,
        )  # fmt: skip

    for b, exact in ((0.01, 10.0), (0.25, 2.0), (4.0, 0.25)):
        assert exact <= ball(b) <= exact * 1.003  # the square root of the ratio 10^(9/4096) of the cells


def test_ops_price_of_the_two_balls() -> None:
    small = exponential.logistic_map_radius(power=1.0, radius=1.0, precision_per_record=1e-3)
    claim = exponential.ops_draw(power=1.0, radius=1.0, ball=small, difference=small)
    assert claim.epsilon(0.0) == pytest.approx(2 * 16.687, rel=1e-4)  # printed 4 c^2 rho/b = 4000


# --- hypotheses ----------------------------------------------------------------------------------------------------

MECHANISM = {"power": 0.1, "sensitivity": 1.0}
OPS = {"power": 0.1, "radius": 1.0, "ball": 2.0, "difference": 2.0}
LINK = {"loss": lambda u: max(0.0, 1 - u), "radius": 1.0, "ball": 2.0, "convex": True}
BALL = {"power": 0.1, "radius": 1.0, "precision_per_record": 0.1}
GENERAL = BALL | {"slope": lambda u: -1.0 if u < 1 else 0.0, "slope_bound": 1.0, "convex": True}


@pytest.mark.parametrize(
    ("function", "arguments", "change", "hypothesis"),
    [
        ("exponential_mechanism", MECHANISM, {"power": 0.0}, "power"),
        ("exponential_mechanism", MECHANISM, {"sensitivity": math.inf}, "sensitivity of the summed loss"),
        ("exponential_mechanism", MECHANISM, {"draws": 0}, "number of draws"),
        ("lipschitz_composition", MECHANISM, {"sensitivity": -1.0}, "sensitivity of the summed loss"),
        ("lipschitz_composition", MECHANISM, {"power": math.inf}, "power"),
        ("lipschitz_composition", MECHANISM, {"distance": -1}, "Hamming distance"),
        ("bounded_loss_sensitivity", {"lower": 0.0, "upper": 1.0}, {"upper": math.inf}, "upper bound of the loss"),
        ("bounded_loss_sensitivity", {"lower": 0.0, "upper": 1.0}, {"lower": -math.inf}, "lower bound of the loss"),
        ("bounded_loss_sensitivity", {"lower": 0.0, "upper": 1.0}, {"lower": 2.0}, "ordered bounds"),
        ("ops_draw", OPS, {"radius": math.inf}, "bound on the rows"),
        ("ops_draw", OPS, {"ball": math.inf}, "radius of the ball"),
        ("ops_draw", OPS, {"difference": math.inf}, "sensitivity of the summed loss"),
        ("ops_draw", OPS, {"power": -1.0}, "power"),
        ("scalar_link_difference", LINK, {"convex": False}, "convexity of the loss"),
        ("scalar_link_difference", LINK, {"ball": 0.0}, "radius of the ball"),
        ("scalar_link_difference", LINK, {"minimum": 100.0}, "smallest loss below the ends"),
        ("logistic_map_radius", BALL, {"precision_per_record": 0.0}, "prior precision per record"),
        ("logistic_map_radius", BALL, {"power": math.nan}, "power"),
        ("scalar_link_map_radius", GENERAL, {"convex": False}, "convexity of the loss"),
        ("scalar_link_map_radius", GENERAL, {"slope_bound": math.inf}, "bound on the slope"),
        ("scalar_link_map_radius", GENERAL, {"cells": 0}, "number of cells"),
    ],
)
def test_each_hypothesis_is_checked(function: str, arguments: dict, change: dict, hypothesis: str) -> None:
    call = getattr(exponential, function)
    call(**arguments)
    with pytest.raises(AssumptionError, match=hypothesis):
        call(**(arguments | change))
