"""Shape-first regressions of counts: the label in the moments, and what follows from its mean and its spread."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from shape_replay import NORM, by_hand, engine_of, model_of, replayed, spent
from test_shaped_path import D, N, data, edited, planned

import sfumato as sf
from sfumato.auditing.replay_noise import live
from sfumato.engines.opening import open_engine
from sfumato.errors import FormatError, SfumatoError
from sfumato.mechanisms import shaped_path as mechanism
from sfumato.mechanisms.protocol import Request
from sfumato.procedures import shape_first, shaped_path
from sfumato.procedures.protocol import Task
from sfumato.queries import shaped_intervals
from sfumato.shapes import symmetric
from sfumato.shapes.clip_level import count_level
from sfumato.shapes.schedule import map_rule


@pytest.fixture(scope="module")
def counted() -> sf.Release:
    """A release of counts with an intercept, with little noise."""
    return sf.publish(planned("poisson", 1.0), data("poisson"), randomness=sf.seeded(4))


# --- price ---------------------------------------------------------------------------------------------------------------------


def test_the_label_of_counts_is_a_column_where_an_intercept_is():
    model = model_of("poisson", 3, 1.0)
    label = shape_first.label_column(model)
    assert (label.centre, label.half) == (0.0, 8.0)
    assert shape_first.label_radius(label) == pytest.approx(0.7 * model.loss.radius, rel=1e-11)
    unbounded = sf.Gibbs(sf.losses.ClippedPoisson(2.0, 3.0), sf.priors.Gaussian(1.0), 3, 1.0)
    for other in (model_of("poisson", 3), unbounded, model_of("logistic", 3, 1.0)):
        assert shape_first.label_column(other) is None


@pytest.mark.parametrize(("lower", "upper", "middle"), [(-4, 6, 1.0), (-6, 2, -2.0), (-9, -1, -5.0)])
def test_the_label_of_a_linear_regression_reaches_to_the_farther_bound(lower, upper, middle):
    """About the middle of the bounds where an intercept can take it back, and about 0 where there is none."""
    for intercept, centre, half in ((1.0, middle, (upper - lower) / 2), (0.0, 0.0, max(abs(lower), abs(upper)))):
        model = sf.Gibbs(sf.losses.Huber(2.0, 1.0, lower, upper), sf.priors.Gaussian(1.0), 3, intercept)
        label = shape_first.label_column(model)
        assert (label.centre, label.half) == (centre, half)


@pytest.mark.parametrize("size", [0.0, 1.0, 100.0], ids=["bare", "noisy", "hidden"])
@pytest.mark.parametrize("whole", [False, True], ids=["scale", "matrix"])
def test_the_label_of_one_record_moves_nothing_by_more_than_its_price(whole, size):
    """Labels 0 and 8 of the longest row: every number that meets noise, after histories of any clip, within its own mu.

    The moments move by q sqrt(2 r^2 + q^2), q the label's column.
    """
    n, keep = 24, ("scores",) if whole else ()
    model = model_of("poisson", 4, 1.0)
    numbers = mechanism.at_factor(Request(model, n, keep=keep, steps=6), 0.05, 1e4)
    task = Task(model, n, 1, numbers, keep)
    q = 0.7 * model.loss.radius
    hand = by_hand(model, n, numbers, q)
    price = shaped_path.price(model, n, 1, numbers).curve.mu
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(n, 3))
    rows[0] = [NORM * (1 - 1e-12), 0.0, 0.0]
    given = rng.choice([0, 1, 8], n).astype(float)
    engines = [engine_of(model, "poisson", rows, np.append(label, given[1:])) for label in (0.0, 8.0)]
    one, other = replayed(task, engines, live(3, size))
    shifts = spent(one, other)
    for kind, most in hand.items():
        assert 0 <= shifts[kind] <= most * (1 + 1e-9), kind
    assert shifts["moments"] == pytest.approx(
        q * math.sqrt(2 * model.loss.radius**2 + q**2) / n / numbers.moments_noise
    )
    assert shifts["path"] > 0
    assert shifts["all"] <= price
    assert [part.values.size for part in one] == [15, *[4] * 6, 10, 10 if whole else 1]


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_counts_of_weighted_records_start_at_the_log_of_their_mean(share):
    """Moments of records that weigh `share` of the largest weight are `share` times those of whole records."""
    model = model_of("poisson", 3, 1.0)
    label = shape_first.label_column(model)
    rng = np.random.default_rng(2)
    counts = rng.poisson(2.0, 400).clip(0, 8).astype(float)
    columns = np.column_stack([rng.uniform(-0.4, 0.4, (400, 2)), np.full(400, model.intercept), label.scale * counts])
    moments = symmetric.packed(share * columns.T @ columns / 400)
    made = shape_first.learnt(model, moments, 1e-9, map_rule(1e6), label, 1e6, weighted=True)
    assert made.share == pytest.approx(share, rel=1e-6)
    assert made.start[-1] * model.intercept == pytest.approx(math.log(counts.mean()), abs=1e-6)


def test_a_reclipped_loss_keeps_its_bounds_for_labels_beyond_its_own():
    """Curvatures beyond four clips count as four clips; a wider clip than the declared one changes nothing."""
    declared = sf.losses.ClippedPoisson(1.5, 50.0, 100.0)
    narrow = declared.reclipped(5.0)
    assert (narrow.clip, narrow.label_bound, narrow.radius) == (5.0, 15.0, 1.5)
    assert narrow.largest_curvature() == pytest.approx(20.0)
    u, y = np.meshgrid(np.linspace(-5, 8, 300), [0.0, 3.0, 15.0, 60.0, 100.0])
    assert np.abs(narrow.derivative(u, y)).max() == narrow.largest_slope() == 5.0
    assert narrow.curvature(u, y).max() == narrow.largest_curvature()
    assert narrow.curvature(math.log(58.0), 60.0) == narrow.largest_curvature(), (
        "e^u = 58, and the slope is not clipped"
    )
    assert narrow.curvature(math.log(4.0), 3.0) == pytest.approx(4.0)
    assert declared.reclipped(50.0) is declared
    assert sf.losses.ClippedPoisson(1.0, 3.0).reclipped(1.0).label_bound is None


# --- what follows from the moments -----------------------------------------------------------------------------------------------


def test_start_clip_and_steps_follow_from_the_mean_count(counted):
    """By hand: the moment of constant and label over intercept and scale, with one deviation of its noise."""
    task, moments = planned("poisson", 1.0).task, counted.draws.published["moments"]
    noise, label = task.parameters.moments_noise, shape_first.label_column(task.model)
    matrix = symmetric.unpacked(moments, D + 2)
    mean = matrix[D, D + 1] / label.scale + noise / math.sqrt(2) / label.scale
    engine = open_engine(data("poisson"), task.model, shaped_path.NEEDS)
    exact = np.concatenate([piece.labels for part in engine.parts() for piece in part]).mean()
    assert abs(mean - exact) < 6 * noise / label.scale
    learnt = shaped_path.learnt_from(task, counted.draws.published)
    assert learnt.start.tolist() == [0.0] * D + [pytest.approx(math.log(mean))]
    square, rule = matrix[D + 1, D + 1] / label.scale**2, task.parameters.rule
    level, excess = count_level(mean, square, noise / label.scale**2, 8.0, task.parameters.resolution, rule.radius)
    assert learnt.loss.clip == pytest.approx(min(3.0, level))
    assert learnt.excess == pytest.approx(excess)
    assert learnt.curvature == pytest.approx(2 * mean)
    rate = shaped_path.recursion_of(task, learnt).rate
    slow = shaped_path.recursion_of(task, replace(learnt, curvature=task.model.loss.largest_curvature())).rate
    assert 0.99 < rate / slow * 2 * mean / task.model.loss.largest_curvature() < 1, "the prior takes little"


def test_a_mean_count_below_its_noise_has_a_floor_and_a_ceiling():
    """Moments of any sign and size give a start and a clip; the mean lies between a thousandth of the bound and the bound."""
    model, noise, rule = model_of("poisson", 2, 1.0), 1e-9, map_rule(10.0)
    label = shape_first.label_column(model)
    for cross, mean in ((-5.0, 0.008), (0.0, 0.008), (1e9, 8.0)):
        matrix = np.diag([1.0, 1.0, 1.0])
        matrix[1, 2] = matrix[2, 1] = cross
        learnt = shape_first.learnt(model, symmetric.packed(matrix), noise, rule, label, 10.0)
        assert learnt.start == pytest.approx([0.0, math.log(mean)], abs=1e-5)
        assert min(mean, 3.0) <= learnt.loss.clip <= 3.0


def test_the_start_stays_in_the_domain_and_keeps_a_public_prior_mean():
    prior = sf.priors.Gaussian(1.0, [0.3, -0.2, 0.0])
    matrix = np.diag([1.0, 1.0, 1.0, 1.0])
    label, rule = shape_first.label_column(model_of("poisson", 3, 1.0)), map_rule(10.0)
    matrix[2, 3] = matrix[3, 2] = 5.0 * label.scale
    told = symmetric.packed(matrix)
    free = shape_first.learnt(model_of("poisson", 3, 1.0, prior), told, 1e-9, rule, label, 10.0)
    assert free.start == pytest.approx([0.3, -0.2, math.log(5.0)], abs=1e-6)
    ball = shape_first.learnt(model_of("poisson", 3, 1.0, sf.priors.Ball(prior, 0.5)), told, 1e-9, rule, label, 10.0)
    assert np.linalg.norm(ball.start) <= 0.5 * (1 + 1e-12)


def test_steps_are_short_enough_for_the_prior_where_nothing_is_counted():
    """Empty rows and no counts: the mean is at its floor, the map long, and only the prior bends the path."""
    model, n = model_of("poisson", 3, 1.0, sf.priors.Gaussian(5.0)), 60
    plan = sf.plan(model, n, 300.0, 1e-5, goal="estimate", allow_weak=True)
    engine = engine_of(model, "poisson", np.zeros((n, 2)), np.zeros(n))
    release = shaped_path.carry_out(plan.task, engine, sf.seeded(1))
    learnt = shaped_path.learnt_from(plan.task, release.published)
    rate = shaped_path.recursion_of(plan.task, learnt).rate / learnt.loss.largest_slope()
    bend = 5.0 * np.linalg.norm(learnt.shape.matrix, 2) ** 2 / n
    assert rate * bend < 1 / 1.5
    slow = shape_first.step_curvature(model, learnt, n) / learnt.curvature
    assert slow * rate * bend > 3.6, "without it the path would leave every bound: 2 (1 + momentum) is the limit"
    laws = [shaped_intervals.read(plan.task, release, sampling)[0] for sampling in ("none", "model")]
    assert all(np.isfinite(law.covariance).all() and np.isfinite(law.mean).all() for law in laws)


def test_a_path_of_counts_arrives_where_the_price_is_large():
    """The average is as near to the truth as sampling allows."""
    rng, truth, n = np.random.default_rng(2), np.array([1.0, -0.8, 0.5, 1.2]), 20_000
    rows = rng.uniform(-0.5, 0.5, (n, 3))
    labels = np.minimum(rng.poisson(np.exp(rows @ truth[:-1] + 0.5 * truth[-1])), 40).astype(float)
    schema = sf.Schema.vector(3, data_norm=0.9, target=sf.Number(0, 40), name="visits")
    held = sf.Dataset.from_arrays(rows, labels, schema=schema)
    loss = sf.losses.ClippedPoisson(1.03, 40.0, 40.0)
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), 4, 0.5)
    whole = np.column_stack([rows, np.full(n, 0.5)])
    # The information of counts is at least about that of rows with the mean count each.
    deviation = np.sqrt(np.diag(np.linalg.inv(labels.mean() * whole.T @ whole)))
    release = sf.publish(sf.plan(model, n, 30.0, 1e-6, goal="estimate"), held, randomness=sf.seeded(1)).verify()
    assert np.abs((release.mean(scaled=True) - truth) / deviation).max() < 5


def heavy() -> tuple[sf.Plan, sf.Dataset]:
    """Counts of mean 2 and variance 10, with a declared clip and largest label that neither reaches."""
    rng = np.random.default_rng(6)
    rows = rng.uniform(-1, 1, (N, D))
    labels = np.minimum(rng.poisson(2.0 * rng.gamma(0.5, 2.0, N)), 20).astype(float)
    schema = sf.Schema.vector(D, data_norm=NORM, target=sf.Number(0, 20))
    loss = sf.losses.ClippedPoisson(math.hypot(NORM, 1.0), 20.0, 20.0)
    plan = sf.plan(sf.Gibbs(loss, sf.priors.Gaussian(0.5), D + 1, 1.0), N, 4.0, 1e-6, goal="estimate")
    return plan, sf.Dataset.from_arrays(rows, labels, schema=schema)


@pytest.mark.planted
def test_a_clip_of_counts_from_the_spread_of_the_rows_is_caught_by_verify(monkeypatch):
    """The published moments do not lead to the estimate of a release whose clip came from the mean square of the rows."""
    plan, held = heavy()
    learnt = shaped_path.learnt_from
    label = shape_first.label_column(plan.model)
    square = float(np.square(held_labels(plan, held)).mean()) * label.scale**2

    def from_rows(task, published):
        """The last moment, that of the label with itself, without its noise."""
        return learnt(task, {**published, "moments": symmetric.packed(replaced(published["moments"], square))})

    with monkeypatch.context() as planted:
        planted.setattr(shaped_path, "learnt_from", from_rows)
        release = sf.publish(plan, held, randomness=sf.seeded(3))
    with pytest.raises(FormatError, match="draws"):
        release.verify()
    assert sf.publish(plan, held, randomness=sf.seeded(3)).verify()


def held_labels(plan: sf.Plan, held: sf.Dataset) -> np.ndarray:
    engine = open_engine(held, plan.model, shaped_path.NEEDS)
    return np.concatenate([piece.labels for part in engine.parts() for piece in part])


def replaced(moments: np.ndarray, square: float) -> np.ndarray:
    matrix = symmetric.unpacked(moments, D + 2).copy()
    matrix[-1, -1] = square
    return matrix


def test_a_file_of_counts_without_their_label_is_refused(counted):
    assert counted.verify().draws.published["moments"].shape == (symmetric.length(D + 2),)
    with pytest.raises(SfumatoError):
        edited(counted, {"moments": counted.draws.published["moments"][: symmetric.length(D + 1)]}).verify()


@pytest.mark.planted
def test_counts_whose_spread_is_hidden_are_clipped_higher_the_larger_x_is():
    """Of counts of mean 3 in a wide bound noise hides whether they spread like Poisson's; a measured spread needs no caution."""
    levels = [count_level(3.0, 12.0, 40.0, 100.0, x, 1.0)[0] for x in (100.0, 1_000.0, 4_000.0, 20_000.0)]
    assert np.all(np.diff(levels) > 0)
    assert levels[-1] > 2 * levels[1]
    told, hidden = (count_level(3.0, 12.0, noise, 100.0, 20_000.0, 1.0)[0] for noise in (0.01, 40.0))
    assert told < 0.6 * hidden
