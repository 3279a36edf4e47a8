"""A learnt table from rows to release: what is counted, what it costs, and that the release is what its tables lead to."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import sfumato as sf
from learnt_cases import SCHEMA
from sfumato.errors import FormatError
from sfumato.procedures import learnt_parts, noisy_tables


def rows(n: int = 3000, seed: int = 5) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 81, n)
    income = np.where(age < 18, 0.0, rng.gamma(2.0, 12_000.0, n)).clip(0, 100_000)
    return {
        "age": age.tolist(),
        "sex": rng.choice(["f", "m"], n).tolist(),
        "region": rng.choice(["n", "e", "s", "w"], n, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
        "income": income.tolist(),
        "ill": (rng.random(n) < age / 160).tolist(),
    }


MODELS = {
    "all pairs": sf.networks.learn(SCHEMA, bins={"age": 8, "income": [0, 1, 10_000, 30_000, 100_000]}),
    "private bins": sf.networks.learn(SCHEMA),
    "chosen pairs": sf.networks.learn(SCHEMA, bins="uniform", pairs="select", chosen=4, rounds=2),
    "target": sf.networks.learn(SCHEMA, pairs="select", target="ill", chosen=3, rounds=1),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_price_is_that_of_every_part_added_in_squares(model):
    plan = sf.plan(model, 3000, 1.0, 1e-6)
    numbers = plan.parameters
    squares = 0.0
    for part in learnt_parts.parts_of(model, numbers, model.open_pairs[: model.chosen]):
        # A tree of h levels is moved by sqrt(2 h), a table by sqrt(2).
        levels = part.squared_move / 2
        squares += 2 * levels / part.deviation**2
    if model.chosen:
        one = -2 * norm.ppf(1 / (1 + math.exp(2 * numbers.choice)))
        squares += model.chosen * one**2
    assert plan.guarantee.curve.mu == pytest.approx(math.sqrt(squares), rel=1e-9)
    assert plan.guarantee.curve.mu >= math.sqrt(squares) * (1 - 1e-12)
    # The largest mu that (1, 1e-6) admits.
    mu = plan.guarantee.curve.mu
    assert norm.cdf(-1 / mu + mu / 2) - math.e * norm.cdf(-1 / mu - mu / 2) == pytest.approx(1e-6, rel=1e-4)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_release_verifies_and_answers(model):
    data = sf.Dataset.from_table(rows(), schema=SCHEMA)
    release = sf.publish(sf.plan(model, data.n, 3.0, 1e-6), data, randomness=sf.seeded(1))
    release = sf.Release.from_bytes(release.to_bytes()).verify()
    assert release.marginal(["sex", "ill"]).values.sum() == pytest.approx(1, abs=1e-3)
    ends = release.interval(0.9)
    assert (ends[0] <= ends[1]).all()
    assert ends.shape == (2, len(model.labels))
    table = release.synthesize(500, 3)
    assert list(table) == list(SCHEMA.columns)
    assert table["age"].dtype == np.int64
    assert table["age"].min() >= 0
    assert table["age"].max() <= 80
    assert set(table["sex"]) <= {"f", "m"}
    assert table["ill"].dtype == bool
    assert (table["income"] >= 0).all()
    assert (table["income"] <= 100_000).all()


def test_a_forged_part_is_refused():
    data = sf.Dataset.from_table(rows(), schema=SCHEMA)
    release = sf.publish(sf.plan(MODELS["chosen pairs"], data.n, 1.0, 1e-6), data, randomness=sf.seeded(1))
    draws = release.draws
    moved = np.array(draws.totals)
    moved[3] += 0.3
    laws = np.array(draws.published["laws"])
    laws[:4] = laws[:4][::-1]
    chosen = np.array(draws.published["chosen"])
    chosen[1] = chosen[0]
    for forged in (
        replace(draws, totals=moved),
        replace(draws, published={**draws.published, "laws": laws}),
        replace(draws, published={**draws.published, "chosen": chosen}),
        replace(draws, values=draws.values[..., ::-1]),
        replace(draws, totals=None),
    ):
        with pytest.raises(FormatError):
            replace(release, draws=forged).verify()
    plan = {**release.plan, "target": {**release.plan["target"], "epsilon": 5.0}}
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    with pytest.raises(FormatError, match="larger than what its noise was made for"):
        replace(release, plan=plan, plan_digest=hashlib.sha256(text.encode()).hexdigest()).verify()


def test_noise_of_the_tables_has_the_planned_deviation():
    model = MODELS["all pairs"]
    data = sf.Dataset.from_table(rows(), schema=SCHEMA)
    plan = sf.plan(model, data.n, 1.0, 1e-6)
    release = sf.publish(plan, data, randomness=sf.seeded(2))
    exact = model.tally(_encoded(data), model.names)
    parts = learnt_parts.parts_of(model, plan.parameters, ())
    scaled = np.concatenate([np.full(part.size, part.deviation) for part in parts])
    standard = (release.draws.totals - exact) / scaled
    # Mean square of m standard normals: 1 +- sqrt(2/m); five deviations fail once in two million.
    assert abs((standard**2).mean() - 1) < 5 * math.sqrt(2 / len(standard))
    assert noisy_tables.cost(model, data.n, 1, plan.parameters).passes == 1


def _encoded(data: sf.Dataset) -> dict[str, np.ndarray]:
    from sfumato.dataset import rows_of

    return {name: np.concatenate([block[name] for block in rows_of(data).blocks()]) for name in data.schema.columns}


def test_impossible_combinations_are_never_drawn():
    model = sf.networks.learn(
        SCHEMA,
        bins={"age": [0, 15, 40, 80], "income": [0, 1, 30_000, 100_000]},
        impossible=[{"age": "< 15", "ill": True}],
    )
    data = sf.Dataset.from_table(rows(), schema=SCHEMA)
    release = sf.publish(sf.plan(model, data.n, 1.0, 1e-6), data, randomness=sf.seeded(4))
    table = release.synthesize(4000, 1)
    assert not ((table["age"] < 15) & table["ill"]).any()
    assert (table["age"] < 15).any()
    assert release.marginal(["age", "ill"])["0 to 14", True] == 0


def test_missing_cells_are_a_level_where_asked_for():
    table = rows()
    table["income"][:900] = [None] * 900
    model = sf.networks.learn(SCHEMA, missing=["income"])
    data = sf.Dataset.from_table(table, schema=SCHEMA)
    release = sf.publish(sf.plan(model, data.n, 3.0, 1e-6), data, randomness=sf.seeded(4))
    assert release.marginal("income")["missing"] == pytest.approx(0.3, abs=0.03)
    assert np.isnan(release.synthesize(2000, 1)["income"]).mean() == pytest.approx(0.3, abs=0.03)


def test_a_rule_may_name_whole_numbers_that_are_bins_of_their_own():
    schema = sf.Schema({"children": sf.Number(0, 4, integer=True), "single": sf.Boolean(missing=False)})
    model = sf.networks.learn(schema, impossible=[{"children": [2, 3], "single": True}])
    assert model.impossible == ((("children", (2, 3)), ("single", (1,))),)
    with pytest.raises(sf.errors.ArgumentError, match="got 7"):
        sf.networks.learn(schema, impossible=[{"children": [2, 7], "single": True}])
