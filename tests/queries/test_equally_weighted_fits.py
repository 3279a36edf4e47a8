"""Survey weights that are all equal, of any size, give what no weights give: every kind of regression."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, ndtr

import sfumato as sf
from effort import sized
from sfumato.engines.opening import open_engine
from sfumato.procedures import shape_first, shaped_path, task_of
from sfumato.queries import functionals, shaped_intervals
from sfumato.shapes import symmetric
from sfumato.shapes.clip_level import SHARE
from sfumato.shapes.schedule import map_rule
from sfumato.shapes.whitening import largest_norm

N, EPSILONS = 8_000, sized([8.0], [0.5, 1.0, 8.0])
TARGETS = {
    "logistic": sf.Boolean(missing=False),
    "linear": sf.Number(-8, 20),  # the mean label lies off the middle
    "poisson": sf.Number(0, 20),
    "probit": sf.Boolean(missing=False),
    "cloglog": sf.Boolean(missing=False),
    "quantile": sf.Number(-8, 12),
    "svm": sf.Boolean(missing=False),
    "multinomial": sf.Category(["a", "b", "c"], missing="a"),
}
# Their readers divide by the mean weight, which is released with noise.
DIVIDED = ("linear", "poisson")


@cache
def rows() -> dict:
    rng = np.random.default_rng(1)
    x, z = rng.uniform(-1, 1, N), rng.random(N) < 0.4
    score, chance = 0.3 + x - 0.5 * z, rng.random(N)
    labels = {
        "logistic": chance < expit(score),
        "linear": np.clip(score + 1 + rng.exponential(size=N), -8, 20),
        "poisson": np.minimum(rng.poisson(np.exp(score)), 20),
        "probit": chance < ndtr(score),
        "cloglog": chance < 1 - np.exp(-np.exp(score)),
        "quantile": np.clip(score + 0.7 * rng.normal(size=N), -8, 12),
        "svm": chance < expit(2 * score),
        "multinomial": np.where(chance < expit(score), "a", np.where(z, "b", "c")),
    }
    return {"x": x, "z": z, **labels}


@cache
def fitted(kind: str, epsilon: float, size: float | None, upper: float = 1.0) -> sf.Release:
    """The release of this kind where every row has the weight `size`; None: without weights."""
    weight = None if size is None else sf.Weight("w", upper, fixed=True)
    columns = {"x": sf.Number(-1, 1), "z": sf.Boolean(missing=False), kind: TARGETS[kind]}
    schema = sf.Schema(columns, target=kind, weight=weight)
    model = sf.regression(kind, schema, **({"quantile": 0.5} if kind == "quantile" else {}))
    kept = {} if kind == "multinomial" else {"keep": ("scores",)}
    plan = sf.plan(model, N, epsilon, 1e-6, goal="estimate", weight=weight, **kept)
    table = {name: rows()[name] for name in columns} | ({} if size is None else {"w": np.full(N, size)})
    return sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(3))


def doubt(*releases: sf.Release) -> np.ndarray:
    """Deviation of the privacy noise in the difference of independent estimates."""
    return np.hypot(*(np.asarray(each.coefficients(include="privacy").deviations) for each in releases))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [1.0, 1000.0, 0.003])
@pytest.mark.parametrize("kind", TARGETS)
def test_weights_at_their_bound_give_the_same_release(kind, size, epsilon):
    plain, weighted = fitted(kind, epsilon, None), fitted(kind, epsilon, size, size)
    if kind in DIVIDED:
        assert (np.abs(weighted.estimate() - plain.estimate()) < 0.5 * doubt(plain, plain)).all()
        return
    for include in ("privacy",) if kind == "multinomial" else ("privacy", "robust"):
        assert weighted.estimate(include) == pytest.approx(plain.estimate(include), rel=1e-6, abs=1e-9)
        if kind == "multinomial":
            return
        assert np.stack(weighted.interval(include=include)) == pytest.approx(
            np.stack(plain.interval(include=include)), rel=1e-6, abs=1e-9
        )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", [kind for kind in TARGETS if kind != "multinomial"])
def test_weights_of_half_their_bound_give_the_same_fit_within_its_noise(kind, epsilon):
    """Half the weight at the same noise is twice the noise; the rows, and so the fit that is estimated, are the same."""
    plain, halved = fitted(kind, epsilon, None), fitted(kind, epsilon, 5.0, 10.0)
    assert (np.abs(halved.estimate() - plain.estimate()) < 4 * doubt(plain, halved)).all()


def test_the_deviation_of_residuals_does_not_fall_with_the_mean_weight():
    """Moments of rows that count as a half are a half: without dividing by it the deviation is .78 of that without weights."""
    deviations = []
    for size, upper in ((None, 1.0), (5.0, 10.0)):
        release = fitted("linear", 8.0, size, upper)
        deviations.append(
            float(shaped_path.learnt_from(task_of(release.plan)[1], release.draws.published).deviation or 0.0)
        )
    assert deviations[1] == pytest.approx(deviations[0], rel=0.15)


@pytest.mark.parametrize(("kind", "epsilon"), [("logistic", 8.0), ("linear", 8.0), ("poisson", 8.0), ("svm", 8.0)])
def test_rows_of_half_their_bound_are_cut_as_those_of_half_as_many_records(kind, epsilon):
    """Mapped rows have a mean square length of 1/c^2 with the c of half the n mu, and no map exceeds the bound of its price."""
    release = fitted(kind, epsilon, 5.0, 10.0)
    task = task_of(release.plan)[1]
    shape, numbers, model = shaped_path.learnt_from(task, release.draws.published).shape, task.parameters, task.model
    names = ("x", "z", kind)
    schema = sf.Schema({"x": sf.Number(-1, 1), "z": sf.Boolean(missing=False), kind: TARGETS[kind]}, target=kind)
    engine = open_engine(
        sf.Dataset.from_table({name: rows()[name] for name in names}, schema=schema), model, ("shapes",)
    )
    coded = np.vstack([piece.rows for part in engine.parts() for piece in part])
    mapped = np.column_stack([coded, np.full(N, model.intercept)]) @ shape.matrix
    mean = (mapped**2).sum(axis=1).mean()
    assert mean * map_rule(numbers.resolution / 2).radius ** 2 == pytest.approx(1, abs=0.05)
    assert abs(mean * map_rule(numbers.resolution).radius ** 2 - 1) > 0.2
    assert np.linalg.norm(shape.matrix, 2) <= largest_norm(numbers.moments_noise, 3, numbers.rule)
    if kind in DIVIDED:  # what clipping takes from a mean gradient has the weights too
        facts, learnt = shaped_intervals.published_of(task, release.draws)
        assert facts.moved == pytest.approx(SHARE * learnt.excess * 0.5 * np.sqrt((mapped**2).mean()), rel=0.1)


def test_no_mean_weight_makes_the_map_longer_than_its_price_allows():
    """The c of the map is at least that of the plan, from which the bound on |B| follows."""
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2, 0.6)
    for x in np.geomspace(1, 1e7, 100):
        for share in (0.01, 0.3, 0.9):
            rule, moments = map_rule(x), symmetric.packed(share * np.diag([0.3, 0.36]))
            shape = shape_first.learnt(model, moments, 1e-5, rule, None, x, weighted=True).shape
            assert shape.rule.radius >= rule.radius
            assert np.linalg.norm(shape.matrix, 2) <= largest_norm(1e-5, 2, rule)


@pytest.mark.planted
def test_a_reader_who_takes_the_mean_weight_for_1_misses_the_intercept():
    plain, halved = fitted("linear", 8.0, None), fitted("linear", 8.0, 5.0, 10.0)
    forgotten = {name: fact for name, fact in halved.plan.items() if name != "weight"}
    wrong = (
        functionals.estimate(halved.draws, forgotten, halved.schema, halved.view().functionals) + halved.view().shift
    )
    away = np.abs(wrong - plain.estimate()) / doubt(plain, halved)
    assert away[halved.labels.index("intercept")] > 20
