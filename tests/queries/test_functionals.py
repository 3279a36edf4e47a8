"""Linear functionals of coefficients: the identity gives the coefficients' own intervals, and the law is linear."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from recorded import kinds
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError
from sfumato.procedures import shaped_path, task_of
from sfumato.queries import functionals, shaped_intervals
from sfumato.queries.transcript_posterior import coefficient_draws
from sfumato.shapes import curvature
from sfumato.shapes.residuals import residual_variance
from unit_tables import DELTA, N, study

FOLDER = Path(__file__).parent.parent / "fixtures" / "releases"
SHAPED = ("shaped-path", "shaped-path-with-scores", "shaped-path-in-a-ball")
PLAIN = ("path-with-transcript", "path-in-a-ball")
INCLUDED = ("privacy and sampling", "privacy", "robust")


def load(name: str) -> tuple[sf.Release, tuple, int]:
    """A release of the fixtures, its documents and the number of its coefficients."""
    release = sf.load(FOLDER / f"{name}.release")
    return release, (release.draws, release.plan, release.schema), len(release.draws.labels)


def contrasts(d: int, rows: int = 6) -> np.ndarray:
    return np.random.default_rng(4).normal(size=(rows, d))


# --- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("include", INCLUDED)
@pytest.mark.parametrize("name", SHAPED + PLAIN)
def test_the_identity_gives_the_intervals_and_estimates_of_the_coefficients(name, include):
    release, documents, d = load(name)
    if include == "robust" and name != "shaped-path-with-scores":
        with pytest.raises(ArgumentError, match="robust intervals"):
            functionals.ends(*documents, np.eye(d), 0.9, include)
        return
    for level in (0.5, 0.9):
        assert np.array_equal(
            functionals.ends(*documents, np.eye(d), level, include), release.interval(level, include, scaled=True)
        )
    assert np.array_equal(functionals.estimate(*documents, np.eye(d)), release.estimate(scaled=True))


# Every kind of regression with intervals (`recorded.kinds`), and releases in files: in a ball, of a plain path.
REGRESSIONS = (
    "logistic", "logistic with scores", "logistic of terms", "linear", "linear of dates", "poisson", "quantile regression",
    "svm", "probit", "cloglog", "logistic weighted", "visits logistic", *SHAPED, *PLAIN,
)  # fmt: skip


@pytest.mark.parametrize("name", REGRESSIONS)
def test_the_estimate_is_the_limit_of_ever_narrower_intervals(name):
    """In own units and as released, and of what is printed beside intervals; laws that are symmetric have symmetric intervals."""
    release = kinds.release(name) if name in kinds.KINDS else load(name)[0]
    documents, cut = (release.draws, release.plan, release.schema), name in ("shaped-path-in-a-ball", *PLAIN)
    robust = "scores" in release.plan.get("keep", ())
    for include, scaled in itertools.product(INCLUDED if robust else INCLUDED[:2], (False, True)):
        middle, narrow = release.estimate(include, scaled=scaled), release.interval(1e-6, include, scaled=scaled)
        # The limit itself is off by as much as the narrow interval is wide where an end is cut at the edge of a ball.
        assert np.allclose(middle, narrow.mean(axis=0), rtol=1e-9, atol=np.ptp(narrow, axis=0).max() if cut else 1e-12)
        for level in (0.1, 0.5, 0.9):
            lower, upper = release.interval(level, include, scaled=scaled)
            assert (lower <= middle).all()
            assert (middle <= upper).all()
            assert cut or np.allclose((lower + upper) / 2, middle, rtol=1e-9, atol=1e-9 * (upper - lower).max())
        table = release.coefficients(include=include)
        assert scaled or np.array_equal(table.estimates, middle)
        assert scaled or np.array_equal(table.intervals, release.interval(0.9, include))
        rows, d = contrasts(len(release.draws.labels)), len(release.draws.labels)
        if name not in PLAIN:  # the estimate is linear: that of a sum is the sum of the estimates
            assert np.allclose(
                functionals.estimate(*documents, rows, include),
                rows @ functionals.estimate(*documents, np.eye(d), include),
            )


def test_every_kind_of_regression_is_among_them():
    from sfumato.models.building import kinds as names

    made = {kinds.release(name).plan["model"]["loss"]["loss"] for name in REGRESSIONS if name in kinds.KINDS}
    assert len(made) == len(set(names()) - {"multinomial"})


def test_the_ends_of_a_shaped_path_are_those_of_its_normal_law():
    """Computed here entry by entry from the posterior; without the covariances the same check fails."""
    _, documents, d = load("shaped-path-with-scores")
    rows = contrasts(d)
    for include, name in zip(INCLUDED, ("model", "none", "robust"), strict=True):
        law, start = shaped_intervals.read(task_of(documents[1])[1], documents[0], name)
        middle = [sum(a[i] * (start + law.mean)[i] for i in range(d)) for a in rows]
        pairs = list(itertools.product(range(d), repeat=2))
        spread = [sum(a[i] * a[j] * law.covariance[i, j] for i, j in pairs) ** 0.5 for a in rows]
        alone = [sum(a[i] ** 2 * law.covariance[i, i] for i in range(d)) ** 0.5 for a in rows]
        wanted = stats.norm.ppf([[0.1], [0.9]], middle, spread)
        assert np.allclose(functionals.ends(*documents, rows, 0.8, include), wanted, rtol=1e-10, atol=1e-12)
        assert np.allclose(functionals.deviations(*documents, rows, include), spread, rtol=1e-10)
        assert not np.allclose(functionals.deviations(*documents, rows, include), alone, rtol=1e-3)


@pytest.mark.parametrize("name", ["path-with-transcript", "path-in-a-ball"])
def test_the_ends_of_a_transcript_are_quantiles_of_the_functional_over_its_draws(name):
    _, documents, d = load(name)
    rows, (optimum, truth) = contrasts(d), coefficient_draws(*documents)
    for include, drawn in (("privacy and sampling", truth), ("privacy", optimum)):
        values = drawn @ rows.T
        wanted = np.quantile(values, [0.05, 0.95], axis=0)
        assert np.allclose(functionals.ends(*documents, rows, 0.9, include), wanted, rtol=1e-12)
        assert np.allclose(functionals.deviations(*documents, rows, include), values.std(axis=0, ddof=1), rtol=1e-12)
        likely = functionals.likely_values(*documents, rows, 50, include)
        assert np.allclose(likely, np.quantile(values, (np.arange(50) + 0.5) / 50, axis=0).T, rtol=1e-12)
        assert np.array_equal(functionals.sample(*documents, include, 400), drawn)
        assert np.array_equal(functionals.sample(*documents, include, 800)[::2], drawn)
    below, above = np.quantile(truth @ rows.T, [0.494, 0.506], axis=0)
    middle = functionals.estimate(*documents, rows)
    assert ((below < middle) & (middle < above)).all()


@pytest.mark.parametrize("name", SHAPED + PLAIN)
def test_a_multiple_of_a_functional_has_the_multiple_of_its_interval(name):
    _, documents, d = load(name)
    rows = contrasts(d)
    lower, upper = functionals.ends(*documents, rows)
    assert np.allclose(functionals.ends(*documents, 2 * rows), [2 * lower, 2 * upper], rtol=1e-12)
    assert np.allclose(functionals.ends(*documents, -rows), [-upper, -lower], rtol=1e-12)
    assert np.allclose(functionals.estimate(*documents, -3 * rows), -3 * functionals.estimate(*documents, rows))
    assert (upper > lower).all()


def test_an_interval_is_cut_at_the_range_of_the_functional_over_a_ball():
    """The range is that of points drawn on the sphere; the sum of the coordinates' own ranges is wider."""
    release, documents, d = load("shaped-path-in-a-ball")
    prior = task_of(release.plan)[1].model.prior
    points = np.random.default_rng(1).normal(size=(200_000, d))
    centre = np.zeros(d) if prior.centre is None else np.array(prior.centre)
    sphere = centre + prior.radius * points / np.linalg.norm(points, axis=1, keepdims=True)
    rows = np.vstack([np.ones(d), contrasts(d)])
    lower, upper = functionals.ends(*documents, rows, 1 - 1e-12)
    values = sphere @ rows.T
    assert np.allclose([lower, upper], [values.min(axis=0), values.max(axis=0)], rtol=0.02)
    assert upper[0] - lower[0] < 0.95 * 2 * prior.radius * d


def test_an_interval_is_cut_at_the_range_of_the_functional_over_a_box():
    rng, low, high = np.random.default_rng(2), np.array([-0.1, -0.3, 0.0]), np.array([0.5, 0.1, 0.2])
    prior = sf.priors.Box(sf.priors.Gaussian(0.5), low, high)
    schema = sf.Schema.vector(3, data_norm=1.0, target=sf.Boolean(missing=False), name="box")
    plan = sf.plan(
        sf.Gibbs(sf.losses.Logistic(1.0), prior, 3), 500, 1.0, 1e-6, goal="estimate", mechanism="shaped-path"
    )
    X = rng.normal(size=(500, 3)) / 2
    data = sf.Dataset.from_arrays(X, rng.random(500) < 0.5, schema=schema)
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    documents, rows = (release.draws, release.plan, release.schema), contrasts(3)
    corners = np.array(list(itertools.product(*zip(low, high, strict=True)))) @ rows.T
    wanted = [corners.min(axis=0), corners.max(axis=0)]
    assert np.allclose(functionals.ends(*documents, rows, 1 - 1e-12), wanted)
    drawn = functionals.sample(*documents)
    assert ((drawn >= low) & (drawn <= high)).all()


@pytest.mark.parametrize("name", ["path", "chain", "kinks-on-a-line", "shaped-chain", "lattice-on-a-line"])
def test_what_has_no_intervals_is_refused_in_the_same_words(name):
    release, documents, d = load(name)
    with pytest.raises(ArgumentError) as reason:
        release.interval()
    for ask in (functionals.ends, functionals.deviations):
        with pytest.raises(ArgumentError) as given:
            ask(*documents, np.eye(d))
        assert str(given.value) == str(reason.value)
    with pytest.raises(ArgumentError) as given:
        functionals.sample(*documents)
    assert str(given.value) == str(reason.value)
    rows = contrasts(d)
    assert np.allclose(functionals.estimate(*documents, rows), rows @ release.mean().ravel())


def test_other_models_and_matrices_of_another_shape_are_refused():
    with pytest.raises(ArgumentError, match="linear functionals are of a regression's coefficients"):
        functionals.ends(*load("mean")[1], np.eye(1))
    documents, d = load("shaped-path")[1:]
    for matrix in (np.eye(d + 1), np.ones(d), np.full((1, d), np.nan)):
        with pytest.raises(ArgumentError, match="matrix must"):
            functionals.ends(*documents, matrix)
    with pytest.raises(ArgumentError, match="include must"):
        functionals.ends(*documents, np.eye(d), 0.9, "noise")


def test_one_posterior_serves_many_questions(monkeypatch):
    read, count = shaped_intervals.read, []
    monkeypatch.setattr(shaped_intervals, "read", lambda *given: (count.append(1), read(*given))[1])
    _, documents, d = load("shaped-path")
    for seed in range(5):
        functionals.ends(*documents, np.random.default_rng(seed).normal(size=(3, d)))
    assert len(count) == 1


# --- draws and priors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("include", INCLUDED)
def test_sampled_coefficients_have_the_moments_of_the_law(include):
    """Four standard errors of a mean and of a deviation over independent draws."""
    _, documents, d = load("shaped-path-with-scores")
    rows, size = contrasts(d), 20_000
    mean, deviation = functionals.moments(*documents, rows, include)
    values = functionals.sample(*documents, include, size) @ rows.T
    assert (np.abs(values.mean(axis=0) - mean) < 4 * deviation / size**0.5).all()
    assert (np.abs(values.std(axis=0) / deviation - 1) < 4 / (2 * size) ** 0.5).all()
    assert np.array_equal(values, functionals.sample(*documents, include, size) @ rows.T)


def test_sampled_coefficients_lie_in_the_ball():
    release, documents, _ = load("shaped-path-in-a-ball")
    prior = task_of(release.plan)[1].model.prior
    centre = 0.0 if prior.centre is None else np.array(prior.centre)
    lengths = np.linalg.norm(functionals.sample(*documents) - centre, axis=1)
    assert lengths.max() <= prior.radius * (1 + 1e-12)
    assert lengths.std() > 0


@pytest.mark.parametrize(
    "precision",
    [0.25, [0.5, 2.0, 1.0], [[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]]],
    ids=["number", "diagonal", "matrix"],
)
def test_prior_deviations_are_those_of_the_inverse_precision(precision):
    rows, full = contrasts(3), np.asarray(precision)
    full = full if full.ndim == 2 else np.diag(np.broadcast_to(full, 3))
    wanted = np.sqrt(np.diag(rows @ np.linalg.inv(full) @ rows.T))
    prior = sf.priors.Gaussian(precision)
    for each in (prior, sf.priors.Ball(prior, 2.0), sf.priors.Box(prior, [-1.0] * 3, [1.0] * 3)):
        plan = {"model": sf.Gibbs(sf.losses.Logistic(1.0), each, 3).to_json()}
        assert np.allclose(functionals.prior_deviations(plan, rows), wanted)
    flat = sf.priors.Ball(sf.priors.Flat(), 2.0)
    assert functionals.prior_deviations({"model": sf.Gibbs(sf.losses.Logistic(1.0), flat, 3).to_json()}, rows) is None


# --- residuals -------------------------------------------------------------------------------------------------------


def standard_error(clip: float, deviation: float) -> float:
    """Of the variance of normal residuals, relative, from the mean of n squares clipped at `clip`."""

    def square(s: float) -> np.ndarray:
        return np.clip(s * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000), -clip, clip) ** 2

    slope = (square(1.01 * deviation).mean() - square(0.99 * deviation).mean()) / (1.01**2 - 0.99**2)
    return float(square(deviation).std() / N**0.5 / slope)


@pytest.mark.parametrize("noise", [0.7, 1.5])
@pytest.mark.parametrize("x", [100.0, 1000.0, 20_000.0])
def test_the_residual_variance_is_that_of_the_rows(x, noise):
    """Four standard errors, and 1 % for the law of the rows' lengths, whatever x the map and the clip are for.

    With the narrow map of a small x most rows count for less: the quotient of the published traces is far below the variance.
    """
    made = study("linear", noise=noise)
    residuals = made.labels - made.fit()(made.rows)
    plan = sf.plan(made.model, made.n, made.epsilon, DELTA, goal="estimate")
    task = replace(plan.task, parameters=replace(plan.task.parameters, resolution=x))
    data = sf.Dataset.from_table({**made.rows, "target": made.labels}, schema=made.schema)
    draws = shaped_path.carry_out(task, open_engine(data, made.model, shaped_path.NEEDS), sf.seeded(5))
    published, learnt = shaped_intervals.published_of(task, draws)
    clip, rule = learnt.loss.largest_slope(), learnt.shape.rule
    variance = residual_variance(published, clip, rule.bend)
    margin = 4 * standard_error(clip, noise) + 0.01
    assert margin < 0.08
    assert abs(variance / residuals.var() - 1) < margin
    quotient = published.score_scale / curvature.estimate(published).values.sum()
    assert rule.radius > 0.5 or quotient / residuals.var() < 0.5


def test_the_residual_variance_of_a_release_follows_from_its_own_clip_and_map():
    made = study("linear", noise=0.7)
    published, learnt = shaped_intervals.published_of(task_of(made.documents[1])[1], made.documents[0])
    own = residual_variance(published, learnt.loss.largest_slope(), learnt.shape.rule.bend)
    assert functionals.residual_variance(*made.documents[:2]) == own
    assert own == pytest.approx((made.labels - made.fit()(made.rows)).var(), rel=0.08)


def test_other_regressions_have_no_residual_variance():
    assert functionals.residual_variance(*study("logistic").documents[:2]) is None
    assert functionals.residual_variance(*load("path-with-transcript")[1][:2]) is None


# --- a file that was edited ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["moments", "shares", "curvature", "scores", "transcript"])
def test_a_release_that_lacks_a_published_number_has_no_intervals(missing):
    """Without the shares of residuals the clip, and with it every unit of the path, would be another."""
    draws, plan, _ = study("linear").documents
    kept = {name: values for name, values in draws.published.items() if name != missing}
    edited = replace(draws, published=kept, **({"transcript": None} if missing == "transcript" else {}))
    with pytest.raises(ArgumentError, match=r"lacks numbers that its plan publishes: .* release\.verify"):
        shaped_intervals.ends(edited, plan, 0.9, "model")
