"""Exact draws on a public lattice: the law, the range of its log ratio over neighbours, and that rounding is charged."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse, special

import sfumato as sf
from goodness import LEVEL, chi_square_p
from pricing import carried_out, lattice_price
from sfumato.engines.opening import open_engine
from sfumato.engines.values import ValuesEngine
from sfumato.procedures import lattice, loss_values

SIGNS = sf.Category([-1, 1], missing=-1)


def ball(precision: float = 1.0, radius: float = 2.0, **options) -> sf.priors.Ball:
    return sf.priors.Ball(sf.priors.Gaussian(precision), radius=radius, **options)


def hinge(dimension: int = 2, **options) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Hinge(1.0), ball(**options), dimension)


def rows_of(n: int, d: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1), rng.choice([-1, 1], n)


def labelled(rows, labels, target=SIGNS, norm: float = 1.0) -> sf.Dataset:
    return sf.Dataset.from_arrays(rows, labels, schema=sf.Schema.vector(rows.shape[1], data_norm=norm, target=target))


def law(model: sf.Gibbs, data: sf.Dataset, power: float, per_axis: int) -> np.ndarray:
    """Log probabilities of the lattice, from the totals that the mechanism asks for."""
    points = lattice.points_of(model, per_axis)
    totals = open_engine(data, model, ("values",)).values(
        points, loss_values.unit_of(model), loss_values.value_bound(model)
    )
    logs = -power * loss_values.unit_of(model) * np.array(totals, dtype=np.float64)
    logs -= 0.5 * model.prior.prior.precision * (points**2).sum(axis=1)
    return logs - special.logsumexp(logs)


# --- values ----------------------------------------------------------------------------------------------------------

VALUES = {
    "logistic": (sf.losses.Logistic(1.0), SIGNS, lambda u, y: np.log((1 + np.exp(-y * u)) / 2)),
    "hinge": (sf.losses.Hinge(1.0), SIGNS, lambda u, y: np.maximum(0, 1 - y * u) - 1),
    "quantile": (
        sf.losses.Quantile(1.0, quantile=0.8),
        sf.Number(-1e9, 1e9),
        lambda u, y: (u - y) * ((u >= y) - 0.8) - (0 - y) * ((y <= 0) - 0.8),
    ),
    "huber": (
        sf.losses.Huber(1.0, clip=0.5),
        sf.Number(-1e9, 1e9),
        lambda u, y: special.huber(0.5, u - y) - special.huber(0.5, -y),
    ),
}


@pytest.mark.parametrize("name", list(VALUES))
def test_totals_are_sums_of_values_rounded_record_by_record(name):
    loss, target, value = VALUES[name]
    model = sf.Gibbs(loss, ball(), 2)
    rows, labels = rows_of(300, 2)
    y = labels.astype(float) if target is SIGNS else np.round(np.random.default_rng(3).normal(size=300) * 2, 3)
    points = lattice.points_of(model, 9)
    unit, reach = loss_values.unit_of(model), loss_values.value_bound(model)
    wanted = value(rows @ points.T, y[:, None]).sum(axis=0)
    for kind in (rows, sparse.csr_array(rows)):
        engine = open_engine(labelled(kind, labels if target is SIGNS else y, target), model, ("values",))
        assert type(engine) is ValuesEngine
        totals = engine.values(points, unit, reach)
        assert all(isinstance(total, int) for total in totals)
        np.testing.assert_allclose(np.array(totals) * unit, wanted, atol=300 * unit)
        assert np.abs(np.array(totals) * unit * 1.001 - wanted).max() > 300 * unit


def test_no_order_of_the_rows_changes_a_total():
    model = hinge()
    rows, labels = rows_of(40_000, 2)
    rows[::7] *= 1e-9
    points = lattice.points_of(model, 5)
    found = set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows))
        engine = open_engine(labelled(rows[order], labels[order]), model, ("values",))
        found.add(tuple(engine.values(points, loss_values.unit_of(model), loss_values.value_bound(model))))
    assert len(found) == 1


def test_a_record_far_outside_adds_no_more_than_its_bound():
    """Labels of 1e9 leave no digits in a difference of two losses; the clip keeps the term within what is priced."""
    model = sf.Gibbs(sf.losses.Quantile(1.0, quantile=0.8), ball(), 1)
    points = lattice.points_of(model, 9)
    unit, reach = loss_values.unit_of(model), loss_values.value_bound(model)
    for label in (1e9, -1e9, 0.0, math.nan):
        engine = open_engine(labelled(np.array([[1.0]]), [label], sf.Number(-1e9, 1e9)), model, ("values",))
        assert max(abs(total) for total in engine.values(points, unit, reach)) * unit <= reach + unit


# --- the law and its price -------------------------------------------------------------------------------------------


@pytest.mark.planted
@pytest.mark.parametrize("dimension", [1, 2])
def test_draws_follow_the_posterior_on_the_lattice(dimension):
    n, draws = 60, 20_000
    model = hinge(dimension)
    rows, labels = rows_of(n, dimension)
    power = 0.25
    coarse = {1: 41, 2: 9}[dimension]
    points = lattice.points_of(model, coarse)
    engine = open_engine(labelled(rows, labels), model, ("values",))
    values = carried_out(lattice, model, n, draws, lattice.Parameters(power, coarse), engine, sf.seeded(5))
    assert {tuple(v) for v in values} <= {tuple(p) for p in points}
    places = {tuple(point): k for k, point in enumerate(points)}
    counts = np.bincount([places[tuple(v)] for v in values], minlength=len(points))

    def expected(power: float) -> np.ndarray:
        costs = np.maximum(0, 1 - labels[:, None] * (rows @ points.T)).sum(axis=0)
        return draws * special.softmax(-power * costs - 0.5 * (points**2).sum(axis=1))

    assert chi_square_p(counts, expected(power)) > LEVEL
    assert chi_square_p(counts, expected(0.7 * power)) < LEVEL
    assert chi_square_p(counts, expected(1.3 * power)) < LEVEL


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize(
    "loss", [sf.losses.Hinge(1.0), sf.losses.Logistic(1.0), sf.losses.ClippedProbit(1.0, clip=3.0)]
)
def test_no_pair_of_neighbours_exceeds_the_price_and_the_worst_all_but_reach_it(loss, dimension):
    """The log ratio over the whole lattice, for random neighbours and for opposite records at the rim."""
    power = 0.4
    model = sf.Gibbs(loss, ball(), dimension)
    price = lattice_price(model, 4, power, 1).curve.epsilon(delta=0.0)
    worst = 0.0
    for seed in range(40):
        rows, labels = rows_of(4, dimension, seed)
        other = rows.copy()
        other[0] = rows_of(4, dimension, seed + 1000)[0][0]
        if seed % 2:
            rows[0], other[0] = np.eye(dimension)[0], -np.eye(dimension)[0]
        first, second = (law(model, labelled(x, labels), power, 17) for x in (rows, other))
        ratio = first - second
        assert np.ptp(ratio) <= price
        assert np.abs(ratio).max() <= price
        worst = max(worst, np.ptp(ratio))
    assert worst > 0.6 * price


def test_the_price_is_twice_power_times_delta_and_rounding_adds_almost_nothing():
    model = sf.Gibbs(sf.losses.Logistic(1.0), ball(), 2)
    curve = lattice_price(model, 100, 0.3, 1).curve
    assert curve.epsilon(delta=0.0) >= 2 * 0.3 * 2.0
    assert curve.epsilon(delta=0.0) == pytest.approx(2 * 0.3 * 2.0, rel=1e-9)
    three = lattice_price(model, 100, 0.3, 3).curve
    assert three.epsilon(delta=0.0) == pytest.approx(3 * 2 * 0.3 * 2.0, rel=1e-9)
    for loss in (sf.losses.Quantile(1.0, 0.5), sf.losses.GaussianMean(1.0), sf.losses.ClippedPoisson(1.0, 2.0, 9.0)):
        other = sf.Gibbs(loss, ball(), 2)
        assert lattice.sensitivity(other, 0.3) >= other.constants.bound
        assert lattice.sensitivity(other, 0.3) == pytest.approx(other.constants.bound, rel=1e-9)


def test_the_lattice_fills_the_domain_and_does_not_leave_it():
    for prior in (ball(centre=(0.5, -0.3)), sf.priors.Box(sf.priors.Gaussian(1.0), [-1.0, 0.0], [1.0, 3.0])):
        model = sf.Gibbs(sf.losses.Hinge(1.0), prior, 2)
        points = lattice.points_of(model, 21)
        assert (np.linalg.norm(points, axis=1) <= prior.domain_radius * (1 + 1e-15)).all()
        np.testing.assert_allclose(prior.project(points), points, atol=1e-15)
        assert len(points) > 300
    assert [lattice.axis_points(1, n) for n in (10, 10**6, 10**9)] == [4097, 401, 257]
    assert [lattice.axis_points(2, n) for n in (10, 10**5, 10**9)] == [129, 63, 33]


# --- the whole path --------------------------------------------------------------------------------------------------


def published(model: sf.Gibbs, data: sf.Dataset, **options) -> sf.Release:
    plan = sf.plan(model, data.n, 1.0, 0.0, mechanism="exponential", **options)
    release = sf.publish(plan, data, randomness=sf.seeded(2))
    return sf.Release.from_bytes(release.to_bytes()).verify()


def test_a_hinge_in_two_dimensions_is_published_pure():
    rows, labels = rows_of(200, 2)
    release = published(hinge(), labelled(rows, labels), draws=3)
    assert release.draws.shape == (1, 3, 2)
    assert release.guarantee.curve.epsilon(delta=0.0) <= 1.0
    assert (np.linalg.norm(release.draws.pooled(), axis=1) <= 2.0).all()


def test_every_kind_of_record_is_published_on_its_lattice():
    rows, labels = rows_of(100, 2)
    mean = sf.Gibbs(sf.losses.GaussianMean(1.0), ball(), 2)
    shape = published(mean, sf.Dataset.from_arrays(rows, schema=sf.Schema.vector(2, data_norm=1.0))).draws.shape
    assert shape == (1, 1, 2)
    odds = sf.Gibbs(sf.losses.LogitBernoulli(), ball())
    table = sf.Dataset.from_table({"y": labels > 0}, schema=sf.Schema({"y": sf.Boolean(missing=False)}, target="y"))
    assert published(odds, table).draws.shape == (1, 1, 1)
    two = sf.Gibbs(sf.losses.Softmax(1.0, classes=2), ball(), 2)
    assert published(two, labelled(rows[:, :1], labels)).draws.shape == (1, 1, 2)
    sloped = sf.Gibbs(sf.losses.Logistic(math.sqrt(2)), ball(), 2, 1.0)
    assert published(sloped, labelled(rows[:, :1], labels)).draws.labels == ("x0", "intercept")


def test_the_posterior_of_a_mean_is_where_it_should_be():
    """With much to spend the draw lies within its posterior deviation of the shrunk mean."""
    n = 400
    rows = np.full((n, 2), 0.3) + rows_of(n, 2)[0] * 0.2
    model = sf.Gibbs(sf.losses.GaussianMean(1.0), ball(radius=1.0), 2)
    plan = sf.plan(model, n, target=sf.Pure(4.0 * 500), mechanism="exponential", draws=500, allow_weak=True)
    data = sf.Dataset.from_arrays(rows, schema=sf.Schema.vector(2, data_norm=1.0))
    values = sf.publish(plan, data, randomness=sf.seeded(1)).draws.pooled()
    m = n * plan["power"] + 1.0
    assert np.abs(values.mean(axis=0) - n * plan["power"] * rows.mean(axis=0) / m).max() < 5 / math.sqrt(500 * m)
    assert values.std(axis=0) == pytest.approx(1 / math.sqrt(m), rel=0.2)
