"""`release.interval` and `release.summary`: what a reader sees, and what is refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.queries.summary import WHY_ONE_DRAW
from sfumato.wording import _model_in_words

F = sf.families
BITS = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")
NUMBERS = sf.Schema({"x": sf.Number(0, 10)}, name="numbers")


def release_of(model, table, schema, n, **options):
    data = sf.Dataset.from_table(table, schema=schema)
    settings = {"epsilon": 1.0, "delta": 1e-6, **options}
    return sf.publish(sf.plan(model, n=n, **settings), data, randomness=sf.seeded(3))


@functools.cache  # a release is frozen: those asked for with the same words are one
def bits(n=500, rate=0.3, **options):
    return release_of(F.BetaBernoulli(1, 1), {"x": np.arange(n) < rate * n}, BITS, n, **options)


def test_an_interval_is_two_ends_around_the_truth_and_wider_at_a_higher_level():
    release = bits()
    low, high = release.interval(0.9)
    assert low < 0.3 < high
    wide = release.interval(0.99)
    assert wide[0] < low < high < wide[1]


def test_what_the_rows_say_is_narrower_than_the_truth():
    release = bits()
    both, rows = release.interval(0.9), release.interval(0.9, include="privacy")
    assert rows[1] - rows[0] < both[1] - both[0]
    assert rows[0] <= (1 + 150) / 502 <= rows[1]


def test_a_readers_own_prior_moves_the_interval():
    release = bits(n=50, mechanism="diffused")
    plain, pulled = release.interval(), release.interval(prior=F.BetaBernoulli(1, 30))
    assert pulled.mean() < plain.mean()
    with pytest.raises(ArgumentError, match="BetaBernoulli"):
        release.interval(prior=F.NormalMean(1.0, 0.0, 1.0))


def test_shares_have_the_shape_of_a_draw():
    schema = sf.Schema({"x": sf.Category(["a", "b", "c"], missing="a")}, name="levels")
    model = F.DirichletCategorical(["a", "b", "c"])
    release = release_of(model, {"x": ["a"] * 60 + ["b"] * 30 + ["c"] * 10}, schema, 100, mechanism="diffused")
    found = release.interval()
    assert found.shape == (2, 3)
    assert (found[0] < found[1]).all()


def test_groups_of_hidden_size_have_intervals():
    schema = sf.Schema(
        {"g": sf.Category(["n", "s"], missing="n"), "x": sf.Boolean(missing=False)}, target="x", name="groups"
    )
    table = {"g": ["n", "s"] * 200, "x": [True, False, False, False] * 100}
    model = sf.grouped(F.BetaBernoulli(1, 1), "g", ["n", "s"])
    for mechanism in ("diffused", "noisy-statistics"):
        found = release_of(model, table, schema, 400, mechanism=mechanism).interval(0.99)
        assert found.shape == (2, 2)
        assert found[0, 0] < 0.5 < found[1, 0]
    means = sf.grouped(F.BoundedMean(0, 1), "g", ["n", "s"])
    rows = sf.Schema({"g": sf.Category(["n", "s"], missing="n"), "y": sf.Number(0, 1)}, name="groups")
    numbers = {"g": table["g"], "y": [0.5] * 400}
    low, high = release_of(means, numbers, rows, 400, goal="estimate").interval(0.99)
    assert (low < 0.5).all()
    assert (high > 0.5).all()


def test_a_bounded_mean_assumes_nothing_of_the_spread():
    schema = sf.Schema({"x": sf.Number(0, 10)}, name="numbers")
    release = release_of(F.BoundedMean(0, 10), {"x": [2.0, 4.0] * 500}, schema, 1000, goal="estimate")
    rows, both = release.interval(include="privacy"), release.interval()
    assert both[0] < rows[0] < 3.0 < rows[1] < both[1]
    noise = release.plan["parameters"]["noise"] * 10 / 1000
    assert rows[1] - rows[0] == pytest.approx(2 * 1.6448536 * noise, rel=1e-6)


def test_what_has_no_interval_says_what_to_use():
    schema = sf.Schema({"x": sf.Number(0, 10)}, name="numbers")
    model = F.Quantile(0.5, range(11))
    release = release_of(model, {"x": list(range(10)) * 10}, schema, 100, mechanism="exponential")
    with pytest.raises(ArgumentError, match=r"plan\.expected"):
        release.interval()
    assert "No interval" in str(release.summary())


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 2])
def test_a_level_must_lie_between_0_and_1(level):
    with pytest.raises(ArgumentError, match="level"):
        bits().interval(level)


def test_an_unknown_include_is_refused():
    with pytest.raises(ArgumentError, match="include"):
        bits().interval(include="sampling")


def test_a_summary_says_why_one_draw_is_enough_and_repeats_the_promise():
    release = bits()
    said = str(release.summary())
    assert WHY_ONE_DRAW in said
    assert release.promise in said
    low, high = release.interval()
    assert f"{low:.5g} to {high:.5g}" in said
    assert "90 % interval" in said


def test_the_printed_release_has_the_estimate_and_its_interval():
    release = bits(mechanism="noisy-statistics")
    low, high = release.interval()
    assert f"estimate theta {float(release.estimate()):.5g} ({low:.5g} to {high:.5g}); 90 % intervals" in str(release)


def test_a_regression_with_its_transcript_has_a_summary_with_intervals():
    rng = np.random.default_rng(8)
    schema = sf.Schema({"x": sf.Number(-1, 1), "y": sf.Boolean(missing=False)}, target="y", name="points")
    x = rng.uniform(-1, 1, 800)
    table = {"x": x, "y": rng.random(800) < 1 / (1 + np.exp(-3 * x))}
    radius = sf.losses.radius_with_intercept(schema.design().radius, 0.5)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(0.05), 2, 0.5)
    kept = release_of(model, table, schema, 800, mechanism="langevin-path", goal="estimate", keep=("transcript",))
    assert kept.summary().intervals.shape == (2, 2)
    assert "intercept" in str(kept.summary())
    bare = release_of(model, table, schema, 800, mechanism="langevin-path", goal="estimate")
    assert bare.summary().intervals is None
    assert 'keep=("transcript",)' in str(bare.summary())
    with pytest.raises(ArgumentError, match="prior is for families"):
        kept.summary(prior=model)


def test_an_estimate_reckons_with_what_the_mechanism_did():
    """Tempered to a tenth, a rate of 0.9 is drawn near 0.7; the estimate is nearer to it, over 40 releases."""
    model, table = F.BetaBernoulli(20, 20), {"x": np.arange(200) < 180}
    data = sf.Dataset.from_table(table, schema=BITS)
    plan = sf.plan(model, n=200, epsilon=0.5, delta=1e-6, mechanism="diffused")
    source = sf.seeded(5)
    releases = [sf.publish(plan, data, randomness=source) for _ in range(40)]
    flat = F.BetaBernoulli(1, 1)
    middles = np.array([release.estimate(prior=flat) for release in releases])
    assert abs(np.median(middles) - 0.9) < abs(np.median([release.mean() for release in releases]) - 0.9) - 0.1
    for release, middle in zip(releases, middles, strict=True):
        low, high = release.interval(0.2, prior=flat)
        assert low < middle < high


def test_a_summary_shows_one_number_for_one_thing():
    release = bits()
    said = str(release.summary()).splitlines()[1:]
    assert said[0].split("  ")[-1].strip() == "90 % interval"
    assert f"{float(release.estimate()):.5g}" in said[1]
    assert f"{float(release.mean()):.5g}" not in said[1]
    mean = release_of(F.BoundedMean(0, 10), {"x": np.arange(500) % 10}, NUMBERS, 500, goal="estimate")
    assert "draws" not in str(mean.summary()).splitlines()[1]
    assert float(mean.estimate()) == pytest.approx(float(mean.mean()), rel=1e-4)


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        ({"loss": "huber", "radius": 1.0, "clip": 1.0, "lower": 0.0, "upper": 9.0}, "linear"),
        ({"loss": "huber", "radius": 1.0, "clip": 1.0}, "huber"),
        ({"loss": "clipped-poisson", "radius": 1.0, "clip": 1.0, "label_bound": 9.0}, "poisson"),
        ({"loss": "smoothed-quantile", "radius": 1.0, "quantile": 0.5, "width": 1.0}, "quantile"),
        ({"loss": "smoothed-hinge", "radius": 1.0, "width": 1.0}, "svm"),
        ({"loss": "softmax", "radius": 1.0, "classes": 3}, "multinomial"),
        ({"loss": "of a later version"}, "of a later version"),
    ],
)
def test_regressions_are_described_by_the_names_of_specs(loss, name):
    prior = {"prior": "gaussian", "precision": 1.0, "mean": None}
    model = {"model": "gibbs", "loss": loss, "prior": prior, "dimension": 6, "power": 1.0, "intercept": 0.0}
    assert _model_in_words(model) == f"{name} regression (6 coefficients)"


def test_a_summary_at_a_wrong_level_is_refused():
    with pytest.raises(ArgumentError, match="level must lie strictly between 0 and 1; got 90"):
        bits().summary(90)
