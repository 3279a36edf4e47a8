"""`sfumato bounds`: the price before, the charge with --yes, the schema that it writes, and one line for every wrong use."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sfumato as sf
from tests.command_line import typed

SCHEMA = """\
sfumato = "schema"
version = 1
name = "survey"
unit = "person"

[columns.income]
type = "number"
lower = -1e12
upper = 1e12

[columns.smoker]
type = "boolean"
missing = false
"""
SPEC = """\
[data]
file = "survey.csv"
schema = "survey.toml"

[model]
{model}

[price]
epsilon = 1.0
delta = 1e-6
{goal}

[ledger]
file = "budget.db"
name = "survey"
"""
MEAN = SPEC.format(model='family = "BoundedMean"\ncolumn = "income"', goal='goal = "estimate"')
N = 4000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [
        f"{income:.2f},{smoker}" for income, smoker in zip(rng.lognormal(10, 1, N), rng.integers(0, 2, N), strict=True)
    ]
    (tmp_path / "survey.csv").write_text("\n".join(["income,smoker", *rows]) + "\n")
    (tmp_path / "survey.toml").write_text(SCHEMA)
    (tmp_path / "mean.toml").write_text(MEAN)
    sf.Ledger.open(tmp_path / "budget.db").register("survey", epsilon=20.0, delta=1e-5, unit="person")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spent() -> float:
    return sf.Ledger.open("budget.db").spent("survey").epsilon


def test_the_price_is_shown_and_nothing_is_spent(folder, monkeypatch, capsys):
    code, out, _ = typed(monkeypatch, capsys, "bounds", "mean.toml", "--epsilon", "1")
    assert code == 0
    assert "epsilon 1 (pure) in all" in out
    assert "Nothing was spent" in out
    assert "of 'survey' epsilon 20 is left at delta 1e-05" in out
    assert "sfumato bounds mean.toml --yes --epsilon 1" in out
    assert spent() == 0


def test_a_plan_is_shown_without_a_ledger_and_says_what_would_not_fit(folder, monkeypatch, capsys):
    code, out, _ = typed(monkeypatch, capsys, "bounds", "mean.toml", "--epsilon", "50")
    assert code == 0
    assert "does not fit" in out
    (folder / "budget.db").unlink()
    code, out, _ = typed(monkeypatch, capsys, "bounds", "mean.toml")
    assert code == 0
    assert "there is no ledger 'budget.db'" in out
    (folder / "bare.toml").write_text(MEAN.split("[ledger]")[0])
    code, out, _ = typed(monkeypatch, capsys, "bounds", "bare.toml", "--n", "100")
    assert code == 0
    assert "100 (public)" in out


def test_with_yes_the_bounds_are_charged_written_and_free_the_second_time(folder, monkeypatch, capsys):
    words = ("bounds", "mean.toml", "--epsilon", "2", "--yes")
    code, out, _ = typed(monkeypatch, capsys, *words, "-o", "bounded.toml")
    assert code == 0
    assert "'bounds of income, 1 %', 'bounds of income, 99 %'" in out
    assert "one beyond counts as the bound" in out
    narrow = sf.Schema.load("bounded.toml")
    assert set(narrow.columns) == {"income", "smoker"}
    column = narrow.columns["income"]
    assert 100 < column.lower < 6000
    assert 100_000 < column.upper < 2_000_000
    assert f"lower = {column.lower}" in out
    paid = spent()
    assert paid > 0
    code, again, _ = typed(monkeypatch, capsys, *words)
    assert code == 0
    assert "nothing was spent now" in again
    assert spent() == paid
    code, shown, _ = typed(monkeypatch, capsys, *words, "--json")
    assert json.loads(shown)["bounds"]["income"] == {"lower": column.lower, "upper": column.upper}


def test_other_bounds_need_a_name_of_their_own(folder, monkeypatch, capsys):
    assert typed(monkeypatch, capsys, "bounds", "mean.toml", "--yes")[0] == 0
    code, _, err = typed(monkeypatch, capsys, "bounds", "mean.toml", "--yes", "--epsilon", "0.3")
    assert code == 3
    assert "--request" in err
    words = ("bounds", "mean.toml", "--yes", "--epsilon", "0.3", "--request", "second bounds")
    assert "'second bounds of income, 1 %'" in typed(monkeypatch, capsys, *words)[1]


def test_a_quantile_in_a_spec_needs_no_grid(folder, monkeypatch, capsys):
    (folder / "median.toml").write_text(
        SPEC.format(model='family = "Quantile"\ncolumn = "income"\nlevel = 0.5', goal="")
    )
    code, out, _ = typed(monkeypatch, capsys, "release", "median.toml", "-o", "median.sfumato")
    assert code == 0
    assert "quantile" in out
    median = sf.load("median.sfumato").verify().mean().item()
    assert 15_000 < median < 32_000  # e^10 = 22,026; 200 ranks of 4,000 are 13 %


def test_quantiles_in_a_spec_have_intervals_and_answer_other_levels(folder, monkeypatch, capsys):
    (folder / "many.toml").write_text(
        SPEC.format(model='family = "Quantiles"\ncolumn = "income"\nlevels = [0.1, 0.5]', goal="")
    )
    code, out, _ = typed(monkeypatch, capsys, "plan", "many.toml")
    assert code == 0
    assert "half-width of a 90 % interval" in out
    assert typed(monkeypatch, capsys, "release", "many.toml", "-o", "many.sfumato")[0] == 0
    assert "50 % quantile" in typed(monkeypatch, capsys, "query", "summary", "many.sfumato")[1]
    _, out, _ = typed(monkeypatch, capsys, "query", "quantile", "many.sfumato", "--at", "0.9", "--json")
    asked = json.loads(out)
    assert asked["lower"] < 79_400 * 1.2  # e^(10 + 1.28) = 79,348 is the population's; the interval is of one data set
    assert asked["upper"] > 79_400 / 1.2
    assert asked["lower"] <= asked["estimate"] <= asked["upper"]
    shown = typed(monkeypatch, capsys, "query", "quantile", "many.sfumato", "--at", "0.9")[1]
    assert "90 % interval" in shown
    assert "first clipped to" in shown
    assert typed(monkeypatch, capsys, "report", "many.sfumato", "-o", "many.html")[0] == 0
    assert "50 % quantile" in (folder / "many.html").read_text()


def test_no_quantiles_by_group_before_anything_is_paid(folder, monkeypatch, capsys):
    (folder / "by.toml").write_text(
        SPEC.format(model='family = "Quantiles"\ncolumn = "income"\nlevels = [0.5]\nby = "smoker"', goal="")
    )
    code, _, err = typed(monkeypatch, capsys, "plan", "by.toml")
    assert code == 2
    assert "no form by group" in err


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("grid = 5", "grid must be a list of candidates"),
        ('grid = ["a", "b"]', "grid"),
        ('rounding = "sideways"', "rounding must be one of"),
        ("level = 2", "level"),
        ("levels = 0.5", "Did you mean 'level'"),
    ],
)
def test_wrong_quantiles_in_a_spec_are_one_sentence(folder, monkeypatch, capsys, model, words):
    lines = ['family = "Quantile"', 'column = "income"', model, *(["level = 0.5"] if "level = " not in model else [])]
    (folder / "wrong.toml").write_text(SPEC.format(model="\n".join(lines), goal=""))
    code, _, err = typed(monkeypatch, capsys, "plan", "wrong.toml")
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--levels", "a,b"], "two shares"),
        (["--levels", "0.5"], "two shares"),
        (["--columns", "smoker"], "no Number column"),
        (["--epsilon", "-1"], "epsilon"),
        (["-o", "x.toml"], "add --yes"),
        (["--yes", "-o", "survey.toml"], "there already"),
        (["--yes", "-o", "new.txt"], "the ending of --output"),
        (["--yes", "--n", "10"], "--n is for a plan"),
        (["--yes", "--epsilon", "50"], "does not fit"),
    ],
)
def test_wrong_uses_are_one_line_and_cost_nothing(folder, monkeypatch, capsys, words, sentence):
    code, _, err = typed(monkeypatch, capsys, "bounds", "mean.toml", *words)
    assert code in (2, 3)
    assert sentence in err
    assert err.count("\n") == 1
    assert spent() == 0


def test_bounds_need_a_ledger(folder, monkeypatch, capsys):
    (folder / "bare.toml").write_text(MEAN.split("[ledger]")[0])
    code, _, err = typed(monkeypatch, capsys, "bounds", "bare.toml", "--yes")
    assert code == 2
    assert "names no ledger" in err
