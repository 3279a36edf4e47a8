"""How the source of private rows is read: the columns of the schema, and beside them whose row it is and what it weighs.

A chunk of private rows holds the id of each row (three words, see `identity`) under `ID`, which rows have none under `NO_ID`, and
weights as whole numbers of 2^-16 of the largest under `WEIGHT`. No column has such a name: names begin with a letter, not a space.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.schema.columns import Column
from sfumato.schema.date import Date
from sfumato.schema.form import Form
from sfumato.schema.identity import Identity
from sfumato.schema.missing_cells import missing_key
from sfumato.schema.number import Number
from sfumato.schema.persons import REDUCE
from sfumato.schema.schema import Schema
from sfumato.schema.weight import STEPS

ID, NO_ID, WEIGHT = " id", " no id", " weight"
# Cells that are summed are not clipped one by one: the bounds of the column are those of the sum.
_FARTHEST = 1e300

Chunk = dict[str, Any]


def as_read(schema: Schema, identity: Identity | None = None) -> Schema:
    """The schema by which the cells of a private table are read; ids under the key of `identity`, by default a new one."""
    if schema.persons is None and schema.weight is None:
        return schema
    columns: dict[str, Column] = {name: _cells(schema, name) for name in schema.columns if not _counts(schema, name)}
    if schema.persons is not None:
        columns[schema.persons.id] = identity_of(schema) if identity is None else identity
    if schema.weight is not None:
        columns[schema.weight.column] = schema.weight.cells
    return _with(schema, columns)


def ids_alone(schema: Schema, name: str, identity: Identity) -> Schema:
    """The schema by which a roster is read: the id column alone, in a file of the same form, which names it in its first line."""
    form = replace(schema.form, header=True, names=())
    return _with(schema, {name: identity}, form)


def _with(schema: Schema, columns: dict[str, Column], form: Form | None = None) -> Schema:
    """The form of the schema's files with these columns, of which one may be an id; nothing is checked."""
    made = object.__new__(Schema)
    facts = {"_columns": tuple(columns.items()), "persons": None, "weight": None, "form": form or schema.form}
    vars(made).update({**schema.__getstate__(), **facts})
    return made


def identity_of(schema: Schema) -> Identity:
    """The id column of a schema, with a key of its own."""
    return Identity(schema.form.missing_codes)


def _counts(schema: Schema, name: str) -> bool:
    """Whether a column is the number of a person's rows, which no cell says."""
    return schema.persons is not None and dict(schema.persons.reduce).get(name) == "count"


def _cells(schema: Schema, name: str) -> Column:
    """The column as its cells are read: without bounds where they are summed."""
    column = schema.columns[name]
    summed = schema.persons is not None and dict(schema.persons.reduce).get(name) == "sum"
    if not summed or schema.persons is None or schema.persons.rule != REDUCE or isinstance(column, Date):
        return column
    return Number(-_FARTHEST, _FARTHEST, 0.0, missing_codes=getattr(column, "missing_codes", ()))


def with_ids(chunks: Iterator[Chunk], schema: Schema) -> Iterator[Chunk]:
    """The chunks of a table read by `as_read`, with ids and weights under their own names."""
    for chunk in chunks:
        if schema.persons is not None and schema.persons.id in chunk:
            chunk[ID], chunk[NO_ID] = chunk.pop(schema.persons.id), chunk.pop(missing_key(schema.persons.id))
        if schema.weight is not None and schema.weight.column in chunk:
            weights = chunk.pop(schema.weight.column)
            chunk.pop(missing_key(schema.weight.column), None)
            chunk[WEIGHT] = steps_of(weights, schema.weight.upper)
        yield chunk


def steps_of(weights: Any, upper: float) -> Any:
    """Weights in [0, upper] as whole numbers of 2^-16 of the largest, rounded down."""
    return np.clip(np.floor(weights / upper * STEPS), 0, STEPS).astype(np.uint32)
