"""Promises that are refused unless they are allowed by name (`allow_weak`), because they protect next to nobody.

One rule for plans, estimators, spec files and ledgers. A mechanism that publishes each of n records whole with probability
delta keeps (0, delta): at a delta of 1/(10 n) it publishes a record in about one run of ten. At an epsilon of 50 an attacker
who knows every other record is certain up to e^-50.
"""

from __future__ import annotations

import math
from typing import Protocol

from sfumato.errors import ArgumentError

LARGEST_EPSILON = 50.0
# Share of 1/n that a delta must stay below.
_SHARE = 10
# A ledger does not know n: its delta is at most 1/(10 n) of a data set of a hundred records.
LARGEST_LEDGER_DELTA = 1e-3
# What every form of a weak promise begins with.
NOTE = "Weak, as was asked for: epsilon is above 50, or delta is not below 1/(10 n)."
_ALLOW = "or allow it by name (allow_weak), which every form of the promise then states"


class Priced(Protocol):
    """A curve or a guarantee."""

    def delta(self, epsilon: float) -> float: ...


class Target(Protocol):
    """The largest price of a release (`calibrate.Target`)."""

    def weakness(self, n: int) -> str: ...


def of_point(epsilon: float, delta: float, n: int | None, whom: str = "records") -> str:
    """Why the promise (epsilon, delta) to n records is weak, and what to do instead; "" where it is not.

    `n` is None for a ledger; `whom` says what the records are.
    """
    if epsilon > LARGEST_EPSILON:
        return (
            f"epsilon = {epsilon:g} promises nothing to anybody: the largest is {LARGEST_EPSILON:g}. Choose one between 0.1 and "
            f"10 (a price list shows what each buys), {_ALLOW}."
        )
    if n is None:
        if delta <= LARGEST_LEDGER_DELTA:
            return ""
        many, below = f"each of the {whom}", f"of at most {LARGEST_LEDGER_DELTA:g}, and below 1/({_SHARE} n)"
    else:
        if _SHARE * n * delta < 1:
            return ""
        # The largest power of ten below 1/(10 n) by a margin.
        low = 10.0 ** -(math.ceil(math.log10(n)) + 2)
        many, below = f"each of {n:,} {whom}", f"below 1/({_SHARE} n), such as {low:.0e}"
    return f"delta = {delta:g} would allow {many} to be published whole with this probability. Choose a delta {below}, {_ALLOW}."


def of_curve(promise: Priced, n: int) -> str:
    """Why a whole curve is weak: it has no epsilon of at most 50 at any delta below 1/(10 n). "" where it has one."""
    left = promise.delta(LARGEST_EPSILON)
    if _SHARE * n * left < 1:
        return ""
    return (
        f"the price promises nothing to anybody: at epsilon {LARGEST_EPSILON:g} its delta is {left:.3g}, which is not below "
        f"1/({_SHARE} n). Choose a smaller price, {_ALLOW}."
    )


def needed(target: Target | None, price: Priced, n: int) -> bool:
    """Whether the promise of a plan is weak: by its target or, where none was asked for, by its price."""
    return bool(of_curve(price, n) if target is None else target.weakness(n))


def allowed(reason: str, allow_weak: object) -> bool:
    """Whether a promise is weak; one that is and was not allowed is refused with the reason."""
    if not isinstance(allow_weak, bool):
        raise ArgumentError(f"allow_weak must be True or False; got {allow_weak!r}.")
    if reason and not allow_weak:
        raise ArgumentError(reason)
    return bool(reason)
