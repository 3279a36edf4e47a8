"""Path composition against the joint normal law of all iterates, and against a chain that is not convex."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import AssumptionError
from sfumato.theorems import finite_step, path

# What whoever runs a chain declares: for the whole path, and for its last iterate.
RUN = {"public_start": True, "public_schedule": True, "full_batch": True}
LAST = {"public_start": True, "full_batch": True, "momentum": 0.0}
GOOD = {"difference": 1.3, "step": 0.1, "steps": 20, **RUN}


def joint_price(curvature: float, difference: float, sizes: list[float], momentum: float = 0.0) -> float:
    """The exact mu of releasing EVERY iterate of a quadratic chain: a Mahalanobis distance of the joint normal law.

    U = curvature theta^2/2 + g theta, g differing by `difference`; v <- momentum v - h U'(theta) + sqrt(2h) xi and
    theta <- theta + v. The vector of iterates is A xi + (mean), so mu = |A^-1 (mean - mean')|.
    """
    count = len(sizes)
    response, drift = np.zeros((count, count)), np.zeros(count)
    theta_row, v_row = np.zeros(count), np.zeros(count)
    theta_drift, v_drift = 0.0, 0.0
    for k, size in enumerate(sizes):
        v_row = momentum * v_row - size * curvature * theta_row
        v_row[k] += math.sqrt(2 * size)
        v_drift = momentum * v_drift - size * curvature * theta_drift - size * difference
        theta_row, theta_drift = theta_row + v_row, theta_drift + v_drift
        response[k], drift[k] = theta_row, theta_drift
    return float(np.linalg.norm(np.linalg.solve(response, drift)))


def test_golden_values() -> None:
    # L/(n sigma) = 0.1 a step, 160 steps: 1.264911.
    assert path.whole_path(difference=0.1, step=2.0, steps=160, **RUN).curve.mu == pytest.approx(1.264911, abs=5e-7)


@settings(max_examples=60, deadline=None)
@given(
    curvature=st.floats(-2, 5),
    difference=st.floats(0.1, 3),
    sizes=st.lists(st.floats(0.01, 0.3), min_size=1, max_size=12),
    momentum=st.sampled_from([0.0, 0.5, 0.9]),
)
def test_the_price_of_every_iterate_is_exact(curvature, difference, sizes, momentum) -> None:
    claim = path.whole_path(difference=difference, step=sizes, steps=len(sizes), momentum=momentum, **RUN)
    exact = joint_price(curvature, difference, sizes, momentum)
    assert exact <= claim.curve.mu * (1 + 1e-9)
    assert exact == pytest.approx(claim.curve.mu, rel=1e-8)  # an equality: no smaller constant is sound


def test_equal_steps_agree_with_a_list() -> None:
    one = path.whole_path(**GOOD).curve.mu
    assert one == pytest.approx(math.sqrt(20) * 1.3 * math.sqrt(0.05), rel=1e-14)
    assert path.whole_path(difference=1.3, step=[0.1] * 20, steps=20, **RUN).curve.mu == pytest.approx(one, rel=1e-14)
    assert path.whole_path(**GOOD, chains=4).curve.mu == pytest.approx(2 * one, rel=1e-14)
    assert path.whole_path(**GOOD, chains=4).draws == 4
    assert (4 * path.whole_path(**GOOD)).curve.mu == pytest.approx(2 * one, rel=1e-14)


def test_rounding_errors_are_charged() -> None:
    e = 1e-3
    charged = path.whole_path(**GOOD, float_error=e).curve.mu
    assert charged == pytest.approx(math.sqrt(20) * (0.1 * 1.3 + 2 * e) / math.sqrt(0.2), rel=1e-14)
    assert charged > path.whole_path(**GOOD).curve.mu


def test_the_last_iterate_alone_is_never_dearer() -> None:
    for step in (0.02, 0.1, 0.24):
        for steps in (1, 3, 50):
            whole = path.whole_path(difference=1.3, step=step, steps=steps, **RUN).curve.mu
            last = finite_step.last_iterate(
                difference=1.3, strong_convexity=2.0, smoothness=6.0, step=step, steps=steps, convex=True, **LAST
            ).curve.mu
            assert last <= whole * (1 + 1e-12)


def double_well(tilt: float, step: float, steps: int, grid: np.ndarray) -> np.ndarray:
    """Law of the last iterate of the chain on U = (x^2 - 1)^2 + tilt x from 0, by repeated quadrature."""
    spread = math.sqrt(2 * step)
    mean = grid - step * (4 * grid * (grid**2 - 1) + tilt)
    kernel = np.exp(-0.5 * ((grid[None, :] - mean[:, None]) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
    kernel *= grid[1] - grid[0]
    law = np.exp(-0.5 * ((grid + step * tilt) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
    for _ in range(steps - 1):
        law = law @ kernel
    return law


@pytest.mark.planted
def test_holds_without_convexity_where_the_last_iterate_formula_fails() -> None:
    step, steps, epsilon = 0.02, 200, 0.5
    grid = np.linspace(-3, 3, 601)
    p, q = double_well(0.5, step, steps, grid), double_well(-0.5, step, steps, grid)
    width = grid[1] - grid[0]
    assert p.sum() * width == pytest.approx(1, abs=1e-6)
    true = np.maximum(p - math.exp(epsilon) * q, 0).sum() * width
    assert true == pytest.approx(0.202, abs=1e-3)
    claim = path.whole_path(difference=1.0, step=step, steps=steps, **RUN).delta(epsilon)
    assert claim == pytest.approx(0.400, abs=5e-4)
    assert true <= claim
    wells = finite_step.last_iterate(
        difference=1.0, strong_convexity=8.0, smoothness=8.0, step=step, steps=steps, convex=True, **LAST
    )
    assert wells.delta(epsilon) == pytest.approx(0.0134, abs=5e-4)
    assert not true <= wells.delta(epsilon)  # the same check rejects the convex formula


@pytest.mark.parametrize(
    ("change", "hypothesis"),
    [
        ({"public_start": False}, "public start"),
        ({"public_schedule": False}, "public step sizes and momentum"),
        ({"full_batch": False}, "full batch"),
        ({"momentum": math.inf}, "momentum coefficient"),
        ({"momentum": -0.1}, "momentum coefficient"),
        ({"difference": math.inf}, "gradient difference of neighbours"),
        ({"difference": -1.0}, "gradient difference of neighbours"),
        ({"steps": 0}, "number of steps"),
        ({"step": 0.0}, "step size"),
        ({"step": [0.1, 0.1]}, "one step size per step"),
        ({"step": [0.1, 0.0], "steps": 2}, "step size"),
        ({"step": [0.1, math.nan], "steps": 2}, "step size"),
        ({"step": [0.1, math.inf], "steps": 2}, "step size"),
        ({"chains": 0}, "number of chains"),
        ({"float_error": -1e-9}, "rounding error of one step"),
    ],
)
def test_each_hypothesis_is_checked(change: dict, hypothesis: str) -> None:
    path.whole_path(**GOOD)
    with pytest.raises(AssumptionError, match=hypothesis):
        path.whole_path(**(GOOD | change))


def test_the_guarantee_remembers_what_was_checked() -> None:
    claim = path.whole_path(**GOOD, momentum=0.9)
    names = [assumption.name for assumption in claim.assumptions]
    assert names[:3] == ["public start", "public step sizes and momentum", "full batch"]
    assert claim.trust == "proved"
    assert next(a.value for a in claim.assumptions if a.name == "momentum coefficient") == "0.9"
