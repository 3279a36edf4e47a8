"""Intervals of default regressions cover truths from the prior; naive ones do not.

All cells are in benchmarks/regression_coverage.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from effort import sized
from regression_cells import CELLS, LEVEL, POISSON, Cell, covered
from sfumato.queries import shaped_intervals
from sfumato.shapes.residuals import residual_variance

RUNS = sized(20, 300)
# Four Monte Carlo errors of a share of .9 over independent runs, even if the coefficients of a run were all covered or none.
MARGIN = 4 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS)


@pytest.mark.parametrize(
    "cell",
    [
        Cell("logistic", 5, False, 0.3, 5_000),
        *sized([], [Cell("linear", 5, False, 0.3, 5_000)]),
        Cell("linear", 20, False, 1.0, 2_000),
        Cell("poisson", 5, False, 30.0, 20_000),
    ],
    ids=str,
)
def test_intervals_cover_the_truth_and_naive_ones_do_not(cell):
    """Naive: the estimate with the half-width of the posterior shrunk to a third, about that of a fit without privacy."""
    inside, naive, errors = [], [], []
    for seed in range(RUNS):
        truth, release = cell.run(seed)
        ends, middle = release.interval(LEVEL, scaled=True), release.estimate(scaled=True)
        inside.append(covered(truth, ends).mean())
        naive.append(covered(truth, middle + (ends - ends.mean(axis=0)) / 3).mean())
        errors.append([np.sum((each - truth) ** 2) for each in (middle, release.mean(scaled=True))])
    assert LEVEL - MARGIN < np.mean(inside) <= min(1.0, LEVEL + MARGIN)
    assert np.mean(naive) < LEVEL - MARGIN
    read, average = np.transpose(errors)
    # Estimates of which little is known are posterior means, which may cost a tenth of the average's squared error.
    assert np.mean(read - average) <= 0.1 * np.mean(average) + 2 * np.std(read - average) / RUNS**0.5


def test_cells_span_what_they_say():
    assert len(CELLS) == len(set(map(str, CELLS))) == 24
    spans = {"kind": {c.kind for c in CELLS}, "d": {c.d for c in CELLS}, "epsilon": {c.epsilon for c in CELLS}}
    assert spans == {"kind": {"logistic", "linear"}, "d": {5, 20, 60}, "epsilon": {0.3, 1.0, 3.0}}
    assert {c.ill for c in CELLS} == {True, False}
    assert (min(c.n for c in CELLS), max(c.n for c in CELLS)) == (2_000, 50_000)
    assert {c.kind for c in POISSON} == {"poisson"}
    assert {c.epsilon for c in POISSON} == {1.0, 3.0, 30.0}


def test_counts_of_a_cell_stay_within_their_declared_bound():
    """Truths are drawn until every mean count is at most half of the bound, so that the model holds."""
    for seed in range(3):
        labels = []

        class Watched(Cell):
            def labels(self, scores, rng):
                labels.append((np.exp(scores).max(), super().labels(scores, rng)))
                return labels[-1][1]

        cell = Watched("poisson", 20, False, 3.0, 2_000)
        cell.run(seed)
        ((largest, counts),) = labels
        assert largest <= cell.counts / 2
        assert counts.max() < cell.counts


@pytest.mark.parametrize(("n", "mechanism"), [(200, "langevin-path"), (800, "shaped-path")])
def test_where_little_is_resolved_the_interval_is_close_to_the_priors_and_the_release_says_so(n, mechanism):
    """20 coefficients at epsilon .5; the half-width of the prior is 1.64. With 200 rows auto takes the plain path."""
    cell = Cell("logistic", 20, False, 0.5, n)
    assert cell.plan.mechanism == mechanism
    _, release = cell.run(0)
    ends = release.interval(LEVEL, scaled=True)
    assert release.prior_dominated(ends, LEVEL, scaled=True).startswith("This release has little information on")
    assert 1.2 < np.median(ends[1] - ends[0]) / 2 < 2.0


def test_the_variance_of_the_mean_label_counts_its_noise_in_the_scale_of_the_labels(monkeypatch):
    """Written out: noise^2 (1/scale^2 + E |theta|^2) + residual variance/n, the noise that of one moment over the intercept."""
    seen = {}
    read, observe = shaped_intervals._with_mean_label, shaped_intervals.observed

    def kept(task, draws, facts, learnt, law, sampling):
        seen.update(task=task, facts=facts, learnt=learnt, start=learnt.start, law=law, sampling=sampling)
        return read(task, draws, facts, learnt, law, sampling)

    def noted(law, start, row, mean, variance, shift, constant):
        seen.update(variance=variance)
        return observe(law, start, row, mean, variance, shift, constant)

    monkeypatch.setattr(shaped_intervals, "_with_mean_label", kept)
    monkeypatch.setattr(shaped_intervals, "observed", noted)
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.5, 0.5, (3000, 2))
    y = np.clip(X @ [4.0, -2.0] + rng.normal(size=3000), -5, 5)
    model = sf.PrivateLinearRegression(2.0, 1e-6, bounds=(-0.5, 0.5), bounds_y=(-5.0, 5.0), random_state=2)
    release = model.fit(X, y).release_
    for include, sampled in (("privacy and sampling", True), ("privacy", False)):
        release.interval(include=include)
        assert (seen["sampling"] != "none") is sampled
        task, facts, learnt = seen["task"], seen["facts"], seen["learnt"]
        label = shaped_intervals.label_column(task.model)
        assert label.scale != 1
        noise = facts.moments_noise / (2**0.5 * task.model.intercept)
        slopes = (seen["start"] + seen["law"].mean)[:-1]
        squares = float(np.sum(slopes**2 + np.diag(seen["law"].covariance)[:-1]))
        expected = noise**2 * (1 / label.scale**2 + squares)
        # The plain fit of the rows has their mean label exactly.
        residual = residual_variance(facts, learnt.loss.largest_slope(), learnt.shape.rule.bend)
        assert seen["variance"] == pytest.approx(expected + sampled * residual / task.n, rel=1e-12)
