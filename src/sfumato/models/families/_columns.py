"""The column of a schema that a family reads: chosen by its declared type, never by its values."""

from __future__ import annotations

from typing import Any

from sfumato.errors import ArgumentError
from sfumato.schema import Category, Number, Schema


def only_column(schema: Schema, kind: type, family: str) -> str:
    """Return the target, or without one the only column of this kind; anything else is refused."""
    fitting = [name for name, column in schema.columns.items() if isinstance(column, kind)]
    if schema.target is not None:
        if isinstance(schema.columns[schema.target], kind):
            return schema.target
        given = type(schema.columns[schema.target]).__name__
        others = f" Columns of that kind: {', '.join(map(repr, fitting))}." if fitting else ""
        raise ArgumentError(
            f"{family} needs a {kind.__name__} column, and the target {schema.target!r} of schema {schema.name!r} is a {given}. "
            f"Declare the column that the model is of as the target.{others}"
        )
    if len(fitting) != 1:
        listed = ", ".join(map(repr, fitting)) or "none"
        raise ArgumentError(
            f"{family} needs one {kind.__name__} column: schema {schema.name!r} has {listed}. "
            f"Name it: Schema(..., target='...'), or keep only the column that the model is of."
        )
    return fitting[0]


def column_of_levels(schema: Schema, levels: tuple[Any, ...], family: str, remedy: str) -> str:
    """The Category column of a family, whose levels must be these in this order; `remedy` has {} for the levels."""
    name = only_column(schema, Category, family)
    declared = schema.columns[name]
    if isinstance(declared, Category) and tuple(declared.levels) != levels:
        raise ArgumentError(
            f"the levels of column {name!r} in the schema are not the model's, in the same order. "
            f"Use {remedy.format(f'schema.columns[{name!r}].levels')}."
        )
    return name


def number_within(schema: Schema, lower: float, upper: float, family: str, mend: str) -> str:
    """The Number column of a family whose records lie in [lower, upper]; wider declared bounds are refused."""
    name = only_column(schema, Number, family)
    column = schema.columns[name]
    if isinstance(column, Number) and not (lower <= column.lower and column.upper <= upper):
        raise ArgumentError(
            f"the bounds of column {name!r} are [{column.lower:g}, {column.upper:g}] in the schema and the model's are "
            f"[{lower:g}, {upper:g}] ({mend}): the model's must contain them. Change one of the two."
        )
    return name
