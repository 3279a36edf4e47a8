"""Neighbours take one way: how many rows one person has decides no engine, no kind, and nothing of anybody else's.

Thresholds are tried from both sides: the bytes that the rows take by public numbers, the bytes that the rows of either neighbour
take, the most rows that count, and the persons of a block.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

import sfumato as sf
from sfumato.dataset import places, rows_of, storing
from sfumato.dataset.places import spills
from sfumato.dataset.streaming import row_bytes
from sfumato.engines.opening import check_engine, open_engine
from sfumato.schema.missing_cells import missing_key

PEOPLE, MOST = 9, 3
COLUMNS = {"x": sf.Number(0, 10), "yes": sf.Boolean(missing=False)}
RULES = {
    "average": {"most": MOST},
    "first": {"rule": "first"},
    "reduce": {"rule": "reduce", "reduce": {"x": "mean", "yes": "any"}},
}
# Rows of the one person who differs.
SIZES = (0, 1, MOST, MOST + 1, 900)


def schema_of(rule: str) -> sf.Schema:
    return sf.Schema(COLUMNS, target="yes", persons=sf.Persons("who", count=PEOPLE, **RULES[rule]))


def table(size: int) -> dict:
    """Two rows each of persons 1 to 7, `size` of person 0, and none of person 8; the rows of person 0 stand between the others'."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(1, 8), 2)
    others = {"who": who, "x": rng.uniform(0, 10, 14), "yes": rng.random(14) < 0.5}
    mine = {"who": np.zeros(size, int), "x": np.linspace(0, 10, size), "yes": np.arange(size) % 3 == 0}
    return {name: np.concatenate([others[name][:7], mine[name], others[name][7:]]) for name in others}


def people(data: sf.Dataset) -> list[tuple]:
    """What each person contributes, bit by bit."""
    found = []
    for block in rows_of(data).blocks():
        counts = np.ones(block.rows, int) if block.counts is None else block.counts
        arrays = [array for name in COLUMNS for array in (block[name], block[missing_key(name)])]
        edges = np.concatenate([[0], np.cumsum(counts)])
        found += [tuple(a[i:j].tobytes() for a in arrays) for i, j in itertools.pairwise(edges)]
    return found


def seen(data: sf.Dataset) -> tuple:
    """All of a data set by which ways are chosen, but its rows."""
    rows = rows_of(data)
    return data.engine, repr(data), data.kind, data.n, rows.held, rows.room, rows.averaged, rows.n


def limits(rule: str) -> list[int | None]:
    """Bytes around which a way might change: of the public number of rows, and of the rows that are there."""
    each = row_bytes(schema_of(rule))
    most = PEOPLE * (MOST if rule == "average" else 1)
    piled = each + 2 + 4 * 8  # masks, and the four words of an id
    sizes = [k * each for k in (most, PEOPLE, 14, *(14 + size for size in SIZES))] + [
        (14 + size) * piled for size in SIZES
    ]
    return [None, 1, *sorted({size + move for size in sizes for move in (-1, 0)})]


@pytest.mark.planted
@pytest.mark.parametrize("roster", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_no_number_of_rows_of_one_person_decides_where_rows_are(rule, roster, monkeypatch):
    monkeypatch.setattr(storing, "BLOCK_ROWS", 4)
    # On a machine whose memory is full: what is free of it depends on how many rows a source holds there.
    monkeypatch.setattr(places, "_memory", lambda pages: {"SC_PHYS_PAGES": 1 << 40, "SC_AVPHYS_PAGES": 0}[pages])
    schema, listed = schema_of(rule), list(range(PEOPLE)) if roster else None
    public = PEOPLE * (MOST if rule == "average" else 1) * row_bytes(schema)
    for memory in limits(rule):
        made = [sf.Dataset.from_table(table(size), schema=schema, roster=listed, memory=memory) for size in SIZES]
        assert len({seen(data) for data in made}) == 1
        assert made[0].engine == ("memory" if memory is None or public <= memory else "streamed")
        assert {engine: spills(schema, None, engine, memory) for engine in ("memory", "streamed")} == {
            "memory": False,
            "streamed": True,
        }
        contributions = [people(data) for data in made]
        if roster:  # without one a person who has no rows stands last
            assert len({tuple(each[1:]) for each in contributions}) == 1
        mine = [set(each) - set(contributions[0]) for each in contributions]
        assert all(len(each) <= 1 for each in mine)


@pytest.mark.planted
@pytest.mark.parametrize("engine", ["auto", "memory", "streamed"])
@pytest.mark.parametrize("rule", RULES)
def test_a_file_and_arrays_of_persons_are_where_public_numbers_say(rule, engine, tmp_path):
    schema = schema_of(rule)
    made = []
    for size in SIZES:
        pq.write_table(pa.table(table(size)), tmp_path / "t.parquet")
        made.append(sf.Dataset.from_table(tmp_path / "t.parquet", schema=schema, engine=engine, memory=700))
    assert len({seen(data) for data in made}) == 1
    arrays = []
    for size in SIZES:
        cells = table(size)
        arrays.append(sf.Dataset.from_arrays(cells["x"], cells["yes"], schema=schema, groups=cells["who"]))
    assert len({seen(data) for data in arrays}) == 1
    assert arrays[0].engine == "memory"


LOGISTIC = sf.Gibbs(sf.losses.Logistic(2.0), sf.priors.Gaussian(1.0), 3, 1.0)


@pytest.mark.parametrize("rule", ["average", "first"])
@pytest.mark.parametrize("kind", ["table", "dense", "sparse"])
def test_neighbours_are_summed_by_one_engine_with_one_bound(kind, rule):
    """The engine, the additions that it states, and what is refused before a charge."""
    persons = sf.Persons("who", count=PEOPLE, **RULES[rule])
    schema = (
        schema_of(rule)
        if kind == "table"
        else sf.Schema.vector(2, 1.0, target=sf.Boolean(missing=False), persons=persons)
    )
    model = sf.regression("logistic", schema, ["x"]) if kind == "table" else LOGISTIC
    found = set()
    for size in SIZES:
        cells = table(size)
        rows = np.stack([cells["x"] / 20, cells["x"] / 30], axis=1)
        if kind == "table":
            data = sf.Dataset.from_table(cells, schema=schema, roster=list(range(PEOPLE)))
        else:
            X = csr_array(rows) if kind == "sparse" else rows
            data = sf.Dataset.from_arrays(X, cells["yes"], schema=schema, groups=cells["who"])
        check_engine(data, model, ("gradients", "shapes"))
        engine = open_engine(data, model, ("gradients", "shapes"))
        found.add((type(engine).__name__, engine.additions, engine.dimension, engine.n, data.kind))
    assert len(found) == 1
