"""Intervals of a regression that learnt the shape of its rows first: normal, in closed form, for any number of coefficients.

Map, path and posterior follow from published numbers alone (`shapes.posterior`). Ends are mean +- z deviation, where the mean
and deviation are those of the truth ("privacy and sampling"), of the truth with the covariance of the scores as it was released
("robust": the model may be wrong), or of the penalised optimum on the rows ("privacy").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.priors import Ball, Box
from sfumato.procedures import shaped_path, task_of
from sfumato.procedures.protocol import Task
from sfumato.procedures.shape_first import Learnt, label_column, tail_means
from sfumato.queries._identities import Identities
from sfumato.shapes import symmetric
from sfumato.shapes.clip_level import SHARE
from sfumato.shapes.mean_label import observed
from sfumato.shapes.posterior import Posterior, Published, posterior
from sfumato.shapes.residuals import residual_variance

Array = NDArray[np.float64]
# Deviation of the shift of an intercept by clipping, over the mean excess of residuals beyond the clip: the excess is known to
# about a half of itself.
_SHIFT = 1.5


def is_shaped(plan: Mapping[str, Any]) -> bool:
    """Whether a plan's document is that of a path which learnt the shape first."""
    return plan.get("procedure") == shaped_path.NAME


def ends(draws: Draws, plan: Mapping[str, Any], level: float, sampling: str, matrix: Array | None = None) -> Array:
    """Lower and upper ends (2, m) of matrix @ coefficients, by default (2, d) of each of them; the medians at level 0.

    `sampling` is "none", "model" or "robust". In a ball or box the ends are moved into the range of their functional.
    """
    from scipy.special import ndtri

    prior = task_of(plan)[1].model.prior
    rows = np.eye(draws.shape[-1]) if matrix is None else matrix
    middle, deviation = moments(draws, plan, sampling, rows)
    away = float(ndtri(0.5 + 0.5 * level)) * deviation
    return np.stack([_inside(prior, rows, middle + sign * away) for sign in (-1, 1)])


def moments(draws: Draws, plan: Mapping[str, Any], sampling: str, matrix: Array) -> tuple[Array, Array]:
    """Posterior mean and deviation of matrix @ coefficients: A (start + mean) and the root of the diagonal of A cov A'."""
    law, start = law_of(draws, plan, sampling)
    # Row by row: the whole product A cov A' has as many entries as the square of the rows of A.
    variance = np.einsum("ij,ij->i", matrix @ law.covariance, matrix)
    return matrix @ (start + law.mean), np.sqrt(np.maximum(variance, 0.0))


def law_of(draws: Draws, plan: Mapping[str, Any], sampling: str) -> tuple[Posterior, Array]:
    """The normal posterior, relative to the start of the path, and the start; "robust" needs the released score matrix.

    Where a record is the average of a person's rows, or has a weight, the model says nothing about the variance of its score: the
    released matrix is taken for "model" too.
    """
    if sampling == "model" and _clustered(plan):
        sampling = "robust"
    if sampling == "robust" and task_of(plan)[1].parameters.score_matrix_noise is None:
        raise ArgumentError(
            'robust intervals need the released matrix of the scores: plan with keep=("scores",), which takes a tenth of the '
            "price from the rest."
        )
    return _posterior(Identities(draws, plan), sampling)


def _clustered(plan: Mapping[str, Any]) -> bool:
    persons = plan.get("persons") or {}
    return "weight" in plan or int(persons.get("most", 1)) > 1


def predictor(draws: Draws, plan: Mapping[str, Any]) -> Array:
    """The coefficients that predictions use (`shapes.posterior.Posterior`)."""
    law, start = law_of(draws, plan, "model")
    return np.asarray(task_of(plan)[1].model.prior.project(start + law.predictor))


def _inside(prior: Any, matrix: Array, values: Array) -> Array:
    """Every value moved into the range that its row of the matrix has over the prior's domain.

    Over |theta - centre| <= R the range of a.theta is a.centre +- R |a|; over a box each term a_i theta_i has its own ends.
    """
    if isinstance(prior, Box):
        ends = matrix * np.array(prior.lower), matrix * np.array(prior.upper)
        return np.clip(values, np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1))
    if isinstance(prior, Ball):
        centre = np.zeros(matrix.shape[1]) if prior.centre is None else np.array(prior.centre)
        middle, reach = matrix @ centre, prior.radius * np.linalg.norm(matrix, axis=1)
        return np.clip(values, middle - reach, middle + reach)
    return values


def diagnostic(draws: Draws, plan: Mapping[str, Any]) -> float:
    """q: the expected squared error of the score of a row, from the noise and from what the path has not reached."""
    return law_of(draws, plan, "model")[0].diagnostic


def read(task: Task[Gibbs, shaped_path.Parameters], draws: Draws, sampling: str) -> tuple[Posterior, Array]:
    """The posterior of the coefficients, relative to the start of the path, and the start."""
    facts, learnt = published_of(task, draws)
    law = posterior(facts, sampling)
    if task.model.loss.squared_labels is not None and task.model.intercept:
        law = _with_mean_label(task, draws, facts, learnt, law, sampling)
    # A normal law may lie beyond a ball or box: it is moved to the nearest centre within, which is no further from any truth there.
    centre = np.asarray(task.model.prior.project(learnt.start + law.mean))
    return replace(law, mean=centre - learnt.start), learnt.start


def _with_mean_label(
    task: Task[Gibbs, shaped_path.Parameters],
    draws: Draws,
    facts: Published,
    learnt: Learnt,
    law: Posterior,
    sampling: str,
) -> Posterior:
    """The posterior of a linear regression given the mean label too, which the moments hold beside the mean row.

    The entries of the moments that belong to the constant c are c times the means; off the diagonal their noise is that of the
    moments over sqrt(2). With survey weights they are those of v (x, c) and v y, v a record's weight over the largest one, and the
    constant's own moment holds the mean v. The plain fit of the rows has their mean label exactly, the truth but for sampling.
    """
    model, d = task.model, len(learnt.start)
    label = label_column(model)
    if label is None:
        return law
    moments = symmetric.unpacked(draws.published["moments"], d + 1)
    c, share, theta = model.intercept, 1.0, learnt.start + law.mean
    noise = facts.moments_noise / (math.sqrt(2.0) * c)
    squares = float(theta[:-1] @ theta[:-1]) + float(np.trace(law.covariance[:-1, :-1]))
    variance = noise**2 * (label.scale**-2 + squares)
    if task.weight is not None:
        share = float(moments[d - 1, d - 1]) / c**2
        if share <= 2 * facts.moments_noise / c**2:
            return law
        variance += (facts.moments_noise / c**2 * (c * float(theta[-1]) - label.centre)) ** 2
    row = np.append(moments[d - 1, : d - 1] / c, c * share)
    mean = moments[d - 1, d] / (c * label.scale) + share * label.centre
    if sampling != "none":
        variance += residual_variance(facts, learnt.loss.largest_slope(), learnt.shape.rule.bend) / task.n
    return observed(law, learnt.start, row, mean, variance, _SHIFT * learnt.excess, c)


def published_of(task: Task[Gibbs, shaped_path.Parameters], draws: Draws) -> tuple[Published, Learnt]:
    """The published numbers, and the map, start and loss that follow from the moments among them.

    Gradients were published in units of the slope s and scores in s^2; here all numbers are those of the loss itself.
    """
    numbers, model, published = task.parameters, task.model, draws.published
    learnt = shaped_path.learnt_from(task, draws.published)
    recursion = shaped_path.recursion_of(task, learnt)
    average, gradient = tail_means(recursion, np.asarray(draws.transcript))
    shape, slope, d = learnt.shape, learnt.loss.largest_slope(), len(learnt.start)
    whole = numbers.score_matrix_noise is not None
    scores = symmetric.unpacked(published["scores"], d) if whole else None
    units = shaped_path.curvature_units(model, learnt)
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
        curvature=symmetric.unpacked(published["curvature"], d) / units,
        curvature_noise=numbers.curvature_noise / units,
        largest_curvature=learnt.curvature,
        least_curvature=learnt.least,
        moved=SHARE * learnt.excess * math.sqrt(learnt.share) / (shape.rule.radius * math.sqrt(shape.size)),
        score_scale=slope**2 * float(published["scores"][0] if scores is None else np.trace(scores)),
        score_matrix=None if scores is None else slope**2 * scores,
        score_noise=slope**2 * float(numbers.score_matrix_noise or numbers.score_noise or 0.0),
        precision=precision,
        centre=mean - learnt.start,
    )
    return facts, learnt


@lru_cache(maxsize=8)
def _posterior(record: Identities, sampling: str) -> tuple[Posterior, Array]:
    draws, plan = record.parts
    _, task = task_of(plan)
    needed = {"moments", "curvature", "scores"} | ({"shares"} if task.model.loss.squared_labels else set())
    if draws.transcript is None or not needed <= set(draws.published):
        raise ArgumentError("the release lacks numbers that its plan publishes: check the file with release.verify().")
    return read(task, draws, sampling)
