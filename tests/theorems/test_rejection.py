"""Rejection with a public number of trials: success on the worst data set by brute force, and every hypothesis dropped."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.errors import AssumptionError
from sfumato.theorems import exponential, rejection

EXACT = exponential.exponential_mechanism(power=0.1, sensitivity=2.0, draws=3)
BOX = {"strong_convexity": 1.0, "smoothness": 6.0, "spacings": (0.1, 0.2), "steps": (30, 20), "gap": 0.0}
BALL = {"strong_convexity": 1.0, "smoothness": 6.0, "spacing": 0.1, "dimension": 2, "radius": 1.5, "distance": 1.0}


def success(weights_up, weights_low):
    """E[exp(-(upper - lower))] under the proposal exp(-lower)."""
    return weights_up.sum() / weights_low.sum()


@pytest.mark.parametrize("tilt", [0.0, 0.3, 5.0])
def test_no_place_in_a_box_succeeds_less_often_than_the_bound(tilt):
    bound = rejection.box_acceptance(**BOX)
    found = []
    for places in itertools.product((0, 1, 15, 29, 30), (0, 10, 20)):
        up, low = np.ones(1), np.ones(1)
        for place, spacing, steps in zip(places, BOX["spacings"], BOX["steps"], strict=True):
            t = (np.arange(steps + 1) - place) * spacing
            inward = tilt if place == 0 else -tilt if place == steps else 0.0
            up = np.multiply.outer(up, np.exp(-inward * t - 3.0 * t * t))
            low = np.multiply.outer(low, np.exp(-inward * t - 0.5 * t * t))
        found.append(success(up, low))
    assert min(found) >= bound
    assert tilt > 0.0 or min(found) <= bound * 1.1  # at an end half of the mass at 0 is given away
    assert min(found) < bound * 1.5 or tilt > 0.0


@pytest.mark.planted
def test_a_tilt_that_points_outwards_breaks_the_bound():
    t = np.arange(31) * 0.1
    found = success(np.exp(5.0 * t - 3.0 * t * t), np.exp(5.0 * t - 0.5 * t * t))
    one = rejection.box_acceptance(strong_convexity=1.0, smoothness=6.0, spacings=(0.1,), steps=(30,))
    assert found < one / 5


@pytest.mark.parametrize("distance", [0.0, 0.5, 1.0, 1.5])
def test_no_place_in_a_ball_succeeds_less_often_than_the_bound(distance):
    g, radius = 0.1, 1.5
    bound = rejection.ball_acceptance(**{**BALL, "distance": distance})
    axis = np.arange(-60, 61) * g
    x, y = np.meshgrid(axis, axis, indexing="ij")
    found = []
    for angle in (0.0, 0.4, 0.8):
        centre = np.round(np.array([math.cos(angle), math.sin(angle)]) * distance / g) * g
        inside = np.hypot(x + centre[0], y + centre[1]) <= radius
        square = x * x + y * y
        found.append(np.exp(-3.0 * square)[inside].sum() / np.exp(-0.5 * square).sum())
    assert bound <= min(found) * (1 + 0.25)
    if distance in (0.0, 0.5, 1.0):  # multiples of the lattice along the first axis
        assert bound <= found[0] <= 1.6 * bound


def test_the_gap_lowers_the_success_by_its_exponential():
    assert rejection.box_acceptance(**{**BOX, "gap": 1.0}) == pytest.approx(rejection.box_acceptance(**BOX) / math.e)
    assert rejection.ball_acceptance(**BALL, gap=1.0) == pytest.approx(rejection.ball_acceptance(**BALL) / math.e)


def test_slack_is_the_chance_that_every_trial_fails_and_what_trials_err():
    found = rejection.bounded_trials(EXACT, acceptance=0.01, trials=2000, trial_error=1e-12, every_data_set=True)
    one = 0.99**2000 + 2000 * 1e-12
    assert found.slack == pytest.approx(3 * one, rel=1e-9)
    assert found.slack >= 3 * one
    assert found.trust == "proved with slack"
    assert found.curve == EXACT.curve
    assert found.delta(1.0) >= EXACT.delta(1.0) + (1 + math.e) * 3 * one


@pytest.mark.parametrize("p", [1e-5, 0.01, 0.5, 1.0])
def test_trials_are_as_few_as_the_failure_allows(p):
    count = rejection.trials_needed(acceptance=p, failure=1e-9)
    assert (1 - p) ** count <= 1e-9 * (1 + 1e-6)
    assert count == 1 or (1 - p) ** (count - 2) > 1e-9


TRIALS = {"acceptance": 0.01, "trials": 10, "trial_error": 0.0, "every_data_set": True}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"acceptance": 0.0}, "success of one trial"),
        ({"trials": 0}, "number of trials"),
        ({"trial_error": -1.0}, "total variation of one trial"),
        ({"every_data_set": False}, "every data set"),
    ],
)
def test_each_dropped_hypothesis_of_the_trials_is_named(changed, said):
    with pytest.raises(AssumptionError, match=said):
        rejection.bounded_trials(EXACT, **{**TRIALS, **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"strong_convexity": 0.0}, "curvature of the envelope"),
        ({"smoothness": math.inf}, "smoothness"),
        ({"smoothness": 0.5}, "at least strong convexity"),
        ({"gap": -1.0}, "gap"),
        ({"spacings": (0.1,)}, "sides"),
        ({"spacings": (0.1, 0.0)}, "grid spacing"),
        ({"steps": (30, 0)}, "steps across"),
    ],
)
def test_each_dropped_hypothesis_of_a_box_is_named(changed, said):
    with pytest.raises(AssumptionError, match=said):
        rejection.box_acceptance(**{**BOX, **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"spacing": 1.0}, "finer than the narrowest"),
        ({"radius": 0.05}, "finer than the ball"),
        ({"distance": -1.0}, "distance"),
        ({"dimension": 0}, "dimension"),
    ],
)
def test_each_dropped_hypothesis_of_a_ball_is_named(changed, said):
    with pytest.raises(AssumptionError, match=said):
        rejection.ball_acceptance(**{**BALL, **changed})
    with pytest.raises(AssumptionError, match="failure"):
        rejection.trials_needed(acceptance=0.5, failure=0.0)


@pytest.mark.parametrize("distance", [0.0, 0.4])
@pytest.mark.parametrize("fineness", [0.01, 0.3, 1.0])
def test_the_success_on_a_ball_is_the_formula_whatever_the_lattice(fineness, distance):
    """exp(-gap) [sqrt(2 pi/(A g^2))/(1 + sqrt(2 pi/(m g^2)))]^d P(|N(z, 1/A)| <= R - g sqrt(d)/2), A = M (1 + M g^2/6)."""
    from scipy import stats

    m, big_m, d, radius, gap = 2.0, 9.0, 3, 2.5, 0.05
    g = math.sqrt(fineness / big_m)
    a = big_m * (1 + big_m * g * g / 6)
    ratio = math.sqrt(2 * math.pi / (a * g * g)) / (1 + math.sqrt(2 * math.pi / (m * g * g)))
    inside = radius - g * math.sqrt(d) / 2
    law = stats.ncx2(d, a * distance**2) if distance else stats.chi2(d)
    exact = math.exp(-gap) * ratio**d * law.cdf(a * inside**2)
    found = rejection.ball_acceptance(
        strong_convexity=m, smoothness=big_m, spacing=g, dimension=d, radius=radius, distance=distance, gap=gap
    )
    assert exact * (1 - 1e-5) <= found <= exact


@pytest.mark.parametrize("fineness", [0.01, 0.3, 1.0])
def test_the_success_on_a_ball_is_not_above_that_of_the_steepest_quadratic(fineness):
    """Brute force on the lattice: U = M |t|^2/2 about a lattice point, the proposal exp(-m |t|^2/2)."""
    m, big_m, d, radius = 2.0, 9.0, 2, 1.8
    g = math.sqrt(fineness / big_m)
    steps = int(radius / g)
    axis = g * np.arange(-steps, steps + 1)
    square = axis[:, None] ** 2 + axis[None, :] ** 2
    proposed = np.exp(-0.5 * m * square)
    kept = np.exp(-0.5 * (big_m - m) * square) * (square <= radius**2)
    success = (proposed * kept).sum() / proposed.sum()
    found = rejection.ball_acceptance(
        strong_convexity=m, smoothness=big_m, spacing=g, dimension=d, radius=radius, distance=0.0
    )
    assert 0 < found <= success


TRACED = {"strong_convexity": 1.9, "common": 2.1, "spacing": 0.1, "dimension": 2, "radius": 3.0, "distance": 1.0}


@pytest.mark.parametrize("trace", [0.0, 3.0, 12.0])
@pytest.mark.parametrize("distance", [0.0, 1.0, 2.4])
def test_no_hessian_of_this_trace_succeeds_less_often_than_the_bound(trace, distance):
    """Brute force on the lattice: U = t'(q I + B)t/2 for B of every split of the trace and several directions."""
    g, radius, q, m = 0.1, 3.0, 2.1, 1.9
    bound = rejection.traced_acceptance(**{**TRACED, "distance": distance}, smoothness=q + trace, trace=trace)
    centre = np.round(np.array([0.8, 0.6]) * distance / g) * g
    places = np.rint((np.array([-radius, -radius]) - centre) / g)
    axes = [g * np.arange(start, start + 61) for start in places]
    x, y = np.meshgrid(*axes, indexing="ij")
    inside = np.hypot(x + centre[0], y + centre[1]) <= radius
    proposed = np.exp(-0.5 * m * (x * x + y * y)).sum()
    least = math.inf
    for split, angle in itertools.product((0.0, 0.2, 0.5), np.linspace(0, math.pi, 7)):
        along, across = math.cos(angle) * x + math.sin(angle) * y, math.sin(angle) * x - math.cos(angle) * y
        bent = trace * (split * along**2 + (1 - split) * across**2)
        least = min(least, np.exp(-0.5 * (q * (x * x + y * y) + bent))[inside].sum() / proposed)
    assert 0 < bound <= least
    assert least <= bound * (1.5 if distance == 0 else 4)  # of a mode away from the centre half may be given away


@pytest.mark.planted
def test_the_trace_must_count_every_direction():
    """Where all directions are as steep as the trace allows one, the bound does not hold."""
    q, m, trace, g = 2.1, 1.9, 12.0, 0.1
    bound = rejection.traced_acceptance(**{**TRACED, "distance": 0.0}, smoothness=q + trace, trace=trace)
    t = g * np.arange(-30, 31)
    one = np.exp(-0.5 * (q + trace) * t * t).sum() / np.exp(-0.5 * m * t * t).sum()
    assert one**2 < bound


@pytest.mark.parametrize(("distance", "half"), [(0.0, False), (2.7, True)])
def test_the_success_by_the_trace_is_its_formula(distance, half):
    from scipy import stats

    m, q, trace, g, d, radius, gap = 1.9, 2.1, 9.0, 0.1, 3, 3.0, 0.05
    s, inside = 1 + (q + trace) * g * g / 6, radius - g * math.sqrt(d) / 2
    ratio = math.sqrt(2 * math.pi / (s * g * g * (q + trace / d))) / (1 + math.sqrt(2 * math.pi / (m * g * g)))
    whole = stats.chi2.cdf(s * q * (inside - distance) ** 2, d)
    mass = 0.5 * stats.chi2.cdf(s * q * (inside**2 - distance**2), d) if half else whole
    assert (mass == whole) != half
    exact = math.exp(-gap) * ratio**d * mass
    numbers = {**TRACED, "dimension": d, "distance": distance, "smoothness": q + trace, "trace": trace, "gap": gap}
    assert exact * (1 - 1e-5) <= rejection.traced_acceptance(**numbers) <= exact
    # It never falls below exp(-T/(2q)) of the smooth case, however many dimensions there are.
    assert (q / (q + trace / d)) ** (d / 2) >= math.exp(-trace / (2 * q))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"common": 0.5}, "common curvature"),
        ({"common": 50.0}, "common curvature"),
        ({"trace": -1.0}, "trace"),
        ({"spacing": 1.0}, "finer than the narrowest"),
        ({"radius": 0.05}, "finer than the ball"),
        ({"distance": math.inf}, "distance"),
    ],
)
def test_each_dropped_hypothesis_of_the_trace_is_named(changed, said):
    with pytest.raises(AssumptionError, match=said):
        rejection.traced_acceptance(**{**TRACED, "smoothness": 11.0, "trace": 9.0, **changed})
    assert rejection.traced_acceptance(**{**TRACED, "distance": 3.5}, smoothness=11.0, trace=9.0) == 0
