"""What a record adds to the sums of a weighted loss, written out, and the farthest two records found by brute force."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.distance import cdist

import sfumato as sf

# Each loss with labels to try and the score and label of its steepest curvature; constants follow from its class.
LOSSES = {
    "logistic": (sf.losses.Logistic(1.0), (-1.0, 1.0), (0.0, 1.0)),
    "huber": (sf.losses.Huber(1.0, clip=1.7), (-1e6, -1.0, 0.0, 1.0, 1e6), (0.0, 0.0)),
    # phi'' = e^u up to u = log(y + c), at the largest label 4: 1e-3 below the corner.
    "poisson": (sf.losses.ClippedPoisson(1.0, clip=2.5, label_bound=4.0), (0.0, 1.0, 4.0), (math.log(6.5) - 1e-3, 4.0)),
}


def second_derivative(loss, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """phi'' in closed form; 0 where phi' is clipped."""
    if loss.name == "logistic":
        return 0.25 / np.cosh(np.clip(scores / 2, -300, 300)) ** 2
    if loss.name == "huber":
        return 1.0 * (np.abs(scores - labels) < loss.clip)
    rate = np.exp(np.minimum(scores, 50.0))
    return rate * (np.abs(rate - labels) < loss.clip)


def weight(lengths: np.ndarray, bend: float) -> np.ndarray:
    """v = min(1, 1/t, b/t^2), with v = 1 at t = 0."""
    safe = np.maximum(lengths, 1e-100)
    return np.minimum(1.0, np.minimum(1 / safe, bend / safe / safe))


def isometric(matrices: np.ndarray) -> np.ndarray:
    """(diagonal, sqrt(2) times the entries above it) of symmetric matrices (N, d, d)."""
    d = matrices.shape[-1]
    above = np.triu_indices(d, 1)
    return np.hstack([matrices[:, range(d), range(d)], math.sqrt(2) * matrices[:, above[0], above[1]]])


def squares(rows: np.ndarray, factors: np.ndarray) -> np.ndarray:
    return isometric(np.einsum("n,ni,nj->nij", factors, rows, rows))


def terms(kind: str, loss, rows: np.ndarray, labels: np.ndarray, theta: np.ndarray, b: np.ndarray, bend: float,
          headroom: float = 0.0) -> np.ndarray:  # fmt: skip
    """What each record adds to the sum of this kind, one row each; with headroom, rows come out longer than weights know."""
    v = weight(np.linalg.norm(rows @ b, axis=1), bend)
    mapped = (1 + headroom) * rows @ b
    scores = rows @ theta
    slopes = loss.derivative(scores, labels)
    if kind == "path":
        return (v * slopes)[:, None] * mapped
    if kind == "curvature":
        return squares(mapped, v * second_derivative(loss, scores, labels))
    if kind == "score scale":
        return (v * slopes)[:, None] ** 2 * (mapped * mapped).sum(axis=1, keepdims=True)
    return squares(mapped, (v * slopes) ** 2)


def directions(d: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors: the axes, directions nearly orthogonal to the first axis on its far side, and random ones."""
    u = rng.normal(size=(40, d))
    some = [u / np.linalg.norm(u, axis=1, keepdims=True), np.eye(d), -np.eye(d)]
    if d > 1:
        tilt = np.geomspace(1e-3, 0.3, 6)[:, None]
        for sign in (-1, 1):
            some.append(np.hstack([-tilt, sign * np.sqrt(1 - tilt**2), np.zeros((6, d - 2))]))
    return np.vstack(some)


def largest_shift(kind: str, loss, labels, steep, d: int, bend: float, headroom: float = 0.0) -> float:
    """Largest distance of two records' terms at one theta, over rows of all lengths, labels and many thetas."""
    rng = np.random.default_rng(d)
    b = np.diag(rng.uniform(0.3, 3.0, d))
    u = directions(d, rng)
    edge = bend if bend < math.inf else 1.0
    lengths = np.concatenate([[0.0, 0.5, 1.0, edge], rng.uniform(0, 3 * edge, 2), [1e3]])
    mapped = (lengths[:, None, None] * u).reshape(-1, d)
    inverse = np.linalg.inv(b)
    rows = np.repeat(mapped @ inverse, len(labels), axis=0)
    y = np.tile(labels, len(mapped))
    # At `ones` rows of length b along the axes have the steepest score; along the first axis the scores grow without limit.
    ones = b @ np.full(d, steep[0] / edge)
    thetas = [ones, *(b @ np.eye(d)[0] * size for size in (0.1, 4.0, 20.0, 4e3)), *(rng.normal(size=(2, d)))]
    largest = 0.0
    for theta in thetas:
        added = terms(kind, loss, rows, y, theta, b, bend, headroom)
        far = np.argsort(np.linalg.norm(added, axis=1))[
            -400:
        ]  # two far apart are long, or one is and 0 stands for the other
        added = np.vstack([added[far], np.zeros(added.shape[1])])
        largest = max(largest, float(cdist(added, added).max()))
    return largest


def weighted_rows(rows: np.ndarray, radius: float) -> np.ndarray:
    lengths = (rows * rows).sum(axis=1)
    return squares(rows, np.minimum(1.0, radius**2 / np.maximum(lengths, 1e-300)))
