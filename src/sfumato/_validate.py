"""Checks of arguments: the message names the argument, the rule and the value, and never guesses.

Values shown here are parameters of the program, never cells of a table: checks on data have their own vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sfumato.errors import ArgumentError


def real(name: str, value: object) -> float:
    """Return `value` as a float that is not NaN, or raise."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ArgumentError(f"{name} must be a real number; got {value!r}.")
    number = float(value)
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


def whole(name: str, value: object, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`, or raise; 3.0 and True are not whole numbers here."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{name} must be a whole number of at least {minimum}; got {value!r}.")
    number = value.__index__()
    if number < minimum:
        raise ArgumentError(f"{name} must be a whole number of at least {minimum}; got {number}.")
    return int(number)


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, or raise with the list."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return value
