"""The numbers of a plan in words: what each procedure's mean, and that every procedure has its words."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.procedures import TABLE
from sfumato.procedures.plain_numbers import in_plain_words, made_by

RATE = sf.families.BetaBernoulli(6, 12)


@pytest.mark.planted
def test_power_and_strength_are_said_in_records_and_priors():
    assert in_plain_words("law", {"power": 0.159622, "strength": 1.0}) == "each record counts as 0.16 of one"
    assert in_plain_words("law", {"power": 1.0, "strength": 4.05}) == "each record counts in full, the prior 4.05 times"
    assert in_plain_words("last-iterate", {"power": 0.5, "steps": 74, "strength": None}).startswith(
        "74 noisy steps, each"
    )


def test_every_procedure_has_its_words():
    numbers = {"power": 0.5, "steps": 9, "noise": 4.2}
    assert [name for name in TABLE if not in_plain_words(name, numbers)] == []
    assert in_plain_words("of another package", numbers) == ""
    assert in_plain_words("law", {"power": "much"}) == ""


def test_a_plan_and_its_release_say_the_words_before_the_numbers():
    plan = sf.plan(RATE, 40, 1.0, 1e-6, mechanism="noisy-statistics")
    said = f"noisy-statistics: normal noise of {plan['noise']:.3g} times what one record can change (noise "
    assert said in str(plan)
    assert "goal" not in str(plan)
    schema = sf.Schema({"x": sf.Boolean(missing=False)}, name="s")
    release = sf.publish(plan, sf.Dataset.from_table({"x": [True] * 40}, schema=schema))
    assert said.replace("(noise ", "(noise=") in str(release)
    assert made_by("mine", "of another package", {}, "a 1") == "mine (a 1)"
