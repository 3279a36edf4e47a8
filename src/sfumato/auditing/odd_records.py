"""Records that no table should hold, each against a clean neighbour: reading them must move nothing but their own cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.records import MATRIX, PLACE, Table, dataset_of, extremes, one_cell
from sfumato.mechanisms.plan import Plan
from sfumato.schema import Schema

# How the names of these pairs begin: attacks that look at all of them select them by it.
ODD = "one record of the largest values is replaced by"
# Cells by name. Each has gone wrong in some library: NaN passes clipping, huge numbers overflow sums, other types change how the
# whole column is read.
ODD_CELLS: Mapping[str, Any] = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "1e308": 1e308,
    "-1e308": -1e308,
    "a subnormal number": 5e-324,
    "minus zero": -0.0,
    "None": None,
    "an empty text": "",
    "a text": "abc",
    "a text that is a number": "0.5",
    "an unseen level": "no such level",
    "a huge integer": 10**400,
    "a boolean": True,
    "a complex number": 1 + 2j,
    "bytes": b"\xff1",
    "a list": [1.0, 2.0],
    "an empty list": [],
    "a dict": {"a": 1},
    "an array": np.ones((2, 2)),
    "an object": object,
}


def odd_pairs(plan: Plan, schema: Schema) -> list[Neighbours]:
    """One pair for every odd cell: all cells of a record are odd, or one at a time where the plan protects single cells.

    The clean neighbour holds the largest values; of the other records three in four hold the largest and one the smallest ones,
    so that an odd cell which makes others missing moves their sum, whatever value stands for a missing one. The odd data set is
    read from lists of cells, the clean one from arrays; rows with an odd float are read from an array too. Where a record is a
    person, one pair more has a person whose only row has no id: then that person has no rows.
    """
    smallest, largest = extremes(schema)
    few = (plan.n - 1) // 4
    table = Table.of(schema, [(largest, plan.n - few), (smallest, few)])
    first = table.dataset()
    columns = [name for name in plan.model.columns(schema) if name in schema.columns]
    read = [[name] for name in columns] if one_cell(plan) else [columns]
    pairs = []
    for named, cell in ODD_CELLS.items():
        for changed in read:
            pairs.append(Neighbours(f"{ODD} {named}", first, _with_odd(table, changed, cell)))
    if schema.persons is not None:
        owners = [None if place == PLACE else place for place in range(plan.n)]
        pairs.append(Neighbours(f"{ODD} no rows at all", first, dataset_of(schema, table.columns, owners)))
    return pairs


def _with_odd(table: Table, changed: list[str], cell: Any) -> Any:
    """The data set with the cells of these columns replaced in the record at `PLACE`, and of its row if there is one."""
    columns: dict[str, Any] = dict(table.columns)
    for name in changed:
        cells = table.columns[name].tolist()
        cells[PLACE] = cell
        columns[name] = cells
    if MATRIX in columns and isinstance(cell, float):
        columns[MATRIX] = table.columns[MATRIX].copy()
        columns[MATRIX][PLACE, 0] = cell
    elif MATRIX in columns:
        rows = table.columns[MATRIX].tolist()
        rows[PLACE] = [cell, *rows[PLACE][1:]]
        columns[MATRIX] = rows
    return dataset_of(table.schema, columns)
