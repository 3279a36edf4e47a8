"""Which losses the compiled kernels know: a number for the loss, two for its parameters.

The kernels' `slope` is the formula of the loss's own `derivative`, which the reference engine uses; a test holds the two
together. A value that could leave the declared bound by a rounding is clipped to it there too: the price rests on it.
"""

from __future__ import annotations

from typing import Any

from sfumato.models.losses.scalar_link import ScalarLink

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
