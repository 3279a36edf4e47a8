"""Replay through every reader: an odd record changes no other record, no control flow, and no sum by more than declared."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from replay_cases import every_two

import sfumato as sf
from dataset.table_readers import READERS, TABLE, TABLE_ROWS, VECTOR, VECTOR_ROWS, faults
from effort import sized
from sfumato.auditing.replay_record import recorded
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.protocol import Request
from sfumato.mechanisms.shaped_path import at_factor
from sfumato.procedures import named, noisy_totals
from sfumato.procedures.protocol import Task

# The record that is replaced, and what may stand in one of its cells; texts are kept apart, since a typed source that holds one
# holds texts in every row.
CHANGED = 1
NUMBERS = [None, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.5]
TEXTS = ["abc", "", "1e400", "zzz", "nan", "9" * 400, "F", "m"]
# Data sets of a group: 15 make 105 pairs, 21 make 210.
HALF, WHOLE = sized((15, 21), (40, 60))


def of_table() -> list[tuple[str, Task]]:
    """What is run on a table: a regression that learns the shape of its rows, and a network's counts."""
    linear = sf.regression("linear", TABLE)
    parents = {"smoker": [], "sex": ["smoker"]}
    network = sf.networks.BayesianNetwork.from_schema(TABLE, parents)
    return [
        shaped(linear, len(TABLE_ROWS)),
        ("noisy-totals", Task(network, len(TABLE_ROWS), 1, noisy_totals.Parameters(0.7))),
    ]


def of_vectors() -> list[tuple[str, Task]]:
    """What is run on rows of numbers."""
    return [shaped(sf.Gibbs(sf.losses.Logistic(VECTOR.data_norm), sf.priors.Gaussian(0.5), 3), len(VECTOR_ROWS))]


def shaped(model, n: int) -> tuple[str, Task]:
    return "shaped-path", Task(model, n, 1, at_factor(Request(model, n, steps=2), 0.05, 2000.0))


def variants(rows: list, cells: list, count: int, rng: np.random.Generator) -> list[list]:
    """The rows as they are, and with the changed record holding one odd cell, or only odd cells, or none of its own cells."""
    width, made = len(rows[0]), [rows]
    places = itertools.cycle(itertools.product(range(width), cells))
    while len(made) < count:
        place, cell = next(places)
        record = list(rows[CHANGED])
        record[place] = cell
        if len(made) % 4 == 3:
            record = [cells[k] for k in rng.integers(0, len(cells), width)]
        made.append([*rows[:CHANGED], tuple(record), *rows[CHANGED + 1 :]])
    return made


@pytest.mark.parametrize("reader", READERS)
def test_an_odd_record_through_any_reader_moves_its_own_terms_only(reader, tmp_path):
    """200 pairs or more for every reader: what meets noise is within its declaration, and nothing else depends on a record."""
    entry, rng = READERS[reader], np.random.default_rng(len(reader))
    groups = [
        (False, [cell for cell in NUMBERS if entry.holds(cell)]),
        (True, [cell for cell in TEXTS if entry.holds(cell)]),
    ]
    groups = [(texts, cells) for texts, cells in groups if cells]
    tasks = of_table() if entry.schema is TABLE else of_vectors()
    pairs = 0
    for texts, cells in groups:
        made = variants(entry.rows, cells, HALF if len(groups) == 2 else WHOLE, rng)
        data = [opened(entry.make(rows, texts, folder(tmp_path, texts, k)), tasks) for k, rows in enumerate(made)]
        for _, dataset in data[1:]:
            assert faults(data[0][1], dataset, CHANGED) == []
        for place, (name, task) in enumerate(tasks):
            replayed = after_the_first(name, task, [engines[place] for engines, _ in data])
            assert all(each.holds for each in replayed), next(str(each) for each in replayed if not each.holds)
            assert any(each.worst.shift > 0 for each in replayed)
        pairs += len(replayed)
    assert pairs >= 200


def folder(root: Path, texts: bool, number: int) -> Path:
    """A folder of its own for each file: rows are read when they are asked for."""
    made = root / f"{texts}{number}"
    made.mkdir()
    return made


def opened(dataset, tasks) -> tuple[list, sf.Dataset]:
    return [open_engine(dataset, task.model, named(name).NEEDS) for name, task in tasks], dataset


def after_the_first(name: str, task: Task, engines: list) -> list:
    """Every two runs, after the outputs of the first."""
    first = recorded(named(name), task, engines[0], 7)
    return list(every_two(name, task, [first, *(recorded(named(name), task, each, 7, first) for each in engines[1:])]))


@pytest.mark.planted
@pytest.mark.parametrize("reader", ["mapping", "pandas objects", "lists", "numpy objects"])
def test_a_reader_that_lets_one_cell_decide_for_its_column_is_seen(reader, tmp_path, monkeypatch):
    """The wrong variant: a column of numbers that holds a text is read as missing throughout."""
    encoded = sf.Number.encoded

    def all_or_none(self, cells):
        texts = not isinstance(cells, np.ndarray) and any(isinstance(cell, str) for cell in cells)
        return encoded(self, [None] * len(cells) if texts else cells)

    monkeypatch.setattr(sf.Number, "encoded", all_or_none)
    entry, tasks = READERS[reader], of_table()[:1]
    made = variants(entry.rows, ["abc"], 6, np.random.default_rng(1))
    engines = [opened(entry.make(rows, True, folder(tmp_path, True, k)), tasks)[0][0] for k, rows in enumerate(made)]
    assert max(each.worst.ratio for each in after_the_first(*tasks[0], engines)) > 1.2


def test_every_kind_of_source_is_replayed():
    needed = {
        "mapping",
        "pandas objects",
        "pandas typed",
        "polars",
        "pyarrow",
        "csv",
        "parquet",
        "numpy objects",
        "vector csr",
    }
    assert needed <= set(READERS)
