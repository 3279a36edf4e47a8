"""Laws on finitely many points: whole-number weights within the stated error, and exact inversion."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import sfumato as sf
from goodness import LEVEL, chi_square_p
from sfumato.models import laws
from sfumato.samplers import finite
from sfumato.samplers import laws as exact_laws
from sfumato.samplers.grid import integer_weights

UNIT = 1 << 48


def drawn_probabilities(law: laws.Finite) -> list[mpf]:
    weights = integer_weights(finite.log_weights(law))
    steps = [b - a for a, b in zip([0, *weights.cumulative[:-1]], weights.cumulative, strict=True)]
    return [mpf(step) / weights.total for step in steps]


@pytest.mark.planted
@pytest.mark.parametrize("scale", [1e-6, 3.0, 120.0, 600.0])
def test_every_probability_is_within_the_stated_error(scale):
    mp.dps = 40
    rng = np.random.default_rng(3)
    logs = tuple(int(value) for value in (rng.uniform(-scale, 0, 300) * UNIT))
    law = laws.Finite(logs, tuple((float(k),) for k in range(300)))
    exact = [mp.exp(mpf(log) / UNIT) for log in logs]
    total = mp.fsum(exact)
    gaps = [abs(mp.log(p) - mp.log(e / total)) for p, e in zip(drawn_probabilities(law), exact, strict=True)]
    # Half a unit of the claimed error is for the law's own rounding, which is not seen here.
    assert max(gaps) <= exact_laws.log_error(law) - 2.0**-48
    assert max(gaps) < 1e-3 * 1e-9
    rough = [
        abs(mp.log(p) - mp.log(e / total * (1 + 1e-11))) for p, e in zip(drawn_probabilities(law), exact, strict=True)
    ]
    assert max(rough) > exact_laws.log_error(law), "the planted fault"


def test_no_point_is_impossible_and_huge_logs_are_exact():
    """Logs of 1e12 records: the difference counts, and it is taken in whole numbers."""
    far = 10**15 * UNIT
    law = laws.Finite((far, far - UNIT, far - 5000 * UNIT, -far), ((0.0,), (1.0,), (2.0,), (3.0,)))
    p = drawn_probabilities(law)
    assert float(mp.log(p[0] / p[1])) == pytest.approx(1.0, rel=1e-13)
    assert p[2] == p[3] > 0
    assert p[2] < mpf(10) ** -290


@pytest.mark.planted
def test_draws_follow_the_weights_and_are_points_of_the_list():
    logs = tuple(int(-value * UNIT) for value in (0.0, 0.5, 1.5, 3.0))
    points = ((0.5, 1.0), (0.25, -1.0), (0.125, 0.0), (2.0, 2.0))
    values = exact_laws.draw(laws.Finite(logs, points), 4000, sf.seeded(5))
    assert values.shape == (4000, 2)
    places = [points.index(tuple(row)) for row in values.tolist()]
    observed = np.bincount(places, minlength=4)

    def p_value(power):
        chances = np.exp(-power * np.array([0.0, 0.5, 1.5, 3.0]))
        return chi_square_p(observed, 4000 * chances / chances.sum())

    assert p_value(1.0) > LEVEL
    assert p_value(0.7) < LEVEL
    assert p_value(1.3) < LEVEL
