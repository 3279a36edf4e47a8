"""An exact draw of a smooth Gibbs posterior on a ball or a box in any dimension: rejection from an envelope on a lattice.

The envelope is a discrete Gaussian at a lattice point near the mode, tilted inwards where the mode lies on a side of a box.
Lattice, number of descent steps, number of trials and the success of a trial on the worst data set are public; where the
worst data set would need too many trials the plan is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.draws import Draws
from sfumato.engines.protocol import UNIT_ROUNDOFF, Array, ValuesEngine
from sfumato.errors import MechanismRefused
from sfumato.models.gibbs import Gibbs
from sfumato.models.priors import Ball
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, loss_values, protocol
from sfumato.procedures.domains import inside, on_lattice, sides, untruncated
from sfumato.procedures.modes import descent_steps
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.procedures.success import on_a_ball
from sfumato.randomness import Randomness
from sfumato.samplers import rejection
from sfumato.samplers.langevin import Report, silent
from sfumato.samplers.rejection import Places
from sfumato.theorems.exponential import exponential_mechanism
from sfumato.theorems.rejection import bounded_trials, box_acceptance, uniform_trials

NAME = "envelope"
NEEDS = ("values", "gradients")
KEEPS: tuple[str, ...] = ()
# Points of a side beyond which the table of a coordinate would not fit in memory.
_MOST_POINTS = 1 << 20
# A dot product of more terms would round by more than is charged for a value.
_MOST_DIMENSIONS = 1000
# |r|^2/(2 k m) of docs/proofs/rejection.md: it lowers the success of a trial by 4 %.
_GAP = 0.02
# Relative error of a proposal's weight: five roundings of a logarithm of at most 240, and of its exponential.
_WEIGHT_ERROR = 2e-13
# With a slack, weights below e^-60 of the largest are charged absolutely.
_TAIL = math.exp(-60)
# Exponents above this are charged absolutely: their floats lose digits from e^-708 on.
_STEEPEST = 700.0


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """The power, the trials of a draw and, for a pure price, the share of draws that are uniform on the lattice."""

    positive: ClassVar[tuple[str, ...]] = ("uniform",)
    power: float
    trials: int
    uniform: float | None = None


@dataclass(frozen=True)
class Envelope:
    """Public numbers of the sampler: curvature, lattice, descent, errors, and the least success of one trial.

    `acceptance` is the bound by which trials with a slack are priced. `best_acceptance` is the larger one of pure releases,
    which also uses the trace of the Hessian.
    """

    curvature: float
    lower: tuple[float, ...]
    spacing: tuple[float, ...]
    steps: tuple[int, ...]
    descent: int
    gap: float
    log_error: float
    trial_error: float
    acceptance: float
    best_acceptance: float
    stretch: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Points of each side of the lattice."""
        return tuple(count + 1 for count in self.steps)

    @property
    def finest_error(self) -> float:
        """Total variation of one trial as it runs: what the tables leave out and round off, and the steepest exponents."""
        rounded = math.exp(rejection.SMALLEST) + 2.0**-rejection.BITS
        return (sum(self.sizes) * rounded + math.exp(-_STEEPEST)) * (1 + 1e-9)


def refuses(model: Gibbs) -> str | None:
    """Serve smooth convex losses with bounded labels and a strongly log-concave prior on a ball or a box."""
    if not model.prior.truncated or model.dimension is None:
        return "it needs the dimension and a bounded domain: sf.Gibbs(loss, sf.priors.Box(...), dimension=...)"
    if not model.constants.convex or not math.isfinite(model.constants.smoothness):
        return "beyond two dimensions its exact draw needs a smooth convex loss; use the smoothed variant"
    if model.strong_convexity(1, 1.0) <= 0:
        return "beyond two dimensions its exact draw needs strong convexity: give the prior a positive precision"
    if model.dimension > _MOST_DIMENSIONS:
        return f"its exact draw is worked out for at most {_MOST_DIMENSIONS:,} coordinates"
    if math.isinf(loss_values.magnitude(model)):
        return "beyond two dimensions its exact draw needs bounded labels"
    return None


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows: they keep the losses' constants and the largest difference of two losses."""
    return None


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Bounded range 2 power Delta + 4 e for each draw, and the slack of its trials.

    Delta is the loss's bound on the domain and e bounds the rounding error of an exponent. A trial succeeds with probability
    p or more on every data set, so all trials of a draw fail with probability (1 - p)^trials at most; that, and the error of a
    trial, is a total-variation slack, or is paid for by a share of uniform draws (theorems.rejection).
    """
    shape, share = envelope(model, n, parameters.power), parameters.uniform
    if share is not None:
        return draws * uniform_trials(
            exact_range(model, n, 1, parameters.power), share=share, points=math.prod(shape.sizes),
            acceptance=shape.best_acceptance, trials=parameters.trials, trial_error=shape.finest_error, every_data_set=True,
        )  # fmt: skip
    exact = exact_range(model, n, draws, parameters.power)
    return bounded_trials(
        exact, acceptance=shape.acceptance, trials=parameters.trials, trial_error=shape.trial_error, every_data_set=True
    )


def exact_range(model: Gibbs, n: int, draws: int, power: float) -> Guarantee:
    """The bounded range without the slack of the trials."""
    delta = model.constants.bound + 2 * log_error(model, n, power) / power
    return exponential_mechanism(power=power, sensitivity=delta * (1 + 1e-14), draws=draws)


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """Asymptotic variance of a draw at this power."""
    return chains.expected_of_power(parameters.power)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass a trial, and one a step of the descent to the mode."""
    return Cost(parameters.trials * draws + envelope(model, n, parameters.power).descent)


def envelope(model: Gibbs, n: int, power: float) -> Envelope:
    """The envelope at this power; its success is a lower bound over all data sets."""
    d = model.dimension or 1
    m, big_m = model.strong_convexity(n, power), model.smoothness(n, power)
    share, residual = _residual(d, m)
    finest = 1.4 * residual / (big_m * math.sqrt(d))
    lower, widths = sides(model)
    steps = tuple(max(1, math.ceil(width / finest)) for width in widths)
    if max(steps) > _MOST_POINTS:
        raise MechanismRefused(
            f"the lattice of an exact draw would need {max(steps):,} points a side, more than {_MOST_POINTS:,}; use a stronger "
            "prior, a smaller domain or 'langevin'."
        )
    spacing = tuple(width / count for width, count in zip(widths, steps, strict=True))
    descent, near = descent_steps(model, n, power, m, big_m, math.hypot(*widths), 0.3 * residual)
    error, stretch = log_error(model, n, power), _stretch(model, n, power)
    soft, stiff, gap = (1 - share) * m, big_m + share * m, 2 * (_GAP + error)
    trial_error = sum((count + 1) * (_TAIL + 2.0**-126) for count in steps) + 2.0**-62
    if isinstance(model.prior, Ball):
        chance, best = on_a_ball(model, n, power, (soft, stiff, share * m), spacing, near, gap)
    else:
        chance = box_acceptance(strong_convexity=soft, smoothness=stiff, spacings=spacing, steps=steps, gap=gap)
        best = chance
    return Envelope(soft, lower, spacing, steps, descent, _GAP + error, error, trial_error, chance, best, stretch)


def _residual(dimension: int, m: float) -> tuple[float, float]:
    """The share k of the note that is given up, and how large |r| may then be."""
    share = min(0.1, 0.5 / dimension)
    return share, math.sqrt(2 * share * m * _GAP)


def _stretch(model: Gibbs, n: int, power: float) -> float:
    """How far a point at which values are summed may be from 0, in units of the domain's radius.

    The lattice point next to the mode may lie outside a ball, by half a cell (0.7 |r|/M) and the descent's own error (0.3
    |r|/(4 M)): values there must be neither clipped nor less exact than charged.
    """
    if not isinstance(model.prior, Ball):
        return 1.0
    _, residual = _residual(model.dimension or 1, model.strong_convexity(n, power))
    return 1 + 0.8 * residual / model.smoothness(n, power) / model.prior.domain_radius


def log_error(model: Gibbs, n: int, power: float) -> float:
    """Bound on the error of a computed exponent: two sums of rounded values, and the roundings of public terms.

    Points are within `_stretch` times the domain's radius; every term grows with it by at most its square.
    """
    d, far = model.dimension or 1, model.prior.domain_radius
    largest, unit = loss_values.value_bound(model), loss_values.unit_of(model)
    values = 2 * power * n * (0.5 * unit + loss_values.VALUE_ERROR * loss_values.magnitude(model))
    inner = untruncated(model)
    away = far + math.hypot(*(inner.start or (0.0,)))
    sizes = 2 * power * n * (largest + far * far) + math.sqrt(d) * inner.smoothness * away * away
    steep = power * n * chains.steepest(model, far) + math.sqrt(d) * inner.smoothness * away
    sizes += 2 * far * steep + model.smoothness(n, power) * 4 * far * far
    return float((values + (d + 40) * UNIT_ROUNDOFF * 4 * sizes) * _stretch(model, n, power) ** 2 + d * _WEIGHT_ERROR)


class _Potential:
    """U_D less its part at 0, at lattice places; sums of values are whole numbers, all else is public."""

    def __init__(self, model: Gibbs, n: int, power: float, engine: ValuesEngine, shape: Envelope) -> None:
        self.model, self.n, self.power, self.engine = model, n, power, engine
        self.lower, self.spacing = np.array(shape.lower), np.array(shape.spacing)
        self.bound = loss_values.value_bound(model) * shape.stretch * (1 + 1e-9)
        # The farthest corner of the lattice: trials are independent, so no value may depend on what else is proposed.
        last = self.points(np.array(shape.steps))
        self.reach = math.hypot(*np.maximum(np.abs(self.lower), np.abs(last)).tolist()) * (1 + 1e-9)

    def points(self, places: Places) -> Array:
        """The lattice points at these places."""
        return np.asarray(self.lower + places * self.spacing)

    def __call__(self, points: Array) -> Array:
        """U_D at each of (points, d)."""
        return loss_values.potential(self.model, self.n, self.power, points, self.engine, self.bound, self.reach)


def _centre(potential: _Potential, shape: Envelope) -> tuple[Places, Array]:
    """The lattice place next to the mode, and the part h of the gradient there that points into the domain."""
    model = potential.model
    gradient = chains.field(model, potential.engine, potential.power)
    step = 1.0 / model.smoothness(potential.n, potential.power)
    theta = chains.public_start(model, 1, len(shape.lower))
    for _ in range(shape.descent):
        theta = model.prior.project(theta - step * gradient(theta))
    last = np.array(shape.steps)
    place = np.clip(np.rint((theta[0] - potential.lower) / potential.spacing), 0, last).astype(np.int64)
    slope = gradient(potential.points(place)[None])[0]
    if isinstance(model.prior, Ball):
        return place, np.zeros_like(slope)
    inward = np.where(place == 0, np.maximum(slope, 0.0), np.where(place == last, np.minimum(slope, 0.0), 0.0))
    return place, inward


def carry_out(
    task: Task[Gibbs, Parameters], engine: ValuesEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Independent points of the lattice, each the first of its trials that is kept, or a uniform one.

    A uniform point of the cube around a ball may lie outside it. It is then replaced by the public point that also stands for
    no kept trial: a function of what is released, which costs nothing.
    """
    model, n, power = task.model, task.n, task.parameters.power
    shape = envelope(model, n, power)
    potential = _Potential(model, n, power, engine, shape)
    centre, inward = _centre(potential, shape)
    level = potential(potential.points(centre)[None])[0]
    tables = []
    for place, slope, spacing, last in zip(centre, inward, shape.spacing, shape.steps, strict=True):
        offset = (np.arange(last + 1) - place) * spacing
        tables.append(rejection.table(-(slope * offset + 0.5 * shape.curvature * offset * offset)))

    def propose(size: int) -> Places:
        return np.stack([rejection.places(each, size, randomness) for each in tables], axis=1)

    def exponent(places: Places) -> Array:
        points, offset = potential.points(places), (places - centre) * potential.spacing
        base = offset @ inward + 0.5 * shape.curvature * (offset * offset).sum(axis=1)
        return np.where(_in_domain(model, points), potential(points) - level - base + shape.gap, np.inf)

    start = chains.public_start(model, 1, len(centre))[0]
    otherwise = np.clip(np.rint((start - potential.lower) / potential.spacing), 0, np.array(shape.steps)).astype(
        np.int64
    )
    kept = rejection.first_kept(propose, exponent, task.parameters.trials, task.draws, otherwise, randomness, report)
    if task.parameters.uniform is not None:
        kept = rejection.mixed(kept, task.parameters.uniform, shape.sizes, randomness)
        kept = np.where(_in_domain(model, potential.points(kept))[:, None], kept, otherwise)
    return Draws(potential.points(kept)[None], engine.labels)


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether draws are points of the lattice; one next to the edge of a ball may lie outside by a cell."""
    if not draws.bare:
        return False
    values, shape = draws.flat(), envelope(task.model, task.n, task.parameters.power)
    fits = on_lattice(values, np.array(shape.lower), np.array(shape.spacing), np.array(shape.steps))
    return fits and inside(task.model, values, math.hypot(*shape.spacing))


def _in_domain(model: Gibbs, points: Array) -> NDArray[np.bool_]:
    """Whether each lattice point lies in the domain: a public question about public points."""
    prior = model.prior
    if not isinstance(prior, Ball):
        return np.ones(len(points), dtype=bool)
    centre = 0.0 if prior.centre is None else np.array(prior.centre)
    return np.asarray(np.linalg.norm(points - centre, axis=1) <= prior.radius)
