"""The lattice of K shares above a floor: floor + (1 - K floor) j_i/steps, whole numbers j_i >= 0 that sum to `steps`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids import size

# Drawing sums over pairs of steps, so its time grows with their square.
_MOST_STEPS = 1 << 12
# Shares are computed in floats: a position may be off by this part of a step.
_OFF = 1e-6


def steps_for(weight: float) -> int:
    """Steps for a posterior of this total weight: 4 or more to its width 1/sqrt(weight), up to the largest number."""
    return size.power_of_two(4 * math.sqrt(weight), 1 << 10, _MOST_STEPS)


@dataclass(frozen=True)
class ShareLattice:
    """Points with `shares` coordinates of at least `floor`, in `steps` steps."""

    shares: int
    floor: float
    steps: int

    @property
    def coordinates(self) -> int:
        """Number of shares."""
        return self.shares

    @property
    def size(self) -> int:
        """Number of steps."""
        return self.steps

    @property
    def values(self) -> Array:
        """The public values of one share, for j = 0, ..., steps."""
        places = np.arange(self.steps + 1) / self.steps
        return np.asarray(self.floor + (1 - self.shares * self.floor) * places, dtype=np.float64)

    def holds(self, values: Array) -> bool:
        """Whether all rows are points of the lattice."""
        places = (values - self.floor) * self.steps / (1 - self.shares * self.floor)
        whole = np.rint(places)
        inside = (np.abs(places - whole) <= _OFF) & (whole >= 0)
        return bool(inside.all() and (whole.sum(axis=1) == self.steps).all())
