"""The lattice of K shares above a floor: floor + (1 - K floor) j_i/steps, whole numbers j_i >= 0 that sum to `steps`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids.size import power_of_two

# Drawing sums over pairs of steps, so its time grows with their square.
_MOST_STEPS = 1 << 12
# Shares are computed in floats: a position may be off by this part of a step.
_OFF = 1e-6


def steps_for(weight: float) -> int:
    """Steps for a posterior of this total weight: 4 or more to its width 1/sqrt(weight), up to the largest number."""
    return power_of_two(4 * math.sqrt(weight), 1 << 10, _MOST_STEPS)


@dataclass(frozen=True)
class ShareLattice:
    """Points with K = `coordinates` shares of at least `floor`, in `size` steps."""

    coordinates: int
    floor: float
    size: int

    @property
    def values(self) -> Array:
        """The public values of one share, for j = 0, ..., `size`."""
        places = np.arange(self.size + 1) / self.size
        return np.asarray(self.floor + (1 - self.coordinates * self.floor) * places, dtype=np.float64)

    def holds(self, values: Array) -> bool:
        """Whether all rows are points of the lattice."""
        places = (values - self.floor) * self.size / (1 - self.coordinates * self.floor)
        whole = np.rint(places)
        inside = (np.abs(places - whole) <= _OFF) & (whole >= 0)
        return bool(inside.all() and (whole.sum(axis=1) == self.size).all())
