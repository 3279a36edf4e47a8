"""Sums are cut into blocks, parts and runs: each record counts once, at its own label, and in an order that nothing changes."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, special

import sfumato as sf
from sfumato.engines import codes, design, reference, threads, values
from sfumato.engines.opening import open_engine

SIGNS = sf.Category([-1, 1], missing=-1)
N, WIDTH, INTERCEPT = 61, 3, 0.5


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of a few rows, and a few values held at a time."""
    monkeypatch.setattr(reference, "_ROWS", 7)
    monkeypatch.setattr(values, "_ROWS", 7)
    monkeypatch.setattr(values, "_HELD", 30)


def in_two_blocks(engine):
    """The same engine with its rows in two blocks instead of one."""
    (block,) = engine._passes
    cut = (slice(None, 20), slice(20, None))
    engine._passes._blocks = [replace(block, rows=block.rows[each], labels=block.labels[each]) for each in cut]
    return engine


def signed(rng):
    rows, labels = rng.uniform(-0.5, 0.5, (N, WIDTH)), rng.choice([-1, 1], N)
    schema = sf.Schema.vector(WIDTH, data_norm=1.0, target=SIGNS)
    loss = sf.losses.Logistic(sf.losses.radius_with_intercept(1.0, INTERCEPT))
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), WIDTH + 1, INTERCEPT)
    return rows, labels, schema, model


def classed(rng, classes=4):
    rows, labels = rng.uniform(-0.5, 0.5, (N, WIDTH)), rng.integers(0, classes, N)
    schema = sf.Schema.vector(WIDTH, data_norm=1.0, target=sf.Category(list(range(classes)), missing=0))
    loss = sf.losses.Softmax(sf.losses.radius_with_intercept(1.0, INTERCEPT), classes=classes)
    return rows, labels, schema, sf.Gibbs(loss, sf.priors.Gaussian(1.0), classes * (WIDTH + 1), INTERCEPT)


def whole_numbers(gaps: np.ndarray, unit: float) -> list[int]:
    return np.rint(gaps / unit).astype(int).sum(axis=0).tolist()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_totals_of_values_in_parts_are_those_of_all_records(kind, rng, small_parts):
    rows, labels, schema, model = signed(rng)
    engine = in_two_blocks(values.ValuesEngine(sf.Dataset.from_arrays(kind(rows), labels, schema=schema), model))
    points, unit = rng.normal(0, 3, (11, WIDTH + 1)), 2.0**-20
    scores = np.column_stack([rows, np.full(N, INTERCEPT)]) @ points.T
    gaps = np.logaddexp(0, -labels[:, None] * scores) - math.log(2)
    found = engine.values(points, unit, 50.0)
    np.testing.assert_allclose(found, whole_numbers(gaps, unit), atol=2)
    assert all(type(total) is int for total in found)


def test_totals_of_softmax_values_in_parts_are_those_of_all_records(rng, small_parts):
    rows, labels, schema, model = classed(rng)
    engine = in_two_blocks(values.ValuesEngine(sf.Dataset.from_arrays(rows, labels, schema=schema), model))
    points, unit = rng.normal(0, 3, (11, model.dimension)), 2.0**-20
    whole = np.column_stack([rows, np.full(N, INTERCEPT)])
    scores = np.stack([whole @ point.reshape(4, -1).T for point in points], axis=1)
    own = np.take_along_axis(scores, labels[:, None, None], axis=2)[:, :, 0]
    gaps = special.logsumexp(scores, axis=2) - own - math.log(4)
    np.testing.assert_allclose(engine.values(points, unit, 50.0), whole_numbers(gaps, unit), atol=2)


def test_values_are_rounded_to_the_nearest_whole_number(rng, small_parts):
    """Coarse units, so that cutting off would move a total by half a unit a record."""
    rows, labels, schema, model = signed(rng)
    engine = values.ValuesEngine(sf.Dataset.from_arrays(rows, labels, schema=schema), model)
    points = rng.normal(0, 3, (5, WIDTH + 1))
    scores = np.column_stack([rows, np.full(N, INTERCEPT)]) @ points.T
    gaps = np.logaddexp(0, -labels[:, None] * scores) - math.log(2)
    assert engine.values(points, 0.5, 50.0) == whole_numbers(gaps, 0.5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_gradients_in_parts_are_those_of_all_records(kind, rng, small_parts):
    rows, labels, schema, model = signed(rng)
    engine = in_two_blocks(reference.ReferenceEngine(sf.Dataset.from_arrays(kind(rows), labels, schema=schema), model))
    theta = rng.normal(0, 3, (5, WIDTH + 1))
    whole = np.column_stack([rows, np.full(N, INTERCEPT)])
    slopes = -labels[:, None] * special.expit(-labels[:, None] * (whole @ theta.T))
    np.testing.assert_allclose(engine.gradient(theta), slopes.T @ whole, rtol=1e-11, atol=1e-12)
    assert engine.labels[-1] == "intercept / 0.5"


def test_softmax_gradients_in_parts_are_those_of_all_records(rng, small_parts):
    rows, labels, schema, model = classed(rng)
    engine = in_two_blocks(reference.ReferenceEngine(sf.Dataset.from_arrays(rows, labels, schema=schema), model))
    theta = rng.normal(0, 3, (3, model.dimension))
    whole = np.column_stack([rows, np.full(N, INTERCEPT)])
    for flat, found in zip(theta, engine.gradient(theta), strict=True):
        shares = special.softmax(whole @ flat.reshape(4, -1).T, axis=1) - np.eye(4)[labels]
        np.testing.assert_allclose(found, (shares.T @ whole).ravel(), rtol=1e-11, atol=1e-12)


def test_the_label_is_no_feature_and_every_label_is_its_records_own(rng):
    """The target stands between the features: with all labels turned round the rows stay as they are."""
    x, y, z = rng.uniform(0, 2, N), rng.random(N) < 0.3, rng.uniform(-1, 1, N)
    schema = sf.Schema({"x": sf.Number(0, 2), "y": sf.Boolean(missing=False), "z": sf.Number(-1, 1)}, target="y")
    model = sf.Gibbs(sf.losses.Logistic(2.0), sf.priors.Gaussian(1.0), 2)
    blocks = {}
    for turned in (False, True):
        data = sf.Dataset.from_table({"x": x, "y": y != turned, "z": z}, schema=schema)
        (blocks[turned],) = design.feature_blocks(data, model)
        names, dimension = design.coordinates(data, model)
        assert (names, dimension) == (("x", "z"), 2)
    (rows, labels), (same, opposite) = ((block.rows, block.labels) for block in blocks.values())
    np.testing.assert_array_equal(rows, same)
    np.testing.assert_array_equal(labels, np.where(y, 1.0, -1.0))
    np.testing.assert_array_equal(labels, -opposite)
    for column, cells in enumerate((x, z)):
        assert abs(np.corrcoef(rows[:, column], cells)[0, 1]) > 0.99


def test_whole_totals_are_added_over_all_blocks_and_never_overflow(rng):
    data = sf.Dataset.from_table({"y": rng.random(N) < 0.3}, schema=sf.Schema({"y": sf.Boolean(missing=False)}))
    engine = codes.CodesEngine(data, ("y",))

    class Counted(dict):
        counts = weights = None

    class Blocks:
        n, held = N, True

        def blocks(self, columns):
            return iter([Counted({"y": count}) for count in (1, 2, 3)])

    engine._rows = Blocks()
    large = 2**62
    tally = lambda block, columns: np.array([block[columns[0]], large, -large])
    assert engine.totals(tally) == [6, 3 * large, -3 * large]


def test_an_engine_of_values_is_opened_when_values_are_asked_for(rng):
    rows, labels, schema, model = signed(rng)
    data = sf.Dataset.from_arrays(rows, labels, schema=schema)
    engine = open_engine(data, model, ("values",))
    assert type(engine) is values.ValuesEngine
    theta = rng.normal(size=(2, WIDTH + 1))
    np.testing.assert_array_equal(engine.gradient(theta), reference.ReferenceEngine(data, model).gradient(theta))


def test_labels_far_outside_are_moved_no_nearer_than_where_they_act_the_same(rng):
    """An absolute error settles beyond the largest score: there l(theta) - l(0) is a line in the score, at any label."""
    labels = np.concatenate([rng.uniform(-3, 3, N - 4), [1e300, -1e300, 50.0, -50.0]])
    rows = rng.uniform(-0.5, 0.5, (N, WIDTH))
    schema = sf.Schema.vector(WIDTH, data_norm=1.0, target=sf.Number(-1e300, 1e300))
    model = sf.Gibbs(sf.losses.Quantile(1.0, 0.5), sf.priors.Gaussian(1.0), WIDTH)
    engine = values.ValuesEngine(sf.Dataset.from_arrays(rows, labels, schema=schema), model)
    points, unit = rng.normal(0, 2, (6, WIDTH)) * np.array([[1e-6], *[[1.0]] * 5]), 2.0**-20
    scores, y = rows @ points.T, np.clip(labels, -100.0, 100.0)[:, None]
    gaps = 0.5 * (np.abs(y - scores) - np.abs(y))
    np.testing.assert_allclose(engine.values(points, unit, 50.0), whole_numbers(gaps, unit), atol=2)


# --- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 4])
def test_results_come_in_the_order_of_the_parts_whoever_is_first(workers):
    def work(part: int) -> int:
        time.sleep(0.02 if part % 4 == 0 else 0.0)
        return part

    assert threads.in_order(work, range(12), workers) == list(range(12))


@pytest.mark.parametrize("parts", [1, 63, 64, 65, 150])
@pytest.mark.parametrize("workers", [1, 4])
def test_sums_are_taken_in_runs_of_64_parts_from_the_first_to_the_last(parts, workers):
    """Terms of very different size, so that another order or grouping has other bits."""
    rng = np.random.default_rng(parts)
    terms = rng.normal(size=(parts, 5)) * 10.0 ** rng.integers(-8, 9, (parts, 5))
    total = np.zeros(5)
    for first in range(0, parts, 64):
        inside = np.zeros(5)
        for term in terms[first : first + 64]:
            inside += term
        total += inside
    found = threads.sum_in_order(lambda part: terms[part], range(parts), workers, (5,))
    assert found.tobytes() == total.tobytes()
    if parts > 65:
        assert np.add.accumulate(terms)[-1].tobytes() != total.tobytes()
        assert np.add.accumulate(terms[::-1])[-1].tobytes() != total.tobytes()
