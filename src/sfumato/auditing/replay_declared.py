"""What each procedure declares about the numbers that meet randomness: how far one record may move them.

Each function lists the parts of a run in order. The bounds are written here by hand, from the model's constants and the plan's
numbers, and not taken from the theorem that prices them; what a whole run spent is compared with the price beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.auditing import learnt_tables
from sfumato.draws import Draws
from sfumato.procedures import chains, envelope, kinked_grid, lattice, shape_first
from sfumato.procedures.domains import corners
from sfumato.procedures.loss_values import VALUE_ERROR, magnitude, unit_of
from sfumato.procedures.protocol import Task
from sfumato.procedures.shaped_chain import MappedChain

# Roundings of a log mass of up to some thousands: a hundred units in the last place of 10^4.
_ROUNDED = 1e-10


@dataclass(frozen=True)
class Declared:
    """One part: its name, its kind in the record, how two data sets are compared there, and the most that is allowed.

    `compared` is "norm" (Euclidean norm of the difference, of each chain's `width` numbers), "range" (of the difference over the
    points), "point" (largest difference at a point), "slope" (difference between two points over their distance plus `spread`),
    "law" (that of the totals) or "same".
    `noise` is the deviation that the plan fixes, where there is one; `room` bounds rounding errors, in the unit of the values.
    """

    name: str
    kind: str
    compared: str
    allowed: float = 0.0
    noise: float = 0.0
    width: int = 0
    room: float = 0.0
    spread: float = 0.0


def declared(name: str, task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """The parts of a run of the procedure of this name; `draws` is what it released."""
    return _DECLARED[name](task, draws)


def _noisy_totals(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """Totals; the law of the draws follows from the noisy ones, so no record moves it."""
    model = task.model
    noise = float(task.parameters.noise) * model.sensitivity
    parts = [Declared("totals", "totals", "norm", model.sensitivity, noise, len(model.units))]
    return [*parts, Declared("law of noisy totals", "law", "same")] if model.drawn else parts


def _noisy_tables(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """Every table by itself, with the noise that the plan has for it; before a chosen one, the log weights of the choice."""
    power, counts = float(task.parameters.choice or 0.0), learnt_tables.planned_noise(task)
    groups = [Declared(name, "totals", "norm", moved, noise) for name, moved, noise in counts]
    # A misfit moves by 2 counts at most; logarithms are rounded to 2^-48.
    choice = Declared("choice of a pair", "weights", "point", 2 * power, room=2.0**-47)
    return learnt_tables.choices_last(task.model, groups, choice)


def _law(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """The posterior itself, which `replay` compares with that of the totals."""
    return [Declared("law", "law", "law", task.model.sensitivity)]


def _path(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """Each mean gradient of each chain: G/n, in units of the power."""
    shift, noise, d = task.model.constants.difference / task.n, task.parameters.noise, draws.shape[-1]
    return [Declared("gradient", "normal", "norm", shift, noise, d)] * int(task.parameters.steps)


def _moments(task: Task[Any, Any], label: Any) -> Declared:
    """Two matrices of Frobenius norm R^2 and no negative direction are at most sqrt(2) R^2 apart."""
    squared = task.model.loss.radius**2 + shape_first.label_radius(label) ** 2
    return Declared("moments", "normal", "norm", math.sqrt(2) * squared / task.n, task.parameters.moments_noise)


def _shaped_path(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """Moments, shares of residuals, gradients of norm 1 in units of the slope, curvature of norm b k, and scores of norm 1."""
    model, n, numbers = task.model, task.n, task.parameters
    label = shape_first.label_column(model)
    # In one dimension weighted gradients of the plan's own loss reach from a slope at 0 to the largest slope.
    line = model.dimension == 1 and label is None
    apart = 1 + min(1.0, model.loss.zero_slope() / model.loss.largest_slope()) if line else 2.0
    whole = numbers.score_matrix_noise is not None
    bent = math.sqrt(2) * numbers.rule.bend * model.loss.largest_curvature() / n
    # A record is in one cell, or spread over several with shares that add up to 1 at most.
    told = numbers.shares_noise
    shares = [] if told is None else [Declared("shares", "normal", "norm", math.sqrt(2) / n, told)]
    return [
        _moments(task, label),
        *shares,
        *[Declared("gradient", "normal", "norm", apart / n, numbers.noise)] * int(numbers.steps),
        Declared("curvature", "normal", "norm", bent, numbers.curvature_noise),
        Declared("scores", "normal", "norm", math.sqrt(2) / n, numbers.score_matrix_noise)
        if whole
        else Declared("score scale", "normal", "norm", 1 / n, numbers.score_noise),
    ]


def _steps(steps: int, step: float, difference: float, width: int, error: float) -> list[Declared]:
    """The means of a Langevin chain's steps from the same iterates: h G each, noise sqrt(2h)."""
    facts = (step * difference, math.sqrt(2 * step), width, 2 * error)
    return [
        *[Declared("step", "normal", "norm", *facts)] * (steps - 1),
        Declared("last step", "last", "norm", *facts),
    ]


def _last_iterate(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    model, n, numbers = task.model, task.n, task.parameters
    error = chains.step_error(model, n, numbers.power, numbers.step)
    difference = numbers.power * model.constants.difference
    return _steps(numbers.steps, numbers.step, difference, draws.shape[-1], error)


def mapped_chain(task: Task[Any, Any], draws: Draws) -> tuple[MappedChain, float]:
    """The chain in mapped coordinates that follows from the published moments, and its power."""
    chain = MappedChain.of(task, draws.published["moments"])
    return chain, chain.power(task.parameters.chain_mu)


def _shaped_chain(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    chain, power = mapped_chain(task, draws)
    difference = 2 * task.model.loss.largest_slope() * power
    steps = _steps(task.parameters.steps, chain.step(power), difference, draws.shape[-1], chain.step_error(power))
    return [_moments(task, None), *steps]


def _lattice(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """Log weights: power Delta at every point, and the roundings of values and weights."""
    model, power = task.model, task.parameters.power
    bound = power * model.constants.bound
    return [Declared("log weights", "weights", "point", bound, room=power * lattice.sensitivity(model, power) - bound)]


def _envelope(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """Places of each coordinate; then the log density at proposals, of range 2 power Delta and four errors of an exponent."""
    model, n, power = task.model, task.n, task.parameters.power
    room = 4 * envelope.log_error(model, n, power)
    parts = [Declared("places", "places", "same")] * int(model.dimension)
    parts.append(Declared("log density", "trials", "range", 2 * power * model.constants.bound, room=room))
    return parts if task.parameters.uniform is None else [*parts, Declared("uniform share", "share", "same")]


def _kinked_grid(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """Log masses of cells, and in two dimensions the log density at proposals: slope G between any two points."""
    model, n, power = task.model, task.n, task.parameters.power
    difference = power * model.constants.difference
    window = kinked_grid.bounded(model, n, power)
    room = 4 * power * n * (unit_of(window) + VALUE_ERROR * magnitude(window)) + _ROUNDED
    if task.parameters.trials is None:
        lower, upper = corners(window.prior, 1)
        width = float(upper[0] - lower[0]) / task.parameters.points  # the mass of a cell may be that of its other end
        return [Declared("log masses", "weights", "slope", difference, room=room, spread=width)]
    cells = Declared("log weights", "weights", "slope", difference, room=room)
    return [cells, Declared("log density", "trials", "slope", difference, room=2 * room)]


def _reference_chain(task: Task[Any, Any], draws: Draws) -> list[Declared]:
    """The potential: range 2 power Delta, or slope G where the sharp theorem prices it; and its gradients."""
    model, power = task.model, task.parameters.power
    difference, bound = power * model.constants.difference, power * model.constants.bound
    # Values are summed in units of 2^-40 of their bound; that of each point is at most its distance times L.
    room = 1e-9 * (1 + difference)
    if task.parameters.strength is None:
        first = Declared("potential", "potential", "range", 2 * bound, room=room)
    else:
        first = Declared("potential", "potential", "slope", difference, room=room)
    smooth = math.isfinite(model.smoothness(task.n, power))
    slopes = Declared("gradients", "slopes", "norm", difference, width=int(model.dimension), room=room)
    return [first, slopes] if smooth else [first]


_DECLARED: dict[str, Callable[[Task[Any, Any], Draws], list[Declared]]] = {
    "law": _law,
    "noisy-totals": _noisy_totals,
    "noisy-tables": _noisy_tables,
    "last-iterate": _last_iterate,
    "path": _path,
    "shaped-path": _shaped_path,
    "shaped-chain": _shaped_chain,
    "lattice": _lattice,
    "envelope": _envelope,
    "kinked-grid": _kinked_grid,
    "reference-chain": _reference_chain,
}
