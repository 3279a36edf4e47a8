"""Oracles of the readings of a shape-first regression: the path as an explicit linear map, and a small private fit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sfumato.shapes.published import Published


def linear_path(curvature, ridge, rate, momentum, steps, tail):
    """(average, gradient) of the tail as matrices acting on (C optimum, ridge centre, all noises), by running the recursion.

    Row blocks: the average and the mean gradient of the loss. Column blocks: C x (size d), P c (d), noises (steps * d).
    """
    d = len(curvature)
    eye = np.eye(d)
    columns = 2 * d + steps * d
    y, v, average, gradient = (np.zeros((d, columns)) for _ in range(4))
    for step in range(steps):
        g = curvature @ y
        g[:, :d] -= eye
        g[:, 2 * d + step * d : 2 * d + (step + 1) * d] += eye
        if step >= steps - tail:
            average += y / tail
            gradient += g / tail
        pull = ridge @ y
        pull[:, d : 2 * d] -= eye
        v = momentum * v + g + pull
        y = y - rate * v
    return average, gradient


def published(**changes) -> Published:
    """Three directions, a quadratic loss known almost exactly: every matrix is diagonal, the curvature .2 times the moments."""
    own, scales = np.array([0.05, 0.2, 0.4]), np.array([2.0, 1.2, 0.9])
    base = Published(
        n=400,
        steps=30,
        tail=15,
        momentum=0.6,
        rate=1.5,
        noise=0.05,
        matrix=np.diag(scales),
        values=own,
        vectors=np.eye(3),
        own=own,
        resolved=np.ones(3, dtype=bool),
        moments_noise=1e-12,
        average=np.array([0.3, -0.4, 0.2]),
        gradient=np.array([0.01, 0.02, -0.015]),
        curvature=np.diag(0.2 * own * scales**2),
        curvature_noise=1e-12,
        largest_curvature=0.25,
        score_scale=0.04,
        score_matrix=None,
        score_noise=0.0,
        precision=np.diag([1.0, 0.5, 2.0]),
        centre=np.array([0.2, -0.1, 0.3]),
    )
    return replace(base, **changes)


def conjugate(p: Published, score: np.ndarray, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the truth, or of the penalised optimum of the rows, given the average and the mean gradient.

    Everything is jointly normal: truth ~ prior, optimum = truth + C^-1 N(0, V/n), then the path. Conditioned by brute force.
    """
    d, c = len(p.average), p.curvature
    back = np.linalg.inv(p.matrix)
    ridge = p.matrix @ p.precision @ p.matrix / p.n
    centre = back @ p.centre
    prior = back @ np.linalg.inv(p.precision) @ back.T
    inverse = np.linalg.inv(c)
    optimum = prior + inverse @ score @ inverse / p.n
    average, gradient = linear_path(c, ridge, p.rate, p.momentum, p.steps, p.tail)
    both = np.vstack([average, gradient])
    with_x, fixed, noise = both[:, :d] @ c, both[:, d : 2 * d] @ (ridge @ centre), both[:, 2 * d :]
    covariance = with_x @ optimum @ with_x.T + p.noise**2 * noise @ noise.T
    expected = with_x @ centre + fixed
    start, cross, middle = prior, prior @ with_x.T, centre
    if target == "none":
        turn = np.linalg.solve(c + ridge, c)
        start, cross = turn @ optimum @ turn.T, turn @ optimum @ with_x.T
    slope = np.linalg.solve(covariance, cross.T).T
    seen = np.concatenate([p.average, p.gradient])
    mean = middle + slope @ (seen - expected)
    return p.matrix @ mean, p.matrix @ (start - slope @ cross.T) @ p.matrix.T


def symmetric(rng, d, deviation):
    """Symmetric noise: `deviation` on the diagonal, deviation/sqrt(2) elsewhere."""
    entries = rng.normal(size=(d, d)) * deviation
    return (entries + entries.T) / 2 + np.diag(rng.normal(size=d)) * deviation * math.sqrt(0.5)


def logistic_fit(
    rng, n, d, noise, moments_noise, curvature_noise, steps=60, momentum=0.8
) -> tuple[Published, np.ndarray]:
    """Rows in [-1/2, 1/2] with a constant, a truth from N(0, I), and what a shape-first fit with given noises publishes."""
    rows = np.column_stack([rng.random((n, d - 1)) - 0.5, np.full(n, 0.5)])
    truth = rng.normal(size=d)
    labels = np.where(rng.random(n) < 0.5 * (1 + np.tanh(rows @ truth / 2)), 1.0, -1.0)
    values, vectors = np.linalg.eigh(rows.T @ rows / n + symmetric(rng, d, moments_noise))
    edge = moments_noise * math.sqrt(2 * d)
    resolved = values > edge
    root = np.where(resolved, np.sqrt(np.maximum(values**2 - edge**2, 0)), 0)
    spread = np.where(resolved, (values + root) / 2, 0) + 0.2 * edge
    vague = max(values.sum() - root.sum(), 0) / max((~resolved).sum(), 1)
    own = np.where(resolved, root, vague)
    matrix = (vectors / np.sqrt(spread * 0.25 * max((own / spread).sum(), 1))) @ vectors.T
    mapped = rows @ matrix
    lengths = np.linalg.norm(mapped, axis=1)
    weighted = mapped * np.minimum(1, np.minimum(1 / lengths, 2 / lengths**2))[:, None]
    sigmoid = lambda scores: 0.5 * (1 + np.tanh(scores / 2))
    y, v, average, gradient, tail = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d), steps // 2
    rate = 0.25 * max((own / spread).sum(), 1) / (1.5 * 0.25)
    for step in range(steps):
        g = -(weighted.T @ (labels * sigmoid(-labels * (mapped @ y)))) / n + noise * rng.normal(size=d)
        if step >= steps - tail:
            average, gradient = average + y / tail, gradient + g / tail
        v = momentum * v + g + matrix @ matrix @ y / n
        y = y - rate * v
    p = sigmoid(mapped @ average)
    curvature = (weighted * (p * (1 - p))[:, None]).T @ mapped / n + symmetric(rng, d, curvature_noise)
    slopes = sigmoid(-labels * (mapped @ average))
    scores = weighted * slopes[:, None]
    return (
        Published(
            n=n,
            steps=steps,
            tail=tail,
            momentum=momentum,
            rate=rate,
            noise=noise,
            matrix=matrix,
            values=values,
            vectors=vectors,
            own=own,
            resolved=resolved,
            moments_noise=moments_noise,
            average=average,
            gradient=gradient,
            curvature=curvature,
            curvature_noise=curvature_noise,
            largest_curvature=0.25,
            score_scale=float((scores**2).sum() / n),
            score_matrix=scores.T @ scores / n,
            score_noise=1e-6,
            precision=np.eye(d),
            centre=np.zeros(d),
        ),
        truth,
    )


def quadratic_fit(rng, curvature_noise, d=8, noise=0.002, steps=12) -> tuple[Published, np.ndarray]:
    """A quadratic loss of many rows after a short path: the truth from N(0, I), its curvature within noise of .15 times .3."""
    own = np.full(d, 0.3)
    true = np.diag(0.15 * own) + symmetric(rng, d, 0.006)
    truth = rng.normal(size=d)
    steps_of = {"rate": 3.0, "momentum": 0.5, "steps": steps, "tail": steps // 2}
    average, gradient = linear_path(true, np.zeros((d, d)), **steps_of)
    forces = np.concatenate([true @ truth, np.zeros(d), noise * rng.normal(size=steps * d)])
    return (
        published(
            n=10**9,
            noise=noise,
            matrix=np.eye(d),
            values=own + 1e-6 * np.arange(d),
            vectors=np.eye(d),
            own=own,
            resolved=np.ones(d, dtype=bool),
            average=average @ forces,
            gradient=gradient @ forces,
            curvature=true + symmetric(rng, d, curvature_noise),
            curvature_noise=curvature_noise,
            precision=np.eye(d),
            centre=np.zeros(d),
            **steps_of,
        ),
        truth,
    )
