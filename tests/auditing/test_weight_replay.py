"""Record and replay of weighted records: a replaced record, with its weight, moves no part by more than is declared."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from effort import sized
from sfumato.auditing.pairs import Neighbours

N, UPPER, PAIRS = 24, 8.0, 200
LEVELS = ("a", "b", "c")
WEIGHT = sf.Weight("w", UPPER, fixed=True)
COLUMNS = {"x": sf.Number(0, 10), "level": sf.Category(list(LEVELS), missing=LEVELS[0]), "y": sf.Boolean(missing=False)}
SCHEMA = sf.Schema(COLUMNS, target="y", weight=WEIGHT)
REGRESSION = sf.regression("logistic", SCHEMA, ["x", "level"])
PLANS = {
    "noisy-totals, mean": (sf.families.BoundedMean(0, 10), {}, SCHEMA.only(["x"])),
    "noisy-totals, counts": (sf.families.GammaPoisson(2, 1, 10), {}, SCHEMA.only(["x"])),
    "noisy-totals, rates by group": (sf.grouped(sf.families.BetaBernoulli(1, 1), "level", LEVELS), {}, SCHEMA),
    "path": (REGRESSION, {"mechanism": "langevin-path", "goal": "estimate", "steps": 3}, SCHEMA),
    "shaped-path": (REGRESSION, {"mechanism": "shaped-path", "goal": "estimate", "steps": 3}, SCHEMA),
}
ODD_WEIGHTS = [0.0, UPPER, UPPER / 3, 1e-9, -1.0, 1e300, float("nan"), "heavy", None]


def random_record(rng) -> dict:
    """A record with an ordinary weight, or with an odd one."""
    weight = rng.uniform(0, UPPER) if rng.random() < 0.5 else ODD_WEIGHTS[rng.integers(len(ODD_WEIGHTS))]
    x = rng.choice([0.0, 10.0, rng.uniform(0, 10)])
    return {"x": x, "level": LEVELS[rng.integers(3)], "y": bool(rng.integers(2)), "w": weight}


def pairs(schema: sf.Schema, count: int):
    rng = np.random.default_rng(17)
    for _ in range(count):
        records = [random_record(rng) for _ in range(N)]
        sides = []
        for first in (records[0], random_record(rng)):
            table = {name: [row[name] for row in [first, *records[1:]]] for name in (*schema.columns, "w")}
            sides.append(sf.Dataset.from_table(table, schema=schema))
        yield Neighbours("a weighted record is replaced", *sides)


@pytest.mark.parametrize("name", PLANS)
def test_no_pair_of_weighted_records_exceeds_what_is_declared(name):
    model, options, schema = PLANS[name]
    plan = sf.plan(model, N, 200.0, 1e-2, weight=WEIGHT, allow_weak=True, **options)
    for seed, pair in enumerate(pairs(schema, sized(PAIRS // 5, PAIRS))):
        replayed = sf.replay(plan, pair, seed=seed)
        assert replayed.holds, str(replayed)
