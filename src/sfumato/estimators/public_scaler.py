"""Numbers brought to [-1/2, 1/2] by declared bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.estimators._public import PublicTransformer, schema_columns
from sfumato.estimators._rows import declared_width, feature_bounds
from sfumato.schema import Number
from sfumato.schema.columns import Boolean, Column

Array = NDArray[np.float64]


class PublicScaler(PublicTransformer):
    """Scale numbers to [-1/2, 1/2] by public bounds: x becomes (x - lower)/(upper - lower) - 1/2, values outside are clipped.

    A drop-in for StandardScaler and MinMaxScaler that learns nothing: `fit` checks the number and the names of the columns and
    reads no cell. A cell that is empty, infinite or no number counts as the `missing` value of its column, by default the
    middle of the bounds. A yes or no becomes 1/2 or -1/2.

    schema: the declared columns; X may have some of them, matched by name, or without names all of the schema's features in the
        declared order. A declared data_norm bounds the norm of the output's rows.
    bounds: instead of a schema, (lower, upper) as for the private estimators: a tuple of numbers or arrays, or a list of one
        pair per column.

    After `fit`: n_features_in_, feature_names_in_, and data_norm_, the largest Euclidean norm of a row of the output.
    """

    def __init__(self, schema: Any = None, *, bounds: Any = None) -> None:
        self.schema = schema
        self.bounds = bounds

    def _width(self) -> int | None:
        return declared_width(self.bounds) if self.schema is None else len(getattr(self.schema, "features", ())) or None

    def _declared(self, names: Sequence[str] | None, width: int | None) -> list[Column]:
        if (self.schema is None) == (self.bounds is None):
            raise ArgumentError(
                "PublicScaler needs a schema or bounds, and not both: sf.PublicScaler(schema), or "
                "sf.PublicScaler(bounds=(lower, upper)). Bounds are never read from the rows."
            )
        if self.schema is None:
            lower, upper = feature_bounds(self.bounds, width or 0)
            return [Number(low, high) for low, high in zip(lower.tolist(), upper.tolist(), strict=True)]
        columns = schema_columns("PublicScaler", self.schema, names, width)
        listed = names or self.schema.features
        levels = [
            name for name, column in zip(listed, columns, strict=True) if not isinstance(column, Number | Boolean)
        ]
        if levels:
            raise ArgumentError(
                f"PublicScaler scales numbers; the schema declares levels for {', '.join(map(repr, levels))}. Use "
                "sf.PublicEncoder(schema), which codes numbers and levels."
            )
        return columns

    def _names(self, name: str, column: Column) -> list[str]:
        return [name]

    def _write(self, column: Column, values: Any) -> Array:
        out: Array = np.empty((len(values), 1))
        column.write_features(values, out)
        return out

    def _square(self, column: Column) -> float:
        return column.largest_square
