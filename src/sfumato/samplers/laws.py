"""Exact draws from posterior laws, and the error of each that the price includes.

`draw(law, draws, source)` gives an array (draws, coordinates); `log_error(law)` bounds, from public numbers, how far the
logarithm of a drawn point's probability can be from that of the exact law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.models import laws
from sfumato.samplers import beta_grid, finite, gamma_grid, logit_grid, normal_vectors, simplex_lattice


def draw(law: laws.Law, draws: int, source: Any) -> Array:
    """Independent draws, each from its own randomness; the source gives whole numbers and bits."""
    return _DRAW[type(law)](law, draws, source)


def _draw_dirichlet(law: laws.Dirichlet, draws: int, source: Any) -> Array:
    """Stick-breaking: share i is what is left of the stick times a draw of Beta(cell_i, sum of the cells behind it).

    Each factor is a draw on the grid of rates, which is a post-processing of the exact draw.
    """
    cells, grid = law.cells, law.geometry.rates
    if len(cells) == 2:
        rate = beta_grid.draw_beta(cells[0], cells[1], law.weight, grid, draws, source)
        return rate[:, None] if law.single else np.stack([rate, 1 - rate], axis=1)
    behind = np.cumsum(cells[::-1])[::-1]
    left = np.ones(draws)
    shares = []
    for cell, rest in zip(cells[:-1], behind[1:], strict=True):
        part = beta_grid.draw_beta(cell, float(rest), law.weight, grid, draws, source)
        shares.append(left * part)
        left = left * (1 - part)
    return np.stack([*shares, left], axis=1)


def _draw_product(law: laws.Product, draws: int, source: Any) -> Array:
    return np.concatenate([draw(part, draws, source) for part in law.parts], axis=1)


_DRAW: dict[type, Callable[[Any, int, Any], Array]] = {
    laws.Dirichlet: _draw_dirichlet,
    laws.Gamma: lambda law, draws, source: gamma_grid.draw_gamma(law, draws, source)[:, None],
    laws.Finite: finite.draw_finite,
    laws.Normal: normal_vectors.draw_normal,
    laws.LogitNormal: logit_grid.draw_log_odds,
    laws.Lattice: simplex_lattice.draw_lattice,
    laws.Product: _draw_product,
}


def log_error(law: laws.Law) -> float:
    """Bound on |log of a drawn point's probability - log of its exact one|, from the public fields of the law."""
    return _ERROR[type(law)](law)


def _dirichlet_error(law: laws.Dirichlet) -> float:
    relative = beta_grid.mass_error(law.weight, law.smallest, law.grid)
    # log((1 + eta)/(1 - eta)) for each factor: a mass is off, and so is the sum that divides it.
    return 2 * math.atanh(relative) * (len(law.cells) - 1) * (1 + 1e-15)


def _product_error(law: laws.Product) -> float:
    # Parts that one record does not change are computed from the same numbers, so their masses cancel exactly.
    errors = sorted((log_error(part) for part in law.parts), reverse=True)
    return math.fsum(errors[: law.touched]) * (1 + 1e-15)


_ERROR: dict[type, Callable[[Any], float]] = {
    laws.Dirichlet: _dirichlet_error,
    laws.Gamma: lambda law: 2 * math.atanh(gamma_grid.mass_error(law)) * (1 + 1e-15),
    laws.Finite: lambda law: finite.LOG_ERROR,
    laws.Normal: lambda law: 0.0,  # exact, and rounding is post-processing
    laws.LogitNormal: logit_grid.log_error,
    laws.Lattice: simplex_lattice.log_error,
    laws.Product: _product_error,
}
