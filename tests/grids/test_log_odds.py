"""The public grid of log odds: its coordinate is the stated integral, and its cells are equally wide in it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit

from sfumato.grids.log_odds import LogOddsGrid, coordinate


@pytest.mark.parametrize(("total", "precision"), [(1000.0, 0.01), (0.5, 4.0)])
def test_cells_are_equally_wide_in_standard_deviations(total, precision):
    def height(t):
        return np.sqrt(total * expit(t) * expit(-t) + precision + 1.0)

    grid = LogOddsGrid(total, precision, -30.0, 20.0, 130)
    length = integrate.quad(height, -30, 20, points=[-5, 0, 5], limit=200)[0]
    assert grid.width == pytest.approx(length / 130, rel=1e-5)
    points, places = coordinate(total, precision, -30.0, 20.0, least=1.0)
    assert points[0] == -30
    assert points[-1] == 20
    for at in (100, 9000, 20_000):
        assert places[at] == pytest.approx(integrate.quad(height, -30, points[at], limit=200)[0], rel=1e-4)
    inner = [integrate.quad(height, low, high)[0] for low, high in zip(grid.edges[:-1], grid.edges[1:], strict=True)]
    assert len(inner) == 128
    assert inner == pytest.approx([length / 128] * 128, rel=1e-3)
