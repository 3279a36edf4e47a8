"""Base class of the public transformers: scikit-learn steps that take everything from declarations and learn nothing from rows.

`fit` looks at the number of columns and at their names, which are public. `transform` maps every cell by itself, by the rules
of its declared column (`sfumato.schema`), so that one record never changes what becomes of another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]

from sfumato.errors import ArgumentError
from sfumato.estimators._tables import check_size, column_series, not_two_dimensions, plain, real
from sfumato.schema import Number, Schema
from sfumato.schema.columns import Column
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells, encode
from sfumato.schema.norms import bound_rows
from sfumato.schema.outcome import attempt
from sfumato.schema.read_columns import check_dtype, numpy_cells, open_column
from sfumato.schema.read_rows import common_width, whole_row

Array = NDArray[np.float64]
# The column as which a matrix is checked for a usable type; its bounds are not used.
_CELL = Number(-1, 1)


@dataclass(frozen=True)
class Table:
    """Rows before their cells are read: the numbers of rows and columns, and the columns.

    cells(place, column): all cells of the column at that place, which is declared as `column`.
    """

    shape: tuple[int, int]
    cells: Callable[[int, Column], Cells]


class PublicTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A step whose output is a function of one row and of public declarations."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Check the number and the names of the columns of X. No cell is read, and y is not used."""
        opened = attempt(self._opened, X, True)
        del X, y  # an error raised from here on keeps no rows in its traceback
        opened.get()
        return self

    def transform(self, X: Any) -> Array:
        """Return the coded rows, (rows, features). A cell that no declaration allows counts as its column's missing value."""
        check_is_fitted(self, "n_features_in_")
        coded = attempt(self._coded, X)
        del X
        return coded.get()

    @property
    def data_norm_(self) -> float:
        """The largest Euclidean norm that a row of the output can have, from the declarations alone."""
        check_is_fitted(self, "n_features_in_")
        square = sum((Fraction(self._square(column)) for column in self._fitted()), Fraction(0))
        # The root is rounded to nearest, and so are the coded values: this much more is never exceeded.
        longest = math.sqrt(square) * (1 + 2.0**-40)
        limit = self._limit()
        if limit is None:
            return longest
        return limit[0] if limit[1] == "normalise" else min(longest, limit[0])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the output's columns."""
        check_is_fitted(self, "n_features_in_")
        names = self._input_names(input_features)
        pairs = zip(names, self._fitted(), strict=True)
        return np.asarray([out for name, column in pairs for out in self._names(name, column)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A cell that is no finite number, or no level, counts as the missing value: an error would reveal a record.
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    # What a transformer defines -----------------------------------------------------------------------------------

    def _declared(self, names: Sequence[str] | None, width: int | None) -> list[Column]:
        """The declared columns of a table with these names, or of this many columns without names."""
        raise NotImplementedError

    def _width(self) -> int | None:
        """The number of columns that the declarations fix; None where they hold for any number."""
        raise NotImplementedError

    def _names(self, name: str, column: Column) -> list[str]:
        raise NotImplementedError

    def _write(self, column: Column, values: Any) -> Array:
        """The output's columns of one column's encoded cells."""
        raise NotImplementedError

    def _square(self, column: Column) -> float:
        """Bound on the sum of squares of `_write` in one row."""
        raise NotImplementedError

    def _limit(self) -> tuple[float, str] | None:
        """The declared norm of a row and its treatment ("clip" or "normalise"), if the schema declares one."""
        schema = getattr(self, "schema", None)
        return None if schema is None or schema.data_norm is None else (schema.data_norm, schema.rows)

    # Reading ------------------------------------------------------------------------------------------------------

    def _fitted(self) -> list[Column]:
        names = getattr(self, "feature_names_in_", None)
        return self._declared(None if names is None else list(names), self.n_features_in_)

    def _opened(self, X: Any, reset: bool) -> tuple[Table, list[Column]]:
        """Check the structure of X; return it with its declared columns."""
        import narwhals as nw

        width = self._width() if reset else self.n_features_in_
        schema = getattr(self, "schema", None)
        table = open_cells(X, width)
        check_size(table.shape, getattr(schema, "persons", None) is not None)
        frame = X if nw.dependencies.is_into_dataframe(X) else table
        try:
            validate_data(self, frame, reset=reset, skip_check_array=True)
        except (TypeError, ValueError) as error:  # about names and the number of columns, which are public
            fault = str(error)
        else:
            return table, self._fitted()
        raise ArgumentError(fault)

    def _coded(self, X: Any) -> Array:
        table, columns = self._opened(X, reset=False)
        parts = [
            self._write(column, encode(column, table.cells(place, column)).values)
            for place, column in enumerate(columns)
        ]
        matrix = np.ascontiguousarray(np.hstack([np.empty((table.shape[0], 0)), *parts]))
        limit = self._limit()
        if limit is not None:
            bound_rows(matrix, *limit)
        return matrix

    def _input_names(self, input_features: Any) -> list[str]:
        own = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = list(input_features)
            if own is not None and given != list(own):
                raise ArgumentError("input_features is not equal to feature_names_in_: leave it out.")
            if len(given) != self.n_features_in_:
                raise ArgumentError(
                    f"input_features should have length equal to the number of features, {self.n_features_in_}; "
                    f"got {len(given)}."
                )
            return given
        if own is not None:
            return list(own)
        schema = getattr(self, "schema", None)
        return [f"x{place}" for place in range(self.n_features_in_)] if schema is None else list(schema.features)


def open_cells(X: Any, width: int | None) -> Table:
    """Open an array, a list of rows or a data frame; the rows of a list have `width` cells, or as many as most of them."""
    import narwhals as nw
    from scipy.sparse import issparse

    if nw.dependencies.is_into_dataframe(X):
        return _frame(column_series(X), len(X))
    if issparse(X):
        raise ArgumentError(
            "X must be dense, because scaling moves zeros too; a sparse X is refused. Give X.toarray()."
        )
    rows = plain("X", X)
    if isinstance(rows, np.ndarray):
        real("X", rows)
        if rows.ndim == 2:
            return _matrix(rows)
        if rows.ndim != 1 or rows.dtype != object:
            raise not_two_dimensions(rows.ndim)
        rows = list(rows)
    return _listed(rows, width)


def _frame(series: list[Any], count: int) -> Table:
    def cells(place: int, column: Column) -> Cells:
        length, read = open_column(f"X[{place}]", column, series[place])
        return read(0, length)

    return Table((count, len(series)), cells)


def _matrix(rows: NDArray[Any]) -> Table:
    check_dtype("X", _CELL, rows.dtype)
    return Table((rows.shape[0], rows.shape[1]), lambda place, column: numpy_cells(rows[:, place]))


def _listed(rows: Sequence[object], width: int | None) -> Table:
    wide = width or common_width(rows)
    if wide is None and len(rows) > 0:
        raise not_two_dimensions(1)
    tally = Tally()
    columns = list(zip(*(whole_row(row, wide or 0, tally) for row in rows), strict=True)) or [()] * (wide or 0)
    return Table((len(rows), wide or 0), lambda place, column: columns[place])


def schema_columns(owner: str, schema: Any, names: Sequence[str] | None, width: int | None) -> list[Column]:
    """The schema's columns of these names; without names X has all of its features, in the declared order."""
    if not isinstance(schema, Schema) or schema.dimension is not None:
        what = "a schema of a vector" if isinstance(schema, Schema) else type(schema).__name__
        raise ArgumentError(f"{owner} needs the schema of a table, such as sf.Schema.load(path); got {what}.")
    features = schema.features
    if names is None:
        if len(features) != width:
            raise ArgumentError(
                f"{owner}: X must have {len(features)} columns, the features of the schema {schema.name!r} in the declared "
                f"order; got {width}. Give a data frame, whose columns are matched by name, or schema.only([...])."
            )
        return [schema.columns[name] for name in features]
    unknown = sum(name not in features for name in names)
    if unknown:
        raise ArgumentError(
            f"{owner}: {unknown} of the {len(names)} columns of X are not declared as features of the schema "
            f"{schema.name!r} ({', '.join(features)}). Give X[{list(features)!r}], or declare the others."
        )
    return [schema.columns[name] for name in names]
