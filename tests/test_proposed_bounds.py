"""`sf.plan_bounds` and `sf.private_bounds`: rank errors by exact probabilities, prices, repeats, and the schema that results."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError, LedgerError, PublishError

N = 3000
WIDE = sf.Number(-1e12, 1e12)


def columns_of_all_kinds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {
        "lognormal": rng.lognormal(10, 1.5, N),
        "cauchy": 20 * rng.standard_cauchy(N) - 100,
        "negative": -rng.lognormal(3, 2, N),
        "zero": np.zeros(N),
        "constant": np.full(N, 50.05),
        "small": rng.uniform(-0.004, 0.004, N),
        "two values": np.where(rng.random(N) < 0.5, -7.7, 1234.5),
    }


def dataset(values, column: sf.Number = WIDE, unit: str = "person") -> sf.Dataset:
    return sf.Dataset.from_table({"x": values}, schema=sf.Schema({"x": column}, name="survey", unit=unit))


def drawn_with(request, values) -> np.ndarray:
    """The probability of every candidate, from the definition of the exponential mechanism and the rounded records."""
    grid = np.array(request.plan.model.grid)
    last = len(grid) - 1
    if request.level < 0.5:
        moved = grid[np.clip(np.searchsorted(grid, values, "right") - 1, 0, last)]
    else:
        moved = grid[np.clip(np.searchsorted(grid, values, "left"), 0, last)]
    below, upto = ((moved[None, :] < grid[:, None]).sum(1), (moved[None, :] <= grid[:, None]).sum(1))
    rank = request.level * len(values)
    loss = np.maximum(0, np.maximum(below - rank, rank - upto))
    weights = np.exp(-request.plan["power"] * (loss - loss.min()))
    return weights / weights.sum()


@pytest.mark.parametrize("name", list(columns_of_all_kinds()))
def test_no_more_lies_outside_than_is_stated_with_the_stated_probability(name):
    """Exact, over every candidate: each bound exceeds its share with probability 0.05 at most, so one of the two with 0.1."""
    values = columns_of_all_kinds()[name]
    planned = sf.plan_bounds(dataset(values).schema, N, epsilon=1.5)
    low, high = planned.requests
    shares = planned.outside("x")
    assert max(shares) < 0.03
    grid = np.array(low.plan.model.grid)
    below = drawn_with(low, values)[[(values < c).mean() > shares[0] for c in grid]].sum()
    above = drawn_with(high, values)[[(values > c).mean() > shares[1] for c in grid]].sum()
    assert below <= 0.05
    assert above <= 0.05


@pytest.mark.parametrize("name", list(columns_of_all_kinds()))
def test_bounds_from_astronomically_wide_ones_are_near_the_records(name):
    """At a price whose rank error is below the levels' share both bounds lie within a step of the grid of the records."""
    values = columns_of_all_kinds()[name]
    proposed = sf.private_bounds(dataset(values), epsilon=4.0, randomness=sf.seeded(3))
    low, high = proposed.bounds["x"]
    grid = proposed.plan.requests[0].plan.model.grid
    assert {low, high} <= set(grid)
    assert low < high
    step_below = max((c for c in grid if c < values.min()), default=grid[0])
    step_above = min((c for c in grid if c > values.max()), default=grid[-1])
    assert step_below <= low <= np.quantile(values, 0.05)
    assert np.quantile(values, 0.95) <= high <= step_above
    assert proposed.schema.columns["x"].lower == low
    assert proposed.schema.columns["x"].upper == high


def test_whole_numbers_get_whole_bounds():
    values = np.random.default_rng(2).integers(3, 90, N)
    column = sf.Number(-1_000_000, 1_000_000, integer=True)
    proposed = sf.private_bounds(dataset(values, column), epsilon=4.0, randomness=sf.seeded(3))
    low, high = proposed.bounds["x"]
    assert all(c == round(c) for c in proposed.plan.requests[0].plan.model.grid)
    assert 2 <= low <= 8
    assert 80 <= high <= 112
    assert proposed.schema.columns["x"].integer


def test_the_law_that_is_drawn_from_is_the_one_of_the_rounded_records():
    """The frequencies of 150 seeded releases against the exact probabilities: largest gap within the DKW bound at 1e-6."""
    values = columns_of_all_kinds()["lognormal"]
    planned = sf.plan_bounds(dataset(values).schema, N, epsilon=0.5)
    data, stream, high = dataset(values), sf.seeded(8), planned.requests[1]
    repeats = 150
    drawn = [sf.publish(high.plan, data, randomness=stream.spawn()).mean().item() for _ in range(repeats)]
    grid = np.array(high.plan.model.grid)
    exact = np.cumsum(drawn_with(high, values))
    seen = np.searchsorted(np.sort(drawn), grid, "right") / repeats
    assert np.abs(seen - exact).max() <= np.sqrt(np.log(2 / 1e-6) / (2 * repeats))


@pytest.fixture
def ledger(tmp_path):
    opened = sf.Ledger.open(tmp_path / "budget.db")
    opened.register("survey", epsilon=1.0, delta=1e-6, unit="person")
    return opened


def charges(ledger: sf.Ledger) -> list[str]:
    return [entry.request_id for entry in ledger.history("survey") if entry.kind == "charge"]


def test_each_bound_is_charged_by_name_and_a_repeat_costs_nothing(ledger):
    data = dataset(columns_of_all_kinds()["lognormal"])
    first = sf.private_bounds(data, epsilon=0.2, ledger=ledger)
    assert charges(ledger) == ["bounds of x, 1 %", "bounds of x, 99 %"]
    assert [release.guarantee.curve.epsilon_value for release in first.releases] == pytest.approx([0.1, 0.1], rel=1e-6)
    again = sf.private_bounds(data, epsilon=0.2, ledger=ledger)
    assert again.bounds == first.bounds
    assert all(release.stored for release in again.releases)
    assert len(charges(ledger)) == 2
    with pytest.raises(PublishError, match="already used"):
        sf.private_bounds(data, epsilon=0.1, ledger=ledger)
    sf.private_bounds(data, epsilon=0.1, ledger=ledger, request_id="later bounds")
    assert charges(ledger)[2:] == ["later bounds of x, 1 %", "later bounds of x, 99 %"]


def test_what_does_not_fit_as_a_whole_is_not_begun(ledger):
    """After two charges of the same price a third would fit, but not the two of the pair: none of them is charged."""
    data = dataset(columns_of_all_kinds()["lognormal"])
    single = sf.plan_bounds(data.schema, N, epsilon=0.4).requests[0]
    for name in ("one", "two"):
        sf.publish(single.plan, data, ledger, request_id=name)
    with pytest.raises(LedgerError, match="does not fit"):
        sf.private_bounds(data, epsilon=0.4, ledger=ledger)
    assert charges(ledger) == ["one", "two"]
    sf.publish(single.plan, data, ledger, request_id="three")


def test_a_request_that_was_used_otherwise_is_refused_before_anything_new_is_charged(ledger):
    """The new column comes first in the schema: its bounds are charged only where those of the other can be repeated."""
    rng = np.random.default_rng(2)
    schema = sf.Schema({"new": sf.Number(0, 100), "old": sf.Number(0, 100)}, name="survey", unit="person")
    data = sf.Dataset.from_table({name: rng.uniform(0, 100, N) for name in schema.columns}, schema=schema)
    first = sf.private_bounds(data, "old", epsilon=0.2, ledger=ledger)
    charged = charges(ledger)
    assert charged == ["bounds of old, 1 %", "bounds of old, 99 %"]
    with pytest.raises(PublishError, match="already used"):
        sf.private_bounds(data, epsilon=0.2, ledger=ledger)
    assert charges(ledger) == charged
    both = sf.private_bounds(data, epsilon=0.4, ledger=ledger)
    assert both.bounds["old"] == first.bounds["old"]
    assert charges(ledger) == [*charged, "bounds of new, 1 %", "bounds of new, 99 %"]


def test_bounds_of_dates_are_dates():
    days = np.datetime64("2010-01-01") + np.random.default_rng(3).integers(0, 1000, N).astype("m8[D]")
    schema = sf.Schema({"day": sf.Date("1900-01-01", "2100-01-01")}, name="survey")
    data = sf.Dataset.from_table({"day": days}, schema=schema)
    made = sf.private_bounds(data, epsilon=4.0, randomness=sf.seeded(1))
    column = made.schema.columns["day"]
    assert isinstance(column, sf.Date)
    assert (column.lower, column.upper) == made.bounds["day"]
    assert schema.columns["day"].lower < column.lower <= days.astype(int).min() + 100
    low, high, missing = (column.shown(day) for day in (column.lower, column.upper, column.missing))
    assert made.lines() == ["[columns.day]", f'lower = "{low}"', f'upper = "{high}"', f'missing = "{missing}"']
    assert f"values are clipped to [{low}, {high}]" in str(made)
    assert "candidates from 1900-01-01 to 2100-01-01" in str(made.plan)


def test_several_columns_share_one_price():
    schema = sf.Schema({"a": WIDE, "b": sf.Number(0, 100), "group": sf.Boolean(missing=False)}, name="two")
    planned = sf.plan_bounds(schema, N, epsilon=0.8)
    assert planned.columns == ("a", "b")
    paid = [each.plan.guarantee.curve.epsilon_value for each in planned.requests]
    assert paid == pytest.approx([0.2] * 4, rel=1e-6)
    assert sum(paid) <= 0.8 * (1 + 1e-9)
    assert "1/4 of it for each bound of 2 columns" in str(planned)
    assert sf.plan_bounds(schema, N, "b", 0.8).columns == ("b",)


def test_every_column_has_the_candidates_of_its_own_bounds():
    schema = sf.Schema({"a": WIDE, "b": sf.Number(0, 100)}, name="two")
    grids = {each.column: each.plan.model.grid for each in sf.plan_bounds(schema, N, epsilon=1.0).requests}
    assert {name: (grid[0], grid[-1]) for name, grid in grids.items()} == {"a": (-1e12, 1e12), "b": (0.0, 100.0)}


def test_too_few_records_are_announced_before_anything_is_paid():
    schema = sf.Schema({"x": WIDE})
    for n in (100, 1000):
        shown = str(sf.plan_bounds(schema, n, epsilon=0.2))
        assert "are few for epsilon 0.2" in shown
        enough = float(re.search(r"Epsilon ([\d.e+]+) would be enough", shown)[1])
        assert "are few" not in str(sf.plan_bounds(schema, n, epsilon=enough))
        assert "are few" in str(sf.plan_bounds(schema, n, epsilon=0.9 * enough))
    assert "are few" not in str(sf.plan_bounds(schema, 100_000, epsilon=0.2))


@pytest.mark.parametrize(
    ("declared", "bounds", "missing"),
    [
        (sf.Number(-1e12, 1e12), (10.0, 20.0), 15.0),  # the middle of the wide bounds becomes that of the new ones
        (sf.Number(-1e12, 1e12), (-10.0, 20.0), 0.0),
        (sf.Number(0, 1e12, missing=0), (10.0, 20.0), 10.0),  # a declared value moves to the nearer bound
        (sf.Number(0, 1e12, missing=12), (10.0, 20.0), 12.0),
        (sf.Number(0, 1000, integer=True), (10.0, 21.0), 15.0),
    ],
)
def test_an_empty_cell_counts_as_something_within_the_new_bounds(declared, bounds, missing):
    from sfumato.bounds_proposal import PrivateBounds

    planned = sf.plan_bounds(sf.Schema({"x": declared, "y": sf.Boolean(missing=False)}, target="y"), N, epsilon=1.0)
    proposed = PrivateBounds(planned, {"x": bounds}, ())
    column = proposed.schema.columns["x"]
    assert (column.lower, column.upper, column.missing) == (*bounds, missing)
    assert proposed.schema.target == "y"
    assert f"lower = {bounds[0]}" in proposed.lines()


def test_quantiles_in_the_wrong_order_are_exchanged_with_a_note():
    schema = sf.Schema({"x": WIDE})
    planned = sf.plan_bounds(schema, 10, epsilon=0.01)
    data = dataset(np.linspace(1, 2, 10), unit="row")
    for seed in range(20):
        proposed = sf.private_bounds(data, epsilon=0.01, randomness=sf.seeded(seed))
        low, high = proposed.bounds["x"]
        assert low < high
        if proposed.notes:
            assert "wrong order" in str(proposed)
            break
    else:
        pytest.fail("no seed gave quantiles in the wrong order")
    assert planned.outside("x") == (1.0, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"columns": "group"}, "no Number column"),
        ({"levels": (0.9, 0.1)}, "rising"),
        ({"levels": (0.5,)}, "two shares"),
        ({"levels": "0.1,0.9"}, "two shares"),
        ({"levels": (0.0, 0.9)}, "levels"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"n": 0}, "n must"),
    ],
)
def test_wrong_forms_are_refused_in_a_sentence(change, words):
    schema = sf.Schema({"x": WIDE, "group": sf.Boolean(missing=False)})
    with pytest.raises(ArgumentError, match=words):
        sf.plan_bounds(**{"schema": schema, "n": N, **change})


def test_a_schema_without_numbers_and_data_that_are_no_data_set_are_refused():
    with pytest.raises(ArgumentError, match="no Number column"):
        sf.plan_bounds(sf.Schema({"group": sf.Boolean(missing=False)}), N)
    with pytest.raises(ArgumentError, match=r"sf\.Dataset"):
        sf.private_bounds({"x": [1.0]})


def test_a_plan_of_bounds_by_hand():
    """Rank errors of (2/epsilon) ln(20 m) records for m gaps between candidates, of which a twentieth exceed them."""
    visits = sf.Persons("who", most=2, count=2000, rows="visits")
    schema = sf.Schema({"x": sf.Number(0, 100), "y": sf.Number(-5, 1e6)}, name="s", unit="patient", persons=visits)
    planned = sf.plan_bounds(schema, 2000, epsilon=2.0, request_id="wide")
    assert [each.request for each in planned.requests] == [
        "wide of x, 1 %",
        "wide of x, 99 %",
        "wide of y, 1 %",
        "wide of y, 99 %",
    ]
    for name, gaps in (("x", 200), ("y", 256)):
        assert planned.outside(name) == pytest.approx([0.01 + 2 / 0.5 * np.log(20 * gaps) / 2000] * 2, rel=1e-6)
    price, records, persons, *columns, note = str(planned).split("\n")
    assert price.startswith(
        "price      epsilon 2 (pure) in all: 1/4 of it for each bound of 2 columns; each is a private quantile"
    )
    assert (
        records
        == "records    2,000 (public): a record is one patient with all of their visits; how many visits there are is private"
    )
    assert persons.startswith("persons    each patient counts once: their visits share the weight of one record")
    assert columns == [
        "x: the 1 % and 99 % quantiles, each one of 201 public candidates from 0 to 100, evenly spaced",
        "  9 times in 10 at most 2.66 % of the records lie below the lower bound and at most 2.66 % above the upper one "
        "(1 % and 1 % by their levels, the rest is the rank error of a private quantile).",
        "y: the 1 % and 99 % quantiles, each one of 257 public candidates from -5 to 1e+06, 12 % apart",
        "  9 times in 10 at most 2.71 % of the records lie below the lower bound and at most 2.71 % above the upper one "
        "(1 % and 1 % by their levels, the rest is the rank error of a private quantile).",
    ]
    assert note.endswith("Epsilon 3.5 would be enough, and so would the levels 0.018 and 0.982 at this price.")
    few = sf.plan_bounds(schema.only(["x"]), 2000, levels=(0.02, 0.9), epsilon=0.04)
    assert few.outside("x") == pytest.approx((0.02 + 5e-2 * np.log(4000), 0.1 + 5e-2 * np.log(4000)), rel=1e-6)
    assert "half of it for each bound" in str(few)
    assert "(2 % and 10 % by their levels" in str(few)
    assert str(few).endswith("Epsilon 0.83 would be enough, and so would the levels 0.42 and 0.58 at this price.")
    assert str(sf.plan_bounds(schema.only(["x"]), 2000, epsilon=0.02)).endswith("Epsilon 1.7 would be enough.")
    bare = sf.Schema({"x": sf.Number(0, 100)})
    assert str(sf.plan_bounds(bare, 10)).endswith("No epsilon that is accepted would be enough.")
    assert "records    10 (public)\nx: " in str(sf.plan_bounds(bare, 10))


def test_what_is_proposed_by_hand():
    schema = sf.Schema({"x": sf.Number(0, 100, missing=70), "y": sf.Number(0, 100, missing=60)}, name="s")
    table = {"x": np.full(400, 30.0), "y": np.linspace(40, 90, 400)}
    data = sf.Dataset.from_table(table, schema=schema)
    made = sf.private_bounds(data, epsilon=40.0, levels=(0.25, 0.75), randomness=sf.seeded(1))
    assert made.plan.levels == (0.25, 0.75)
    assert made.bounds["x"] == (29.5, 30.5)  # a column of one value: the candidates next to it
    assert made.bounds["y"] == pytest.approx((52.5, 77.5), abs=1.0)
    assert "x: an empty cell counts as 30.5; it counted as 70, which is outside." in str(made)
    assert "y: an empty cell" not in str(made)
    assert made.lines()[:4] == ["[columns.x]", "lower = 29.5", "upper = 30.5", "missing = 30.5"]
    assert len([line for line in str(made).split("\n") if "NOT PRIVATE" in line]) == 1
    end = sf.Dataset.from_table({**table, "x": np.zeros(400)}, schema=schema)
    assert sf.private_bounds(end, "x", epsilon=40.0, randomness=sf.seeded(1)).bounds["x"] == (0, 0.5)
    top = sf.Dataset.from_table({**table, "x": np.full(400, 100.0)}, schema=schema)
    assert sf.private_bounds(top, "x", epsilon=40.0, randomness=sf.seeded(1)).bounds["x"] == (99.5, 100)
    weighted = sf.Schema({"x": sf.Number(0, 9)}, name="s", weight=sf.Weight("w", upper=3.0, fixed=True))
    heavy = sf.Dataset.from_table({"x": [1.0] * 9, "w": [1.0] * 9}, schema=weighted)
    for act in (lambda: sf.private_bounds(heavy), lambda: sf.private_quantile(heavy, "x", 0.5, 1.0)):
        with pytest.raises(ArgumentError, match="without_weight"):
            act()
