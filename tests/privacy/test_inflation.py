"""Laws that are drawn with a stated error: the inflated profile covers the worst perturbation, one epsilon or many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.privacy.inflation import inflated, renyi_extra
from sfumato.privacy.profiles import Profile

PROFILES = {
    "beta-pair": {"a": 2.0, "b": 3.0, "power": 0.4},
    "beta-bernoulli": {"alpha": 2.0, "beta": 3.0, "n": 12, "power": 0.4},
    "gamma-shape": {"shape": 5.0, "shift": 0.7},
    "gamma-rate": {"shape": 5.0, "rate": 4.0, "shift": 0.7},
}
EPSILONS = np.array([0.0, 0.05, 0.2, 0.35, 0.8, 1.5, 3.0])


def curves(name: str, draws: int, error: float) -> tuple[Profile, Profile]:
    """The profile of exact draws, and that of draws with the stated error each."""
    exact = {**PROFILES[name], "draws": draws}
    return Profile(name, exact), Profile(name, {**exact, "error": error})


@pytest.mark.parametrize("draws", [1, 2, 3])
@pytest.mark.parametrize("name", list(PROFILES))
def test_one_epsilon_is_inflated_by_the_error_of_all_draws(name, draws):
    """delta'(eps) = exp(k e) delta(eps - 2 k e), and below 0 by delta(-x) = 1 - exp(-x) + exp(-x) delta(x)."""
    error = 0.03
    exact, rough = curves(name, draws, error)
    for epsilon in EPSILONS:
        moved = epsilon - 2 * draws * error
        inner = exact.delta(moved) if moved >= 0 else 1 - math.exp(moved) * (1 - exact.delta(-moved))
        expected = min(1.0, math.exp(draws * error) * inner)
        assert rough.delta(float(epsilon)) == pytest.approx(expected, rel=1e-9)
        assert rough.delta(float(epsilon)) >= expected * (1 - 1e-13)


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("name", list(PROFILES))
def test_many_epsilons_at_once_are_the_same_as_one_by_one(name, draws):
    for error in (0.0, 1e-9, 0.04, 0.3):
        for curve in curves(name, draws, error) if error else curves(name, draws, 0.0)[:1]:
            one_by_one = [curve.delta(float(epsilon)) for epsilon in EPSILONS]
            assert np.asarray(curve.deltas(EPSILONS)) == pytest.approx(one_by_one, rel=1e-9)


@pytest.mark.parametrize("draws", [1, 2, 5])
@pytest.mark.parametrize("name", list(PROFILES))
def test_every_draw_adds_its_error_to_a_renyi_divergence(name, draws):
    error = 0.2
    exact, rough = curves(name, draws, error)
    for order in (1.5, 2.0, 4.0):
        extra = draws * error * (2 * order - 1) / (order - 1)
        assert rough.renyi(order) == pytest.approx(exact.renyi(order) + extra, rel=1e-12)
    assert renyi_extra(error, math.inf) == 2 * error
    assert renyi_extra(error, 1.0) == math.inf


def perturbed(masses: np.ndarray, signs: np.ndarray, error: float) -> np.ndarray:
    """A law whose every mass is within a factor exp(+-error): the most adverse with the given signs that sums to 1."""
    low, high = masses * math.exp(-error), masses * math.exp(error)
    # The share t of the way from low to high that makes the wanted side as heavy, and the other as light, as it can be.
    up, down = np.where(signs > 0, high, low), np.where(signs > 0, low, high)
    t = (1 - up.sum()) / (down.sum() - up.sum())
    return up if abs(up.sum() - 1) < 1e-15 else up + np.clip(t, 0, 1) * (down - up)


def test_no_perturbation_within_the_error_costs_more():
    """Random laws on a few points, perturbed against each other: hockey sticks and Renyi divergences stay below."""
    rng = np.random.default_rng(5)
    tightest = 0.0
    for _ in range(300):
        p, q = (weights / weights.sum() for weights in rng.gamma(1.0, size=(2, 6)) + 1e-3)
        error = float(10 ** rng.uniform(-3, -0.5))
        exact = lambda eps, p=p, q=q: float(
            max(np.maximum(p - math.exp(eps) * q, 0).sum(), np.maximum(q - math.exp(eps) * p, 0).sum())
        )
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            signs = np.where(p - math.exp(epsilon) * q > 0, 1, -1)
            far, near = perturbed(p, signs, error), perturbed(q, -signs, error)
            found = np.maximum(far - math.exp(epsilon) * near, 0).sum()
            bound = inflated(exact, error, epsilon)
            assert found <= bound * (1 + 1e-12)
            tightest = max(tightest, found / max(bound, 1e-300))
            for order in (1.5, 3.0):
                before = math.log((p**order * q ** (1 - order)).sum()) / (order - 1)
                after = math.log((far**order * near ** (1 - order)).sum()) / (order - 1)
                assert after <= before + renyi_extra(error, order) + 1e-12
    assert tightest > 0.9  # the bound is not idle
