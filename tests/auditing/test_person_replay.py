"""Record and replay for persons: tables in which the rows of one person are replaced by others under the same id.

No number that meets randomness moves by more than is declared for one record, and nothing else depends on the rows of one person:
how many there are, whether they can be read, how the id is spelt.
"""

from __future__ import annotations

import numpy as np
import pytest
from person_replays import MOST, PERSON_CASES, PERSONS
from replay_cases import CASES, NORM, N, model_of

import sfumato as sf
from effort import sized
from sfumato import procedures
from sfumato.auditing.neighbours import random_pairs
from sfumato.auditing.person_pairs import random_people
from sfumato.auditing.schemas import public_schema
from sfumato.dataset import rows_of
from sfumato.engines import dense, reference, sparse
from sfumato.engines.opening import ENGINES, open_engine
from sfumato.errors import ArgumentError

LEAST = 200
# What some pair must reach of what is declared. All but these reach all of it.
REACHED = {"envelope": 0.8, "kinked-grid": 0.9, "shaped-chain": 0.95}
# Tables of a group, 13 unless stated: families have many cases, and a comparison of chosen pairs of columns takes two fits.
GROUPS = {"law": 7, "noisy-totals": 7, "learnt table": 15, "learnt table of chosen pairs": 7}
# Noise of the outputs over what is paid for: as planned, none, and so much that outputs lie far away.
SIZES = (1.0, 0.0, 100.0)


def all_pairs(name: str):
    """Every two tables of the groups of a procedure's cases, with each of its engines."""
    cases = {called: case for called, case in PERSON_CASES.items() if case.procedure == name}
    for place, (called, case) in enumerate(cases.items()):
        size = GROUPS.get(called, GROUPS.get(name, 13))
        for number, engine in enumerate(case.engines):
            for again in range(sized(1, 10)):
                seed = 100 * again + 10 * place + number
                yield from case.pairs(engine, seed, size, SIZES[(number + place + again) % 3])


@pytest.mark.parametrize("name", procedures.TABLE)
def test_no_pair_of_persons_exceeds_what_is_declared_or_changes_the_control_flow(name):
    """At least 200 pairs of each procedure; the bounds are attained, so the comparison is not idle."""
    count, worst = 0, 0.0
    for replayed in all_pairs(name):
        assert replayed.holds, str(replayed)
        count, worst = count + 1, max(worst, replayed.worst.ratio)
    assert count >= LEAST
    assert REACHED.get(name, 1 - 1e-6) <= worst <= 1


def test_every_engine_and_every_case_is_replayed():
    replayed = {engine for case in PERSON_CASES.values() for engine in case.engines}
    assert replayed | {"gpu"} == {offer.name for offer in ENGINES}  # a card takes one row a person
    assert set(PERSON_CASES) == set(CASES)


# --- plans -----------------------------------------------------------------------------------------------------------

PLANS = {
    "law": (sf.families.BetaBernoulli(3, 2), {"mechanism": "diffused"}),
    "noisy-totals": (sf.grouped(sf.families.BoundedMean(0, 6), "g", ["a", "b"]), {}),
    "path": (model_of("logistic", 2), {"mechanism": "langevin-path", "goal": "estimate", "steps": 3}),
}


@pytest.mark.parametrize("rule", ["average", "first", "reduce"])
@pytest.mark.parametrize("name", PLANS)
def test_a_plan_about_persons_is_replayed_on_random_pairs(name, rule):
    """With each rule; the schema that the model fixes gets the plan's persons."""
    model, options = PLANS[name]
    schema = public_schema(model, N)
    if rule == "reduce" and schema.dimension is not None:
        rule = "first"  # a rule for every column is for tables
    steps = {"reduce": dict.fromkeys(schema.columns, "last")} if rule == "reduce" else {}
    persons = sf.Persons("who", rule=rule, count=N, **({"most": MOST} if rule == "average" else {}), **steps)
    plan = sf.plan(model, N, 1.0, 1e-3, persons=persons, allow_weak=True, **options)
    assert plan.procedure == name
    pairs = random_pairs(plan, schema.with_persons(persons), sized(6, 60), seed=4)
    replays = [sf.replay(plan, pair, seed) for seed, pair in enumerate(pairs)]
    assert all(replayed.holds for replayed in replays), [str(each) for each in replays if not each.holds]
    assert max(replayed.worst.ratio for replayed in replays) > 0


def test_a_schema_of_other_persons_than_the_plans_is_refused():
    schema, rate = sf.Schema({"x": sf.Boolean(missing=False)}), sf.families.BetaBernoulli(3, 2)
    persons = sf.Persons("who", most=MOST, count=N)
    plan, of_rows = (
        sf.plan(rate, N, 1.0, 1e-3, persons=each, mechanism="diffused", allow_weak=True) for each in (persons, None)
    )
    assert random_pairs(plan, schema, 1)[0].first.schema.persons.terms == persons.terms
    with pytest.raises(ArgumentError, match="other persons"):
        random_pairs(plan, schema.with_persons(sf.Persons("who", most=MOST + 1, count=N)), 1)
    with pytest.raises(ArgumentError, match="about single rows"):
        random_pairs(of_rows, schema.with_persons(persons), 1)
    weighted = sf.Schema({"x": sf.Boolean(missing=False)}, weight=sf.Weight("w", upper=2.0, fixed=True))
    with pytest.raises(ArgumentError, match="no survey weights"):
        random_pairs(of_rows, weighted, 1)


def contents(data: sf.Dataset) -> list[tuple]:
    """The bytes of all that engines can see, block by block."""
    return [
        (
            None if block.counts is None else block.counts.tobytes(),
            *(np.asarray(block[name]).tobytes() for name in block),
        )
        for block in rows_of(data).blocks()
    ]


def test_rows_of_nobody_change_nothing():
    rng = np.random.default_rng(6)
    schema = sf.Schema({"x": sf.Number(0, 6)}, persons=PERSONS)
    for _ in range(sized(20, 200)):
        table = random_people(schema, "uniform", rng)
        people = [row for row in table.rows if row[0] is not None]
        without = type(table)(schema, tuple(people), table.listed)
        assert contents(table.dataset()) == contents(without.dataset())


# --- parts of float sums ---------------------------------------------------------------------------------------------

PEOPLE = 23
MODULES = {"dense": dense, "sparse": sparse, "reference": reference}


def part_sums(name: str, data: sf.Dataset, monkeypatch) -> list[bytes]:
    """The sum of every part of four persons, as bytes."""
    module, kept = MODULES[name], []
    monkeypatch.setattr(module, {"dense": "part_rows", "sparse": "_PART", "reference": "_ROWS"}[name],
                        (lambda dimension: 4) if name == "dense" else 4)  # fmt: skip
    engine = open_engine(data, model_of("logistic", 2), ("gradients",), name)
    engine._threads = 1
    added = module.add_up

    def keeping(sums):
        kept.append(added(sums))
        return kept[-1]

    monkeypatch.setattr(module, "add_up", keeping)
    engine.gradient(np.array([[0.3, -0.2]]))
    assert len(kept) == len(list(engine.parts()))
    monkeypatch.undo()
    return [each.tobytes() for each in kept]


@pytest.mark.parametrize("name", MODULES)
def test_a_replaced_person_changes_the_sum_of_one_part_and_no_other(name, monkeypatch):
    """With a roster: parts hold the same persons in every table, whoever has how many rows, and however the table is sorted."""
    persons = sf.Persons("who", most=MOST, count=PEOPLE)
    schema = sf.Schema.vector(2, data_norm=NORM, target=sf.Category([0, 1], missing=0), persons=persons)
    rng, changed = np.random.default_rng(9), set()
    for _ in range(sized(12, 100)):
        table = random_people(schema, "uniform", rng)
        table = type(table)(schema, table.rows, listed=True)
        person = int(rng.integers(PEOPLE))
        before, after = (
            table.replaced(person, new, rng).dataset(name == "sparse")
            for new in ([], [{"matrix": [0.7, -0.1], "target": 1}] * 5)
        )
        one, other = part_sums(name, before, monkeypatch), part_sums(name, after, monkeypatch)
        assert len(one) == len(other) == -(-PEOPLE // 4)
        differing = {place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b}
        assert differing == {person // 4}
        changed |= differing
    assert len(changed) > 2


def test_a_persons_value_is_rounded_once():
    """Sums of values are those of one rounded average a person; rounded row by row they would be up to `most` halves off."""
    rng = np.random.default_rng(2)
    model = model_of("logistic", 2, sf.priors.Ball(sf.priors.Gaussian(0.5), 1.0))
    schema = sf.Schema.vector(2, data_norm=NORM, target=sf.Category([0, 1], missing=0), persons=PERSONS)
    theta, unit = np.array([[0.6, -0.3]]), 0.25
    for _ in range(sized(20, 200)):
        table = random_people(schema, "uniform", rng)
        engine = open_engine(table.dataset(), model, ("values",))
        expected = 0
        for part in engine.parts():
            for piece in part:
                y = piece.labels
                values = np.logaddexp(0, -y * (piece.rows @ theta[0])) - np.log(2)
                ends = [*piece.starts[1:], len(values)]
                means = [values[a:b].mean() for a, b in zip(piece.starts, ends, strict=True)]
                expected += sum(round(mean / unit) for mean in means)
        assert engine.values(theta, unit, 4.0) == [expected]
