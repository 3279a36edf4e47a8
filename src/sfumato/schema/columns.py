"""The column types: what a cell of a column may be. One file each; a new type is one more file and a line in COLUMNS.

A column is a public fact. Nothing here is ever read from the rows, so a missing bound or list of levels is an error; the
smallest value in the data is itself a fact about one person. Every type has

- `kind`, its `type` in documents, the `facts` that a document may hold, those that are `needed`, and `to_json`;
- `levels`, in the order of their codes; None where cells are numbers;
- `missing_codes`, the cells that count as missing, which `encoding.encode` has emptied before
- `encoded(cells)`: values inside the declared bounds, whatever the cells held;
- `features(name)` and `write_features(values, out)`: its columns of a regression's matrix, whose squares sum to at most
  `largest_square` in every row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sfumato.schema.boolean import Boolean as Boolean
from sfumato.schema.category import Category as Category
from sfumato.schema.date import Date as Date
from sfumato.schema.number import Number as Number
from sfumato.schema.texts import REQUIRED as REQUIRED
from sfumato.schema.texts import public_text as public_text

if TYPE_CHECKING:
    from sfumato.schema.encoding import Array, Encoded, Plain


class Column(Protocol):
    """What every column type has. A type of levels may extend `Category`, one of numbers `Number`: models read it as such."""

    @property
    def kind(self) -> str: ...
    @property
    def facts(self) -> tuple[str, ...]: ...
    @property
    def needed(self) -> tuple[str, ...]: ...
    @property
    def levels(self) -> tuple[Any, ...] | None: ...
    @property
    def largest_square(self) -> float: ...
    def to_json(self) -> dict[str, Any]: ...
    def encoded(self, cells: Plain) -> Encoded: ...
    def features(self, name: str) -> list[str]: ...
    def write_features(self, values: Array, out: Array) -> None: ...


# The type of each `type` in a document.
COLUMNS: dict[str, type[Any]] = {column.kind: column for column in (Number, Category, Boolean, Date)}
