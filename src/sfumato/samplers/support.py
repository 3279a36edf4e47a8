"""The public grids of families: whether released values are among the points that a law can give.

Grid values that come from sines, roots or logarithms may differ in their last digits between machines; values may be off by
a billionth of a cell. Grids of whole multiples of a power of two are exact everywhere and are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.models import laws
from sfumato.samplers import beta_grid, gamma_grid, logit_grid

_SHARE_OF_A_CELL, _ROUNDING = 1e-9, 1e-12
# What is left of a stick may underflow after many breaks; below this its parts can no longer be told.
_TINY = 1e-280


def on_grid(law: laws.Law, values: Array) -> bool:
    """Whether values (draws, coordinates) are points of the law's grid; its private fields are not looked at."""
    if values.shape[1] != width(law):
        return False
    return _ON_GRID[type(law)](law, values)


def in_support(law: laws.Law, values: Array) -> bool:
    """Whether values are possible where the grid is not known: numbers of the right sign, within the law's bounds."""
    if values.shape[1] != width(law):
        return False
    if isinstance(law, laws.Gamma):
        low, high = (law.lower, law.upper) if law.closed else (0.0, np.inf)
        return bool(((values >= low * (1 - _ROUNDING)) & (values <= high * (1 + _ROUNDING)) & (values > 0)).all())
    if isinstance(law, laws.Normal):
        # Fewer records have a wider law on a coarser grid, whose points are all points of this one.
        return _normal(law, values)
    if isinstance(law, laws.Finite):
        return _finite(law, values)
    if isinstance(law, laws.Product):
        return all(in_support(part, columns) for part, columns in _parts(law, values))
    return True


def width(law: laws.Law) -> int:
    """How many coordinates a draw of the law has."""
    if isinstance(law, laws.Product):
        return sum(width(part) for part in law.parts)
    if isinstance(law, laws.Dirichlet):
        return 1 if law.single else len(law.cells)
    if isinstance(law, laws.Finite):
        return len(law.points[0])
    if isinstance(law, laws.Normal):
        return len(law.mean)
    return len(law.cells) if isinstance(law, laws.Lattice) else 1


def multiples(values: Array, grid: float | Array) -> bool:
    """Whether all values are whole multiples of a power of two; exact, since dividing by it changes no digit."""
    return bool((np.rint(values / grid) * grid == values).all())


def near(values: Array, grid: Array) -> bool:
    """Whether all values are among the rising numbers of a grid, but for a billionth of a cell."""
    right = np.clip(np.searchsorted(grid, values), 1, len(grid) - 1)
    low, high = grid[right - 1], grid[right]
    away = np.minimum(np.abs(values - low), np.abs(values - high))
    return bool((away <= _SHARE_OF_A_CELL * (high - low) + _ROUNDING * np.abs(values)).all())


def _dirichlet(law: laws.Dirichlet, values: Array) -> bool:
    grid = beta_grid.rate_grid(law.floor if len(law.cells) == 2 else 0.0, law.grid)
    if law.single:
        return near(values[:, 0], grid)
    if len(law.cells) == 2:
        return near(values[:, 0], grid) and bool((values[:, 1] == 1 - values[:, 0]).all())
    return _sticks(values, grid)


def _sticks(values: Array, grid: Array) -> bool:
    """Shares of a broken stick: each is a rate of the grid times all that it and the shares behind it sum to."""
    left = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    if not (np.abs(left[:, 0] - 1) <= _ROUNDING * values.shape[1]).all() or not (values >= 0).all():
        return False
    known = left[:, :-1] > _TINY
    return near((values[:, :-1][known] / left[:, :-1][known]), grid)


def _gamma(law: laws.Gamma, values: Array) -> bool:
    return near(values[:, 0], gamma_grid.gamma_grid(law))


def _finite(law: laws.Finite, values: Array) -> bool:
    points = set(law.points)
    return all(tuple(value) in points for value in values.tolist())


def _normal(law: laws.Normal, values: Array) -> bool:
    grid = np.array([float(each) for each in law.grid])
    if law.basis is None:
        return multiples(values, grid)
    basis = np.array(law.basis)
    places = np.linalg.solve(basis, values.T).T / grid
    # The product with the basis was rounded: where that is as coarse as the grid, nothing can be told.
    room = 1e-12 * np.linalg.norm(values, axis=1, keepdims=True) / grid
    return bool((np.abs(places - np.rint(places)) <= np.maximum(room, 1e-6)).all())


def _log_odds(law: laws.LogitNormal, values: Array) -> bool:
    return near(values[:, 0], logit_grid.values(law.total, law.precision, law.lower, law.upper))


def _lattice(law: laws.Lattice, values: Array) -> bool:
    """Shares floor + (1 - K floor) j/steps whose whole numbers j sum to the steps."""
    places = (values - law.floor) * law.steps / (1 - len(law.cells) * law.floor)
    whole = np.rint(places)
    inside = (np.abs(places - whole) <= 1e-6) & (whole >= 0)
    return bool(inside.all() and (whole.sum(axis=1) == law.steps).all())


def _product(law: laws.Product, values: Array) -> bool:
    return all(on_grid(part, columns) for part, columns in _parts(law, values))


def _parts(law: laws.Product, values: Array) -> list[tuple[laws.Law, Array]]:
    """Each part with its columns."""
    ends = np.cumsum([width(part) for part in law.parts])
    return list(zip(law.parts, np.split(values, ends[:-1], axis=1), strict=True))


_ON_GRID: dict[type, Callable[[Any, Array], bool]] = {
    laws.Dirichlet: _dirichlet,
    laws.Gamma: _gamma,
    laws.Finite: _finite,
    laws.Normal: _normal,
    laws.LogitNormal: _log_odds,
    laws.Lattice: _lattice,
    laws.Product: _product,
}
