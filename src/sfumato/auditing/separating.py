"""How far apart two neighbours are, without sampling: what a search for worst pairs makes as large as it can.

- Noisy totals: the distance of the totals over the declared sensitivity; noisy tables: their mu over the price.
- Draws of a family: sqrt(KL + KL reversed) of the two posteriors, which is mu where both are normal with one variance.
- Noisy gradients: the root mean square over a path without noise of the gradients' difference, over the declared one.
- Draws on grids and by trials: the range of the log ratio at points of the domain over the declared one, or gradients as above.
- Procedures that learn the shape first: the root of the sum of squares of every part's shift over its noise, over the price.

Where the procedure declares a sensitivity, 1 is what it allows; a larger number would be a violation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from sfumato.auditing import learnt_tables
from sfumato.auditing.pairs import Neighbours
from sfumato.dataset import Dataset
from sfumato.engines.opening import open_engine
from sfumato.engines.protocol import Array
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import chains, law, shape_first, shaped_chain, shaped_path
from sfumato.procedures.loss_values import unit_of, value_bound
from sfumato.shapes import symmetric

Separation = Callable[[Neighbours], float]
# Steps of the path without noise at which gradients are compared, beside its start: later points are close to the mode.
_POINTS = 6
# Dimensions up to which all 2^d corners of a domain are looked at.
_CORNERS = 8
# Curvature that stands for that of a kink, in units of the squared radius: it sets the length of the steps alone.
_KINK = 3.0


def separation_of(plan: Plan) -> Separation:
    """The separation of neighbours under this plan, by its procedure."""
    kinds: dict[str, Callable[[Plan, Neighbours], float]] = {
        "noisy-totals": _totals,
        "noisy-tables": _tables,
        "law": _laws,
        "lattice": _values,
        "envelope": _values,
        "shaped-path": _shaped,
        "shaped-chain": _shaped,
    }
    measure = kinds.get(plan.procedure, _gradients)
    if plan.procedure == "reference-chain" and "strength" not in dict(plan.parameters):
        measure = _values
    return lambda pair: measure(plan, pair)


# --- families ----------------------------------------------------------------------------------------------------------------


def _exact_totals(plan: Plan, data: Dataset) -> list[Any]:
    model: Any = plan.model
    return law.exact_totals(model, open_engine(data, model, ("totals",)))


def _totals(plan: Plan, pair: Neighbours) -> float:
    model: Any = plan.model
    first, second = (_exact_totals(plan, data) for data in (pair.first, pair.second))
    return math.hypot(*(float(a - b) for a, b in zip(first, second, strict=True))) / float(model.sensitivity)


def _tables(plan: Plan, pair: Neighbours) -> float:
    """Mu of all tables together over the price, part of which is that of choices."""
    engines = [open_engine(data, plan.model, ("totals",)) for data in (pair.first, pair.second)]
    return learnt_tables.moved_mu(plan.task, engines) / float(plan.guarantee.curve.mu or math.inf)


def _laws(plan: Plan, pair: Neighbours) -> float:
    """sqrt(J), J = KL + KL reversed."""
    model: Any = plan.model
    power, strength = float(plan["power"]), float(plan["strength"])
    totals = [_exact_totals(plan, data) for data in (pair.first, pair.second)]
    laws = [model.law(each, plan.n, power, strength) for each in totals]
    if hasattr(laws[0], "logs"):
        logs = [_log_shares(each.logs) for each in laws]
        return math.sqrt(float(((np.exp(logs[0]) - np.exp(logs[1])) * (logs[0] - logs[1])).sum()))
    naturals = [model.natural(np.array([[float(v) for v in each]]), plan.n, power, strength) for each in totals]
    gaps = model.divergence(*naturals) + model.divergence(*naturals[::-1])
    return math.sqrt(float(np.sum(gaps)))


def _log_shares(logs: Any) -> Array:
    """Log probabilities from log weights in units of 2^-48."""
    top = max(logs)
    relative = np.array([float(value - top) for value in logs]) * 2.0**-48
    return np.asarray(relative - math.log(math.fsum(np.exp(relative).tolist())))


# --- chains and paths --------------------------------------------------------------------------------------------------------


def _gradients(plan: Plan, pair: Neighbours) -> float:
    model: Any = plan.model
    first, second = (open_engine(data, model, ("gradients",)) for data in (pair.first, pair.second))
    points = _path(plan, first)
    gaps = first.gradient(points) - second.gradient(points)
    return float(np.sqrt(np.mean(np.sum(gaps**2, axis=1)))) / float(model.constants.difference)


def _path(plan: Plan, engine: Any) -> Array:
    """Points (points, d) that the chain visits without noise, at equal distances in steps; the last is near its end."""
    model: Any = plan.model
    numbers = dict(plan.parameters)
    power, n = float(numbers["power"]), plan.n
    theta = chains.public_start(model, 1, engine.dimension)
    if plan.procedure == "path":
        rate, times, weight = float(numbers["learning_rate"]) / n, int(numbers["steps"]), 1.0
    else:
        smooth = model.smoothness(n, power) if model.constants.smooth else n * power * model.loss.radius**2 * _KINK
        rate, times, weight = power / (smooth + model.prior.smoothness), int(numbers.get("steps", 64)), 1 / power
    every, visited = max(1, times // _POINTS), [theta]
    # Longer paths than this change little: the step is a fixed share of the smallest length scale.
    for done in range(1, min(times, 40 * _POINTS) + 1):
        theta = model.prior.project(theta - rate * (engine.gradient(theta) + weight * model.prior.gradient(theta)))
        if done % every == 0:
            visited.append(theta)
    return np.concatenate(visited)


# --- grids and trials --------------------------------------------------------------------------------------------------------


def _values(plan: Plan, pair: Neighbours) -> float:
    """Range over points of the domain of the difference of summed losses, over twice the declared bound."""
    model: Any = plan.model
    first, second = (open_engine(data, model, ("values",)) for data in (pair.first, pair.second))
    points, unit = _probes(model), unit_of(model)
    sums = [np.array(engine.values(points, unit, value_bound(model)), dtype=np.float64) for engine in (first, second)]
    gap = (sums[0] - sums[1]) * unit
    return float(gap.max() - gap.min()) / (2 * float(model.constants.bound))


def _probes(model: Any) -> Array:
    """Points of the domain: its middle, both ends of every axis and the corners, moved inside."""
    d, radius = int(model.dimension or 1), float(model.prior.domain_radius)
    # All corners in few dimensions; beyond, two opposite ones.
    signs = np.array(list(product((-1.0, 1.0), repeat=d))) if d <= _CORNERS else np.vstack([np.ones(d), -np.ones(d)])
    ends = radius * np.vstack([np.eye(d), -np.eye(d), signs])
    return np.asarray(model.prior.project(np.vstack([np.zeros((1, d)), ends, 0.5 * ends])))


# --- shape first -------------------------------------------------------------------------------------------------------------


def _shaped(plan: Plan, pair: Neighbours) -> float:
    """All parts together; the second data set is read through the map that follows from the first one's moments."""
    model: Any = plan.model
    numbers: Any = plan.parameters
    label = shape_first.label_column(model) if plan.procedure == "shaped-path" else None
    engines = [open_engine(data, model, ("gradients", "shapes")) for data in (pair.first, pair.second)]
    radius = math.hypot(model.loss.radius, shape_first.label_radius(label)) * (1 - 1e-15)
    moments = [symmetric.packed(engine.moments(radius, label) / plan.n) for engine in engines]
    parts = [float(np.linalg.norm(moments[0] - moments[1])) / numbers.moments_noise]
    if plan.procedure == "shaped-chain":
        known = shape_first.learnt(model, moments[0], numbers.moments_noise, shaped_chain.RULE, None)
    else:
        published = {"moments": moments[0]}
        if numbers.shares_noise is not None:
            around = shaped_path.learnt_from(plan.task, published)
            shares = [around.shares(engine) for engine in engines]
            parts.append(float(np.linalg.norm(shares[0] - shares[1])) / numbers.shares_noise)
            published["shares"] = shares[0]
        known = shaped_path.learnt_from(plan.task, published)
    weighed = [engine.weighed(known.shape.matrix, known.shape.rule.bend, known.loss) for engine in engines]
    slope = known.loss.largest_slope()
    theta = known.start + _shaped_path(plan, known, weighed[0]) @ known.shape.matrix
    gaps = (weighed[0].gradient(theta) - weighed[1].gradient(theta)) @ known.shape.matrix
    share = float(np.sqrt(np.mean(np.sum(gaps**2, axis=1)))) / (2 * slope)
    if plan.procedure == "shaped-chain":
        parts.append(share * numbers.chain_mu * math.sqrt(plan.draws))
        return math.hypot(*parts) / float(plan.guarantee.curve.mu or math.inf)
    parts.append(share * numbers.spend / plan.n)
    whole = numbers.score_matrix_noise is not None
    sums = [each.second_sums(known.start, whole) for each in weighed]
    units = model.loss.largest_curvature() / known.loss.largest_curvature() / plan.n
    parts.append(float(np.linalg.norm(sums[0][0] - sums[1][0])) * units / numbers.curvature_noise)
    scores = np.linalg.norm(sums[0][1] - sums[1][1]) if whole else abs(sums[0][2] - sums[1][2])
    parts.append(float(scores) / (slope**2 * plan.n) / float(numbers.score_matrix_noise or numbers.score_noise))
    return math.hypot(*parts) / float(plan.guarantee.curve.mu or math.inf)


def _shaped_path(plan: Plan, known: shape_first.Learnt, weighed: Any) -> Array:
    """Points (points, d), in mapped coordinates, of the path without noise; of a chain its start alone."""
    if plan.procedure == "shaped-chain":
        return np.zeros((1, len(known.start)))
    task: Any = plan.task
    matrix, slope, visited = known.shape.matrix, known.loss.largest_slope(), []

    def gradient(theta: Array, done: int) -> Array:
        visited.append(theta[0])
        return np.asarray(weighed.gradient(known.start + theta @ matrix) @ matrix / (plan.n * slope))

    shaped_path.recursion_of(task, known).run(gradient)
    return np.array(visited[:: max(1, len(visited) // _POINTS)])
