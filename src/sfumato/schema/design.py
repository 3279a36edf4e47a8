"""The feature matrix of a regression, from declared bounds and levels alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.schema.schema import Schema
    from sfumato.schema.terms import Term


@dataclass(frozen=True)
class Design:
    """A public recipe: encoded rows -> a matrix whose every row has Euclidean norm at most `radius`.

    With `terms` (columns, powers, products) every column is coded by `schema.coding`: a number and its powers in [-1/2, 1/2],
    levels as corners of a simplex with edges of length 1. Without, every column enters by its own `write_features`: a number
    in [-1/2, 1/2], a yes or no as -1/2 or 1/2, a category as one indicator of 0 or 1 for each level. Before any norm is
    bounded the square of a row's norm is at most the sum of the terms' bounds; with a declared data_norm rows are then clipped
    to it or scaled to it (`Schema.rows`). There is no intercept: one that is added later must be added to the radius too. The
    features of a vector are its own entries, whose norm was bounded when they were read.

    features: the names, such as "age" and "sex=f". radius: the bound on the norm, rounded up.
    """

    schema: Schema
    features: tuple[str, ...]
    radius: float
    terms: tuple[Term, ...] | None = None

    @classmethod
    def of(cls, schema: Schema, terms: Sequence[str] | None = None) -> Design:
        """Build the recipe of a schema, of all its columns or of some terms."""
        if schema.dimension is not None:
            if terms is not None:
                raise ArgumentError("terms are made of the columns of a table; this schema is a vector.")
            return cls(schema, schema.vector_names, float(schema.data_norm or math.inf))
        chosen = None
        if terms is None:
            columns = [(name, schema.columns[name]) for name in schema.features]
            features = [feature for name, column in columns for feature in column.features(name)]
            square = sum((Fraction(column.largest_square) for _, column in columns), Fraction(0))
        else:
            from sfumato.schema.terms import read_terms

            chosen = read_terms(terms, schema)
            features = [feature for term in chosen for feature in term.names(schema)]
            square = sum((term.largest_square(schema) for term in chosen), Fraction(0))
        radius = math.sqrt(square)
        while Fraction(radius) ** 2 < square:  # the square or its root was rounded down
            radius = math.nextafter(radius, math.inf)
        if schema.data_norm is not None:
            radius = schema.data_norm if schema.rows == "normalise" else min(radius, schema.data_norm)
        return cls(schema, tuple(features), radius, chosen)

    @property
    def dimension(self) -> int:
        """How many features there are."""
        return len(self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of which the features are made."""
        if self.terms is None:
            return self.schema.features
        return tuple(dict.fromkeys(name for term in self.terms for name, _ in term.factors))

    def encode(self, block: Mapping[str, Any]) -> Any:
        """Return the matrix (rows, dimension) of encoded rows: float64, or CSR where a vector's rows are CSR."""
        import numpy as np

        from sfumato.schema.norms import bound_rows

        if self.schema.dimension is not None:
            return block["matrix"]
        count = len(next(iter(block.values())))
        matrix = np.zeros((count, self.dimension))
        place = 0
        if self.terms is None:
            for name in self.schema.features:
                column = self.schema.columns[name]
                width = len(column.features(name))
                column.write_features(block[name], matrix[:, place : place + width])
                place += width
        for term in self.terms or ():
            place += term.write(self.schema, block, matrix[:, place:])
        # A table's norm is that of the encoded row, so it can only be bounded here.
        if self.schema.data_norm is not None:
            bound_rows(matrix, self.schema.data_norm, self.schema.rows)
        return matrix
