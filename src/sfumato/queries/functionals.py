"""Linear functionals of a released regression's coefficients: estimates, intervals, deviations and posterior draws.

A functional is a row a of a matrix A (m, d); its value is a.theta, with theta the released coefficients in the order of the
draws' labels. A contrast of two levels, a coefficient in other units and the score of a row are such values. Their law is

- normal with mean A (start + mean) and covariance A cov A', for a path that learnt the shape of its rows
  (`shaped_intervals`);
- that of A times the posterior draws, for a plain path with a transcript (`transcript_posterior`).

The posterior of a release is computed once and held, so that many functionals of one release are cheap. No row is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.model import LOSSES
from sfumato.models.prior_spread import prior_spread
from sfumato.models.reading import FamilyOrGibbs, model_from_json
from sfumato.procedures import task_of
from sfumato.queries import shaped_intervals, transcript_posterior
from sfumato.queries._identities import Identities
from sfumato.queries.intervals import includes_sampling
from sfumato.queries.statistics.protocol import BOTH, ROBUST
from sfumato.queries.statistics.table import reader_of
from sfumato.shapes import residuals

Document = Mapping[str, Any]
# Any fixed public number: every reader of a release then gets the same draws.
_SEED = 20_260_102


def ends(
    draws: Draws, plan: Document, schema: Document, matrix: ArrayLike, level: float = 0.9, include: str = BOTH
) -> Array:
    """Lower and upper ends (2, m) of equal-tailed intervals of matrix @ coefficients; `include` as in `release.interval`.

    With the identity as matrix they are the ends of `release.interval`. Releases that have no intervals are refused.
    """
    share = _validate.between("level", level, 0.0, 1.0)
    sampling = _readable(plan, include)
    rows = _rows(draws, matrix)
    if shaped_intervals.is_shaped(plan):
        return shaped_intervals.ends(draws, plan, share, _law_name(include, sampling), rows)
    return transcript_posterior.ends((draws, plan, schema), share, sampling, rows)


def estimate(draws: Draws, plan: Document, schema: Document, matrix: ArrayLike, include: str = BOTH) -> Array:
    """Estimates (m,) of matrix @ coefficients; with the identity as matrix those of `release.estimate`.

    The posterior median of each functional, the limit of ever narrower intervals. Releases without intervals, such as draws of
    a chain: the matrix times the mean of the draws.
    """
    _regression(plan)
    rows, sampling = _rows(draws, matrix), includes_sampling(plan, include)
    if shaped_intervals.is_shaped(plan):
        return shaped_intervals.moments(draws, plan, _law_name(include, sampling), rows)[0]
    try:
        return np.asarray(transcript_posterior.ends((draws, plan, schema), 0.0, sampling, rows)[0])
    except ArgumentError:  # the release has no intervals: the arguments were checked
        return np.asarray(rows @ draws.flat().mean(axis=0))


def moments(
    draws: Draws, plan: Document, schema: Document, matrix: ArrayLike, include: str = BOTH
) -> tuple[Array, Array]:
    """Posterior means and standard deviations of matrix @ coefficients, (m,) each."""
    sampling = _readable(plan, include)
    rows = _rows(draws, matrix)
    if shaped_intervals.is_shaped(plan):
        return shaped_intervals.moments(draws, plan, _law_name(include, sampling), rows)
    values = _transcript_draws(draws, plan, schema, sampling) @ rows.T
    return np.asarray(values.mean(axis=0)), np.asarray(values.std(axis=0, ddof=1))


def deviations(draws: Draws, plan: Document, schema: Document, matrix: ArrayLike, include: str = BOTH) -> Array:
    """Posterior standard deviations (m,) of matrix @ coefficients."""
    return moments(draws, plan, schema, matrix, include)[1]


def likely_values(
    draws: Draws, plan: Document, schema: Document, matrix: ArrayLike, count: int, include: str = BOTH
) -> Array:
    """`count` equally likely values (m, count) of each functional: its quantiles at (k + 1/2)/count."""
    from scipy.special import ndtri

    levels = (np.arange(_validate.whole("count", count)) + 0.5) / count
    sampling = _readable(plan, include)
    if shaped_intervals.is_shaped(plan):
        mean, deviation = moments(draws, plan, schema, matrix, include)
        return np.asarray(mean[:, None] + deviation[:, None] * ndtri(levels))
    values = _transcript_draws(draws, plan, schema, sampling) @ _rows(draws, matrix).T
    return np.asarray(np.quantile(values, levels, axis=0).T)


def prior_deviations(plan: Document, matrix: ArrayLike) -> Array | None:
    """Standard deviations (m,) of matrix @ coefficients under the prior; None for a flat prior."""
    return prior_spread(_regression(plan).prior, matrix)


def sample(draws: Draws, plan: Document, schema: Document, include: str = BOTH, size: int = 1000) -> Array:
    """Posterior draws (size, d) of the coefficients, for functions of them that are not linear; always the same ones.

    Shape-first paths: draws of the normal law, each moved into the prior's domain. Transcripts have a fixed number of
    posterior draws (400): of these, evenly spaced ones are returned, each several times where `size` is larger.
    """
    count = _validate.whole("size", size)
    sampling = _readable(plan, include)
    if not shaped_intervals.is_shaped(plan):
        held = _transcript_draws(draws, plan, schema, sampling)
        return held[np.arange(count) * len(held) // count]
    law, start = shaped_intervals.law_of(draws, plan, _law_name(include, sampling))
    values, vectors = np.linalg.eigh(law.covariance)
    away = np.random.default_rng(_SEED).normal(size=(count, len(start))) * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(_regression(plan).prior.project(start + law.mean + away @ vectors.T))


def residual_variance(draws: Draws, plan: Document) -> float | None:
    """The variance of a label around its mean, for a shape-first linear regression with declared label bounds; else None.

    It is read from the published scores and curvature (`shapes.residuals`), for residuals that are normal and independent of
    the row. Residuals are clipped at about 1.5 of their deviations, so that it is too small where tails are heavier than
    normal (0.8 of the variance for Student's t with 5 degrees of freedom) and too large where they are lighter. It
    contains the squared error of the path's own fit, and is at most that of a label at either bound with equal chances.
    """
    bounds = _regression(plan).loss.squared_labels
    if bounds is None or not shaped_intervals.is_shaped(plan):
        return None
    return min(_residual_variance(Identities(draws, plan)), ((bounds[1] - bounds[0]) / 2) ** 2)


@lru_cache(maxsize=8)
def _residual_variance(record: Identities) -> float:
    draws, plan = record.parts
    shaped_intervals.law_of(draws, plan, "model")  # refuses a file that lacks published numbers
    published, learnt = shaped_intervals.published_of(task_of(plan)[1], draws)
    return residuals.residual_variance(published, learnt.loss.largest_slope(), learnt.shape.rule.bend)


def _regression(plan: Document) -> Gibbs:
    """The model of a plan, which must have coefficients."""
    model: FamilyOrGibbs = model_from_json(plan["model"])
    if model.summed != LOSSES:
        raise ArgumentError(
            f"linear functionals are of a regression's coefficients; this release is of {model.name}, which has none. "
            "Ask it with release.interval() or release.respond(...)."
        )
    return model


def _readable(plan: Document, include: str) -> bool:
    """Whether sampling is included; a model without intervals and other words than those of `include` are refused."""
    sampling = includes_sampling(plan, include)
    reader_of(_regression(plan))
    return sampling


def _law_name(include: str, sampling: bool) -> str:
    """The name that `shapes.posterior` has for what is included."""
    if not sampling:
        return "none"
    return "robust" if include == ROBUST else "model"


def _transcript_draws(draws: Draws, plan: Document, schema: Document, sampling: bool) -> Array:
    """Posterior draws (400, d) of the truth or, without sampling, of the optimum on the rows."""
    return transcript_posterior.held_draws(Identities(draws, plan, schema))[int(sampling)]


def _rows(draws: Draws, matrix: ArrayLike) -> Array:
    """The matrix (m, d) of finite numbers with a column for every released coordinate."""
    rows, wanted = np.asarray(matrix, dtype=np.float64), len(draws.labels)
    if rows.ndim != 2 or rows.shape[1] != wanted:
        raise ArgumentError(
            f"matrix must be shaped (functionals, {wanted}), a column for every released coordinate; got {rows.shape}."
        )
    if not np.isfinite(rows).all():
        raise ArgumentError("matrix must hold finite numbers; got NaN or infinity.")
    return rows
