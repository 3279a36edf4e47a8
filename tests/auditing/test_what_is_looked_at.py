"""What audits look at: every odd record is replayed, and the stated power is reached where two samples hardly overlap."""

from __future__ import annotations

import math

import numpy as np

import sfumato as sf
from audits import battery, cases
from effort import sized
from sfumato.auditing.candidates import candidates
from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import error_rates, pilot_thresholds
from sfumato.auditing.odd_records import ODD_CELLS, odd_pairs
from sfumato.auditing.power import detectable_factor
from sfumato.auditing.schemas import public_schema


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


def _gaussian(mu):
    return sf.Guarantee(sf.Gaussian(mu), "replace-one", "a theorem", "a source")
