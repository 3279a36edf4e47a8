"""Numbers, yes or no, and levels coded by a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.estimators._public import PublicTransformer, schema_columns
from sfumato.schema import Category
from sfumato.schema.category import declared_missing
from sfumato.schema.columns import Column

Array = NDArray[np.float64]


class PublicEncoder(PublicTransformer):
    """Code every kind of column by public declarations: levels as indicators, numbers scaled to [-1/2, 1/2].

    A drop-in for OneHotEncoder that learns nothing: `fit` checks the number and the names of the columns and reads no cell. A
    cell that is none of the declared levels counts as the declared `missing` level of its column; numbers and yes or no are
    coded as by `PublicScaler`. A coefficient of the column "sex=f" is the effect of that level beside the reference level.

    schema: the declared columns; X may have some of them, matched by name, or without names all of the schema's features in the
        declared order. A declared data_norm bounds the norm of the output's rows.
    levels: instead of a schema, a list of levels for every column, or one list of a list for each column.
    missing: with `levels`, the level that a cell counts as that is empty, unreadable or no level, or "own level"; one for every
        column, or a list of one for each.
    drop: "reference" leaves out the indicator of each column's reference level (the first, unless the schema declares another;
        none where it is "sum-to-zero"), and codes two levels as one column of -1/2 and 1/2. None keeps one indicator of 0 or 1
        for every level.

    After `fit`: n_features_in_, feature_names_in_, and data_norm_, the largest Euclidean norm of a row of the output.
    """

    def __init__(
        self, schema: Any = None, *, levels: Any = None, missing: Any = None, drop: str | None = "reference"
    ) -> None:
        self.schema = schema
        self.levels = levels
        self.missing = missing
        self.drop = drop

    def _width(self) -> int | None:
        if self.schema is not None:
            return len(getattr(self.schema, "features", ())) or None
        return len(self.levels) if _nested(self.levels) else None

    def _declared(self, names: Sequence[str] | None, width: int | None) -> list[Column]:
        if (self.schema is None) == (self.levels is None):
            raise ArgumentError(
                "PublicEncoder needs a schema or levels, and not both: sf.PublicEncoder(schema), or "
                'sf.PublicEncoder(levels=[["no", "yes"], ["a", "b", "c"]], missing=["no", "a"]). Levels are never read from rows.'
            )
        if self.drop is not None and self.drop != "reference":
            raise ArgumentError(f'drop must be None or "reference"; got {self.drop!r}.')
        if self.schema is not None:
            return schema_columns("PublicEncoder", self.schema, names, width)
        if not _nested(self.levels):
            return self._categories([_listed(self.levels)] * (width or 0))
        if len(self.levels) != width:
            raise ArgumentError(
                f"levels must have one list for each of the {width} columns of X; got {len(self.levels)} lists."
            )
        return self._categories([_listed(each) for each in self.levels])

    def _categories(self, levels: list[Any]) -> list[Column]:
        """The columns of these levels; refuse those of which nobody said what missing cells count as."""
        fills = (
            list(self.missing) if isinstance(self.missing, list | tuple | np.ndarray) else [self.missing] * len(levels)
        )
        if len(fills) != len(levels):
            raise ArgumentError(f"missing must be one level for each of {len(levels)} columns; got {len(fills)}.")
        made: list[Column] = [Category(each, missing=fill) for each, fill in zip(levels, fills, strict=True)]
        for place, column in enumerate(made):
            declared_missing(f"PublicEncoder: column {place}", column)
        return made

    def _names(self, name: str, column: Column) -> list[str]:
        if not isinstance(column, Category):
            return column.features(name)
        return [f"{name}={column.levels[place]}" for place in self._kept(column)]

    def _write(self, column: Column, values: Any) -> Array:
        if not isinstance(column, Category):
            out: Array = np.empty((len(values), 1))
            column.write_features(values, out)
            return out
        kept = np.asarray(self._kept(column), dtype=np.intp)
        indicators: Array = (np.asarray(values).astype(np.intp)[:, None] == kept).astype(np.float64)
        return indicators - (0.5 if self._halved(column) else 0.0)

    def _square(self, column: Column) -> float:
        return 0.25 if isinstance(column, Category) and self._halved(column) else column.largest_square

    def _kept(self, column: Category) -> list[int]:
        """Positions of the levels that have an indicator."""
        places = range(len(column.levels))
        if self.drop is None:
            return list(places)
        return [place for place in places if column.levels[place] != column.reference]

    def _halved(self, column: Category) -> bool:
        """Whether two levels are one column of -1/2 and 1/2: as far apart as 0 and 1, at half the norm."""
        return len(column.levels) == 2 and len(self._kept(column)) == 1


def _nested(levels: Any) -> bool:
    return isinstance(levels, list | tuple) and len(levels) > 0 and isinstance(levels[0], list | tuple | np.ndarray)


def _listed(levels: Any) -> Any:
    return levels.tolist() if isinstance(levels, np.ndarray) else levels
