"""Probabilities of everything that one draw of a law can be, from the whole-number weights that its sampler draws by.

`factors(law)` splits a law into independent parts; `log_probabilities(part)` lists the log probability of every public point of
one part. The weights come from the functions that the sampler itself calls, so a fault of its quadrature, grid or rounding is
part of what is listed. A part of several normals is split into coordinates, whose rounded laws `normal_pair` integrates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.auditing.error_rates import Array
from sfumato.models import laws
from sfumato.samplers import beta_grid, finite, gamma_grid, logit_grid, simplex_lattice
from sfumato.samplers.grid import Masses, Weights, integer_weights

# Most points of a lattice of shares that are listed: a few seconds of work.
MOST_POINTS = 1 << 20
# A rounded normal is listed in this many runs of its cells, from 12 deviations below both means to 12 above (beyond: 4e-33).
# Runs are about 0.006 deviations wide; joining cells to a run lowers mu by about 2e-6 of itself.
_RUNS, _WIDTH = 4096, 24.0
# Normals that lie farther apart, in deviations, are not listed: 12 deviations beyond the other one a probability is no float.
MOST_APART = 24.0


def factors(law: laws.Law) -> tuple[laws.Law, ...]:
    """The independent parts of a law, in the order in which they are drawn.

    The shares of a Dirichlet with more than two cells are a function of its independent sticks, which are listed instead.
    """
    if isinstance(law, laws.Product):
        return tuple(factor for part in law.parts for factor in factors(part))
    if isinstance(law, laws.Dirichlet) and len(law.cells) > 2:
        behind = np.cumsum(law.cells[::-1])[::-1]
        sticks = zip(law.cells[:-1], behind[1:].tolist(), strict=True)
        return tuple(replace(law, cells=stick, floor=0.0, single=True) for stick in sticks)
    if isinstance(law, laws.Normal):
        return tuple(laws.Normal((m,), (s,), (g,)) for m, s, g in zip(law.mean, law.deviation, law.grid, strict=True))
    return (law,)


def is_listed(law: laws.Law) -> bool:
    """Whether all points of an independent part can be listed, or integrated in closed form."""
    if isinstance(law, laws.Lattice):
        return math.comb(law.steps + len(law.cells) - 1, len(law.cells) - 1) <= MOST_POINTS
    return isinstance(law, laws.Normal) or type(law) in _LISTED


def log_probabilities(law: laws.Law) -> Array:
    """Log probability of every point of the law's public grid, in the grid's order."""
    return _LISTED[type(law)](law)


def probabilities(weights: Weights) -> Array:
    """Probability of every cell: its whole number divided by the sum of all, rounded once."""
    total, inner = weights.total, weights.cumulative
    outside = weights.cells - len(inner)
    floor = (total - inner[-1]) // outside if outside else 0
    full = np.full(weights.cells, floor / total)
    before = [0, *inner[:-1]]
    full[weights.first : weights.first + len(inner)] = [(b - a) / total for a, b in zip(before, inner, strict=True)]
    return full


def _of_masses(masses: Masses) -> Array:
    return np.log(probabilities(integer_weights(masses)))


def _beta(law: laws.Dirichlet) -> Array:
    grid, (a, b) = law.geometry.rates, law.cells
    return _of_masses(beta_grid.beta_masses(a, b, beta_grid.nodes_for(law.weight, grid.size), grid))


def _shares(law: laws.Lattice) -> Array:
    """The coordinates are drawn one after the other: the probability of a point is the product of the conditional ones."""
    base = np.log(law.geometry.values)
    logs = [(cell - 1.0) * base for cell in law.cells]
    behind, shift, last = simplex_lattice.suffix_sums(logs), simplex_lattice.places_for(law), len(law.cells) - 2

    def listed(column: int, left: int) -> Array:
        """Log probabilities of all points of this and later columns, with so many units left to divide."""
        weights = logs[column][: left + 1] + behind[column][left::-1]
        digits, places = simplex_lattice.whole_weights(weights, shift)
        own = np.log(np.array(digits, dtype=np.float64)) + math.log(2) * (np.array(places) - max(places))
        own -= own.max() + math.log(np.exp(own - own.max()).sum())
        if column == last:
            return np.asarray(own)
        return np.concatenate([own[j] + listed(column + 1, left - j) for j in range(left + 1)])

    return listed(0, law.steps)


_LISTED: dict[type, Callable[[Any], Array]] = {
    laws.Dirichlet: _beta,
    laws.Gamma: lambda law: _of_masses(gamma_grid.gamma_masses(law, gamma_grid.nodes_for(law))),
    laws.LogitNormal: lambda law: _of_masses(logit_grid.masses(law)),
    laws.Finite: lambda law: _of_masses(finite.log_weights(law)),
    laws.Lattice: _shares,
}


def apart(first: laws.Normal, second: laws.Normal) -> float:
    """The distance of the means of two normals of one coordinate, in deviations of the first."""
    return abs(float(second.mean[0] - first.mean[0])) / first.deviation[0]


def normal_pair(first: laws.Normal, second: laws.Normal) -> tuple[Array, Array]:
    """Log probabilities of runs of cells of two rounded normals of one coordinate with the same deviation and grid.

    A rounded normal falls in cell j where the normal lies within half a step of j steps. The ends of the runs are ends of
    cells, and the outer two runs extend to infinity.
    """
    from scipy.special import ndtr

    (grid,), (deviation,) = first.grid, first.deviation
    step = float(grid) / deviation
    cells_of_run = max(1, round((_WIDTH + apart(first, second)) / _RUNS / step))
    middle = round((first.mean[0] + second.mean[0]) / 2 / grid) * grid + grid / 2
    offsets = (np.arange(_RUNS + 1) - _RUNS // 2) * (cells_of_run * step)
    listed = []
    for mean in (first.mean[0], second.mean[0]):
        ends = np.concatenate([[-np.inf], offsets + float(middle - mean) / deviation, [np.inf]])
        # The difference is taken between the smaller two tails, so that no digits cancel on the far side.
        low, high = np.where(ends[:-1] > 0, -ends[1:], ends[:-1]), np.where(ends[:-1] > 0, -ends[:-1], ends[1:])
        listed.append(np.log(ndtr(high) - ndtr(low)))
    return listed[0], listed[1]
