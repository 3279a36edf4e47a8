"""A noisy-gradient path in coordinates in which the rows are round: moments, map, path, curvature, under one price.

1. Noisy second moments of the rows are released; a map B follows from them (`shapes.whitening`).
2. theta = start + B theta_t. Each record's loss has the weight v = min(1, 1/|Bz|, b/|Bz|^2), a function of its row z alone, so
   gradients have norm at most s in the coordinates theta_t, where noise is added: every noisy gradient is released.
3. The curvature (1/n) sum v phi'' Bz (Bz)' at the average of the path, and the scale of the scores (1/n) sum v^2 phi'^2 |Bz|^2
   (with keep=("scores",) their whole matrix), are released with noise: a reader computes intervals from them in closed form.

Each part stays within its price whatever the moments say. The loss of the path is the plan's with a narrower clip at most, and
what is published is measured by that loss's own bounds: gradients in units of its slope and scores in its square, so that
records have norm at most 1; the curvature times the declared bound on phi'' over its own, so that records have norm at most b
times the declared bound (`curvature_units`). A label in the moments is clipped to its declared bound, which is in their price.

The prices compose as mu^2 = sum mu_i^2, every mu_i fixed beforehand. What leaves as the draw is the average of the
path's tail; `check` computes map and path again. Estimates and intervals follow from the published numbers (`shapes.posterior`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import UNIT_ROUNDOFF, Array, ShapedEngine, WeighedEngine, gradient_error
from sfumato.errors import FormatError
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import protocol, shape_first
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.procedures.shape_first import Learnt, gradient_mean_error, label_column, tail_means
from sfumato.randomness import Randomness
from sfumato.samplers.langevin import Field, Recursion, Report, bounded, noisy_path, silent
from sfumato.shapes import symmetric
from sfumato.shapes.clip_level import CELLS
from sfumato.shapes.schedule import learning_rate, map_rule
from sfumato.shapes.whitening import MapRule
from sfumato.theorems import curvature, weighted

NAME = "shaped-path"
NEEDS = ("gradients", "shapes")
KEEPS = ("transcript", "scores")
# Passes beside the path's: moments, weights, curvature.
_PASSES = 3
# A recomputed average may differ by this share of its size: eigenvectors are rounded otherwise on other machines.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """Noise of the moments; of a mean gradient, in units of the largest slope s; of the curvature; of the scores, in s^2.

    Either the scale of the scores is released (`score_noise`) or their matrix (`score_matrix_noise`). `resolution` is
    x = n mu/sqrt(d) of the target: radius, bend and ridge of the map follow from it, and clipping levels.
    """

    moments_noise: float
    noise: float
    curvature_noise: float
    steps: int
    tail: int
    momentum: float
    resolution: float
    shares_noise: float | None = None
    score_noise: float | None = None
    score_matrix_noise: float | None = None
    positive: ClassVar[tuple[str, ...]] = (
        "moments_noise", "noise", "curvature_noise", "steps", "tail", "resolution", "shares_noise", "score_noise",
        "score_matrix_noise",
    )  # fmt: skip

    @property
    def rule(self) -> MapRule:
        """Radius, bend and ridge of the map."""
        return map_rule(self.resolution)

    @property
    def spend(self) -> float:
        """Price of the path as n mu, for two gradients that differ by twice the slope."""
        return 2 * math.sqrt(self.steps) / self.noise


def refuses(model: Gibbs) -> str | None:
    """Serve convex smooth losses of one score with labelled rows, in a stated dimension."""
    return shape_first.refuses(model)


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows: terms of moments, gradients, curvature and scores keep their bounds."""
    return None


def refuses_weights(model: Gibbs) -> str | None:
    """Serve weighted records: terms of moments, gradients, curvature and scores times v keep their bounds, and 0 is within them."""
    return None


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Price of all that is released; numbers that contradict each other are refused."""
    agree = draws == 1 and 1 <= parameters.tail <= parameters.steps and 0 <= parameters.momentum < 1
    agree = agree and (model.loss.squared_labels is None) == (parameters.shares_noise is None)
    if not agree or (parameters.score_noise is None) == (parameters.score_matrix_noise is None):
        raise FormatError("the numbers of a shape-first path contradict each other: the record was edited.")
    return weighted.shape_first(part_prices(model, n, parameters), fixed_beforehand=True)


def part_prices(model: Gibbs, n: int, parameters: Parameters) -> list[Guarantee]:
    """The prices of moments, path, curvature and scores, each whatever was published before it."""
    return [
        shape_first.moments_price(model, n, parameters.moments_noise, label_column(model)),
        *([] if parameters.shares_noise is None else [shape_first.shares_price(n, parameters.shares_noise)]),
        _path_price(model, n, parameters),
        _curvature_price(model, n, parameters),
        _score_price(model, n, parameters),
    ]


def _path_price(model: Gibbs, n: int, parameters: Parameters) -> Guarantee:
    """Price of every noisy gradient, in units of the largest slope."""
    loss: Any = model.loss
    steepest = loss.largest_slope()
    # The clip of a loss whose labels enter the moments follows from them: its slope at 0 may be a larger share of the largest.
    zero = loss.zero_slope() if label_column(model) is None else steepest
    return weighted.weighted_path(
        slope=1.0,
        difference_factor=weighted.difference_factor(
            slope=steepest, zero_slope=zero, convex=model.constants.convex, dimension=int(model.dimension or 1)
        ),
        n=n,
        noise=parameters.noise,
        steps=parameters.steps,
        momentum=parameters.momentum,
        float_error=gradient_mean_error(model, n, parameters.moments_noise, parameters.noise, parameters.rule),
        # What `carry_out` does: weights follow from a record's own row and the map, and map, start and steps from the plan and
        # the published moments.
        public_map=True,
        weights_of_rows_alone=True,
        public_start=True,
        public_schedule=True,
        full_batch=True,
    )


def _curvature_price(model: Gibbs, n: int, parameters: Parameters) -> Guarantee:
    most, bend = model.loss.largest_curvature(), parameters.rule.bend
    return curvature.noisy_curvature(
        curvature=most,
        bend=bend,
        n=n,
        noise=parameters.curvature_noise,
        float_error=shape_first.matrix_mean_error(model, n, bend * most, parameters.curvature_noise),
        convex=model.constants.convex,
        public_point=True,
        public_map=True,
        weights_of_rows_alone=True,
    )


def _score_price(model: Gibbs, n: int, parameters: Parameters) -> Guarantee:
    """Price of the scale of the scores, or of their matrix, in units of the squared slope."""
    whole = parameters.score_matrix_noise
    noise = float((parameters.score_noise if whole is None else whole) or 0.0)
    if whole is None:
        error = gradient_error(n, 1.0) / n + 16 * UNIT_ROUNDOFF * (1 + 120 * noise)
    else:
        error = shape_first.matrix_mean_error(model, n, 1.0, noise)
    claim = curvature.score_scale if whole is None else curvature.score_matrix
    return claim(
        slope=1.0, n=n, noise=noise, float_error=error, public_point=True, public_map=True, weights_of_rows_alone=True
    )


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """The noise that every mean gradient carries, in the coordinates in which the rows are round."""
    return Expected("mapped-gradient-noise", parameters.noise)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass a step, and those for moments, weights and curvature."""
    return Cost(parameters.steps + _PASSES)


def carry_out(
    task: Task[Gibbs, Parameters], engine: ShapedEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Release moments, path, curvature and scores, each computed from what was released before, and the path's average."""
    numbers, model, label = task.parameters, task.model, label_column(task.model)
    first = {"moments": shape_first.publish_moments(model, engine, numbers.moments_noise, label, randomness)}
    if numbers.shares_noise is not None:
        shares = learnt_from(task, first).shares(engine)
        first["shares"] = shape_first.noisy(shares, numbers.shares_noise, randomness)
    learnt = learnt_from(task, first)
    weighed = engine.weighed(learnt.shape.matrix, numbers.rule.bend, learnt.loss)
    gradient = mean_gradient(task, learnt, weighed)
    run = noisy_path(gradient, recursion_of(task, learnt), numbers.noise, randomness, True, report)
    transcript = np.asarray(run.transcript)
    published = {**first, **second_order(task, learnt, weighed, transcript, randomness)}
    return Draws(average_of(task, learnt, transcript)[None, None, :], engine.labels, transcript, None, published)


def mean_gradient(task: Task[Gibbs, Parameters], learnt: Learnt, weighed: WeighedEngine) -> Field:
    """The mean gradient at theta_t (chains, d), in mapped coordinates and in units of the slope: what gets noise at every step."""
    slope, matrix = learnt.loss.largest_slope(), learnt.shape.matrix

    def gradient(theta: Array) -> Array:
        return weighed.gradient(learnt.start + theta @ matrix) @ matrix / (task.n * slope)

    return gradient


def average_of(task: Task[Gibbs, Parameters], learnt: Learnt, transcript: Array) -> Array:
    """The average of the path's tail, in the user's coordinates and in the prior's domain."""
    average = tail_means(recursion_of(task, learnt), transcript)[0]
    return np.asarray(task.model.prior.project(learnt.start + learnt.shape.matrix @ average))


def recursion_of(task: Task[Gibbs, Parameters], learnt: Learnt) -> Recursion:
    """The path of theta_t from 0, in units of the slope: the prior pulls and projects in the user's coordinates."""
    numbers, prior, shape = task.parameters, task.model.prior, learnt.shape
    slope, d = learnt.loss.largest_slope(), len(learnt.start)
    curved = shape_first.step_curvature(task.model, learnt, task.n)
    rate = learning_rate(numbers.spend, shape.size, d, shape.rule.radius, curved, numbers.steps, numbers.momentum)

    def pull(theta: Array) -> Array:
        return np.asarray(prior.gradient(learnt.start + theta @ shape.matrix) @ shape.matrix / (task.n * slope))

    def project(theta: Array) -> Array:
        if not prior.truncated:
            return bounded(theta)
        inside = prior.project(learnt.start + bounded(theta) @ shape.matrix)
        return np.asarray((inside - learnt.start) @ shape.inverse)

    # The gradients are in units of the slope, so that the step is multiplied by it.
    return Recursion(pull, project, np.zeros((1, d)), rate * slope, numbers.momentum, numbers.steps, numbers.tail)


def curvature_units(model: Gibbs, learnt: Learnt) -> float:
    """The curvature is published times the quotient of the declared bound on phi'' and of that of the loss of the path.

    The price is that of terms up to the declared bound; those of the loss of the path are smaller and are scaled up to it.
    """
    return model.loss.largest_curvature() / learnt.loss.largest_curvature()


def second_order(
    task: Task[Gibbs, Parameters], learnt: Learnt, weighed: WeighedEngine, transcript: Array, randomness: Randomness
) -> dict[str, Array]:
    """The noisy curvature at the average of the path, and the noisy scale or matrix of the scores there."""
    numbers, matrix = task.parameters, learnt.shape.matrix
    average = tail_means(recursion_of(task, learnt), transcript)[0]
    whole = numbers.score_matrix_noise is not None
    sums, scores, scale = weighed.second_sums(learnt.start + matrix @ average, whole)
    squared = learnt.loss.largest_slope() ** 2 * task.n
    bent = symmetric.packed(sums / task.n) * curvature_units(task.model, learnt)
    spread = np.array([scale / squared]) if scores is None else symmetric.packed(scores / squared)
    noise = numbers.score_matrix_noise if whole else numbers.score_noise
    return {
        "curvature": shape_first.noisy(bent, numbers.curvature_noise, randomness),
        "scores": shape_first.noisy(spread, float(noise or 0.0), randomness),
    }


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether all published numbers lie on their grids, in reach of rows and noise, and lead to the published average."""
    if draws.transcript is None or draws.totals is not None or not _possible(task, draws, draws.transcript):
        return False
    with np.errstate(all="ignore"):  # a forged file may hold numbers of any size
        again = average_of(task, learnt_from(task, draws.published), draws.transcript)
    return np.allclose(draws.values[0, 0], again, _CLOSE, _CLOSE * float(np.abs(again).max()))


def learnt_from(task: Task[Gibbs, Parameters], published: Mapping[str, Array]) -> Learnt:
    """Map, start and loss, from what has been published so far: without the shares the loss is that of the model."""
    numbers, x = task.parameters, task.parameters.resolution
    public = numbers.moments_noise, numbers.rule, label_column(task.model), x, task.weight is not None
    learnt = shape_first.learnt(task.model, published["moments"], *public)
    shares = published.get("shares")
    return learnt if shares is None else learnt.clipped(shares, float(numbers.shares_noise or 0.0), x)


def _possible(task: Task[Gibbs, Parameters], draws: Draws, transcript: Array) -> bool:
    """Whether every array is there and has its length and grid, with a norm in reach of rows and noise."""
    d, numbers, loss, label = int(task.model.dimension or 0), task.parameters, task.model.loss, label_column(task.model)
    whole = numbers.score_matrix_noise is not None
    joint, square = symmetric.length(d + (label is not None)), symmetric.length(d)
    facts = {
        "moments": (joint, numbers.moments_noise, shape_first.largest_moment(loss, label)),
        **({} if numbers.shares_noise is None else {"shares": (CELLS, numbers.shares_noise, 1.0)}),
        "curvature": (square, numbers.curvature_noise, numbers.rule.bend * loss.largest_curvature()),
        "scores": (square if whole else 1, float(numbers.score_matrix_noise or numbers.score_noise or 0.0), 1.0),
    }
    kept = set(draws.published) == set(facts) and whole == ("scores" in task.keep)
    if not kept or draws.shape != (1, 1, d) or transcript.shape != (1, numbers.steps, d):
        return False
    held = all(shape_first.possible(draws.published[name], *facts[name]) for name in facts)
    return held and all(shape_first.possible(gradient, d, numbers.noise, 1.0) for gradient in transcript[0])
