"""Sums of the shape of the rows: every engine against sums over single records, in longer floats, written here."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse, special

import sfumato as sf
from sfumato.engines.opening import ENGINES, open_engine
from sfumato.engines.protocol import LabelScale

SIGNS = sf.Category([-1, 1])
INTERCEPT, LABEL = 0.5, LabelScale(centre=0.3, half=1.1, scale=0.7)
# Each engine that sums shapes -> how its rows are stored. The reference engine takes both kinds.
STORED = {
    "dense": ("dense", np.asarray),
    "sparse": ("sparse", sparse.csr_array),
    "reference": ("reference", np.asarray),
    "reference, sparse rows": ("reference", sparse.csr_array),
}
LONG = np.longdouble


def logistic_of(u, y):
    share = special.expit(u.astype(float))
    return -y * special.expit(-y * u.astype(float)), share * (1 - share)


def huber_of(u, y, clip=0.7):
    residual = u.astype(float) - y
    return np.clip(residual, -clip, clip), np.where(np.abs(residual) < clip, 1.0, 0.0)


# Name -> the loss, its target, and its slope and curvature written anew.
LOSSES = {
    "logistic": (sf.losses.Logistic(1.5), SIGNS, logistic_of),
    "huber": (sf.losses.Huber(1.5, clip=0.7), sf.Number(-3, 3), huber_of),
}


def records(name: str, n: int, d: int, seed: int = 1):
    """Rows of norm at most 1, many entries 0, and labels of the loss."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) * np.geomspace(1.0, 0.01, d)
    rows *= rng.uniform(0.2, 1.0, (n, 1)) / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    column = LOSSES[name][1]
    labels = rng.choice([-1, 1], n) if column is SIGNS else np.round(rng.uniform(-3, 3, n), 3)
    return rows, labels


def opened(kind: str, name: str, rows, labels, intercept: float = 0.0):
    """The engine of that kind for these records."""
    engine, store = STORED[kind]
    loss, column, _ = LOSSES[name]
    schema = sf.Schema.vector(rows.shape[1], data_norm=1.0, target=column)
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), rows.shape[1] + (intercept > 0), intercept)
    return open_engine(
        sf.Dataset.from_arrays(store(rows), labels, schema=schema), model, ("gradients", "shapes"), engine
    )


def whole(rows, intercept: float, column=None) -> np.ndarray:
    """The vectors z in longer floats: row, constant feature, label."""
    parts = [rows, *([np.full((len(rows), 1), intercept)] if intercept else [])]
    return np.column_stack([*parts, *([] if column is None else [column])]).astype(LONG)


def sum_of_squares(z, weights) -> np.ndarray:
    return z.T @ (np.asarray(weights, dtype=LONG)[:, None] * z)


def clipped_label(labels) -> np.ndarray:
    return LABEL.scale * np.clip(labels - LABEL.centre, -LABEL.half, LABEL.half)


def moment_weights(z, radius: float) -> np.ndarray:
    squares = (z * z).sum(axis=1)
    return np.minimum(1, np.divide(LONG(radius) ** 2, squares, out=np.ones_like(squares), where=squares > 0))


def row_weights(z, matrix, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """v and |Bz|."""
    lengths = np.sqrt(((z @ matrix.astype(LONG).T) ** 2).sum(axis=1))
    safe = np.maximum(lengths, LONG(1e-300))
    return np.minimum(1, np.minimum(1 / safe, bend / safe / safe)), lengths


def a_map(d: int, size: float = 3.0, seed: int = 5) -> np.ndarray:
    """A symmetric positive map that lengthens some directions and shortens others."""
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    return np.asarray(turned @ np.diag(np.geomspace(0.3, size, d)) @ turned.T)


def close(found, wanted, scale: float) -> None:
    np.testing.assert_allclose(found, np.asarray(wanted, dtype=float), rtol=1e-11, atol=1e-12 * scale)


def test_every_engine_that_sums_shapes_is_in_the_battery():
    assert {engine for engine, _ in STORED.values()} == {offer.name for offer in ENGINES if "shapes" in offer.answers}


@pytest.mark.parametrize("intercept", [0.0, INTERCEPT])
@pytest.mark.parametrize("kind", list(STORED))
def test_moments_are_those_of_single_records(kind, intercept):
    """A radius of 0.8 leaves some rows longer than it, and 4 none; labels are clipped at 1.1 from their centre."""
    for n in (1, 3, 700):
        rows, labels = records("huber", n, 4)
        engine = opened(kind, "huber", rows, labels, intercept)
        for radius, label in ((0.8, None), (4.0, None), (0.9, LABEL), (4.0, LABEL)):
            z = whole(rows, intercept, None if label is None else clipped_label(labels))
            weights = moment_weights(z, radius)
            assert n < 700 or (weights < 1).any() == (radius < 1)
            moments = engine.moments(radius, label)
            assert moments.shape == (z.shape[1], z.shape[1])
            np.testing.assert_array_equal(moments, moments.T)
            close(moments, sum_of_squares(z, weights), n)


@pytest.mark.parametrize("bend", [1.0, 2.5, math.inf])
@pytest.mark.parametrize("intercept", [0.0, INTERCEPT])
@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("kind", list(STORED))
def test_weighted_sums_are_those_of_single_records(kind, name, intercept, bend):
    rng = np.random.default_rng(2)
    for n in (1, 34, 700):
        rows, labels = records(name, n, 5)
        d = 5 + (intercept > 0)
        engine, matrix = opened(kind, name, rows, labels, intercept), a_map(d)
        z, theta = whole(rows, intercept), rng.normal(size=(6, d)) * 2
        weights, lengths = row_weights(z, matrix, bend)
        assert n < 700 or 0 < (weights < 1).sum() < n
        weighed = engine.weighed(matrix, bend)
        assert (weighed.n, weighed.labels, weighed.dimension) == (n, engine.labels, d)
        assert weighed.additions == engine.additions
        for chains in (1, 2, 6):
            slopes = np.array([LOSSES[name][2](z @ point, labels)[0] for point in theta[:chains]])
            close(weighed.gradient(theta[:chains]), (slopes * weights) @ z, n)
        slope, curvature = LOSSES[name][2](z @ theta[0], labels)
        for scores in (False, True):
            curved, matrix_of_scores, scale = weighed.second_sums(theta[0], scores)
            close(curved, sum_of_squares(z, weights * curvature), n)
            np.testing.assert_array_equal(curved, curved.T)
            assert (matrix_of_scores is not None) == scores
            assert type(scale) is float
            close(scale, (weights**2 * slope**2 * lengths**2).sum(), n)
        close(matrix_of_scores, sum_of_squares(z, weights**2 * slope**2), n)
        np.testing.assert_array_equal(matrix_of_scores, matrix_of_scores.T)
