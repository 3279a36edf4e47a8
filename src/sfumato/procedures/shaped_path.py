"""A noisy-gradient path in coordinates in which the rows are round: moments, map, path, curvature, under one price.

1. Noisy second moments of the rows are released; a map B follows from them (`shapes.whitening`).
2. theta = start + B theta_t. Each record's loss has the weight v = min(1, 1/|Bz|, b/|Bz|^2), a function of its row z alone, so
   gradients have norm at most s in the coordinates theta_t, where noise is added: every noisy gradient is released.
3. The curvature (1/n) sum v phi'' Bz (Bz)' at the average of the path, and the scale of the scores (1/n) sum v^2 phi'^2 |Bz|^2
   (with keep=("scores",) their whole matrix), are released with noise: a reader computes intervals from them in closed form.

The prices compose as mu^2 = sum mu_i^2, every mu_i fixed beforehand. What leaves as the draw is the estimate that follows from
the published numbers (`shapes.posterior`); `check` computes map, path and estimate again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import UNIT_ROUNDOFF, Array, ShapedEngine, WeighedEngine, gradient_error
from sfumato.errors import FormatError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.logistic import Logistic
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import protocol, shape_first
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.procedures.shape_first import BEND, SCALE, Learnt, label_column, matrix_error, tail_means
from sfumato.randomness import Randomness
from sfumato.samplers.langevin import Recursion, Report, bounded, noisy_path, silent
from sfumato.shapes import symmetric
from sfumato.shapes.posterior import Posterior, Published, posterior
from sfumato.shapes.schedule import learning_rate
from sfumato.theorems import curvature, weighted

NAME = "shaped-path"
NEEDS = ("gradients", "shapes")
KEEPS = ("transcript", "scores")
# Passes beside the path's: moments, weights, curvature.
_PASSES = 3
# A recomputed estimate may differ by this share of its deviation: eigenvectors are rounded otherwise on other machines.
_CLOSE = 1e-3


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """Noise of the moments; of a mean gradient, in units of the largest slope s; of the curvature; of the scores, in s^2.

    Either the scale of the scores is released (`score_noise`) or their matrix (`score_matrix_noise`).
    """

    moments_noise: float
    noise: float
    curvature_noise: float
    steps: int
    tail: int
    momentum: float
    score_noise: float | None = None
    score_matrix_noise: float | None = None
    positive: ClassVar[tuple[str, ...]] = (
        "moments_noise", "noise", "curvature_noise", "steps", "tail", "score_noise", "score_matrix_noise",
    )  # fmt: skip

    @property
    def spend(self) -> float:
        """Price of the path as n mu, for two gradients that differ by twice the slope."""
        return 2 * math.sqrt(self.steps) / self.noise


def refuses(model: Gibbs) -> str | None:
    """Serve convex smooth losses of one score with labelled rows, in a stated dimension."""
    return shape_first.refuses(model)


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Price of all that is released; numbers that contradict each other are refused."""
    agree = draws == 1 and 1 <= parameters.tail <= parameters.steps and 0 <= parameters.momentum < 1
    if not agree or (parameters.score_noise is None) == (parameters.score_matrix_noise is None):
        raise FormatError("the numbers of a shape-first path contradict each other: the record was edited.")
    parts = [
        shape_first.moments_price(model, n, parameters.moments_noise, label_column(model)),
        _path_price(model, n, parameters),
        _curvature_price(model, n, parameters),
        _score_price(model, n, parameters),
    ]
    return weighted.shape_first(parts, fixed_beforehand=True)


def _path_price(model: Gibbs, n: int, parameters: Parameters) -> Guarantee:
    """Price of every noisy gradient, in units of the largest slope."""
    d, radius = int(model.dimension or 1), model.loss.radius
    logistic = isinstance(model.loss, Logistic)
    size = 1 + 12 * parameters.noise * math.sqrt(d + 100)
    return weighted.weighted_path(
        slope=1.0,
        difference_factor=weighted.logistic_difference_factor(bend=BEND, dimension=d) if logistic else 2.0,
        n=n,
        noise=parameters.noise,
        steps=parameters.steps,
        momentum=parameters.momentum,
        float_error=shape_first.mapped_error(model, n, parameters.moments_noise, radius, 1) + 16 * UNIT_ROUNDOFF * size,
        # What `carry_out` does: weights follow from a record's own row and the map, and map, start and steps from the plan and
        # the published moments.
        public_map=True,
        weights_of_rows_alone=True,
        public_start=True,
        public_schedule=True,
        full_batch=True,
    )


def _curvature_price(model: Gibbs, n: int, parameters: Parameters) -> Guarantee:
    loss = model.loss
    most = loss.largest_curvature()
    return curvature.noisy_curvature(
        curvature=most,
        bend=BEND,
        n=n,
        noise=parameters.curvature_noise,
        float_error=matrix_error(
            model, n, parameters.moments_noise, most * BEND, most * loss.radius**2, parameters.curvature_noise
        ),
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
        error = matrix_error(model, n, parameters.moments_noise, 1.0, model.loss.radius**2, noise)
    claim = curvature.score_scale if whole is None else curvature.score_matrix
    return claim(
        slope=1.0,
        n=n,
        noise=noise,
        float_error=error,
        public_point=True,
        public_map=True,
        weights_of_rows_alone=True,
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
    """Release moments, path, curvature and scores, each computed from what was released before, and the estimate."""
    numbers, model = task.parameters, task.model
    label = label_column(model)
    moments = shape_first.publish_moments(model, engine, numbers.moments_noise, label, randomness)
    learnt = shape_first.learnt(model, moments, numbers.moments_noise, label)
    weighed = engine.weighed(learnt.shape.matrix, BEND, learnt.loss)
    slope, matrix = learnt.loss.largest_slope(), learnt.shape.matrix

    def gradient(theta: Array) -> Array:
        return weighed.gradient(learnt.start + theta @ matrix) @ matrix / (task.n * slope)

    run = noisy_path(gradient, recursion_of(task, learnt), numbers.noise, randomness, True, report)
    transcript = np.asarray(run.transcript)
    published = {"moments": moments, **_second_order(task, learnt, weighed, transcript, randomness)}
    values = learnt.start + posterior_of(task, learnt, transcript, published, "model").estimate
    return Draws(model.prior.project(values)[None, None, :], engine.labels, transcript, None, published)


def recursion_of(task: Task[Gibbs, Parameters], learnt: Learnt) -> Recursion:
    """The path of theta_t from 0, in units of the slope: the prior pulls and projects in the user's coordinates."""
    numbers, prior, shape = task.parameters, task.model.prior, learnt.shape
    slope, d = learnt.loss.largest_slope(), len(learnt.start)
    rate = learning_rate(
        numbers.spend, shape.size, d, SCALE, learnt.loss.largest_curvature(), numbers.steps, numbers.momentum
    )

    def pull(theta: Array) -> Array:
        return np.asarray(prior.gradient(learnt.start + theta @ shape.matrix) @ shape.matrix / (task.n * slope))

    def project(theta: Array) -> Array:
        if not prior.truncated:
            return bounded(theta)
        inside = prior.project(learnt.start + bounded(theta) @ shape.matrix)
        return np.asarray((inside - learnt.start) @ shape.inverse)

    # The gradients are in units of the slope, so that the step is multiplied by it.
    return Recursion(pull, project, np.zeros((1, d)), rate * slope, numbers.momentum, numbers.steps, numbers.tail)


def _second_order(
    task: Task[Gibbs, Parameters], learnt: Learnt, weighed: WeighedEngine, transcript: Array, randomness: Randomness
) -> dict[str, Array]:
    """The noisy curvature at the average of the path, and the noisy scale or matrix of the scores there."""
    numbers, matrix = task.parameters, learnt.shape.matrix
    average = tail_means(recursion_of(task, learnt), transcript)[0]
    whole = numbers.score_matrix_noise is not None
    sums, scores, scale = weighed.second_sums(learnt.start + matrix @ average, whole)
    squared = learnt.loss.largest_slope() ** 2 * task.n
    bent = symmetric.packed(matrix @ (sums / task.n) @ matrix)
    spread = np.array([scale / squared]) if scores is None else symmetric.packed(matrix @ (scores / squared) @ matrix)
    noise = numbers.score_matrix_noise if whole else numbers.score_noise
    return {
        "curvature": shape_first.noisy(bent, numbers.curvature_noise, randomness),
        "scores": shape_first.noisy(spread, float(noise or 0.0), randomness),
    }


def read(
    task: Task[Gibbs, Parameters], transcript: Array, published: Mapping[str, Array], sampling: str
) -> tuple[Posterior, Learnt]:
    """The posterior of the coefficients, relative to the start, and what was learnt from the published moments."""
    moments, noise = published["moments"], task.parameters.moments_noise
    learnt = shape_first.learnt(task.model, moments, noise, label_column(task.model))
    return posterior_of(task, learnt, transcript, published, sampling), learnt


def posterior_of(
    task: Task[Gibbs, Parameters], learnt: Learnt, transcript: Array, published: Mapping[str, Array], sampling: str
) -> Posterior:
    """The posterior of the coefficients, relative to the start.

    Gradients were published in units of the slope s and scores in s^2; here all numbers are those of the loss itself.
    """
    numbers, model = task.parameters, task.model
    recursion = recursion_of(task, learnt)
    average, gradient = tail_means(recursion, transcript)
    shape, slope, d = learnt.shape, learnt.loss.largest_slope(), len(learnt.start)
    whole = numbers.score_matrix_noise is not None
    scores = symmetric.unpacked(published["scores"], d) if whole else None
    precision = model.prior.gradient(np.eye(d)) - model.prior.gradient(np.zeros((d, d)))
    mean = np.zeros(d) if model.prior.start is None else np.array(model.prior.start)
    facts = Published(
        n=task.n,
        steps=numbers.steps,
        tail=numbers.tail,
        momentum=numbers.momentum,
        rate=recursion.rate / slope,
        noise=numbers.noise * slope,
        matrix=shape.matrix,
        values=shape.values,
        vectors=shape.vectors,
        own=shape.own,
        resolved=shape.resolved,
        moments_noise=shape.noise,
        average=average,
        gradient=gradient * slope,
        curvature=symmetric.unpacked(published["curvature"], d),
        curvature_noise=numbers.curvature_noise,
        largest_curvature=learnt.loss.largest_curvature(),
        score_scale=slope**2 * float(published["scores"][0] if scores is None else np.trace(scores)),
        score_matrix=None if scores is None else slope**2 * scores,
        score_noise=slope**2 * float(numbers.score_matrix_noise or numbers.score_noise or 0.0),
        precision=precision,
        centre=mean - learnt.start,
    )
    return posterior(facts, sampling)


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether all published numbers lie on their grids, in reach of rows and noise, and lead to the published estimate."""
    if draws.transcript is None or draws.totals is not None or not _possible(task, draws, draws.transcript):
        return False
    with np.errstate(all="ignore"):  # a forged file may hold numbers of any size
        found, learnt = read(task, draws.transcript, draws.published, "model")
    again = task.model.prior.project(learnt.start + found.estimate)
    deviation = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    return bool((np.abs(draws.values[0, 0] - again) <= _CLOSE * deviation + 1e-9 * np.abs(again)).all())


def _possible(task: Task[Gibbs, Parameters], draws: Draws, transcript: Array) -> bool:
    """Whether every array is there and has its length and grid, with a norm in reach of rows and noise."""
    d, numbers, label, loss = int(task.model.dimension or 0), task.parameters, label_column(task.model), task.model.loss
    whole = numbers.score_matrix_noise is not None
    joint, square = symmetric.length(d + (label is not None)), symmetric.length(d)
    facts = {
        "moments": (joint, numbers.moments_noise, shape_first.largest_moment(loss, label)),
        "curvature": (square, numbers.curvature_noise, BEND * loss.largest_curvature()),
        "scores": (square if whole else 1, float(numbers.score_matrix_noise or numbers.score_noise or 0.0), 1.0),
    }
    kept = set(draws.published) == set(facts) and whole == ("scores" in task.keep)
    if not kept or draws.shape != (1, 1, d) or transcript.shape != (1, numbers.steps, d):
        return False
    held = all(shape_first.possible(draws.published[name], *facts[name]) for name in facts)
    return held and all(shape_first.possible(gradient, d, numbers.noise, 1.0) for gradient in transcript[0])
