"""Derivatives of the scalar-link losses for the compiled kernels: a number for the loss, three for its parameters.

Each is the formula of the loss's own `derivative`, which the reference engine uses; a test holds the two together. A value
that could leave the declared bound by a rounding is clipped to it here too: the bound is what the price rests on.
"""

from __future__ import annotations

import math
from typing import Any

import numba

from sfumato.models.losses.scalar_link import ScalarLink

# A compiler may reorder sums and contract products, which moves a dot product by roundings that are charged; it must keep
# infinities and NaN, so "fast" as a whole is not allowed.
FAST = {"reassoc", "contract", "nsz", "arcp"}


@numba.njit(inline="always", fastmath=FAST)
def slope(code: int, u: float, y: float, first: float, second: float) -> float:
    """phi'(u, y) of the loss with this code."""
    if code == 0:  # logistic
        return -y / (1.0 + math.exp(y * u)) if y * u < 700.0 else 0.0
    if code == 1:  # Huber: first = clip
        return min(max(u - y, -first), first)
    if code == 2:  # smoothed hinge: first = width
        return -y * (min(max(1.0 - y * u, 0.0), first) / first)
    if code == 3:  # hinge
        return -y if y * u < 1.0 else 0.0
    if code == 4:  # quantile: first = level
        return -first if u < y else 1.0 - first
    if code == 5:  # smoothed quantile: first = level, second = width
        return min(max((u - y) / second, -first), 1.0 - first)
    if code == 6:  # Poisson: first = clip
        return min(max(math.exp(min(u, 700.0)) - y, -first), first)
    if code == 7:  # cloglog, labels 0 and 1: first = clip
        rate = math.exp(min(u, 700.0))
        if y > 0.5:
            steep = rate / math.expm1(rate) if 0.0 < rate < 700.0 else (0.0 if rate >= 700.0 else 1.0)
            return -min(first, steep)
        return min(first, rate)
    # clipped probit: first = clip; the ratio phi(v)/Phi(v) by its asymptotic series far on the left, where the next term
    # is below a rounding.
    v = y * u
    if v < -37.0:
        w = 1.0 / (v * v)
        ratio = -v * (1.0 + w * (1.0 - w * (2.0 - w * (10.0 - w * (74.0 - w * 706.0)))))
    else:
        ratio = math.exp(-0.5 * v * v) / (math.sqrt(2.0 * math.pi) * 0.5 * math.erfc(-v / math.sqrt(2.0)))
    return -y * min(first, ratio)


# Name of the loss -> its code and the attributes that are its parameters.
CODES: dict[str, tuple[int, tuple[str, ...]]] = {
    "logistic": (0, ()),
    "huber": (1, ("clip",)),
    "smoothed-hinge": (2, ("width",)),
    "hinge": (3, ()),
    "quantile": (4, ("quantile",)),
    "smoothed-quantile": (5, ("quantile", "width")),
    "clipped-poisson": (6, ("clip",)),
    "clipped-cloglog": (7, ("clip",)),
    "clipped-probit": (8, ("clip",)),
}


def compiled(loss: Any) -> tuple[int, float, float] | None:
    """Code and parameters of a loss that the kernels know; None for any other, which the reference engine serves."""
    entry = CODES.get(loss.name)
    # A user's own loss may bear any name; its slope is its own function, whatever it is called.
    if entry is None or isinstance(loss, ScalarLink):
        return None
    values = [float(getattr(loss, key)) for key in entry[1]] + [0.0, 0.0]
    return entry[0], values[0], values[1]
