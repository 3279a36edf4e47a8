"""A gradient of a saturating loss, taken back to that of a quadratic one."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.shapes.saturation import Saturation, straightened

AVERAGE = np.array([3.0, 4.0])
LOSS = Saturation(along=0.1, across=0.25, wander=0.0)


def gradient(x):
    """The gradient at the average of the module's loss, whose linear map is the identity times the curvature at the start."""
    start = LOSS.along * (1 + LOSS.bend) ** 1.5
    scaled = LOSS.bend / (AVERAGE @ AVERAGE)
    return start * (AVERAGE / np.sqrt(1 + scaled * AVERAGE @ AVERAGE) - x / np.sqrt(1 + scaled * x @ x))


def test_the_curvatures_are_those_of_the_formula():
    step = 1e-6
    along = -(gradient(AVERAGE * (1 + step)) - gradient(AVERAGE * (1 - step))) / (2 * step)
    aside = np.array([-4.0, 3.0])
    across = -(gradient(AVERAGE + step * aside) - gradient(AVERAGE - step * aside)) / (2 * step)
    assert along == pytest.approx(LOSS.along * AVERAGE, rel=1e-6)
    assert across == pytest.approx(LOSS.across * aside, rel=1e-6)


@pytest.mark.parametrize("place", [0.8, 1.0, 1.3])
def test_an_optimum_along_the_average_shows_as_on_a_quadratic_loss(place):
    x = place * AVERAGE
    u = LOSS.along * AVERAGE - gradient(x)
    assert straightened(LOSS, u, AVERAGE, x, 0.0) == pytest.approx(LOSS.along * x, rel=1e-9)
    if place != 1.0:
        assert u != pytest.approx(LOSS.along * x, rel=1e-2)


def test_a_quadratic_loss_and_a_vague_optimum_are_left_alone():
    u = np.array([0.2, -0.1])
    assert straightened(Saturation(0.2, 0.2, 0.1), u, AVERAGE, 1.2 * AVERAGE, 0.0) is u
    assert straightened(LOSS, u, np.zeros(2), AVERAGE, 0.0) is u
    # The optimum's spread is a thousand times the squared length of the average.
    assert straightened(LOSS, u, AVERAGE, 1.2 * AVERAGE, 25e3) == pytest.approx(u, rel=1e-3)
