"""Intervals of quantiles: coverage at least as stated for smooth, heavy-tailed and discrete laws, and the parts of the test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.queries.statistics.protocol import Numbers, Released
from sfumato.queries.statistics.quantiles import edges_to_test, interval_ends, tail_probabilities
from tests.effort import LONG, sized

Quantiles = sf.families.Quantiles
LEVELS = (0.05, 0.25, 0.5, 0.9)
# Two atoms whose lower one has exactly the tested mass of 0.25: one wrongly rejected edge is enough to miss it.
ATOMS = stats.rv_discrete(values=([3, 90], [0.25, 0.75]))
LAWS = {
    "uniform": (Quantiles(LEVELS, 0, 1), stats.uniform(0, 1)),
    "normal": (Quantiles(LEVELS, -10, 10), stats.norm(0.01, 1)),
    "lognormal within +-1e9": (Quantiles(LEVELS, -1e9, 1e9), stats.lognorm(1, scale=math.exp(10))),
    "Cauchy within +-1e12": (Quantiles(LEVELS, -1e12, 1e12), stats.cauchy(-100, 20)),
    "Poisson counts": (Quantiles(LEVELS, 0, 110, integer=True), stats.poisson(30)),
    "two atoms": (Quantiles(LEVELS, 0, 100, cells=64), ATOMS),
}


def coverage(model: Quantiles, law, n: int, noise: float, sets: int, level: float = 0.9) -> np.ndarray:
    """Share of data sets whose interval holds the population's quantile, level by level."""
    rng, held = np.random.default_rng(7), np.zeros(len(model.levels))
    truth = np.clip(law.ppf(np.array(model.levels) - 1e-12), model.lower, model.upper)
    for _ in range(sets):
        rows = np.clip(law.rvs(size=n, random_state=rng), model.lower, model.upper)
        totals = model.tally({"x": rows}, ("x",)).astype(float)
        totals += noise * model.sensitivity * rng.standard_normal(len(totals))
        low, high = interval_ends(model, model.levels, released(n, noise, totals), level, True)
        held += (low <= truth) & (truth <= high)
    return held / sets


def released(n: int, noise: float, totals: np.ndarray) -> Released:
    return Released(n, Numbers(1.0, 1.0, noise), np.empty((0, 0)), totals)


SETS = sized(250, 2000)
CASES = [(law, n, epsilon) for law in LAWS for n in (200, 2000, 50_000) for epsilon in (0.1, 1.0, 3.0)]
QUICK = [
    ("uniform", 200, 3.0), ("lognormal within +-1e9", 2000, 3.0), ("Cauchy within +-1e12", 2000, 1.0),
    ("Poisson counts", 2000, 0.1), ("two atoms", 200, 1.0), ("two atoms", 2000, 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("law", "n", "epsilon"), CASES if LONG else QUICK)
def test_intervals_hold_the_quantile_at_least_as_often_as_they_say(law, n, epsilon):
    """Each share may fall below 0.9 by the deviations that a binomial share passes with probability 1e-6 (Hoeffding is wider)."""
    model, truth = LAWS[law]
    noise = sf.plan(model, n, epsilon, 1e-6, goal="estimate")["noise"]
    shares = coverage(model, truth, n, noise, SETS)
    assert (shares * SETS >= stats.binom.ppf(1e-6, SETS, 0.9)).all(), shares


def test_without_the_noise_of_all_counts_intervals_would_be_too_short():
    """With the sampling alone, and a hundredth of the noise, the check above fails."""
    truth, sets = stats.rv_discrete(values=([45, 90], [0.25, 0.75])), 250
    noise = sf.plan(LAWS["two atoms"][0], 2000, 0.1, 1e-6, goal="estimate")["noise"]

    class Narrow(Quantiles):
        def edge_deviations(self, deviation: float) -> np.ndarray:
            return np.where(Quantiles.edge_deviations(self, deviation) > 0, deviation / 100, 0.0)

        sensitivity, claim = Quantiles.sensitivity, Quantiles.claim

    narrow = Narrow(LEVELS, 0, 100, cells=64)
    assert (coverage(narrow, truth, 2000, noise, sets) * sets < stats.binom.ppf(1e-6, sets, 0.9)).any()


@pytest.mark.parametrize(("n", "q", "noise"), [(40, 0.05, 0.8), (200, 0.9, 2.0), (2000, 0.01, 3.0), (2000, 0.3, 40.0)])
def test_tail_probabilities_are_those_of_a_binomial_with_noise(n, q, noise):
    """Against numerical integration over the noise."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    counts = n * q + math.sqrt(n * q * (1 - q) + noise**2) * np.array([-2.0, -1.5, 0.2, 1.7])
    below, above = tail_probabilities(counts, np.full(4, noise), n, q, n * q)
    numbers = np.arange(n + 1)
    masses = stats.binom.pmf(numbers, n, q)
    exact = [float(masses @ stats.norm.cdf((count - numbers) / noise)) for count in counts]
    assert below == pytest.approx(exact, abs=0.002)
    assert above == pytest.approx(1 - np.array(exact), abs=0.002)
    # The same by quadrature in the other order, which shows that the noise was taken as normal with this deviation.
    steps = [
        float(weights @ stats.binom.cdf(np.floor(count - noise * nodes), n, q)) / math.sqrt(2 * math.pi)
        for count in counts
    ]
    assert below == pytest.approx(steps, abs=0.03)


def test_the_ends_are_outer_edges_of_the_cells():
    """Five cells with 40 records each and hardly any noise: the median lies in the third cell, and sampling reaches into others."""
    model = Quantiles([0.5], 0, 5, cells=[0, 1, 2, 3, 4, 5])
    totals = model.tally({"x": np.repeat(np.arange(5) + 0.5, 40)}, ("x",)).astype(float)
    seen = released(200, 1e-6, totals)
    # 80 and 120 records of 200 are 2.8 deviations from 100: at level 0.9 both inner edges are rejected, and the cell remains.
    assert interval_ends(model, (0.5,), seen, 0.9, True).ravel().tolist() == [2.0, 3.0]
    assert interval_ends(model, (0.5,), seen, 0.999, True).ravel().tolist() == [1.0, 4.0]
    # The quantile at 0.4 has its rank at an edge: the cells on both sides of it stay.
    assert interval_ends(model, (0.4,), seen, 0.9, False).ravel().tolist() == [1.0, 3.0]


def test_edges_are_chosen_by_public_numbers():
    """The noisier the counts, the larger the nodes whose edges are tested; the first and the last edge are always among them."""
    model = Quantiles([0.5], 0, 1)
    sizes = [len(edges_to_test(model, 2000, deviation)) for deviation in (0.1, 10.0, 100.0, 1000.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 1025
    assert sizes[-1] < 20
    for deviation in (0.1, 1000.0):
        edges = edges_to_test(model, 2000, deviation)
        assert (edges[0], edges[-1]) == (0, 1024)
    odd = Quantiles([0.5], 0, 110, integer=True)
    assert edges_to_test(odd, 200, 1000.0)[-1] == 111


SCHEMA = sf.Schema({"x": sf.Number(0, 100, integer=True)}, name="survey")


@pytest.fixture(scope="module")
def release() -> sf.Release:
    values = np.random.default_rng(3).poisson(40, 300)
    plan = sf.plan(Quantiles.of(SCHEMA, [0.25, 0.5]), 300, 2.0, 1e-6, goal="estimate")
    return sf.publish(plan, sf.Dataset.from_table({"x": values}, schema=SCHEMA), randomness=sf.seeded(2))


def test_any_level_is_answered_from_the_same_counts(release):
    planned = release.column_quantiles([0.25, 0.5])
    assert planned.estimates.tolist() == release.estimate().tolist()
    assert planned.intervals.tolist() == release.interval().tolist()
    other = release.column_quantiles(0.9, level=0.5)
    assert other.levels == (0.9,)
    assert abs(other.estimates[0] - stats.poisson(40).ppf(0.9)) <= 6
    assert other.intervals[0, 0] <= other.estimates[0] <= other.intervals[1, 0]
    assert (planned.intervals % 1 == 0).all()
    assert "90 % quantile" in str(other)


def test_what_is_included_makes_intervals_wider_and_wrong_words_are_refused(release):
    both, rows = (
        release.column_quantiles([0.1, 0.5], include=words).intervals for words in ("privacy and sampling", "privacy")
    )
    assert (np.diff(both, axis=0) >= np.diff(rows, axis=0)).all()
    assert np.diff(both, axis=0).sum() > np.diff(rows, axis=0).sum()
    with pytest.raises(ArgumentError, match="include"):
        release.column_quantiles(0.5, include="everything")
    with pytest.raises(ArgumentError, match="levels"):
        release.column_quantiles("median")
    with pytest.raises(ArgumentError, match="level must"):
        release.column_quantiles(0.5, level=1.5)


def test_the_summary_shows_the_planned_levels_with_the_bounds(release):
    shown = str(release.summary())
    assert "25 % quantile" in shown
    assert "first clipped to [0, 100]" in shown
    assert "90 % interval" in shown
    assert str(release).count("estimate 25 % quantile") == 1
