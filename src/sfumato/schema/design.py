"""The feature matrix of a regression, from declared bounds and levels alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class Design:
    """A public recipe: encoded rows -> a matrix whose every row has Euclidean norm at most `radius`.

    A number becomes (x - lower)/(upper - lower) - 1/2, in [-1/2, 1/2]; a yes or no becomes 1/2 or -1/2; a category
    becomes one feature per declared level, 1 for the level of the row and 0 for the others. Before any norm is bounded
    a row is at most sqrt(numbers/4 + booleans/4 + categories) long; with a declared data_norm rows are then clipped to
    it or scaled to it (`Schema.rows`). There is no intercept: one that is added later must be added to the radius too. The
    features of a vector are its own entries, whose norm was bounded when they were read.

    features: the names, such as "age" and "sex=f". radius: the bound on the norm, rounded up.
    """

    schema: Schema
    features: tuple[str, ...]
    radius: float

    @classmethod
    def of(cls, schema: Schema) -> Design:
        """Build the recipe of a schema."""
        if schema.dimension is not None:
            names = tuple(f"x{i}" for i in range(schema.dimension))
            return cls(schema, names, float(schema.data_norm or math.inf))
        columns = [(name, schema.columns[name]) for name in schema.features]
        features = tuple(feature for name, column in columns for feature in column.features(name))
        square = sum(column.largest_square for _, column in columns)
        radius = math.sqrt(square)
        if Fraction(radius) ** 2 < Fraction(square):  # the root was rounded down
            radius = math.nextafter(radius, math.inf)
        if schema.data_norm is not None:
            radius = schema.data_norm if schema.rows == "normalise" else min(radius, schema.data_norm)
        return cls(schema, features, radius)

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return len(self.features)

    def encode(self, block: Mapping[str, Any]) -> Any:
        """Return the matrix (rows, dimension) of encoded rows: float64, or CSR where a vector's rows are CSR."""
        import numpy as np

        from sfumato.schema.norms import bound_rows

        if self.schema.dimension is not None:
            return block["matrix"]
        names = self.schema.features
        count = len(next(iter(block.values())))
        matrix = np.zeros((count, self.dimension))
        place = 0
        for name, values in zip(names, [block[name] for name in names], strict=True):
            column = self.schema.columns[name]
            width = len(column.features(name))
            column.write_features(values, matrix[:, place : place + width])
            place += width
        # A table's norm is that of the encoded row, so it can only be bounded here.
        if self.schema.data_norm is not None:
            bound_rows(matrix, self.schema.data_norm, self.schema.rows)
        return matrix
