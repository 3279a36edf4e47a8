"""An exact draw of a Gibbs posterior in one or two dimensions: on a public lattice of the prior's domain.

The weights exp(-U) of the lattice's points ARE an exponential mechanism, whose base measure is the prior on those points:
whatever the lattice, the log ratio of two neighbours has the range that the loss's Delta gives. Loss values are summed as
whole numbers, so a replaced record moves a sum by its own two terms; what rounding adds to them is charged.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.models.gibbs import Gibbs
from sfumato.models.laws import Finite
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import ROW
from sfumato.models.priors import Ball
from sfumato.samplers.finite import LOG_ERROR, draw_finite

# Evaluations that a draw may ask for, and the points of an axis that they are spent on, for one dimension and for two.
_WORK = 400_000_000
_FEWEST, _MOST = {1: 257, 2: 33}, {1: 4097, 2: 129}
# Units of a logarithm in a finite law, and the digits kept of one record's value.
_LOGS, _DIGITS = 1 << 48, 36
# Relative error of a computed loss value: a few elementary functions, with room.
VALUE_ERROR = 2.0**-42


def refuses(model: Gibbs) -> str | None:
    """Return why no lattice serves this model, or None."""
    if not model.prior.truncated:
        return "its lattice needs a bounded domain: sf.priors.Ball(prior, radius=...)"
    if model.dimension is None:
        return "its lattice needs the dimension: sf.Gibbs(..., dimension=...)"
    if model.dimension > 2:
        return "all points of a lattice are drawn from in one or two dimensions only; beyond, a smooth loss is drawn by trials"
    return None


def axis_points(dimension: int, n: int) -> int:
    """How many points an axis has: an odd number, fewer the more records there are."""
    most = int((_WORK / n) ** (1 / dimension))
    return min(max(most, _FEWEST[dimension]), _MOST[dimension]) // 2 * 2 + 1


def value_bound(model: Gibbs) -> float:
    """Bound on |l(theta, x) - l(0, x)|; of a mean's loss, on what depends on the record."""
    steep = model.loss.radius if model.loss.record == ROW else model.constants.lipschitz
    return float(steep * model.prior.domain_radius)


def unit_of(model: Gibbs) -> float:
    """The public unit of loss values, a power of two."""
    return 2.0 ** (math.frexp(value_bound(model))[1] - _DIGITS)


def sensitivity(model: Gibbs, power: float) -> float:
    """Delta of the sums as they are computed: two terms of at most Delta between them, their roundings and the weights'."""
    reach, unit = value_bound(model), unit_of(model)
    # Terms are clipped to +-reach, so that no error of theirs can matter where Delta is already twice that.
    two = min(2 * reach, model.constants.bound + 2 * VALUE_ERROR * magnitude(model))
    return (max(two, model.constants.bound) + unit + 2 * LOG_ERROR / power) * (1 + 1e-14)


def magnitude(model: Gibbs) -> float:
    """Bound on every number that a value is computed from; infinite for labels without bound."""
    domain = getattr(model.loss, "label_domain", None)
    radius: float = getattr(model.loss, "radius", 1.0)
    scores = radius * model.prior.domain_radius
    limit = model.loss.label_limit(scores)
    label: float
    if limit is not None:
        label = limit * (1 + 1e-9)
    elif isinstance(domain, LabelInterval):
        label = max(abs(domain.lower), abs(domain.upper))
    else:
        label = 1.0
    return (1 + label) * (1 + scores) + value_bound(model) + math.log(getattr(model.loss, "classes", 2))


def points_of(model: Gibbs, per_axis: int) -> Any:
    """The lattice, shaped (points, d): as many per axis across the domain, and in it."""
    prior: Any = model.prior
    if isinstance(prior, Ball):
        centre = np.zeros(model.dimension or 1) if prior.centre is None else np.array(prior.centre)
        lower, upper = centre - prior.radius, centre + prior.radius
    else:
        centre, lower, upper = np.zeros(model.dimension or 1), np.array(prior.lower), np.array(prior.upper)
    axes = [np.linspace(low, high, per_axis) for low, high in zip(lower, upper, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    if isinstance(prior, Ball):
        points = points[np.linalg.norm(points - centre, axis=1) <= prior.radius]
    return points


def draw(model: Gibbs, n: int, power: float, per_axis: int, draws: int, engine: Any, randomness: Any) -> Any:
    """Independent points of the lattice, shaped (draws, d), by exact inversion of whole-number weights."""
    points, unit = points_of(model, per_axis), unit_of(model)
    totals = engine.values(points, unit, value_bound(model))
    inner = model.prior.prior  # type: ignore[attr-defined]
    away = points - (0.0 if inner.start is None else np.array(inner.start))
    public = 0.5 * (away * inner.gradient(points)).sum(axis=1)
    if model.loss.record == ROW:
        public = public + 0.5 * power * n * (points * points).sum(axis=1)
    scale = Fraction(power) * Fraction(unit) * _LOGS
    logs = tuple(
        -round(scale * total) - round(base * _LOGS) for total, base in zip(totals, public.tolist(), strict=True)
    )
    return draw_finite(Finite(logs, tuple(map(tuple, points.tolist()))), draws, randomness)
