"""Draws on the public grid: masses are integrals, relative errors below what is charged, inversion exact."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats
from scipy.special import betaln

from effort import sized
from goodness import LEVEL, chi_square_p, uniform_p
from sfumato.errors import ArgumentError
from sfumato.grids.rates import RateGrid
from sfumato.grids.size import MOST_CELLS
from sfumato.randomness import seeded
from sfumato.samplers import beta_grid, grid
from sfumato.theorems import conjugate


def each(weights: grid.Weights) -> list[int]:
    """The weight of every cell."""
    run = [int(b) - int(a) for a, b in pairwise([0, *weights.cumulative])]
    behind = weights.cells - weights.first - len(run)
    return [grid._FLOOR_WEIGHT] * weights.first + run + [grid._FLOOR_WEIGHT] * behind


def exact_log_mass(a: float, b: float, cell: int):
    """Log of the cell's mass relative to the density at the mode, in 50 digits, by quadrature in logit coordinates."""
    mp.dps = 50
    a, b = mpf(a), mpf(b)
    shape = lambda x: -a * mp.log1p(mp.exp(-x)) - b * mp.log1p(mp.exp(x))
    top = shape(mp.log(a / b))
    edge = lambda j: 2 * mp.log(mp.tan(mp.pi / 2 * j / MOST_CELLS))
    high = edge(cell + 1) if cell < MOST_CELLS - 1 else edge(cell) + 60 / b
    low = edge(cell) if cell > 0 else high - 120 / a
    panels = 12
    cuts = [low + (high - low) * k / panels for k in range(panels + 1)]
    return mp.log(mp.quad(lambda x: mp.exp(shape(x) - top), cuts))


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (0.3, 0.4), (0.05, 50), (11, 1e6), (0.354, 438_514.0), (5e5, 5e5), (2e4, 9e6), (1e8, 5e8)]
)
def test_relative_error_of_masses_is_below_what_is_charged(a, b):
    masses = beta_grid.beta_masses(a, b, beta_grid.nodes_for(a + b, MOST_CELLS), RateGrid()).everywhere()
    centre = int(2 / math.pi * math.asin(math.sqrt(a / (a + b))) * MOST_CELLS)
    cells = sorted({0, 1, 5, 200, *(centre + k for k in (-300, -20, 0, 7, 300))})
    cells = [c for c in cells if 0 <= c < MOST_CELLS - 1 and masses[c] > masses.max() - 650]
    assert len(cells) >= 3
    errors = [float(exact_log_mass(a, b, c) - mpf(masses[c])) for c in cells]
    assert max(errors) - min(errors) < beta_grid.mass_error(a + b, min(a, b), MOST_CELLS)


@pytest.mark.planted
def test_float_differences_of_distribution_functions_are_worthless_in_the_tail():
    """The planted fault: the same cells by cdf differences are off by far more than is charged."""
    a, b = 5000.0, 5000.0
    masses = beta_grid.beta_masses(a, b, 16, RateGrid()).everywhere()
    phi = np.arange(MOST_CELLS + 1) * (0.5 * math.pi / MOST_CELLS)
    naive = np.diff(stats.beta.cdf(np.sin(phi) ** 2, a, b))
    tail = np.flatnonzero(masses - masses.max() < -60)
    tail = tail[(tail > MOST_CELLS // 2) & (masses[tail] - masses.max() > -200)]
    exact = np.exp(masses[tail] - masses.max()) * naive.max()
    assert np.median(np.abs(naive[tail] / exact - 1)) > 0.5


@pytest.mark.planted
@pytest.mark.parametrize(("a", "b"), [(2.5, 7.0), (0.4, 0.3), (300.0, 900.0)])
def test_draws_follow_the_posterior(a, b):
    weights = grid.integer_weights(beta_grid.beta_masses(a, b, 16, RateGrid()))
    cells = np.array(grid.draw_cells(weights, seeded(3), 20_000))
    rates = RateGrid().middles[cells]
    # Spread each draw uniformly over its cell, so that the law is continuous again.
    phi = (cells + np.random.default_rng(1).random(cells.size)) * (0.5 * math.pi / MOST_CELLS)
    assert uniform_p(stats.beta.cdf(np.sin(phi) ** 2, a, b)) > LEVEL
    assert uniform_p(stats.beta.cdf(np.sin(phi) ** 2, 0.7 * a, 0.7 * b)) < LEVEL
    assert uniform_p(stats.beta.cdf(np.sin(phi) ** 2, 1.3 * a, 1.3 * b)) < LEVEL
    assert set(rates) <= set(RateGrid().middles)


def test_every_cell_is_possible_under_every_data_set():
    """A cell that one data set gives weight 0 would tell it from its neighbour for certain."""
    for a, b in ((1.0, 1e6), (1e6, 1.0), (0.05, 0.05)):
        weights = each(grid.integer_weights(beta_grid.beta_masses(a, b, 16, RateGrid())))
        assert len(weights) == MOST_CELLS
        assert min(weights) >= 1


@pytest.mark.planted
def test_inversion_is_exact():
    cumulative = grid.integer_weights(grid.Masses(0, np.log(np.array([1.0, 2.0, 5.0])), 3))
    counts = np.bincount(grid.draw_cells(cumulative, seeded(2), 8000), minlength=3)
    assert chi_square_p(counts, np.array([1000.0, 2000.0, 5000.0])) > LEVEL
    assert chi_square_p(counts, np.array([1200.0, 2000.0, 4800.0])) < LEVEL

    class Fixed:
        def __init__(self, value):
            self.value = value

        def integers_below(self, bound):
            return self.value

    first = cumulative.cumulative[0]
    assert grid.draw_cells(cumulative, Fixed(first - 1), 1) == [0]
    assert grid.draw_cells(cumulative, Fixed(first), 1) == [1]
    assert grid.draw_cells(cumulative, Fixed(cumulative.total - 1), 1) == [2]


def test_weights_keep_their_digits_far_down():
    relative = np.array([0.0, -100.0, -500.0, -690.0])
    weights = each(grid.integer_weights(grid.Masses(0, relative, 4)))
    for log, weight in zip(relative, weights, strict=True):
        mp.dps = 60
        ratio = mpf(int(weight)) / mpf(int(weights[0]))
        assert abs(ratio / mp.exp(mpf(log)) - 1) < mpf("1e-12")


def test_too_large_a_weight_is_refused():
    with pytest.raises(ArgumentError, match="at most"):
        beta_grid.mass_error(2e9, 1.0, MOST_CELLS)
    with pytest.raises(ArgumentError, match="prior cells"):
        beta_grid.mass_error(10.0, 1e-7, MOST_CELLS)


@pytest.mark.parametrize("a", [0.4, 0.05, 1e-3, 1e-5, 30.0])
@pytest.mark.parametrize("share", sized([0.9, 0.999, 1.2], [0.9, 0.99, 0.999, 1.0, 1.001, 1.2]))
def test_the_first_cell_when_the_mode_stands_at_its_edge(a, share):
    """Mode just beside the first edge: the cell holds a share of the mass that no single scale describes."""
    theta = math.sin(0.5 * math.pi / MOST_CELLS) ** 2
    b = a / (theta * share)
    masses = beta_grid.beta_masses(a, b, beta_grid.nodes_for(a + b, MOST_CELLS), RateGrid()).everywhere()
    mp.dps = 30
    logs = [_log_mass_below(a, b), mpf(exact_log_mass(a, b, 1))]
    errors = [float(logs[c] - mpf(masses[c])) for c in (0, 1)]
    assert abs(errors[0] - errors[1]) < 1e-9


def _log_mass_below(a, b):
    """Mass of the first cell relative to the mode's density: exp(-b theta) theta^a to all digits, by the substitution
    u = theta^a, which leaves a smooth integrand."""
    a, b = mpf(a), mpf(b)
    theta = mp.sin(mp.pi / 2 / MOST_CELLS) ** 2
    total = a + b
    log_peak = a * mp.log(a / total) + b * mp.log(b / total)
    integral = (
        mp.quad(lambda u: mp.exp((b - 1) * mp.log1p(-(u ** (1 / a)))), [0, theta**a / 8, theta**a / 2, theta**a]) / a
    )
    return mp.log(integral) - log_peak


def renyi(p: list[int], q: list[int], order: float) -> float:
    """Renyi divergence of two integer-weight laws, in logarithms of whole numbers."""
    mp.dps = 40
    p_total, q_total = mpf(sum(p)), mpf(sum(q))
    terms = mpf(0)
    for x, y in zip(p, q, strict=True):
        terms += mp.exp(order * mp.log(mpf(int(x)) / p_total) + (1 - order) * mp.log(mpf(int(y)) / q_total))
    return float(mp.log(terms) / (order - 1))


def test_no_renyi_divergence_grows_on_the_grid():
    """Weights that jump where masses become small would make high orders infinite in all but name."""
    weights = [
        each(grid.integer_weights(beta_grid.beta_masses(1000.0 + k, 2000.0 - k, 16, RateGrid(0.0, 1 << 10))))
        for k in (0, 1)
    ]
    assert len(weights[0]) == 1 << 10
    for order in (2.0, 10.0, 50.0):
        exact = conjugate.exponential_family_renyi(
            lambda eta: float(betaln(*eta)), (1001.0, 1999.0), (1000.0, 2000.0), order
        )
        assert renyi(weights[1], weights[0], order) <= exact * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize(("a", "b"), [(3e4, 7e4), (5.0, 1e6), (4e6, 11.0)])
def test_cells_that_are_not_integrated_would_have_stood_at_the_floor(a, b, monkeypatch):
    """The window leaves out only cells that the floor would have raised: a wider one gives the same weights."""
    cells = 1 << 13
    masses = beta_grid.beta_masses(a, b, 16, RateGrid(0.0, cells))
    quick = each(grid.integer_weights(masses))
    assert len(masses.logs) < 0.8 * cells
    monkeypatch.setattr(grid, "_NEGLIGIBLE", -5000.0)
    assert quick == each(grid.integer_weights(beta_grid.beta_masses(a, b, 16, RateGrid(0.0, cells))))
    monkeypatch.setattr(grid, "_NEGLIGIBLE", -600.0)
    assert quick != each(grid.integer_weights(beta_grid.beta_masses(a, b, 16, RateGrid(0.0, cells))))


def test_every_place_belongs_to_the_cell_whose_weight_covers_it():
    weights = grid.Weights(2, [5, 12], 6)
    floor = grid._FLOOR_WEIGHT
    ends = np.cumsum([floor, floor, 5, 7, floor, floor], dtype=object)
    assert weights.total == ends[-1]
    for cell, end in enumerate(ends):
        assert weights.cell_at(int(end) - 1) == cell
        assert weights.cell_at(int(ends[cell - 1]) if cell else 0) == cell


@pytest.mark.parametrize("floor", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (600.0, 40.0), (1.0, 1e5)])
def test_truncated_masses_stay_between_the_floors(a, b, floor):
    masses = beta_grid.beta_masses(a, b, 16, RateGrid(floor))
    assert masses.cells == MOST_CELLS
    rates = RateGrid(floor).middles
    assert floor < rates[0] < rates[-1] < 1 - floor
    mp.dps = 40
    start = mp.asin(mp.sqrt(mpf(floor)))
    edge = lambda j: 2 * mp.log(mp.tan(start + (mp.pi / 2 - 2 * start) * j / MOST_CELLS))
    shape = lambda x: -mpf(a) * mp.log1p(mp.exp(-x)) - mpf(b) * mp.log1p(mp.exp(x))
    logs = masses.everywhere()
    cells = [c for c in (0, 1, 300, 30_000, MOST_CELLS - 1) if logs[c] > logs.max() - 600]
    exact = [mp.log(mp.quad(lambda x: mp.exp(shape(x)), mp.linspace(edge(c), edge(c + 1), 4))) for c in cells]
    gaps = [float(e - mpf(logs[c])) for e, c in zip(exact, cells, strict=True)]
    assert len(cells) >= 1
    assert max(gaps) - min(gaps) < beta_grid.mass_error(a + b, min(a, b), MOST_CELLS)


@pytest.mark.parametrize("a", [1e-6, 1e-4, 1e-3, 1e-2, 0.2, 1.0])
@pytest.mark.parametrize("b", [1e-6, 1e-3, 1e-2, 1.0, 50.0])
def test_the_two_open_cells_of_tiny_priors(a, b):
    """e^709 overflows where a cell of 1e-3 still has half of its mass to give; the mirrored law must mirror."""
    from scipy.special import betainc

    logs, mirrored = (beta_grid.beta_masses(x, y, 16, RateGrid()).everywhere() for x, y in ((a, b), (b, a)))
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    edge = math.sin(0.5 * math.pi / MOST_CELLS) ** 2
    for cell, exact in ((0, betainc(a, b, edge)), (-1, betainc(b, a, edge))):
        if exact > 1e-280:
            assert shares[cell] == pytest.approx(exact, rel=1e-9)
    alive = np.isfinite(logs)
    np.testing.assert_allclose(logs[alive], mirrored[::-1][alive], rtol=0, atol=2e-10)


@pytest.mark.parametrize(("b", "floor"), [(9e8, 0.49), (1e5, 0.05), *sized([], [(1e7, 0.4), (1e8, 0.49)])])
def test_masses_keep_their_digits_when_the_mode_is_far_beyond_the_floor(b, floor):
    """The density falls by e^100 and more within a cell there; edges are the public floats that they are."""
    mp.dps = 60
    masses = beta_grid.beta_masses(1.0, b, beta_grid.nodes_for(b + 1, MOST_CELLS), RateGrid(floor))
    edges = [mpf(float(x)) for x in RateGrid(floor).logit_edges[:302]]
    shape = lambda x: -mp.log1p(mp.exp(-x)) - mpf(b) * mp.log1p(mp.exp(x))
    logs = masses.everywhere()
    cells = [c for c in (0, 1, 2, 5, 40, 300) if logs[c] > logs[0] - 600]
    assert len(cells) >= 2
    exact = []
    for c in cells:
        # exp(shape) falls like a line here: panels from the left end, each of one power of e.
        slope = (shape(edges[c]) - shape(edges[c + 1])) / (edges[c + 1] - edges[c])
        cuts = [edges[c] + k / slope for k in range(60) if edges[c] + k / slope < edges[c + 1]]
        last = edges[c + 1] if len(cuts) < 60 else cuts[-1]
        top = shape(edges[c])
        total = mp.quad(lambda x, top=top: mp.exp(shape(x) - top), [*cuts, last])
        exact.append(mp.log(total) + top)
    errors = [e - mpf(logs[c]) for e, c in zip(exact, cells, strict=True)]
    assert float(max(errors) - min(errors)) < beta_grid.mass_error(b + 1, 1.0, MOST_CELLS)
