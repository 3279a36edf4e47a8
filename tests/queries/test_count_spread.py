"""Counts that spread more than Poisson counts: noisy statistics release how far, and intervals use it; draws cannot."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from benchmarks.count_coverage import counted
from effort import sized
from sfumato.errors import FormatError, MechanismRefused
from sfumato.models.weighted import Weighted
from sfumato.queries.plan_notes import of_poisson_counts
from sfumato.queries.statistics import events
from sfumato.queries.statistics.protocol import Numbers, Released
from sfumato.queries.statistics.table import reader_of
from sfumato.shells.report import page

F = sf.families
MODEL = F.GammaPoisson(1, 0.5, 20)
SCHEMA = sf.Schema({"x": sf.Number(0, 20, integer=True)}, name="visits")
# Noise multipliers at delta 1e-6, by epsilon (benchmarks/count_coverage.py computes them from plans).
NOISE = {1.0: 4.225, 8.0: 0.653}
NOTHING = np.empty((0, 0))


def dispersed(rng, n: int, factor: float) -> np.ndarray:
    """Counts of mean 2 with `factor` times the variance of Poisson counts, cut at 20."""
    return np.minimum(counted(rng, n, 2.0, factor), 20)


def totals_of(counts) -> np.ndarray:
    return np.array([counts.sum(), ((2.0 * counts - 20) ** 2).sum() / 40])


def table(counts) -> sf.Dataset:
    return sf.Dataset.from_table({"x": counts}, schema=SCHEMA)


# --- the spread ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 3.0, 7.0])
def test_without_noise_the_spread_is_that_of_the_counts(factor):
    counts = dispersed(np.random.default_rng(2), 5_000, factor)
    found = events.dispersion(MODEL, 5_000, *totals_of(counts), 1e-6)
    # 2 events of at most 20: hardly a Poisson count is cut, and its variance is its mean.
    assert found == pytest.approx(max(1.0, counts.var() / counts.mean()), rel=1e-3)


def test_counts_that_spread_less_than_poisson_counts_are_read_as_these():
    assert events.dispersion(MODEL, 900, *totals_of(np.full(900, 2)), 1e-6) == 1.0


def test_counts_that_the_bound_cuts_are_compared_with_poisson_counts_that_it_cuts():
    counts = np.minimum(np.random.default_rng(3).poisson(19.0, 20_000), 20)
    assert events.dispersion(MODEL, 20_000, *totals_of(counts), 1e-6) == pytest.approx(1.0, abs=0.03)


@pytest.mark.planted
def test_a_spread_that_the_noise_hides_is_read_as_larger():
    """On average over the noise, of Poisson counts; never more than counts of 0 and the bound alone have."""
    rng, counts = np.random.default_rng(4), dispersed(np.random.default_rng(5), 300, 1.0)
    read = [
        events.dispersion(MODEL, 300, *(totals_of(counts) + 20 * 4.2 * rng.standard_normal(2)), 20 * 4.2)
        for _ in range(200)
    ]
    assert np.mean(read) > 1.5
    assert events.dispersion(MODEL, 300, *totals_of(counts), 84.0) > 1.3  # even where the noise is 0
    assert min(read) >= 1
    assert max(read) <= 20
    assert events.dispersion(MODEL, 300, -400.0, 9_000.0, 84.0) == 20  # no event is seen, and a spread


# --- coverage --------------------------------------------------------------------------------------------------------


def share_held(model, row_of, n: int, factor: float, epsilon: float, sets: int) -> float:
    """How often 90 % intervals hold the mean of the counts; `row_of(rng, counts)` are exact totals."""
    rng, read = np.random.default_rng([n, int(factor), int(epsilon)]), reader_of(model)
    mean = dispersed(np.random.default_rng(1), 2_000_000, factor).mean()
    deviation, held = NOISE[epsilon] * model.sensitivity, 0
    for _ in range(sets):
        row = row_of(rng, dispersed(rng, n, factor))
        row = row + deviation * rng.standard_normal(len(row))
        low, high = read(model, model, Released(n, Numbers(1.0, 1.0, NOISE[epsilon]), NOTHING, row))(0.9, True)[:, 0]
        held += low <= mean <= high
    return held / sets


def room(sets: int) -> float:
    """Four and a half standard errors of a share of .9."""
    return 4.5 * math.sqrt(0.09 / sets)


@pytest.mark.planted
@pytest.mark.parametrize("factor", [1.0, 7.0])
@pytest.mark.parametrize(("n", "epsilon"), sized([(2_000, 8.0)], [(n, e) for n in (200, 2_000, 20_000) for e in NOISE]))
def test_intervals_hold_the_mean_rate_of_counts_however_they_spread(n, epsilon, factor):
    sets = sized(100, 1_000)
    share = share_held(MODEL, lambda rng, counts: totals_of(counts), n, factor, epsilon, sets)
    assert share >= 0.88 - room(sets)
    assert share <= (0.97 if n == 200 else 0.93) + room(sets)


def weighted_row(rng, counts) -> np.ndarray:
    """Weighted size, sum and squares, counted from the middle; a record counts a fifth, half or all."""
    shares = rng.choice([0.2, 0.5, 1.0], len(counts))
    parts = np.array(
        [np.full(len(counts), float(Weighted(MODEL).presence)), counts - 10.0, (2 * counts - 20.0) ** 2 / 40 - 5]
    )
    return parts @ shares


def test_weighted_intervals_hold_the_mean_rate_of_counts_that_spread():
    """At least: the spread is divided by the weighted size, which is below the effective one."""
    sets = sized(25, 1_000)
    assert share_held(Weighted(MODEL), weighted_row, 2_000, 7.0, 8.0, sets) >= 0.88 - room(sets)


def test_intervals_by_group_hold_the_mean_rate_of_counts_that_spread():
    model, sets = sf.grouped(MODEL, "g", ["a", "b"]), sized(10, 500)
    presence = float(model.presence)

    def rows(rng, counts) -> np.ndarray:
        half = len(counts) // 2
        return np.concatenate(
            [[presence * len(part), (part - 10.0).sum(), ((2 * part - 20.0) ** 2 / 40 - 5).sum()]
             for part in (counts[:half], counts[half:])]
        )  # fmt: skip

    assert share_held(model, rows, 2_000, 7.0, 8.0, sets) >= 0.88 - room(sets)


def test_the_intervals_of_overdispersed_counts_are_wider_by_the_root_of_the_factor():
    widths = []
    for factor in (1.0, 7.0):
        plan = sf.plan(MODEL, 20_000, 8.0, 1e-6, mechanism="noisy-statistics")
        counts = dispersed(np.random.default_rng(6), 20_000, factor)
        low, high = sf.publish(plan, table(counts), randomness=sf.seeded(2)).interval()
        assert low < counts.mean() < high
        widths.append(high - low)
        spread = counts.std()
    poisson = math.sqrt(2.0)
    assert widths[1] / widths[0] == pytest.approx(spread / poisson, rel=0.06)


# --- what is released ------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_both_totals_are_released_with_the_noise_of_the_plan():
    counts, n = dispersed(np.random.default_rng(7), 400, 7.0), 400
    plan = sf.plan(MODEL, n, 1.0, 1e-6, mechanism="noisy-statistics")
    assert plan.guarantee.curve.mu == pytest.approx(1 / plan["noise"], rel=1e-12)
    releases = [sf.publish(plan, table(counts), randomness=sf.seeded(seed)) for seed in range(60)]
    away = (np.array([each.totals for each in releases]) - totals_of(counts)) / (plan["noise"] * 20)
    # 60 normals: the deviation of their deviation is 1/sqrt(120); and the two noises are independent.
    assert away.std(axis=0) == pytest.approx([1, 1], abs=4.5 / math.sqrt(120))
    assert abs(np.mean(away[:, 0] * away[:, 1])) < 4.5 / math.sqrt(60)


def test_a_release_is_verified_with_its_squares(tmp_path):
    plan = sf.plan(MODEL, 400, 1.0, 1e-6, mechanism="noisy-statistics")
    release = sf.publish(plan, table(dispersed(np.random.default_rng(7), 400, 7.0)), randomness=sf.seeded(1))
    release.verify()
    from dataclasses import replace

    for totals in (release.totals[:1], release.totals * (1 + 1e-9), np.array([release.totals[0], math.nan])):
        with pytest.raises(FormatError):
            replace(release, draws=replace(release.draws, totals=totals)).verify()


# --- draws, which do not show it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["exact", "diffused", "concentrated", "noisy-statistics"])
def test_plan_summary_and_report_of_a_draw_say_that_its_interval_is_for_poisson_counts(mechanism):
    price = {} if mechanism == "exact" else {"epsilon": 1.0, "delta": 1e-6}
    plan = sf.plan(MODEL, 400, mechanism=mechanism, **price)
    release = sf.publish(plan, table(dispersed(np.random.default_rng(7), 400, 1.0)), randomness=sf.seeded(1))
    said = of_poisson_counts(MODEL, plan.procedure)
    assert bool(said) == (mechanism != "noisy-statistics")
    for text in (str(plan), str(release.summary()), str(release), page(release)):
        assert ("for Poisson counts" in text) == bool(said)


def test_an_estimate_of_counts_takes_noisy_statistics():
    for model in (MODEL, sf.grouped(MODEL, "g", ["a", "b"])):
        for n in (12, 2_000):
            plan = sf.plan(model, n, 1.0, 1e-6, mechanism="auto", goal="estimate", allow_weak=True)
            assert plan.mechanism == "noisy-statistics"
    with pytest.raises(MechanismRefused, match="never pure"):
        sf.plan(MODEL, 2_000, 1.0, 0.0, goal="estimate")
    with pytest.raises(MechanismRefused, match="released as draws"):
        sf.plan(F.ExponentialRate(2, 1, 9), 2_000, 1.0, 1e-6, goal="estimate")
