"""Columns held in memory: a mapping from names to columns, and pandas-like data frames.

A data frame of Python objects is read cell by cell and not through its Arrow form: Arrow refuses a text among numbers,
with the text in the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.schema.columns import Column, Date
from sfumato.schema.encoding import Cells, Plain, Repeated
from sfumato.schema.identity import Identity
from sfumato.schema.read_arrow import check_type, column_cells
from sfumato.schema.schema import Schema
from sfumato.schema.structure import CHUNK_ROWS, places, same_length, shown_shape, wrong_type

# (number of rows, cells from start to stop)
Reader = tuple[int, Callable[[int, int], Cells]]

# Kinds of numpy dtypes that hold numbers, and those that hold texts or objects; names of pandas' own object dtypes.
_NUMBERS, _OBJECTS = "biuf", "OUST"
_PANDAS_OBJECTS = ("object", "category", "string", "str")


def is_dataframe(source: object) -> bool:
    """Whether this is a pandas-like data frame; pandas itself is not imported."""
    from narwhals.dependencies import is_pandas_like_dataframe

    return bool(is_pandas_like_dataframe(source))


def open_dataframe(frame: Any, schema: Schema) -> Iterator[Mapping[str, Cells]]:
    """Check names and dtypes; return the rows."""
    where = places(list(frame.columns), schema)
    series = {name: frame.iloc[:, place] for name, place in where.items()}
    return _rows({name: _series(name, schema.columns[name], values) for name, values in series.items()}, schema)


def open_columns(source: Mapping[Any, Any], schema: Schema) -> Iterator[Mapping[str, Cells]]:
    """Check names, types and lengths; return the rows."""
    places(list(source), schema)
    private = _by_person(schema)
    columns = {name: open_column(name, column, source[name], private) for name, column in schema.columns.items()}
    return _rows(columns, schema)


def open_column(name: str, column: Column, values: Any, private: bool = False) -> Reader:
    """Check one column: a list, a numpy array, an Arrow array, or a series of a data frame library.

    `private`: an error must not say how many rows there are.
    """
    from narwhals.dependencies import is_pandas_like_series

    if isinstance(values, list | tuple):
        return len(values), lambda start, stop: values[start:stop]
    if isinstance(values, np.ndarray):
        return _array(name, column, values, private)
    if is_pandas_like_series(values):
        return _series(name, column, values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return _arrow(name, column, values)
    raise ArgumentError(
        f"column {name!r} must be a list, a one-dimensional numpy array, an Arrow array or a series; "
        f"got {type(values).__name__}."
    )


def check_dtype(name: str, column: Column, dtype: np.dtype[Any]) -> None:
    """Refuse a numpy dtype that can hold no number, text or boolean, and for a Date or an id no date."""
    if dtype.kind not in _NUMBERS + _OBJECTS + "M" * isinstance(column, Date | Identity):
        raise wrong_type(name, column, str(dtype))


def numpy_cells(array: NDArray[Any]) -> Plain:
    """Return a one-dimensional numpy array of an accepted dtype as cells."""
    if array.dtype.kind == "M":
        return array
    if array.dtype.kind not in _NUMBERS:
        return list(array.tolist())
    with np.errstate(all="ignore"):  # a number beyond float64 becomes infinite, without a warning
        return array.astype(np.float64)


def _cells_of(column: Column, array: NDArray[Any]) -> Plain:
    """The cells of an array for a column; ids as exact numbers, where other whole numbers become floats."""
    return list(array.tolist()) if isinstance(column, Identity) and array.dtype.kind != "M" else numpy_cells(array)


def _array(name: str, column: Column, values: NDArray[Any], private: bool) -> Reader:
    if values.ndim != 1 or isinstance(values, np.ma.MaskedArray):
        what = "a masked array" if values.ndim == 1 else shown_shape(values, private)
        raise ArgumentError(f"column {name!r} must be a plain one-dimensional array; got {what}.")
    check_dtype(name, column, values.dtype)
    return len(values), lambda start, stop: _cells_of(column, values[start:stop])


def _arrow(name: str, column: Column, values: Any) -> Reader:
    import pyarrow as pa

    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.chunked_array(values)
    check_type(name, column, array.type)
    return len(array), lambda start, stop: column_cells(column, array.slice(start, stop - start))


def _series(name: str, column: Column, values: Any) -> Reader:
    _check_series(name, column, values.dtype)
    if hasattr(values.dtype, "pyarrow_dtype") or getattr(values.dtype, "storage", None) == "pyarrow":
        # pandas would decode the texts, and fail for all rows on one whose bytes are no UTF-8.
        return _arrow(name, column, values.array.__arrow_array__())
    if getattr(values.dtype, "tz", None) is not None:
        return _arrow(name, column, _zoned(values))
    if _is_categorical(values.dtype):
        return _categories(name, column, values)
    # pandas makes floats of its own whole numbers where one is missing, which would change the last digits of other ids.
    exact = isinstance(column, Identity) and not isinstance(values.dtype, np.dtype)

    def cells(start: int, stop: int) -> Plain:
        part = values.iloc[start:stop]
        return _cells_of(column, np.asarray((part.astype(object) if exact else part).to_numpy()))

    return len(values), cells


def _categories(name: str, column: Column, values: Any) -> Reader:
    """Read the categories of a series as a series of their own, and of them those that a run of rows has."""
    categories, codes = values.dtype.categories.to_series(), values.cat.codes.to_numpy()

    def cells(start: int, stop: int) -> Repeated:
        used, index = np.unique(codes[start:stop], return_inverse=True)
        count, read = _series(name, column, categories.iloc[used[used >= 0]])
        found, index = read(0, count), index - int((used < 0).sum())
        if isinstance(found, Repeated):
            return Repeated(found.distinct, np.where(index < 0, -1, np.append(found.index, -1)[index]))
        return Repeated(list(found), index)

    return len(values), cells


def _is_categorical(dtype: Any) -> bool:
    return hasattr(dtype, "categories") and hasattr(dtype, "ordered")


def _zoned(values: Any) -> Any:
    """Return a series with a time zone as an Arrow array: pandas fails for all rows on one that is too far from today."""
    import pyarrow as pa

    unit = values.dtype.unit
    zone = pa.lib.tzinfo_to_string(values.dtype.tz)
    return pa.array(values.to_numpy(dtype=f"M8[{unit}]"), pa.timestamp(unit, tz=zone))


def _check_series(name: str, column: Column, dtype: Any) -> None:
    """Refuse intervals, complex numbers and nested types by the dtype's name: a dtype's text may list levels."""
    if hasattr(dtype, "pyarrow_dtype"):
        check_type(name, column, dtype.pyarrow_dtype)
        return
    if _is_categorical(dtype):
        _check_series(name, column, dtype.categories.dtype)
        return
    kind = str(getattr(dtype, "kind", "O"))
    if kind == "M" and isinstance(column, Date | Identity):
        return
    if kind not in _NUMBERS + _OBJECTS or (kind == "O" and str(dtype.name) not in _PANDAS_OBJECTS):
        raise wrong_type(name, column, str(dtype.name))


def _rows(readers: dict[str, Reader], schema: Schema) -> Iterator[Mapping[str, Cells]]:
    count = same_length({name: length for name, (length, _) in readers.items()}, _by_person(schema))
    return _chunks(readers, count)


def _by_person(schema: Schema) -> bool:
    """Whether rows are gathered by their ids, so that their number is private."""
    return any(isinstance(column, Identity) for column in schema.columns.values())


def _chunks(readers: dict[str, Reader], count: int) -> Iterator[Mapping[str, Cells]]:
    for start in range(0, count, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, count)
        yield {name: cells(start, stop) for name, (_, cells) in readers.items()}
