"""Joint laws of a few columns of a network: the others are summed out one by one, the cheapest first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.models.families.family import Array
from sfumato.models.networks._tables import Factor

# Most cells of an intermediate table: 32 MB of floats.
LARGEST = 1 << 22

Part = tuple[tuple[str, ...], Array]


class TooLarge(ArgumentError):
    """An intermediate table would be too large."""


def joint(factors: Sequence[Factor], wanted: Sequence[str]) -> Array:
    """Joint law of the wanted columns, one axis each in the order given."""
    laws = {factor.column: factor for factor in factors}
    needed = _ancestors(laws, wanted)
    sizes = {name: laws[name].values.shape[-1] for name in needed}
    parts: list[Part] = [((*laws[name].parents, name), laws[name].values) for name in needed]
    left = [name for name in needed if name not in wanted]
    while left:
        name = min(left, key=lambda column: _cost(parts, column, sizes))
        left.remove(name)
        touched = [part for part in parts if name in part[0]]
        columns, values = _product(touched, sizes)
        summed = (tuple(c for c in columns if c != name), values.sum(axis=columns.index(name)))
        parts = [part for part in parts if name not in part[0]] + [summed]
    columns, values = _product(parts, sizes)
    return np.asarray(np.transpose(values, [columns.index(name) for name in wanted]), dtype=np.float64)


def _ancestors(laws: dict[str, Factor], wanted: Sequence[str]) -> list[str]:
    """The wanted columns and all their ancestors; the laws of all other columns sum to 1."""
    needed, waiting = list[str](), list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in laws:
            raise ArgumentError(f"the model has no law of column {name!r}; it has one of {', '.join(laws)}.")
        if name not in needed:
            needed.append(name)
            waiting += laws[name].parents
    return needed


def _cost(parts: Sequence[Part], name: str, sizes: dict[str, int]) -> int:
    """Cells of the table in which this column would be summed out."""
    together = {column for columns, _ in parts if name in columns for column in columns}
    return math.prod(sizes[column] for column in together)


def _product(parts: Sequence[Part], sizes: dict[str, int]) -> Part:
    """Product of tables on the union of their columns."""
    columns = tuple(dict.fromkeys(name for listed, _ in parts for name in listed))
    if (cells := math.prod(sizes[name] for name in columns)) > LARGEST:
        raise TooLarge(f"this needs a table of {cells:,} cells on the way; at most {LARGEST:,}. Ask for fewer columns.")
    values = np.ones([sizes[name] for name in columns])
    for listed, part in parts:
        axes = sorted(range(len(listed)), key=lambda k: columns.index(listed[k]))
        shape = [sizes[name] if name in listed else 1 for name in columns]
        values = values * np.transpose(part, axes).reshape(shape)
    return columns, values
