"""Exact draws of normal vectors on a public grid.

Law: coordinate i is the multiple of grid_i nearest to N(mean_i, deviation_i^2), with an exact rational mean.
Method: Karney's exact normal (`samplers.normal`), rounded in rational arithmetic; then the public basis is applied in
floats. Rounding and the basis are post-processing, so there is no error to charge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.laws import Normal
from sfumato.samplers.bits import BufferedBits
from sfumato.samplers.normal import rounded_normal


def draw_normal(law: Normal, draws: int, source: Any) -> Array:
    """Vectors (draws, coordinates): whole multiples of the grid, multiplied by the public basis where there is one."""
    bits = BufferedBits(source)
    parts = list(zip(law.mean, law.deviation, law.grid, strict=True))
    multiples = np.array(
        [[float(rounded_normal(bits, mean, width, grid) * grid) for mean, width, grid in parts] for _ in range(draws)]
    )
    return multiples if law.basis is None else np.asarray(multiples @ np.array(law.basis).T, dtype=np.float64)
