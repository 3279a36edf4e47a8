"""Several rows of a person as one: the first of them, or each column by its declared rule.

Cells that are missing are left out of a rule; if none is left the result is missing too, but for a sum or a count of nothing,
which is 0. Results are clipped to the column's bounds. Each result is a function of one person's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.columns import Column
from sfumato.schema.encoding import encode
from sfumato.schema.missing_cells import missing_key
from sfumato.schema.number import Number

Array = NDArray[Any]
Places = NDArray[np.int64]
# (values without missing cells, where each person's begin; every person has at least one) -> one value a person
_Rule = Callable[[Array, Places], Array]


def firsts(columns: Mapping[str, Any], starts: Places) -> dict[str, Any]:
    """The first row of every person; `starts` are the places where the rows of each begin."""
    return {name: array[starts] for name, array in columns.items()}


def reduced(
    columns: Mapping[str, Array],
    starts: Places,
    counts: Places,
    schema_columns: Mapping[str, Column],
    steps: Mapping[str, str],
) -> dict[str, Array]:
    """One row for every person, with the masks of missing cells beside its columns."""
    made: dict[str, Array] = {}
    for name, column in schema_columns.items():
        step = steps[name]
        if step == "count":
            values, lost = counts.astype(np.float64), np.zeros(len(starts), dtype=bool)
        else:
            values, lost = _of_cells(columns[name], columns[missing_key(name)], starts, counts, step)
        made[name], made[missing_key(name)] = _encoded(column, values, lost)
    return made


def _of_cells(values: Array, missing: Array, starts: Places, counts: Places, step: str) -> tuple[Array, Array]:
    """The result for every person, and for whom there was no cell."""
    persons = np.repeat(np.arange(len(starts)), counts)
    kept = values[~missing]
    owners = persons[~missing]
    left = np.bincount(owners, minlength=len(starts))
    lost = left == 0
    result = np.zeros(len(starts), dtype=np.float64)
    if len(kept):
        begins = np.cumsum(left)[~lost] - left[~lost]
        with np.errstate(all="ignore"):
            result[~lost] = _RULES[step](kept.astype(np.float64), begins)
    return result, lost & (step != "sum")


def _last(values: Array, starts: Places) -> Array:
    return np.asarray(values[np.append(starts[1:], len(values)) - 1])


def _mean(values: Array, starts: Places) -> Array:
    sizes = np.diff(np.append(starts, len(values)))
    return np.asarray(np.add.reduceat(values, starts) / sizes)


_RULES: dict[str, _Rule] = {
    "first": lambda values, starts: values[starts],
    "last": _last,
    "mean": _mean,
    "min": np.minimum.reduceat,
    "max": np.maximum.reduceat,
    "sum": np.add.reduceat,
    "any": np.maximum.reduceat,
    "all": np.minimum.reduceat,
}


def _encoded(column: Column, values: Array, lost: Array) -> tuple[Array, Array]:
    """The results as the column stores them: within its bounds, and the missing value where there is none."""
    if isinstance(column, Number):
        stored = Number.encoded(column, np.where(lost, np.nan, values))  # of a Date the numbers are days already
        return stored.values, stored.missing
    absent = encode(column, [None]).values
    return np.where(lost, absent[0], values.astype(absent.dtype)), lost
