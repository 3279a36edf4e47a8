"""What is expected without privacy is never worse than with it: random plans of every family and mechanism."""

import random

import pytest

import sfumato as sf
from effort import sized
from sfumato.errors import SfumatoError

F = sf.families
FAMILIES = [
    lambda rng: F.BetaBernoulli(rng.uniform(0.5, 9), rng.uniform(0.5, 9)),
    lambda rng: F.BetaBernoulli(2, 3, floor=rng.choice([0.01, 0.1])),
    lambda rng: F.BetaBinomial(rng.randint(1, 6), 2.0, 3.0),
    lambda rng: F.DirichletCategorical(list("abcd"), rng.uniform(0.5, 5)),
    lambda rng: F.GammaPoisson(rng.uniform(1, 9), rng.uniform(0.5, 3), rng.randint(1, 12)),
    lambda rng: F.ExponentialRate(rng.uniform(3, 30), rng.uniform(1, 30), rng.uniform(1, 9)),
    lambda rng: F.NormalMean(rng.uniform(0.3, 4), -rng.uniform(1, 5), rng.uniform(1, 5)),
    lambda rng: F.LogitNormal(rng.uniform(0.2, 3)),
    lambda rng: F.BoundedMean(0, rng.uniform(0.1, 100)),
]


def random_plans(count, seed):
    """Plans with public numbers at random; what cannot be planned is passed over."""
    rng, plans = random.Random(seed), []
    while len(plans) < count:
        model = rng.choice(FAMILIES)(rng)
        if rng.random() < 0.4:
            model = sf.grouped(model, "g", list(range(rng.choice([2, 5, 20]))))
        mechanism = rng.choice(["auto", "noisy-statistics", "diffused"]) if model.priced else "auto"
        options = {"goal": model.goal, "mechanism": mechanism} | ({"draws": rng.choice([1, 3])} if model.drawn else {})
        n, epsilon = rng.choice([20, 200, 5_000, 100_000]), rng.choice([0.05, 0.3, 1.0, 5.0])
        try:
            plans.append(sf.plan(model, n, epsilon, 1e-6, **options))
        except SfumatoError:
            continue
    return plans


@pytest.mark.parametrize("seed", range(sized(2, 4)))
def test_without_privacy_is_never_worse_than_with(seed):
    plans = random_plans(sized(8, 50), seed)
    kinds = {type(plan.model).__name__ for plan in plans}
    assert len(kinds) > 2
    for plan in plans:
        assert plan.expected.without_privacy <= plan.expected.value, plan
    # Privacy costs something in most of them.
    assert sum(plan.expected.without_privacy < plan.expected.value for plan in plans) > len(plans) / 3
