"""What a family needs of a schema: one column of the right kind, named by the schema and never guessed from values."""

from __future__ import annotations

from sfumato.errors import ArgumentError
from sfumato.schema import Number, Schema


def only_column(schema: Schema, kind: type, family: str) -> str:
    """Return the target, or without one the only column of this kind; anything else is refused."""
    found = [name for name, column in schema.columns.items() if isinstance(column, kind)]
    if schema.target is not None:
        if isinstance(schema.columns[schema.target], kind):
            return schema.target
        given = type(schema.columns[schema.target]).__name__
        others = f" Columns of that kind: {', '.join(map(repr, found))}." if found else ""
        raise ArgumentError(
            f"{family} needs a {kind.__name__} column, and the target {schema.target!r} of schema {schema.name!r} is a {given}. "
            f"Declare the column that the model is of as the target.{others}"
        )
    if len(found) != 1:
        listed = ", ".join(map(repr, found)) if found else "none"
        raise ArgumentError(
            f"{family} needs one {kind.__name__} column: schema {schema.name!r} has {listed}. "
            f"Name it: Schema(..., target='...'), or keep only the column that the model is of."
        )
    return found[0]


def number_within(schema: Schema, lower: float, upper: float, family: str, mend: str) -> str:
    """The Number column of a family whose records lie in [lower, upper]; declared bounds that reach outside are refused."""
    name = only_column(schema, Number, family)
    column = schema.columns[name]
    if isinstance(column, Number) and not (lower <= column.lower and column.upper <= upper):
        raise ArgumentError(
            f"the bounds of column {name!r} are [{column.lower:g}, {column.upper:g}] in the schema and the model's are "
            f"[{lower:g}, {upper:g}] ({mend}): the model's must contain them. Change one of the two."
        )
    return name
