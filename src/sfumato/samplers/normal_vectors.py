"""Normal vectors on a public grid: every coordinate an exact rounded normal, its mean an exact fraction."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.laws import Normal
from sfumato.samplers.bits import BufferedBits
from sfumato.samplers.normal import rounded_normal


def draw_normal(law: Normal, draws: int, source: Any) -> Array:
    """Vectors (draws, coordinates): whole multiples of the grid, turned by the public basis where there is one.

    Rounding the continuous normal to the grid, and turning what was rounded, is post-processing.
    """
    bits = BufferedBits(source)
    parts = list(zip(law.mean, law.deviation, law.grid, strict=True))
    found = np.array(
        [[float(rounded_normal(bits, mean, width, grid) * grid) for mean, width, grid in parts] for _ in range(draws)]
    )
    return found if law.basis is None else np.asarray(found @ np.array(law.basis).T, dtype=np.float64)
