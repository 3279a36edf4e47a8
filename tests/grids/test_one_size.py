"""The size of a grid is said once: change it there, and sampler, price, reader and `verify` work with the new one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FormatError
from sfumato.grids import size, size_of
from sfumato.queries.statistics.durations import duration_statistic
from sfumato.queries.statistics.events import event_statistic
from sfumato.queries.statistics.protocol import Numbers
from sfumato.queries.statistics.rates import rate_statistic
from sfumato.samplers import beta_grid, gamma_grid, laws, logit_grid
from sfumato.samplers.grid import integer_weights
from sfumato.samplers.support import on_grid

F = sf.families
CELLS, N = 1 << 9, 40


def _beta(law):
    return beta_grid.beta_masses(*law.cells, 16, law.geometry.rates)


def _gamma(law):
    return gamma_grid.gamma_masses(law, gamma_grid.nodes_for(law))


# Each family with its total, the masses of the sampler and the statistic of the reader.
FAMILIES = {
    "rate": (F.BetaBernoulli(1, 1), 13, _beta, rate_statistic),
    "rate above a floor": (F.BetaBernoulli(1, 1, floor=0.1), 13, _beta, rate_statistic),
    "events": (F.GammaPoisson(1.0, 1.0, 4), 31, _gamma, event_statistic),
    "durations": (F.ExponentialRate(1.0, 1.0, 2.0), 21, _gamma, duration_statistic),
}
SIZED = {name: (model, [Fraction(total)]) for name, (model, total, _, _) in FAMILIES.items()} | {
    "log odds": (F.LogitNormal(1.0), [Fraction(13)]),
    "shares": (F.DirichletCategorical(["a", "b", "c"]), [Fraction(20), Fraction(15), Fraction(5)]),
    "bits by group": (sf.grouped(F.BetaBernoulli(1, 1), "g", (0, 1)), [Fraction(10)] * 4),
}


@pytest.fixture
def coarse(monkeypatch):
    monkeypatch.setattr(size, "MOST_CELLS", CELLS)


@pytest.mark.parametrize("name", list(SIZED))
def test_draws_lie_on_the_grid_of_the_new_size_and_verify_knows_no_other(name, coarse, monkeypatch):
    model, totals = SIZED[name]
    law = model.law(totals, N)
    assert size_of(law) == CELLS
    draws = laws.draw(law, 60, sf.seeded(3))
    assert on_grid(law, draws)
    assert not on_grid(law, draws[:, :-1])
    monkeypatch.undo()
    before = model.law(totals, N)
    assert size_of(before) > CELLS
    assert not on_grid(before, draws)
    assert not on_grid(law, laws.draw(before, 60, sf.seeded(3)))


@pytest.mark.parametrize("name", list(FAMILIES))
def test_a_reader_gives_every_cell_the_probability_with_which_it_is_drawn(name, coarse):
    model, total, masses_of, build = FAMILIES[name]
    law = model.law([Fraction(total)], N)
    masses = masses_of(law)
    assert integer_weights(masses).cells == CELLS
    drawn = np.exp(masses.everywhere() - masses.logs.max())
    middles = getattr(law.geometry, "rates", law.geometry).middles
    assert len(middles) == CELLS
    # One draw at a time: the law of a draw given the total, as the interval uses it.
    likely = np.flatnonzero(drawn > 1e-3)
    read = [
        build(model, model, N, Numbers(1.0, 1.0, 0.0), middles[[cell]]).log_law(np.array([float(total)]))[0]
        for cell in likely
    ]
    assert np.exp(read) == pytest.approx(drawn[likely] / drawn.sum(), rel=1e-5)


def test_the_price_follows_the_size(coarse):
    """A coarse grid bears less weight: 1e9 goes with 2^16 cells, and falls with the square of the cells."""
    heavy = F.BetaBernoulli(1, 1)
    assert laws.log_error(heavy.law([Fraction(0)], 60_000)) > 0
    with pytest.raises(sf.errors.ArgumentError, match="at most 61035"):
        laws.log_error(heavy.law([Fraction(0)], 70_000))
    assert heavy.strongest(1000) == pytest.approx((1e9 / 2**14 - 1000) / 2, rel=1e-6)
    events = F.GammaPoisson(1.0, 1.0, 4)
    with pytest.raises(sf.errors.ArgumentError, match="grid of 512 cells"):
        laws.log_error(events.law([Fraction(0)], 10**6))
    assert logit_grid.nodes_for(F.LogitNormal(1.0).law([Fraction(0)], 10**6)) == 32


def test_a_law_without_such_a_size_has_none():
    finite = F.Finite(grid=[0.1, 0.9], log_likelihood=lambda t, x: np.log(t if x else 1 - t))
    assert size_of(finite.law([Fraction(3), Fraction(4)], 7)) is None
    assert size_of(F.NormalMean(1.0, -3.0, 3.0).law([Fraction(0)], 7)) is None


PUBLISHED = {
    "rate": (F.BetaBernoulli(12, 8), {"x": np.arange(N) % 3 == 0}, sf.Schema({"x": sf.Boolean(missing=False)})),
    "shares": (
        F.DirichletCategorical(["a", "b", "c"], 6.0),
        {"x": np.array(["a", "b", "c"], dtype=object)[np.arange(N) % 3]},
        sf.Schema({"x": sf.Category(["a", "b", "c"], missing="a")}),
    ),
    "events": (F.GammaPoisson(60, 20, 8), {"x": np.arange(N) % 5}, sf.Schema({"x": sf.Number(0, 8, integer=True)})),
    "bits by group": (
        sf.grouped(F.BetaBernoulli(12, 8), "g", (False, True)),
        {"g": np.arange(N) % 2 == 0, "x": np.arange(N) % 3 == 0},
        sf.Schema({"g": sf.Boolean(missing=False), "x": sf.Boolean(missing=False)}),
    ),
}


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_a_release_is_verified_and_read_on_the_grid_that_its_plan_recorded(name, monkeypatch):
    """The rule for sizes changes after the release was made: its numbers, and what a reader computes, do not."""
    model, table, schema = PUBLISHED[name]
    plan = sf.plan(model, N, mechanism="exact")
    release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(2))
    before = release.interval()
    assert plan["grid"] > CELLS
    monkeypatch.setattr(size, "MOST_CELLS", CELLS)
    assert sf.plan(model, N, mechanism="exact")["grid"] == CELLS
    again = sf.Release.from_bytes(release.to_bytes()).verify()
    np.testing.assert_array_equal(again.interval(), before)


@pytest.mark.parametrize("grid", [3, 1 << 30, CELLS - 1])
def test_a_size_that_no_grid_has_is_refused(grid):
    model = F.BetaBernoulli(12, 8)
    with pytest.raises(FormatError, match="records a grid"):
        model.public_law(N, 1.0, 1.0, grid)


def test_tables_of_a_network_with_several_sizes_are_read_with_their_own_rule_only():
    model = sf.networks.BayesianNetwork({"a": [], "b": ["a"]}, {"a": 2, "b": 3}, alpha={"a": 1e6, "b": 1.0})
    law = model.public_law(40)
    assert len({part.geometry.size for part in law.parts}) == 2
    assert model.public_law(40, 1.0, 1.0, size_of(law)) == law
    with pytest.raises(FormatError, match="records a grid"):
        model.public_law(40, 1.0, 1.0, CELLS)
