"""The public grid of rates: each released rate stands in the middle of its cell, in the arcsine of its root."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.grids.rates import RateGrid
from sfumato.grids.sticks import StickGrid


@pytest.mark.parametrize("floor", [0.0, 0.05])
def test_rates_stand_in_the_middle_of_cells_of_equal_width(floor):
    grid = RateGrid(floor, 64)
    start = np.arcsin(np.sqrt(floor))
    edges = np.linspace(start, 0.5 * np.pi - start, 65)
    assert np.allclose(np.arcsin(np.sqrt(grid.middles)), 0.5 * (edges[1:] + edges[:-1]), atol=1e-12)
    assert np.allclose(grid.middles + grid.middles[::-1], 1.0, atol=1e-12)
    low, high = grid.ends(grid.middles)
    assert np.allclose(low, np.sin(edges[:-1]) ** 2, atol=1e-12)
    assert np.allclose(high, np.sin(edges[1:]) ** 2, atol=1e-12)


def test_sticks_are_broken_at_rates_of_the_grid_and_no_share_is_negative():
    rates = RateGrid(0.0, 64)
    first, second = rates.middles[40], rates.middles[7]
    good = np.array([[first, (1 - first) * second, (1 - first) * (1 - second)]])
    grid = StickGrid(rates, 3)
    assert grid.holds(good)
    assert not grid.holds(good * 0.999)
    assert not grid.holds(np.array([[first, 0.3, 0.7 - first]]))


def test_no_share_is_negative_where_the_rest_of_the_stick_underflows():
    """Below 1e-280 the parts of the rest are not compared with the grid any more; their signs still are."""
    rates = RateGrid(0.0, 1 << 12)
    rest, shares = 1.0, []
    while len(shares) < 2 or sum(shares[-2:]) > 1e-281:
        shares.append(rest * rates.middles[-1])
        rest *= 1 - rates.middles[-1]
    assert 0 < rest < 1e-280
    grid = StickGrid(rates, len(shares) + 1)
    assert grid.holds(np.array([[*shares, rest]]))
    assert not grid.holds(np.array([[*shares, -rest]]))
