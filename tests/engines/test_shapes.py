"""Sums of the shape of the rows: every engine against sums over single records, in longer floats, written here."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from scipy import sparse, special

import sfumato as sf
from sfumato.engines.opening import ENGINES, open_engine
from sfumato.engines.protocol import LabelScale
from sfumato.errors import ArgumentError

SIGNS = sf.Category([-1, 1], missing=-1)
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
    shaped = {offer.name for offer in ENGINES if "shapes" in offer.answers}
    assert {engine for engine, _ in STORED.values()} | {"gpu"} == shaped  # the card's battery is its own (`test_gpu`)


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


EDGES = np.array([-2.0, -0.5, 0.0, 0.25, 1.0])


def cell_sums(residuals, shares=None) -> np.ndarray:
    """Shares of residuals in (-inf, e_0], (e_0, e_1], ..., (e_k, inf); one that is no number is in none."""
    sums = np.zeros(len(EDGES) + 1)
    for place, each in enumerate(residuals):
        if not math.isnan(each):
            sums[sum(each > end for end in EDGES)] += 1.0 if shares is None else shares[place]
    return sums


@pytest.mark.planted
@pytest.mark.parametrize("intercept", [0.0, INTERCEPT])
@pytest.mark.parametrize("kind", list(STORED))
def test_shares_of_residuals_are_those_of_single_records(kind, intercept):
    """Whole numbers, exactly: residuals are of few digits, some at the edges themselves, which belong to the cell below."""
    rng = np.random.default_rng(3)
    for n in (1, 3, 700, 9_000):
        rows = np.round(rng.uniform(-0.5, 0.5, (n, 3)) * 8) / 8
        labels = np.round(rng.uniform(-3, 3, n) * 8) / 8
        theta = np.array([0.5, -0.25, 0.125, 0.75])[: 3 + (intercept > 0)]
        residuals = labels - rows @ theta[:3] - (intercept * theta[3] if intercept else 0.0)
        assert n < 9_000 or all((residuals == end).any() for end in EDGES)
        found = opened(kind, "huber", rows, labels, intercept).residual_shares(theta, EDGES)
        assert found.dtype == np.float64
        assert found.tolist() == cell_sums(residuals).tolist()
        assert found.sum() == n


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
            close(curved, sum_of_squares(z @ matrix, weights * curvature), n)
            np.testing.assert_array_equal(curved, curved.T)
            assert (matrix_of_scores is not None) == scores
            assert type(scale) is float
            close(scale, (weights**2 * slope**2 * lengths**2).sum(), n)
        close(matrix_of_scores, sum_of_squares(z @ matrix, weights**2 * slope**2), n)
        np.testing.assert_array_equal(matrix_of_scores, matrix_of_scores.T)


def pseudo_huber() -> sf.losses.ScalarLink:
    """A loss from outside, without compiled slopes and without a curvature of its own."""
    return sf.losses.ScalarLink(
        lambda u, y: np.hypot(1.0, u - y),
        lambda u, y: (u - y) / np.hypot(1.0, u - y),
        labels=(-1.0, 1.0),
        radius=1.5,
        derivative_bound=1.0,
        curvature_bound=1.0,
        convex=True,
    )


@pytest.mark.parametrize("kind", list(STORED))
@pytest.mark.parametrize(
    ("loss", "target"),
    [
        (sf.losses.SmoothedHinge(1.5, width=0.3), SIGNS),
        (sf.losses.SmoothedQuantile(1.5, quantile=0.8, width=0.3), sf.Number(-3, 3)),
        (sf.losses.ClippedPoisson(1.5, clip=2.0, label_bound=9.0), sf.Number(0, 9)),
        (sf.losses.ClippedCloglog(1.5, clip=0.9), sf.Category([0, 1], missing=0)),
        (sf.losses.ClippedProbit(1.5, clip=2.0), SIGNS),
        (pseudo_huber(), SIGNS),
    ],
)
def test_every_smooth_loss_has_weighted_sums(loss, target, kind):
    """Slopes and curvatures are the loss's own here, which have tests of their own."""
    n, (engine_name, store) = 200, STORED[kind]
    if loss.compiled is None and engine_name != "reference":
        engine_name = "reference"
    rows, _ = records("huber", n, 3)
    rng = np.random.default_rng(9)
    coded = rng.choice([-1.0, 1.0] if target is SIGNS else [0.0, 1.0], n)
    schema = sf.Schema.vector(3, data_norm=1.0, target=target)
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), 4, INTERCEPT)
    data = sf.Dataset.from_arrays(store(rows), coded.astype(int), schema=schema)
    weighed = open_engine(data, model, ("shapes",), engine_name).weighed(a_map(4), 1.0)
    z, theta = whole(rows, INTERCEPT), rng.normal(size=(2, 4)) * 2
    weights, lengths = row_weights(z, a_map(4), 1.0)
    slopes = np.array([loss.derivative((z @ point).astype(float), coded) for point in theta])
    close(weighed.gradient(theta), (slopes * weights) @ z, n)
    curvature, scores, scale = weighed.second_sums(theta[0], scores=True)
    mapped = z @ a_map(4)
    close(curvature, sum_of_squares(mapped, weights * loss.curvature((z @ theta[0]).astype(float), coded)), 1e4 * n)
    close(scores, sum_of_squares(mapped, weights**2 * slopes[0] ** 2), n)
    close(scale, (weights**2 * slopes[0] ** 2 * lengths**2).sum(), n)


@pytest.mark.parametrize("kind", list(STORED))
def test_no_number_of_processors_changes_a_bit_of_weighted_sums(kind, monkeypatch):
    rows, labels = records("logistic", 20_000, 3)
    bits = set()
    for count in (1, 2, 7, None):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        engine = opened(kind, "logistic", rows, labels)
        weighed = engine.weighed(a_map(3), 1.0)
        sums = engine.moments(0.9), weighed.gradient(np.ones((2, 3))), *weighed.second_sums(np.ones(3), scores=True)
        sums = *sums, engine.residual_shares(np.ones(3), EDGES)
        bits.add(b"".join(np.asarray(part).tobytes() for part in sums))
    assert len(bits) == 1


def test_shapes_are_for_smooth_losses_of_one_score_with_labelled_rows():
    rows, bits = np.full((6, 2), 0.3), np.arange(6) % 2
    for loss, target, labels, d in (
        (sf.losses.Softmax(1.0, classes=3), sf.Category([0, 1, 2], missing=0), np.arange(6) % 3, 6),
        (sf.losses.Hinge(1.0), SIGNS, 2 * bits - 1, 2),
        (sf.losses.Quantile(1.0, 0.5), sf.Number(-50, 50), bits, 2),
        (sf.losses.ClippedPoisson(1.0, 2.0), sf.Number(0, 9), bits, 2),
        (sf.losses.GaussianMean(1.0), None, None, 2),
    ):
        schema = sf.Schema.vector(2, data_norm=1.0, target=target)
        data, model = sf.Dataset.from_arrays(rows, labels, schema=schema), sf.Gibbs(loss, sf.priors.Gaussian(1.0), d)
        assert open_engine(data, model, ("gradients",)).n == 6
        with pytest.raises(ArgumentError, match="no engine answers shapes"):
            open_engine(data, model, ("shapes",))
    rate = sf.Dataset.from_table({"y": bits > 0}, schema=sf.Schema({"y": sf.Boolean(missing=False)}, target="y"))
    with pytest.raises(ArgumentError, match="no engine answers shapes"):
        open_engine(rate, sf.Gibbs(sf.losses.LogitBernoulli(), sf.priors.Gaussian(1.0)), ("shapes",))
