"""`sf.private_quantile`: bounds for who has none, through the same path as every release: spend, draw, seal."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError, LedgerError, PublishError

N = 2000
WIDE = sf.Schema({"income": sf.Number(0, 1e12, missing=0), "age": sf.Number(0, 120)}, name="survey", unit="person")
GRID = sf.families.Quantile.geometric_grid(1, 1e12, per_decade=10)


def incomes(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(10, 1, N)


def survey(values=None, schema: sf.Schema = WIDE) -> sf.Dataset:
    cells = incomes() if values is None else values
    return sf.Dataset.from_table({"income": cells, "age": np.linspace(0, 120, len(cells))}, schema=schema)


@pytest.fixture
def ledger(tmp_path):
    opened = sf.Ledger.open(tmp_path / "budget.db")
    opened.register("survey", epsilon=2.0, delta=1e-6, unit="person")
    return opened


def charges(ledger: sf.Ledger) -> list:
    return [entry for entry in ledger.history("survey") if entry.kind == "charge"]


def test_the_ledger_is_charged_once_and_a_repeated_request_returns_the_same(ledger):
    ask = {"grid": GRID, "ledger": ledger, "request_id": "median"}
    value, release = sf.private_quantile(survey(), "income", 0.5, 0.5, **ask)
    assert value in GRID
    assert release.private
    assert release.guarantee.unit == "person"
    assert release.guarantee.curve.epsilon_value <= 0.5
    assert ledger.status("survey", "median") == "sealed"
    again = sf.private_quantile(survey(), "income", 0.5, 0.5, **ask)
    assert again.value == value
    assert again.release.to_bytes() == release.to_bytes()
    assert len(charges(ledger)) == 1
    assert sf.private_quantile(survey(), "income", 0.5, 0.5, grid=GRID, ledger=ledger).value in GRID
    assert len(charges(ledger)) == 2
    with pytest.raises(PublishError, match="another plan"):
        sf.private_quantile(survey(), "income", 0.25, 0.5, **ask)


def test_an_exhausted_ledger_refuses(ledger):
    with pytest.raises(LedgerError):
        sf.private_quantile(survey(), "income", 0.5, 50.0, grid=GRID, ledger=ledger)
    assert charges(ledger) == []


def test_the_release_says_what_to_expect_and_lasts(tmp_path):
    value, release = sf.private_quantile(survey(), "income", 0.5, 1.0, grid=GRID)
    release.save(tmp_path / "median.sfumato")
    again = sf.load(tmp_path / "median.sfumato").verify()
    assert again.mean().item() == value
    assert again.plan["expected"]["value"] == pytest.approx(2 * math.log(10 * (len(GRID) - 1)), rel=1e-6)
    assert again.plan["mechanism"] == "exponential"


def test_from_bounds_that_are_far_too_wide_to_bounds_that_fit():
    """Wide schema, two quantiles, new schema: the released bounds hold nearly all records, and a mean becomes possible."""
    data, stream = survey(), sf.seeded(5)
    low, high = (
        sf.private_quantile(data, "income", level, 0.5, grid=GRID, randomness=stream.spawn()).value
        for level in (0.01, 0.99)
    )
    values = incomes()
    assert np.mean(values < low) < 0.06
    assert np.mean(values > high) < 0.06
    narrow = sf.Schema({"income": sf.Number(low, high), "age": sf.Number(0, 120)}, target="income", name="survey")
    model = sf.families.BoundedMean(low, high)
    plan = sf.plan(model, N, 1.0, 1e-6, mechanism="noisy-statistics", goal="estimate")
    mean = sf.publish(plan, survey(schema=narrow), randomness=stream.spawn()).mean().item()
    assert mean == pytest.approx(values.mean(), rel=0.1)
    wide = sf.plan(sf.families.BoundedMean(0, 1e12), N, 1.0, 1e-6, mechanism="noisy-statistics", goal="estimate")
    assert wide.expected.value > 1e5 * plan.expected.value


def test_the_order_of_rows_changes_nothing():
    releases = [
        sf.private_quantile(
            survey(np.random.default_rng(seed).permutation(incomes())), "income", 0.5, 0.1, grid=GRID, randomness=sf.seeded(9)
        ).release.to_bytes()
        for seed in range(4)
    ]  # fmt: skip
    assert len(set(releases)) == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, "no number", 1e308, -5.0])
def test_whatever_a_cell_holds_it_is_one_record(bad):
    """A bad cell is the declared missing value or a clipped one: as a neighbour it moves the counts by one record."""
    clean = list(incomes())
    model = sf.families.Quantile(0.5, GRID, "income")
    counts = []
    for cells in (clean, [bad, *clean[1:]]):
        from sfumato.engines.codes import CodesEngine

        engine = CodesEngine(survey(cells), ("income",))
        counts.append(np.array(engine.totals(model.tally)))
    assert counts[1].sum() == N
    assert np.abs(counts[0] - counts[1]).sum() <= 2
    assert sf.private_quantile(survey([bad, *clean[1:]]), "income", 0.5, 1.0, grid=GRID).value in GRID


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": [1.0, 2.0]}, "sf.Dataset"),
        ({"column": "wealth"}, "no Number column"),
        ({"column": None}, "column"),
        ({"level": 1.5}, "level"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"grid": [1e13, 2e13]}, "no candidate"),
        ({"request_id": "r"}, "ledger"),
    ],
)
def test_what_does_not_fit_is_refused(change, said):
    good = {"data": survey(), "column": "income", "level": 0.5, "epsilon": 1.0, "grid": GRID}
    with pytest.raises(ArgumentError, match=said):
        sf.private_quantile(**{**good, **change})


def test_without_a_grid_the_declared_bounds_give_one():
    """The grid is public: rows that differ in every value have the same plan."""
    value, release = sf.private_quantile(survey(), "income", 0.5, 1.0)
    other = sf.private_quantile(survey(1e6 * incomes()), "income", 0.5, 1.0).release
    assert release.plan["model"]["grid"] == list(sf.families.Quantile.grid_of(WIDE.columns["income"]))
    assert release.plan_digest == other.plan_digest
    assert value in release.plan["model"]["grid"]
