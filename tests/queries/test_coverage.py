"""90 % intervals hold the truth nine times in ten, through the real plan and the real sampler; naive ones do not."""

from __future__ import annotations

import math
import os

import pytest

import coverage_cases as simulated
import sfumato as sf
from goodness import LEVEL, uniform_p

LONG = os.environ.get("SFUMATO_LONG") == "1"
CELLS = [
    (name, n, epsilon, draws)
    for name in simulated.MODELS
    for n in (100, 1000, 10_000)
    for epsilon in (0.1, 1.0)
    for draws in (1, 10)
]
# In the short form a few cells stand for all: tempered and noisy, one draw and several. A Gamma draw is the dearest.
SHORT = [
    ("Beta-Bernoulli", 100, 1.0, 1),
    ("Beta-Bernoulli", 1000, 0.1, 1),
    ("Dirichlet share", 100, 0.1, 1),
    ("Gamma-Poisson", 100, 0.1, 1),
    ("Gamma-Poisson", 1000, 1.0, 1),
    ("normal mean", 100, 0.1, 1),
    ("normal mean", 1000, 0.1, 10),
]
FEW = {"Beta-Bernoulli": 40, "Dirichlet share": 40, "Gamma-Poisson": 16, "normal mean": 100}
RUNS = {100: 2000, 1000: 2000, 10_000: 500}


def within(share, runs, level=0.9):
    """Whether a share of covered truths is within four Monte Carlo standard errors of its level."""
    return abs(share - level) <= 4 * math.sqrt(level * (1 - level) / runs)


@pytest.mark.planted
@pytest.mark.parametrize(("name", "n", "epsilon", "draws"), CELLS if LONG else SHORT)
def test_intervals_hold_the_truth_nine_times_in_ten_and_naive_ones_are_rejected(name, n, epsilon, draws):
    runs = RUNS[n] if LONG else FEW[name]
    plan, aware, plain = simulated.places(simulated.MODELS[name], n, epsilon, draws, runs)
    share, naive = simulated.coverage(aware), simulated.coverage(plain)
    print(f"{name} n={n} epsilon={epsilon} draws={draws} {plan.mechanism}: {share:.3f}, naive {naive:.3f}")
    assert within(share, runs)
    assert uniform_p(aware) > LEVEL
    if naive < 0.85 - 4 * math.sqrt(0.09 / runs) * (not LONG):
        assert not within(naive, runs)


@pytest.mark.planted
def test_the_check_rejects_a_reader_who_forgets_the_power_or_misreads_the_noise():
    """Planted faults: a power of 1, and a noise three times too small or too large."""
    mean, few = simulated.MODELS["normal mean"], 80 if LONG else 40
    _, forgotten, _ = simulated.places(
        mean, 1000, 0.1, 1, few, mechanism="diffused", wrong=lambda x: x._replace(power=1.0)
    )
    assert not within(simulated.coverage(forgotten), few)
    # Intervals that are too wide hold nearly every truth: 0.08 above the level is four standard errors of 240 runs.
    for factor, runs in ((0.3, few), (3.0, 240)):
        wrong = lambda x, f=factor: x._replace(noise=f * x.noise)
        _, places, _ = simulated.places(mean, 1000, 0.1, 10, runs, mechanism="noisy-statistics", wrong=wrong)
        assert not within(simulated.coverage(places), runs)


families = sf.families
OTHERS = [
    (families.BetaBernoulli(0.5, 2.0), "concentrated", 200, 1.0, 1),
    (families.BetaBernoulli(1, 1, floor=0.05), "exponential", 200, 1.0, 2),
    (families.BetaBinomial(3, 2.0, 2.0), "diffused", 100, 1.0, 1),
    (families.ExponentialRate(2.0, 1.0, 3.0), "diffused", 300, 1.0, 1),
    (families.ExponentialRate(2.0, 1.0, 3.0), "noisy-statistics", 300, 1.0, 1),
    (families.LaplaceScale(1.0, 0.5, 4.0, 5.0), "exponential", 300, 1.0, 1),
    (families.NormalPrecision(3.0, 3.0, 0.0, 4.0), "concentrated", 300, 1.0, 1),
    (families.GammaPoisson(4.0, 1.0, 5), "diffused", 300, 1.0, 1),
    (families.NormalMean(1.0, -4.0, 4.0), "concentrated", 200, 1.0, 1),
    (families.LogitNormal(1.0), "diffused", 200, 1.0, 1),
    # Noisy totals cost the same for any number of draws, so many will be asked for.
    (families.BetaBernoulli(1, 1), "noisy-statistics", 200, 1.0, 1000),
    (families.NormalMean(1.0, -4.0, 4.0), "noisy-statistics", 2000, 1.0, 1000),
]

# Statistics that another entry reads too: Binomial counts as Bernoulli ones, and every law of a duration in one way.
TWICE = {("BetaBinomial", "diffused"), ("ExponentialRate", "diffused"), ("NormalPrecision", "concentrated")}
FEWER = [case for case in OTHERS if (case[0].name, case[1]) not in TWICE]


@pytest.mark.parametrize(
    ("model", "mechanism", "n", "epsilon", "draws"), OTHERS if LONG else FEWER, ids=lambda x: getattr(x, "name", None)
)
def test_other_families_and_mechanisms_hold_the_truth_too(model, mechanism, n, epsilon, draws):
    runs = 1000 if LONG else 10
    _, aware, _ = simulated.places(model, n, epsilon, draws, runs, mechanism=mechanism)
    assert within(simulated.coverage(aware), runs)
    assert uniform_p(aware) > LEVEL
