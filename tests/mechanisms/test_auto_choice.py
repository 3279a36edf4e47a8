""" "auto" leaves out searches that cannot win: its plan is the closest of all mechanisms, each searched in full."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.calibrate import target_of
from sfumato.errors import CalibrationError, MechanismRefused
from sfumato.mechanisms import divergence_of
from sfumato.mechanisms.tempering import stays_farther

F = sf.families
NAMES = ("exact", "noisy-statistics", "diffused", "concentrated")
# Noisy totals win for many records, a tempered posterior or a stronger prior for few.
CASES = [
    (F.BetaBernoulli(1, 1), 30, 0.3, 1),
    (F.BetaBernoulli(6, 12), 20, 0.5, 3),
    (F.BetaBernoulli(6, 12), 5_000, 0.5, 3),
    (F.BetaBernoulli(20, 30), 60, 1.0, 2),
    (F.DirichletCategorical(["a", "b", "c"], 4.0), 15, 0.5, 1),
    (F.GammaPoisson(20.0, 5.0, 4), 12, 0.5, 1),
    (F.GammaPoisson(2.0, 0.5, 20), 2_000, 1.0, 4),
    (F.NormalMean(1.0, -4.0, 4.0), 40, 0.2, 1),
]


@pytest.mark.planted
@pytest.mark.parametrize("case", range(len(CASES)))
def test_auto_is_the_closest_of_all_mechanisms(case):
    model, n, epsilon, draws = CASES[case]
    gaps = {}
    for name in NAMES:
        try:
            plan = sf.plan(model, n, epsilon, 1e-6, draws=draws, mechanism=name)
        except (CalibrationError, MechanismRefused):
            continue
        gaps[name] = divergence_of(model, plan)
    assert sf.plan(model, n, epsilon, 1e-6, draws=draws).mechanism == min(gaps, key=lambda name: gaps[name])


def test_the_cases_have_different_winners():
    winners = {sf.plan(m, n, epsilon, 1e-6, draws=draws).mechanism for m, n, epsilon, draws in CASES}
    assert winners == {"diffused", "noisy-statistics"}


def test_one_price_says_whether_a_search_would_end_farther_off():
    """Just below the divergence at the admitted power the search is left out, just above it is not."""
    model, n, target = F.BetaBernoulli(6, 12), 40, target_of(0.5, 1e-6)
    for name, what in (("diffused", "power"), ("concentrated", "strength")):
        own = divergence_of(model, sf.plan(model, n, 0.5, 1e-6, mechanism=name))
        assert stays_farther(model, n, 1, target, what, 0.95 * own)
        assert not stays_farther(model, n, 1, target, what, 1.05 * own)
