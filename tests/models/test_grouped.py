"""Models by group: group sizes are private, two groups pay, and their number does not enter the price."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from effort import sized
from goodness import LEVEL, uniform_p
from grid_oracle import hockey_stick, normalised
from pricing import family_price
from sfumato.errors import ArgumentError, MechanismRefused
from sfumato.models import families

REGIONS = ["north", "south", "west"]
SCHEMA = sf.Schema(
    {"region": sf.Category(REGIONS, missing=REGIONS[0]), "sick": sf.Boolean(missing=False),
     "size": sf.Category(["s", "m", "l"], missing="s"), "age": sf.Number(0, 80)},
    name="survey",
    unit="patient",
)  # fmt: skip
N = 600


def schema_for(target: str) -> sf.Schema:
    return sf.Schema(dict(SCHEMA.columns), target=target, name="survey", unit="patient")


def survey(target: str, seed: int = 1) -> sf.Dataset:
    generator = np.random.default_rng(seed)
    region = generator.choice(3, N, p=[0.6, 0.3, 0.1])
    table = {
        "region": [REGIONS[i] for i in region],
        "sick": generator.random(N) < np.array([0.2, 0.5, 0.7])[region],
        "size": generator.choice(["s", "m", "l"], N),
        "age": 20 + 20 * region + generator.uniform(-5, 5, N),
    }
    return sf.Dataset.from_table(table, schema=schema_for(target))


RATES = sf.grouped(sf.families.BetaBernoulli(2, 3), "region", REGIONS)
SIZES = sf.grouped(sf.families.DirichletCategorical(["s", "m", "l"], 1.5), "region", REGIONS)


def test_the_price_does_not_grow_with_the_number_of_groups():
    plans = []
    for groups in (2, 20, 200):
        model = sf.grouped(sf.families.BetaBernoulli(2, 3), "region", list(range(groups)))
        plans.append(sf.plan(model, 10_000, 1.0, 1e-6, mechanism="diffused"))
    assert plans[0].guarantee.curve == plans[1].guarantee.curve == plans[2].guarantee.curve
    assert plans[0]["power"] == plans[2]["power"]


@pytest.mark.planted
@pytest.mark.parametrize(("alpha", "power"), [((0.7, 1.3), 0.6), ((2.0, 0.4), 1.0)])
def test_the_price_covers_every_neighbouring_pair_of_two_groups(alpha, power):
    """Brute force: all tables of 2 bits in 2 groups, one record replaced; two independent Betas, by quadrature."""
    model = sf.grouped(sf.families.BetaBernoulli(*alpha), "g", [0, 1])
    n = 2
    plan = sf.plan(model, n, 3.0, 1e-2, mechanism="diffused", allow_weak=True)
    price = families.from_json(model.to_json())
    curve = family_price(price, n, 1, power).curve
    x = np.linspace(-60, 60, 2401)
    records = list(itertools.product((0, 1), (0, 1)))

    def cells(data):
        counts = np.zeros((2, 2))
        for group, bit in data:
            counts[group, bit] += 1
        return np.array(alpha) + power * counts[:, ::-1]

    def density(a, b):
        return normalised(-a * np.logaddexp(0, -x) - b * np.logaddexp(0, x), x)

    worst = dict.fromkeys((0.2, 0.7, 1.5), 0.0)
    for others in itertools.combinations_with_replacement(records, n - 1):
        for first, second in itertools.permutations(records, 2):
            p, q = cells([*others, first]), cells([*others, second])
            changed = [g for g in (0, 1) if not np.array_equal(p[g], q[g])]
            for epsilon in worst:
                if len(changed) == 1:
                    g = changed[0]
                    found = hockey_stick(density(*p[g]), density(*q[g]), x, epsilon)
                else:
                    found = product_hockey_stick(p, q, epsilon)
                worst[epsilon] = max(worst[epsilon], found)
    for epsilon, found in worst.items():
        assert curve.delta(epsilon) >= found * (1 - 1e-6)
        # A single group's charge, Beta(a + r, b) against Beta(a, b), would be too little.
        single = hockey_stick(density(alpha[0] + power, alpha[1]), density(*alpha), x, epsilon)
        assert single < found
    assert plan.guarantee.epsilon(1e-2) <= 3.0


NODES, WEIGHTS = np.polynomial.legendre.leggauss(240)


def product_hockey_stick(p, q, epsilon):
    """Two independent Betas against two others, on a product of Gauss-Legendre rules in logit coordinates."""
    x = 40 * NODES
    logs = []
    for pair in (p, q):
        parts = [
            a * -np.logaddexp(0, -x) + b * -np.logaddexp(0, x) - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b)
            for a, b in pair
        ]
        logs.append(parts[0][:, None] + parts[1][None, :])
    gap = np.maximum(np.exp(logs[0]) - math.exp(epsilon) * np.exp(logs[1]), 0)
    return float((40 * WEIGHTS) @ gap @ (40 * WEIGHTS))


@pytest.mark.planted
def test_draws_follow_each_groups_posterior():
    data = survey("sick")
    # Counts that weigh half or twice as much give distribution functions 0.08 apart: 4,000 draws reject them surely.
    size, wrong = sized((4_000, (0.5, 2.0)), (12_000, (0.7, 1.3)))
    plan = sf.plan(RATES, N, mechanism="exact", draws=size)
    draws = sf.publish(plan, data, randomness=sf.seeded(5)).draws.values[0]
    assert draws.shape == (size, 3)
    generator = np.random.default_rng(1)
    region = generator.choice(3, N, p=[0.6, 0.3, 0.1])
    sick = generator.random(N) < np.array([0.2, 0.5, 0.7])[region]
    for group in range(3):
        ones, count = sick[region == group].sum(), (region == group).sum()
        law = (2 + ones, 3 + count - ones)
        assert uniform_p(stats.beta.cdf(draws[:, group], *law)) > LEVEL
        for factor in wrong:
            assert uniform_p(stats.beta.cdf(draws[:, group], factor * law[0], factor * law[1])) < LEVEL


@pytest.mark.parametrize("mechanism", ["diffused", "concentrated", "noisy-statistics", "auto"])
def test_histograms_by_group_are_released_whole(mechanism, tmp_path):
    plan = sf.plan(SIZES, N, 1.0, 1e-6, mechanism=mechanism)
    release = sf.publish(plan, survey("size"), randomness=sf.seeded(2))
    assert release.draws.shape == (1, 1, 3, 3)
    assert release.draws.labels[3] == "region=south: s"
    np.testing.assert_allclose(release.draws.values.sum(axis=-1), 1.0, rtol=1e-12)
    release.save(tmp_path / "x.sfumato")
    assert sf.load(tmp_path / "x.sfumato").plan == release.plan


def test_means_by_group_come_from_noisy_sizes_and_sums():
    model = sf.grouped(sf.families.BoundedMean(0, 80), "region", REGIONS)
    plan = sf.plan(model, N, 2.0, 1e-6, goal="estimate")
    stream = sf.seeded(3)
    found = np.array([sf.publish(plan, survey("age"), randomness=stream.spawn()).mean() for _ in range(200)])
    np.testing.assert_allclose(found.mean(axis=0), [20, 40, 60], atol=2.5)
    # The middle group has 175 of 600 records; a group of average size has 200, and the middle of the bounds as its mean.
    assert found[:, 1].std() == pytest.approx(plan.expected.value * 200 / 175, rel=0.2)


def test_what_no_theorem_prices_is_refused_by_name():
    model = sf.grouped(sf.families.BetaBinomial(4), "region", REGIONS)
    for mechanism in ("exact", "diffused", "concentrated", "exponential"):
        with pytest.raises(MechanismRefused, match="noisy-statistics"):
            sf.plan(model, N, 1.0, 1e-6, mechanism=mechanism)
    assert sf.plan(model, N, 1.0, 1e-6).mechanism == "noisy-statistics"


def test_truncated_rates_by_group_are_pure():
    model = sf.grouped(sf.families.BetaBernoulli(1, 1, floor=0.1), "region", REGIONS)
    plan = sf.plan(model, N, 1.0, 0.0)
    assert plan.mechanism == "exponential"
    assert plan["power"] == pytest.approx(1 / (2 * math.log(9)), rel=1e-6)
    values = sf.publish(plan, survey("sick")).draws.values
    assert values.min() >= 0.1
    assert values.max() <= 0.9


WRONG = [
    (lambda: sf.grouped(3, "region", REGIONS), "sf.families"),
    (lambda: sf.grouped(sf.families.Quantile(0.5, [1.0, 2.0]), "region", REGIONS), "sf.families"),
    (lambda: sf.grouped(RATES, "region", REGIONS), "sf.families"),
    (lambda: sf.grouped(sf.families.BetaBernoulli(), "region", ["a"]), "two different"),
    (lambda: sf.grouped(sf.families.BetaBernoulli(), "region", ["a", "a"]), "two different"),
    (lambda: sf.grouped(sf.families.BetaBernoulli(), "age", REGIONS).columns(SCHEMA), "Category or Boolean"),
    (lambda: sf.grouped(sf.families.BetaBernoulli(), "region", REGIONS[::-1]).columns(SCHEMA), "same order"),
    (lambda: RATES.with_public({"region": ["north"], "sick": [1], "size": ["s"], "age": [3]}, schema=SCHEMA), "before"),
]


@pytest.mark.parametrize(("call", "said"), WRONG)
def test_misuse_is_refused(call, said):
    with pytest.raises(ArgumentError, match=said):
        call()


def test_the_document_reads_back():
    for model in (RATES, SIZES):
        assert families.from_json(model.to_json()) == model
