"""What a plan of a learnt table says of its counts holds for the counts that are released; rules and groups are named."""

from __future__ import annotations

import math
import re

import numpy as np

import sfumato as sf
from effort import sized
from sfumato.procedures import learnt_parts
from sfumato.queries import learned_notes

SCHEMA = sf.Schema(
    {
        "age": sf.Number(0, 79, integer=True),
        "sex": sf.Category(["f", "m"], missing="f"),
        "region": sf.Category(["n", "e", "s", "w"], missing="n"),
        "ill": sf.Boolean(missing=False),
    },
    name="made-up",
)
BINS = {"age": [0, 15, 30, 45, 60, 79]}


def notes_of(model: sf.networks.LearnedNetwork, n: int = 2_000, epsilon: float = 1.0) -> dict[str, str]:
    plan = sf.plan(model, n, epsilon, 1e-6)
    return dict(learned_notes.notes(model, n, plan.parameters, plan.guarantee.curve.mu))


def test_a_count_lies_within_the_stated_width_nine_times_in_ten():
    """In the table of median noise, over releases of the same rows."""
    model = sf.networks.learn(SCHEMA, BINS)
    plan = sf.plan(model, 400, 1.0, 1e-6)
    said = re.search(r"typical table of (\d+) cells .*? \+/- (\d+) \(90 %\), and (\d+) records", str(plan))
    assert said is not None
    cells, half, average = (int(each) for each in said.groups())
    assert average == round(400 / cells)
    parts = learnt_parts.parts_of(model, plan.parameters, ())
    deviations = sorted(part.deviation for part in parts)
    # A normal lies within 1.645 deviations with probability 0.9; the printed number is rounded to a whole one.
    assert abs(half - 1.6449 * deviations[(len(deviations) - 1) // 2]) <= 0.5
    assert cells in {part.size for part in parts if part.deviation == deviations[(len(deviations) - 1) // 2]}
    rng = np.random.default_rng(1)
    rows = {
        "age": rng.integers(0, 80, 400).tolist(),
        "sex": rng.choice(["f", "m"], 400).tolist(),
        "region": rng.choice(list("nesw"), 400).tolist(),
        "ill": (rng.random(400) < 0.3).tolist(),
    }
    data = sf.Dataset.from_table(rows, schema=SCHEMA)
    place = next(k for k, part in enumerate(parts) if part.size == cells)
    first = sum(part.size for part in parts[:place])
    exact = model.tally(_encoded(data), model.names)[first : first + cells]
    inside, runs = 0, sized(15, 100)
    for seed in range(runs):
        release = sf.publish(plan, data, randomness=sf.seeded(seed))
        inside += int((np.abs(release.draws.totals[first : first + cells] - exact) <= half).sum())
    # Counts have independent noise: five standard deviations of a share of 0.9, and what rounding the width by half a count
    # moves it by, at the density 0.1031 of a standard normal at 1.645 on either side. One deviation would hold 68 %.
    count, rounding = runs * cells, 2 * 0.1031 * 0.5 / parts[place].deviation
    assert abs(inside / count - 0.9) < 5 * math.sqrt(0.09 / count) + rounding


def _encoded(data: sf.Dataset) -> dict[str, np.ndarray]:
    from sfumato.dataset import rows_of

    return {name: np.concatenate([block[name] for block in rows_of(data).blocks()]) for name in data.schema.columns}


def test_what_has_no_interval_is_named():
    assert "of more columns a share has none" in notes_of(sf.networks.learn(SCHEMA, BINS))["intervals"]
    apart = notes_of(sf.networks.learn(SCHEMA, BINS, leave_out=[["age", "region"]]))
    assert "not counted together: age, region." in apart["intervals"]
    chosen = notes_of(sf.networks.learn(SCHEMA, BINS, pairs="select", chosen=2))
    assert chosen["intervals"].startswith("for shares of one column and of the pairs that are chosen")
    assert chosen["tables"].startswith("4 single columns and 2 of 6 pairs, which are chosen in 2 rounds;")


def test_shares_of_the_price_sum_to_all_of_it():
    notes = notes_of(sf.networks.learn(SCHEMA, "quantiles", pairs="select", chosen=3))
    shares = [int(each) for each in re.findall(r"(\d+) %", notes["charged"])]
    assert abs(sum(shares) - 100) <= 2  # each is rounded
    assert len(shares) == 4
    assert notes["bins"].endswith("age (10)")
    assert "charged" not in notes_of(sf.networks.learn(SCHEMA, BINS))


def test_rules_are_in_words_and_little_information_is_said():
    rules = [{"age": "< 15", "ill": True}, {"sex": "m", "region": ["n", "w"]}]
    notes = notes_of(sf.networks.learn(SCHEMA, BINS, impossible=rules, missing=["sex"]))
    assert notes["impossible"] == "no record has age=[0, 15) and ill=True; no record has sex=m and region=n or w"
    assert notes["missing"] == "a level of its own in sex; in other columns as the schema declares"
    assert "Little is known of single cells" in notes_of(sf.networks.learn(SCHEMA, BINS), 100, 0.2)["tables"]
    assert learned_notes.notes(sf.families.BetaBernoulli(1, 1), 100, {}, 1.0) == []
