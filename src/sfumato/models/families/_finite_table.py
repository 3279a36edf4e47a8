"""Checks of a finite family's arguments: points, levels, a table of log likelihoods, a prior, names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._log_weights import from_units, to_units

Table = tuple[tuple[float, ...], ...]
# Most entries of a table: each is a Python integer in every exact posterior.
_LARGEST_TABLE = 1 << 18


def read_points(grid: Any) -> Table:
    """Distinct points, each a tuple of as many coordinates."""
    # Adding 0.0 turns -0.0 into 0.0, so that equal points have equal documents.
    listed = [point if np.ndim(point) else (point,) for point in grid]
    points = tuple(tuple(_validate.finite("grid", value) + 0.0 for value in point) for point in listed)
    if not points or len({len(point) for point in points}) != 1 or not points[0]:
        raise ArgumentError("grid must list at least one point: numbers, or vectors of the same length.")
    if len(set(points)) != len(points):
        raise ArgumentError("grid must list every point once.")
    return points


def read_levels(levels: Sequence[Any]) -> tuple[Any, ...]:
    """At least two different levels."""
    named = tuple(levels)
    if len(named) < 2 or len(set(named)) != len(named):
        raise ArgumentError(f"levels must be at least two different categories; got {levels!r}.")
    return named


def read_table(given: Any, points: Table, levels: tuple[Any, ...]) -> Table:
    """The table, every entry a multiple of 2^-48; each row must be a law over the levels."""
    rows = [[given(_theta(point), level) for level in levels] for point in points] if callable(given) else given
    table = tuple(tuple(_log("log_likelihood", value) for value in row) for row in rows)
    if len(table) != len(points) or any(len(row) != len(levels) for row in table):
        raise ArgumentError(
            f"log_likelihood must be a table of {len(points)} rows, one per point of the grid, and {len(levels)} columns, one "
            "per level; give levels=[...] unless the records are a Boolean column (no, yes)."
        )
    if len(points) * len(levels) > _LARGEST_TABLE:
        raise ArgumentError(f"log_likelihood must have at most {_LARGEST_TABLE:,} entries.")
    for row, point in zip(table, points, strict=True):
        # 1e-6 accepts logarithms that were given with seven digits.
        total = math.fsum(math.exp(log) for log in row)
        if not abs(total - 1) < 1e-6:
            raise ArgumentError(
                f"the probabilities of all levels must sum to 1 at every point of the grid; at {shown(point)} they sum to "
                f"{total:.6g}. Give natural logarithms of probabilities."
            )
    return table


def _log(name: str, value: Any) -> float:
    log = -math.inf if value is None else _validate.real(name, value)
    # The computed logarithm of 1 may be slightly above 0.
    if log > 1e-9:
        raise ArgumentError(f"{name} must hold logarithms of probabilities, 0 or less; got {log!r}.")
    return log if math.isinf(log) else from_units(to_units(log)) + 0.0


def read_prior(given: Sequence[float] | None, size: int) -> tuple[float, ...]:
    """One probability per point, all the same by default."""
    if given is None:
        return (1.0 / size,) * size
    chances = tuple(_validate.probability("prior", value) for value in given)
    if len(chances) != size or not abs(math.fsum(chances) - 1) < 1e-9:
        raise ArgumentError(f"prior must be one probability per point of the grid ({size}), summing to 1.")
    return chances


def read_names(name: str | Sequence[str], size: int) -> tuple[str, ...]:
    """A name for every coordinate; one name for several is numbered."""
    if isinstance(name, str):
        return (name,) if size == 1 else tuple(f"{name}[{k}]" for k in range(size))
    if len(tuple(name)) != size:
        raise ArgumentError(f"name must be one text, or one per coordinate of a point ({size}); got {name!r}.")
    return tuple(name)


def _theta(point: tuple[float, ...]) -> Any:
    return point[0] if len(point) == 1 else np.array(point)


def shown(point: tuple[float, ...]) -> str:
    """A point, for messages."""
    return f"theta = {point[0]:g}" if len(point) == 1 else f"theta = ({', '.join(f'{v:g}' for v in point)})"
