"""Intervals for regressions from a transcript: they cover, they widen where little is known, and they read no row."""

from __future__ import annotations

import dataclasses
import json
import math
import os

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from goodness import LEVEL
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.reading import model_from_json
from sfumato.queries import transcript_posterior
from sfumato.queries.pseudo_records import PseudoRecords, draw_weights, spread_records
from sfumato.queries.transcript_posterior import coefficient_draws, path_of, regression_interval

LONG = os.environ.get("SFUMATO_LONG") == "1"
DELTA, TRUE = 1e-6, np.array([1.0, -0.5, 0.5, 0.0, 2.0])
LOWEST, HIGHEST = 0.86, 0.95


# --- tables and fits -------------------------------------------------------------------------------------------------


def rows_of(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of norm at most 1: five plain features, five that nearly agree, or four beside an intercept."""
    rows = rng.normal(size=(n, 4 if kind == "rare labels" else 5)) / np.sqrt(5)
    if kind == "correlated":
        rows = rows @ np.linalg.cholesky(0.9 * np.ones((5, 5)) + 0.1 * np.eye(5)).T
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))


class Study:
    """One design: a truth, a plan for it, and tables drawn from the truth."""

    def __init__(self, kind: str = "plain", n: int = 10_000, loss: str = "logistic", epsilon: float = 1.0, **options):
        self.kind, self.n, self.name = kind, n, loss
        self.truth = np.append(TRUE[:4], -3.0) if kind == "rare labels" else TRUE
        intercept = 1.0 if kind == "rare labels" else 0.0
        radius = sf.losses.radius_with_intercept(1.0) if intercept else 1.0
        self.loss = sf.losses.Logistic(radius) if loss == "logistic" else sf.losses.Huber(radius, clip=1.0)
        self.prior = options.pop("prior", sf.priors.Gaussian(1.0))
        target = sf.Category([0, 1], missing=0) if loss == "logistic" else sf.Number(-4, 4)
        self.schema = sf.Schema.vector(5 - bool(intercept), data_norm=1.0, target=target, name="survey")
        self.model = sf.Gibbs(self.loss, self.prior, 5, intercept)
        keep = options.pop("keep", ("transcript",))
        self.plan = sf.plan(
            self.model, n, epsilon, DELTA, mechanism="langevin-path", goal="estimate", keep=keep, **options
        )

    def table(self, seed: int) -> tuple[np.ndarray, np.ndarray, sf.Dataset]:
        rng = np.random.default_rng(seed)
        rows = rows_of(self.kind, self.n, rng)
        full = np.column_stack([rows, np.ones(self.n)]) if self.kind == "rare labels" else rows
        scores = full @ self.truth
        if self.name == "logistic":
            labels = (rng.random(self.n) < 1 / (1 + np.exp(-scores))).astype(int)
            coded = 2.0 * labels - 1
        else:
            labels = coded = scores + 0.3 * rng.standard_t(5, size=self.n)
        return full, coded, sf.Dataset.from_arrays(rows, labels, schema=self.schema)

    def release(self, seed: int) -> tuple[np.ndarray, np.ndarray, sf.Release]:
        rows, labels, data = self.table(seed)
        return rows, labels, sf.publish(self.plan, data, randomness=sf.seeded(seed))


def optimum(study: Study, rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The penalised optimum on the rows, by their own gradients and Hessians, and the Hessian of the mean loss there."""
    theta, width = study.truth.copy(), 1e-4  # far from it, Newton's steps on clipped residuals run away
    for _ in range(30):
        scores = rows @ theta
        curved = (study.loss.derivative(scores + width, labels) - study.loss.derivative(scores - width, labels)) / width
        hessian = (rows * (curved / 2)[:, None]).T @ rows / len(rows)
        slope = study.loss.derivative(scores, labels) @ rows / len(rows) + study.prior.gradient(theta) / study.n
        theta = theta - np.linalg.solve(hessian + np.eye(5) / study.n, slope)
    return theta, hessian


def trials(study: Study, runs: int) -> dict[str, np.ndarray]:
    """(runs, 5) arrays: what the intervals of fresh tables covered, and how wide they were."""
    said: dict[str, list[np.ndarray]] = {"full": [], "privacy": [], "naive": [], "shrunk": [], "width": []}
    for seed in range(runs):
        rows, labels, release = study.release(seed)
        hat, hessian = optimum(study, rows, labels)
        inner, outer = coefficient_draws(release.draws, release.plan, release.schema)
        low, high = np.quantile(outer, [0.05, 0.95], axis=0)
        said["full"].append((low < study.truth) & (study.truth < high))
        near, far = np.quantile(inner, [0.05, 0.95], axis=0)
        said["privacy"].append((near < hat) & (hat < far))
        middle = (near + far) / 2
        said["shrunk"].append(np.abs(hat - middle) < 0.2 * (far - near) / 2)
        # The naive interval knows the true Hessian and the true variance, and forgets only the noise.
        spread = np.linalg.inv(study.n * hessian + np.eye(5)) * (1.0 if study.name == "logistic" else 0.09 * 5 / 3)
        away = np.abs(release.mean() - study.truth)
        said["naive"].append(away < stats.norm.ppf(0.95) * np.sqrt(np.diag(spread)))
        said["width"].append(high - low)
    return {name: np.array(found) for name, found in said.items()}


def too_low(covered: np.ndarray) -> bool:
    return bool(stats.binom.cdf(covered.sum(), covered.size, LOWEST) < LEVEL)


def too_high(covered: np.ndarray) -> bool:
    return bool(stats.binom.sf(covered.sum() - 1, covered.size, HIGHEST) < LEVEL)


# --- coverage --------------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_intervals_cover_the_true_coefficients_and_naive_ones_do_not(capsys):
    runs = 500 if LONG else 18
    for kind in ("plain", "rare labels") if LONG else ("rare labels",):
        found = trials(Study(kind), runs)
        with capsys.disabled():
            print(
                f"\n{kind}, {runs} runs: coverage {found['full'].mean():.3f} of the truth and {found['privacy'].mean():.3f} "
                f"of the optimum; naive {found['naive'].mean():.3f}"
            )
        assert not too_low(found["full"])
        assert not too_high(found["full"])
        assert not too_low(found["privacy"])
        assert too_low(found["naive"])
        if LONG:
            assert LOWEST <= found["full"].mean() <= HIGHEST


@pytest.mark.planted
@pytest.mark.parametrize("n", [10_000, 1_000])
def test_nearly_equal_features_give_wide_intervals_not_wrong_ones(n):
    # The truth of 2 must not stand far out in the prior: where rows say little, an interval is the prior's.
    found = trials(Study("correlated", n, prior=sf.priors.Gaussian(0.02)), 60 if LONG else 9)
    assert not too_low(found["full"])
    assert not too_low(found["privacy"])
    assert too_low(found["naive"])
    assert found["width"].mean() > (1.0 if n == 10_000 else 4.0)


def test_where_a_release_tells_nothing_the_interval_is_the_priors_own():
    """Levels of a category beside an intercept add up to a constant: drawn optima run hundreds of deviations away."""
    rng, n, regions = np.random.default_rng(3), 1_000, ("metro", "coast", "hills", "island")
    schema = sf.Schema(
        {
            "age": sf.Number(18, 90),
            "region": sf.Category(regions, missing=regions[0]),
            "ill": sf.Boolean(missing=False),
        },
        target="ill",
        name="clinic",
    )
    radius = sf.losses.radius_with_intercept(schema.design().radius, 0.5)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(0.02), 6, 0.5)
    plan = sf.plan(model, n, 0.3, DELTA, mechanism="langevin-path", goal="estimate", keep=("transcript",))
    own = 2 * stats.norm.ppf(0.95) / math.sqrt(0.02)
    for seed in range(4 if LONG else 2):
        table = {
            "age": rng.integers(18, 91, n),
            "region": rng.choice(regions, n, p=[0.7, 0.2, 0.07, 0.03]),
            "ill": rng.random(n) < 0.3,
        }
        release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(seed))
        low, high = release.interval(0.9, scaled=True)
        assert (high - low < 1.25 * own).all()
        assert (high - low > 0.05 * own).all()
        assert (np.abs(release.estimate(scaled=True)) < 0.5 * own).all()
        inner = release.interval(0.9, include="privacy", scaled=True)
        assert (inner[1] - inner[0] < 1.25 * own).all()
    assert "has little information on" in str(release.summary())


@pytest.mark.planted
def test_a_residual_loss_takes_the_most_variance_that_its_clip_allows():
    found = trials(Study("plain", loss="huber"), 60 if LONG else 10)
    assert not too_low(found["full"])
    assert not too_low(found["privacy"])
    assert too_low(found["shrunk"])
    assert 0.02 < found["width"].mean() < 0.4


def test_little_noise_leaves_the_optimum_alone():
    study = Study("plain", epsilon=200.0, allow_weak=True)
    rows, labels, release = study.release(5)
    hat, _ = optimum(study, rows, labels)
    inner, _ = coefficient_draws(release.draws, release.plan, release.schema)
    assert np.abs(inner.mean(axis=0) - hat).max() < 0.01
    assert inner.std(axis=0).max() < 0.01


# --- the pieces ------------------------------------------------------------------------------------------------------


def oracle(records: PseudoRecords, theta, gradients, noise):
    """Mean and variance of the weights by conditioning in the space of gradients, entry by entry."""
    count, d = records.rows.shape
    prior = (np.eye(count) - 1 / count) / count
    effect = np.zeros((len(theta) * d, count))
    for t, point in enumerate(theta):
        for j, (row, label) in enumerate(zip(records.rows, records.labels, strict=True)):
            effect[t * d : (t + 1) * d, j] = -label * row / (1 + np.exp(label * (row @ point)))
    gain = prior @ effect.T @ np.linalg.inv(effect @ prior @ effect.T + noise**2 * np.eye(len(effect)))
    mean = 1 / count + gain @ (gradients.ravel() - effect.mean(axis=1))
    return mean, prior - gain @ effect @ prior


@pytest.mark.planted
def test_the_posterior_of_the_weights_is_that_of_the_linear_model():
    rng = np.random.default_rng(1)
    whole = spread_records(sf.losses.Logistic(1.0), 2, 0.0, (-1.0, 1.0), 1.0, 0.25)
    records = PseudoRecords(whole.loss, whole.rows[::20], whole.labels[::20], whole.bend)
    theta, gradients = rng.normal(size=(7, 2)), 0.1 * rng.normal(size=(7, 2))
    mean, variance = oracle(records, theta, gradients, 0.05)
    draws = 40_000
    centre, weights = draw_weights(records, theta, gradients, 0.05, draws, np.random.default_rng(2))
    assert np.allclose(centre[0], mean, atol=1e-10)
    assert np.allclose(weights.mean(axis=0), mean, atol=1e-10)  # opposite pairs
    assert np.allclose(weights.sum(axis=1), 1.0)
    direction = rng.normal(size=len(mean))

    def p_value(scale: float) -> float:
        """Half of the draws are independent; their squares about the mean are chi-square."""
        squares = (((weights - mean) @ direction)[: draws // 2] ** 2).sum() / (direction @ variance @ direction)
        tail = stats.chi2.cdf(squares * scale**2, draws // 2)
        return float(2 * min(tail, 1 - tail))

    assert p_value(1.0) > LEVEL
    assert p_value(0.7) < LEVEL
    assert p_value(1.3) < LEVEL
    wrong, _ = oracle(records, theta, gradients, 0.05 * 1.3)
    assert not np.allclose(centre[0], wrong, atol=1e-6)


@pytest.mark.parametrize("intercept", [0.0, 1.0])
def test_pseudo_records_lie_in_the_declared_domain_and_differentiate(intercept):
    loss = sf.losses.Logistic(sf.losses.radius_with_intercept(1.0, intercept))
    records = spread_records(loss, 3, intercept, (-1.0, 1.0), 1.0, 0.25)
    assert np.linalg.norm(records.rows, axis=1).max() <= loss.radius * (1 + 1e-12)
    assert set(records.labels) == {-1.0, 1.0}
    if intercept:
        assert (records.rows[:, -1] == intercept).all()
    weights = np.random.default_rng(1).dirichlet(np.ones(len(records.rows)), 2)
    theta = np.array([[0.3, -1.0, 0.5], [0.0, 2.0, 0.1]])
    hessian = records.hessian(weights, theta)
    step = 1e-5 * np.eye(3)
    for k in range(3):
        slope = (records.gradient(weights, theta + step[k]) - records.gradient(weights, theta - step[k])) / 2e-5
        assert np.allclose(hessian[:, k], slope, atol=2e-3)
    chances = 1 / (1 + np.exp(-theta @ records.rows.T))
    exact = np.einsum("sj,ja,jb->sab", weights * chances * (1 - chances), records.rows, records.rows)
    assert np.allclose(hessian, exact, atol=2e-3)


def test_the_path_is_walked_as_it_was_run():
    study = Study(
        "plain", n=200, steps=12, draws=2, prior=sf.priors.Box(sf.priors.Gaussian(2.0), [-0.3] * 5, [0.3] * 5)
    )
    _, _, release = study.release(1)
    told, numbers = release.transcript, release.plan["parameters"]
    visited = path_of(model_from_json(release.plan["model"]), release.plan, told)
    assert visited.shape == told.shape
    theta, speed, seen = np.zeros((2, 5)), np.zeros((2, 5)), []
    for t in range(12):
        assert np.array_equal(visited[:, t], theta)
        speed = numbers["momentum"] * speed + told[:, t] + 2.0 * theta / 200
        theta = np.clip(theta - numbers["learning_rate"] * speed, -0.3, 0.3)
        seen.append(theta)
    assert np.allclose(np.mean(seen[-int(numbers["tail"]) :], axis=0), release.draws.values[:, 0])


# --- what is answered, and what is refused ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return Study("plain", n=2_000).release(1)[2]


def ask(release: sf.Release, level: float = 0.9, include: str = "privacy and sampling"):
    return regression_interval(release.draws, release.plan, release.schema, level, include)


def test_intervals_nest_repeat_and_need_no_rows(release, tmp_path):
    release.save(tmp_path / "x.sfumato")
    again = sf.load(tmp_path / "x.sfumato")
    low, high = ask(release)
    assert low.shape == high.shape == (len(release.draws.labels),)
    assert np.array_equal(ask(again), [low, high])
    wider, narrower = ask(release, 0.99), ask(release, 0.5)
    for inside, outside in ((low, wider[0]), (narrower[0], low), (high, narrower[1]), (wider[1], high)):
        assert (outside < inside).all()
    inner = ask(release, include="privacy")
    assert (inner[1] - inner[0]).sum() < (high - low).sum()


def test_an_interval_stays_in_the_domain_of_the_prior():
    box = sf.priors.Box(sf.priors.Gaussian(1.0), [-0.4] * 5, [0.4] * 5)
    _, _, release = Study("plain", n=500, prior=box).release(2)
    for include in transcript_posterior.INCLUDED:
        low, high = ask(release, include=include)
        assert (np.abs([low, high]) <= 0.4).all()


def test_without_a_transcript_the_call_says_what_to_keep():
    bare = Study("plain", n=500, keep=()).release(1)[2]
    with pytest.raises(ArgumentError, match=r'keep=\("transcript",\)'):
        ask(bare)
    study = Study("plain", n=500)
    data = study.table(1)[2]
    drawn = sf.publish(sf.plan(study.model, 500, 1.0, DELTA), data, randomness=sf.seeded(1))
    with pytest.raises(ArgumentError, match=r'keep=\("transcript",\)'):
        ask(drawn)


def refused(release: sf.Release, **model) -> str:
    plan = {**release.plan, "model": {**release.plan["model"], **model}}
    with pytest.raises(ArgumentError) as caught:
        regression_interval(release.draws, plan, release.schema, 0.9, "privacy")
    return str(caught.value)


def test_what_cannot_be_read_is_refused(release):
    for level in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match="level"):
            ask(release, level)
    with pytest.raises(ArgumentError, match="include"):
        ask(release, include="sampling")
    assert "softmax" in refused(release, loss={"loss": "softmax", "radius": 1.0, "classes": 5})
    assert "hinge" in refused(release, loss={"loss": "hinge", "radius": 1.0})
    assert "Number" in refused(release, loss={"loss": "huber", "radius": 1.0, "clip": 1.0})
    family = {**release.plan, "model": sf.families.BetaBernoulli(2, 2).to_json()}
    with pytest.raises(ArgumentError, match="another model"):
        regression_interval(release.draws, family, release.schema, 0.9, "privacy")
    cut = dataclasses.replace(release.draws, transcript=release.transcript[:, :-1])
    with pytest.raises(ArgumentError, match="not as long"):
        regression_interval(cut, release.plan, release.schema, 0.9, "privacy")
    steps = int(release.plan["parameters"]["steps"])
    wide = Draws(np.zeros((1, 1, 31)), tuple(map(str, range(31))), np.zeros((1, steps, 31)))
    plan = {**release.plan, "model": {**release.plan["model"], "dimension": 31}}
    with pytest.raises(ArgumentError, match="at most 30"):
        regression_interval(wide, plan, {"document": json.dumps({})}, 0.9, "privacy")
