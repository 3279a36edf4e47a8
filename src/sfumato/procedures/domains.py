"""Public boxes, balls and lattices of Gibbs models: their corners, and whether released points lie in or on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.engines.protocol import Array
from sfumato.models.gibbs import Gibbs
from sfumato.models.priors import Ball

# Positions on a lattice are computed in floats, on another machine perhaps rounded otherwise: this share of a step is allowed.
_OFF = 1e-6
# Norms are summed in an order that may differ from machine to machine.
ROUNDING = 1e-9


def untruncated(model: Gibbs) -> Any:
    """The prior without the ball or box that it may be truncated to."""
    return getattr(model.prior, "prior", model.prior)


def corners(prior: Any, dimension: int) -> tuple[Array, Array]:
    """Lower and upper corners of a box, or of the cube around a ball."""
    if isinstance(prior, Ball):
        centre = np.zeros(dimension) if prior.centre is None else np.array(prior.centre)
        return centre - prior.radius, centre + prior.radius
    return np.array(prior.lower), np.array(prior.upper)


def sides(model: Gibbs) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Lower corner and widths of the box, or of the cube around the ball."""
    prior = model.prior
    lower, upper = (tuple(side.tolist()) for side in corners(prior, model.dimension or 1))
    if isinstance(prior, Ball):
        return lower, (2 * prior.radius,) * len(lower)
    return lower, tuple(high - low for low, high in zip(lower, upper, strict=True))


def on_lattice(values: Array, lower: Array, spacing: Array, last: Array) -> bool:
    """Whether every value is lower + k spacing for a whole k from 0 to last, up to rounding errors."""
    places = (values - lower) / spacing
    whole = np.rint(places)
    # A float of this size cannot tell places apart that are closer than its own spacing.
    room = _OFF + 8 * np.spacing(np.abs(values) + np.abs(lower)) / spacing
    return bool(((np.abs(places - whole) <= room) & (whole >= 0) & (whole <= last)).all())


def inside(model: Gibbs, values: Array, room: float) -> bool:
    """Whether values lie in the prior's domain, up to `room` and rounding errors."""
    away = np.abs(model.prior.project(values) - values)
    return bool((away <= room + ROUNDING * np.abs(values) + 1e-300).all())
