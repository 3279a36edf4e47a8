"""From cells to dates: rules that use one cell and public facts alone, and never raise."""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema import cells as rules
from sfumato.schema.date import EPOCH, FIRST, LAST
from sfumato.schema.date_format import DIGITS, LETTERS, day_reader

if TYPE_CHECKING:
    from sfumato.schema.encoding import Dates, Plain

# The integer by which numpy marks a datetime64 that is no date.
_NAT = np.iinfo(np.int64).min
# Units of datetime64 that are longer than a day, and the largest count of them that is surely a day of int64: a larger one
# would overflow when it is turned into days, and is no date.
_LONG_UNITS, _MOST = ("Y", "M", "W"), 10**9
# Units of which numpy cannot count a day; it can turn them into nanoseconds.
_SHORT_UNITS = ("ps", "fs", "as")
# Numbers from here on have seven or eight digits; days since 1970 get there in the year 4707.
_SEVEN_DIGITS = 10**6
# The name of the type of pandas' empty date, which is a datetime to Python; pandas itself is not imported.
_EMPTY_TYPE = "NaTType"


def to_days(cells: Plain, format: str) -> Dates:
    """Return the date of every cell as datetime64[D], NaT where there is none."""
    if isinstance(cells, np.ndarray):
        return from_numpy(cells) if cells.dtype.kind == "M" else _from_numbers(np.asarray(cells, np.float64), format)
    days = rules.codes(cells, lambda cell: _day(cell, format))
    return np.array(days, dtype=np.int64).view("M8[D]")


def from_numpy(array: NDArray[Any]) -> Dates:
    """Dates of a datetime64 array; the time of day is dropped. One that int64 cannot count in days is none."""
    unit, step = np.datetime_data(array.dtype)
    if unit == "generic":  # such an array holds no date but NaT
        return np.full(len(array), "NaT", dtype="M8[D]")
    if unit in _LONG_UNITS:
        native = array.astype(array.dtype.newbyteorder("="))
        far = np.abs(native.view(np.int64).astype(np.float64)) * step > _MOST
        array = np.where(far, np.datetime64("NaT"), native)
    if unit in _SHORT_UNITS:
        array = array.astype("M8[ns]")
    return array.astype("M8[D]")


def _from_numbers(numbers: NDArray[np.float64], format: str) -> Dates:
    """Days since 1970, or the dates that seven or eight digits spell."""
    inside = (numbers >= FIRST) & (numbers <= LAST)
    days = np.where(inside, np.floor(np.where(inside, numbers, 0.0)), _NAT).astype(np.int64)
    days[~inside] = _NAT
    if format in DIGITS:
        read = day_reader(format)
        for place in np.flatnonzero((numbers >= _SEVEN_DIGITS) & (numbers < 100 * _SEVEN_DIGITS)).tolist():
            days[place] = _spelled(float(numbers[place]), read)
    return days.view("M8[D]")


def _day(cell: object, format: str) -> int:
    """Days since 1970 of one cell, the mark of no date where it holds none. The known base type's own methods are used."""
    try:
        kind = type(cell)
        word = rules.text(cell)
        if word is not None:
            day = day_reader(format)(word) if len(word) <= LETTERS else None
            return _NAT if day is None else day - EPOCH
        if issubclass(kind, datetime.date):
            return _NAT if kind.__name__ == _EMPTY_TYPE else datetime.date.toordinal(cell) - EPOCH  # type: ignore[arg-type]
        if issubclass(kind, np.datetime64):
            return int(from_numpy(np.asarray(cell).reshape(1)).view(np.int64)[0])
        number = rules.number(cell)
        if math.isfinite(number):
            return int(_from_numbers(np.array([number]), format).view(np.int64)[0])
    except Exception:  # an object whose own methods fail
        return _NAT
    return _NAT


def _spelled(number: float, read: Any) -> int:
    """The date that the digits of a whole number spell, a leading zero restored."""
    day = read(f"{int(number):08d}") if number.is_integer() else None
    return _NAT if day is None else day - EPOCH
