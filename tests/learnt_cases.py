"""Small learnt tables whose records are known, for the tests of what a release says about itself."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.queries import learned_tables
from sfumato.queries.learned_tables import LearnedTable

N = 6000
SCHEMA = sf.Schema(
    {
        "age": sf.Number(0, 80, integer=True),
        "sex": sf.Category(["f", "m"], missing="f"),
        "region": sf.Category(["n", "e", "s", "w"], missing="n"),
        "income": sf.Number(0, 100_000),
        "ill": sf.Boolean(missing=False),
    },
    name="made-up",
    unit="person",
)
BINS = {"age": [0, 15, 30, 45, 60, 80], "income": [0, 1, 10_000, 20_000, 40_000, 100_000]}
MODELS = {
    "all": sf.networks.learn(SCHEMA, bins=BINS),
    "chosen": sf.networks.learn(
        SCHEMA, bins=BINS, pairs="select", chosen=3, rounds=2, leave_out=[["sex", "region"]], missing=["income"]
    ),
    "private bins": sf.networks.learn(SCHEMA, target="ill"),
    "rule": sf.networks.learn(SCHEMA, bins=BINS, impossible=[{"age": "< 15", "ill": True}]),
}


@cache
def rows(seed: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 81, N)
    income = np.where(age < 15, 0.0, rng.gamma(1 + age / 30, 9_000.0, N)).clip(0, 100_000)
    return {
        "age": age,
        "sex": rng.choice(["f", "m"], N),
        "region": rng.choice(["n", "e", "s", "w"], N, p=[0.4, 0.3, 0.2, 0.1]),
        "income": income,
        "ill": rng.random(N) < np.where(age < 15, 0.0, age / 120),
    }


@cache
def released(name: str = "all", seed: int = 1, epsilon: float = 1.0) -> sf.Release:
    data = sf.Dataset.from_table(rows(), schema=SCHEMA)
    return sf.publish(sf.plan(MODELS[name], N, epsilon, 1e-6), data, randomness=sf.seeded(seed))


def table(name: str = "all", seed: int = 1, epsilon: float = 1.0) -> LearnedTable:
    release = released(name, seed, epsilon)
    return learned_tables.read(release.draws, release.plan, release.schema)


def true_shares(columns: tuple[str, ...]) -> np.ndarray:
    """The records' own shares under the public bins."""
    codes, shape = [], []
    for name in columns:
        values, levels = rows()[name], SCHEMA.columns[name].levels
        if levels is None:
            edges = np.array(BINS[name], dtype=float)
            codes.append(np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2))
            shape.append(len(edges) - 1)
        else:
            codes.append(np.array([list(levels).index(value) for value in values.tolist()]))
            shape.append(len(levels))
    flat = np.ravel_multi_index(codes, shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / N


def all_pairs() -> list[tuple[str, str]]:
    return list(combinations(SCHEMA.columns, 2))
