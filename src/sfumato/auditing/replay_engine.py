"""An engine that writes down every call: which sum, with which arguments, and its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.auditing.replay_noise import Array

# What procedures may ask of an engine (`engines.protocol`): public facts, and sums over the records.
_FACTS = ("n", "additions", "labels", "dimension")
_SUMS = ("totals", "gradient", "values", "moments", "residual_shares", "second_sums", "weighed")


@dataclass(frozen=True, eq=False)
class Call:
    """One call of an engine."""

    name: str
    arguments: tuple[Any, ...]
    result: Any


@dataclass(eq=False)
class RecordedEngine:
    """Any engine, and `calls`, every call in order, those of the weighed engines that it opens among them.

    Anything that is neither a public fact nor a sum is refused: a procedure reaches the records through sums alone.
    """

    engine: Any
    calls: list[Call] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        if name in _FACTS:
            return getattr(self.engine, name)
        if name not in _SUMS:
            raise AttributeError(f"a procedure asked its engine for {name!r}, which is no sum of the contract.")
        return self._recorded(name, getattr(self.engine, name))

    def _recorded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            arguments = tuple(_copied(each) for each in (*given, *(named[key] for key in sorted(named))))
            result = method(*given, **named)
            self.calls.append(Call(name, arguments, None if name == "weighed" else _copied(result)))
            return RecordedEngine(result, self.calls) if name == "weighed" else result

        return call

    @property
    def points(self) -> Array | None:
        """Where values were asked for last."""
        return next((call.arguments[0] for call in reversed(self.calls) if call.name == "values"), None)


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def first_difference(one: Sequence[Call], other: Sequence[Call], places: bool = True) -> str | None:
    """In words, the first call in which two runs differ: its name, its place, or what it was asked; None if there is none.

    Without `places` only the shapes of arrays are compared: for procedures that look at points which they do not release.
    """
    for number, (a, b) in enumerate(zip(one, other, strict=False), 1):
        if a.name != b.name:
            return f"call {number} is {a.name} in one run and {b.name} in the other"
        if not same(a.arguments, b.arguments, places):
            return f"call {number}, {a.name}, has other arguments"
    if len(one) != len(other):
        return f"one run has {len(one)} calls of the engine and the other {len(other)}"
    return None


def same(a: Any, b: Any, places: bool = True) -> bool:
    """Whether two arguments are the same to the last bit; without `places`, arrays need the same shape alone."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if np.shape(a) != np.shape(b):
            return False
        return not places or bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y, places) for x, y in zip(a, b, strict=True))
    if inspect.ismethod(a) and inspect.ismethod(b):
        # Methods of equal models are equal; Python compares the models by identity.
        return a.__func__ is b.__func__ and bool(a.__self__ == b.__self__)
    return bool(a == b)
