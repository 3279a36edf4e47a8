"""Engines: every compiled loss against formulas written here, whatever the blocks, threads, chains or order of the rows."""

from __future__ import annotations

import math
import os
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import sparse, special

import sfumato as sf
from sfumato.engines import dense, kernels, threads
from sfumato.engines import sparse as sparse_engine
from sfumato.engines.dense import DenseEngine
from sfumato.engines.design import kernel_arguments
from sfumato.engines.kernels import slope
from sfumato.engines.opening import open_engine
from sfumato.engines.reference import ReferenceEngine
from sfumato.engines.sparse import SparseEngine
from sfumato.procedures import chains as gibbs_chains

SIGNS, BITS = sf.Category([-1, 1], missing=-1), sf.Category([0, 1], missing=0)
LOSSES = {
    "logistic": (sf.losses.Logistic(1.5), SIGNS),
    "huber": (sf.losses.Huber(1.5, clip=0.7), sf.Number(-3, 3)),
    "smoothed-hinge": (sf.losses.SmoothedHinge(1.5, width=0.3), SIGNS),
    "hinge": (sf.losses.Hinge(1.5), SIGNS),
    "quantile": (sf.losses.Quantile(1.5, quantile=0.8), sf.Number(-3, 3)),
    "smoothed-quantile": (sf.losses.SmoothedQuantile(1.5, quantile=0.8, width=0.3), sf.Number(-3, 3)),
    "clipped-poisson": (sf.losses.ClippedPoisson(1.5, clip=2.0, label_bound=9.0), sf.Number(0, 9)),
    "clipped-cloglog": (sf.losses.ClippedCloglog(1.5, clip=0.9), BITS),
    "clipped-probit": (sf.losses.ClippedProbit(1.5, clip=45.0), SIGNS),
}


def formula(name: str, u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Derivative in u of the loss of that name in LOSSES, written anew."""
    if name == "logistic":
        return -y * special.expit(-y * u)
    if name == "huber":
        return np.maximum(np.minimum(u - y, 0.7), -0.7)
    if name in ("smoothed-hinge", "hinge"):
        return -y * (np.clip((1 - y * u) / 0.3, 0, 1) if name != "hinge" else (y * u < 1))
    if name == "quantile":
        return np.where(u < y, 0.0, 1.0) - 0.8
    if name == "smoothed-quantile":
        return np.clip((u - y) / 0.3, -0.8, 0.2)
    if name == "clipped-poisson":
        return np.clip(np.exp(np.minimum(u, 100)) - y, -2, 2)
    if name == "clipped-cloglog":
        t = np.exp(np.minimum(u, 100))
        return np.where(y > 0.5, -np.minimum(special.exprel(np.minimum(t, 700)) ** -1.0, 0.9), np.minimum(t, 0.9))
    return -y * np.minimum(np.exp(-((y * u) ** 2) / 2 - special.log_ndtr(y * u)) / math.sqrt(2 * math.pi), 45.0)


def rows_and_labels(name: str, n: int, d: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows within the norm, labels as given to the data set, and the same labels as the loss codes them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    rows *= rng.uniform(0.2, 1.0, (n, 1)) / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    column = LOSSES[name][1]
    if isinstance(column, sf.Number):
        labels = np.round(rng.uniform(column.lower, column.upper, n), 3)
        return rows, labels, labels
    codes = rng.integers(0, 2, n)
    return rows, np.array(column.levels)[codes], np.array([float(level) for level in column.levels])[codes]


def dataset(name: str, rows, labels) -> sf.Dataset:
    schema = sf.Schema.vector(rows.shape[1], data_norm=1.0, target=LOSSES[name][1])
    return sf.Dataset.from_arrays(rows, labels, schema=schema)


def model_of(name: str, d: int, intercept: float = 0.0) -> sf.Gibbs:
    return sf.Gibbs(LOSSES[name][0], sf.priors.Gaussian(1.0), d + (intercept > 0), intercept)


def expected(name: str, rows: np.ndarray, y: np.ndarray, theta: np.ndarray, intercept: float) -> np.ndarray:
    whole = np.column_stack([rows, np.full(len(rows), intercept)]) if intercept else rows
    return np.array([(formula(name, whole @ point, y)[:, None] * whole).sum(axis=0) for point in theta])


def test_every_compiled_loss_is_tested_here():
    known = {loss.name: loss.compiled for loss in sf.losses.LOSSES.values() if loss.compiled}
    assert set(LOSSES) == set(known)
    assert sorted(code for code, _ in known.values()) == list(range(len(known))), (
        "each slope of the kernels is one loss's"
    )
    assert all(kernel_arguments(loss) is not None for loss, _ in LOSSES.values())


@pytest.mark.planted
@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("name", list(LOSSES))
def test_dense_sparse_and_reference_agree_with_the_formula(name, intercept):
    """8,192 is where a part ends and 65,536 where a block does; chains go by fours, and the rest one by one."""
    d = 5
    for n in (1, 3, 34, 8191, 8193):
        rows, labels, coded = rows_and_labels(name, n, d)
        model = model_of(name, d, intercept)
        engines = {
            DenseEngine: open_engine(dataset(name, rows, labels), model, ("gradients",)),
            SparseEngine: open_engine(dataset(name, sparse.csr_array(rows), labels), model, ("gradients",)),
            ReferenceEngine: ReferenceEngine(dataset(name, sparse.csr_array(rows), labels), model),
        }
        for chains in (1, 3, 4, 9):
            theta = np.random.default_rng(chains).normal(size=(chains, model.dimension)) * 2
            wanted = expected(name, rows, coded, theta, intercept)
            for kind, engine in engines.items():
                assert type(engine) is kind
                found = engine.gradient(theta)
                assert found.shape == theta.shape
                np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11 * n)
    planted = np.allclose(engine.gradient(theta * 1.01), wanted, rtol=1e-10, atol=1e-11 * n)
    assert not planted, "scores one hundredth off are seen"


def test_blocks_of_a_data_set_are_all_counted():
    n = 65_536 + 8_192 + 5
    rows, labels, coded = rows_and_labels("logistic", n, 3)
    model, theta = model_of("logistic", 3), np.array([[0.3, -1.0, 2.0], [0.0, 0.1, -0.2]])
    wanted = expected("logistic", rows, coded, theta, 0.0)
    for engine in (
        open_engine(dataset("logistic", rows, labels), model, ("gradients",)),
        open_engine(dataset("logistic", sparse.csr_array(rows), labels), model, ("gradients",)),
        ReferenceEngine(dataset("logistic", rows, labels), model),
    ):
        assert engine.n == n
        np.testing.assert_allclose(engine.gradient(theta), wanted, rtol=1e-10)
        np.testing.assert_allclose(engine.gradient(theta[:1]), wanted[:1], rtol=1e-10)


@pytest.mark.planted
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("chains", [1, 4, 6])
def test_no_number_of_threads_changes_a_bit(kind, chains, monkeypatch):
    rows, labels, _ = rows_and_labels("logistic", 30_000, 7)
    data = dataset("logistic", rows if kind == "dense" else sparse.csr_array(rows), labels)
    theta = np.random.default_rng(3).normal(size=(chains, 7))
    found = set()
    for count in (1, 2, 3, 64, None):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        engine = open_engine(data, model_of("logistic", 7), ("gradients",))
        assert engine._threads == min(4 if kind == "dense" else 8, count or 1)
        found.add(engine.gradient(theta).tobytes())
    assert len(found) == 1
    with np.errstate(all="ignore"):
        reordered = sum(
            (expected("logistic", rows[s], np.where(labels == 1, 1.0, -1.0)[s], theta, 0.0))
            for s in (slice(15_000, None), slice(None, 15_000))
        )
    assert reordered.tobytes() not in found, "the planted fault: another order of the parts gives other bits"


# --- slopes ----------------------------------------------------------------------------------------------------------

EXTREMES = [0.0, 1e-300, 1e-8, 1.0, 30.0, 37.0, 38.6, 40.0, 44.0, 700.0, 709.8, 745.2, 1e3, 1e8, 1e300]
BOUND = {name: loss.constants().lipschitz / 1.5 for name, (loss, _) in LOSSES.items()}


def labels_of(name: str) -> list[float]:
    column = LOSSES[name][1]
    return [column.lower, 0.1, column.upper] if isinstance(column, sf.Number) else [float(v) for v in column.levels]


@pytest.mark.parametrize("name", list(LOSSES))
def test_slopes_are_the_losses_own_derivatives_at_the_ends_of_the_range(name):
    loss = LOSSES[name][0]
    code, first, second = kernel_arguments(loss)
    label = np.ones(1)
    rows, labels = np.ones((1, 1)), label.view()
    for array in (rows, labels):
        array.setflags(
            write=False
        )  # as in an engine: for arrays that may be written numba would compile another kernel
    for u in [s * e for e in EXTREMES for s in (1, -1)]:
        for y in labels_of(name):
            found = slope(code, u, y, first, second)
            assert found == pytest.approx(float(loss.derivative(u, y)), rel=1e-12, abs=1e-290)
            assert abs(found) <= BOUND[name]
            # One row of one feature 1 and theta = u: what a kernel adds to the sum is the slope itself.
            sums = np.zeros((5, 1))
            label[0] = y
            kernels.dense_gradients(rows, labels, np.ones(1), np.full((5, 1), u), 0.0, code, first, second, sums)
            assert sums == pytest.approx(found, rel=1e-12, abs=1e-290)
            assert (np.abs(sums) <= BOUND[name]).all()


@pytest.mark.parametrize("name", list(LOSSES))
def test_slopes_stay_within_the_declared_bound_and_agree_everywhere(name):
    loss = LOSSES[name][0]
    code, first, second = kernel_arguments(loss)

    @given(st.floats(-1e3, 1e3) | st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(labels_of(name)))
    def check(u, y):
        found = slope(code, u, y, first, second)
        assert abs(found) <= BOUND[name]
        assert found == pytest.approx(float(loss.derivative(u, y)), rel=1e-12, abs=1e-15)

    check()


@pytest.mark.parametrize("v", [-44.9, -37.5, -36.9, -30.5, -8.0, -1.0, 0.0, 5.0, 20.0])
def test_the_probit_slope_is_right_on_both_sides_of_its_switch(v):
    mp.dps = 60
    exact = float(-mp.npdf(v) / mp.ncdf(v))
    assert slope(*kernel_arguments(LOSSES["clipped-probit"][0])[:1], v, 1.0, 45.0, 0.0) == pytest.approx(
        exact, rel=2e-13
    )
    two_terms = -(-v - 1 / v) if v < -30 else exact
    assert two_terms == exact or two_terms != pytest.approx(exact, rel=1e-9), "two terms of the series are not enough"


# --- losses of users, and other records ------------------------------------------------------------------------------


def tilted(name: str = "tilted") -> sf.losses.ScalarLink:
    """log cosh of the residual, scaled: a user's smooth convex loss with slopes below 0.3."""
    return sf.losses.ScalarLink(
        lambda u, y: 0.3 * (np.logaddexp(u - y, y - u) - math.log(2)),
        lambda u, y: 0.3 * np.tanh(u - y),
        labels=(-1.0, 1.0),
        radius=1.5,
        derivative_bound=0.3,
        curvature_bound=0.3,
        convex=True,
        name=name,
    )


@pytest.mark.parametrize("name", ["tilted", "logistic", "softmax"])
def test_a_users_loss_runs_its_own_slope_whatever_it_is_called(name):
    rows, labels, coded = rows_and_labels("logistic", 500, 4)
    model = sf.Gibbs(tilted(name), sf.priors.Gaussian(1.0), 5, 0.5)
    engine = open_engine(dataset("logistic", rows, labels), model, ("gradients",))
    assert type(engine) is ReferenceEngine
    theta = np.random.default_rng(1).normal(size=(3, 5))
    whole = np.column_stack([rows, np.full(500, 0.5)])
    wanted = (0.3 * np.tanh(whole @ theta.T - coded[:, None])).T @ whole
    np.testing.assert_allclose(engine.gradient(theta), wanted, rtol=1e-10)


def test_a_users_slope_never_leaves_what_was_declared_and_says_nothing_about_it():
    """Far beyond the searched range this derivative overflows to NaN: the price holds all the same, without a word."""
    loss = sf.losses.ScalarLink(
        lambda u, y: np.logaddexp(0, -y * u),
        lambda u, y: np.where(np.abs(u) < 2e4, -y * special.expit(-y * u), np.exp(u) * 5 / np.exp(u)),
        labels=(-1.0, 1.0),
        radius=1.0,
        derivative_bound=1.0,
        convex=True,
    )
    rows = np.ones((4, 1))
    data = dataset("logistic", rows, np.array([-1, 1, 1, 1]))
    engine = open_engine(data, sf.Gibbs(loss, sf.priors.Gaussian(1.0), 1), ("gradients",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far = engine.gradient(np.array([[1e5], [-1e5], [0.0]]))
    assert np.isfinite(far).all()
    assert (np.abs(far) <= 4.0 + 1e-12).all()


def test_softmax_runs_through_the_reference_engine():
    rng = np.random.default_rng(1)
    rows = rng.uniform(-0.5, 0.5, (300, 3))
    labels = rng.integers(0, 4, 300)
    schema = sf.Schema.vector(3, data_norm=1.0, target=sf.Category([0, 1, 2, 3], missing=0))
    model = sf.Gibbs(sf.losses.Softmax(1.5, classes=4), sf.priors.Gaussian(1.0), 16, 0.5)
    whole = np.column_stack([rows, np.full(300, 0.5)])
    theta = rng.normal(size=(2, 16))
    wanted = []
    for flat in theta:
        shares = special.softmax(whole @ flat.reshape(4, 4).T, axis=1) - np.eye(4)[labels]
        wanted.append((shares.T @ whole).ravel())
    for kind in (rows, sparse.csr_array(rows)):
        engine = open_engine(sf.Dataset.from_arrays(kind, labels, schema=schema), model, ("gradients",))
        assert type(engine) is ReferenceEngine
        np.testing.assert_allclose(engine.gradient(theta), wanted, rtol=1e-10, atol=1e-12)
        assert engine.labels[4] == "class 1: x0"


def test_a_record_may_be_a_row_alone_or_a_label_alone():
    rng = np.random.default_rng(2)
    rows = rng.uniform(-0.5, 0.5, (3000, 2))
    mean = sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Gaussian(1.0), 2)
    theta = rng.normal(size=(3, 2))
    for kind in (rows, sparse.csr_array(rows)):
        engine = open_engine(
            sf.Dataset.from_arrays(kind, schema=sf.Schema.vector(2, data_norm=1.0)), mean, ("gradients",)
        )
        np.testing.assert_allclose(engine.gradient(theta), 3000 * theta - rows.sum(axis=0), rtol=1e-10)
    ill = rng.random(3000) < 0.2
    table = sf.Dataset.from_table({"y": ill}, schema=sf.Schema({"y": sf.Boolean(missing=False)}, target="y"))
    odds = sf.Gibbs(sf.losses.LogitBernoulli(), sf.priors.Gaussian(1.0))
    engine = open_engine(table, odds, ("gradients",))
    points = np.array([[0.0], [1.5], [-800.0]])
    np.testing.assert_allclose(engine.gradient(points), 3000 * special.expit(points) - ill.sum(), rtol=1e-10)
    assert engine.labels == ("log odds of y",)
    with pytest.raises(sf.errors.ArgumentError, match="intercept"):
        sf.publish(
            sf.plan(sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Gaussian(1.0), 2, 0.5), 3000, 1.0, 1e-6),
            sf.Dataset.from_arrays(rows, schema=sf.Schema.vector(2, data_norm=1.0)),
        )


@pytest.mark.parametrize("name", list(LOSSES))
def test_no_record_makes_an_engine_refuse_or_warn(name):
    """Zero rows, rows far beyond the norm, NaN, infinities and unseen labels: the same shapes, finite sums, no word."""
    model = model_of(name, 3, 0.5)
    bad = np.array([[0, 0, 0], [1e300, 0, 0], [np.nan, np.inf, -np.inf], [5e-324, 0, 0], [3, 4, 0]], dtype=float)
    theta = np.array([[1e6, -1e6, 1e6, 1.0], [0.0, 0.0, 0.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = open_engine(dataset(name, bad, [None, 7, "x", np.inf, -1e300]), model, ("gradients",))
        for points in (theta, theta[:1]):
            found = engine.gradient(points)
            assert np.isfinite(found).all()
            assert (np.linalg.norm(found, axis=1) <= 5 * model.constants.lipschitz).all()


# --- roundings of the sum --------------------------------------------------------------------------------------------


def worst_rows(n: int) -> np.ndarray:
    """Entries whose running sums are rounded the same way time after time, and a few large ones that hide the rest."""
    rng = np.random.default_rng(8)
    rows = np.column_stack([np.full(n, 1 / 3), np.full(n, 0.1 + 2.0**-50), 10.0 ** rng.uniform(-16, -0.5, n)])
    rows[::977, 2] = 0.5
    return rows


def exact_sum(rows: np.ndarray) -> list[Fraction]:
    return [sum((Fraction(v) for v in column), Fraction(0)) for column in rows.T.tolist()]


@pytest.mark.planted
def test_the_charged_rounding_error_covers_the_real_one_in_any_order():
    """Hinge slopes at 0 are exactly -y, so the exact sum is one of fractions; the bound is not idle: a 1e4th of it fails."""
    n = 20_000
    rows, model = worst_rows(n), sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Gaussian(1.0), 3)
    bound = gibbs_chains.summation_error(model, n)
    exact = exact_sum(rows)
    worst = 0.0
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n) if seed else np.arange(n)
        for kind in (rows[order], sparse.csr_array(rows[order])):
            engine = open_engine(dataset("hinge", kind, np.ones(n)), model, ("gradients",))
            for chains in (1, 2):
                found = engine.gradient(np.zeros((chains, 3)))[0]
                off = [float(abs(Fraction(-value) - want)) for value, want in zip(found.tolist(), exact, strict=True)]
                worst = max(worst, math.hypot(*off))
    assert worst <= bound
    assert worst > bound / 1e4


def additions(n: int, part: int, run: int) -> int:
    """The most additions that a record takes part in: within its part, its run of parts, and over the runs."""
    parts = -(-65_536 // part) * (n // 65_536) + -(-(n % 65_536) // part)
    return part + min(parts, run) + -(-parts // run)


@pytest.mark.planted
@pytest.mark.parametrize("n", [1, 8_192, 65_537, 30_000_000, 10**12])
@pytest.mark.parametrize("d", [1, 64, 65, 105, 1_000, 2_047, 10**6])
def test_no_record_takes_part_in_more_additions_than_are_charged(n, d):
    charged = gibbs_chains.summation_error(sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Gaussian(1.0), d), n) / (
        2.4e-16 * n
    )
    for part in (dense.part_rows(d), sparse_engine._PART):
        assert part % 32 == 0
        assert additions(n, part, threads.RUN) <= charged * (1 + 1e-9)
    if n > 10**9 and dense.part_rows(d) < 8_192:
        assert additions(n, dense.part_rows(d), 10**12) > charged, "the planted fault: small parts in one long run"


def exact_step(model, rows, labels, theta, noise, power, step):
    """One Langevin step of a regression without projection in 60 digits, from the same floats."""
    mp.dps = 60
    point = [mpf(t) for t in theta]
    gradient = [mpf(model.prior.precision) * t for t in point]
    for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
        u = sum((mpf(x) * t for x, t in zip(row, point, strict=True)), mpf(0))
        if model.loss.name == "logistic":
            phi = -mpf(label) / (1 + mp.exp(mpf(label) * u))
        elif model.loss.name == "clipped-poisson":
            phi = min(max(mp.exp(u) - mpf(label), -mpf(model.loss.clip)), mpf(model.loss.clip))
        else:
            phi = min(max(u - mpf(label), -mpf(model.loss.clip)), mpf(model.loss.clip))
        gradient = [g + mpf(power) * phi * mpf(x) for g, x in zip(gradient, row, strict=True)]
    scale = mpf(math.sqrt(2 * step))
    return [t - mpf(step) * g + scale * mpf(z) for t, g, z in zip(point, gradient, noise.tolist(), strict=True)]


STEPS = {
    "logistic": sf.losses.Logistic(1.0),
    "huber": sf.losses.Huber(1.0, clip=3.0),
    "clipped-poisson": sf.losses.ClippedPoisson(1.0, clip=0.5, label_bound=1e6),
}


@pytest.mark.planted
@pytest.mark.parametrize("name", list(STEPS))
@pytest.mark.parametrize("precision", [1e-3, 1.0, 1e9])
def test_the_charged_error_of_a_step_covers_the_real_one(name, precision):
    """At the rim of the public ball, where scores are largest; a gradient that is one hundredth off is caught."""
    rng = np.random.default_rng(4)
    n, d = 12, 3
    rows = rng.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-15)
    model = sf.Gibbs(STEPS[name], sf.priors.Gaussian(precision), d)
    target = {"logistic": SIGNS, "huber": sf.Number(-1e6, 1e6), "clipped-poisson": sf.Number(0, 1e6)}[name]
    labels = rng.choice([-1.0, 1.0], n) if name == "logistic" else rng.uniform(0, 1e6, n)
    if name == "clipped-poisson":
        labels = np.exp(rows @ np.full(d, 3.0)) * rng.uniform(0.99, 1.01, n)
    schema = sf.Schema.vector(d, data_norm=1.0, target=target)
    data = sf.Dataset.from_arrays(rows, labels.astype(int) if name == "logistic" else labels, schema=schema)
    power = 0.7
    step = 1 / model.smoothness(n, power)
    radius = gibbs_chains.projection_radius(model, n, power)
    field, project = (
        gibbs_chains.field(model, open_engine(data, model, ("gradients",)), power),
        gibbs_chains.projection(model, radius),
    )
    bound = gibbs_chains.step_error(model, n, power, step)
    worst = coarse = 0.0
    for k in range(6):
        direction = rng.normal(size=d)
        size = radius * (1 - 1e-12) if k < 3 else min(radius, 3.0 * math.sqrt(d))
        theta = direction / np.linalg.norm(direction) * size if k < 5 else np.full(d, 3.0) * min(1.0, radius / 6)
        noise = rng.normal(size=d)
        exact = exact_step(model, rows, labels, theta, noise, power, step)
        length = mp.sqrt(sum(e * e for e in exact))
        exact = [e * min(1, radius / length) for e in exact]
        moved = theta[None] - step * field(theta[None]) + math.sqrt(2 * step) * noise
        off = float(mp.sqrt(sum((mpf(a) - b) ** 2 for a, b in zip(project(moved)[0].tolist(), exact, strict=True))))
        worst = max(worst, off)
        wrong = theta[None] - step * 1.01 * field(theta[None]) + math.sqrt(2 * step) * noise
        coarse = max(coarse, float(np.linalg.norm(project(wrong) - project(moved))))
    assert worst <= bound
    assert coarse > bound
