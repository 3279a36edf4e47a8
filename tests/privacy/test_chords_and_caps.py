"""Small formulas inside the profiles: the chord between two points of a table, and deltas that are capped at 1."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from sfumato.privacy.inflation import _inflated_many, inflated
from sfumato.privacy.profiles import _chord, _from_certainty


@pytest.mark.parametrize(("e0", "e1"), [(0.0, 0.01), (0.0, 3.0), (1.0, 1.5), (2.0, 30.0), (5.0, 800.0)])
def test_a_chord_is_a_straight_line_in_exp_epsilon(e0, e1):
    with mp.workdps(400):
        for part in (0.0, 0.2, 0.7, 1.0):
            epsilon = e0 + part * (e1 - e0)
            share = (mp.exp(epsilon) - mp.exp(e0)) / (mp.exp(e1) - mp.exp(e0))
            exact = mp.mpf("0.4") + (mp.mpf("0.1") - mp.mpf("0.4")) * share
            assert _chord(e0, 0.4, e1, 0.1, epsilon) == pytest.approx(float(exact), abs=1e-14)
            start = 1 + (mp.mpf("0.1") - 1) * mp.exp(epsilon - e1)
            assert _from_certainty(e1, 0.1, epsilon) == pytest.approx(float(start), abs=1e-14)


@pytest.mark.parametrize("error", [1e-3, 0.3, 5.0, 400.0, 699.0, 701.0])
def test_an_inflated_delta_is_at_most_one_and_the_same_for_one_and_many(error):
    """delta(eps) = 1/(2 + 2 eps): exp(error) delta(eps - 2 error), by hand, capped at certainty."""
    epsilons = np.array([0.0, 1.0, 20.0, 1500.0])
    many = _inflated_many(lambda e: 0.5 / (1 + e), error, epsilons)
    ones = [inflated(lambda e: 0.5 / (1 + e), error, epsilon) for epsilon in epsilons.tolist()]
    assert many == pytest.approx(ones, rel=1e-14)
    with mp.workdps(50):
        for epsilon, value in zip(epsilons.tolist(), ones, strict=True):
            moved = mp.mpf(epsilon) - 2 * mp.mpf(error)
            inner = 1 / (2 + 2 * abs(moved))
            exact = mp.exp(error) * (inner if moved >= 0 else 1 - mp.exp(moved) + mp.exp(moved) * inner)
            assert 0 <= value <= 1
            assert value >= min(mp.mpf(1), exact) * (1 - mp.mpf(10) ** -15)
