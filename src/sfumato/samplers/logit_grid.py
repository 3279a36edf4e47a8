"""Exact draws of log odds t with a normal prior, on the public grid of log odds.

Law: the probability of a cell is the integral over it of exp(-ones log(1 + e^-t) - zeros log(1 + e^t) - precision
(t - centre)^2/2), normalised.
Method: cells are integrated by Gauss-Legendre in t, where the density is log-concave, from its form about the mode t0. With
p = 1/(1 + e^-t0) and d = t - t0 the derivative of the log density vanishes at t0, so that

    log density = total (p d - log(1 + p (e^d - 1))) - precision d^2/2,

in which no large numbers cancel, however many records there are.
Error: `mass_error`, from public numbers; the price includes it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.families import _logit
from sfumato.models.families.logit_normal import FARTHEST_CENTRE, LARGEST_WEIGHT, SMALLEST_PRECISION
from sfumato.models.laws import LogitNormal
from sfumato.samplers.grid import Integers, Masses, draw_cells, integer_weights, log_masses

# Up to this weight an error of 1e-9 is stated; beyond, 1e-8, since the rounding error of the mode grows with the weight.
_LIGHT = 1e7
# Quadrature nodes for cells of at most this width, in units of the narrowest law's deviation.
_NODES = ((0.06, 8), (0.25, 16), (math.inf, 32))


def mass_error(law: LogitNormal) -> float:
    """Bound on the relative error of every cell mass, for every count: from the public fields of the law."""
    weight = max(law.total, law.precision)
    if not weight <= LARGEST_WEIGHT:
        raise ArgumentError(
            f"a draw on the grid needs n and the prior's precision to be at most {LARGEST_WEIGHT:g}; got {weight:g}."
        )
    if not (law.precision >= SMALLEST_PRECISION and abs(law.centre) <= FARTHEST_CENTRE):
        raise ArgumentError(
            f"a draw on the grid needs a precision of at least {SMALLEST_PRECISION:g} and a centre between -20 and 20; "
            f"got {law.precision:g} and {law.centre:g}."
        )
    return 1e-9 if weight <= _LIGHT else 1e-8


def log_error(law: LogitNormal) -> float:
    """A mass is off, and so is the sum that it is divided by: log((1 + eta)/(1 - eta))."""
    return 2 * math.atanh(mass_error(law)) * (1 + 1e-15)


def nodes_for(law: LogitNormal) -> int:
    """Quadrature nodes per cell, from the public width of a cell."""
    return next(nodes for widest, nodes in _NODES if law.geometry.width <= widest)


def masses(law: LogitNormal) -> Masses:
    """Log of the mass of every cell, up to a common constant."""
    mode = float(_logit.modes(np.array(law.ones), np.array(law.zeros), law.precision, law.centre))
    return log_masses(lambda d: shape(law, mode, d), mode, law.geometry.edges, nodes_for(law))


def shape(law: LogitNormal, mode: float, d: Array) -> Array:
    """Log density at distance d from the mode, relative to the mode, written from the side of the rarer outcome."""
    side = 1.0 if mode <= 0 else -1.0
    small = math.exp(-abs(mode))
    rare, common = small / (1 + small), 1 / (1 + small)
    x = side * d
    bend = np.log1p(rare * np.expm1(np.minimum(x, 30.0)))
    if x.max(initial=0.0) > 30.0:
        # Far out log(1 + p (e^x - 1)) is x + log p but for what e^-x adds, and e^x would overflow.
        bend = np.where(x <= 30.0, bend, x + math.log(rare) + np.log1p(common / rare * np.exp(-np.maximum(x, 30.0))))
    return np.asarray((law.ones + law.zeros) * (rare * x - bend) - 0.5 * law.precision * d * d)


def draw_log_odds(law: LogitNormal, draws: int, source: Integers) -> Array:
    """Log odds (draws, 1) drawn on the grid."""
    cells = draw_cells(integer_weights(masses(law)), source, draws)
    return law.geometry.middles[cells][:, None]
