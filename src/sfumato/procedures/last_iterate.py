"""The last iterate of a Langevin chain, priced as it runs by the finite-step theorem: nothing has to converge.

theta <- project(theta - h grad U_D(theta) + sqrt(2h) xi), one chain a draw, from a public start; the last normal is an exact
sample on a public grid. A plan that stands for exact draws of a tempered posterior (`strength` is given) is priced at the
larger of two: the chain as it runs, and the exact draws that it stands for (sharp theorem).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import Array, GradientEngine
from sfumato.models.gibbs import Gibbs
from sfumato.models.priors import Ball, Box
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, protocol
from sfumato.procedures.domains import ROUNDING
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.randomness import Randomness
from sfumato.samplers import langevin
from sfumato.samplers.langevin import Report, silent
from sfumato.theorems import finite_step

NAME = "last-iterate"
NEEDS = ("gradients", "exact scores")
KEEPS: tuple[str, ...] = ()
# Contraction of the distance to the start over the whole chain: 99 % of the starting error is gone.
_REMAINDER = 0.01


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """Power, step h and number of steps; `strength` of the prior where the chain stands for exact draws."""

    power: float
    step: float
    steps: int
    strength: float | None = None
    positive: ClassVar[tuple[str, ...]] = ("strength",)


def refuses(model: Gibbs) -> str | None:
    """Serve Gibbs models with a smooth convex loss and a prior of positive precision."""
    if not model.constants.convex:
        return "the finite-step theorem is false without convexity; use 'langevin-path'"
    if not model.constants.smooth or not math.isfinite(model.constants.smoothness):
        return (
            "the finite-step theorem needs a smooth loss; use the smoothed variant (for Poisson, declare label_bound)"
        )
    if model.strong_convexity(1, 1.0) <= 0:
        return "the chain needs strong convexity to forget its start: give the prior a positive precision"
    return None


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows: they keep the losses' constants and the largest difference of two gradients."""
    return None


def schedule(model: Gibbs, n: int, power: float, steps: int | None) -> tuple[float, int]:
    """Step 1/M and as many steps as leave one hundredth of the start; both follow from public numbers."""
    m, big_m = model.strong_convexity(n, power), model.smoothness(n, power)
    step = 1.0 / big_m
    needed = math.ceil(math.log(_REMAINDER) / math.log1p(-m / big_m)) if m < big_m < math.inf else 1
    return step, steps if steps is not None else max(1, needed)


def at(model: Gibbs, n: int, draws: int, power: float, strength: float | None, steps: int | None = None) -> Parameters:
    """The schedule of the chain at this power; `strength` is that of the model's prior, for the record."""
    return Parameters(power, *schedule(model, n, power, steps), strength)


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Price of the last iterates of `draws` chains; not below that of exact draws where they stand for such.

    With c = 1 - h m the finite-step theorem gives mu = (h G + 2 e)/sqrt(2 h) sqrt((1 - c^T)(1 + c)/((1 + c^T)(1 - c)) draws)
    after T steps of size h, e bounding the rounding error of a step. Exact draws cost G sqrt(draws/m) (sharp theorem); where
    `strength` is given the guarantee is the larger of the two.
    """
    chain = _chain_price(model, n, draws, parameters)
    if parameters.strength is None:
        return chain
    return finite_step.at_least_exact(chain, chains.sharp_price(model, n, parameters.power, draws))


def _chain_price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    power, step = parameters.power, parameters.step
    return finite_step.last_iterate(
        difference=model.difference(power),
        strong_convexity=model.strong_convexity(n, power),
        smoothness=model.smoothness(n, power),
        step=step,
        steps=parameters.steps,
        convex=model.constants.convex,
        # What `carry_out` does: it starts at the prior's mean, reads every record at each step and has no momentum.
        public_start=True,
        full_batch=True,
        momentum=0.0,
        chains=draws,
        float_error=chains.step_error(model, n, power, step),
    )


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """Asymptotic variance of a draw at this power."""
    return chains.expected_of_power(parameters.power)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass a step, for all chains at once."""
    return Cost(parameters.steps, draws)


def carry_out(
    task: Task[Gibbs, Parameters], engine: GradientEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Run the chains from the public start and keep their last iterates, on a public grid."""
    model, power = task.model, task.parameters.power
    theta = langevin.last_iterate(
        chains.field(model, engine, power),
        chains.projection(model, chains.projection_radius(model, task.n, power)),
        chains.public_start(model, task.draws, engine.dimension),
        task.parameters.step,
        task.parameters.steps,
        randomness,
        report,
    )
    return Draws(theta[:, None, :], engine.labels)


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether draws are multiples of the grid of the last normal, or points projected to the edge of the domain."""
    if not draws.bare:
        return False
    values, prior = draws.flat(), task.model.prior
    grid = float(langevin.ending_grid(task.parameters.step))
    multiple = np.rint(values / grid) * grid == values
    if isinstance(prior, Box):
        lower, upper = np.array(prior.lower), np.array(prior.upper)
        edge = (values == lower) | (values == upper)
        return bool((edge | ((values >= lower) & (values <= upper) & multiple)).all())
    radius = (
        prior.radius if isinstance(prior, Ball) else chains.projection_radius(task.model, task.n, task.parameters.power)
    )
    centre = (prior.centre if isinstance(prior, Ball) else prior.start) or (0.0,)
    norms: Array = np.linalg.norm(values - np.array(centre), axis=1)
    on_edge = np.abs(norms - radius) <= ROUNDING * radius
    return bool((on_edge | (multiple.all(axis=1) & (norms <= radius))).all())
