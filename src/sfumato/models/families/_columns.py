"""What a family needs of a schema: one column of the right kind, named by the schema and never guessed from values."""

from __future__ import annotations

from sfumato.errors import ArgumentError
from sfumato.schema import Schema


def only_column(schema: Schema, kind: type, family: str) -> str:
    """Return the target if it is of this kind, else the only column of this kind; anything else is refused."""
    if schema.target is not None and isinstance(schema.columns[schema.target], kind):
        return schema.target
    found = [name for name, column in schema.columns.items() if isinstance(column, kind)]
    if len(found) != 1:
        listed = ", ".join(map(repr, found)) if found else "none"
        raise ArgumentError(
            f"{family} needs one {kind.__name__} column: schema {schema.name!r} has {listed}. "
            f"Name it: Schema(..., target='...'), or keep only the column that the model is of."
        )
    return found[0]
