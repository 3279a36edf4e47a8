"""Draws of tables about persons, by brute force: persons who are spread over several cells, and every neighbour of every table.

Truncated tables have a bounded range; for others the claim is a Renyi curve, compared at every order that it lists.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from person_oracle import contributions, dirichlet_renyi, neighbours, worst

import sfumato as sf
from sfumato.procedures import law
from sfumato.samplers import laws as exact_laws
from sfumato.theorems import persons


def cells_of(schema: sf.Schema) -> list[tuple]:
    """Every combination of the columns' levels."""
    return list(itertools.product(*(column.levels for column in schema.columns.values())))


@pytest.mark.parametrize("kind", ["groups", "network"])
def test_tables_above_a_floor(kind):
    """The range of the log ratio over all tables above the floor: rows are independent, so that their ranges add up."""
    floor = 0.05
    if kind == "groups":
        model = sf.grouped(sf.families.BetaBernoulli(1, 1, floor=floor), "g", ["a", "b"])
        schema = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Boolean(missing=False)})
    else:
        schema = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Boolean(missing=False)})
        model = sf.networks.BayesianNetwork.from_schema(schema, {"a": [], "b": ["a"]}, floor=floor)
    plan = sf.plan(model, 2, mechanism="exact", persons=sf.Persons("who", most=2, count=2))
    theta = np.linspace(floor, 1 - floor, 401)

    def spread(one, two):
        moved = np.array([float(a - b) for a, b in zip(one, two, strict=True)]).reshape(-1, 2)
        slopes = moved[:, :1] * np.log(theta) + moved[:, 1:] * np.log1p(-theta)
        return float((slopes.max(axis=1) - slopes.min(axis=1)).sum())

    records = [dict(zip(schema.columns, cells, strict=True)) for cells in cells_of(schema)]
    own = contributions(model, schema, records)
    truth = worst(neighbours(own, 2), spread)
    claimed = float(plan.guarantee.curve.renyi(math.inf))
    assert truth <= claimed
    assert truth > 0.99 * claimed


# --- the Renyi price -----------------------------------------------------------------------------------------

PAIR = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Boolean(missing=False)})
GROUPS = sf.Schema({"g": sf.Category(["u", "v"], missing="u"), "x": sf.Category(["r", "s"], missing="r")})
RATES = sf.Schema({"g": sf.Category(["u", "v"], missing="u"), "x": sf.Boolean(missing=False)})
STEPS = sf.Schema({"now": sf.Category(["u", "v"], missing="u"), "then": sf.Category(["u", "v"], missing="u")})
THREE, FOUR = (sf.Schema({"x": sf.Category([*levels], missing=levels[0])}) for levels in ("abc", "abcd"))
# Model, schema, how many cells a row of a table has, and persons.
TABLES = {
    "shares of three": (sf.families.DirichletCategorical([*"abc"], [1.0, 1.4, 2.0]), THREE, [3], 3),
    "shares of four": (sf.families.DirichletCategorical([*"abcd"], 1.0), FOUR, [4], 2),
    "histogram": (sf.families.Histogram(0, 3, bins=3, alpha=1.5), sf.Schema({"x": sf.Number(0, 3)}), [3], 2),
    "cross table": (sf.families.CrossTable({"a": (False, True), "b": (False, True)}, alpha=1.5), PAIR, [4], 2),
    "rates by group": (sf.grouped(sf.families.BetaBernoulli(1.2, 1.0), "g", ["u", "v"]), RATES, [2, 2], 3),
    "shares by group": (
        sf.grouped(sf.families.DirichletCategorical(["r", "s"], 1.0), "g", ["u", "v"]),
        GROUPS,
        [2, 2],
        2,
    ),
    "network": (sf.networks.BayesianNetwork.from_schema(PAIR, {"a": [], "b": ["a"]}, alpha=2.0), PAIR, [2, 2, 2], 2),
    "transitions": (sf.networks.MarkovChain(["u", "v"], 2.0), STEPS, [2, 2], 2),
}


@pytest.mark.planted
@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("name", TABLES)
def test_tables_at_every_listed_order(name, share):
    """Renyi divergences of independent Dirichlets, at every order of the claim, over all neighbours."""
    model, schema, rows, people = TABLES[name]
    # A histogram has numbers, one in each of its bins.
    cells = [(0.5,), (1.5,), (2.5,)] if name == "histogram" else cells_of(schema)
    records = [dict(zip(schema.columns, each, strict=True)) for each in cells]
    prior = model.natural(np.zeros(len(model.units)), people, 0.0, 1.0).ravel()
    assert len(prior) == sum(rows)
    power = share * float(prior.min())
    claim = law.price(model, people, 1, law.Parameters(power, 1.0, most=2))
    assert claim.curve.kind == "renyi"
    orders, edges = np.array(claim.curve.orders), np.cumsum(rows)[:-1]
    own = contributions(model, schema, records)
    largest = np.zeros(len(orders))
    for one, two in neighbours(own, people):
        pair = [np.split(prior + power * np.array(totals, dtype=float), edges) for totals in (one, two)]
        total = sum(dirichlet_renyi(a, b, orders) for a, b in zip(*pair, strict=True) if (a != b).any())
        largest = np.maximum(largest, total)
    assert (largest <= np.array(claim.curve.values)).all()
    assert (largest > 0.3 * np.array(claim.curve.values))[orders < 3].all()


@pytest.mark.planted
@pytest.mark.parametrize(("most", "touched"), [(1, 2), (2, 4), (3, 5)])
def test_the_error_of_drawn_tables_is_charged_for_every_group_that_a_person_may_touch(most, touched):
    """Old and new rows in `most` groups each, of five; the errors of the groups that one person may change add up."""
    model = sf.grouped(sf.families.BetaBernoulli(3, 3), "g", [*"abcde"])
    drawn = model.public_law(9, 0.5, 1.0)
    each = exact_laws.log_error(drawn.parts[0])
    assert each > 0
    if most == 1:
        error = law.price(model, 9, 1, law.Parameters(0.5, 1.0, most=1)).curve.parameters["error"]
        assert math.isclose(float(error), touched * each, rel_tol=1e-9)
        return
    claim = law.price(model, 9, 1, law.Parameters(0.5, 1.0, most=most)).curve
    bare = persons.spread_draws(smallest_cells=(3.0,), power=0.5, log_error=touched * each * (1 - 1e-9)).curve
    less = persons.spread_draws(smallest_cells=(3.0,), power=0.5, log_error=(touched - 1) * each).curve
    assert all(np.array(claim.values) >= bare.values)
    assert all(np.array(claim.values) > less.values)
