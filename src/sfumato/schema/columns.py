"""The column types: what a cell of a column may be. One file each; a new type is one more file and a line in COLUMNS.

A column is a public fact. Nothing here is ever read from the rows, so a missing bound or list of levels is an error; the
smallest value in the data is itself a fact about one person. Every type has

- `kind`, its `type` in documents, the `facts` that a document may hold, those that are `needed`, and `to_json`;
- `levels`, in the order of their codes; None where cells are numbers;
- `encoded(cells)`: values inside the declared bounds, whatever the cells held;
- `features(name)` and `write_features(values, out)`: its columns of a regression's matrix, whose squares sum to at most
  `largest_square` in every row.
"""

from __future__ import annotations

from sfumato.schema.boolean import Boolean as Boolean
from sfumato.schema.category import Category as Category
from sfumato.schema.number import Number as Number
from sfumato.schema.texts import REQUIRED as REQUIRED
from sfumato.schema.texts import public_text as public_text

Column = Number | Category | Boolean
# The type of each `type` in a document.
COLUMNS: dict[str, type[Number] | type[Category] | type[Boolean]] = {
    column.kind: column for column in (Number, Category, Boolean)
}
