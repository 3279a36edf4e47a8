"""The error that a grid states for its masses covers the derived one, covers the real one, and is the one that is charged."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from sfumato.grids.rates import RateGrid
from sfumato.grids.size import MOST_CELLS
from sfumato.models.families import ExponentialRate, GammaPoisson
from sfumato.models.laws import Dirichlet, Gamma
from sfumato.samplers import beta_grid, gamma_grid, laws

FREE, TRIMMED = ExponentialRate(0.05, 1.0, 20.0), ExponentialRate(2.0, 1.0, 10.0, 0.1, 5.0)
COUNTS = GammaPoisson(0.05, 1.0, 20)
SCANS = {
    "durations": [FREE.law([n // 2], int(n)) for n in np.geomspace(10, 1e8, 150)],
    "counts": [COUNTS.law([n], int(n)) for n in np.geomspace(10, 5e6, 150)],
    "trimmed durations": [TRIMMED.law([n], int(n)) for n in np.geomspace(10, 3e6, 150)],
}


def derived_error(law: Gamma, nodes: int) -> float:
    """The proved bound on the quadrature error of any cell, for the steepest density that some data set brings about.

    Restricted to a range, the density may have its mode outside. Its slope in log(theta), shape - rate theta, is then as
    large as the shape or as the largest rate times the upper end; a fall of e^-800 over one cell is the most that counts.
    """
    public = law.rate * law.upper if law.spacing == "root" else law.shape
    half, slope, curvature, _ = gamma_grid._blocks(law.geometry, public)
    if law.closed:
        edge = max(law.shape, law.largest_rate * law.upper)
        slope = np.maximum(slope, np.minimum(edge, 400 / half))
        curvature = law.shape + slope
    return float(gamma_grid._quadrature_error(nodes, half, slope, curvature).max())


@pytest.mark.parametrize("name", list(SCANS))
def test_the_stated_error_is_ten_times_the_derived_quadrature_error(name):
    """The rest of what is stated, beside the rounding, is for the two open cells and for the sum over the nodes."""
    hardest = 0.0
    for law in SCANS[name]:
        derived = derived_error(law, gamma_grid.nodes_for(law))
        stated = gamma_grid.mass_error(law) - gamma_grid._rounding(law)
        assert 9.99 * derived <= stated, law
        hardest = max(hardest, derived)
    assert hardest > 1e-12, "no law of the scan comes near to the limit"


@pytest.mark.parametrize("name", list(SCANS))
def test_the_error_that_is_stated_is_the_one_that_is_charged(name):
    """A mass is off by a relative e, and so is the sum it is divided by: log((1 + e)/(1 - e))."""
    mp.dps = 30
    for law in SCANS[name][::10]:
        stated = mpf(gamma_grid.mass_error(law))
        assert mpf(laws.log_error(law)) >= mp.log((1 + stated) / (1 - stated))
        assert stated >= mpf("1e-10")


@pytest.mark.parametrize(("n", "nodes"), [(1_000, 16), (100_000, 16), (100_000_000, 64)])
def test_the_nodes_of_a_cell_are_what_earlier_releases_were_drawn_with(n, nodes):
    """Another number of nodes moves the last digits of the masses, and a seeded rehearsal would not come out the same."""
    assert gamma_grid.nodes_for(FREE.law([n // 2], n)) == nodes


def steep_floor(weight: float, drop: float) -> float:
    """The floor at which the density of Beta(1, weight - 1) falls by e^-drop over the first cell above it."""
    low, high = 1e-6, 0.1
    for _ in range(60):
        floor = math.sqrt(low * high)
        first, second = RateGrid(floor).logit_edges[:2]
        fall = weight * (np.logaddexp(0, second) - np.logaddexp(0, first)) - (second - first)
        low, high = (floor, high) if fall < drop else (low, floor)
    return low


def test_masses_of_the_steepest_beta_cells_are_told_to_the_stated_error():
    """Cells over which the density falls by a little less than e^-12, the most for which no finer panels are used."""
    weight = 1e7
    floor = steep_floor(weight, 11.9)
    logs = beta_grid.beta_masses(1.0, weight - 1, beta_grid.nodes_for(weight, MOST_CELLS), RateGrid(floor)).everywhere()
    edges = [mpf(float(x)) for x in RateGrid(floor).logit_edges[:12]]
    mp.dps = 40
    shape = lambda x: x - mpf(weight) * mp.log1p(mp.exp(x)) + mpf(weight) * mp.log1p(mp.exp(edges[0]))
    errors = []
    for cell in (0, 5, 10):
        exact = mp.quad(lambda x: mp.exp(shape(x)), mp.linspace(edges[cell], edges[cell + 1], 25))
        errors.append(mp.log(exact) - mpf(float(logs[cell])))
    stated = beta_grid.mass_error(weight, 1.0, MOST_CELLS)
    assert max(errors) - min(errors) < stated
    law = Dirichlet((1.0, weight - 1), weight, 1.0)
    assert laws.log_error(law) >= 2 * stated
