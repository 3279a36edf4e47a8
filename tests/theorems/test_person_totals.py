"""Noisy totals about persons, by brute force: no two sets of rows of one person are farther apart than is declared.

Tables of two persons are read with all rows that the first may have: none, one or two of the records at the ends and in the middle
of every column. The totals are exact fractions, so that their distances are compared without a rounding.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from person_oracle import Totals, mean, rows_of_one, single

import sfumato as sf
from sfumato.engines.opening import open_engine
from sfumato.procedures import choosing_pairs, law, learnt_parts, noisy_tables

BITS = sf.Schema({"x": sf.Boolean(missing=False)})
COLOURS = sf.Schema({"x": sf.Category(["red", "green", "blue"], missing="red")})
COUNTS = sf.Schema({"x": sf.Number(0, 8, integer=True)})
NUMBERS = sf.Schema({"x": sf.Number(0, 6)})
# Zero is not between these bounds: a person who added nothing would be farther from a row than two rows are from each other.
FAR = sf.Schema({"x": sf.Number(100, 200)})
WIDE = sf.Schema({"x": sf.Number(-5, 11)})
GROUPS = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Boolean(missing=False)})
SIZES = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 6)})
LINES = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v", "w"], missing="u")})
WALK = sf.Schema(
    {
        "now": sf.Category(["u", "v"], missing="u"),
        "then": sf.Category(["u", "v"], missing="u"),
        "last": sf.Category(["u", "v"], missing="u"),
    }
)
STEPS = WALK.only(["now", "then"])
TRIPLES = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v"], missing="u"), "x": sf.Number(0, 6)})
RATE, MEAN = sf.families.BetaBernoulli(12, 8), sf.families.NormalMean(4.0, 0, 6)

FAMILIES: dict[str, tuple[Any, sf.Schema]] = {
    "rate": (RATE, BITS),
    "rate of trials": (sf.families.BetaBinomial(8, 2, 3), COUNTS),
    "shares": (sf.families.DirichletCategorical(["red", "green", "blue"], 1.0), COLOURS),
    "histogram": (sf.families.Histogram(0, 6, bins=3), NUMBERS),
    "cross table": (sf.families.CrossTable({"a": (False, True), "b": ("u", "v", "w")}), LINES),
    "events": (sf.families.GammaPoisson(6, 2, 8), COUNTS),
    "durations": (sf.families.ExponentialRate(2, 4, 6), NUMBERS),
    "scale": (sf.families.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=3.0), WIDE),
    "precision": (sf.families.NormalPrecision(4, 4, 3.0, 3.0), NUMBERS),
    "mean": (MEAN, NUMBERS),
    "mean far from 0": (sf.families.NormalMean(4.0, 100, 200), FAR),
    "log odds": (sf.families.LogitNormal(1.0), BITS),
    "finite": (sf.families.Finite.bernoulli(0.125), BITS),
    "bounded mean": (sf.families.BoundedMean(0, 6), NUMBERS),
    "bounded mean far from 0": (sf.families.BoundedMean(100, 200), FAR),
    "quantiles": (sf.families.Quantiles([0.25, 0.5], 0, 6), NUMBERS),
    "rates by group": (sf.grouped(RATE, "g", ["a", "b"]), GROUPS),
    "means by group": (sf.grouped(MEAN, "g", ["a", "b"]), SIZES),
    "events by group": (
        sf.grouped(sf.families.GammaPoisson(6, 2, 8), "g", ["a", "b"]),
        sf.Schema({"g": sf.Category(["a", "b"], missing="a"), **COUNTS.columns}),
    ),
    "bounded means by group": (sf.grouped(sf.families.BoundedMean(0, 6), "g", ["a", "b"]), SIZES),
    "network": (sf.networks.BayesianNetwork.from_schema(LINES, {"a": [], "b": ["a"]}), LINES),
    "network above a floor": (sf.networks.BayesianNetwork.from_schema(LINES, {"a": [], "b": ["a"]}, floor=0.05), LINES),
    "transitions": (sf.networks.MarkovChain(["u", "v"], 2.0), STEPS),
    "trajectories": (sf.networks.MarkovChain(["u", "v"], 2.0, record="trajectory", length=3), WALK),
}
# What some pair reaches of what is declared. The bound of means by group joins two parts whose worst cases differ.
REACHED = {"bounded means by group": 0.99}


def records_of(schema: sf.Schema) -> list[dict]:
    """Every level of every column with every other; of numbers both ends and something between."""
    cells = [column.levels or (column.lower, column.upper, column.lower + 2) for column in schema.columns.values()]
    return [dict(zip(schema.columns, each, strict=True)) for each in itertools.product(*cells)]


def persons_table(schema: sf.Schema, rows: tuple[dict, ...], others: tuple[dict, ...], most: int = 2) -> sf.Dataset:
    """A table of two persons: the first has these rows, the second those."""
    listed = [*rows, *others]
    columns = {name: [row[name] for row in listed] for name in schema.columns}
    who = [1] * len(rows) + [2] * len(others)
    declared = schema.with_persons(sf.Persons("who", most=most, count=2))
    return sf.Dataset.from_table({**columns, "who": who}, schema=declared, roster=[1, 2])


def all_totals(
    model: Any, schema: sf.Schema, records: list[dict], tally: Any = None, most: int = 2
) -> dict[tuple, Totals]:
    """The totals of every table in which the first person has at most so many of the records, by the places of these."""
    found, second = {}, (records[0], records[-1])
    for places in rows_of_one(range(len(records)), most):
        data = persons_table(schema, tuple(records[k] for k in places), second, most)
        engine = open_engine(data, model, ("totals",))
        if tally is None:
            found[places] = tuple(law.exact_totals(model, engine))
        else:
            found[places] = tuple(map(Fraction, engine.totals(tally)))
    return found


def farthest(totals: dict[tuple, Totals]) -> Fraction:
    """The largest squared distance of two of them."""
    listed = sorted(set(totals.values()))
    return max(
        sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) for one, two in itertools.combinations(listed, 2)
    )


@pytest.mark.planted
@pytest.mark.parametrize("name", FAMILIES)
def test_no_rows_of_a_person_move_the_totals_by_more_than_is_declared(name):
    """And some rows move them by as much: the sensitivity of averages is that of one row."""
    model, schema = FAMILIES[name]
    totals = all_totals(model, schema, records_of(schema))
    squared, declared = farthest(totals), Fraction(model.sensitivity)
    assert squared <= declared**2
    assert squared >= (Fraction(REACHED.get(name, 0.99)) * declared) ** 2
    plan = sf.plan(model, 2, 1.0, 1e-3, mechanism="noisy-statistics", goal=model.goal,
                   persons=sf.Persons("who", most=2, count=2))  # fmt: skip
    assert plan.guarantee.curve.mu == pytest.approx(1 / plan["noise"], rel=1e-12)


@pytest.mark.planted
@pytest.mark.parametrize("name", FAMILIES)
def test_totals_are_means_of_single_rows_and_absent_persons_are_one_missing_row(name):
    """As exact fractions: 1/2 of each of two rows, neither 0 nor a whole number. A bounded mean takes the mean of the values."""
    model, schema = FAMILIES[name]
    records = records_of(schema)
    alone = [single(model, schema, record) for record in records]
    missing = single(model, schema, None)
    second = mean([alone[0], alone[-1]])
    for places, totals in all_totals(model, schema, records).items():
        if model.of_person_means and (len(places) == 2 or places == ()):
            continue
        own = mean([alone[k] for k in places] or [missing])
        other = second if not model.of_person_means else tuple(t - o for t, o in zip(totals, own, strict=True))
        assert totals == tuple(a + b for a, b in zip(own, other, strict=True))


def test_a_bounded_mean_is_that_of_a_persons_mean_value():
    """The mean of 100 and 150 is 125, whose square from the middle is that of one value and not the mean of two."""
    model = sf.families.BoundedMean(100, 200)
    totals = all_totals(model, FAR, [{"x": 100.0}, {"x": 150.0}, {"x": 125.0}])
    assert totals[0, 1] == totals[2,]
    assert totals[()] == totals[1,]  # a missing cell is the middle of the bounds


@pytest.mark.parametrize("name", ["vector mean", "correlated mean"])
def test_no_rows_of_a_person_move_a_total_of_vectors_by_more_than_is_declared(name):
    """Opposite rows of the largest norm, along the axes and between them; none; longer than declared."""
    radius = 2.0
    models = {
        "vector mean": sf.families.GaussianMean(2, radius, 4.0),
        "correlated mean": sf.families.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], radius, 4.0),
    }
    model, schema = models[name], sf.Schema.vector(2, data_norm=radius, persons=sf.Persons("who", most=2, count=2))
    rows = radius * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0.8, 0.6], [-0.8, -0.6], [0, 0], [9, 9]])
    totals = {}
    for places in rows_of_one(range(len(rows))):
        table = np.vstack([*(rows[k] for k in places), [0.3, 0.1]])
        data = sf.Dataset.from_arrays(table, schema=schema, groups=[1] * len(places) + [2], roster=[1, 2])
        totals[places] = tuple(law.exact_totals(model, open_engine(data, model, ("totals",))))
    squared, declared = farthest(totals), Fraction(model.sensitivity)
    assert (Fraction(99, 100) * declared) ** 2 <= squared <= declared**2


# --- learnt tables ---------------------------------------------------------------------------------------------------

LEARNT = {
    "pairs": (sf.networks.learn(LINES), LINES),
    "private bins": (sf.networks.learn(SIZES, bins={"x": {"quantiles": 2}}, missing=["g", "x"]), SIZES),
    "chosen pairs": (
        sf.networks.learn(TRIPLES, {"x": [0, 2, 6]}, "select", chosen=2, rounds=2, missing=["b"]),
        TRIPLES,
    ),
}


@pytest.mark.parametrize("name", LEARNT)
def test_no_rows_of_a_person_move_a_learnt_table_by_more_than_is_declared(name):
    """Each tree and each table by itself; every one is moved by as much."""
    model, schema = LEARNT[name]
    numbers = noisy_tables.at_noise(model, 0.7)
    records, first = records_of(schema), 0
    if model.quantiles:
        cells = all_totals(model, schema, records, model.tally_cells)
        for part in learnt_parts.tree_parts(model, float(numbers.bins_noise)):
            some = {places: totals[first : first + part.size] for places, totals in cells.items()}
            assert farthest(some) == part.squared_move
            first += part.size
        edges = {column: np.linspace(*ends, 3) for column, ends in (("x", (0.0, 6.0)),)}
        model = model.resolved({name: tuple(map(float, edge)) for name, edge in edges.items()})
    totals = all_totals(model, schema, records, model.tally)
    counted = learnt_parts.parts_of(model, numbers, model.open_pairs[: model.chosen])
    tables = {table.columns: table for table in model.counted}
    for part in (each for each in counted if each.columns in tables):
        table = tables[part.columns]
        some = {places: each[table.first : table.last] for places, each in totals.items()}
        assert farthest(some) == part.squared_move == 2


@pytest.mark.planted
def test_no_rows_of_a_person_move_a_misfit_by_more_than_two_counts():
    """The misfit of a pair to any shares, rounded once: 2 counts are 2^11 of its units, and some pair moves it by as much.

    Thirds of a count are no whole numbers of these units.
    """
    model, schema = LEARNT["chosen pairs"]
    totals = all_totals(model, schema, records_of(schema)[::2], model.tally, 3)
    rng, largest = np.random.default_rng(2), 0
    size = sum(model.sizes.values())
    part = learnt_parts.pair_parts(model, 1.0, (model.open_pairs[0],))[-1]

    class Counting:
        def __init__(self, counts):
            self.exact = {table.columns: counts[table.first : table.last] for table in model.counted}

        def part_of(self, pair):
            return part

    for turn in range(6):
        # Shares of any kind, and some that are 0 or 1: then a person who moves from the one to the other adds 2 counts.
        reference = rng.random((size, size))
        reference = (reference < 0.2) * 1.0 if turn % 2 else reference / 4
        for place in range(len(model.open_pairs)):
            misfits = [choosing_pairs.misfit_of(model, 2, Counting(each), reference, place) for each in totals.values()]
            largest = max(largest, max(misfits) - min(misfits))
    assert largest <= 2 << 10
    assert largest > 1.9 * (1 << 10)
