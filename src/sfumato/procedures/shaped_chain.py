"""Draws of a tempered posterior by a Langevin chain in coordinates in which the rows are round, priced as it runs.

1. Noisy second moments of the rows are released; a map B follows from them (`shapes.whitening`).
2. theta = prior mean + B theta_t, with the prior of the plan, stated in the user's coordinates, and each record's loss weighted
   by v = min(1, 1/|Bz|, b/|Bz|^2): in theta_t the potential has G = 2 s power, m = lambda_min(BPB) and
   M = n power b k + lambda_max(BPB). A chain of a fixed number of steps of size 1/M starts at the prior's mean.
3. The power is the largest, at most 1, whose price by the finite-step theorem is within the mu that was fixed beforehand: it is
   computed from the published moments before the chain starts. Rows that are long in mapped coordinates are weighted, so the
   draws are of the posterior of the weighted loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.engines.protocol import UNIT_ROUNDOFF, Array, ShapedEngine, gradient_error
from sfumato.errors import FormatError
from sfumato.grids.line import LineGrid
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, protocol, shape_first
from sfumato.procedures.chain_law import ChainLaw, law_of_draw
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.randomness import Randomness
from sfumato.samplers import langevin
from sfumato.samplers.langevin import Report, silent
from sfumato.shapes import symmetric
from sfumato.shapes.whitening import MapRule
from sfumato.theorems import finite_step, weighted

NAME = "shaped-chain"
NEEDS = ("gradients", "shapes", "exact scores")
KEEPS: tuple[str, ...] = ()
# Radius, bend and ridge of the map: rows have a mean length of 2.5 in mapped coordinates. Others were not measured for chains.
RULE = MapRule(0.4, 3.0, 0.2)
# Passes beside the chain's: moments and weights.
_PASSES = 2
# Range of the power: the true posterior, and less than any target leaves.
_LOWEST, _HIGHEST = 1e-12, 1.0


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """Noise of the moments, the price mu of one chain, and the number of steps."""

    moments_noise: float
    chain_mu: float
    steps: int
    positive: ClassVar[tuple[str, ...]] = ("moments_noise", "chain_mu", "steps")


def refuses(model: Gibbs) -> str | None:
    """Serve what the shaped path serves, with a Gaussian prior on all of R^d."""
    if model.prior.truncated or model.prior.strong_convexity <= 0:
        return "the mapped chain needs a Gaussian prior on all of R^d, with a positive precision"
    return shape_first.refuses(model)


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows: terms of moments and gradients keep their bounds, losses their constants."""
    return None


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Price of the moments and of all chains, whose mu is fixed beforehand."""
    if parameters.steps < 1:
        raise FormatError("the numbers of a mapped chain contradict each other: the record was edited.")
    chain = weighted.budgeted_chain(
        mu=_together(parameters.chain_mu, draws),
        chains=draws,
        convex=model.constants.convex,
        # What `carry_out` does: the power is computed before the first step, from what was released before.
        priced_before_it_runs=True,
        public_map=True,
        weights_of_rows_alone=True,
        public_start=True,
        full_batch=True,
    )
    moments = shape_first.moments_price(model, n, parameters.moments_noise, None)
    return weighted.shape_first([moments, chain], fixed_beforehand=True)


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """Asymptotic variance of a draw at the power that the price allows before the chain forgets its start.

    Rows have a mean length of 1/c in mapped coordinates, so that their mean weight is about c.
    """
    loss = model.loss
    ratio = RULE.bend * loss.largest_curvature() / loss.largest_slope() ** 2
    power = min(1.0, parameters.chain_mu**2 * n * ratio / (2 * parameters.steps))
    return chains.expected_of_power(RULE.radius * power)


def draw_law(task: Task[Gibbs, Parameters]) -> ChainLaw | None:
    """The law of a draw on made-up rows, whose moments are published without noise: the map then is nearly a multiple of 1.

    Its square multiplies the step, and the weight of a row of usual length the power.
    """
    model, d, square = task.model, int(task.model.dimension or 0), task.model.intercept**2
    own = np.full(d, (model.loss.radius**2 - square) / max(d - bool(square), 1))
    own[d - bool(square) :] = square
    chain = MappedChain.of(task, symmetric.packed(np.diag(own)))
    power, squares = chain.power(task.parameters.chain_mu), np.sum(chain.matrix**2, axis=0)
    length = math.sqrt(float(squares @ own))
    weight = min(1.0, 1 / length, RULE.bend / length**2)
    return law_of_draw(model, task.n, power * weight, chain.step(power) * float(squares.mean()), chain.steps)


def _together(mu: float, draws: int) -> float:
    """The price of all chains, rounded up."""
    return mu * math.sqrt(draws) * (1 + 1e-15)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass a step for all chains at once, and those for moments and weights."""
    return Cost(parameters.steps + _PASSES, draws)


@dataclass(frozen=True, eq=False)
class MappedChain:
    """The potential in mapped coordinates, after the moments were published: all that its price depends on."""

    model: Gibbs
    n: int
    draws: int
    steps: int
    matrix: Array  # B
    pull: Array  # BPB

    @classmethod
    def of(cls, task: Task[Gibbs, Parameters], moments: Array) -> MappedChain:
        """The potential that follows from published moments."""
        shape = shape_first.learnt(task.model, moments, task.parameters.moments_noise, RULE, None).shape
        d, prior = len(shape.values), task.model.prior
        precision = prior.gradient(np.eye(d)) - prior.gradient(np.zeros((d, d)))
        pull = shape.matrix @ precision @ shape.matrix
        return cls(task.model, task.n, task.draws, task.parameters.steps, shape.matrix, (pull + pull.T) / 2)

    @cached_property
    def curvatures(self) -> tuple[float, float]:
        """Smallest and largest eigenvalue of BPB, rounded down and up by more than their error."""
        values = np.linalg.eigvalsh(self.pull)
        room = 64 * len(values) * UNIT_ROUNDOFF * float(np.abs(values).max())
        return float(values[0]) - room, float(values[-1]) + room

    def smoothness(self, power: float) -> float:
        """M."""
        return self.n * power * RULE.bend * self.model.loss.largest_curvature() + self.curvatures[1]

    def step(self, power: float) -> float:
        """The step size 1/M."""
        return 1.0 / self.smoothness(power)

    def radius(self, power: float) -> float:
        """Radius of the public ball about the start onto which chains are projected: four times what holds mode and draws."""
        m = self.curvatures[0]
        spread = 12 * math.sqrt((len(self.matrix) + 100) / m)
        return 4 * (power * self.n * self.model.loss.largest_slope() / m + spread)

    def price(self, power: float) -> Guarantee:
        """The finite-step theorem for all chains at this power."""
        return finite_step.last_iterate(
            difference=2 * self.model.loss.largest_slope() * power * (1 + 1e-15),
            strong_convexity=self.curvatures[0],
            smoothness=self.smoothness(power),
            step=self.step(power),
            steps=self.steps,
            convex=self.model.constants.convex,
            public_start=True,
            full_batch=True,
            momentum=0.0,
            chains=self.draws,
            float_error=self.step_error(power),
        )

    def step_error(self, power: float) -> float:
        """Bound on the rounding error of one step inside the ball of `radius`, in norm.

        A score is off by at most (d + 4) u r |theta|, so a record's gradient by k times that in mapped coordinates, where its
        row has weighted length at most 1; then the sum's own error, mapped by B, the prior's gradient and the update.
        """
        loss, d, u = self.model.loss, len(self.matrix), UNIT_ROUNDOFF
        norm = float(np.linalg.norm(self.matrix, 2)) * (1 + 1e-9)
        far = self.radius(power)
        reach = norm * far + math.hypot(*(self.model.prior.start or (0.0,)))
        slope, step = loss.largest_slope(), self.step(power)
        records = self.n * (loss.largest_curvature() * (d + 4) * u * loss.radius * reach + 8 * u * slope)
        sums = norm * gradient_error(self.n, slope * loss.radius)
        mapped = 8 * math.sqrt(d) * (d + 4) * u * norm * self.n * slope * loss.radius
        prior = 8 * math.sqrt(d) * (d + 4) * u * self.curvatures[1] * far
        moved = far + step * power * self.n * slope + 12 * math.sqrt(2 * step * (d + 100))
        return step * (power * (records + sums + mapped) + prior) * (1 + 1e-9) + 32 * u * moved

    def power(self, mu: float) -> float:
        """The largest power, at most 1, at which all chains together cost at most what chains of price mu each do."""
        limit = Target(curve=Gaussian(_together(mu, self.draws)))
        return largest(self.price, limit, _LOWEST, _HIGHEST, "power")


def carry_out(
    task: Task[Gibbs, Parameters], engine: ShapedEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Release the moments, compute the power, run the chains and keep their last iterates, mapped back."""
    numbers, model = task.parameters, task.model
    moments = shape_first.publish_moments(model, engine, numbers.moments_noise, None, randomness)
    chain = MappedChain.of(task, moments)
    power = chain.power(numbers.chain_mu)
    weighed = engine.weighed(chain.matrix, RULE.bend)
    mean = _mean(task)

    def gradient(theta: Array) -> Array:
        return power * (weighed.gradient(mean + theta @ chain.matrix) @ chain.matrix) + theta @ chain.pull

    last = langevin.last_iterate(
        gradient,
        chains.ball(np.zeros(len(mean)), chain.radius(power)),
        np.zeros((task.draws, len(mean))),
        chain.step(power),
        numbers.steps,
        randomness,
        report,
    )
    return Draws((mean + last @ chain.matrix)[:, None, :], engine.labels, published={"moments": moments})


def _mean(task: Task[Gibbs, Parameters]) -> Array:
    d = int(task.model.dimension or 0)
    return np.zeros(d) if task.model.prior.start is None else np.array(task.model.prior.start)


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether the moments lie on their grid and every draw is a mapped point of the grid that follows from them."""
    d = int(task.model.dimension or 0)
    moments = draws.published.get("moments")
    if draws.transcript is not None or draws.totals is not None or set(draws.published) != {"moments"}:
        return False
    noise = task.parameters.moments_noise
    largest = shape_first.largest_moment(task.model.loss, None)
    if moments is None or not shape_first.possible(moments, symmetric.length(d), noise, largest):
        return False
    chain = MappedChain.of(task, moments)
    power = chain.power(task.parameters.chain_mu)
    values = draws.flat() - _mean(task)
    steps: tuple[Fraction, ...] = (langevin.ending_grid(chain.step(power)),) * d
    inside = np.linalg.norm(np.linalg.solve(chain.matrix, values.T), axis=0) <= chain.radius(power) * (1 + 1e-9)
    return bool(inside.all()) and LineGrid(steps, chain.matrix.tolist()).holds(values)
