"""The error that a law charges: one term for every broken stick, and for every part that a record can touch."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.grids.rates import RateGrid
from sfumato.grids.size import MOST_CELLS
from sfumato.models import laws as values
from sfumato.samplers import beta_grid, gamma_grid, grid, laws, logit_grid


def dirichlet(cells: int, weight: float = 50.0) -> values.Dirichlet:
    return values.Dirichlet((1.0,) * cells, weight, 1.0)


def stick(weight: float = 50.0) -> float:
    """log((1 + eta)/(1 - eta)): a mass is off by a factor within 1 +- eta, and so is the sum that divides it."""
    eta = beta_grid.mass_error(weight, 1.0, MOST_CELLS)
    return math.log((1 + eta) / (1 - eta))


@pytest.mark.parametrize("cells", [2, 3, 4, 9, 40])
def test_every_broken_stick_is_charged(cells):
    """K shares are K - 1 draws from a grid."""
    found = laws.log_error(dirichlet(cells))
    assert found == pytest.approx((cells - 1) * stick(), rel=1e-6)
    assert found >= (cells - 1) * laws.log_error(dirichlet(2)) * (1 - 1e-15)


def test_a_heavier_law_charges_more():
    # Beyond a hundredth of the largest weight a cell is wide against the posterior.
    light, heavy = (beta_grid.mass_error(weight, 1.0, MOST_CELLS) for weight in (1e3, 1e9))
    assert heavy > light
    with pytest.raises(sf.errors.ArgumentError, match="total weight"):
        beta_grid.mass_error(1e12, 1.0, MOST_CELLS)


@pytest.mark.parametrize("touched", [1, 2, 3, None])
def test_every_part_that_a_record_can_touch_is_charged(touched):
    """The largest errors of as many parts as a replaced record changes; all of them where that is not known."""
    parts = tuple(dirichlet(cells) for cells in (2, 6, 3, 4))
    errors = sorted(((cells - 1) * stick() for cells in (2, 6, 3, 4)), reverse=True)
    found = laws.log_error(values.Product(parts, touched))
    assert found == pytest.approx(sum(errors[:touched]), rel=1e-6)
    assert found >= sum(sorted(map(laws.log_error, parts), reverse=True)[:touched]) * (1 - 1e-15)


def test_two_groups_pay_for_a_record_that_leaves_one_and_enters_another():
    for groups in (2, 5):
        model = sf.grouped(sf.families.DirichletCategorical(["s", "m", "l"], 1.5), "g", list(range(groups)))
        law = model.law([Fraction(0)] * (3 * groups), 60)
        assert law.touched == 2
        assert laws.log_error(law) == pytest.approx(2 * 2 * stick(60 + 4.5), rel=1e-6)


def test_a_gamma_law_charges_both_the_mass_and_the_sum():
    law = values.Gamma(5.0, 2.0, 0.0, 80.0, "root")
    eta = gamma_grid.mass_error(law)
    assert laws.log_error(law) == pytest.approx(math.log((1 + eta) / (1 - eta)), rel=1e-6)
    assert laws.log_error(law) > 1.99 * eta


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.05, 3.0), (400.0, 2.0), (3e4, 5e4)])
def test_masses_of_a_rate_are_within_the_stated_error(a, b):
    """Against the distribution function, on a coarse grid where its differences keep their digits."""
    from scipy import special

    cells = 256
    masses = beta_grid.beta_masses(a, b, 32, RateGrid(0.0, cells))
    found = np.exp(masses.logs - masses.logs.max())
    phi = np.arange(cells + 1) * (math.pi / 2) / cells
    below = special.betainc(a, b, np.sin(phi) ** 2)
    exact = np.diff(below)[masses.first : masses.first + len(found)]
    seen = exact > 1e-4
    ratio = (found / found.sum())[seen] / (exact / exact.sum())[seen]
    assert np.abs(ratio - 1).max() < 1e-9


def test_a_finite_law_charges_its_rounded_logarithm_and_both_weights():
    """Half a unit of 2^-48 in the weight and half in the sum, and a relative 1e-13 in each."""
    from sfumato.samplers import finite

    eta = finite.RELATIVE
    assert eta >= 690 * 2.0**-53
    assert 2.0**-48 + 2 * eta <= finite.LOG_ERROR
    assert laws.log_error(values.Finite((0, -5), ((0.1,), (0.2,)))) == finite.LOG_ERROR


@pytest.mark.parametrize("shape", [3.0, 1e3, 1e6])
def test_a_gamma_law_charges_the_roundings_of_its_exponents(shape):
    """A shape K that is off by 2^-53 moves a log mass by K |d| 2^-53, d the distance from the mode: more for larger K."""
    law = values.Gamma(shape, shape, 0.05, 20.0, "log")
    widest = math.sqrt(2 * 725.0 / shape)
    assert gamma_grid.mass_error(law) >= 1e-10 + shape * min(widest, math.log(20)) * 2.0**-53


@pytest.mark.parametrize("weight", [50.0, 1e8])
def test_log_odds_charge_both_the_mass_and_the_sum_and_more_where_they_are_narrow(weight):
    law = values.LogitNormal(0.0, weight, weight, 1.0, 0.0, -30.0, 30.0)
    eta = 1e-9 if weight <= 1e7 else 1e-8
    assert logit_grid.mass_error(law) == eta
    assert laws.log_error(law) == pytest.approx(math.log((1 + eta) / (1 - eta)), rel=1e-6)


@pytest.mark.parametrize("cells", [1 << 12, 1 << 14, 1 << 16])
def test_the_largest_weight_of_a_grid_goes_with_the_square_of_its_cells(cells):
    """A deviation in the arcsine coordinate is 1/(2 sqrt(weight)): cells of half the width bear four times the weight."""
    most = 1e9 * (cells / (1 << 16)) ** 2
    assert beta_grid.mass_error(most, 1.0, cells) == 1e-8
    with pytest.raises(sf.errors.ArgumentError, match="total weight"):
        beta_grid.mass_error(1.01 * most, 1.0, cells)
    with pytest.raises(sf.errors.ArgumentError, match="prior cells"):
        beta_grid.mass_error(0.5 * most, 1e-7, cells)


def test_whole_weights_keep_their_ratios_down_to_the_floor():
    """A weight of e^-600 of the largest is still told from one of e^-601, to a float's digits."""
    logs = np.array([0.0, -59.0, -100.0, -600.0, -601.0])
    cumulative = grid.integer_weights(grid.Masses(0, logs, len(logs))).cumulative
    weights = [Fraction(b - a) for a, b in zip([0, *cumulative], cumulative, strict=False)]
    for log, weight in zip(logs.tolist()[1:], weights[1:], strict=True):
        assert float(weight / weights[0] / Fraction(math.exp(log))) == pytest.approx(1.0, rel=1e-12)
