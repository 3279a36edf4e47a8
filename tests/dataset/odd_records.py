"""Cells and containers that no table should hold, made anew for each use: some are spent by being read once."""

from __future__ import annotations

import array
import datetime
import enum
import math
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf


def _fail(*_args: object, **_named: object) -> Any:
    raise RuntimeError("asked")


METHODS = ("__eq__", "__hash__", "__float__", "__int__", "__index__", "__bool__", "__len__", "__iter__", "__getitem__")
ASKED = dict.fromkeys((*METHODS, "__str__", "__repr__", "__array__", "__contains__", "__format__"), _fail)


class _Meta(type):
    """A class that can be neither compared nor hashed."""

    __eq__ = __hash__ = _fail


def raising(base: type, *given: Any) -> Any:
    """An instance of a subclass of `base` whose every method fails."""
    kept = {name: method for name, method in ASKED.items() if base is object or hasattr(base, name)}
    kept |= {name: _fail for name in ("tolist", "decode", "strip", "casefold", "astype", "item") if hasattr(base, name)}
    return type("Raising", (base,), kept)(*given)


def lying(name: str, answer: Any) -> Any:
    return type("Lying", (), {name: answer})()


def array_of(kind: type) -> Any:
    return np.ones(3).view(kind)


Pair = namedtuple("Pair", "a b")
RaisingArray = type("RaisingArray", (np.ndarray,), dict.fromkeys(("tolist", "__len__", "__getitem__", "item"), _fail))

ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "nan": lambda: math.nan,
    "infinity": lambda: math.inf,
    "beyond the bounds": lambda: 1e308,
    "minus zero": lambda: -0.0,
    "true": lambda: True,
    "numpy true": lambda: np.True_,
    "huge integer": lambda: 10**400,
    "decimal": lambda: Decimal("0.5"),
    "signalling decimal": lambda: Decimal("sNaN"),
    "fraction": lambda: Fraction(1, 3),
    "complex": lambda: 1 + 2j,
    "numpy complex": lambda: np.complex64(1 + 2j),
    "long double": lambda: np.longdouble("1e400"),
    "time span": lambda: np.timedelta64(1, "ns"),
    "date": lambda: datetime.datetime(2020, 1, 1),
    "numpy date": lambda: np.datetime64("2020-01-01"),
    "enumeration": lambda: enum.IntEnum("Level", "one two").one,
    "text": lambda: "abc",
    "numpy text": lambda: np.str_("1"),
    "empty text": lambda: "",
    "surrogate": lambda: "\ud800",
    "nul": lambda: "1\x00",
    "text beyond float": lambda: "1e400",
    "long text": lambda: "x" * 50_000,
    "bytes": lambda: b"1",
    "bytes that are no utf-8": lambda: b"\xff\xfe1",
    "byte array": lambda: bytearray(b"abc"),
    "memory view": lambda: memoryview(b"abc"),
    "masked": lambda: np.ma.masked,
    "masked array": lambda: np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "pandas NA": lambda: pd.NA,
    "pandas NaT": lambda: pd.NaT,
    "series": lambda: pd.Series([1.0, 2.0, 3.0]),
    "list of none": lambda: [None],
    "empty list": lambda: [],
    "short list": lambda: [1.0],
    "long list": lambda: [0.5] * 9,
    "nested list": lambda: [[1.0], [2.0], [3.0]],
    "pair": lambda: Pair(0.25, 0.5),
    "tuple": lambda: (1, 2, 3),
    "set": lambda: {1, 2, 3},
    "dict": lambda: {0: 1, 1: 2, 2: 3},
    "ordered dict": lambda: OrderedDict(a=1),
    "range": lambda: range(3),
    "deque": lambda: deque([1, 2, 3]),
    "typed array": lambda: array.array("d", [1.0, 2.0, 3.0]),
    "generator": lambda: (cell for cell in (1, 2, 3)),
    "zero-dimensional array": lambda: np.array(1.0),
    "empty array": lambda: np.empty(0),
    "array of one": lambda: np.array([1]),
    "array of texts": lambda: np.array(["a", "b", "c"]),
    "array of dates": lambda: np.array(["2020-01-01"] * 3, dtype="M8[D]"),
    "array of records": lambda: np.zeros(3, dtype="i4,i4"),
    "square array": lambda: np.ones((3, 3)),
    "matrix": lambda: np.ones((1, 3)).view(np.matrix),
    "array whose methods fail": lambda: array_of(RaisingArray),
    "object": object,
    "class": lambda: int,
    "function": lambda: _fail,
    "all methods fail": lambda: raising(object),
    "class that cannot be compared": _Meta("Odd", (), {}),
    "text whose methods fail": lambda: raising(str, "1"),
    "bytes whose methods fail": lambda: raising(bytes, b"1"),
    "number whose methods fail": lambda: raising(float, 1.0),
    "integer whose methods fail": lambda: raising(int, 1),
    "list whose methods fail": lambda: raising(list, [1, 2, 3]),
    "tuple whose methods fail": lambda: raising(tuple, (1, 2, 3)),
    "lies about its class": lambda: lying("__class__", str),
    "lies about its length": lambda: type("Lying", (list,), {"__len__": lambda self: 3})([1]),
    "fails to name its class": lambda: lying("__class__", property(_fail)),
    "warns": lambda: type("Warns", (float,), {"__float__": lambda self: np.float64(1)})(1.0),
    "equal to everything": lambda: lying("__eq__", lambda self, other: True),
    "schema": lambda: sf.Number(0, 1),
}
