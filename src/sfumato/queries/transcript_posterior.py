"""Intervals for the coefficients of a regression from the published gradients of its path: noise and sampling included.

A transcript holds every noisy mean gradient g_t; the deviation of its noise and the parameter theta_t at which it was taken
follow from the plan. Two unknowns lie between these and the truth:

- privacy: the optimum of the penalised mean loss, hat, which solves g(hat) + grad(-log pi)(hat)/n = 0. Its posterior is
  that of the function g (`pseudo_records`), pushed through the equation.
- sampling: hat itself came from n rows. With H the Hessian at hat, V the mean of the squared per-record gradients and P the
  prior's precision, hat - truth is about normal with variance (nH + P)^-1 (nV + P) (nH + P)^-1 for a truth from the prior.

The transcript has no information on V, so V comes from the loss. The logistic loss is a log-likelihood: where the model
holds, V = H. For every other loss V is the most that its public slope s allows, s^2 E xx', so intervals are too wide rather
than too narrow.

Eigenvalues of the Hessian that are negative or indistinguishable from 0 are set to 0; the prior then bounds the optimum.
The posterior of the optimum combines the transcript and the prior (`_combined`): without information in the transcript, the
interval is the prior's own. No row is read: all of this is computed from what was published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelSet
from sfumato.models.losses.protocol import LABELLED_ROW, ScalarLinkLoss
from sfumato.models.model import LOSSES
from sfumato.models.reading import FamilyOrGibbs, model_from_json
from sfumato.queries import shaped_intervals
from sfumato.queries.pseudo_records import PseudoRecords, draw_weights, spread_records
from sfumato.queries.statistics.protocol import BOTH, INCLUDED, Ends, Released
from sfumato.samplers.langevin import Recursion
from sfumato.schema import Category, Number, Schema

Array = NDArray[np.float64]

# Most coefficients: the pseudo-records grow with their square, and the cost with its cube.
_WIDEST = 30
# Posterior draws behind an interval: quantiles at 5 % have a standard error of 1.1 % in level.
_DRAWS = 400
# Newton steps; from a good start the error squares at each.
_NEWTON = 8
# An interval wider than this share of the prior's own is reported as dominated by the prior.
NEARLY = 0.6


def regression_interval(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    level: float = 0.9,
    include: str = BOTH,
) -> tuple[Array, Array]:
    """Lower and upper ends of a central interval for every coefficient, in the order of the release's labels.

    "privacy and sampling" is for the true coefficient; "privacy" for the penalised optimum on the rows, which is what a fit
    without privacy would have printed. The same release gives the same interval.
    """
    sampling = _validate.one_of("include", include, INCLUDED) == BOTH
    share = _validate.between("level", level, 0.0, 1.0)
    lower, upper = _ends((draws, plan, schema), share, sampling)
    return lower, upper


def read(model: Gibbs, prior: Gibbs, released: Released) -> Ends:
    """Intervals of every coefficient; the prior is that of the plan."""
    if released.record is None:
        raise ArgumentError("the width of a regression's interval depends on its rows: it is known after the release.")
    record = released.record
    if shaped_intervals.is_shaped(record[1]):
        included = "robust" if released.robust else "model"
        return lambda level, sampling: shaped_intervals.ends(*record[:2], level, included if sampling else "none")
    return lambda level, sampling: _ends(record, level, sampling)


def _ends(record: tuple[Draws, Mapping[str, Any], Mapping[str, Any]], level: float, sampling: bool) -> Array:
    """Quantiles (2, d) of the posterior draws of the true coefficients or, without sampling, of the optimum."""
    optimum, truth = coefficient_draws(*record)
    ends = np.quantile(truth if sampling else optimum, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.asarray(ends, dtype=np.float64)


def refusal(model: Gibbs) -> str | None:
    """A sentence for losses whose gradients do not determine the mean gradient elsewhere."""
    loss = model.loss
    plain = loss.record == LABELLED_ROW and isinstance(loss, ScalarLinkLoss)
    if plain and model.constants.convex and model.constants.smooth:
        return None
    return (
        "intervals from a transcript are for convex, smooth losses of one score per row (Logistic, Huber, the clipped and "
        f"the smoothed ones); {loss.name} is none."
    )


def prior_dominated(
    plan: Mapping[str, Any], schema: Mapping[str, Any], labels: Sequence[str], ends: Array, level: float
) -> str:
    """A sentence on the coefficients whose interval is not much narrower than the prior's own; empty for other models."""
    from scipy.special import ndtri

    model: FamilyOrGibbs = model_from_json(plan["model"])
    precision = getattr(model.prior, "precision", None) if model.summed == LOSSES else None
    if model.summed != LOSSES or not isinstance(precision, float | int):
        return ""
    own = 2 * float(ndtri(0.5 + 0.5 * level)) / precision**0.5
    names = [label for label, (low, high) in zip(labels, ends.T, strict=True) if high - low > NEARLY * own]
    if not names:
        return ""
    sentence = f"This release has little information on {', '.join(names)}: the interval is not much narrower than the prior's own."
    known = Schema.from_json(schema["document"])
    groups = sum(isinstance(column, Category) for name, column in known.columns.items() if name != known.target)
    if groups + (model.intercept > 0) > 1 and groups:
        sentence += (
            " The levels of a category add up to the constant of an intercept, or of another category, so their coefficients are "
            "not identified: leave the intercept out (intercept = false), or all categories but one."
        )
    return sentence


def coefficient_draws(draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Array, Array]:
    """Posterior draws (draws, d) of the optimum on the rows and of the true coefficients, given a transcript."""
    model = _readable(draws, plan)
    transcript = np.asarray(draws.transcript)
    records = _records(model, Schema.from_json(schema["document"]), transcript.shape[2])
    visited = path_of(model, plan, transcript)
    rng = np.random.default_rng(0)  # post-processing: no privacy depends on it, and every reader gets the same interval
    flat = (-1, transcript.shape[2])
    noise = float(plan["parameters"]["noise"])
    mean, weights = draw_weights(records, visited.reshape(flat), transcript.reshape(flat), noise, _DRAWS, rng)
    n, pull = int(plan["n"]), model.prior.gradient
    precision = _prior_precision(model, transcript.shape[2])
    average = draws.pooled().mean(axis=0)
    centre, converged = _newton(records, mean, average, pull, precision, n)
    start = centre[0] if converged[0] else average
    optimum, hessian = _optima(records, weights, start, pull, precision, n)
    squares = _squares(model, records, weights, hessian)
    noise_of_slope = np.cov(records.gradient(weights, np.tile(start, (len(weights), 1))), rowvar=False)
    optimum = _combined(model.prior, optimum, hessian, squares, np.atleast_2d(noise_of_slope), precision, n, rng)
    truth = optimum + _sampling(hessian, squares, precision, n, rng)
    return model.prior.project(optimum), model.prior.project(truth)


def path_of(model: Gibbs, plan: Mapping[str, Any], transcript: Array) -> Array:
    """The parameters at which the published gradients were taken: (chain, step, coordinate)."""
    chains, _, d = transcript.shape
    visited: list[Array] = []

    def published(theta: Array, done: int) -> Array:
        visited.append(theta)
        return np.asarray(transcript[:, done - 1])

    Recursion.of(model.prior, int(plan["n"]), chains, d, plan["parameters"]).run(published)
    return np.stack(visited, axis=1)


def _readable(draws: Draws, plan: Mapping[str, Any]) -> Gibbs:
    """The model of a release whose gradients can be read, or the reason why not."""
    model: FamilyOrGibbs = model_from_json(plan["model"])
    if model.summed != LOSSES:
        raise ArgumentError(
            "this interval is read from the gradients of a regression; the release is of another model."
        )
    if draws.transcript is None or plan["mechanism"] != "langevin-path":
        raise ArgumentError(
            "an honest interval for a regression is read from the noisy gradients of its path, and this release has none. "
            'Plan it with goal="estimate"; with mechanism="langevin-path" add keep=("transcript",). The price is the same.'
        )
    if draws.transcript.shape[1] != int(plan["parameters"]["steps"]):
        raise ArgumentError("the transcript is not as long as its plan says: check the file with release.verify().")
    if (reason := refusal(model)) is not None:
        raise ArgumentError(reason)
    if draws.transcript.shape[2] > _WIDEST:
        raise ArgumentError(
            f"intervals from a transcript are for at most {_WIDEST} coefficients; the release has {draws.transcript.shape[2]}."
        )
    return model


def _records(model: Gibbs, schema: Schema, dimension: int) -> PseudoRecords:
    loss: Any = model.loss
    domain = loss.label_domain
    if isinstance(domain, LabelSet):
        ends = domain.values[0], domain.values[-1]
    else:
        column = schema.columns.get(schema.target or "")
        if not isinstance(column, Number):
            raise ArgumentError(f"{loss.name} needs a Number as its target; schema {schema.name!r} declares none.")
        ends = column.lower, column.upper
    slope, curvature = model.constants.lipschitz / loss.radius, model.constants.smoothness / loss.radius**2
    return spread_records(loss, dimension, model.intercept, ends, slope, curvature)


def _prior_precision(model: Gibbs, d: int) -> Array:
    """Second derivative of -log pi, which is constant: read off its gradient."""
    return np.asarray(model.prior.gradient(np.eye(d)) - model.prior.gradient(np.zeros((d, d))))


def _newton(
    records: PseudoRecords, weights: Array, start: Array, pull: Any, precision: Array, n: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve g(theta) + pull(theta)/n = 0 for each of the weights; and whether Newton's method reached a minimum."""
    theta = np.tile(start, (len(weights), 1))
    longest = records.bend / records.loss.radius  # a longer step leaves the region where the Hessian is accurate
    left, converged = np.arange(len(weights)), np.zeros(len(weights), dtype=bool)
    for _ in range(_NEWTON):
        here = theta[left]
        curvatures, axes = np.linalg.eigh(records.hessian(weights[left], here) + precision / n)
        slope = records.gradient(weights[left], here) + pull(here) / n
        step = _along(axes, np.maximum(np.abs(curvatures), 1e-300), slope)
        length = np.linalg.norm(step, axis=1)
        theta[left] = here - step * np.minimum(1.0, longest / np.maximum(length, 1e-300))[:, None]
        converged[left] = (curvatures[:, 0] > 0) & (length < 1e-3 * longest)
        left = left[length > 1e-4 * longest]  # Newton squares the error: below 1e-8 from here
        if not len(left):
            break
    return theta, converged


def _along(axes: Array, curvatures: Array, vectors: Array) -> Array:
    """Q diag(1/c) Q' v, for each."""
    inner = np.einsum("sba,sb->sa", axes, vectors) / curvatures
    return np.asarray(np.einsum("sab,sb->sa", axes, inner))


def _optima(
    records: PseudoRecords, weights: Array, centre: Array, pull: Any, precision: Array, n: int
) -> tuple[Array, Array]:
    """The optimum under each of the weights, and the Hessian of the mean loss there.

    Where the drawn function has no minimum nearby, its Hessian at the centre is replaced by the nearest without negative
    eigenvalues, and the optimum by one Newton step with it, which the prior bounds.
    """
    theta, converged = _newton(records, weights, centre, pull, precision, n)
    hessian = records.hessian(weights, theta)
    lost = ~converged
    if lost.any():
        start = np.tile(centre, (int(lost.sum()), 1))
        flattened = _convex(records.hessian(weights[lost], start))
        curvatures, axes = np.linalg.eigh(flattened + precision / n)
        slope = records.gradient(weights[lost], start) + pull(start) / n
        theta[lost] = start - _along(axes, np.maximum(curvatures, 1e-12), slope)
        hessian[lost] = flattened
    return theta, hessian


def _convex(matrices: Array) -> Array:
    """The nearest matrices without negative eigenvalues."""
    values, axes = np.linalg.eigh(matrices)
    return np.asarray(np.einsum("sab,sb,scb->sac", axes, np.maximum(values, 0.0), axes))


def _squares(model: Gibbs, records: PseudoRecords, weights: Array, hessian: Array) -> Array:
    """V, the mean of the squared per-record gradients, as the loss bounds it."""
    if model.loss.likelihood:
        return _convex(hessian)
    slope = model.constants.lipschitz / model.loss.radius
    return np.asarray(slope**2 * _convex(records.moments(weights)))


def _combined(
    prior: Any, optimum: Array, hessian: Array, squares: Array, slope: Array, precision: Array, n: int, rng: Any
) -> Array:
    """The optima drawn from the transcript, combined with the law that the prior gives the optimum.

    With C = nH + P the optimum of rows from a truth N(m, P^-1) is about N(m, W), W = C^-1 (nH P^-1 nH + nV) C^-1; a drawn
    optimum is off by normal noise of variance S = n^2 C^-1 Cov(g) C^-1. Draws of the product of both by Matheron's rule:
    h + W (W + S)^-1 (drawn - h), h from N(m, W). Where the transcript shows no curvature, W vanishes and S does not.
    """
    curved = n * _convex(hessian)
    inverse = np.linalg.inv(curved + precision)
    inner = curved @ np.linalg.inv(precision) @ curved + n * squares
    before = inverse @ inner @ inverse
    noise = n**2 * (inverse @ slope @ inverse)
    values, axes = np.linalg.eigh(before)
    away = np.einsum("sab,sb->sa", axes, np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=values.shape))
    centre = np.zeros(optimum.shape[1]) if prior.start is None else np.asarray(prior.start, dtype=np.float64)
    fresh = centre + away
    tiny = 1e-12 * np.trace(before + noise, axis1=1, axis2=2)[:, None, None] * np.eye(optimum.shape[1])
    gap = np.linalg.solve(before + noise + tiny, (optimum - fresh)[:, :, None])
    return np.asarray(fresh + (before @ gap)[:, :, 0])


def _sampling(hessian: Array, squares: Array, precision: Array, n: int, rng: Any) -> Array:
    """Normal draws with the variance of truth - optimum."""
    curved = _convex(hessian)
    values, axes = np.linalg.eigh(n * squares + precision)
    noise = np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=values.shape)
    scores = np.einsum("sab,sb->sa", axes, noise)
    curvatures, directions = np.linalg.eigh(n * curved + precision)
    return _along(directions, np.maximum(curvatures, 1e-12 * n), scores)
