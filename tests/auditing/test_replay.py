"""Record and replay: every procedure, engine and reader on neighbouring data sets, after the same outputs.

No number that meets randomness moves by more than is declared, nothing else depends on a record; and wrong variants are seen.
"""

from __future__ import annotations

import numpy as np
import pytest
from replay_cases import CASES, GIBBS, NORM, N, model_of
from wrong_variants import WRONG

import sfumato as sf
from effort import sized
from sfumato import procedures
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.replay import compare, replay
from sfumato.auditing.replay_engine import RecordedEngine
from sfumato.auditing.replay_record import recorded
from sfumato.engines.opening import ENGINES, open_engine
from sfumato.procedures import path
from sfumato.procedures.protocol import Task

# Noise of the outputs over what is paid for: as planned, none, and so much that outputs lie far away.
SIZES = (1.0, 0.0, 100.0)
# What some pair must reach of what is declared, so that half as much again would be seen; all but two reach all of it.
REACHED = {"envelope": 0.8, "kinked-grid": 0.95}
LEAST = 200


def of_procedure(name: str) -> dict:
    return {key: case for key, case in CASES.items() if case.procedure == name}


def all_pairs(name: str):
    """Every pair of every case of a procedure, with each of its engines."""
    rounds = sized(1, 10)
    for place, case in enumerate(of_procedure(name).values()):
        for number, engine in enumerate(case.engines):
            for again in range(rounds):
                seed, size = 100 * again + 10 * place + number, SIZES[(number + again) % 3]
                yield from case.pairs(engine, seed, 13 if case.procedure in PAIRED else 8, size)


# Families have many models, and their groups are small; a Gibbs case has groups of 13.
PAIRED = {"noisy-tables", *(case.procedure for case in GIBBS.values())}


@pytest.mark.parametrize("name", procedures.TABLE)
def test_no_pair_exceeds_what_is_declared_or_changes_the_control_flow(name):
    """At least 200 pairs of each procedure; the bounds are attained, so the comparison is not idle."""
    count, worst = 0, 0.0
    for replayed in all_pairs(name):
        assert replayed.holds, str(replayed)
        count, worst = count + 1, max(worst, replayed.worst.ratio)
    assert count >= LEAST
    assert REACHED.get(name, 1 - 1e-6) <= worst <= 1


def test_every_engine_is_replayed():
    replayed = {engine for case in CASES.values() for engine in case.engines}
    assert replayed | {"gpu"} == {offer.name for offer in ENGINES}  # replayed on an emulated card by `test_gpu`


def test_a_plan_is_replayed_on_a_pair_of_data_sets():
    """The parts of a plan, their sum beside its price, and a pair that attains it: opposite longest rows of a linear loss."""
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0))
    model = sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Ball(sf.priors.Gaussian(5.0), 0.5), 2)
    plan = sf.plan(model, 40, 1.0, 1e-6, mechanism="langevin-path", goal="estimate", steps=4)
    rows, labels = np.full((40, 2), 0.1), [0, 1] * 20
    pair = [sf.Dataset.from_arrays(np.vstack([[end, 0.0], rows[1:]]), labels, schema=schema) for end in (1.0, -1.0)]
    replayed = replay(plan, Neighbours("opposite rows", *pair), seed=3)
    assert replayed.holds
    assert [part.name for part in replayed.parts] == ["gradient"] * 4
    assert replayed.price == plan.guarantee.curve.mu
    assert replayed.spent == pytest.approx(replayed.price, rel=1e-6)
    assert "gradient" in str(replayed)
    assert replay(plan, Neighbours("the same", pair[0], pair[0]), seed=3).spent == 0


def test_a_procedure_reaches_its_records_through_sums_alone():
    engine = RecordedEngine(open_regression(np.zeros((N, 2))))
    engine.gradient(np.zeros((1, 2)))
    assert [call.name for call in engine.calls] == ["gradient"]
    with pytest.raises(AttributeError, match="no sum"):
        engine.parts()


# --- wrong variants --------------------------------------------------------------------------------------------------


def open_regression(rows, labels=None, model=None):
    schema = sf.Schema.vector(rows.shape[1], data_norm=NORM, target=sf.Category([0, 1], missing=0))
    data = sf.Dataset.from_arrays(rows, [0, 1] * (N // 2) + [1] if labels is None else labels, schema=schema)
    return open_engine(data, model or model_of("logistic", rows.shape[1]), ("gradients",))


def worst_of(name: str, engine: str) -> tuple[float, set[str]]:
    """Over one group: the largest share of what is declared or of the price, and all differences of the control flow."""
    case = CASES[name]
    share, words = 0.0, set()
    for place, size in enumerate(SIZES):
        for replayed in case.pairs(engine, place, 8, size):
            total = replayed.spent / replayed.price if replayed.price else 0.0
            share, words = max(share, replayed.worst.ratio, total), words | set(replayed.differences)
    return share, words


@pytest.mark.planted
@pytest.mark.parametrize(("fault", "name", "engine", "words"), WRONG)
def test_a_wrong_variant_is_seen(fault, name, engine, words, monkeypatch):
    before = worst_of(name, engine)[0] if words is None else 1.0
    fault(monkeypatch)
    share, differences = worst_of(name, engine)
    if words is None:
        assert before <= 1 + 1e-9
        assert share > 1.2
    else:
        assert any(words in each for each in differences), differences


def test_an_error_that_one_record_causes_is_a_difference(monkeypatch):
    """A run that ends with an exception on one data set, and not on its neighbour, tells them apart."""
    task = Task(model_of("logistic", 2), N, 1, path.Parameters.of(N, 0.3, 0.5, 0.0, 2, 1))
    engines = [open_regression(np.vstack([[end, 0.0], np.full((N - 1, 2), 0.1)])) for end in (0.5, 1.5)]
    sums = type(engines[0]).gradient

    def touchy(self, theta):
        total = sums(self, theta)
        if abs(total[0, 0]) > 0.5:
            raise ValueError("too long")
        return total

    monkeypatch.setattr(type(engines[0]), "gradient", touchy)
    one = recorded(path, task, engines[0], 1, size=0.0)
    other = recorded(path, task, engines[1], 1, one)
    assert [run.trouble == "" for run in (one, other)].count(True) == 1
    differences = compare(path, task, one, other).differences
    assert any("ValueError" in each for each in differences)


def test_samplers_are_themselves_again_after_a_replay():
    """And while a replay runs, a release with real randomness is not touched."""
    from sfumato.auditing.replay_samplers import watched
    from sfumato.procedures import noisy_totals
    from sfumato.samplers.normal import rounded_normals

    case = CASES["rate, noisy-totals"]
    data = case.groups(np.random.default_rng(1), "codes", 6)[0]
    engine = open_engine(data, case.task.model, noisy_totals.NEEDS)
    plain = noisy_totals.carry_out(case.task, engine, sf.seeded(4)).values
    with watched():
        assert noisy_totals.rounded_normals is not rounded_normals
        meanwhile = noisy_totals.carry_out(case.task, engine, sf.seeded(4)).values
    assert noisy_totals.rounded_normals is rounded_normals
    assert np.array_equal(plain, meanwhile)
