"""Shape-first paths against a person who chooses the records and the published history: no part costs more than its price."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from shape_replay import BOUNDS, LOSSES, NORM, by_hand, engine_of, hostile_rows, model_of, replayed, spent

import sfumato as sf
from sfumato.auditing.replay_noise import live
from sfumato.engines.protocol import UNIT_ROUNDOFF, gradient_error
from sfumato.mechanisms import shaped_path as mechanism
from sfumato.mechanisms.protocol import Request
from sfumato.procedures import shape_first, shaped_path
from sfumato.procedures.protocol import Task
from sfumato.shapes import symmetric, whitening
from sfumato.shapes.clip_level import EDGES
from sfumato.shapes.schedule import map_rule

N, STEPS = 24, 4
KINDS = ("moments", "shares", "path", "curvature", "scores")
# Dimension, intercept, sparse rows, whole score matrix, noises over those of mu = 1, by how much the published noise differs
# from what is paid for (0 publishes the bare numbers, 100 hides the moments, so that the map is as long as it can be), and n mu of
# the target: the radius of the map is .4, the bend 3 and the ridge .2 at the small ones, 1.6, 1.5 and .7 or more at the large ones.
SETTINGS = [
    (1, 0.0, False, False, 0.02, 1.0, 30.0),
    (1, 0.0, True, True, 1.0, 0.0, 5e3),
    (2, 0.0, False, True, 0.02, 0.0, 2e5),
    (2, 1.0, True, False, 1.0, 1.0, 30.0),
    (5, 1.0, False, True, 0.02, 1.0, 1e4),
    (5, 0.0, True, False, 0.1, 100.0, 30.0),
    (20, 1.0, False, False, 0.02, 0.0, 4e4),
]
SPEND = 30.0


def planned(model, whole: bool, factor: float, spend: float = SPEND) -> Task:
    keep = ("scores",) if whole else ()
    return Task(model, N, 1, mechanism.at_factor(Request(model, N, keep=keep, steps=STEPS), factor, spend), keep)


def neighbours(name: str, model, csr: bool, rng: np.random.Generator) -> list:
    """Engines of data sets that differ in one record: the chosen rows, and those along the extreme directions of the rest."""
    width = model.dimension - (model.intercept > 0)
    labels = LOSSES[name][1]
    rows = rng.normal(size=(N, width)) * 10.0 ** np.linspace(0, -3, width)
    given = rng.choice(labels, N).astype(float)
    turned = np.linalg.eigh(rows.T @ rows)[1][:, [0, -1]].T
    chosen = np.vstack([hostile_rows(rng, width), NORM * turned, -NORM * turned, 0.05 * turned])
    chosen = chosen[rng.permutation(len(chosen))[:5]]
    return [
        engine_of(model, name, np.vstack([row, rows[1:]]), np.append(y, given[1:]), csr)
        for row, y in itertools.product(chosen, labels)
    ]


@pytest.mark.parametrize("name", LOSSES)
def test_no_record_and_no_history_break_the_price(name):
    """Seven settings of 45 to 190 pairs each: every part is within its mu, all within the guarantee."""
    worst = dict.fromkeys(KINDS, 0.0)
    for place, (d, intercept, csr, whole, factor, size, spend) in enumerate(SETTINGS):
        rng = np.random.default_rng([place, sum(map(ord, name))])
        model = model_of(name, d, intercept)
        task = planned(model, whole, factor, spend)
        price = shaped_path.price(model, N, 1, task.parameters).curve.mu
        label = shape_first.label_column(model)
        hand = by_hand(model, N, task.parameters, 0.0 if label is None else 0.7 * model.loss.radius)
        assert hand["all"] <= price <= hand["all"] * (1 + 1e-6)
        runs = replayed(task, neighbours(name, model, csr, rng), live(place, size))
        for one, other in itertools.combinations(runs, 2):
            shifts = spent(one, other, name == "huber")
            assert shifts["all"] <= price
            for kind in hand:
                assert shifts[kind] <= hand[kind] * (1 + 1e-9), (kind, d)
                if kind in worst:
                    worst[kind] = max(worst[kind], shifts[kind] / hand[kind])
    attained = {"huber": KINDS, "smoothed hinge": ("moments", "path")}.get(name, ("moments",))
    assert all(worst[kind] > 0.95 for kind in attained), worst
    assert name != "huber" or worst["shares"] == pytest.approx(1.0, abs=1e-12)


def test_every_part_gets_the_noise_that_is_priced():
    """In order: moments, shares, gradients, curvature, scores; nothing else is drawn, whatever the records are."""
    for whole in (False, True):
        model = model_of("huber", 3, 1.0)
        task = planned(model, whole, 0.3)
        numbers = task.parameters
        rng = np.random.default_rng(5)
        for run in replayed(task, neighbours("huber", model, False, rng)[:4], live(2)):
            noises = [part.noise for part in run]
            scores = numbers.score_matrix_noise if whole else numbers.score_noise
            first = [numbers.moments_noise, numbers.shares_noise]
            assert noises == [*first, *[numbers.noise] * STEPS, numbers.curvature_noise, scores]
            sizes = [part.values.size for part in run]
            assert sizes == [10, 10, *[3] * STEPS, 6, 6 if whole else 1]


def test_a_map_from_the_rows_themselves_is_caught_by_a_replay(monkeypatch):
    """The planted variant: the map follows from moments without noise, so one record moves the gradients of all others."""
    raw: list[np.ndarray] = []
    publish, learnt = shape_first.publish_moments, shape_first.learnt

    def publish_and_keep(model, engine, noise, label, source):
        raw[:] = [symmetric.packed(engine.moments(model.loss.radius, label) / engine.n)]
        return publish(model, engine, noise, label, source)

    def from_rows(model, moments, *public):
        return learnt(model, raw[0], *public)

    # All rows but the first lie along one axis, and all labels agree: the mean gradient is as long as it can be.
    model = model_of("logistic", 2)
    task = planned(model, False, 0.02)
    rows, labels = np.tile([0.1, 0.0], (N, 1)), np.ones(N)
    engines = [
        engine_of(model, "logistic", np.vstack([first, rows[1:]]), labels) for first in ([0.0, 0.0], [NORM, 0.0])
    ]
    hand = by_hand(model, N, task.parameters, 0.0)["path"]
    honest = spent(*replayed(task, engines, live(1, 0.0)))["path"]
    assert honest <= hand
    monkeypatch.setattr(shape_first, "publish_moments", publish_and_keep)
    monkeypatch.setattr(shape_first, "learnt", from_rows)
    assert spent(*replayed(task, engines, live(1, 0.0)))["path"] > 1.5 * hand


# Maps of a small price, and of large ones.
RULES = (map_rule(10.0), map_rule(2000.0), map_rule(1e5))


def test_the_map_widens_with_x_and_flattens_its_bend_without_a_jump():
    """Its bend is part of the price of the curvature, its radius and ridge of that of rounding."""
    grid = np.geomspace(1.0, 1e6, 2001)
    radius, bend, ridge = np.array([[rule.radius, rule.bend, rule.ridge] for rule in map(map_rule, grid)]).T
    assert (radius[0], bend[0], ridge[0]) == pytest.approx((0.4, 3.0, 0.2))
    assert (bend[-1], ridge[-1]) == (1.5, 1.0)
    for each in (radius, 1 / bend, ridge):
        # At most x^1.5 between neighbours.
        assert (np.diff(each) >= -1e-12 * each[1:]).all()
        assert (np.diff(np.log(each)) <= 1.5 * np.log(grid[1] / grid[0])).all()
    assert radius[-1] > 2


# --- rounding ------------------------------------------------------------------------------------------------------------------


def test_an_error_of_the_sum_is_charged_as_the_map_stretches_it():
    """The longest map of all, from moments that show nothing; and the largest error that an engine's contract allows."""
    for d, noise, n in ((1, 1e-9, 10**9), (3, 1e-6, 10**6), (40, 1e-2, 500)):
        model = model_of("logistic", d)
        for rule in RULES:
            shape = whitening.shape_of(np.zeros((d, d)), noise, rule, model.loss.radius)
            length = np.linalg.norm(shape.matrix, 2)
            most = whitening.largest_norm(noise, d, rule)
            assert 0.02 * most < length <= most
            stretched = length * gradient_error(n, model.loss.radius) / n
            assert stretched < shape_first.gradient_mean_error(model, n, noise, 0.0, rule)


def test_an_error_of_a_sum_of_mapped_terms_is_charged_as_it_is():
    """Curvature and scores are summed after the map: their error grows with the largest term and with the noise alone."""
    for d, n in ((1, 10**9), (3, 10**6), (40, 500)):
        model = model_of("logistic", d)
        for largest in (0.5, 2.0):
            bare = gradient_error(n, largest) / n
            assert bare < shape_first.matrix_mean_error(model, n, largest, 0.0) < bare + 1e-14
            size = 1e3 * np.sqrt(symmetric.length(d))
            assert shape_first.matrix_mean_error(model, n, largest, 1e3) > bare + UNIT_ROUNDOFF * size


@pytest.mark.planted
def test_the_rounding_of_shares_is_charged():
    """A sum of n terms of norm 1 at most, as an engine's contract allows it to be off, and the rounding of what is published."""
    for n in (N, 10**5, 10**9):
        for noise in (1e-9, 1.0):
            charged = shape_first.shares_price(n, noise).curve.mu * noise - math.sqrt(2) / n
            assert charged > 2 * (gradient_error(n, 1.0) / n + UNIT_ROUNDOFF * (1 + noise)) * (1 - 1e-6)


def test_no_moments_lead_to_a_longer_map_than_is_charged():
    """Hidden, negative, huge and lone eigenvalues, and such as lie at the edge of the noise."""
    rng, longest = np.random.default_rng(8), 0.0
    for _ in range(300):
        d, noise, radius = int(rng.integers(1, 9)), 10.0 ** rng.uniform(-9, 3), 10.0 ** rng.uniform(-3, 3)
        edge = whitening.edge(noise, d)
        random = symmetric.unpacked(rng.normal(size=symmetric.length(d)) * noise * 10.0 ** rng.uniform(-3, 6), d)
        lone = np.diag([1e12] + [0.0] * (d - 1))
        for moments in (
            random,
            -np.abs(random),
            np.zeros((d, d)),
            lone,
            np.eye(d) * edge,
            np.eye(d) * edge * (1 + 1e-15),
        ):
            rule = RULES[int(rng.integers(len(RULES)))]
            shape = whitening.shape_of(moments, noise, rule, radius)
            most = whitening.largest_norm(noise, d, rule)
            longest = max(longest, float(np.linalg.norm(shape.matrix, 2) / most))
    assert 0.999 < longest <= 1


def test_sums_in_floats_stay_within_the_stated_errors(monkeypatch):
    """Moments, gradients, curvature and scores of 20,000 records against sums with 64 digits of precision, mapped alike."""
    rng = np.random.default_rng(3)
    n, d = 20_000, 4
    model = model_of("huber", d)
    rows = rng.normal(size=(n, d)) * [1.0, 0.3, 0.01, 1e-4]
    rows *= np.minimum(1, NORM / np.linalg.norm(rows, axis=1))[:, None] * (1 - 1e-12)
    labels = np.clip(rows @ [1.0, -2.0, 3.0, 0.0] + rng.normal(size=n), -4, 6)
    numbers = mechanism.at_factor(Request(model, n, keep=("scores",), steps=2), 0.01, SPEND)
    task = Task(model, n, 1, numbers, ("scores",))
    averages, means = [], shaped_path.tail_means
    monkeypatch.setattr(
        shaped_path, "tail_means", lambda path, told: averages.append(means(path, told)) or averages[-1]
    )
    parts = replayed(task, [engine_of(model, "huber", rows, labels)], live(4))[0]
    # The exact side, in long floats: what `carry_out` publishes for these records after the same history.
    label = shape_first.label_column(model)
    learnt = _learnt(task, parts)
    b, z, clip = learnt.shape.matrix.astype(np.longdouble), rows.astype(np.longdouble), learnt.loss.clip
    joint = np.hstack(
        [z, label.scale * np.clip(labels - label.centre, -label.half, label.half).astype(np.longdouble)[:, None]]
    )
    exact = joint.T @ joint / n
    off = np.linalg.norm((symmetric.packed(exact) - parts[0].values).astype(float))
    size = model.loss.radius**2 * 1.49
    assert 0 < off <= gradient_error(n, size) / n + 16 * UNIT_ROUNDOFF * size
    lengths = np.sqrt(((z @ b) ** 2).sum(axis=1))
    v = np.minimum(np.minimum(1, 1 / lengths), 3.0 / lengths**2)
    slopes = np.clip(z @ learnt.start - labels, -clip, clip)
    gradient = (v * slopes) @ z @ b / (n * clip)
    around = shaped_path.learnt_from(task, {"moments": _rounded(parts[0])})
    places = ((labels - rows @ around.start)[:, None] > EDGES * around.deviation).sum(axis=1)
    assert parts[1].values.tolist() == (np.bincount(places, minlength=10) / n).tolist(), "whole numbers over n"
    charged = shape_first.gradient_mean_error(model, n, numbers.moments_noise, 0.0, numbers.rule)
    assert 0 < float(np.linalg.norm(gradient - parts[2].values[0])) <= charged
    residuals = z @ (learnt.start + b @ averages[0][0]) - labels
    curved = symmetric.packed(b @ ((z * (v * (np.abs(residuals) < clip))[:, None]).T @ z / n) @ b)
    scores = symmetric.packed(b @ ((z * ((v * np.clip(residuals, -clip, clip) / clip) ** 2)[:, None]).T @ z / n) @ b)
    for part, sums, largest in ((parts[4], curved, 3.0), (parts[5], scores, 1.0)):
        charged = shape_first.matrix_mean_error(model, n, largest, 0.0)
        assert 0 < float(np.linalg.norm((sums - part.values).astype(float))) <= charged


def _rounded(part) -> np.ndarray:
    """What is published of a part, on its grid."""
    grid = float(shape_first.spacing(part.noise))
    return np.rint(part.published / grid) * grid


def _learnt(task: Task, parts: list) -> shape_first.Learnt:
    """What follows from the published moments and shares of a linear regression."""
    return shaped_path.learnt_from(task, {"moments": _rounded(parts[0]), "shares": _rounded(parts[1])})


def test_a_narrower_clip_narrows_the_noise_with_it():
    """Gradients and scores are published in units of the slope: the same noise is less noise for a narrower clip."""
    rng = np.random.default_rng(6)
    model = model_of("huber", 2)
    task = planned(model, False, 0.001)
    rows = rng.normal(size=(N, 2))
    slopes, gradients = [], []
    for spread in (3.0, 0.05):
        labels = np.clip(rows @ [0.5, -0.5] + spread * rng.normal(size=N), -4, 6)
        parts = replayed(task, [engine_of(model, "huber", rows, labels)], live(1, 0.0))[0]
        slopes.append(_learnt(task, parts).loss.largest_slope())
        gradients.append(max(float(np.linalg.norm(part.values)) for part in parts[2:-2]))
        assert all(part.noise == task.parameters.noise for part in parts[2:-2])
    assert slopes[0] == 2.0
    assert slopes[1] < 0.5
    assert max(gradients) <= 1.0


@pytest.mark.planted
@pytest.mark.parametrize("d", [1, 5, 20])
def test_a_clip_that_grows_beyond_half_the_range_keeps_the_price(d):
    """A declared clip of half the range stands for the range: after such a history no pair of records exceeds what is paid."""
    model = sf.Gibbs(sf.losses.Huber(NORM, 5.0, *BOUNDS), sf.priors.Gaussian(0.5), d)
    task = planned(model, False, 0.02)
    price = shaped_path.price(model, N, 1, task.parameters).curve.mu
    rng, grown, worst = np.random.default_rng(d), 0, 0.0
    most = 2 * math.sqrt(STEPS) / N / task.parameters.noise
    for place, size in itertools.product(range(4), (1.0, 10.0, 100.0)):
        rows, given = rng.normal(size=(N, d)), rng.choice(BOUNDS, N)
        chosen = itertools.product(hostile_rows(rng, d)[:5], BOUNDS)
        engines = [engine_of(model, "huber", np.vstack([row, rows[1:]]), np.append(y, given[1:])) for row, y in chosen]
        runs = replayed(task, engines, live(place, size))
        grown += _learnt(task, runs[0]).loss.largest_slope() > 5.0
        for one, other in itertools.combinations(runs, 2):
            shifts = spent(one, other, True)
            assert shifts["all"] <= price
            assert shifts["path"] <= most * (1 + 1e-9)
            worst = max(worst, shifts["path"] / most)
    assert grown > 0
    assert worst > 0.75


def test_the_price_of_rounding_is_stated_for_every_size():
    """Numbers of 2,000 coefficients or a billion records are priced; with up to 100,000 records rounding takes little."""
    for d, n, most in ((20, 10**5, 1.02), (2000, 10**5, 1.05), (2000, 10**9, 1e9), (2, 10**9, 1e9)):
        model = model_of("huber", d)
        numbers = mechanism.at_factor(Request(model, n), 1.0, SPEND)
        hand = by_hand(model, n, numbers, 0.7 * model.loss.radius)["all"]
        assert hand == pytest.approx(1.0, rel=1e-12)
        assert hand < shaped_path.price(model, n, 1, numbers).curve.mu < most
        plan = sf.plan(model, n, 1.0, 1e-11, goal="estimate", mechanism="shaped-path")
        assert plan["noise"] > 0
        assert plan.guarantee.epsilon(1e-11) <= 1
