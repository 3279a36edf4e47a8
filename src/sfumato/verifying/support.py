"""Draws, transcripts and totals that the plan could have released: finite, in the model's domain, on their public grid.

Which grid a draw lies on follows from the plan alone: `grids` has the one-dimensional grids and lattices of families, and
here are the endings of chains and the lattices of Gibbs models. A plan that keeps nothing back of a path without its
transcript has no grid: its averages need only be finite and in the domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids.line import multiples
from sfumato.mechanisms import _converged, _envelope, _gibbs, _kinked, langevin_path, noisy_statistics, retold
from sfumato.models.families._normal import Location
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.families.family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.models.grouped import Grouped
from sfumato.models.priors import Ball, Box
from sfumato.samplers import support as grids
from sfumato.samplers.langevin import ending_grid
from sfumato.verifying.ranges import within_range
from sfumato.verifying.record import Record, require

# Positions on a lattice are computed with floats, and elsewhere perhaps rounded otherwise: this share of a step is allowed.
_OFF = 1e-6
# Norms are summed in an order that may differ from machine to machine.
_ROUNDING = 1e-9
# Points along a side of a lattice or grid; plans have at most 2^14, and floats tell 2^16 of them well apart.
_MOST_POINTS = 1 << 16


def check_kept(record: Record) -> None:
    """A transcript leads to the released averages; totals lie on their grid; both are there exactly if the plan keeps them."""
    require(retold(record.plan, record.model, record.release.draws), "transcript or totals")


def check_draws(record: Record) -> None:
    """Every draw is one that the plan could have made."""
    draws = record.release.draws
    values = draws.values.reshape(draws.shape[0] * draws.shape[1], -1)
    require(bool(np.isfinite(values).all()), "draws (finite numbers)")
    possible = _gibbs_draws if isinstance(record.model, Gibbs) else _family_draws
    require(possible(record.plan, record.model, values), "draws (on their public grid, in their domain)")


# --- families --------------------------------------------------------------------------------------------------------


def _family_draws(plan: Mapping[str, Any], model: Family, values: Array) -> bool:
    n, numbers = plan["n"], plan["parameters"]
    if not model.drawn:
        return _estimates(model, n, numbers["noise"], values)
    nothing = [Fraction(0)] * len(model.units)
    power, strength = float(numbers.get("power", 1.0)), float(numbers.get("strength", 1.0))
    if isinstance(model, Location) and not within_range(model, n, power, strength, values):
        return False
    if plan["mechanism"] != noisy_statistics.NAME:
        return grids.on_grid(model.law(nothing, n, numbers["power"], numbers["strength"]), values)
    if isinstance(model, Grouped) and not model.priced:
        # The grid of a group follows from its noisy size, which is not released.
        inner = model.model.law([Fraction(0)] * len(model.model.units), n)
        parts, own = np.split(values, len(model.levels), axis=1), model.model
        if isinstance(own, Location) and not all(within_range(own, n, 1.0, 1.0, part, False) for part in parts):
            return False
        return all(grids.in_support(inner, part) for part in parts)
    return grids.on_grid(model.law(nothing, n), values)


def _estimates(model: Family, n: int, noise: float, values: Array) -> bool:
    """Estimates made from one set of noisy totals: all draws are the same."""
    if not (values == values[0]).all():
        return False
    if isinstance(model, BoundedMean):
        return _from_total(model, n, noise, float(values[0, 0]))
    if isinstance(model, Grouped) and isinstance(
        model.model, BoundedMean
    ):  # totals are clipped to what a group can have
        return bool(((values >= model.model.lower) & (values <= model.model.upper)).all())
    return False


def _from_total(model: BoundedMean, n: int, noise: float, value: float) -> bool:
    """Whether some total on its grid, put through the same exact arithmetic, gives this mean."""
    grid = noisy_statistics.spacing(float(Fraction(float(noise)) * Fraction(model.sensitivity)))
    low, width = Fraction(model.lower), Fraction(model.upper) - Fraction(model.lower)
    place = round((Fraction(value) - low) * n / width / grid)
    return any(model.estimate([(place + shift) * grid], n) == [value] for shift in (-1, 0, 1))


# --- Gibbs models ----------------------------------------------------------------------------------------------------


def _gibbs_draws(plan: Mapping[str, Any], model: Gibbs, values: Array) -> bool:
    n, numbers = plan["n"], plan["parameters"]
    if plan["mechanism"] == langevin_path.NAME:
        return _inside(model, values, 0.0)
    power = float(numbers["power"])
    if not 1 <= numbers.get("points", 1) <= _MOST_POINTS:
        return False
    if _converged.LENGTH in numbers:
        grid = _converged.ending_grid(model, n, power)
        return multiples(values, grid) and _inside(model, values, grid * math.sqrt(values.shape[1]))
    if "steps" in numbers:
        return _chain_endings(model, n, power, float(numbers["step"]), values)
    if plan["mechanism"] != "exponential":
        return _kinked_points(_kinked.bounded(model, n, power), int(numbers["points"]), values)
    if "trials" in numbers:
        shape = _envelope.envelope(model, n, power)
        last = np.array(shape.steps)
        steps = _on_lattice(values, np.array(shape.lower), np.array(shape.spacing), last)
        return steps and _inside(model, values, math.hypot(*shape.spacing))
    lower, upper = _sides(model.prior, values.shape[1])
    last = np.full(values.shape[1], int(numbers["points"]) - 1)
    return _on_lattice(values, lower, (upper - lower) / np.maximum(last, 1), last) and _inside(model, values, 0.0)


def _chain_endings(model: Gibbs, n: int, power: float, step: float, values: Array) -> bool:
    """Multiples of the grid of the last normal, or points that were projected to the edge of the domain."""
    grid, prior = float(ending_grid(step)), model.prior
    if isinstance(prior, Box):
        lower, upper = np.array(prior.lower), np.array(prior.upper)
        edge = (values == lower) | (values == upper)
        inside = (values >= lower) & (values <= upper)
        return bool((edge | (inside & (np.rint(values / grid) * grid == values))).all())
    radius = prior.radius if isinstance(prior, Ball) else _gibbs.projection_radius(model, n, power)
    centre = (prior.centre if isinstance(prior, Ball) else prior.start) or (0.0,)
    norms = np.linalg.norm(values - np.array(centre), axis=1)
    on_edge = np.abs(norms - radius) <= _ROUNDING * radius
    on_grid = (np.rint(values / grid) * grid == values).all(axis=1)
    return bool((on_edge | (on_grid & (norms <= radius))).all())


def _kinked_points(window: Gibbs, points: int, values: Array) -> bool:
    """Middles of the cells of an interval; in two dimensions points of the fine grid inside the cells of a box."""
    lower, upper = _sides(window.prior, values.shape[1])
    finer = 1 if values.shape[1] == 1 else 1 << _kinked.FINE
    width = (upper - lower) / points / finer
    return _on_lattice(values, lower + 0.5 * width, width, np.full(values.shape[1], points * finer - 1))


def _sides(prior: Any, dimension: int) -> tuple[Array, Array]:
    """Corners of the box, or of the cube around the ball."""
    if isinstance(prior, Ball):
        centre = np.zeros(dimension) if prior.centre is None else np.array(prior.centre)
        return centre - prior.radius, centre + prior.radius
    return np.array(prior.lower), np.array(prior.upper)


def _on_lattice(values: Array, lower: Array, spacing: Array, last: Array) -> bool:
    """Whether every value is lower + k spacing for a whole k from 0 to last, up to rounding errors."""
    places = (values - lower) / spacing
    whole = np.rint(places)
    # A float of this size cannot tell places apart that are closer than its own spacing.
    room = _OFF + 8 * np.spacing(np.abs(values) + np.abs(lower)) / spacing
    return bool(((np.abs(places - whole) <= room) & (whole >= 0) & (whole <= last)).all())


def _inside(model: Gibbs, values: Array, room: float) -> bool:
    """Whether values lie in the prior's domain, up to `room` and rounding errors."""
    away = np.abs(model.prior.project(values) - values)
    return bool((away <= room + _ROUNDING * np.abs(values) + 1e-300).all())
