"""What a release says of its clip, and why its intervals may cover less: shares, shifts and the sentences about them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.procedures import shaped_path, task_of
from sfumato.queries import regression_cautions, shaped_intervals
from sfumato.queries.regression_cautions import cautions, clipped_of
from sfumato.shapes.clip_level import EDGES, clipped_share

N = 20_000
LAWS = {"normal": lambda rng: rng.normal(size=N), "skewed": lambda rng: rng.lognormal(sigma=1.0, size=N) - np.exp(0.5)}


def released(law: str, epsilon: float, n: int = N) -> tuple[sf.Release, np.ndarray]:
    """A linear regression of 2 columns with these errors, and its labels less the true score."""
    rng = np.random.default_rng(7)
    x, error = rng.uniform(0, 1, n), LAWS[law](rng)[:n]
    bounds = (-20, 60) if law == "skewed" else (-6, 9)
    schema = sf.Schema({"x": sf.Number(0, 1), "pay": sf.Number(*bounds)}, target="pay")
    plan = sf.plan(sf.regression("linear", schema), n, epsilon, 1e-6, goal="estimate")
    table = {"x": x, "pay": np.clip(3 * x + error, *bounds)}
    return sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(2)), table["pay"] - 3 * x


@pytest.mark.planted
@pytest.mark.parametrize(
    "law",
    [stats.norm, stats.t(3, scale=0.6), stats.expon(-1), stats.laplace(scale=0.7)],
    ids=("normal", "Student", "exponential", "Laplace"),
)
def test_the_clipped_share_is_that_of_the_law(law):
    """From exact shares, at levels between the edges: to a third of it, or .002; a half of what is found is not right."""
    shares = np.diff(np.concatenate([[0.0], law.cdf(EDGES), [1.0]]))
    for level in (1.5, 3.0, 5.0, 12.0):
        found, doubt = clipped_share(shares, 1e-6, level)
        true = law.cdf(-level) + law.sf(level)
        assert found == pytest.approx(true, rel=0.35, abs=2e-3)
        assert 0.5 * found != pytest.approx(true, rel=0.35, abs=2e-3) or true < 4e-3
        assert doubt < 1e-5


def test_half_of_normal_residuals_beyond_a_level_are_below_it():
    shares = np.diff(np.concatenate([[0.0], stats.norm.cdf(EDGES), [1.0]]))
    assert clipped_share(shares, 1e-6, 2.0)[0] == pytest.approx(2 * stats.norm.sf(2.0))
    assert clipped_share(np.where(np.arange(10) < 5, 0.0, 2 * shares), 1e-6, 2.0)[0] == pytest.approx(
        2 * stats.norm.sf(2.0)
    )


def test_shares_of_weighted_rows_are_divided_by_their_sum():
    shares = np.diff(np.concatenate([[0.0], stats.norm.cdf(EDGES), [1.0]]))
    whole, tenth = clipped_share(shares, 1e-4, 1.5), clipped_share(0.1 * shares, 1e-5, 1.5)
    assert tenth == pytest.approx(whole)


@pytest.mark.parametrize(("law", "epsilon"), [("normal", 1.0), ("skewed", 1.0), ("skewed", 8.0)])
def test_a_summary_says_what_share_was_clipped_and_how_far_a_mean_may_be_off(law, epsilon):
    release, residuals = released(law, epsilon)
    summary = release.summary()
    clipped = summary.clipped
    learnt = shaped_path.learnt_from(task_of(release.plan)[1], release.draws.published)
    assert clipped.level == pytest.approx(learnt.loss.clip)
    assert clipped.mean == pytest.approx(learnt.excess)
    true = (np.abs(residuals - residuals.mean()) > clipped.level).mean()
    assert abs(clipped.share - true) < 0.02 + clipped.share_doubt
    assert sum("of the residuals were clipped" in note for note in summary.notes) == 1
    assert clipped.sentence("pay") in str(summary)
    assert set(clipped.to_json()) == {"level", "share", "share_doubt", "mean"}


def test_a_share_that_noise_hides_is_said_to_be_hidden():
    few = regression_cautions.Clipped(10.0, 0.001, 0.004, 0.02)
    assert few.sentence("pay").startswith("At most 0.5 % of the residuals were clipped, those beyond 10:")
    assert "off by about 0.02 " in few.sentence("pay")


def test_numbers_are_in_the_units_of_a_target_that_an_estimator_scaled():
    """The same rows in cents: labels times 100, and every number of the sentence with them."""
    rng = np.random.default_rng(3)
    rows, error = rng.uniform(size=(4_000, 2)), rng.normal(size=4_000)
    found = []
    for factor in (1.0, 100.0):
        fit = sf.PrivateLinearRegression(
            epsilon=1.0,
            delta=1e-6,
            bounds=(0.0, 1.0),
            bounds_y=(-10 * factor, 10 * factor),
            random_state=4,
            ledger=None,
        ).fit(rows, factor * (rows[:, 0] + error))
        found.append(fit.release_.summary().clipped)
    assert found[1].level == pytest.approx(100 * found[0].level, rel=1e-3)
    assert found[1].mean == pytest.approx(100 * found[0].mean, rel=1e-2, abs=1e-9)
    assert 0.5 < found[0].level < 10


@pytest.mark.parametrize(
    ("law", "epsilon", "n", "reason"),
    [
        ("skewed", 0.3, N, "Residuals of pay look skewed"),
        ("normal", 0.3, N, "20,000 records are few for 2 coefficients at this price"),
        ("normal", 1.0, N, ""),
        ("skewed", 8.0, N, ""),
    ],
)
def test_a_release_that_is_likely_to_cover_less_names_the_reason(law, epsilon, n, reason):
    release, _ = released(law, epsilon, n)
    said = cautions(release.draws, release.plan, "pay")
    assert [each[: len(reason)] for each in said] == ([reason] if reason else [])
    assert all(each in release.summary().notes for each in said)
    assert release.prior_dominated(np.stack(release.interval())) == " ".join(said)


# --- the diagnostic q --------------------------------------------------------------------------------------------------


def of_kind(kind: str, epsilon: float = 1.0) -> sf.Release:
    target = {"logistic": sf.Boolean(missing=False), "svm": sf.Boolean(missing=False), "poisson": sf.Number(0, 9)}.get(
        kind, sf.Number(-1e4, 1e4)
    )
    schema = sf.Schema({"x": sf.Number(0, 1), "y": target}, target="y")
    plan = sf.plan(sf.regression(kind, schema), N, epsilon, 1e-6, goal="estimate")
    table = {"x": np.arange(N) / N, "y": np.arange(N) % 2}
    return sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(1))


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
@pytest.mark.parametrize(
    ("q", "said"), [(1.9, ""), (2.1, "a little less than they say"), (10.1, "much less than they say")]
)
def test_a_large_q_is_said_of_log_odds_and_log_rates(kind, q, said, monkeypatch):
    release = of_kind(kind)
    monkeypatch.setattr(shaped_intervals, "diagnostic", lambda draws, plan: q)
    (found,) = cautions(release.draws, release.plan, "y") or [""]
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize("kind", ["linear", "quantile"])
def test_q_has_the_square_of_the_targets_unit_and_is_no_alarm(kind):
    release = of_kind(kind)
    assert shaped_intervals.diagnostic(release.draws, release.plan) > 2
    assert not any("diagnostic q" in note for note in release.summary().notes)


@pytest.mark.planted
@pytest.mark.parametrize("epsilon", [3.0, 20.0])
def test_the_interval_of_a_share_of_yes_holds_the_plain_slope(epsilon):
    """Residuals of a 0/1 target reach beyond half its range, at which the clip stood: slopes were off by a half."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, N)
    schema = sf.Schema({"x": sf.Number(0, 1), "y": sf.Number(0, 1)}, target="y")
    table = {"x": x, "y": (rng.random(N) < 0.3 + 0.4 * x).astype(float)}
    plan = sf.plan(sf.regression("linear", schema), N, epsilon, 1e-6, goal="estimate")
    release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(4))
    lower, upper = release.interval(0.999, include="privacy")
    slope = np.polyfit(x, table["y"], 1)[0]
    place = release.labels.index("x")
    assert lower[place] < slope < upper[place]
    assert upper[place] - lower[place] < 0.1
    assert release.summary().clipped.level > 0.7


@pytest.mark.planted
@pytest.mark.parametrize("kind", ["svm", "quantile"])
@pytest.mark.parametrize(("epsilon", "few"), [(1.0, True), (8.0, False)])
def test_losses_without_a_likelihood_warn_where_noise_hides_less_than_is_cut(kind, epsilon, few):
    release = of_kind(kind, epsilon)
    said = [note for note in release.summary().notes if "may miss the plain fit" in note]
    assert len(said) == few
    assert all(
        f"(n mu/sqrt(d) is {release.plan['parameters']['resolution']:,.0f}, below 6,000)" in note for note in said
    )


def test_other_releases_have_no_clip_to_speak_of():
    release = of_kind("logistic")
    schema = sf.Schema.from_json(release.schema["document"])
    assert clipped_of(release.draws, release.plan, schema) is None
    assert release.summary().clipped is None
    assert dataclasses.asdict(regression_cautions.Clipped(1.0, 0.1, 0.01, 0.2))["mean"] == 0.2
