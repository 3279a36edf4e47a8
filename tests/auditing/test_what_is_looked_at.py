"""What audits look at: every odd record, beside others that it could move; and thresholds between samples that hardly overlap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from audits import battery, cases
from audits import small_plans as plans
from effort import sized
from goodness import LEVEL
from sfumato.auditing.candidates import candidates
from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import error_rates, pilot_thresholds
from sfumato.auditing.odd_records import ODD_CELLS, odd_pairs
from sfumato.auditing.power import detectable_factor
from sfumato.auditing.runs import Trial
from sfumato.auditing.schemas import public_schema
from sfumato.errors import ArgumentError
from sfumato.schema import encoding, read_arrays
from sfumato.schema.encoding import to_floats


def test_the_long_battery_replays_every_odd_record_and_the_quick_one_two():
    (case,) = [each for each in cases.cases("noisy-totals: Dirichlet") if not each.inside]
    plan = case.plan()
    pairs = candidates(plan)
    odd = {pair.name for pair in odd_pairs(plan, public_schema(plan.model, plan.n))}
    assert len(odd) == len(ODD_CELLS)
    replayed = [pair.name for pair in battery._replayed(pairs, plan, quick=False)]
    assert odd <= set(replayed)
    assert replayed[: battery.REPLAYED[False]] == [pair.name for pair in pairs[: battery.REPLAYED[False]]]
    assert len(odd & {pair.name for pair in battery._replayed(pairs, plan, quick=True)}) == 2


@pytest.mark.planted
def test_a_text_that_makes_all_cells_of_its_column_missing_is_seen(monkeypatch):
    """The others of an odd record are not all what stands for a missing cell, nor is their sum that of missing cells."""
    plan = sf.plan(sf.families.NormalMean(4.0, 0, 6), 12, target=sf.Gaussian(2.0), mechanism="noisy-statistics")
    assert not sf.audit(plan, runs=20).broken
    monkeypatch.setattr(encoding, "to_floats", _all_missing_beside_a_text)
    assert "replay" in sf.audit(plan, runs=20).refuted_by


def _all_missing_beside_a_text(cells):
    if not isinstance(cells, np.ndarray) and any(isinstance(cell, str) for cell in cells):
        return np.full(len(cells), math.nan)
    return to_floats(cells)


@pytest.mark.planted
@pytest.mark.parametrize("mechanism", ["langevin-path", "langevin"])
def test_a_row_whose_nan_is_kept_is_refuted_and_ends_no_audit(mechanism, monkeypatch):
    """Odd floats are read from arrays too; a pair whose separation is no number is replayed, and another one is sampled."""
    goal = {"langevin-path": "estimate", "langevin": "draws"}[mechanism]
    model = sf.Gibbs(sf.losses.Huber(1.0, 1.0, -50.0, 50.0), sf.priors.Gaussian(1.0), 2)
    plan = sf.plan(model, 12, target=sf.Gaussian(2.0), mechanism=mechanism, goal=goal, steps=4)
    assert not sf.audit(plan, runs=20).broken
    monkeypatch.setattr(read_arrays, "bound_rows", _with_nan(read_arrays.bound_rows))
    result = sf.audit(plan, runs=20)
    assert "replay" in result.refuted_by
    assert result.runs == 20


def _with_nan(bound_rows):
    """Where one row alone is 0, its first entry had been odd: it is NaN."""

    def bounded(grid, *more):
        long = bound_rows(grid, *more)
        empty = ~grid.any(axis=1)
        grid[empty & (empty.sum() == 1), 0] = math.nan
        return long

    return bounded


ALONE = {
    "rate": (lambda: plans.draw(plans.RATE), plans.bits),
    "shares": (lambda: plans.draw(plans.SHARES), lambda: plans.one(plans.COLOURS, "blue", "red", "green")),
    "mean": (lambda: plans.draw(plans.MEAN), lambda: plans.one(plans.NUMBERS, 3, 0, 6)),
    "chain": (plans.chain, plans.opposite),
    "path": (plans.noisy_path, lambda: plans.opposite(2)),
    "lattice": (plans.lattice_draw, lambda: plans.signs(1)),
    "trials": (lambda: plans.trials(flat=True), lambda: plans.signs(1, towards=0)),
}


@pytest.mark.planted
@pytest.mark.parametrize("name", ALONE)
def test_a_release_of_its_own_has_the_law_of_those_that_are_drawn_together(name):
    """Audits draw many releases in one pass, where a fault of the first draw alone would be one among thousands."""
    plan, pair = (make() for make in ALONE[name])
    trial, source = Trial.of(plan, pair.first), sf.seeded(3)
    assert trial.batched
    together = np.concatenate([draws.flat()[:, 0] for draws in trial.releases(1000, source)])
    alone = [
        trial.procedure.carry_out(trial.task, trial.engine, source.spawn()).flat()[0, 0] for _ in range(sized(30, 200))
    ]
    assert stats.ks_2samp(alone, together).pvalue > LEVEL
    assert stats.ks_2samp([np.median(together)] * len(alone), together).pvalue < LEVEL


def test_stated_power_is_reached_where_the_two_samples_hardly_overlap():
    """At 2.03 times a mu of 3.3 only a threshold between the samples has few errors of both kinds."""
    claim, runs, few, level = Claim.of(_gaussian(3.3)), 400, 100, 1 - 1e-6
    rng, audits, seen = np.random.default_rng(5), sized(100, 1000), 0

    def samples(number, mu):
        return rng.normal(size=number), mu + rng.normal(size=number)

    factor = detectable_factor(claim, runs, len(pilot_thresholds(*samples(few, 3.3))), level)
    assert 1.5 < factor < 3
    for _ in range(audits):
        thresholds = pilot_thresholds(*samples(few, 3.3 * factor))
        seen += claim.broken_by(error_rates(*samples(runs, 3.3 * factor), thresholds, level))
    assert seen / audits >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / audits)


def test_claims_beyond_the_range_of_floats_are_audited_without_a_refutation():
    """The largest slope e^900 is no float, nor is the probability of one normal where another lies 60 deviations away."""
    assert Claim.of(sf.Guarantee(sf.Pure(900.0), "replace-one", "a theorem", "a source")).least_missed([1e-3]) == [0]
    model, named = sf.families.BoundedMean(0, 6), {"mechanism": "noisy-statistics", "goal": "estimate"}
    plan = sf.plan(model, 12, target=sf.Gaussian(60.0), **named, allow_weak=True)
    assert not sf.audit(plan, runs=20).broken


def test_pairs_of_another_number_of_records_are_refused():
    """Data sets of another n are no neighbours of this plan's data: a true claim would be called refuted."""
    plan, other = (plans.totals(plans.RATE, n=n) for n in (20, 12))
    (pair,) = candidates(other)[:1]
    with pytest.raises(ArgumentError, match=r"n = 20 records .* got n = 12"):
        sf.audit(plan, runs=20, pairs=[pair])


def _gaussian(mu):
    return sf.Guarantee(sf.Gaussian(mu), "replace-one", "a theorem", "a source")
