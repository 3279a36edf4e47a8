"""`sf.audit`, `sf.one_run` and `sfumato audit` on plans about persons: pairs of persons; claims that are too small are refuted."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sfumato as sf
from command_line import typed
from sfumato.auditing.candidates import candidates
from sfumato.auditing.neighbours import worst_cases
from sfumato.auditing.schemas import public_schema
from sfumato.auditing.separating import separation_of
from sfumato.dataset import rows_of
from sfumato.errors import ArgumentError

N, MOST = 20, 3
RATE = sf.families.BetaBernoulli(1, 1)
SHARES = sf.families.DirichletCategorical([*"abcdefgh"], 1.0)
RULES = {"average": {"most": MOST}, "first": {}, "reduce": {"reduce": {"x": "last"}}}


def plan_of(model, rule="average", epsilon=3.0, n=N, **options) -> sf.Plan:
    persons = sf.Persons("who", rule=rule, count=n, rows="visits", **RULES[rule])
    return sf.plan(model, n, epsilon, 1e-6, persons=persons, **options)


@pytest.mark.parametrize("rule", RULES)
def test_an_audit_attacks_one_person_with_all_rows(rule):
    """The claim is reached to the last digit by a person whose rows are all at one end, and not refuted."""
    result = sf.audit(plan_of(RATE, rule, mechanism="noisy-statistics"), runs=60)
    assert not result.broken
    assert result.guarantee.adjacency == "replace-person"
    assert result.pair.startswith("one person, with all rows,")
    assert result.exact_epsilon == pytest.approx(result.claimed_epsilon, rel=1e-4)


@pytest.mark.planted
def test_a_claim_that_is_too_small_is_refuted():
    """Noise for half of what a person moves: both the enumerated law and the replay say so."""
    plan = plan_of(RATE, mechanism="noisy-statistics")
    numbers = replace(plan.parameters, noise=plan["noise"] / 2)
    result = sf.audit(replace(plan, parameters=numbers), runs=60)
    assert {"enumeration", "replay"} <= set(result.refuted_by)


def test_the_person_who_differs_has_more_rows_than_count_and_the_others_one():
    """Of the rows beyond, none is kept. Where cells are counted there are pairs in which that person is spread over several."""
    plan = plan_of(SHARES, mechanism="noisy-statistics")
    schema = public_schema(SHARES, N)
    pairs = worst_cases(plan, schema, most=40)
    counts = [[block.counts.tolist() for block in rows_of(pair.first).blocks()] for pair in pairs]
    assert {tuple(each[0]) for each in counts} == {(MOST, *[1] * (N - 1))}
    assert any("spread over several cells" in pair.name for pair in pairs)
    measure = separation_of(plan)
    assert measure(pairs[0]) == pytest.approx(1.0, rel=1e-12)
    assert all(pair.first.n == pair.second.n == N for pair in candidates(plan))


def test_one_run_has_a_row_for_every_person():
    found = sf.one_run(plan_of(SHARES, epsilon=6.0), randomness=sf.seeded(3))
    assert found.guesses.records == 4
    assert not found.broken


def test_pairs_of_another_number_of_persons_are_refused():
    plan = plan_of(RATE, mechanism="noisy-statistics")
    fewer = candidates(plan_of(RATE, n=N - 1, mechanism="noisy-statistics"))[:1]
    with pytest.raises(ArgumentError, match="data sets of the plan's n = 20 records"):
        sf.audit(plan, pairs=fewer, runs=20)


SPEC = """\
[data]
schema = "schema.toml"

[model]
family = "BetaBernoulli"
column = "cured"

[price]
epsilon = 6.0
delta = 1e-6
mechanism = "noisy-statistics"
"""


def test_the_command_audits_a_spec_whose_schema_declares_persons(tmp_path, monkeypatch, capsys):
    """Their declared number is that of the records; no file is read."""
    monkeypatch.chdir(tmp_path)
    persons = sf.Persons("who", most=MOST, count=30, rows="visits")
    sf.Schema({"cured": sf.Boolean(missing=False)}, name="clinic", unit="patient", persons=persons).save(
        tmp_path / "schema.toml"
    )
    (tmp_path / "spec.toml").write_text(SPEC)
    code, out, err = typed(monkeypatch, capsys, "audit", "spec.toml", "--runs", 60)
    assert code == 0
    assert "attacking a plan for 30 records" in err
    assert "one person, with all rows," in out
    assert "not refuted" in out
