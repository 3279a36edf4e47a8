"""Checks of arguments; each message names the argument, the rule and the value.

The values shown are parameters of the program, never cells of a table: the checks of data are in `schema`.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable

from sfumato.errors import ArgumentError

# Longer values are shown by their beginning. A whole number of more bits is shown by its size: Python refuses to write
# one of more than 4,300 digits.
_SHOWN, _BITS = 120, 256
# Characters that a terminal acts on instead of showing: controls (line ends, ESC), format characters (which reorder or
# hide text), lone surrogates, line and paragraph separators.
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Format characters that Persian and Indic scripts need inside words; they neither reorder nor hide anything.
_JOINERS = "\u200c\u200d"


def shown(value: object) -> str:
    """The value's repr for a message, shortened where it is long."""
    if isinstance(value, int) and value.bit_length() > _BITS:
        return f"a whole number of about {round(value.bit_length() * math.log10(2))} digits"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def invisible(text: str) -> bool:
    """Whether a text holds a control or format character, which a terminal interprets instead of showing it."""
    return not text.isprintable() and any(map(_acted_on, text))


def visible(text: str) -> str:
    """The text as one line, with control and format characters written as escapes.

    Names and levels in a release file are chosen by the author of the file. With a line end in one of them the file could
    print lines of its own, such as that it was verified.
    """
    if not invisible(text):
        return text
    return "".join(repr(letter)[1:-1] if _acted_on(letter) else letter for letter in text)


def _acted_on(letter: str) -> bool:
    return unicodedata.category(letter) in _INVISIBLE and letter not in _JOINERS


def real(name: str, value: object) -> float:
    """Return `value` as a float that is not NaN, or raise."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ArgumentError(f"{name} must be a real number; got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        raise ArgumentError(f"{name} must be below 1.8e308 in size, the largest float64; got {shown(value)}.") from None
    if math.isnan(number):
        raise ArgumentError(f"{name} must be a real number; got NaN.")
    return number


def finite(name: str, value: object) -> float:
    """Return `value` as a finite float, or raise."""
    number = real(name, value)
    if math.isinf(number):
        raise ArgumentError(f"{name} must be finite; got {number}.")
    return number


def positive(name: str, value: object) -> float:
    """Return `value` as a finite float above zero, or raise."""
    number = finite(name, value)
    if number <= 0:
        raise ArgumentError(f"{name} must be greater than 0; got {number!r}.")
    return number


def non_negative(name: str, value: object) -> float:
    """Return `value` as a finite float, zero allowed, or raise."""
    number = finite(name, value)
    if number < 0:
        raise ArgumentError(f"{name} must be 0 or greater; got {number!r}.")
    return number


def probability(name: str, value: object) -> float:
    """Return `value` as a float in [0, 1], or raise."""
    number = real(name, value)
    if not 0 <= number <= 1:
        raise ArgumentError(f"{name} must lie in [0, 1]; got {number!r}.")
    return number


def between(name: str, value: object, lower: float, upper: float) -> float:
    """Return `value` as a float strictly between `lower` and `upper`, or raise."""
    number = finite(name, value)
    if not lower < number < upper:
        raise ArgumentError(f"{name} must lie strictly between {lower:g} and {upper:g}; got {number!r}.")
    return number


def whole(name: str, value: object, minimum: int = 1, maximum: int | None = None, why: str = "") -> int:
    """Return `value` as an int of at least `minimum`, or raise; 3.0 and True are not whole numbers here.

    A `maximum` is given with the reason `why` it is one.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{name} must be a whole number of at least {minimum}; got {shown(value)}.")
    number = value.__index__()
    if number < minimum:
        raise ArgumentError(f"{name} must be a whole number of at least {minimum}; got {shown(number)}.")
    if maximum is not None and number > maximum:
        raise ArgumentError(f"{name} must be at most {maximum:,}: {why}; got {shown(number)}.")
    return int(number)


def records(name: str, value: object) -> int:
    """Return `value` as a number of records: whole, and small enough to enter a price exactly as a float64."""
    return whole(name, value, 1, 2**53, "larger counts are not exact in float64")


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, or raise with the list."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {shown(value)}.")
    return value


def document(value: object, where: str = "") -> None:
    """Refuse a whole number of more than 64 bits anywhere in a parsed document; TOML has none, and Python cannot print it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            document(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for inner in value:
            document(inner, where)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ArgumentError(f"{shown(where)[1:-1]} must fit in 64 bits; got {shown(value)}.")
