"""Features and labels from arrays, CSR matrices, lists and data frames, without an error that depends on a cell.

scikit-learn's own messages quote the array ("Expected 2D array, got 1D array instead: array=..."): what they would say is
checked here first, in words that quote nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d, validate_data  # type: ignore[import-untyped]

from sfumato.errors import ArgumentError, SfumatoError
from sfumato.schema import Number
from sfumato.schema.encoding import Repeated, to_floats
from sfumato.schema.read_columns import numpy_cells, open_column

Array = NDArray[np.float64]
Made = TypeVar("Made")
# Any cell is a number or none: what a column is opened as does not clip.
_CELL = Number(-1, 1)


def read_features(estimator: Any, X: Any, reset: bool) -> Any:
    """Return X as a numpy array or a CSR matrix; names and number of features are kept (`reset`) or compared.

    Only structure raises: the shape, the names, a type that holds no numbers. A cell may be anything (Sfumato's rules
    for cells decide what it counts as), so finiteness is not asked for.
    """
    import narwhals as nw
    from scipy.sparse import issparse

    how = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False}
    if nw.dependencies.is_into_dataframe(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return _matrix(nw.from_native(X, eager_only=True))
    matrix = X if issparse(X) else plain("X", X)
    _real("X", matrix)
    if matrix.ndim != 2:
        raise ArgumentError(
            f"X must have one row per record and two dimensions; got {matrix.ndim}. Reshape your data: X.reshape(-1, 1) "
            "for one feature, X.reshape(1, -1) for one record. Rows of a list must be equally long."
        )
    return validate_data(estimator, matrix, reset=reset, **how)


def read_labels(y: Any) -> NDArray[Any]:
    """Return y as a one-dimensional array of numbers, texts or objects."""
    labels = plain("y", y)
    _real("y", labels)
    return np.asarray(column_or_1d(labels, warn=True))


def plain(name: str, values: Any) -> NDArray[Any]:
    """Return array-like values as an array; the cells of a list are kept as they are, one by one.

    numpy would read [1.0, "x"] as texts: one record would change how all others are written.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentError(f"{name} must be a plain array; got a masked one. Give {name}.filled(np.nan).")
    as_they_are = isinstance(values, list | tuple)
    return _quietly(name, lambda: np.asarray(values, dtype=object) if as_they_are else np.asarray(values))


def _real(name: str, array: Any) -> None:
    if array.dtype.kind == "c":
        raise ArgumentError(f"Complex data not supported: {name} must hold real numbers.")


def _matrix(frame: Any) -> Array:
    if min(frame.shape) < 1:
        raise ArgumentError(f"X must have at least one row and one column; got shape {frame.shape}.")
    matrix = np.empty(frame.shape)
    for place in range(frame.shape[1]):
        matrix[:, place] = _quietly("X", partial(_column, frame[:, place].to_native(), place))
    return matrix


def _column(column: Any, place: int) -> Array:
    count, read = open_column(f"X[{place}]", _CELL, column)
    cells = read(0, count)
    if isinstance(cells, Repeated):
        return to_floats([*cells.distinct, None])[cells.index]
    return to_floats(cells)


def numbers(matrix: NDArray[Any]) -> Array:
    """Return a new array of floats, NaN where a cell is no number."""
    with np.errstate(all="ignore"):
        return np.array(to_floats(numpy_cells(matrix.reshape(-1))), dtype=np.float64).reshape(matrix.shape)


def _quietly(name: str, work: Callable[[], Made]) -> Made:
    """Run `work`; an error of another library is replaced by one that quotes nothing and is chained to nothing."""
    fault = ""
    try:
        return work()
    except SfumatoError:
        raise
    except Exception as error:
        fault = type(error).__name__
    raise ArgumentError(
        f"{name} could not be read: it failed with {fault}; the message is withheld, as it may quote a cell."
    )
