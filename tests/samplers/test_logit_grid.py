"""Log odds on the public grid: masses are integrals whose error is below what is charged, and draws follow the law."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf

from goodness import LEVEL, uniform_p
from sfumato.errors import ArgumentError
from sfumato.grids.size import MOST_CELLS
from sfumato.models.families import LogitNormal, _logit
from sfumato.models.laws import LogitNormal as Law
from sfumato.randomness import seeded
from sfumato.samplers import grid, logit_grid

# precision, centre, n, ones, power
CASES = [
    (1.0, 0.0, 1, 1, 1.0),
    (1.0, 0.0, 1000, 300, 1.0),
    (1e-4, 0.0, 100_000, 0, 1.0),
    (1e-4, -20.0, 40, 40, 1e-6),
    (0.02, 3.0, 1_000_000, 999_999, 0.37),
    (5.0, 19.0, 9_000_000, 7, 1.0),
    (9e6, -19.0, 300, 150, 1.0),
    (1.0, 0.0, 900_000_000, 450_000_000, 1.0),
    (1e-4, 0.5, 900_000_000, 3, 1.0),
    (9e8, 19.9, 5000, 0, 0.5),
    (0.5, 0.0, 1_500_000, 700, 1.0),
    (0.5, 0.0, 26_000_000, 25_999_300, 1.0),
]


def edges(law: Law):
    return law.geometry.edges


def log_density(precision, centre, n, ones, power):
    """In as many digits as are set, from the numbers themselves."""
    r, k, held, c = mpf(power), mpf(ones), mpf(precision), mpf(centre)
    return lambda t: r * (k * t - n * mp.log1p(mp.exp(t))) - held * (t - c) ** 2 / 2


def exact_log_mass(shape, low, high):
    top = max(shape(low), shape(high), shape((low + high) / 2))
    return top + mp.log(mp.quad(lambda t: mp.exp(shape(t) - top), mp.linspace(low, high, 3)))


def checked_cells(masses: np.ndarray) -> list[int]:
    """The largest cell, the farthest that are not at the floor, and some between."""
    alive = np.flatnonzero(masses[1:-1] > masses.max() - 680) + 1
    picked = alive[np.linspace(0, len(alive) - 1, 7).astype(int)]
    return sorted({int(c) for c in picked} | {int(masses[1:-1].argmax()) + 1})


def spread_of_errors(case, masses: np.ndarray, law: Law) -> float:
    """Largest less smallest error of a log mass, over some cells: a common constant does not matter."""
    mp.dps = 30
    shape, at = log_density(*case), edges(law)
    errors = [exact_log_mass(shape, mpf(at[c - 1]), mpf(at[c])) - mpf(float(masses[c])) for c in checked_cells(masses)]
    assert len(errors) >= 5
    return float(max(errors) - min(errors))


def law_of(precision, centre, n, ones, power) -> Law:
    return LogitNormal(precision, centre).law([Fraction(ones)], n, power)


@pytest.mark.parametrize("case", CASES)
def test_relative_error_of_masses_is_below_what_is_charged(case):
    law = law_of(*case)
    assert spread_of_errors(case, logit_grid.masses(law).everywhere(), law) < 0.7 * logit_grid.mass_error(law)


def test_every_number_of_nodes_was_checked():
    used = [logit_grid.nodes_for(law_of(*case)) for case in CASES]
    assert set(used) == {8, 16, 32}


@pytest.mark.planted
def test_too_few_nodes_are_caught(monkeypatch):
    monkeypatch.setattr(logit_grid, "_NODES", ((math.inf, 3),))
    case = CASES[-1]
    law = law_of(*case)
    assert spread_of_errors(case, logit_grid.masses(law).everywhere(), law) > logit_grid.mass_error(law)


@pytest.mark.planted
def test_a_density_written_without_its_mode_is_caught():
    """The planted fault: the same integrals of the plain log density, whose large terms cancel in floats."""
    case = CASES[7]
    law = law_of(*case)
    natural = np.array([law.ones, law.zeros, law.precision, 0.0])
    plain = lambda d: _logit.log_density(natural, d) - _logit.log_density(natural, np.zeros(1))[0]
    masses = grid.log_masses(plain, 0.0, edges(law), 32).everywhere()
    assert spread_of_errors(case, masses, law) > logit_grid.mass_error(law)


@pytest.mark.planted
def test_a_misplaced_mode_is_caught(monkeypatch):
    case = CASES[1]
    law = law_of(*case)
    right = _logit.modes
    monkeypatch.setattr(_logit, "modes", lambda *given: right(*given) + 1e-8)
    assert spread_of_errors(case, logit_grid.masses(law).everywhere(), law) > logit_grid.mass_error(law)


@pytest.mark.parametrize("case", [CASES[0], CASES[3], (0.3, 1.0, 20, 0, 1.0), (0.3, 1.0, 20, 20, 1.0)])
def test_the_outer_cells_hold_the_tails(case):
    law = law_of(*case)
    masses = logit_grid.masses(law).everywhere()
    mp.dps = 30
    shape, at = log_density(*case), edges(law)
    middle = int(masses[1:-1].argmax()) + 1
    reference = exact_log_mass(shape, mpf(at[middle - 1]), mpf(at[middle])) - mpf(float(masses[middle]))
    wide = 30 / mp.sqrt(mpf(law.precision))
    for cell, ends in ((0, (at[0] - wide, at[0])), (len(masses) - 1, (at[-1], at[-1] + wide))):
        top = max(map(shape, ends))
        whole = top + mp.log(mp.quad(lambda t, top=top: mp.exp(shape(t) - top), mp.linspace(*ends, 40)))
        assert abs(float(whole - mpf(float(masses[cell])) - reference)) < logit_grid.mass_error(law)


@pytest.mark.parametrize("case", CASES[:6])
def test_the_grid_is_the_same_for_every_count_and_every_cell_is_possible(case):
    precision, centre, n, _, power = case
    laws = [law_of(precision, centre, n, ones, power) for ones in (0, n // 2, n)]
    assert len({(x.total, x.precision, x.centre, x.lower, x.upper) for x in laws}) == 1
    at = edges(laws[0])
    assert len(at) == MOST_CELLS - 1
    assert np.all(np.diff(at) > 0)
    values = laws[0].geometry.middles
    assert len(values) == MOST_CELLS
    assert np.all(np.diff(values) > 0)
    for law in laws:
        weights = grid.integer_weights(logit_grid.masses(law))
        assert weights.cells == MOST_CELLS
        assert min(b - a for a, b in pairwise([0, *weights.cumulative])) >= 1
        mode = float(_logit.modes(np.array(law.ones), np.array(law.zeros), precision, centre))
        assert at[0] < mode - 8.9 / math.sqrt(precision)
        assert mode + 8.9 / math.sqrt(precision) < at[-1]


@pytest.mark.planted
@pytest.mark.parametrize("case", [(1.0, 0.5, 30, 8, 1.0), (0.05, 0.0, 5000, 0, 1.0), (4.0, -2.0, 200, 190, 0.1)])
def test_draws_follow_the_law_and_stay_on_the_grid(case):
    law = law_of(*case)
    draws = logit_grid.draw_log_odds(law, 8000, seeded(3))[:, 0]
    assert set(draws) <= set(law.geometry.middles)
    t = np.linspace(law.lower, law.upper, 400_001)
    precision, centre, n, ones, power = case
    logs = power * (ones * t - n * np.logaddexp(0, t)) - 0.5 * precision * (t - centre) ** 2
    density = np.exp(logs - logs.max())
    below = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    below /= below[-1]
    middle = t[int(density.argmax())]
    for scale, fits in ((1.0, True), (0.7, False), (1.3, False)):
        assert (uniform_p(np.interp(middle + (draws - middle) / scale, t, below)) > LEVEL) is fits


def test_modes_are_where_the_derivative_vanishes():
    rng = np.random.default_rng(1)
    mp.dps = 40
    for _ in range(30):
        total, precision = 10 ** rng.uniform(-3, 9), 10 ** rng.uniform(-4, 9)
        ones, centre = total * float(rng.choice([0.0, 1e-9, 0.3, 1.0])), float(rng.uniform(-20, 20))
        zeros = total - ones
        found = float(_logit.modes(np.array(ones), np.array(zeros), precision, centre))
        t = mpf(found)
        slope = mpf(ones) - (mpf(ones) + mpf(zeros)) / (1 + mp.exp(-t)) - mpf(precision) * (t - mpf(centre))
        curvature = (mpf(ones) + mpf(zeros)) / (2 + 2 * mp.cosh(t)) + mpf(precision)
        assert abs(float(slope / mp.sqrt(curvature))) < 1e-10


def test_a_law_that_the_grid_cannot_draw_is_refused():
    with pytest.raises(ArgumentError, match="at most"):
        logit_grid.mass_error(law_of(1.0, 0.0, 2_000_000_000, 0, 1.0))
    with pytest.raises(ArgumentError, match="precision of at least"):
        logit_grid.mass_error(Law(1.0, 1.0, 2.0, 1e-5, 0.0, -1.0, 1.0))
    with pytest.raises(ArgumentError, match="centre"):
        logit_grid.mass_error(Law(1.0, 1.0, 2.0, 1.0, 30.0, -1.0, 1.0))


@pytest.mark.parametrize("mode", [-25.0, -3.0, 0.0, 3.0, 25.0])
def test_the_density_about_its_mode_is_the_formula_near_and_far(mode):
    """The module's closed form in 40 digits, also where e^x overflows; rounding is a few units of the largest term."""
    mp.dps = 40
    law, d = Law(3.0, 4.0, 7.0, 0.5, 0.0, -20.0, 20.0), np.linspace(-60.0, 60.0, 97)
    p = 1 / (1 + mp.exp(-mpf(mode)))
    bends = [mp.log1p(p * mp.expm1(mpf(x))) for x in d.tolist()]
    exact = [7 * (p * x - bend) - mpf(x) ** 2 / 4 for x, bend in zip(d.tolist(), bends, strict=True)]
    errors = [abs(float(a - b)) for a, b in zip(exact, logit_grid.shape(law, mode, d).tolist(), strict=True)]
    assert max(errors) < 16 * 2.0**-53 * (7 * 60 + 60**2 / 4)
