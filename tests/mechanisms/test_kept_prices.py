"""Plans have the numbers that they had when they were recorded: a faster search must end where the slower one did.

`python tests/mechanisms/test_kept_prices.py` records them anew, which a change of a theorem or of a tolerance asks for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf

FILE = Path(__file__).parent.parent / "fixtures" / "prices.json"
F, G = sf.families, sf.Gibbs
NETWORK = sf.networks.BayesianNetwork({"a": [], "b": ["a"], "c": ["a", "b"]}, {"a": 2, "b": 3, "c": 2})
LOGISTIC = G(sf.losses.Logistic(1.5), sf.priors.Gaussian(2.0), 5)
# (model, n, epsilon, delta, options)
# Searches end within 1e-6 of the boundary, on a log scale; another machine's logarithms may take another way there.
SEARCHED = 2e-6
PLANS: dict[str, tuple[Any, int, float, float, dict[str, Any]]] = {
    "rate, 10 draws": (F.BetaBernoulli(1, 1), 500, 1.0, 1e-6, {"mechanism": "diffused", "draws": 10}),
    "rate, 3 draws, own prior": (F.BetaBernoulli(6, 12), 60, 0.3, 1e-7, {"mechanism": "diffused", "draws": 3}),
    "rate, strength": (F.BetaBernoulli(2, 3), 400, 1.0, 1e-6, {"mechanism": "concentrated", "draws": 2}),
    "rate, one draw": (F.BetaBernoulli(1, 1), 5_000_000, 1.0, 1e-6, {"mechanism": "diffused", "allow_weak": True}),
    "shares, 10 draws": (F.DirichletCategorical(["a", "b", "c"]), 1_000, 1.0, 1e-6, {"mechanism": "diffused", "draws": 10}),
    "counts, 5 draws": (F.GammaPoisson(2.0, 0.5, 20), 1_000, 1.0, 1e-6, {"mechanism": "diffused", "draws": 5}),
    "durations, 5 draws": (F.ExponentialRate(2.0, 4.0, 10.0), 1_000, 1.0, 1e-6, {"mechanism": "concentrated", "draws": 5}),
    "network, 2 draws": (NETWORK, 1_000, 1.0, 1e-6, {"mechanism": "diffused", "draws": 2}),
    "network, noisy": (NETWORK, 1_000, 1.0, 1e-6, {"mechanism": "noisy-statistics"}),
    "normal mean": (F.NormalMean(10.0, 0, 100, mean=50.0, precision=0.01), 900, 1.0, 1e-6, {"draws": 10}),
    "trimmed durations": (F.ExponentialRate(2.0, 1.0, 4.0, lower=0.5, upper=3.0), 90, 1.0, 0.0, {"mechanism": "exponential"}),
    "chain": (LOGISTIC, 4_000, 1.0, 1e-6, {"mechanism": "langevin", "draws": 2}),
    "exact regression": (LOGISTIC, 4_000, 1.0, 1e-6, {"mechanism": "exact"}),
    "shaped path": (LOGISTIC, 4_000, 1.0, 1e-6, {"mechanism": "shaped-path", "goal": "estimate"}),
}  # fmt: skip


def priced(name: str) -> dict[str, Any]:
    """The numbers of the plan and of its curve, and the curve's name."""
    model, n, epsilon, delta, options = PLANS[name]
    plan = sf.plan(model, n, epsilon, delta, **options)
    document = plan.guarantee.curve.to_json()
    numbers = {**document, **document.get("parameters", {}), **plan.parameters.to_json()}
    return {
        "curve": document.get("name", document["curve"]),
        # How many noisy totals are released is no price.
        "numbers": {key: value for key, value in numbers.items() if isinstance(value, int | float) and key != "totals"},
    }


@pytest.mark.planted
@pytest.mark.parametrize("name", PLANS)
def test_a_plan_has_the_price_that_was_recorded(name):
    now, then = priced(name), json.loads(FILE.read_text())[name]
    assert now["curve"] == then["curve"]
    assert now["numbers"] == pytest.approx(then["numbers"], rel=SEARCHED)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: priced(name) for name in PLANS}, indent=1) + "\n")
