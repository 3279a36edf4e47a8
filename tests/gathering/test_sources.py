"""Every source of a table gives the same totals of persons: shuffled, in other types, in memory or through temporaries."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.engines.opening import open_engine

PEOPLE, MOST = 40, 4
LEVELS = ("a", "b", "c")
COLUMNS = {
    "x": sf.Number(0, 10),
    "level": sf.Category(list(LEVELS), missing=LEVELS[0]),
    "yes": sf.Boolean(missing=False),
}
SCHEMA = sf.Schema(COLUMNS, persons=sf.Persons("who", most=MOST, count=PEOPLE))
# Models of every kind of sum: counts of cells, counts by group, and means of a person's own values.
MODELS = {
    "rate": sf.families.BetaBernoulli(1, 1),
    "shares": sf.families.DirichletCategorical(LEVELS, 1.0),
    "rates by group": sf.grouped(sf.families.BetaBernoulli(1, 1), "level", LEVELS),
    "mean": sf.families.BoundedMean(0, 10),
    "median": sf.families.Quantile(0.5, range(11)),
}
READ = {"rate": ["yes"], "shares": ["level"], "rates by group": ["level", "yes"], "mean": ["x"], "median": ["x"]}


def cells(seed: int = 0) -> dict[str, np.ndarray]:
    """Rows of 37 of the 40 persons, up to nine each; ids spelled in two ways. `seed` decides the order alone."""
    rng = np.random.default_rng(7)
    who = np.repeat(np.arange(37), rng.integers(1, 10, 37))
    size = len(who)
    made = {
        "who": np.array([f"P-{k:03d}" if row % 2 else f" p-{k:03d}" for row, k in enumerate(who)]),
        "x": np.round(rng.uniform(0, 10, size), 3),
        "level": rng.choice(LEVELS, size),
        "yes": rng.random(size) < 0.4,
    }
    order = np.random.default_rng(seed).permutation(size)
    return {name: column[order] for name, column in made.items()}


def written(kind: str, table: dict, folder) -> object:
    """The table as this source."""
    arrow = pa.table({name: pa.array(column.tolist()) for name, column in table.items()})
    if kind == "csv":
        pd.DataFrame(table).to_csv(folder / "t.csv", index=False)
        return folder / "t.csv"
    if kind == "parquet":
        pa.parquet.write_table(arrow, folder / "t.parquet", row_group_size=50)
        return folder / "t.parquet"
    if kind == "feather":
        pa.feather.write_feather(arrow, folder / "t.feather", chunksize=50)
        return folder / "t.feather"
    if kind == "duckdb":
        import duckdb

        return duckdb.connect().from_arrow(arrow)
    frames = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "mapping": dict}
    return arrow if kind == "pyarrow" else frames[kind](table)


SOURCES = ("csv", "parquet", "feather", "pyarrow", "duckdb", "pandas", "polars", "mapping")


def totals(data: sf.Dataset) -> dict:
    """What each model sums."""
    return {name: open_engine(data, model, ("totals",)).totals(model.tally) for name, model in MODELS.items()}


@functools.cache
def expected() -> dict:
    return totals(sf.Dataset.from_table(cells(), schema=SCHEMA))


@pytest.mark.planted
@pytest.mark.parametrize("memory", [None, 1])
@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_in_any_order_gives_the_same_totals(kind, memory, tmp_path):
    schema = SCHEMA
    for seed in (1, 2):
        source = written(kind, cells(seed), tmp_path)
        assert totals(sf.Dataset.from_table(source, schema=schema, memory=memory)) == expected()


def test_arrays_give_the_same_totals():
    table = cells(3)
    rows = np.empty((len(table["x"]), 3), dtype=object)
    for place, name in enumerate(COLUMNS):
        rows[:, place] = table[name]
    assert totals(sf.Dataset.from_arrays(rows, schema=SCHEMA, groups=table["who"])) == expected()


def test_a_regression_does_not_depend_on_the_order_of_the_rows():
    """Float sums are of the same rows in the same parts; the order of one person's rows changes no more than their rounding."""
    schema = sf.Schema(COLUMNS, target="yes", persons=sf.Persons("who", most=MOST, count=PEOPLE))
    roster = [f"p-{k:03d}" for k in range(PEOPLE)]
    model = sf.regression("logistic", schema, ["x"])
    theta = np.array([[0.3, -0.2]])
    sums = [
        open_engine(sf.Dataset.from_table(cells(seed), schema=schema, roster=roster, memory=memory), model, ("gradients",))
        .gradient(theta)
        for seed, memory in ((0, None), (1, None), (2, 1))
    ]  # fmt: skip
    assert np.allclose(sums[0], sums[1], rtol=0, atol=1e-13)
    assert np.allclose(sums[0], sums[2], rtol=0, atol=1e-13)
