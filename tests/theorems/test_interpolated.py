"""The sharp theorem on a public grid: interpolated potentials by brute force, and every hypothesis dropped."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import AssumptionError
from sfumato.theorems import interpolated, sharp

GRID = {"difference": 0.6, "strong_convexity": 1.5, "convex": True, "convex_domain": True, "log_error": 1e-6}


def cells_law(kinks: np.ndarray, weights: np.ndarray, nodes: np.ndarray, m: float, concave: bool = False) -> np.ndarray:
    """Masses of the cells under m t^2/2 plus the interpolation at the nodes of sum_i w_i |t - k_i|, by a fine sum."""
    values = (weights[:, None] * np.abs(nodes - kinks[:, None])).sum(axis=0) * (-1 if concave else 1)
    inside = (np.arange(64) + 0.5) / 64
    fine = (nodes[:-1, None] + inside * np.diff(nodes)[:, None]).ravel()
    logs = -0.5 * m * fine**2 - np.interp(fine, nodes, values)
    mass = np.exp(logs - logs.max()).reshape(len(nodes) - 1, -1).sum(axis=1)
    return mass / mass.sum()


def delta(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum())


@pytest.mark.parametrize("cells", [6, 40, 400])
def test_no_pair_of_interpolated_potentials_exceeds_the_claim_however_coarse(cells):
    rng = np.random.default_rng(cells)
    m, slope = 1.5, 0.3
    nodes = np.linspace(-5, 5, cells + 1)
    claim = interpolated.grid_draw(**{**GRID, "difference": 2 * slope, "log_error": 0.0})
    worst = 0.0
    for _ in range(60):
        kinks = np.round(rng.normal(size=12) * 2, 2)
        other = kinks.copy()
        other[0] = -4.9 if kinks[0] > 0 else 4.9
        weights = np.full(12, slope)
        p, q = (cells_law(k, weights, nodes, m) for k in (kinks, other))
        for epsilon in (0.0, 0.3, 1.0):
            found = delta(p, q, epsilon)
            assert found <= claim.delta(epsilon) * (1 + 1e-9)
            worst = max(worst, found / claim.delta(epsilon))
    assert worst > 0.3  # the claim is not idle


def test_without_convexity_the_claim_is_false():
    nodes = np.linspace(-5, 5, 401)
    kinks, weights = np.zeros(12), np.full(12, 0.3)
    weights_of = weights.copy()
    laws = []
    for place in (-4.9, 4.9):
        kinks_of = kinks.copy()
        kinks_of[0] = place
        laws.append(cells_law(kinks_of, weights_of, nodes, 1.5, concave=True))
    claim = interpolated.grid_draw(**{**GRID, "log_error": 0.0})
    assert delta(*laws, 0.3) > 2 * claim.delta(0.3)


def test_without_error_it_is_the_sharp_curve_and_an_error_raises_it():
    exact = sharp.gibbs_draw(difference=0.6, strong_convexity=1.5, convex=True, draws=3, convex_domain=True)
    bare = interpolated.grid_draw(**{**GRID, "log_error": 0.0}, draws=3)
    rough = interpolated.grid_draw(**{**GRID, "log_error": 1e-3}, draws=3)
    for epsilon in (0.0, 0.5, 2.0):
        assert bare.delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=1e-9)
        moved = epsilon - 0.006
        wanted = exact.delta(moved) if moved >= 0 else -math.expm1(moved) + math.exp(moved) * exact.delta(-moved)
        assert rough.delta(epsilon) == pytest.approx(math.exp(0.003) * wanted, rel=1e-9)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"convex": False}, "convexity of every loss"),
        ({"convex_domain": False}, "convex public domain"),
        ({"strong_convexity": 0.0}, "strong convexity"),
        ({"difference": math.inf}, "gradient difference"),
        ({"log_error": -1.0}, "error of a drawn log mass"),
        ({"draws": 0}, "number of draws"),
    ],
)
def test_each_dropped_hypothesis_is_named(changed, said):
    with pytest.raises(AssumptionError, match=said):
        interpolated.grid_draw(**{**GRID, **changed})


def test_a_cell_succeeds_by_its_slope():
    assert interpolated.cell_acceptance(slope=10.0, half_diagonal=0.1, gap=0.5) == pytest.approx(math.exp(-2.5))
    for changed, said in (
        ({"slope": 0.0}, "slope"),
        ({"half_diagonal": math.inf}, "diagonal"),
        ({"gap": -1.0}, "errors"),
    ):
        with pytest.raises(AssumptionError, match=said):
            interpolated.cell_acceptance(**{"slope": 1.0, "half_diagonal": 0.1, **changed})
