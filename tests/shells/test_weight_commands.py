"""Survey weights on the command line: a schema with [weight], from the plan to the report."""

from __future__ import annotations

import json

import numpy as np
import pytest

from command_line import typed

SCHEMA = """\
sfumato = "schema"
version = 3
name = "survey"
unit = "person"

[weight]
column = "w"
upper = 8.0
fixed = true

[columns.smoker]
type = "boolean"
missing = false

[columns.age]
type = "number"
lower = 18
upper = 90
"""
SPEC = """\
[data]
file = "survey.csv"
schema = "survey.toml"
[model]
family = "{family}"
column = "{column}"
[price]
epsilon = 1.0
delta = 1e-6
[ledger]
file = "budget.db"
name = "survey"
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """A function that types a command in a folder with a weighted table, two specs and a budget, and returns what is printed."""
    rng = np.random.default_rng(2)
    weights = rng.choice([1.0, 3.0, 8.0], 800)
    lines = [f"{int(rng.random() < 0.1 + w / 10)},{rng.integers(18, 91)},{w}" for w in weights]
    (tmp_path / "survey.csv").write_text("smoker,age,w\n" + "\n".join(lines) + "\n")
    (tmp_path / "survey.toml").write_text(SCHEMA)
    (tmp_path / "rate.toml").write_text(SPEC.format(family="BetaBernoulli", column="smoker"))
    (tmp_path / "mean.toml").write_text(SPEC.format(family="BoundedMean", column="age"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str, refused: bool = False) -> str:
        code, out, err = typed(monkeypatch, capsys, *words)
        assert (code != 0) == refused, err
        return err if refused else out

    run("ledger", "create", "budget.db")
    run("ledger", "register", "budget.db", "survey", "--epsilon", "5", "--delta", "1e-5", "--unit", "person")
    return run


def test_a_walk_from_the_plan_to_the_report(command, tmp_path):
    planned = command("plan", "rate.toml")
    assert "weights    each record counts by its weight in the column w: as a whole one at 8" in planned
    made = command("release", "rate.toml", "-o", "rate.sfumato")
    assert "of weighted records" in made
    assert "weights  each record counts by its weight" in made
    assert "Weights: each record counts by its weight" in command("query", "summary", "rate.sfumato")
    assert "verified" in command("show", "rate.sfumato", "--verify")
    command("report", "rate.sfumato", "-o", "rate.html")
    assert "each record counts by its weight" in (tmp_path / "rate.html").read_text().lower()
    assert json.loads(command("query", "interval", "rate.sfumato", "--json"))
    assert "Weights beyond 8 count as 8" in command("release", "mean.toml", "-o", "mean.sfumato")


def test_bounds_are_of_all_records_alike_and_comparisons_of_draws_are_refused(command):
    assert "upper" in command("bounds", "mean.toml", "--yes")
    assert "of weighted records only estimates are released" in command("compare", "rate.toml", refused=True)


def test_calibrated_weights_are_refused_with_one_clear_line(command, tmp_path):
    (tmp_path / "survey.toml").write_text(SCHEMA.replace("fixed = true\n", ""))
    said = command("plan", "rate.toml", refused=True)
    assert "raked, calibrated or post-stratified" in said
    assert "Traceback" not in said
