"""What is said in place of an estimate where no number stands for a quantity: next to nothing is known, or only one end of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

EMPTY: Final = "not told from an empty group"
NOT_KNOWN: Final = "not known"
AT_MOST: Final = "at most"
AT_LEAST: Final = "at least"
# Part of all possible values, or of the prior's own interval, beyond which an interval says nothing.
WIDE = 0.8
_MEANING = {
    EMPTY: "the noise of the group's size is as large as the size, so that it may hold nobody",
    NOT_KNOWN: f"the interval takes more than {100 * WIDE:g} % of all that is possible",
    AT_MOST: "the lower bound itself is possible, of a rate or share none at all",
    AT_LEAST: "the upper bound itself is possible, of a rate or share all",
}


def state(estimate: float, lower: float, upper: float, possible: tuple[float, float], counted: bool) -> str:
    """What is said in place of an estimate whose parameter lies in `possible`; "" where the estimate stands.

    `counted`: it is a share or number of counted records. Their interval reaches a bound where none of them, or all, is
    possible; of other quantities noise can put the estimate itself there.
    """
    low, high = possible
    if math.isfinite(high - low) and upper - lower > WIDE * (high - low):
        return NOT_KNOWN
    if (lower if counted else estimate) <= low:
        return AT_MOST
    return AT_LEAST if (upper if counted else estimate) >= high else ""


def in_words(value: float, low: float, high: float, state: str, shown: Callable[[float], str]) -> str:
    """An estimate, or what is said in its place."""
    ends = {AT_MOST: high, AT_LEAST: low}
    return shown(value) if not state else f"{state} {shown(ends[state])}" if state in ends else state


def meaning(states: Iterable[str]) -> str:
    """What the words mean that stand in place of estimates, as a sentence; "" where every estimate stands."""
    met = set(states)
    said = [f'"{each}": {text}' for each, text in _MEANING.items() if each in met]
    return f"{'; '.join(said)}." if said else ""
