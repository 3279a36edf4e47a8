"""Exact draws of Gibbs posteriors with kinks in one or two dimensions, under the sharp theorem.

One dimension: the summed loss is read at public nodes and joined by lines; cells are drawn with their masses. Two: coarse
cells of a box are drawn by their centres, then a point of a fine grid inside by rejection, with a public number of trials.
A prior that is not truncated gets a public window about its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import UNIT_ROUNDOFF, Array, ValuesEngine
from sfumato.errors import MechanismRefused
from sfumato.models.gibbs import Gibbs
from sfumato.models.laws import Finite
from sfumato.models.losses.protocol import ROW
from sfumato.models.priors import Ball, Box
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, loss_values, protocol
from sfumato.procedures.domains import corners, on_lattice, untruncated
from sfumato.procedures.lattice import MOST_POINTS
from sfumato.procedures.loss_values import LOG_UNITS
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.randomness import Randomness
from sfumato.samplers import rejection
from sfumato.samplers.finite import LOG_ERROR, draw_finite, log_weights
from sfumato.samplers.grid import draw_cells, integer_weights
from sfumato.samplers.langevin import Report, silent
from sfumato.samplers.rejection import Places
from sfumato.theorems import interpolated
from sfumato.theorems.rejection import bounded_trials, trials_needed

NAME = "kinked-grid"
NEEDS = ("values",)
KEEPS: tuple[str, ...] = ()
# Nodes of an interval (fewest, most), and evaluations of a draw: a few seconds of work.
_FEWEST, _MOST, _WORK = 257, 1 << 14, 400_000_000
# In two dimensions: variation of U between the centre and a corner of a coarse cell (a trial then succeeds with probability
# e^-7 or more), binary digits of a point inside it, and the probability that all trials fail.
_CLIMB, FINE, _FAILURE = 3.5, 24, 1e-15
# Cells along a side (fewest, most), and evaluations of a draw: about a minute of work.
_COARSEST, _FINEST, _WORK_2D = 65, 1024, 2_000_000_000


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """Power, strength of the prior, cells along a side, and in two dimensions the trials of a draw."""

    power: float
    strength: float
    points: int
    trials: int | None = None
    positive: ClassVar[tuple[str, ...]] = ("strength",)


def refuses(model: Gibbs) -> str | None:
    """Serve convex losses with kinks and a strongly log-concave prior, in one or two dimensions."""
    if not model.constants.convex:
        return "the sharp theorem needs a convex loss; use 'langevin-path'"
    if model.strong_convexity(1, 1.0) <= 0:
        return "the sharp theorem needs strong convexity: give the prior a positive precision"
    if model.dimension not in (1, 2) or model.loss.record == ROW:
        return (
            "its chain needs a smooth loss, and posteriors with kinks are drawn exactly in one or two dimensions only; use the "
            "smoothed loss (for Poisson, declare label_bound), 'exponential' with a prior on a ball, or 'langevin-path' with "
            "goal='estimate'"
        )
    if model.dimension == 2 and isinstance(model.prior, Ball):
        return "two dimensions with kinks are drawn on a box: use sf.priors.Box, or 'exponential'"
    if not math.isfinite(model.constants.lipschitz):
        return "its grid needs a loss of bounded slope"
    return None


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows: they keep the losses' constants and the largest difference of two gradients."""
    return None


def bounded(model: Gibbs, n: int, power: float) -> Gibbs:
    """The model on its public window: the part of the domain within 12 prior deviations of every possible mode."""
    inner = untruncated(model)
    m = inner.strong_convexity
    mean = np.array(inner.start or (0.0,) * (model.dimension or 1))
    mode = power * n * model.constants.lipschitz / m
    known = None if mean.any() else model.loss.mode_bound(power, n, m)
    mode = mode if known is None else min(mode, known)
    half_width = mode + 12 / math.sqrt(m)
    low, high = mean - half_width, mean + half_width
    if model.prior.truncated:
        lower, upper = _sides(model)
        if not ((lower <= mean) & (mean <= upper)).all():  # then the mode may be anywhere in the domain
            return model
        low, high = np.maximum(low, lower), np.minimum(high, upper)
    return model.with_prior(Box(inner, low, high))


def _sides(model: Gibbs) -> tuple[Array, Array]:
    return corners(model.prior, model.dimension or 1)


def _slope(model: Gibbs, n: int, power: float) -> float:
    """Lipschitz constant of U_D on the window, for every data set."""
    inner = untruncated(model)
    away = model.prior.domain_radius + math.hypot(*(inner.start or (0.0,)))
    return float(power * n * model.constants.lipschitz + inner.smoothness * away) * (1 + 1e-12)


def points(model: Gibbs, n: int, power: float) -> int:
    """Cells along a side: in one dimension as many as `_WORK` allows, in two so many that U varies by `_CLIMB` from a centre."""
    if model.dimension == 1:
        return min(max(_WORK // n, _FEWEST), _MOST)
    window = bounded(model, n, power)
    lower, upper = _sides(window)
    return max(_COARSEST, math.ceil(0.5 * math.hypot(*(upper - lower)) * _slope(window, n, power) / _CLIMB))


def _value_error(window: Gibbs, n: int, power: float) -> float:
    """Bound on the error of power times a total: rounding of every value, and the roundings of public terms."""
    values = power * n * (0.5 * loss_values.unit_of(window) + loss_values.VALUE_ERROR * loss_values.magnitude(window))
    lower, upper = _sides(window)
    size = _slope(window, n, power) * 2 * (window.prior.domain_radius + math.hypot(*(upper - lower)))
    return values + 64 * UNIT_ROUNDOFF * (size + 1)


def at(model: Gibbs, n: int, draws: int, power: float, strength: float | None, steps: int | None = None) -> Parameters:
    """The grid and the trials at this power; there is no chain whose `steps` could be chosen."""
    count = points(model, n, power)
    trials = None
    if model.dimension == 2:
        trials = trials_needed(acceptance=_success(bounded(model, n, power), n, power, count), failure=_FAILURE)
    return Parameters(power, 1.0 if strength is None else strength, count, trials)


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """The sharp price with the errors of the grid; in two dimensions with the slack of the trials.

    mu = G sqrt(draws/m) for exact draws. Every drawn log mass is off by at most e: the rounding of the summed values, the
    bend of the prior inside a cell (one dimension) or the width of a fine cell (two), so the curve of the mu is widened by 2 e
    for each of two neighbours (theorems.interpolated). In two dimensions all trials of a draw fail with a probability of at
    most (1 - p)^trials, which is a total-variation slack.
    """
    power, count, trials = parameters.power, parameters.points, parameters.trials
    if (trials is None) != (model.dimension == 1):
        raise MechanismRefused("a plan with kinks records its trials in two dimensions and only there.")
    window = bounded(model, n, power)
    lower, upper = _sides(window)
    inner = untruncated(window)
    error = _value_error(window, n, power) + 2.0**-47
    half = 0.5 * (upper - lower) / count
    if model.dimension == 1:
        bend = 0.5 * inner.smoothness * float(half[0]) ** 2
        error += bend * bend / 8
    else:
        error += _slope(window, n, power) * math.hypot(*half) * 2.0**-FINE
    exact = interpolated.grid_draw(
        difference=model.difference(power),
        strong_convexity=inner.strong_convexity,
        convex=model.constants.convex,
        convex_domain=window.prior.convex_domain,
        log_error=(2 * error + LOG_ERROR) * (1 + 1e-12),
        draws=draws,
    )
    if trials is None:
        return exact
    return bounded_trials(
        exact,
        acceptance=_success(window, n, power, count),
        trials=trials,
        trial_error=count * count * math.exp(-600) + 2.0**-62,
        every_data_set=True,
    )


def _success(window: Gibbs, n: int, power: float, count: int) -> float:
    """Least success of a trial in a coarse cell."""
    lower, upper = _sides(window)
    return interpolated.cell_acceptance(
        slope=_slope(window, n, power),
        half_diagonal=0.5 * math.hypot(*(upper - lower)) / count,
        gap=4 * _value_error(window, n, power),
    )


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """Asymptotic variance of a draw at this power."""
    return chains.expected_of_power(parameters.power)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass, and in two dimensions one more a trial; more than `_WORK_2D` evaluations are refused."""
    count, trials = parameters.points, parameters.trials
    if trials is None:
        return Cost(1)
    if count > _FINEST or count * count * n > _WORK_2D:
        raise MechanismRefused(
            f"an exact draw with kinks would take {count:,} cells a side for {n:,} records, more than the work of "
            f"{_WORK_2D:,} evaluations allows; use the smoothed loss and 'langevin', a smaller box, or fewer records."
        )
    return Cost(1 + trials * draws)


def carry_out(
    task: Task[Gibbs, Parameters], engine: ValuesEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Draw cells of an interval, or points of the fine grid of a box."""
    power, count, trials = task.parameters.power, task.parameters.points, task.parameters.trials
    window = bounded(task.model, task.n, power)
    if trials is None:
        logs, middle = log_masses(window, power, count, engine)
        law = Finite(tuple(logs), tuple((value,) for value in middle.tolist()))
        values = draw_finite(law, task.draws, randomness)
    else:
        values = _draw_points(window, task.n, power, count, trials, task.draws, engine, randomness, report)
    return Draws(values[None], engine.labels)


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether draws are middles of the cells of an interval, or points of the fine grid inside the cells of a box."""
    count, values = task.parameters.points, draws.flat()
    if not draws.bare or not 1 <= count <= MOST_POINTS:
        return False
    lower, upper = corners(bounded(task.model, task.n, task.parameters.power).prior, values.shape[1])
    finer = 1 if values.shape[1] == 1 else 1 << FINE
    width = (upper - lower) / count / finer
    return on_lattice(values, lower + 0.5 * width, width, np.full(values.shape[1], count * finer - 1))


def log_masses(window: Gibbs, power: float, count: int, engine: ValuesEngine) -> tuple[list[int], Array]:
    """Logs of the masses of the cells of an interval, in units of 2^-48, and the middles of the cells."""
    (low,), (high,) = _sides(window)
    nodes = np.linspace(low, high, count + 1)
    unit = loss_values.unit_of(window)
    totals = engine.values(nodes[:, None], unit, loss_values.value_bound(window))
    inner = untruncated(window)
    middle, half = 0.5 * (nodes[1:] + nodes[:-1]), 0.5 * (high - low) / count
    slope = inner.gradient(middle[:, None])[:, 0]
    away = middle - (0.0 if inner.start is None else inner.start[0])
    steps = np.array([float(b - a) for a, b in pairwise(totals)])
    beta = np.abs(0.5 * power * unit * steps + half * slope)
    large = np.maximum(beta, 1e-2)
    rise = np.where(
        beta < 1e-2,
        beta * beta / 6 - beta**4 / 180,
        large + np.log1p(-np.exp(-2 * large)) - np.log(2 * large),
    )
    spread = np.where(beta < 1e-2, 1 / 3 + 2 * beta * beta / 45, 1 - 2 * (1 / np.tanh(large) - 1 / large) / large)
    public = rise - 0.5 * away * slope - 0.5 * inner.smoothness * half * half * spread
    scale = Fraction(power) * Fraction(unit) * LOG_UNITS / 2
    logs = [
        round(value * LOG_UNITS) - round(scale * (a + b))
        for value, a, b in zip(public.tolist(), totals[:-1], totals[1:], strict=True)
    ]
    return logs, middle


def _draw_points(
    window: Gibbs,
    n: int,
    power: float,
    count: int,
    trials: int,
    draws: int,
    engine: ValuesEngine,
    randomness: Randomness,
    report: Report,
) -> Array:
    """Points of the fine grid of a box in two dimensions."""
    lower, upper = _sides(window)
    width = (upper - lower) / count

    def potential(places: Array) -> Array:
        return loss_values.potential(window, n, power, places, engine)

    grid = np.stack(np.meshgrid(np.arange(count), np.arange(count), indexing="ij"), axis=-1).reshape(-1, 2)
    levels = potential(lower + (grid + 0.5) * width)
    lowest = levels.min()
    weights = integer_weights(log_weights(Finite(tuple(round((lowest - u) * LOG_UNITS) for u in levels.tolist()), ())))
    climb = _slope(window, n, power) * 0.5 * math.hypot(*(upper - lower)) / count + 2 * _value_error(window, n, power)

    def propose(size: int) -> Places:
        inside = (rejection.words(randomness, 2 * size) >> np.uint64(64 - FINE)).astype(np.int64).reshape(size, 2)
        return np.column_stack([draw_cells(weights, randomness, size), inside])

    def place(chosen: Places) -> Array:
        return np.asarray(lower + (grid[chosen[:, 0]] + (chosen[:, 1:] + 0.5) * 2.0**-FINE) * width)

    def exponent(chosen: Places) -> Array:
        return np.asarray(potential(place(chosen)) - levels[chosen[:, 0]] + climb)

    centre = np.array([(count * count) // 2, 1 << (FINE - 1), 1 << (FINE - 1)], dtype=np.int64)
    return place(rejection.first_kept(propose, exponent, trials, draws, centre, randomness, report))
