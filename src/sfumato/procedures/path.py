"""A noisy-gradient path with every step paid for: momentum, averages and all iterates are then free.

In terms of the mean loss a step is theta <- theta - eta (mean gradient + sigma xi): a Langevin step with h = (eta sigma)^2/2
and power = eta/(n h). T steps cost sqrt(T) G sqrt(h/2) = sqrt(T) (G/power)/(n sigma). What leaves is the average of the last
`tail` iterates, and on request every noisy gradient (the transcript).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import Array, GradientEngine
from sfumato.errors import FormatError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import ROW
from sfumato.models.priors import Ball
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, protocol
from sfumato.procedures.domains import inside
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.randomness import Randomness
from sfumato.samplers.langevin import Recursion, Report, gradient_grid, noisy_path, silent
from sfumato.samplers.support import multiples
from sfumato.theorems.path import whole_path

NAME = "path"
NEEDS = ("gradients",)
KEEPS = ("transcript",)
# A step below this has lost its digits: its square, which the formulas use, would underflow.
_SMALLEST = 1e-200


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """Noise sigma of a mean gradient, learning rate eta, momentum, steps and averaged steps; power and step h follow."""

    power: float
    step: float
    steps: int
    learning_rate: float
    noise: float
    momentum: float
    tail: int

    @classmethod
    def of(cls, n: int, noise: float, learning_rate: float, momentum: float, steps: int, tail: int) -> Parameters:
        """The numbers of a path for n records; power and step follow from the others."""
        step = 0.5 * (learning_rate * noise) ** 2
        return cls(learning_rate / (n * step), step, steps, learning_rate, noise, momentum, tail)


def refuses(model: Gibbs) -> str | None:
    """Serve every Gibbs model with bounded per-record gradients, convex or not."""
    if not math.isfinite(model.constants.difference):
        return "the per-record gradients are unbounded; use a clipped loss"
    if not math.isfinite(model.constants.lipschitz):
        return "the roundings of a sum cannot be bounded on all of R^d; truncate the prior: sf.priors.Ball(prior, radius=...)"
    return None


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows: the difference of two gradients is largest at two single rows."""
    return None


def refuses_weights(model: Gibbs) -> str | None:
    """Serve weighted records of a loss with labels: a gradient times v differs from another by at most G, from 0 by at most L."""
    if model.loss.record == ROW:
        return "the loss of a mean takes no survey weights; use sf.families.BoundedMean"
    within = model.constants.lipschitz <= model.constants.difference
    return None if within else "two gradients of this loss differ by less than one of them from 0"


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Price of the whole path of all chains; numbers that contradict each other are refused."""
    sigma, eta = float(parameters.noise), float(parameters.learning_rate)
    step = 0.5 * (eta * sigma) ** 2
    agree = step > _SMALLEST and math.isclose(parameters.step, step, rel_tol=1e-9)
    agree = agree and math.isclose(parameters.power, eta / (n * step), rel_tol=1e-9)
    if not (agree and 1 <= parameters.tail <= parameters.steps and 0 <= parameters.momentum < 1):
        raise FormatError("the numbers of a noisy-gradient path contradict each other: the record was edited.")
    return price_of_noise(model, n, sigma, parameters.steps, draws, parameters.momentum)


def price_of_noise(model: Gibbs, n: int, sigma: float, steps: int, chains_run: int, momentum: float = 0.0) -> Guarantee:
    """Price of `steps` noisy mean gradients with noise `sigma`, for all chains together, roundings of the sum included.

    It is the same for every learning rate, so it is computed at 1: a tiny one would make the squares of the formula vanish.
    """
    h = 0.5 * sigma**2
    return whole_path(
        difference=model.difference(1 / (n * h)) if h > 0 else math.inf,
        step=h,
        steps=steps,
        # What `carry_out` does: a public start, every record at each step, and numbers that the plan has fixed.
        public_start=True,
        public_schedule=True,
        full_batch=True,
        chains=chains_run,
        momentum=momentum,
        float_error=chains.noisy_mean_error(model, n, sigma),
    )


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """The noise that every mean gradient carries."""
    return Expected("gradient-noise", parameters.noise)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass a step, for all chains at once."""
    return Cost(parameters.steps, draws)


def carry_out(
    task: Task[Gibbs, Parameters], engine: GradientEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Run the chains from the public start on noisy gradients, and average the tail of each."""
    run = noisy_path(
        lambda theta: engine.gradient(theta) / task.n,
        _recursion(task, task.draws, engine.dimension),
        task.parameters.noise,
        randomness,
        "transcript" in task.keep,
        report,
    )
    return Draws(run.average[:, None, :], engine.labels, run.transcript)


def _recursion(task: Task[Gibbs, Parameters], number: int, dimension: int) -> Recursion:
    return Recursion.of(task.model.prior, task.n, number, dimension, dict(task.parameters))


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether averages lie in the domain and follow from the transcript, which is there exactly if the plan keeps it."""
    kept = (draws.transcript is not None) == ("transcript" in task.keep)
    if draws.totals is not None or not kept or draws.shape[:2] != (task.draws, 1):
        return False
    return inside(task.model, draws.flat(), 0.0) and (
        draws.transcript is None or _retraced(task, draws.transcript, draws)
    )


def _retraced(task: Task[Gibbs, Parameters], gradients: Array, draws: Draws) -> bool:
    """Whether the published gradients lie on their grid and lead to the published averages.

    The arithmetic is that of the run, entry by entry and the same on every machine; only norms (a ball) and products (a
    precision matrix) are summed in an order that may differ, and leave room for it.
    """
    prior, numbers = task.model.prior, task.parameters
    if gradients.shape[1] != numbers.steps or not multiples(gradients, float(gradient_grid(numbers.noise))):
        return False
    again = _recursion(task, gradients.shape[0], gradients.shape[2]).retrace(gradients)
    summed = isinstance(prior, Ball) or np.ndim(getattr(prior, "precision", 0.0)) == 2
    room = 1e-9 if summed else 0.0
    return np.allclose(again, draws.values[:, 0], room, room)
