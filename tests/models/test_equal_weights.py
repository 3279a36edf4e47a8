"""Equal survey weights of any size give what no weights give, for every family that takes weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from family_cases import CASES

import sfumato as sf
from effort import sized
from sfumato.errors import ArgumentError

N = 4_000
MODELS = {
    **{name: (case.model, case.schema) for name, case in CASES.items()},
    "BoundedMean": (sf.families.BoundedMean(0, 20), CASES["NormalMean"].schema),
    "Quantiles": (sf.families.Quantiles([0.5], 0, 20), CASES["NormalMean"].schema),
    "counts by group": (
        sf.grouped(sf.families.GammaPoisson(6, 2, 20), "g", ["a", "b"]),
        sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 20, integer=True)}),
    ),
}
REFUSED = {"Histogram", "CrossTable", "Quantiles"}
# Hardly any noise: what is left is what weights do.
MU = 1e4
NO_INTERVAL = ("Finite", "GaussianMean", "MultivariateNormal")


@cache
def records_of(name: str):
    """Records of one parameter from the prior; of a bounded mean those of a normal one."""
    rng = np.random.default_rng(11)
    if name == "counts by group":
        return {"g": np.array(["a", "b"])[rng.integers(0, 2, N)], "x": np.clip(rng.poisson(3.0, N), 0, 20)}
    case = CASES["NormalMean" if name in ("BoundedMean", "Quantiles") else name]
    return case.records(rng, case.truth(rng), N)


def released(name: str, weight: float | None, upper: float = 1.0) -> sf.Release:
    """The records with this weight each, or with none, released with hardly any noise."""
    model, schema = MODELS[name]
    declared = None if weight is None else sf.Weight("w", upper, fixed=True)
    if declared is not None:
        schema = sf.Schema.from_json({**schema.to_json(), "weight": declared.to_json()})
    goal = {} if model.drawn else {"goal": "estimate"}
    plan = sf.plan(model, N, target=sf.Gaussian(MU), mechanism="noisy-statistics", weight=declared, allow_weak=True,
                   draws=1_000 if name in NO_INTERVAL else 1, **goal)  # fmt: skip
    records = records_of(name)
    weights = None if weight is None else np.full(N, weight)
    if not isinstance(records, dict):
        data = sf.Dataset.from_arrays(records, schema=schema, sample_weight=weights)
    else:
        data = sf.Dataset.from_table({**records, **({} if weight is None else {"w": weights})}, schema=schema)
    return sf.publish(plan, data, randomness=sf.seeded(7))


@cache
def unweighted(name: str) -> np.ndarray:
    return ends_of(name, released(name, None))


def ends_of(name: str, release: sf.Release) -> np.ndarray:
    """The ends of intervals; of a family without intervals quantiles of the draws, which hardly any noise moves."""
    drawn = name in NO_INTERVAL
    return np.quantile(release.draws.pooled(), [0.05, 0.95], axis=0) if drawn else release.interval()


def test_every_family_is_here_and_is_served_or_refused():
    names = {type(model).__name__ for model, _ in MODELS.values()}
    assert {kind.__name__ for kind in sf.families.TABLE.values()} - names <= {"Quantile"}
    for name, (model, _) in MODELS.items():
        if name in REFUSED:
            with pytest.raises(ArgumentError, match="weights are served for"):
                sf.plan(model, N, 1.0, 1e-6, weight=sf.Weight("w", 1.0, fixed=True))


@pytest.mark.planted
@pytest.mark.parametrize("size", sized([37.0], [1e-6, 1.0, 37.0]))
@pytest.mark.parametrize("name", [name for name in MODELS if name not in REFUSED])
def test_equal_weights_that_are_the_largest_change_nothing(name, size):
    low, high = unweighted(name)
    ends = ends_of(name, released(name, size, size))
    room = 0.2 if name in NO_INTERVAL else 0.03
    assert (np.abs(ends - [low, high]) <= room * (high - low)).all()


@pytest.mark.parametrize("share", sized([1 / 3], [0.25, 1 / 3]))
@pytest.mark.parametrize("name", [name for name in MODELS if name not in REFUSED])
def test_equal_weights_below_the_largest_give_the_same_estimate(name, share):
    """The weighted size stands for the number of records, so intervals are wider by at most the root of upper over weight."""
    low, high = unweighted(name)
    release = released(name, 5.0 * share, 5.0)
    estimate = release.mean() if name in NO_INTERVAL else release.estimate()
    below, above = ends_of(name, release)
    assert ((low <= estimate) & (estimate <= high)).all()
    ratio = (above - below) / (high - low)
    assert (ratio >= 0.8).all()
    assert (ratio <= 1.2 / np.sqrt(share)).all()
