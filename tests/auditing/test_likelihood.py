"""The likelihood ratio of a release against normal densities written by hand, and as a test of its two data sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import sfumato as sf
from sfumato.auditing.replay_likelihood import centres, log_likelihood_ratio, released_parts
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.protocol import Request
from sfumato.mechanisms.shaped_path import at_factor
from sfumato.procedures import noisy_totals, path, shaped_path
from sfumato.procedures.protocol import Task
from sfumato.shapes import symmetric

N = 12
LABELLED = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0))
LOGISTIC = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(5.0), 2)
GROUPS = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Boolean(missing=False)})
GROUPED = sf.grouped(sf.families.BetaBernoulli(12, 8), "g", ["a", "b"])


def regressions(needs, replaced=(0.0, 1.0)) -> tuple:
    """Engines of two data sets whose first records are (0, -1) and another one, by default the opposite."""
    rng = np.random.default_rng(3)
    rows, labels = rng.uniform(-0.5, 0.5, (N, 2)), np.arange(N) % 2
    other = np.vstack([replaced, rows[1:]])
    rows[0] = [0.0, -1.0]
    return tuple(
        open_engine(sf.Dataset.from_arrays(each, labels, schema=LABELLED), LOGISTIC, needs) for each in (rows, other)
    )


def tables() -> tuple:
    engines = []
    for first in (True, False):
        table = {"g": ["a"] * 6 + ["b"] * 6, "x": [first] + [True, False] * 5 + [True]}
        engines.append(open_engine(sf.Dataset.from_table(table, schema=GROUPS), GROUPED, noisy_totals.NEEDS))
    return tuple(engines)


def density(published, centre, noise) -> float:
    return float(norm.logpdf(published, centre, noise).sum())


def test_a_path_of_one_step_has_the_density_of_one_noisy_gradient():
    task = Task(LOGISTIC, N, 2, path.Parameters.of(N, 0.3, 0.5, 0.0, 1, 1), ("transcript",))
    engines = regressions(path.NEEDS)
    draws = path.carry_out(task, engines[0], sf.seeded(1))
    low, high = (
        density(draws.transcript[:, 0], engine.gradient(np.zeros((2, 2))) / N, task.parameters.noise)
        for engine in engines
    )
    assert log_likelihood_ratio(task, path, engines, draws) == pytest.approx(high - low, abs=1e-9)


def test_noisy_totals_have_the_density_of_their_noise():
    task = Task(GROUPED, N, 1, noisy_totals.Parameters(0.7), ())
    engines = tables()
    draws = noisy_totals.carry_out(task, engines[0], sf.seeded(2))
    low, high = (
        density(draws.totals, np.array(engine.totals(GROUPED.tally)), 0.7 * GROUPED.sensitivity) for engine in engines
    )
    assert abs(high - low) > 0.1
    assert log_likelihood_ratio(task, noisy_totals, engines, draws) == pytest.approx(high - low, abs=1e-9)


def test_a_bounded_mean_has_the_density_of_its_noisy_total():
    """In units of the mean: the noise is that of the total, times the range over n."""
    schema, model = sf.Schema({"x": sf.Number(-1, 5)}), sf.families.BoundedMean(-1, 5)
    task = Task(model, N, 2, noisy_totals.Parameters(0.7), ())
    tables = [np.array([end, *np.linspace(-1, 5, N - 1)]) for end in (-1.0, 5.0)]
    engines = tuple(
        open_engine(sf.Dataset.from_table({"x": each}, schema=schema), model, noisy_totals.NEEDS) for each in tables
    )
    draws = noisy_totals.carry_out(task, engines[0], sf.seeded(5))
    low, high = (density(draws.values[0, 0], each.mean(), 0.7 * 6 / N) for each in tables)
    assert log_likelihood_ratio(task, noisy_totals, engines, draws) == pytest.approx(high - low, abs=1e-9)


def test_every_part_of_a_shaped_path_enters():
    """A path of one step: moments, gradient, curvature and scale of the scores, each with its density by hand."""
    task = Task(LOGISTIC, N, 1, at_factor(Request(LOGISTIC, N, steps=1), 0.3, 30.0))
    numbers, engines = task.parameters, regressions(shaped_path.NEEDS, (1.0, 0.0))
    draws = shaped_path.carry_out(task, engines[0], sf.seeded(3))
    learnt = shaped_path.learnt_from(task, draws.published)
    matrix, slope = learnt.shape.matrix, learnt.loss.largest_slope()
    sums = []
    for engine in engines:
        weighed = engine.weighed(matrix, 3.0)
        bent, _, scale = weighed.second_sums(np.zeros(2), False)
        told = {
            (numbers.moments_noise, "moments"): symmetric.packed(engine.moments(1.0) / N),
            (numbers.curvature_noise, "curvature"): symmetric.packed(bent / N),
            (numbers.score_noise, "scores"): scale / slope**2 / N,
        }
        gradient = weighed.gradient(np.zeros((1, 2))) @ matrix / (N * slope)
        parts = [density(draws.published[name], centre, noise) for (noise, name), centre in told.items()]
        sums.append([*parts, density(draws.transcript[:, 0], gradient, numbers.noise)])
    differences = np.subtract(sums[1], sums[0])
    assert (np.abs(differences) > 1e-3).all()
    ratio = log_likelihood_ratio(task, shaped_path, engines, draws)
    assert ratio == pytest.approx(differences.sum(), abs=1e-7)
    assert log_likelihood_ratio(task, shaped_path, engines[::-1], draws) == pytest.approx(-ratio, abs=1e-9)


def test_the_shares_of_a_linear_regression_enter_beside_the_moments():
    """The log ratio of the first two parts by hand, and of the rest by a release without them."""
    model = sf.Gibbs(sf.losses.Huber(1.0, 2.0, -4, 6), sf.priors.Gaussian(1.0), 2)
    task = Task(model, N, 1, at_factor(Request(model, N, steps=1), 0.3, 30.0))
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Number(-4, 6))
    rows, labels = np.tile([0.5, -0.5], (N, 1)), np.linspace(-4, 6, N)
    engines = tuple(
        open_engine(sf.Dataset.from_arrays(rows, np.append(end, labels[1:]), schema=schema), model, shaped_path.NEEDS)
        for end in (-4.0, 6.0)
    )
    draws = shaped_path.carry_out(task, engines[0], sf.seeded(3))
    history = released_parts(task, shaped_path, draws)
    assert [part.size for part in history] == [6, 10, 2, 3, 1]
    around = shaped_path.learnt_from(task, {"moments": draws.published["moments"]})
    noise = task.parameters.shares_noise
    low, high = (density(history[1], around.shares(engine), noise) for engine in engines)
    assert abs(high - low) > 1e-3
    parts = [centres(task, shaped_path, engine, history) for engine in engines]
    seen = [density(told, part.values, part.noise) for each in parts for told, part in zip(history, each, strict=True)]
    ratio = log_likelihood_ratio(task, shaped_path, engines, draws)
    assert ratio == pytest.approx(sum(seen[5:]) - sum(seen[:5]), abs=1e-7)
    assert seen[6] - seen[1] == pytest.approx(high - low, abs=1e-9)


def test_the_ratio_has_mean_one_on_the_first_data_set_and_tells_the_two_apart():
    """400 releases each: E exp(ratio) = 1 under the first, and accusing above 0 errs as often as Phi(-mu/2) says.

    The gradients of opposite records differ by at most 2/n, the claim; the mean of 400 ratios of deviation s has error s/20.
    """
    task = Task(LOGISTIC, N, 1, path.Parameters.of(N, 0.3, 0.5, 0.0, 3, 1), ("transcript",))
    engines = regressions(path.NEEDS)
    ratios = [
        np.array(
            [
                log_likelihood_ratio(task, path, engines, path.carry_out(task, engine, sf.seeded(1000 * place + k)))
                for k in range(400)
            ]
        )
        for place, engine in enumerate(engines)
    ]
    weights = np.exp(ratios[0])
    assert abs(weights.mean() - 1) < 4 * weights.std() / 20
    mu = math.sqrt(2 * (ratios[1].mean() - ratios[0].mean()) / 2)
    assert 0.3 < mu <= path.price(LOGISTIC, N, 1, task.parameters).curve.mu + 4 * 2 / 20
    errors = (ratios[0] > 0).mean() + (ratios[1] <= 0).mean()
    assert abs(errors / 2 - norm.cdf(-mu / 2)) < 4 * math.sqrt(0.25 / 800)


def test_a_release_that_holds_back_its_noisy_numbers_is_refused():
    task = Task(LOGISTIC, N, 1, path.Parameters.of(N, 0.3, 0.5, 0.0, 2, 1))
    engines = regressions(path.NEEDS)
    with pytest.raises(sf.errors.ArgumentError, match="transcript"):
        log_likelihood_ratio(task, path, engines, path.carry_out(task, engines[0], sf.seeded(4)))
