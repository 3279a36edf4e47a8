"""The closed-form posterior of a shape-first regression, from its published numbers.

Along each eigenvector of the estimated curvature the path is a linear filter (filter.py). Two numbers per direction speak of
the optimum x of the rows: the average, and u = C average - mean gradient:

    average = r (l x + p c) + noise,    u = l x - mean noise of the tail,

with l the curvature, p the prior's ridge term and c its centre. The noises are correlated in a known way. The error D of the
curvature enters the average by divided differences of r, and u as -D (average - x). What the rows know of the truth is
x = truth + C^-1 score, with the score's covariance V/n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.shapes.curvature import Estimate, combine, estimate, noisy_variance
from sfumato.shapes.filter import Response, divided, responses
from sfumato.shapes.published import Array, Published
from sfumato.shapes.saturation import Loss, reach, straightened

__all__ = ["Posterior", "Published", "posterior"]

ITERATIONS = 20
_TINY = 1e-300


@dataclass(frozen=True)
class Posterior:
    """A normal posterior and an estimate, measured from the start of the path, in the user's coordinates.

    `diagnostic` is the expected squared error of the average's scores, tr S (covariance + (average - mean)(average - mean)').
    Above 2 the loss is far from quadratic over the posterior, and intervals cover a little less than they say.
    """

    mean: Array
    covariance: Array
    estimate: Array
    diagnostic: float


@dataclass(frozen=True)
class _Frame:
    """The published numbers in the basis of the estimated curvature's eigenvectors, and what does not change in a loop."""

    shape: Estimate
    pull: Array  # p: diagonal of the prior's precision over n
    centre: Array
    prior: Array  # precision
    response: Response
    average: Array
    u: Array
    gain: Array  # of the average to x under an error of the curvature: entry (i, j) times D_ij x_j
    shift: Array  # the same, without x
    score: Array  # V/n
    loss: Loss  # along the average
    gap: Array  # the answer of the filter before the curvature fell, less that at its end
    linear: float  # the filter's answer to a force along the average


def posterior(published: Published, sampling: str) -> Posterior:
    """The posterior of theta, and an estimate, given everything that was published.

    `sampling`: "none" for the optimum of the rows' penalised loss (privacy noise only), "model" for the truth with
    V = C tau/tr C (the model's own score covariance up to scale), "robust" for the truth with V from the score matrix.
    """
    shape = estimate(published)
    frame = _frame(published, shape, sampling)
    mean, covariance = _solve(frame, published, sampling)
    back = published.matrix @ shape.vectors
    moved = _clipped(frame.average, mean, covariance)
    wide = back @ covariance @ back.T
    off = back @ (frame.average - mean)
    turned = published.vectors.T @ wide
    spread = np.einsum("ij,ji->i", turned, published.vectors) + (published.vectors.T @ off) ** 2
    diagnostic = float(np.maximum(published.own, 0.0) @ spread)
    return Posterior(back @ mean, 0.5 * (wide + wide.T), back @ moved, diagnostic)


def _frame(published: Published, shape: Estimate, sampling: str) -> _Frame:
    """Rotate what was published into the eigenbasis of the curvature."""
    back = published.matrix @ shape.vectors
    prior = back.T @ published.precision @ back
    prior = 0.5 * (prior + prior.T)
    # The centre in mapped coordinates: matrix is symmetric with the moments' eigenvectors, hence invertible.
    centre = shape.vectors.T @ np.linalg.solve(published.matrix, published.centre)
    pull = np.maximum(np.diag(prior), 0.0) / published.n
    steps = (published.rate, published.momentum, published.steps, published.tail)
    average = shape.vectors.T @ published.average
    length = max(float(np.linalg.norm(average)), _TINY)
    unit = average / length
    plain = responses(shape.values + pull, *steps)
    loss = Loss(
        along=shape.along,
        across=shape.across,
        wander=published.noise**2 * float(plain.wander.sum()) / length**2,
        ridge=float(pull @ unit**2),
        centre=float(unit @ centre) / length,
    )
    profile = reach(published, loss, 0.0)[1]
    response = responses(shape.values + pull, *steps, profile)
    before = responses(shape.values + shape.dip + pull, *steps).force * (shape.values + shape.dip)
    gap = np.maximum(before - response.force * shape.values, 0.0)
    quotients = divided(shape.values + pull, response.force, response.slope)
    return _Frame(
        shape=shape,
        pull=pull,
        centre=centre,
        prior=prior,
        response=response,
        average=average,
        u=shape.values * average - shape.vectors.T @ published.gradient,
        gain=quotients * shape.values + response.force[:, None],
        shift=quotients * (pull * centre),
        score=_score(published, shape, sampling) / published.n,
        loss=loss,
        gap=gap,
        linear=responses(np.array([shape.along + loss.ridge]), *steps, profile).force[0],
    )


def _score(published: Published, shape: Estimate, sampling: str) -> Array:
    """V, the covariance of one record's gradient at the truth, in the eigenbasis."""
    model = shape.values * max(published.score_scale, 0.0) / float(shape.values.sum())
    if sampling != "robust" or published.score_matrix is None:
        return np.diag(model)
    seen = shape.vectors.T @ published.score_matrix @ shape.vectors
    size = len(model)
    doubt = np.outer(model, model) * noisy_variance(size, 1.0)
    mean, _ = combine(np.diag(model), doubt, seen, noisy_variance(size, published.score_noise))
    values, turn = np.linalg.eigh(mean)
    denoised: Array = (turn * np.maximum(values, 0.0)) @ turn.T
    return denoised


def _solve(frame: _Frame, published: Published, sampling: str) -> tuple[Array, Array]:
    """Iterate: the noise depends on the squared error of the average and on that of the optimum."""
    mean, variance = frame.average.copy(), np.zeros_like(frame.average)
    for turn in range(ITERATIONS):
        new, covariance = _step(frame, published, sampling, mean, variance)
        done = np.linalg.norm(new - mean) <= 1e-4 * np.linalg.norm(new)
        half = 0.5 if turn else 1.0
        mean, variance = mean + half * (new - mean), variance + half * (np.diag(covariance) - variance)
        if done and turn > 3:
            break
    return new, covariance + _scale_error(frame, published, new, covariance) ** 2 * np.outer(new, new)


def _scale_error(frame: _Frame, published: Published, mean: Array, covariance: Array) -> float:
    """The relative error of the posterior's length where the loss bends within it: the third derivative's share."""
    error = np.diag(covariance) + (frame.average - mean) ** 2
    size = frame.loss.across * float(frame.average @ frame.average)
    import os
    BETA=float(os.environ.get("BETA","1"))
    return min(BETA * frame.loss.bend * float(frame.shape.values @ error) / max(size, _TINY), 0.5)


def _step(frame: _Frame, published: Published, sampling: str, mean: Array, variance: Array) -> tuple[Array, Array]:
    """The posterior given moments of the optimum that set the noise of the two observations."""
    values, response = frame.shape.values, frame.response
    filtered = response.force * values
    i11, i12, i22 = _weights(frame, published, mean, variance)
    first, second = filtered * i11 + values * i12, filtered * i12 + values * i22
    info = np.maximum(first * filtered + second * values, _TINY)
    scale, omega, u = _bent(frame, published, mean, variance)
    known = frame.average - response.force * frame.pull * frame.centre
    lead = known * frame.gap / max(float(frame.gap.max()), _TINY)
    known = known + (scale - 1.0) * lead
    omega = min(float(np.hypot(omega, frame.gap.max())), 0.5) if omega > 0 else 0.0
    lin, turn = first * known + second * u, first * lead
    spread = np.diag(frame.score) / values**2
    total = 1.0 / (1.0 / info + spread)
    covariance = np.asarray(np.linalg.inv(np.diag(total) + frame.prior), dtype=np.float64)
    j0, j1 = total * lin / info, total * turn / info
    m0 = covariance @ (j0 + frame.prior @ frame.centre)
    m1 = covariance @ j1
    if not omega > 0:
        return m0, covariance
    size = len(values)
    a = float(i11 @ lead**2 - turn**2 @ (1 / info) + j1 @ (turn / info) - j1 @ m1) + size + omega**-2
    b = float((i11 * known + i12 * u) @ lead - (lin * turn) @ (1 / info) + j1 @ (lin / info) - j1 @ m0) - size
    return m0 - b / a * m1, covariance + np.outer(m1, m1) / a


def _bent(frame: _Frame, published: Published, mean: Array, variance: Array) -> tuple[float, float, Array]:
    """(factor of the average, its relative deviation, u) for a filter and a gradient of a quadratic loss."""
    loss, length = frame.loss, max(float(np.linalg.norm(frame.average)), _TINY)
    if not loss.bend > 0:
        return 1.0, 0.0, frame.u
    unit = frame.average / length
    place = float(np.clip(unit @ mean / length, 0.5, 2.0))
    part = mean - (unit @ mean) * unit
    miss = float(part @ part + variance.sum()) / length**2
    straight = (1.0 - frame.linear * loss.ridge * loss.centre) / max(frame.linear * loss.along, _TINY)
    near = replace(loss, along=min(loss.along + published.curvature_noise, loss.across))
    far = replace(loss, along=max(loss.along - published.curvature_noise, 0.1 * loss.across))
    mid, low, high = (reach(published, each, miss)[0] for each in (loss, near, far))
    u = straightened(loss, frame.u, unit, length, place, miss)
    return mid / straight, min(abs(high - low) / 2 / mid, 0.3), u


def _weights(frame: _Frame, published: Published, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Entries of the inverse covariance of (average, u) given the optimum, direction by direction."""
    noise, doubt = published.noise**2, frame.shape.variance
    away = frame.average - mean
    square, miss, mixed = mean**2 + variance, away**2 + variance, mean * away - variance
    gain, shift = frame.gain, frame.shift
    c11 = noise * frame.response.spread + (doubt * gain**2) @ square
    c11 += 2.0 * (doubt * gain * shift) @ mean + (doubt * shift**2).sum(axis=1)
    c22 = noise / published.tail + doubt @ miss
    c12 = -noise * frame.response.shared - (doubt * gain) @ mixed - (doubt * shift) @ away
    # A correlation of 1 would divide by 0.
    determinant = np.maximum(c11 * c22 - c12**2, 1e-9 * c11 * c22)
    return c22 / determinant, -c12 / determinant, c11 / determinant


def _clipped(average: Array, mean: Array, covariance: Array) -> Array:
    """The average, moved to within one posterior deviation of the mean along each principal direction of the covariance."""
    values, turn = np.linalg.eigh(covariance)
    room = np.sqrt(np.maximum(values, 0.0))
    moved: Array = mean + turn @ np.clip(turn.T @ (average - mean), -room, room)
    return moved
