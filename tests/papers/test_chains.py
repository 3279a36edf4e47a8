"""The chains of Figure 3 against quadrature in two dimensions, with and without a ball; wrong variants are rejected."""

from __future__ import annotations

import numpy as np
import pytest

from effort import sized
from papers.geumlek2017 import _cells, _chains

CHAINS = sized(500, 6000)
# Two moments of two coordinates, and the radius: the chance of a false alarm of one of the five is 1e-6 a case and sampler.
LIMIT = 5.2
CASES = [(1.0, 0.06, np.inf), (1.0, 0.06, 2.0), (0.05, 0.06, 1.3), (0.3, 1.0, np.inf)]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2)) * [1.0, 0.3]
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    return rows, np.where(rng.random(60) < 1 / (1 + np.exp(-rows @ [2.0, -1.0])), 1.0, -1.0)


def exact(table, power, strength, radius):
    """Means and deviations of w, w^2 and |w|, by a sum over a fine grid."""
    rows, labels = table
    side = min(radius, 24.0)
    axis = np.linspace(-side, side, 301)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    margins = points @ (rows * labels[:, None]).T
    potential = power * np.logaddexp(0, -margins).sum(axis=1) + 0.5 * strength * (points**2).sum(axis=1)
    weights = np.where(np.linalg.norm(points, axis=1) <= radius, np.exp(potential.min() - potential), 0.0)
    weights /= weights.sum()
    values = quantities(points)
    mean = weights @ values
    return mean, np.sqrt(weights @ (values - mean) ** 2)


def quantities(points):
    return np.column_stack([points, points**2, np.linalg.norm(points, axis=1)])


def deviates(table, drawn, case):
    mean, deviation = exact(table, *case)
    values = quantities(drawn)
    return np.abs(values.mean(axis=0) - mean) / (deviation / np.sqrt(len(values)))


def draws(table, sampler, power, strength, radius):
    cells = _chains.Cells(*(np.full(CHAINS, each) for each in (power, strength, radius)))
    target = _chains.Posterior(*table, cells)
    rng = np.random.default_rng(17)
    drawn = _chains.hamiltonian(target, rng)[0] if sampler == "hamiltonian" else _chains.random_walk(target, rng, 300)
    return target.coefficients(drawn).T


@pytest.mark.parametrize("sampler", ["hamiltonian", "random_walk"])
@pytest.mark.parametrize("case", CASES)
def test_moments_agree_with_quadrature(table, sampler, case):
    drawn = draws(table, sampler, *case)
    assert np.linalg.norm(drawn, axis=1).max() <= case[2] * (1 + 1e-9)
    assert deviates(table, drawn, case).max() < LIMIT


@pytest.mark.parametrize("wrong", [(2.0, 0.06, 2.0), (1.0, 2.0, 2.0), (1.0, 0.06, 2.6)])
def test_another_power_strength_or_radius_is_rejected(table, wrong):
    drawn = draws(table, "hamiltonian", *wrong)
    assert deviates(table, drawn, (1.0, 0.06, 2.0)).max() > LIMIT


def test_a_chain_without_its_metropolis_step_is_rejected(table, monkeypatch):
    """Steps four times too long need the correction: without it the law is wide of the mark."""
    case = (1.0, 0.06, np.inf)
    monkeypatch.setattr(_chains, "_ACCEPT", -10.0)  # step sizes then grow to their limit
    cells = _chains.Cells(*(np.full(CHAINS, each) for each in case))
    target = _chains.Posterior(*table, cells)

    class AlwaysKept:
        """A generator whose uniform numbers are 0: every trajectory is kept."""

        def __init__(self):
            self.inner = np.random.default_rng(17)

        def random(self, size):
            return np.zeros(size)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    drawn = target.coefficients(_chains.hamiltonian(target, AlwaysKept())[0]).T
    assert deviates(table, drawn, case).max() > LIMIT


def test_equal_posteriors_share_their_draws():
    """Algorithms 4 and 5 depend on epsilon/lambda alone, OPS on epsilon alone, and both end without a change."""
    n = 2784
    assert _cells.cell("Algorithm 5", n, 10.0, 1.0).key == _cells.cell("Algorithm 5", n, 1.0, 0.1).key
    assert _cells.cell("OPS corrected", n, 10.0, 1.0).key == _cells.cell("OPS corrected", n, 100.0, 1.0).key
    assert (
        _cells.cell("Algorithm 4", n, 1.0, 20.0).key
        == _cells.cell("Algorithm 5", n, 1.0, 20.0).key
        == _cells.Cell().key
    )
    assert len(_cells.cells_of(n)) < len(_cells.METHODS) * len(_cells.ORDERS) * len(_cells.EPSILONS) * 0.6


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_ops_corrected_costs_its_epsilon_and_holds_the_mode(epsilon):
    """2 rho c R = epsilon, and R is a root of the mode's own equation, computed by bisection here."""
    cell = _cells.cell("OPS corrected", 2784, 1.0, epsilon)
    assert 2 * cell.power * cell.radius == pytest.approx(epsilon, rel=1e-9)
    # The mode is farthest where equal rows x carry one label: b R = rho s/(1 + e^R) at s = 1; smaller norms c <= 1 are allowed.
    norms = np.linspace(1e-3, 1.0, 2001)
    low, high = np.zeros_like(norms), np.full_like(norms, 1e4)
    for _ in range(200):
        middle = (low + high) / 2
        below = _cells.PRECISION * middle < cell.power * norms / (1 + np.exp(np.minimum(norms * middle, 700)))
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    assert cell.radius == pytest.approx(high.max(), rel=1e-4)
    assert cell.radius >= high.max() * (1 - 1e-9)


def test_results_are_resumed_and_a_torn_line_is_computed_again(tmp_path):
    path = tmp_path / "cells" / "small.jsonl"
    first, second = _cells.Cell(), _cells.Cell(power=0.5)
    results = _cells.Results(path)
    results.add(0, [first, second], [(0.1, -0.2), (0.3, -0.4)])
    path.write_text(path.read_text()[:-9])  # a process that was killed while it wrote
    again = _cells.Results(path)
    assert again.missing(0, [first, second, first]) == [second]
    again.add(0, [second], [(0.5, -0.6)])
    assert _cells.Results(path).of(second, 1).tolist() == [[0.5, -0.6]]
