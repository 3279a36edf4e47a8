"""An exact draw of a Gibbs posterior in one or two dimensions: on a public lattice of the prior's domain.

The weights exp(-U) of the lattice's points ARE an exponential mechanism, whose base measure is the prior on those points:
whatever the lattice, the log ratio of two neighbours has the range that the loss's Delta gives. Loss values are summed as
whole numbers, so a replaced record moves a sum by its own two terms; what rounding adds to them is charged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import Array, ValuesEngine
from sfumato.errors import FormatError
from sfumato.models.gibbs import Gibbs
from sfumato.models.laws import Finite
from sfumato.models.priors import Ball
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, protocol
from sfumato.procedures.domains import corners, inside, on_lattice
from sfumato.procedures.loss_values import VALUE_ERROR, log_weights, magnitude, public_terms, unit_of, value_bound
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.randomness import Randomness
from sfumato.samplers.finite import LOG_ERROR, draw_finite
from sfumato.samplers.langevin import Report, silent
from sfumato.theorems.exponential import exponential_mechanism

NAME = "lattice"
NEEDS = ("values",)
KEEPS: tuple[str, ...] = ()
# Evaluations of a draw (a few seconds of work), and the fewest and most points of an axis in one and in two dimensions.
_WORK = 400_000_000
_FEWEST, _MOST = {1: 257, 2: 33}, {1: 4097, 2: 129}
# Most points along a side that a record may state: floats tell 2^16 of them well apart.
MOST_POINTS = 1 << 16


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """The power, and the number of points along each axis."""

    power: float
    points: int


def refuses(model: Gibbs) -> str | None:
    """Serve Gibbs models on a ball or box in one or two dimensions, kinks or not."""
    if not model.prior.truncated:
        return "its lattice needs a bounded domain: sf.priors.Ball(prior, radius=...)"
    if model.dimension is None:
        return "its lattice needs the dimension: sf.Gibbs(..., dimension=...)"
    if model.dimension > 2:
        return "all points of a lattice are drawn from in one or two dimensions only; beyond, a smooth loss is drawn by trials"
    return None


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows: the difference of two losses is largest at two single rows."""
    return None


def axis_points(dimension: int, n: int) -> int:
    """How many points an axis has: an odd number, fewer the more records there are."""
    most = int((_WORK / n) ** (1 / dimension))
    return min(max(most, _FEWEST[dimension]), _MOST[dimension]) // 2 * 2 + 1


def at(model: Gibbs, n: int, draws: int, power: float, strength: float | None, steps: int | None = None) -> Parameters:
    """The lattice, which is the same at every power; the prior is the model's own."""
    return Parameters(power, axis_points(model.dimension or 1, n))


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Bounded range 2 power Delta for each draw, by the exponential mechanism.

    Delta bounds how far one replaced record moves the summed loss at a point relative to another: the loss's own bound on
    the domain, one unit of rounding, and twice the error of a log weight divided by the power (`sensitivity`). The number of
    points does not enter: every finite public set of points has this price.
    """
    power = parameters.power
    if not 1 <= parameters.points <= MOST_POINTS:
        raise FormatError(f"a lattice has 1 to {MOST_POINTS:,} points a side; the plan records {parameters.points:,}.")
    return exponential_mechanism(power=power, sensitivity=sensitivity(model, power), draws=draws)


def sensitivity(model: Gibbs, power: float) -> float:
    """Delta of the sums as they are computed: two terms of at most Delta between them, their roundings and the weights'."""
    largest, unit = value_bound(model), unit_of(model)
    # Terms are clipped to +-largest, so no error of theirs matters where Delta is already twice that.
    two = min(2 * largest, model.constants.bound + 2 * VALUE_ERROR * magnitude(model))
    return (max(two, model.constants.bound) + unit + 2 * LOG_ERROR / power) * (1 + 1e-14)


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """Asymptotic variance of a draw at this power."""
    return chains.expected_of_power(parameters.power)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass: the values at all points are summed together."""
    return Cost(1)


def points_of(model: Gibbs, per_axis: int) -> Array:
    """The lattice, shaped (points, d): as many per axis across the domain, and in it."""
    prior = model.prior
    lower, upper = corners(prior, model.dimension or 1)
    axes = [np.linspace(low, high, per_axis) for low, high in zip(lower, upper, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    if isinstance(prior, Ball):
        centre = 0.0 if prior.centre is None else np.array(prior.centre)
        points = points[np.linalg.norm(points - centre, axis=1) <= prior.radius]
    return points


def carry_out(
    task: Task[Gibbs, Parameters], engine: ValuesEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Independent points of the lattice, by exact inversion of whole-number weights."""
    model, power = task.model, task.parameters.power
    points, unit = points_of(model, task.parameters.points), unit_of(model)
    totals = engine.values(points, unit, value_bound(model))
    logs = log_weights(power, unit, totals, public_terms(model, task.n, power, points))
    drawn = draw_finite(Finite(logs, tuple(map(tuple, points.tolist()))), task.draws, randomness)
    return Draws(drawn[None], engine.labels)


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether draws are points of the lattice, in the domain."""
    values, count = draws.flat(), task.parameters.points
    if not draws.bare:
        return False
    lower, upper = corners(task.model.prior, values.shape[1])
    last = np.full(values.shape[1], count - 1)
    spacing = (upper - lower) / np.maximum(last, 1)
    return on_lattice(values, lower, spacing, last) and inside(task.model, values, 0.0)
