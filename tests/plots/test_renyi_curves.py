"""The Renyi picture shows the divergence at every order, the order at which it becomes infinite, and what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from test_pictures import BETA, guarantee, legend

import sfumato as sf


def read(figure):
    """(curves with at least three points, places of vertical lines, marked points)."""
    drawn = [np.array(line.get_xydata()) for line in figure.axes[0].get_lines()]
    marked = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    rows = np.concatenate([np.array(line.get_xydata()) for line in marked]) if marked else np.empty((0, 2))
    upright = [line[0, 0] for line in drawn if len(line) == 2 and line[0, 0] == line[1, 0]]
    return [line for line in drawn if len(line) > 2], upright, rows


def test_the_line_is_the_renyi_divergence_of_the_guarantee():
    promise = guarantee(sf.Gaussian(0.5))
    (line,), upright, marked = read(sf.plots.renyi_curve(promise, orders=(1, 9)))
    assert line[:, 1] == pytest.approx(0.125 * line[:, 0])
    assert (line[0, 0], line[-1, 0]) == (1, 9)
    assert (upright, len(marked)) == ([], 0)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_an_upright_line_stands_where_the_curve_becomes_infinite(power):
    """lambda* = 1 + min(alpha, beta)/power, to a tenth of a pixel."""
    promise = sf.theorems.conjugate.beta_bernoulli(alpha=6, beta=12, n=100, power=power)
    (line,), (place,), _ = read(sf.plots.renyi_curve(promise, orders=(1, 30)))
    assert place == pytest.approx(1 + 6 / power, abs=30e-4)
    before = line[:-1]
    assert np.isfinite(before).all()
    for order, value in before[:: len(before) // 7]:
        assert value == promise.renyi(float(order))


def test_orders_and_epsilons_that_were_asked_for_are_marked():
    plan = sf.plan(BETA, 100, target=sf.Renyi([2, 40], [0.05, 5.0]), mechanism="diffused")
    figure = sf.plots.renyi_curve({"mine": plan}, orders=(1, 12))
    assert read(figure)[2].tolist() == [[2.0, 0.05]]
    assert legend(figure) == ["mine", "asked for"]


def test_the_height_can_be_given():
    figure = sf.plots.renyi_curve(guarantee(sf.Pure(1.0)), epsilon=3.0)
    assert figure.axes[0].get_ylim() == (0, 3.0)


def test_a_curve_known_at_the_first_order_alone_is_drawn_up_to_it():
    figure = sf.plots.renyi_curve({"kl": guarantee(sf.Renyi([1], [0.02]))})
    assert figure.axes[0].get_ylim() == (0, pytest.approx(0.021))
    assert legend(figure) == ["kl"]
