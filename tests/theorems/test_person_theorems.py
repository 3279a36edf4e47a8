"""Persons with several rows: hypotheses, what the guarantee carries, and draws of persons who are spread over several cells."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp, mpf
from person_oracle import spread_delta

import sfumato as sf
from effort import sized
from sfumato.errors import AssumptionError
from sfumato.privacy import posterior_profiles
from sfumato.privacy.statements import THEOREMS
from sfumato.procedures import for_contributions, law
from sfumato.theorems import conjugate, networks, persons

PRICED = conjugate.beta_bernoulli(alpha=1, beta=1, n=9, power=0.3)
DECLARED = {"public_roster": True, "own_rows": True, "id_column": "who", "rows": "visits"}
ONE_ROW = {"priced": PRICED, "people": 9, **DECLARED}
AVERAGES = {**ONE_ROW, "most": 3, "hull": True, "absent": True}
SPREAD = {"smallest_cells": (2.0, 3.0), "power": 0.5, "strength": 1.5, "draws": 2, "log_error": 1e-6}
BY_ENTRY = replace(PRICED, adjacency="replace-entry")

# The theorem, what it is given, what is broken, and the hypothesis that fails.
DROPPED = [
    (persons.one_row, ONE_ROW, {"public_roster": False}, "public-roster"),
    (persons.one_row, ONE_ROW, {"own_rows": False}, "own-rows"),
    (persons.one_row, ONE_ROW, {"people": 0}, "records"),
    (persons.one_row, ONE_ROW, {"priced": BY_ENTRY}, "neighbours"),
    (persons.averages, AVERAGES, {"public_roster": False}, "public-roster"),
    (persons.averages, AVERAGES, {"own_rows": None}, "own-rows"),
    (persons.averages, AVERAGES, {"people": 0}, "records"),
    (persons.averages, AVERAGES, {"most": 0}, "most"),
    (persons.averages, AVERAGES, {"most": 2.5}, "most"),
    (persons.averages, AVERAGES, {"hull": "yes"}, "hull"),
    (persons.averages, AVERAGES, {"absent": False}, "absent"),
    (persons.averages, AVERAGES, {"priced": BY_ENTRY}, "neighbours"),
    (persons.spread_draws, SPREAD, {"smallest_cells": ()}, "nodes"),
    (persons.spread_draws, SPREAD, {"smallest_cells": (2.0, 0.0)}, "cell"),
    (persons.spread_draws, SPREAD, {"power": 0.0}, "power"),
    (persons.spread_draws, SPREAD, {"strength": 0.0}, "strength"),
    (persons.spread_draws, SPREAD, {"draws": 0}, "draws"),
    (persons.spread_draws, SPREAD, {"log_error": math.inf}, "log-error"),
]


@pytest.mark.parametrize(("theorem", "given", "broken", "hypothesis"), DROPPED)
def test_each_hypothesis_is_asked_for(theorem, given, broken, hypothesis):
    theorem(**given)
    with pytest.raises(AssumptionError) as caught:
        theorem(**{**given, **broken})
    assert caught.value.hypothesis == THEOREMS[f"persons.{theorem.__name__}"].hypothesis(hypothesis).name


@pytest.mark.parametrize("theorem", [persons.one_row, persons.averages, persons.spread_draws])
def test_every_hypothesis_that_is_declared_was_dropped(theorem):
    declared = {each.id for each in THEOREMS[f"persons.{theorem.__name__}"].hypotheses}
    assert declared == {hypothesis for dropped, _, _, hypothesis in DROPPED if dropped is theorem}


@pytest.mark.parametrize(("theorem", "given"), [(persons.one_row, ONE_ROW), (persons.averages, AVERAGES)])
def test_the_guarantee_is_the_same_curve_with_the_hypotheses_of_both_theorems(theorem, given):
    made = theorem(**given)
    assert (made.curve, made.slack, made.draws, made.trust) == (PRICED.curve, 0.0, 1, "proved")
    assert (made.adjacency, made.unit, made.id_column, made.rows) == ("replace-person", "person", "who", "visits")
    ids = [each.id for each in made.assumptions]
    assert set(ids) >= {each.id for each in PRICED.assumptions}
    own = THEOREMS[f"persons.{theorem.__name__}"]
    assert {f"{own.id}/{each.id}" for each in own.hypotheses} <= set(ids)
    assert PRICED.theorem in made.theorem
    assert own.name in made.theorem
    again = sf.Guarantee.from_json(json.loads(json.dumps(made.to_json())))
    assert again == made
    assert "one person with all of their visits replaced, n public" in str(again)


def test_spread_draws_are_read_back_and_draws_and_errors_add_up():
    made = persons.spread_draws(**SPREAD)
    assert sf.Guarantee.from_json(json.loads(json.dumps(made.to_json()))) == made
    exact = persons.spread_draws(**{**SPREAD, "draws": 1, "log_error": 0.0})
    for order, whole, bare in zip(made.curve.orders, made.curve.values, exact.curve.values, strict=True):
        charged = 2 * SPREAD["log_error"] * (2 * order - 1) / (order - 1)  # two tables
        assert math.isclose(whole, 2 * (bare + charged), rel_tol=1e-12)


# --- Beta posteriors: parts of 1/W -----------------------------------------------------------------------------------


@pytest.mark.planted
@pytest.mark.parametrize("most", [2, 3, 4])
def test_averages_of_bits_are_priced_as_records_of_w_trials(most):
    """The price is that of BetaBinomial with W = lcm(1..most) trials at power r/W, and not the one over whole counts."""
    rate, n, power = sf.families.BetaBernoulli(1.5, 0.7), 5, 0.4
    parts = math.lcm(*range(1, most + 1))
    averaged = law.price(rate, n, 1, law.Parameters(power, 1.0, most=most))
    trials = conjugate.beta_bernoulli(alpha=1.5, beta=0.7, n=n, trials=parts, power=math.nextafter(power / parts, 1.0))
    assert dict(averaged.curve.parameters) == {**trials.curve.parameters, "error": averaged.curve.parameters["error"]}
    whole = law.price(rate, n, 1, law.Parameters(power, 1.0))
    assert averaged.curve.parameters != whole.curve.parameters
    assert int(float(averaged.curve.parameters["trials"])) == parts
    # In floats a part is rounded up: a person moves the posterior by no more than is priced.
    assert float(averaged.curve.parameters["power"]) * parts >= power


@pytest.mark.parametrize(("n", "parts"), [(3, 6), (4, 2), (2, 12)])
def test_the_certificate_judges_every_fractional_total(n, parts, monkeypatch):
    """Every multiple of 1/W between the ends lies in a block, or is an end, whose bound is at most the answer."""
    judged, bounds_of = [], posterior_profiles._block_bounds

    def recording(blocks, cells, *rest):
        bounds = bounds_of(blocks, cells, *rest)
        judged.extend(zip(blocks, cells.tolist(), bounds, strict=True))
        return bounds

    monkeypatch.setattr(posterior_profiles, "_block_bounds", recording)
    alpha, beta, power = 0.3, 0.4, 0.5 / parts
    answer = posterior_profiles.beta_bernoulli_delta(alpha, beta, n, power, 1, 0.5, trials=parts)
    hidden = (n - 1) * parts
    ends, blocks = judged[:2], judged[2:]
    corners = [(alpha, beta + power * hidden), (alpha + power * hidden, beta)]
    assert [tuple(cells) for _, cells, _ in ends] == [pytest.approx(each, rel=1e-15) for each in corners]
    for total in range(1, hidden):
        within = [(cells, bound) for (i, j), cells, bound in blocks if i <= total <= j and bound <= answer]
        assert within, f"{total}/{parts} was not judged"
        # Such a block dominates: no cell of it is larger than that of this total.
        cells = within[0][0]
        assert cells[0] <= alpha + power * total * (1 + 1e-15)
        assert cells[1] <= beta + power * (hidden - total) * (1 + 1e-15)
    assert max(bound for *_, bound in ends) <= answer


# --- the trap: a person spread over several cells --------------------------------------------------------------------

SMALL, HEAVY, AT = 0.05, 0.5, 0.5


@pytest.mark.planted
def test_a_spread_out_person_costs_more_than_one_row_and_no_profile_is_claimed():
    """Prior cells .05, power .5: delta(.5) is .816 for one row that moves, .868 for two cells, .882 for four."""
    truth = {cells: spread_delta(SMALL, HEAVY, cells, AT) for cells in (1, 2, 4)}
    assert truth == {
        1: pytest.approx(0.816, abs=0.002),
        2: pytest.approx(0.868, abs=0.002),
        4: pytest.approx(0.882, abs=0.002),
    }
    one_row = conjugate.dirichlet(cells=[SMALL] * 8, power=HEAVY)
    assert one_row.delta(AT) == pytest.approx(truth[1], abs=1e-6)
    assert one_row.delta(AT) < truth[2] - 0.05, "the profile of one row would be violated"
    model = sf.families.DirichletCategorical([*"abcdefgh"], SMALL)
    for shared in (model, sf.grouped(model, "g", ["u", "v"])):
        for most in (2, 4):
            claim = law.price(shared, 20, 1, law.Parameters(HEAVY, 1.0, most=most))
            assert claim.curve.kind == "renyi"
            assert claim.delta(AT) >= max(truth.values())


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.6])
def test_the_renyi_price_covers_every_spread(weight):
    """At cells of 1: delta of persons spread over one to eight cells is at most that of the curve."""
    claim = persons.spread_draws(smallest_cells=(1.0,), power=weight)
    for cells, epsilon in itertools.product((1, 2, 4, 8), (0.1, 0.5, 1.0, 2.0)):
        assert spread_delta(1.0, weight, cells, epsilon) <= claim.delta(epsilon) + 1e-9
    assert claim.delta(weight) < 1


def test_no_draw_of_tables_for_averages_has_a_profile():
    """Whatever the model of cells: the claim for averages of several rows is a Renyi curve, and for one row the profile."""
    lines = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v", "w"], missing="u")})
    models = [
        sf.families.DirichletCategorical(["r", "g", "b"], 6.0),
        sf.families.Histogram(0, 4, bins=4, alpha=6.0),
        sf.grouped(sf.families.BetaBernoulli(6, 8), "g", ["u", "v"]),
        sf.networks.BayesianNetwork.from_schema(lines, {"a": [], "b": ["a"]}, alpha=20.0),
        sf.networks.MarkovChain(["u", "v"], 20.0),
    ]
    for model in models:
        averaged, single = (law.price(model, 9, 1, law.Parameters(0.2, 1.0, most=most)) for most in (2, 1))
        assert averaged.curve.kind == "renyi"
        assert single.curve.kind != "renyi"
        terms = sf.Persons("who", most=2, count=9).terms
        assert for_contributions(averaged, terms, None, 9).adjacency == "replace-person"


# --- convexity of the price of one cell ------------------------------------------------------------------------------


def upward(x, t, a):
    """D_a(Gamma(x + t) || Gamma(x))."""
    return (mp.loggamma(x + a * t) - a * mp.loggamma(x + t)) / (a - 1) + mp.loggamma(x)


def downward(x, t, a):
    """D_a(Gamma(x) || Gamma(x + t)), for a < 1 + x/t."""
    return (mp.loggamma(x - (a - 1) * t) - a * mp.loggamma(x)) / (a - 1) + mp.loggamma(x + t)


def test_one_cell_costs_at_least_any_split_for_orders_that_are_covered():
    """g_a(s) + g_a(t) <= g_a(s + t) for s + t <= r and r sqrt(a) <= x, in both directions."""
    rng = np.random.default_rng(4)
    with mp.workdps(40):
        for _ in range(sized(400, 4000)):
            x = mpf(float(10 ** rng.uniform(-2, 2)))
            order = mpf(float(1 + 10 ** rng.uniform(-2, 1.5)))
            most = min(x / mp.sqrt(order), x / (order - 1) * mpf("0.999"))
            r = most * mpf(float(rng.uniform(0.05, 1)))
            s = r * mpf(float(rng.uniform(0, 1)))
            for cost in (upward, downward):
                assert cost(x, s, order) + cost(x, r - s, order) <= cost(x, r, order) * (1 + mpf(10) ** -25)


def test_beyond_these_orders_a_split_costs_more():
    """A small cell and a large order: two halves cost more than the whole, so the hypothesis is needed."""
    with mp.workdps(40):
        x, r, order = mpf("0.05"), mpf("0.5"), mpf(2)
        assert r * mp.sqrt(order) > x
        assert 2 * upward(x, r / 2, order) > mpf("1.05") * upward(x, r, order)


@pytest.mark.planted
@pytest.mark.parametrize("room", [1.0001, 1.3, 1.7, 3.0, 40.0])
def test_no_order_is_listed_that_is_not_covered(room):
    """r sqrt(a) <= x and a < 1 + x/r at every order of the curve; its values are those of one cell out and one in."""
    x, r = 2.0, 2.0 / room
    curve = persons.spread_draws(smallest_cells=(x, 5.0), power=r).curve
    orders = np.array(curve.orders)
    assert (r * np.sqrt(orders) <= x).all()
    assert (orders < 1 + x / r).all()
    exact = sum(networks.one_cell(cell, np.array([r]), orders, way)[0] for cell in (x, 5.0) for way in (True, False))
    np.testing.assert_allclose(curve.values, exact, rtol=1e-12)


def test_nothing_is_promised_where_a_person_weighs_more_than_a_cell():
    claim = persons.spread_draws(smallest_cells=(1.0,), power=1.0)
    assert claim.delta(50.0) == 1.0
    assert math.isinf(claim.epsilon(1e-6))
