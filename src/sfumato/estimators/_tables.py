"""Features and labels from arrays, CSR matrices, lists and data frames, opened by the readers of `sfumato.schema`.

Only structure raises: the shape of an array, names, a type that holds no numbers. Cells, labels and the rows of a list
are read one record at a time. scikit-learn's own messages quote the array ("Expected 2D array, got 1D array instead:
array=..."), so its checks are repeated here first, with messages that quote no cell.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning  # type: ignore[import-untyped]
from sklearn.utils.validation import validate_data  # type: ignore[import-untyped]

from sfumato.errors import ArgumentError
from sfumato.schema import Number
from sfumato.schema.cells import number, text
from sfumato.schema.columns import Column
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Repeated
from sfumato.schema.read_arrays import check_sparse, open_entries
from sfumato.schema.read_columns import check_dtype, open_column
from sfumato.schema.read_rows import Entries, common_width, open_frame, open_labels, open_rows, row_cells

# The column as which features are opened. Only its type is used here; its bounds clip nothing.
_CELL = Number(-1, 1)


def read_features(estimator: Any, X: Any, reset: bool, width: int | None = None, private: bool = False) -> Any:
    """Return X as `Entries` or as a CSR matrix; names and number of features are kept (`reset`) or compared.

    A list has `width` features if that is declared, else as many as most of its rows. Rows of another length count as rows of
    missing cells in a fit, and are refused in a prediction (reset=False), whose rows are public. `private`: the number of rows is.
    """
    import narwhals as nw
    from scipy.sparse import issparse

    is_frame, rows = nw.dependencies.is_into_dataframe(X), None
    if is_frame:
        features: Any = _open_frame(X)
    elif issparse(X):
        features = _open_sparse(X)
    else:
        features, rows = _open_dense(plain("X", X), width)
    check_size(features.shape, private)
    try:
        validate_data(estimator, X if is_frame else features, reset=reset, skip_check_array=True)
    except (TypeError, ValueError) as error:  # about names and the number of features, which are public
        fault = str(error)
    else:
        if not reset and rows is not None:
            _check_rows(rows, features.shape[1])
        return features
    raise ArgumentError(fault)


def check_size(shape: tuple[int, ...], private: bool = False) -> None:
    """Refuse a table without rows or without columns; without columns alone where the number of rows is `private`."""
    if private and shape[1] > 0:
        return
    if private:
        raise ArgumentError("X must have at least one column; it has none.")
    if min(shape) < 1:
        what = "sample" if shape[0] < 1 else "feature"
        raise ArgumentError(
            f"X must have at least one row and one column: found 0 {what}(s) (shape={tuple(shape)}) while a "
            "minimum of 1 is required."
        )


def column_series(X: Any) -> list[Any]:
    """The columns of a data frame, by position: scikit-learn refuses repeated names afterwards."""
    import narwhals as nw

    if nw.dependencies.is_pandas_like_dataframe(X):
        return [X.iloc[:, place] for place in range(X.shape[1])]
    frame = nw.from_native(X, eager_only=True)
    return [frame[:, place].to_native() for place in range(frame.shape[1])]


def _open_frame(X: Any) -> Entries:
    series = column_series(X)
    if not series:
        return Entries((len(X), 0), lambda start, stop: np.empty((stop - start, 0)))
    return open_frame([open_column(f"X[{place}]", _CELL, values) for place, values in enumerate(series)])


def _open_sparse(X: Any) -> Any:
    real("X", X)
    if len(X.shape) != 2:
        raise not_two_dimensions(len(X.shape))
    matrix = X.tocsr()
    check_sparse(matrix)
    return matrix


def _open_dense(X: Any, declared: int | None) -> tuple[Entries, Sequence[object] | None]:
    """Open an array of two dimensions, or a list of rows, which is returned too."""
    if isinstance(X, np.ndarray):
        real("X", X)
        if X.ndim == 2:
            check_dtype("X", _CELL, X.dtype)
            return open_entries(X, X.shape[1], Tally()), None
        if X.ndim != 1 or X.dtype != object:
            raise not_two_dimensions(X.ndim)
        # numpy turns rows of different lengths into a one-dimensional array of objects: a list of rows.
        X = list(X)
    width = declared or common_width(X)
    if width is None and len(X) > 0:
        raise not_two_dimensions(1)
    return open_rows(X, width or 0, Tally()), X


def not_two_dimensions(given: int) -> ArgumentError:
    """The refusal of an X that is no matrix."""
    return ArgumentError(
        f"X must have one row per record and two dimensions; got {given}. Reshape your data: X.reshape(-1, 1) for one "
        "feature, X.reshape(1, -1) for one record. The rows of a list must be lists, tuples or arrays of one dimension."
    )


def _check_rows(rows: Sequence[object], width: int) -> None:
    """Refuse public rows of another length: predicting from missing cells would hide a mistake of the caller."""
    for place, row in enumerate(rows):
        if row_cells(row, width) is None:
            raise ArgumentError(f"every row of X must have {width} cells to be predicted; row {place} does not.")


def read_labels(y: Any, private: bool = False) -> Any:
    """Return y as a list, a one-dimensional array, an Arrow array or a series; a table of one column gives its series.

    No error shows the number of rows where it is `private`.
    """
    import narwhals as nw

    if nw.dependencies.is_into_series(y):
        return y
    if nw.dependencies.is_into_dataframe(y):
        frame = nw.from_native(y, eager_only=True)
        if frame.shape[1] != 1:
            raise _not_one_dimension(tuple(frame.shape), private)
        _warn_column()
        return frame[:, 0].to_native()
    if hasattr(y, "__arrow_c_array__"):
        return y
    labels = _listed("y", y)
    if isinstance(labels, np.ndarray):
        real("y", labels)
        if labels.ndim == 2 and labels.shape[1] == 1:
            # The shape of an array of objects depends on single labels, so a warning about it would reveal them.
            if labels.dtype != object:
                _warn_column()
            return labels.reshape(-1)
        if labels.ndim != 1:
            raise _not_one_dimension(labels.shape, private)
    return labels


def read_groups(groups: Any) -> Any:
    """Return the ids of the rows as a list, a one-dimensional array, an Arrow array or a series."""
    import narwhals as nw

    if nw.dependencies.is_into_series(groups) or hasattr(groups, "__arrow_c_array__"):
        return groups
    ids = _listed("groups", groups)
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise ArgumentError(
            f'groups must have one dimension, an id for each row, such as table["patient"]; got {ids.ndim} dimensions.'
        )
    return ids


def _listed(name: str, values: Any) -> Any:
    """As `plain`; an index or an array of pandas is a series, since its numpy form has the type that one missing cell decides."""
    import narwhals as nw

    pandas = nw.dependencies.get_pandas()
    if pandas is not None and isinstance(values, pandas.Index | pandas.api.extensions.ExtensionArray):
        return pandas.Series(values)
    return plain(name, values)


def _warn_column() -> None:
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Change the shape of y to (n_samples,), for example "
        "with ravel().",
        DataConversionWarning,
        stacklevel=2,
    )


def _not_one_dimension(shape: tuple[int, ...], private: bool) -> ArgumentError:
    given = f"{len(shape)} dimensions" if private else f"shape {shape}"
    return ArgumentError(f"y should be a 1d array, got an array of {given} instead.")


def distinct_labels(column: Column, labels: Any) -> int:
    """Number of distinct numbers and texts among the labels. Only for fits with a seed, which are not private."""
    count, read = open_labels("y", column, labels)
    cells = read(0, count)
    listed = cells.distinct if isinstance(cells, Repeated) else list(cells)
    # A text that spells a number is that number, as for the levels of a category.
    return len({text(cell) if math.isnan(number(cell)) else number(cell) for cell in listed} - {None})


def plain(name: str, values: Any) -> Any:
    """Return a list or tuple unchanged, and any other array as a numpy array.

    A list is never made an array: numpy would read [1.0, "x"] as texts, and one record would change all others.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentError(f"{name} must be a plain array; got a masked one. Give {name}.filled(np.nan).")
    if isinstance(values, list | tuple):
        return values
    if isinstance(values, str | bytes | dict | set | frozenset):
        raise ArgumentError(f"{name} must be an array, a list or a table; got {type(values).__name__}.")
    if isinstance(values, Sequence) and not hasattr(values, "__array__"):
        return list(values)
    return np.asarray(values)


def real(name: str, array: Any) -> None:
    """Refuse complex numbers."""
    if array.dtype.kind == "c":
        raise ArgumentError(f"Complex data not supported: {name} must hold real numbers.")
