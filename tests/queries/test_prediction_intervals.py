"""Predictions with intervals: means agree with fits of the same rows, and answers are covered as often as stated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from effort import sized
from sfumato.errors import ArgumentError
from sfumato.queries import functionals, predict, predicting
from sfumato.queries.predicting import count_ends, predict_interval
from unit_tables import HIGHEST, LOWEST, MOST, PROBABILITIES, study, table

LEVEL, FRESH = 0.9, sized(4_000, 40_000)
NEW = table(np.random.default_rng(11), 300)
# Four standard errors of a share of .9 over fresh rows.
MARGIN = 4 * (LEVEL * (1 - LEVEL) / FRESH) ** 0.5


def plain(loss: sf.losses.Loss, target: sf.Column, labels: np.ndarray, keep=("transcript",), classes: int = 1) -> tuple:
    """Documents of a plain path on 1,000 vectors of two numbers."""
    X = np.random.default_rng(3).normal(size=(1_000, 2)) / 2
    schema = sf.Schema.vector(2, data_norm=1.0, target=target, name="plain")
    model = sf.Gibbs(loss, sf.priors.Gaussian(0.5), 2 * classes)
    plan = sf.plan(model, 1_000, 5.0, 9e-5, mechanism="langevin-path", goal="estimate", keep=keep)
    made = sf.publish(plan, sf.Dataset.from_arrays(X, labels, schema=schema), randomness=sf.seeded(2))
    return made.draws, made.plan, made.schema


# --- means -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["logistic", "probit", "cloglog", "poisson", "linear"])
def test_means_agree_with_a_fit_without_privacy_on_the_same_rows(kind):
    """Sampling moves truth and fit apart, not fit and release: at this epsilon all fitted means lie inside."""
    made = study(kind)
    given = predict_interval(*made.documents, NEW, LEVEL)
    fitted = made.fit()(NEW)
    assert ((given.lower <= fitted) & (fitted <= given.upper)).all()
    assert np.abs(given.estimate - fitted).max() < 0.5 * (given.upper - given.lower).max()
    assert ((given.lower <= given.estimate) & (given.estimate <= given.upper)).all()
    # The intervals are narrow: the means of other rows lie outside.
    assert ((given.lower <= fitted[::-1]) & (fitted[::-1] <= given.upper)).mean() < 0.3
    assert (given.of, given.level, len(given)) == ("mean", LEVEL, 300)
    assert given.what == ("probability" if kind in PROBABILITIES else {"poisson": "rate", "linear": "mean"}[kind])


@pytest.mark.parametrize("kind", ["logistic", "probit", "cloglog", "poisson", "linear", "quantile"])
def test_ends_of_a_mean_are_the_inverse_link_of_the_ends_of_the_score(kind):
    made = study(kind)
    features = predict.encoded(predict.read(*made.documents), NEW)
    link = {"poisson": np.exp, "linear": np.positive, "quantile": np.positive}.get(kind) or PROBABILITIES[kind]
    for include in ("privacy and sampling", "privacy"):
        given = predict_interval(*made.documents, NEW, 0.8, include=include)
        ends = link(functionals.ends(*made.documents, features, 0.8, include))
        assert np.allclose([given.lower, given.upper], ends, rtol=1e-9)
        assert np.allclose(given.estimate, link(functionals.estimate(*made.documents, features, include)), rtol=1e-9)
    # Predictions use the average of the path: at this epsilon it is near the middle of the posterior.
    used = (
        predict.predict_proba(predict.read(*made.documents), NEW)[:, 1]
        if given.what == "probability"
        else made.release.predict(public_rows=NEW)
    )
    assert (np.abs(given.estimate - used) < 0.5 * (given.upper - given.lower)).all()


def test_a_quantile_regression_predicts_its_quantile():
    """The 70 % quantile lies 0.524 deviations above the mean; smoothing over a width of 1 lowers it by (0.7 - 0.5) 1."""
    made = study("quantile")
    given = predict_interval(*made.documents, NEW)
    wanted = made.scores(NEW) + made.noise * stats.norm.ppf(0.7) - 0.2
    assert given.what == "quantile"
    assert np.abs(given.estimate - wanted).mean() < 0.1
    assert np.abs(given.estimate - made.scores(NEW)).mean() > 0.4


def test_a_transcript_gives_quantiles_over_its_draws():
    labels = np.random.default_rng(5).random(1_000) < 0.4
    documents = plain(sf.losses.Logistic(1.0), sf.Boolean(missing=False), labels)
    rows = np.random.default_rng(6).normal(size=(40, 2)) / 4
    given = predict_interval(*documents, rows)
    drawn = functionals.sample(*documents, size=400) @ rows.T
    assert np.allclose(
        [given.lower, given.upper], np.quantile(1 / (1 + np.exp(-drawn)), [0.05, 0.95], axis=0), atol=2e-4
    )


def test_rows_are_taken_in_blocks(monkeypatch):
    for kind, of in (("linear", "answer"), ("poisson", "answer"), ("logistic", "mean")):
        whole = predict_interval(*study(kind).documents, NEW, of=of)
        with monkeypatch.context() as patched:
            patched.setattr(predicting, "_BLOCK", 7 * 400)
            parts = predict_interval(*study(kind).documents, NEW, of=of)
        for name in ("estimate", "lower", "upper"):
            assert np.allclose(getattr(whole, name), getattr(parts, name), rtol=1e-12)


# --- answers ---------------------------------------------------------------------------------------------------------


def shares(kind: str, of: str, level: float = LEVEL, **options: float) -> float:
    """The share of fresh answers inside their intervals."""
    made, rng = study(kind, **options), np.random.default_rng(21)
    rows = table(rng, FRESH)
    answers = made.answers(rows, rng)
    given = predict_interval(*made.documents, rows, level, of)
    return float(((given.lower <= answers) & (answers <= given.upper)).mean())


@pytest.mark.parametrize("noise", [0.7, 1.5])
def test_nine_answers_in_ten_of_a_linear_regression_lie_inside(noise):
    """8 % in the residual variance, the margin of its own test, is 4 % in the width: 1.4 % in coverage."""
    assert abs(shares("linear", "answer", noise=noise) - LEVEL) < MARGIN + 0.014
    assert abs(shares("linear", "answer", 0.5, noise=noise) - 0.5) < 4 * (0.25 / FRESH) ** 0.5 + 0.017
    assert shares("linear", "mean", noise=noise) < 0.2, "without the residual variance hardly any answer is covered"


def test_nine_counts_in_ten_lie_inside():
    """Counts are whole, so that an interval may hold more than nine in ten; half of the upper tail alone is too few."""
    share = shares("poisson", "answer")
    assert LEVEL - MARGIN < share < 0.99
    assert shares("poisson", "mean") < 0.2
    rows = table(np.random.default_rng(4), 500)
    given = predict_interval(*study("poisson").documents, rows, of="answer")
    assert (given.lower == np.rint(given.lower)).all()
    assert (given.upper == np.rint(given.upper)).all()


def test_at_a_small_epsilon_answers_are_covered_too():
    """The posterior of the score widens the law of a count: with its middle alone fewer lie inside."""
    for kind in ("linear", "poisson"):
        assert shares(kind, "answer", epsilon=1.0, n=4_000) > LEVEL - MARGIN - 0.014


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_ends_of_counts_are_quantiles_of_the_mixture(level):
    """Against the distribution function of every count, summed term by term."""
    rng = np.random.default_rng(1)
    rates, most = np.exp(rng.normal(1.0, 1.0, size=(50, 9))), 40
    mass = stats.poisson.pmf(np.arange(most + 1)[:, None, None], rates).mean(axis=2)
    below = np.cumsum(mass, axis=0)
    wanted = [
        [next((y for y in range(most + 1) if below[y, i] >= share), most) for i in range(50)]
        for share in ((1 - level) / 2, (1 + level) / 2)
    ]
    assert np.array_equal(count_ends(rates, level, most), wanted)
    assert not np.array_equal(count_ends(rates.mean(axis=1, keepdims=True), level, most), wanted)


def test_answers_stay_within_the_declared_bounds():
    linear = predict_interval(*study("linear", noise=4.0).documents, NEW, 1 - 1e-15, "answer")
    assert set(linear.lower) == {LOWEST}
    assert set(linear.upper) == {HIGHEST}
    poisson = predict_interval(*study("poisson").documents, NEW, 1 - 1e-15, "answer")
    assert poisson.lower.min() == 0
    assert 10 < poisson.upper.max() <= MOST


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "of", "words"),
    [
        ("logistic", "answer", r"the answer is a class: use predict_proba"),
        ("quantile", "answer", "no law of an answer"),
        ("linear", "answers", "of must be"),
    ],
)
def test_what_has_no_law_of_an_answer_is_refused(kind, of, words):
    with pytest.raises(ArgumentError, match=words):
        predict_interval(*study(kind).documents, NEW, of=of)


def test_losses_without_an_inverse_link_and_releases_without_intervals_are_refused():
    yes = np.arange(1_000) % 3 == 0
    hinge = plain(sf.losses.SmoothedHinge(1.0, 1.0), sf.Boolean(missing=False), yes)
    soft = plain(
        sf.losses.Softmax(1.0, 3), sf.Category(["a", "b", "c"], missing="a"), np.array(["a", "b", "c"])[yes + 0], (), 3
    )
    for documents in (hinge, soft):
        with pytest.raises(
            ArgumentError, match=r"a probability \(logistic, .*a rate \(poisson\).*(svm|multinomial) is none of these"
        ):
            predict_interval(*documents, np.zeros((1, 2)))
    silent = plain(sf.losses.Logistic(1.0), sf.Boolean(missing=False), yes, ())
    with pytest.raises(ArgumentError, match="an honest interval for a regression"):
        predict_interval(*silent, np.zeros((1, 2)))
    linear = plain(sf.losses.Huber(1.0, 1.0), sf.Number(-1, 1), yes - 0.5)
    with pytest.raises(ArgumentError, match=r'needs the variance of the residuals.*"shaped-path"'):
        predict_interval(*linear, np.zeros((1, 2)), of="answer")
    assert len(predict_interval(*linear, np.zeros((1, 2)))) == 1
    with pytest.raises(ArgumentError, match="at least one row"):
        predict_interval(*linear, np.zeros((0, 2)))


def test_counts_of_a_transcript_are_mixtures_over_its_draws():
    counts = np.random.default_rng(8).poisson(1.5, size=1_000).clip(0, 9).astype(float)
    documents = plain(sf.losses.ClippedPoisson(1.0, 4.0, 9.0), sf.Number(0, 9), counts)
    rows = np.random.default_rng(9).normal(size=(30, 2)) / 3
    given = predict_interval(*documents, rows, of="answer")
    rates = np.exp(functionals.sample(*documents, size=400) @ rows.T)
    below = [stats.poisson.cdf(y, rates).mean(axis=0) for y in range(10)]
    wanted = [[next(y for y in range(10) if below[y][i] >= s) for i in range(30)] for s in (0.05, 0.95)]
    # 64 quantiles of the 400 draws stand for all of them.
    assert np.abs(np.array([given.lower, given.upper]) - wanted).max() <= 1
    assert list(itertools.chain(*wanted)) != [0] * 60


# --- forms -----------------------------------------------------------------------------------------------------------


def test_predictions_print_as_an_aligned_table_of_at_most_40_rows():
    given = predict_interval(*study("logistic").documents, NEW)
    lines = str(given).splitlines()
    assert lines[0] == "lower and upper: 90 % interval of the probability"
    assert lines[1].split() == ["row", "probability", "lower", "upper"]
    assert len(lines) == 2 + 40 + 1
    assert len({len(line) for line in lines[1:42]}) == 1
    assert [float(cell) for cell in lines[2].split()] == pytest.approx(
        [1, given.estimate[0], given.lower[0], given.upper[0]], rel=1e-4
    )
    assert lines[-1] == "... and 260 more rows (to_pandas())"
    few = str(predict_interval(*study("linear").documents, {**{k: v[:2] for k, v in NEW.items()}, "age": [99, 50]},
                               of="answer")).splitlines()  # fmt: skip
    assert few[0] == "lower and upper: 90 % interval of one answer"
    assert few[-1] == "1 cell of age lies outside 20 to 80 and was clipped"
    assert len(few) == 5


def test_predictions_as_a_frame():
    given = predict_interval(*study("poisson").documents, NEW)
    frame = given.to_pandas()
    assert list(frame.columns) == ["rate", "lower", "upper"]
    assert np.array_equal(frame.to_numpy().T, [given.estimate, given.lower, given.upper])
