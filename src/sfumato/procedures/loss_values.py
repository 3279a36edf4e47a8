"""Sums of loss values in whole numbers: their unit, their bound, and how exact one record's value is.

What a record adds at a point theta is l(theta, x) - l(0, x), clipped to +-`value_bound` and rounded to a multiple of
`unit_of`: a replaced record then moves a sum by its own two terms, whatever the order of the rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.engines.protocol import Array, ValuesEngine
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import ROW, ScalarLinkLoss
from sfumato.procedures.domains import untruncated

# Digits kept of one record's value: sums of 2^26 records still fit 63 bits.
_DIGITS = 36
# Relative error of a computed loss value: a few elementary functions, with room.
VALUE_ERROR = 2.0**-42
# Two losses that are subtracted err by 16 roundings of the larger, at most; VALUE_ERROR is 2^11 roundings.
_CANCELLED = 2.0**-7
# Labels of an interval at which the loss is evaluated for its size: the ends, between which the built-in losses are largest, and
# a few more.
_LABELS = 17
# Units of a logarithm in a finite law (models.laws.Finite).
LOG_UNITS = 1 << 48


def value_bound(model: Gibbs) -> float:
    """Bound on |l(theta, x) - l(0, x)|; of a mean's loss, on what depends on the record."""
    steep = model.loss.radius if model.loss.record == ROW else model.constants.lipschitz
    return float(steep * model.prior.domain_radius)


def unit_of(model: Gibbs) -> float:
    """The public unit of loss values, a power of two."""
    return 2.0 ** (math.frexp(value_bound(model))[1] - _DIGITS)


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
    usual = (1 + label) * (1 + scores) + value_bound(model) + math.log(getattr(model.loss, "classes", 2))
    return max(usual, _CANCELLED * _largest_loss(model, scores, label)) if math.isfinite(usual) else usual


def _largest_loss(model: Gibbs, scores: float, label: float) -> float:
    """Largest |l| of a loss of one score, of which values are differences: it may be far larger than they are (Huber: c^2/2).

    Convex losses are largest at the ends of the scores. Labels are at most `label` in size. Other losses give 0: theirs are no
    larger than what `magnitude` counts.
    """
    loss = model.loss
    if not isinstance(loss, ScalarLinkLoss):
        return 0.0
    domain = loss.label_domain
    if isinstance(domain, LabelInterval):
        labels = np.linspace(max(domain.lower, -label), min(domain.upper, label), _LABELS)
    else:
        labels = np.array(domain.values)
    with np.errstate(all="ignore"):
        sizes = np.abs(loss.value(*np.meshgrid([-scores, 0.0, scores], labels)))
    return float(sizes.max()) if np.isfinite(sizes).all() else math.inf


def potential(
    model: Gibbs,
    n: int,
    power: float,
    points: Array,
    engine: ValuesEngine,
    bound: float | None = None,
    reach: float | None = None,
) -> Array:
    """U_D less its part at 0, at each of (points, d), in floats: the whole-number sums, and the public terms of the prior.

    `bound` and `reach` are those of `ValuesEngine.values`.
    """
    unit = unit_of(model)
    totals = engine.values(points, unit, value_bound(model) if bound is None else bound, reach)
    return np.array(totals, dtype=np.float64) * (power * unit) + public_terms(model, n, power, points)


def public_terms(model: Gibbs, n: int, power: float, points: Array) -> Array:
    """The part of U_D that no record decides: minus the log prior, and for the loss of a mean n power |theta|^2/2."""
    prior: Any = untruncated(model)
    away = points - (0.0 if prior.start is None else np.array(prior.start))
    public: Array = 0.5 * (away * prior.gradient(points)).sum(axis=1)
    if model.loss.record == ROW:
        public = public + 0.5 * power * n * (points * points).sum(axis=1)
    return public


def log_weights(power: float, unit: float, totals: list[int], public: Array) -> tuple[int, ...]:
    """Minus U_D in whole multiples of 1/LOG_UNITS, exact but for one rounding of each of the two parts."""
    scale = Fraction(power) * Fraction(unit) * LOG_UNITS
    return tuple(
        -round(scale * total) - round(base * LOG_UNITS) for total, base in zip(totals, public.tolist(), strict=True)
    )
