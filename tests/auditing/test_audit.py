"""`sf.audit`: bounds hold as often as they say, claims are trade-offs, the stated power is reached, and faults are seen."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from scipy.special import ndtr

import sfumato as sf
from effort import sized
from sfumato.auditing.attack import Attack, pilot
from sfumato.auditing.audit import _replayed_pairs, default_runs, expected_seconds, judged
from sfumato.auditing.candidates import candidates
from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import ErrorRates, error_rates, pilot_thresholds, upper_bound
from sfumato.auditing.exact import exact
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.power import detectable_factor, enough_runs
from sfumato.auditing.result import ATTACKS, Audit
from sfumato.errors import ArgumentError, FormatError

NORMAL = NormalDist()
# Simulated audits, and the mean plus four deviations of how many of them may fail at a level of 95 %.
AUDITS = sized(300, 2000)
MOST = AUDITS * 0.05 + 4 * math.sqrt(AUDITS * 0.05 * 0.95)


def rates(false, missed):
    return ErrorRates(np.zeros(len(false)), np.array(false), np.array(missed), 100, 0.95)


def guarantee(curve, **more):
    return sf.Guarantee(curve, "replace-one", "a theorem", "a source", **more)


# --- bounds from error rates ------------------------------------------------------------------------------------------


def test_bounds_are_those_computed_by_hand():
    at = rates([0.1, 0.5], [0.2, 0.5])
    assert at.mu == pytest.approx(1.2815515655446 + 0.8416212335729, abs=1e-9)  # quantiles of the normal at 0.9 and 0.8
    assert at.epsilon(0.0) == pytest.approx(math.log(0.8 / 0.1))
    assert at.epsilon(0.05) == pytest.approx(math.log(0.75 / 0.1))
    mirrored = rates([0.2], [0.1])
    assert mirrored.epsilon(0.05) == pytest.approx(math.log(0.75 / 0.1))
    blind = rates([0.6, 1.0, 0.0], [0.6, 0.0, 1.0])
    assert (blind.mu, blind.epsilon(0.0)) == (0.0, 0.0)


def test_the_upper_bound_is_that_of_clopper_and_pearson():
    """No event in 10 runs has the chance (1 - p)^10; at k of n the binomial sum is computed term by term."""
    assert float(upper_bound(0, 10, 0.05)) == pytest.approx(1 - 0.05**0.1)
    assert float(upper_bound(10, 10, 0.05)) == 1.0
    bound = float(upper_bound(3, 25, 0.01))
    chance = sum(math.comb(25, k) * bound**k * (1 - bound) ** (25 - k) for k in range(4))
    assert chance == pytest.approx(0.01)


def test_a_score_at_the_threshold_accuses():
    counted = error_rates(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([1.0]), 0.9)
    assert counted.false[0] == float(upper_bound(2, 3, 0.05))
    assert counted.missed[0] == float(upper_bound(0, 3, 0.05))


def simulated(rng, mu, runs):
    return rng.standard_normal(runs), mu + rng.standard_normal(runs)


def failures(bounds, mu=1.0, runs=400):
    """How many of the simulated audits of N(0, 1) against N(mu, 1) have a bound below the true rate of its threshold."""
    rng, failed = np.random.default_rng(11), 0
    for _ in range(AUDITS):
        rates = bounds(simulated(rng, mu, 200), simulated(rng, mu, runs))
        failed += bool(
            (rates.false < ndtr(-rates.thresholds)).any() or (rates.missed < ndtr(rates.thresholds - mu)).any()
        )
    return failed


def sound(trial, counted):
    return error_rates(*counted, pilot_thresholds(*trial))


def without_correction(trial, counted):
    """Every threshold has the share 0.05/2 for itself."""
    thresholds = pilot_thresholds(*trial)
    return error_rates(*counted, thresholds, 1 - 0.05 * len(thresholds))


def chosen_on_the_counted_runs(trial, counted):
    """The score of the best bound as the only threshold."""
    every = np.sort(np.concatenate(counted))[20:-20]
    each = (error_rates(*counted, np.array([threshold])) for threshold in every[::20])
    return max(each, key=lambda rates: rates.mu)


def test_bounds_hold_together_as_often_as_stated_and_the_bound_on_mu_more_often():
    assert failures(sound) <= MOST
    rng = np.random.default_rng(12)
    audits = [sound(simulated(rng, 1.0, 200), simulated(rng, 1.0, 400)).mu for _ in range(AUDITS)]
    assert sum(mu > 1 for mu in audits) <= MOST
    assert np.mean(audits) > 0.6  # a bound that is always 0 would hold too


@pytest.mark.parametrize("wrong", [without_correction, chosen_on_the_counted_runs])
def test_bounds_without_correction_or_with_chosen_thresholds_are_rejected(wrong):
    assert failures(wrong) > MOST


# --- claims as trade-offs ---------------------------------------------------------------------------------------------

BETA = sf.plan(sf.families.BetaBernoulli(6, 12), 20, mechanism="exact").guarantee
CLAIMS = {
    "gaussian": guarantee(sf.Gaussian(1.3)),
    "pure": guarantee(sf.Pure(0.71)),
    "bounded range": guarantee(sf.BoundedRange(1.7)),
    "slack": guarantee(sf.Gaussian(1.0), slack=0.02, trust="proved with slack"),
    "beta": BETA,
}
FALSE = np.array([0.0, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 1.0])


@pytest.mark.parametrize("name", CLAIMS)
def test_the_trade_off_of_a_claim_is_its_best_supporting_line(name):
    """Brute force: the largest of 1 - delta(eps) - e^eps a and of the mirrored line over a dense grid of eps."""
    claim = CLAIMS[name]
    grid = np.unique(np.concatenate([np.linspace(0, 12, sized(301, 20001)), [0.71, 1.7]]))
    heights = 1 - np.array([claim.delta(float(eps)) for eps in grid])
    slopes = np.exp(grid)
    direct = (heights - slopes * FALSE[:, None]).max(axis=1)
    mirrored = ((heights - FALSE[:, None]) / slopes).max(axis=1)
    best = np.maximum(0.0, np.maximum(direct, mirrored))
    least = Claim.of(claim).least_missed(FALSE)
    assert (np.abs(least - best) <= 1e-3).all(), (least, best)
    assert (least >= 0).all()


def test_closed_forms_of_gaussian_and_pure_claims():
    inside = FALSE[1:-1]
    gaussian = [NORMAL.cdf(-NORMAL.inv_cdf(a) - 1.3) for a in inside]
    assert Claim.of(CLAIMS["gaussian"]).least_missed(inside) == pytest.approx(gaussian, rel=1e-6)
    e = math.exp(0.71)
    pure = [max(0.0, 1 - e * a, (1 - a) / e) for a in inside]
    assert Claim.of(CLAIMS["pure"]).least_missed(inside) == pytest.approx(pure, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_point_on_the_claim_does_not_break_it_and_one_below_does(name):
    claim = Claim.of(CLAIMS[name])
    least = claim.least_missed(np.array([0.1, 0.2]))
    assert not claim.broken_by(rates([0.1, 0.2], [float(least[0]), float(least[1])]))
    assert claim.broken_by(rates([0.1, 0.2], [float(least[0]), 0.99 * float(least[1])]))


# --- power ------------------------------------------------------------------------------------------------------------


def detected(factor, thresholds, level=1 - 1e-6, runs=1000):
    claim, rng, audits = Claim.of(CLAIMS["gaussian"]), np.random.default_rng(4), sized(120, 1000)
    seen = 0
    for _ in range(audits):
        counted = simulated(rng, 1.3 * factor, runs)
        seen += claim.broken_by(error_rates(*counted, thresholds, level))
    return seen / audits, 4 * math.sqrt(0.95 * 0.05 / audits)


def test_stated_power_is_reached_and_not_far_exceeded():
    """At the stated factor the claim is refuted about 19 times in 20; 12 % below it is refuted clearly less often."""
    thresholds = pilot_thresholds(*simulated(np.random.default_rng(3), 1.6, 2000))
    factor = detectable_factor(Claim.of(CLAIMS["gaussian"]), 1000, len(thresholds), 1 - 1e-6)
    assert 1.1 < factor < 2
    often, room = detected(factor, thresholds)
    assert often >= 0.95 - room
    assert detected(0.88 * factor, thresholds)[0] < 0.95 - room


def test_more_runs_see_smaller_faults_and_enough_runs_see_the_one_that_is_asked_for():
    claim = Claim.of(CLAIMS["gaussian"])
    factors = [detectable_factor(claim, runs, 20, 1 - 1e-6) for runs in (20, 200, 2000)]
    assert factors == sorted(factors, reverse=True)
    assert math.isinf(factors[0])
    enough = enough_runs(claim, 1.5, 20, 1 - 1e-6)
    assert detectable_factor(claim, enough, 20, 1 - 1e-6) <= 1.5 * 1.01
    assert detectable_factor(claim, enough // 4, 20, 1 - 1e-6) > 1.5
    assert enough_runs(claim, 1.0 + 1e-9, 20, 1 - 1e-6) is None


# --- audits of plans --------------------------------------------------------------------------------------------------

HUBER = sf.Gibbs(sf.losses.Huber(1.0, 1.0, -9, 9), sf.priors.Gaussian(1.0), dimension=2)
PLANS = {
    "noisy-totals": sf.plan(sf.families.BetaBernoulli(), 20, 8.0, 1e-5, mechanism="noisy-statistics"),
    "law": sf.plan(sf.families.BetaBernoulli(6, 12), 20, mechanism="exact"),
    "path": sf.plan(HUBER, 20, 8.0, 1e-5, mechanism="langevin-path", goal="estimate"),
}
RUNS = 400


@functools.cache
def strongest(name):
    return candidates(PLANS[name])[0]


def with_mu(plan, factor):
    """The plan with another claim than its parameters cost."""
    changed = replace(plan.guarantee, curve=sf.Gaussian(factor * plan.guarantee.curve.mu))
    return replace(plan, guarantee=changed)


@pytest.fixture(scope="module")
def results():
    return {name: sf.audit(plan, runs=RUNS) for name, plan in PLANS.items()}


@pytest.mark.parametrize("name", PLANS)
def test_sound_plans_are_not_refuted_and_say_what_was_done(name, results):
    result, plan = results[name], PLANS[name]
    assert result.procedure == plan.procedure == name
    assert not result.broken
    assert result.digest == plan.digest
    assert result.runs == RUNS
    assert 0.2 < result.share <= 1 + 1e-6
    assert result.epsilon <= result.claimed_epsilon
    assert (result.exact_epsilon is None) == (name == "path")
    text = str(result)
    assert [line.split()[0] for line in text.splitlines()][:3] == ["claim", "attack", "runs"]
    assert f"{RUNS:,} on each of the two data sets" in text
    assert "times the claim" in text
    assert "not refuted" in text
    assert result.points
    assert result.pairs > 20


def test_the_same_seed_gives_the_same_audit_and_another_one_another(results):
    again = sf.audit(PLANS["noisy-totals"], runs=RUNS)
    assert again == results["noisy-totals"]
    assert sf.audit(PLANS["noisy-totals"], runs=RUNS, seed=1).points != again.points


def test_half_the_claim_is_refuted_by_sampling_enumeration_and_replay():
    plan = PLANS["noisy-totals"]
    result = sf.audit(with_mu(plan, 0.5), runs=RUNS)
    assert result.broken
    assert result.refuted_by == ATTACKS
    assert "BROKEN" in str(result)
    assert "sampling and enumeration and replay" in result.verdict()
    pair = strongest("noisy-totals")
    law, again = exact(plan, pair), sf.replay(plan, pair, 0)
    half = with_mu(plan, 0.5)
    assert judged(half, None, [law]).refuted_by == ("enumeration",)
    assert judged(half, None, [], [again]).refuted_by == ("replay",)
    assert judged(plan, None, [law], [again]).refuted_by == ()


def test_half_the_claim_of_a_path_is_refuted_by_sampling():
    plan = PLANS["path"]
    result = sf.audit(with_mu(plan, 0.5), runs=RUNS, pairs=[strongest("path")])
    assert "sampling" in result.refuted_by
    assert result.mu > result.claimed_mu
    assert result.share > 1


def test_a_weak_level_does_not_refute_and_the_false_alarm_rate_decides():
    """Scores whose 95 % bound exceeds a claim by little: refuted at a false-alarm rate of 5 %, not at one in a million."""
    rng = np.random.default_rng(8)
    attack = Attack(Neighbours("made up", None, None), "a test", *simulated(rng, 1.0, 2000), np.linspace(-1, 2, 7))
    plan = with_mu(PLANS["noisy-totals"], attack.rates(0.95).mu * 0.99 / PLANS["noisy-totals"].guarantee.curve.mu)
    assert not judged(plan, attack).broken
    assert judged(plan, attack, false_alarm=0.05).refuted_by == ("sampling",)


def test_thresholds_come_from_other_runs_than_those_counted():
    plan, source = PLANS["path"], sf.seeded(5)
    chosen = pilot(plan, strongest("path"), 60, source)
    attack = chosen.attack(80, source)
    assert len(attack.first) == len(attack.second) == 80
    assert np.array_equal(attack.thresholds, chosen.thresholds)
    assert not np.isin(attack.thresholds, np.concatenate([attack.first, attack.second])).any()


def test_the_pilot_and_the_counted_runs_have_streams_of_their_own(monkeypatch):
    """Every run of an audit has its own stream: none of the noisy totals that chose the test is counted again."""
    from sfumato.auditing import runs as module

    drawn = []
    real = module.Trial.releases

    def kept(self, *arguments):
        made = real(self, *arguments)
        drawn.extend(tuple(each.totals) for each in made)
        return made

    monkeypatch.setattr(module.Trial, "releases", kept)
    plan = PLANS["noisy-totals"]
    sf.audit(plan, runs=30, pairs=[strongest("noisy-totals")])
    assert len(drawn) == 2 * (50 + 30)
    assert len(set(drawn)) == len(drawn)


def test_pairs_may_be_given_and_wrong_arguments_are_refused():
    plan = PLANS["noisy-totals"]
    pair = strongest("noisy-totals")
    result = sf.audit(plan, runs=50, pairs=[pair])
    assert (result.pairs, result.pair) == (1, pair.name)
    schema = pair.first.schema
    few = sf.Dataset.from_table(dict.fromkeys(schema.columns, [None] * 3), schema=schema)
    for wrong, words in [
        ({"pairs": [pair, replace(pair, first=few)]}, "got n = 3"),
        ({"pairs": [replace(pair, second=few)]}, "got n = 3"),
        ({"pairs": []}, "pairs must hold"),
        ({"pairs": ["both"]}, "pairs must hold"),
        ({"runs": 19}, "runs must be .*20"),
        ({"level": 1.0}, "level"),
        ({"false_alarm": 0.0}, "false_alarm"),
        ({"false_alarm": 1e-17}, "false_alarm"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            sf.audit(plan, **wrong)
    with pytest.raises(ArgumentError, match=r"sf\.plan"):
        sf.audit(sf.families.BetaBernoulli())
    metric = replace(plan.guarantee, adjacency="metric", curve=sf.Metric(1.0, 0.0, "a distance"))
    with pytest.raises(ArgumentError, match="distance between data sets"):
        sf.audit(replace(plan, guarantee=metric))


def test_default_runs_fall_with_the_records_that_a_chain_reads():
    assert default_runs(PLANS["law"]) == default_runs(PLANS["noisy-totals"]) == 10_000
    path = PLANS["path"]
    steps = dict(path.parameters)["steps"]
    assert default_runs(replace(path, n=10**9)) == 50
    assert default_runs(replace(path, n=100_000)) == min(10_000, max(50, 180_000_000 // (100_000 * steps)))


def test_long_chains_have_fewer_replays_and_a_time_that_is_told_beforehand():
    path = PLANS["path"]
    steps = dict(path.parameters)["steps"]
    assert expected_seconds(PLANS["law"], 10_000) == 0
    assert expected_seconds(replace(path, n=100_000), 1000) == pytest.approx(2 * 1250 * 100_000 * steps / 1e8)
    assert expected_seconds(replace(path, n=100_000), 20) == pytest.approx(2 * 70 * 100_000 * steps / 1e8)
    counts = [_replayed_pairs(replace(path, n=n)) for n in (20, 100_000, 10**8)]
    assert counts == [12, max(2, 180_000_000 // (4 * 100_000 * steps)), 2]
    assert _replayed_pairs(PLANS["law"]) == 12


def test_an_audit_is_written_and_read_back(results):
    for name, result in results.items():
        document = json.loads(json.dumps(result.to_json(), allow_nan=False))
        assert Audit.from_json(document, PLANS[name].guarantee) == result
    document = results["path"].to_json()
    for path, value in [
        (("sfumato",), "release"),
        (("version",), 2),
        (("shown", "mu"), "much"),
        (("shown", "mu"), -1),
        (("shown", "epsilon"), 1e400),
        (("attack", "runs"), 1.5),
        (("points",), [[0.5, 1.5]]),
        (("points",), [0.5]),
        (("broken",), True),
        (("refuted_by",), ["<b>"]),
        (("power", "factor"), "nan"),
    ]:
        forged = json.loads(json.dumps(document))
        *above, last = path
        inner = forged
        for key in above:
            inner = inner[key]
        inner[last] = value
        with pytest.raises(FormatError):
            Audit.from_json(forged, PLANS["path"].guarantee)
        del inner[last]
        with pytest.raises(FormatError):
            Audit.from_json(forged, PLANS["path"].guarantee)


def test_an_attack_that_proves_nothing_says_so():
    empty = judged(with_mu(PLANS["path"], 1.0), None)
    assert (empty.runs, empty.mu, empty.points) == (0, 0.0, ())
    assert "nothing was sampled" in str(empty)
    few = replace(empty, runs=20, power=math.inf, enough=5000)
    assert "no lower bound above 0" in few.bounds()
    assert few.seen() == "20 runs are too few to see even 64 times the claim; 5,000 runs would see 1.5 times"
    assert "would have seen 1.2 times the claim" in replace(few, power=1.2, enough=None).seen()


def test_many_records_do_not_slow_the_choice_of_pairs(monkeypatch):
    """Pairs of a regression are ranked by 128 records; the data sets that are returned have all of them."""
    from sfumato.auditing import candidates as module

    sizes = []
    real = module.separation_of

    def counting(plan):
        sizes.append(plan.n)
        return real(plan)

    monkeypatch.setattr(module, "separation_of", counting)
    plan = replace(PLANS["path"], n=1000)
    pairs = candidates(plan)
    assert sizes == [128]
    assert {pair.first.n for pair in pairs} == {1000}
    assert len(pairs) > 20


def test_an_audit_file_has_the_seed_and_the_version_by_which_it_is_repeated():
    document = sf.audit(PLANS["path"], runs=20, seed=5).to_json()
    assert document["attack"]["seed"] == 5
    assert document["made_by"] == f"Sfumato {sf.__version__}"
    assert sf.audit(PLANS["path"], runs=20, seed=document["attack"]["seed"]).to_json() == document
