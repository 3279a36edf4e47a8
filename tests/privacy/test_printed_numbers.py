"""Numbers of curves and guarantees that are printed or composed: never below what they stand for, slack included."""

from __future__ import annotations

import math
import re

import mpmath as mp
import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy import compose as composing
from sfumato.privacy import cover
from sfumato.privacy.cover import covering_mu
from sfumato.privacy.guarantee import Guarantee


def guarantee(curve, slack: float = 0.0, **fields) -> Guarantee:
    values = {"trust": "proved with slack" if slack else "proved", **fields}
    return Guarantee(curve, "replace-one", "a theorem", "a source", slack=slack, **values)


@pytest.mark.parametrize("slack", [0.0, 1e-9, 1e-7])
def test_every_epsilon_of_the_table_holds(slack):
    """Rounded up, with the slack of the sampler: at the printed epsilon the promised delta is kept."""
    for k in range(25):
        claim = guarantee(sf.Gaussian(0.2 + 0.0731 * k), slack, draws=3)
        table = claim.table()
        rows = re.findall(r"epsilon at delta (\S+) +(\S+)", table)
        assert [float(delta) for delta, _ in rows] == [1e-3, 1e-5, 1e-6, 1e-9]
        for delta, epsilon in rows:
            if epsilon == "infinity":
                assert claim.epsilon(float(delta)) == math.inf
            else:
                assert claim.delta(float(epsilon)) <= float(delta)
        assert re.search(r"draws +3\n", table)


def test_the_slack_of_a_sum_is_the_sum_of_the_slacks():
    first, second = guarantee(sf.Gaussian(0.1), 1e-6), guarantee(sf.Pure(0.1), 2e-6)
    assert (first + second).slack == pytest.approx(3e-6, rel=1e-15)
    assert (guarantee(sf.Gaussian(0.1), 0.6) + guarantee(sf.Pure(0.1), 0.7)).slack == 1.0
    assert (3 * second).slack == pytest.approx(6e-6, rel=1e-15)


@pytest.mark.parametrize("slack", [1e-8, 1e-7])
def test_a_sentence_counts_the_slack(slack):
    for mu in (0.3, 0.7):
        claim = guarantee(sf.Gaussian(mu), slack)
        for text in (str(claim), claim.at(1e-5)):
            pairs = re.findall(r"\(([0-9.e+-]+), ([0-9.e+-]+)\)", text)
            assert pairs
            assert all(claim.delta(float(epsilon)) <= float(delta) for epsilon, delta in pairs)


def test_what_a_composition_costs_is_never_rounded_below_its_parts():
    """Squares of mu, pure epsilons and Renyi divergences of the parts, summed in 40 digits."""
    rng = np.random.default_rng(3)
    with mp.workdps(40):
        for _ in range(150):
            bounds = rng.uniform(0.01, 2, 3).tolist()
            counts = rng.integers(1, 9, 3).tolist()
            pairs = [(sf.Pure(b), c) for b, c in zip(bounds[:2], counts[:2], strict=True)]
            whole = composing.compose([*pairs, (sf.BoundedRange(bounds[2]), counts[2])])
            items = [(curve, count) for curve, count in whole.parts]
            assert whole.pure_total >= mp.fsum(count * mp.mpf(curve.epsilon_value) for curve, count in items)
            assert whole.mu >= mp.sqrt(mp.fsum(count * mp.mpf(curve.mu) ** 2 for curve, count in items))
            for order in (1.5, 7.0):
                total = mp.fsum(count * mp.mpf(curve.renyi(order)) for curve, count in items)
                assert total <= whole.renyi(order) <= total * (1 + mp.mpf(1e-14))


@pytest.mark.parametrize("mu", [0.4, 3.0])
def test_between_the_points_that_are_asked_a_chord_lies_above_the_curve(monkeypatch, mu):
    """Chords are taken in exp(eps), where profiles are convex; in eps they would cut below a wide profile."""
    monkeypatch.setattr(composing, "_POINTS", 4)
    monkeypatch.setattr(composing, "_POINTS_AT_ONCE", 4)
    curve = sf.Profile("revealing-gaussian", {"mu": mu, "delta": 1e-7})
    found = composing._deltas_on_grid(curve, mu / 20, 60)
    truth = curve.deltas(mu / 20 * np.arange(61))
    assert (found >= truth).all()
    assert found[[0, 15, 30, 45, 60]] == pytest.approx(truth[[0, 15, 30, 45, 60]], rel=1e-12)


@pytest.mark.parametrize("delta0", [0.02, 0.2])
def test_a_cover_with_a_large_probability_of_revealing(delta0):
    """delta <= delta0 + (1 - delta0) delta_mu at every eps, in 30 digits: with a large delta0 each factor shows."""
    curve = sf.Profile("revealing-gaussian", {"mu": 1.5, "delta": 0.01})
    mu = covering_mu(curve, delta0)
    with mp.workdps(30):
        gaussian = lambda e, m: mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)
        gaps = []
        for k in range(161):
            e = mp.mpf(k) / 20
            truth = mp.mpf(0.01) + (1 - mp.mpf(0.01)) * gaussian(e, mp.mpf(1.5))
            gaps.append(delta0 + (1 - mp.mpf(delta0)) * gaussian(e, mp.mpf(mu)) - truth)
    assert min(gaps) >= 0
    assert min(gaps) < 1e-3


def test_listed_renyi_divergences_are_summed_and_never_rounded_down():
    rng = np.random.default_rng(6)
    for _ in range(60):
        values, counts = rng.uniform(0.01, 3, 3).tolist(), rng.integers(1, 9, 3).tolist()
        whole = composing.compose([(sf.Renyi([2.0], [v]), c) for v, c in zip(values, counts, strict=True)])
        with mp.workdps(40):
            total = mp.fsum(c * mp.mpf(v) for v, c in zip(values, counts, strict=True))
            assert total <= whole.values[0] <= total * (1 + mp.mpf(1e-14))


def test_a_cover_is_tested_at_its_points_on_its_chords_and_up_to_its_reach(monkeypatch):
    delta = sf.Gaussian(1.0).delta
    # Steeper than any Gaussian: the ends of the chord decide, so they must be looked at.
    assert not cover._covers(0.1, [0.0, 0.5], [0.9, 0.0])
    # A chord of the Gaussian itself lies above it between its ends, however short it is.
    for start in (0.0, 0.9, 2.0):
        assert not cover._above_chord(1.0, start, delta(start), start + 0.2, delta(start + 0.2))
        assert cover._above_chord(1.01, start, delta(start), start + 0.01, delta(start + 0.01))
    for delta0 in (1e-3, 1e-6):
        assert delta(cover._last_epsilon(delta, delta0)) <= delta0
    passed, covers = [], cover._covers
    monkeypatch.setattr(cover, "_covers", lambda mu, *rest: covers(mu, *rest) and not passed.append(mu))
    assert cover.covering_mu_of(delta, 1e-3) == min(passed)


@pytest.mark.parametrize("bound", [2e17, 1e18, 1e200])
def test_a_huge_pure_bound_has_a_mu_that_covers_it(bound):
    """Phi(-mu/2) <= exp(-bound) needs mu^2/8 >= bound, up to terms far below a rounding."""
    assert bound * (1 - 1e-12) <= (sf.Pure(bound).mu / 2) ** 2 / 2 <= bound * (1 + 1e-12)
