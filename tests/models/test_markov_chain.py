"""Markov chains: what is counted of a trajectory, and the whole path from a plan to a verified release."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato import procedures
from sfumato.engines.codes import CodesEngine
from sfumato.errors import ArgumentError
from sfumato.models.networks import MarkovChain

STEPS = sf.Schema({f"t{k}": sf.Category(["x", "y", "end"], missing="end") for k in range(4)}, name="walks")
WALK = MarkovChain(["x", "y"], record="trajectory", length=4, end="end")


def test_trajectories_are_counted_up_to_their_end():
    walks = [("x", "y", "end", "x"), ("end", "x", "x", "x"), ("x", "x", "x", "x"), ("y", "?", "x", "x")]
    data = sf.Dataset.from_table({f"t{k}": [w[k] for w in walks] for k in range(4)}, schema=STEPS)
    found = dict(zip(WALK.labels, CodesEngine(data, WALK.columns(STEPS)).totals(WALK.tally), strict=True))
    assert found == {
        "first=x": 2, "first=y": 1, "first=end": 1,
        "next=x | x": 3, "next=y | x": 1, "next=end | x": 0, "next=x | y": 0, "next=y | y": 0, "next=end | y": 2,
    }  # fmt: skip


def test_one_trajectory_moves_the_counts_within_reach():
    kinds = list(itertools.product(range(3), repeat=4))
    each = [WALK.tally({f"t{k}": np.array([w[k]]) for k in range(4)}, list(WALK.columns(STEPS))) for w in kinds]
    moved = max(np.linalg.norm(x - y) for x, y in itertools.combinations(each, 2))
    assert math.isclose(moved, WALK.sensitivity, rel_tol=1e-12)
    assert moved <= WALK.sensitivity


@pytest.mark.parametrize("chain", [WALK, MarkovChain(["x", "y", "end"])])
def test_chains_plan_publish_and_verify(chain):
    rng = np.random.default_rng(2)
    count = 4 if chain.record == "trajectory" else 2
    schema = sf.Schema({f"t{k}": sf.Category(["x", "y", "end"], missing="end") for k in range(count)}, name="walks")
    steps = {f"t{k}": np.array(["x", "y", "end"])[rng.integers(0, 3, 300)] for k in range(count)}
    data = sf.Dataset.from_table(steps, schema=schema)
    for mechanism in ("diffused", "concentrated", "noisy-statistics"):
        release = sf.publish(sf.plan(chain, 300, 4.0, 1e-4, mechanism=mechanism), data).verify()
        assert release.guarantee.delta(4.0) <= 1e-3
    with pytest.raises(ArgumentError, match="Category"):
        chain.columns(sf.Schema({"b": sf.Boolean(missing=False)}))


def test_what_a_chain_is_expected_to_give_is_what_simulated_releases_give():
    n, rng = 100, np.random.default_rng(11)
    plan = sf.plan(WALK, n, target=sf.Renyi([4.0], [0.1]), mechanism="noisy-statistics")
    truths = WALK.sketch(rng, np.tile(WALK.prior, (200, 1)))
    found = []
    for k, truth in enumerate(truths):
        # Rows of cumulated chances: of the first state, then of the state after x and after y; after the end comes the end.
        first, (after_x, after_y) = np.cumsum(truth[:3]), np.cumsum(WALK.tables[1].of(truth)[:2], axis=1)
        walks = np.empty((n, 4), dtype=int)
        walks[:, 0] = np.searchsorted(first[:2], rng.random(n))
        for t in range(1, 4):
            chances = rng.random(n)
            moved = [np.searchsorted(after[:2], chances) for after in (after_x, after_y)]
            walks[:, t] = np.choose(walks[:, t - 1], [*moved, np.full(n, 2)])
        levels = np.array(["x", "y", "end"])[walks]
        data = sf.Dataset.from_table({f"t{t}": levels[:, t] for t in range(4)}, schema=STEPS)
        # What publish draws, without pricing the plan anew for every data set.
        drawn = (
            procedures.named(plan.procedure)
            .carry_out(plan.task, CodesEngine(data, WALK.columns(STEPS)), sf.seeded(k))
            .pooled()[0]
        )
        found.append(float(WALK.distance(drawn, truth)))
    assert abs(np.quantile(found, 0.9) / plan.expected.value - 1) < 0.15


@pytest.mark.parametrize(
    ("chain", "levels"),
    [
        (WALK, ["x", "y"]),  # the end is missing
        (WALK, ["y", "x", "end"]),
        (WALK, ["x", "y", "end", "z"]),
        (MarkovChain(2), ["a", "b", "c"]),  # a third level would be counted as no state
        (MarkovChain(3), ["a", "b"]),
    ],
)
def test_columns_whose_levels_are_not_the_states_are_refused(chain, levels):
    columns = {f"s{k}": sf.Category(levels, missing=levels[0]) for k in range(chain._steps + 1)}
    with pytest.raises(ArgumentError, match="levels are the chain's states"):
        chain.columns(sf.Schema(columns, name="walks", unit="person"))
