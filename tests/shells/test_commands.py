"""The commands as a stranger would type them: a whole walk, thirty wrong uses, exit codes and JSON."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from command_line import CLINIC as SCHEMA
from command_line import typed as typed

SPEC = """\
[data]
file = "clinic.csv"
schema = "clinic.schema.toml"

[model]
family = "BetaBernoulli"
column = "cured"

[price]
epsilon = 1.0
delta = 1e-6

[ledger]
file = "budget.db"
name = "clinic"
"""


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with a small table, its schema, a spec and a ledger."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    with (tmp_path / "clinic.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ward", "stay", "cured"])
        for ward, stay, cured in zip(
            rng.choice(list("abc"), 400), rng.integers(0, 61, 400), rng.random(400) < 0.7, strict=True
        ):
            writer.writerow([ward, stay, cured])
    (tmp_path / "clinic.schema.toml").write_text(SCHEMA)
    (tmp_path / "share.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return lambda *words: typed(monkeypatch, capsys, *words)


def with_budget(sfumato, epsilon=2):
    assert sfumato("ledger", "create", "budget.db")[0] == 0
    code, out, _ = sfumato(
        "ledger", "register", "budget.db", "clinic", "--epsilon", epsilon, "--delta", "1e-6", "--unit", "patient"
    )
    assert code == 0
    assert "spent epsilon 0" in out


def test_a_whole_walk_from_a_spec_to_answers(clinic, sfumato):
    with_budget(sfumato)
    code, out, _ = sfumato("plan", "share.toml")
    assert code == 0
    assert "differential privacy" in out
    assert "records    400" in out
    code, out, _ = sfumato("price-list", "share.toml", "--epsilons", "0.5,1", "--json")
    assert code == 0
    assert [row["epsilon"] for row in json.loads(out)] == [0.5, 1.0]
    code, out, _ = sfumato("release", "share.toml", "-o", "share.sfumato", "--request", "first")
    assert code == 0
    assert "saved    share.sfumato" in out
    (clinic / "clinic.csv").unlink()  # a release answers without the data
    code, out, _ = sfumato("show", "share.sfumato", "--verify")
    assert code == 0
    assert "verified" in out
    assert "request first" in out
    code, out, _ = sfumato("show", "share.sfumato", "--csv")
    assert code == 0
    assert out.splitlines()[0] == "chain,draw,theta"
    assert 0 < float(out.splitlines()[1].split(",")[2]) < 1
    code, out, _ = sfumato("query", "interval", "share.sfumato", "--json")
    (found,) = json.loads(out).values()
    assert code == 0
    assert 0 <= found["lower"] < found["upper"] <= 1
    code, out, _ = sfumato("query", "interval", "share.sfumato", "--level", "0.5", "--json")
    (narrow,) = json.loads(out).values()
    assert narrow["upper"] - narrow["lower"] < found["upper"] - found["lower"]
    code, _, err = sfumato("query", "probability", "share.sfumato", "--above", "0.0")
    assert code == 2
    assert "interval" in err
    code, out, _ = sfumato("query", "attacker", "share.sfumato")
    assert code == 0
    assert "guesses this one right at most" in out
    code, out, _ = sfumato("report", "share.sfumato", "-o", "share.html", "--ledger", "budget.db")
    page = (clinic / "share.html").read_text()
    assert code == 0
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    code, out, _ = sfumato("ledger", "show", "budget.db", "--json")
    assert code == 0
    assert json.loads(out)["clinic"]["charges"] == 1
    assert sfumato("ledger", "verify", "budget.db")[0] == 0


def test_a_repeated_request_is_not_charged_again(clinic, sfumato):
    with_budget(sfumato)
    assert sfumato("release", "share.toml", "-o", "one.sfumato", "--request", "once")[0] == 0
    assert sfumato("release", "share.toml", "-o", "two.sfumato", "--request", "once")[0] == 0
    assert (clinic / "one.sfumato").read_bytes() == (clinic / "two.sfumato").read_bytes()
    assert json.loads(sfumato("ledger", "show", "budget.db", "--json")[1])["clinic"]["charges"] == 1


MODELS = {
    "histogram": 'family = "DirichletCategorical"\ncolumn = "ward"',
    "histogram of a number": 'family = "Histogram"\ncolumn = "stay"\nwidth = 5',
    "histogram by group": 'family = "Histogram"\ncolumn = "stay"\nbins = 4\nby = "ward"',
    "cross table": 'cross = ["ward", "cured", "stay"]\nbins = { stay = 3 }',
    "mean": 'family = "BoundedMean"\ncolumn = "stay"',
    "counts": 'family = "GammaPoisson"\ncolumn = "stay"\nshape = 2.0\nrate = 0.1',
    "by group": 'family = "BetaBernoulli"\ncolumn = "cured"\nby = "ward"',
    "logistic": 'regression = "logistic"\ntarget = "cured"',
    "multinomial": 'regression = "multinomial"\ntarget = "ward"\nfeatures = ["stay"]',
    "svm": 'regression = "svm"\ntarget = "cured"',
    "linear": 'regression = "linear"\ntarget = "stay"\nfeatures = ["ward", "cured"]',
    "quantile": 'regression = "quantile"\ntarget = "stay"\nquantile = 0.8',
    "poisson": 'regression = "poisson"\ntarget = "stay"\nfeatures = ["ward"]',
    "network": 'network = { ward = [], cured = ["ward"] }',
}


@pytest.mark.parametrize("name", list(MODELS))
def test_every_kind_of_model_can_be_planned_and_released(name, clinic, sfumato):
    text = SPEC.replace('family = "BetaBernoulli"\ncolumn = "cured"', MODELS[name]).split("[ledger]")[0]
    text += 'goal = "estimate"\n' if name == "mean" else ""
    text += 'mechanism = "noisy-statistics"\n' if name == "network" else ""  # "auto" would search for seconds
    (clinic / "other.toml").write_text(text)
    code, out, err = sfumato("release", "other.toml", "-o", "other.sfumato", "--json")
    assert code == 0, err
    assert "charged to no ledger" in err
    found = json.loads(out)
    assert list(found["estimates"]) == found["labels"] != []
    rows = found["estimates"].values()
    assert all(row.get("state") or np.isfinite(next(iter(row.values()))) for row in rows)
    assert sfumato("show", "other.sfumato", "--verify")[0] == 0
    assert sfumato("report", "other.sfumato", "-o", "other.html")[0] == 0


def changed(old, new, text=SPEC):
    assert old in text
    return text.replace(old, new)


# name -> (exit code, words that must be in the one line, spec or None for the good one, command words)
WRONG = {
    "no such spec": (2, "missing.toml", None, ["plan", "missing.toml"]),
    "spec is no TOML": (2, "cannot be read as TOML", "[data\n", None),
    "no price": (2, "[price]", SPEC.split("[price]")[0], None),
    "no delta": (2, "needs delta", changed("delta = 1e-6\n", ""), None),
    "no epsilon": (2, "needs epsilon", changed("epsilon = 1.0\n", ""), None),
    "epsilon 0": (2, "epsilon", changed("epsilon = 1.0", "epsilon = 0"), None),
    "epsilon -1": (2, "epsilon", changed("epsilon = 1.0", "epsilon = -1"), None),
    "epsilon is a word": (2, "epsilon", changed("epsilon = 1.0", 'epsilon = "one"'), None),
    "epsilon 1e9": (2, "epsilon", changed("epsilon = 1.0", "epsilon = 1e9"), None),
    "delta 1": (2, "delta", changed("delta = 1e-6", "delta = 1.0"), None),
    "delta 0 for a posterior that is never pure": (4, "pure", changed("delta = 1e-6", "delta = 0.0"), None),
    "wrong column": (2, "cured", changed('column = "cured"', 'column = "curred"'), None),
    "column of another kind": (
        2,
        "'stay', which the schema declares as a number",
        changed('column = "cured"', 'column = "stay"'),
        None,
    ),
    "no column": (2, 'column = "..."', changed('column = "cured"\n', ""), None),
    "unknown family": (2, "Did you mean 'BetaBernoulli'", changed('"BetaBernoulli"', '"BetaBernouli"'), None),
    "unknown number of a family": (2, "alpha", changed('column = "cured"', 'column = "cured"\nalfa = 2.0'), None),
    "unknown key": (2, "Did you mean 'epsilon'", changed("epsilon = 1.0", "epsilonn = 1.0"), None),
    "unknown mechanism": (2, "mechanism must be", changed("delta = 1e-6", 'delta = 1e-6\nmechanism = "magic"'), None),
    "mechanism that does not serve": (
        4,
        "cannot serve",
        changed("delta = 1e-6", 'delta = 1e-6\nmechanism = "langevin"'),
        None,
    ),
    "wrong goal": (2, "goal", changed("delta = 1e-6", 'delta = 1e-6\ngoal = "truth"'), None),
    "no draws": (2, "draws", changed("delta = 1e-6", "delta = 1e-6\ndraws = 0"), None),
    "no such data": (2, "nothing.csv", changed("clinic.csv", "nothing.csv"), None),
    "no such schema": (2, "no.toml", changed("clinic.schema.toml", "no.toml"), None),
    "schema that is no text": (2, "text in quotes", changed('"clinic.schema.toml"', "5"), None),
    "file that is no text": (2, "text in quotes", changed('"clinic.csv"', "5"), None),
    "n is no number of records": (2, "n must be", changed('file = "clinic.csv"', 'file = "clinic.csv"\nn = 0'), None),
    "regression without target": (
        2,
        "target",
        changed('family = "BetaBernoulli"\ncolumn = "cured"', 'regression = "logistic"'),
        None,
    ),
    "logistic on a number": (
        2,
        "classes",
        changed('family = "BetaBernoulli"\ncolumn = "cured"', 'regression = "logistic"\ntarget = "stay"'),
        None,
    ),
    "two models": (
        2,
        "exactly one of",
        changed('family = "BetaBernoulli"', 'family = "BetaBernoulli"\nregression = "logistic"'),
        None,
    ),
    "no ledger yet": (2, "sfumato ledger create", None, ["release", "share.toml", "-o", "x.sfumato"]),
    "no folder": (
        2,
        "the folder nowhere does not exist; create it first",
        None,
        ["release", "share.toml", "-o", "nowhere/x.sfumato"],
    ),
    "not a release": (2, "clinic.csv is a table; a release is needed here", None, ["show", "clinic.csv"]),
    "above and below": (2, "exactly one of", None, ["query", "probability", "clinic.csv"]),
    "epsilons that are words": (2, "epsilons", None, ["price-list", "share.toml", "--epsilons", "one,two"]),
    "ledger that is there": (2, "there already", None, ["ledger", "create", "clinic.csv"]),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_use_gives_one_line_that_says_what_to_do(name, clinic, sfumato):
    wanted, word, spec, words = WRONG[name]
    if spec is not None:
        (clinic / "share.toml").write_text(spec.split("[ledger]")[0])
    code, out, err = sfumato(*(words or ["release", "share.toml", "-o", "x.sfumato"]))
    assert (code, word in err) == (wanted, True), (code, out, err)
    assert err.startswith("sfumato: ")
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    assert not (clinic / "x.sfumato").exists()


@pytest.mark.parametrize(
    ("cells", "what"),
    [("ward,stay,cured\n", "empty"), ("", "empty"), ("ward,stay\na,1\n", "cured"), ("\x00\xff", "lacks column")],
    ids=["no rows", "no bytes", "no column", "noise"],
)
def test_unreadable_and_empty_files_are_refused_in_one_line(cells, what, clinic, sfumato):
    (clinic / "clinic.csv").write_bytes(cells.encode("latin-1"))
    (clinic / "share.toml").write_text(SPEC.split("[ledger]")[0])
    code, _, err = sfumato("release", "share.toml", "-o", "x.sfumato")
    assert (code, err.startswith("sfumato: "), "Traceback" in err) == (2, True, False), err
    assert what in err
    assert not (clinic / "x.sfumato").exists()


def test_text_in_a_number_column_is_mapped_and_not_refused(clinic, sfumato):
    """A refusal would tell of a record: a cell that is no number counts as the declared missing value."""
    path = clinic / "clinic.csv"
    path.write_text(path.read_text().replace("\n", "\na,many,True\n", 1))
    text = SPEC.replace('family = "BetaBernoulli"\ncolumn = "cured"', MODELS["mean"]).split("[ledger]")[0]
    (clinic / "share.toml").write_text(text + 'goal = "estimate"\n')
    code, out, _ = sfumato("release", "share.toml", "-o", "x.sfumato", "--json")
    assert code == 0
    assert 0 < json.loads(out)["estimates"]["mean"]["estimate"] < 60


def test_an_exhausted_ledger_refuses_with_its_own_exit_code(clinic, sfumato):
    with_budget(sfumato, epsilon=1.2)
    assert sfumato("release", "share.toml", "-o", "one.sfumato")[0] == 0
    assert sfumato("release", "share.toml", "-o", "same.sfumato")[0] == 0, "the same spec again is the same release"
    code, _, err = sfumato("release", "share.toml", "-o", "two.sfumato", "--request", "another")
    assert code == 3
    assert not (clinic / "two.sfumato").exists()
    assert "remaining" in err
    assert "Plan for less" in err
    code, _, err = sfumato("release", "share.toml", "-o", "two.sfumato", "--request", "another", "--json")
    assert code == 3
    assert json.loads(err)["kind"] == "LedgerExhausted"


def test_a_tampered_release_is_refused(clinic, sfumato):
    (clinic / "share.toml").write_text(SPEC.split("[ledger]")[0])
    assert sfumato("release", "share.toml", "-o", "share.sfumato")[0] == 0
    stored = bytearray((clinic / "share.sfumato").read_bytes())
    stored[len(stored) // 2] ^= 1
    (clinic / "share.sfumato").write_bytes(bytes(stored))
    code, _, err = sfumato("show", "share.sfumato")
    assert code == 2
    assert len(err.strip().splitlines()) == 1


def test_a_release_is_never_written_over(clinic, sfumato):
    (clinic / "share.toml").write_text(SPEC.split("[ledger]")[0])
    (clinic / "share.sfumato").write_text("precious")
    code, _, err = sfumato("release", "share.toml", "-o", "share.sfumato")
    assert code == 2
    assert "never written over" in err
    assert (clinic / "share.sfumato").read_text() == "precious"


def test_a_regression_predicts_for_public_rows_and_a_network_gives_a_table(clinic, sfumato):
    for name, model in (("fit", MODELS["logistic"]), ("net", MODELS["network"])):
        text = SPEC.replace('family = "BetaBernoulli"\ncolumn = "cured"', model).split("[ledger]")[0]
        (clinic / f"{name}.toml").write_text(text + ('mechanism = "noisy-statistics"\n' if name == "net" else ""))
        assert sfumato("release", f"{name}.toml", "-o", f"{name}.sfumato")[0] == 0
    (clinic / "new.csv").write_text("ward,stay\na,3\nb,40\n")
    (clinic / "known.csv").write_text("ward,stay,cured\na,3,True\nb,40,False\nc,9,True\n")
    assert sfumato("report", "fit.sfumato", "-o", "fit.html", "--public-rows", "known.csv")[0] == 0
    assert "Obtained on 3 public rows" in (clinic / "fit.html").read_text()
    code, out, _ = sfumato("query", "predict", "fit.sfumato", "--public-rows", "new.csv")
    assert code == 0
    assert out.split()[0] == "prediction"
    assert len(out.split()) == 3
    assert set(out.split()[1:]) <= {"True", "False"}
    code, _, _ = sfumato("query", "synthesize", "net.sfumato", "--rows", "50", "-o", "made.csv")
    made = list(csv.DictReader((clinic / "made.csv").read_text().splitlines()))
    assert code == 0
    assert len(made) == 50
    assert set(made[0]) == {"ward", "cured"}
    code, out, _ = sfumato("query", "marginal", "net.sfumato", "ward", "cured")
    assert code == 0
    assert "a" in out


def test_a_draft_from_a_header_reads_one_line(clinic, sfumato):
    code, out, _ = sfumato("schema", "draft", "clinic.csv", "--header")
    assert code == 0
    assert "[columns.stay]" in out
    assert 'type = "REQUIRED"' in out
    code, _, err = sfumato("schema", "draft", "clinic.csv")
    assert code == 2
    assert "--header" in err


def test_the_template_is_a_spec(clinic, sfumato):
    code, _, _ = sfumato(
        "spec", "--data", "clinic.csv", "--schema", "clinic.schema.toml", "--column", "cured", "--name", "clinic", "-o", "mine.toml"
    )  # fmt: skip
    assert code == 0
    assert sfumato("plan", "mine.toml")[0] == 0


def test_help_is_quick_and_every_command_shows_an_example():
    """Neither numpy nor scipy is imported for help, and each command's own help has an example."""
    code = (
        "import sys\nfrom sfumato.shells.cli import app\nimport typer.main\n"
        "def walk(command, path):\n"
        "    for name, inner in getattr(command, 'commands', {}).items():\n"
        "        if hasattr(inner, 'commands'): walk(inner, path + [name])\n"
        "        else: print(' '.join(path + [name]), '|', 'Example: sfumato ' + ' '.join(path + [name]) in (inner.help or ''))\n"
        "walk(typer.main.get_command(app), [])\n"
        "print('heavy |', not {'numpy', 'scipy'} & set(sys.modules))\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    rows = dict(line.split(" | ") for line in shown.splitlines())
    assert len(rows) > 20
    assert [name for name, good in rows.items() if good != "True"] == []
    for command in (
        "demo",
        "plan",
        "price-list",
        "release",
        "show",
        "report",
        "compare",
        "schema draft",
        "ledger register",
    ):
        assert command in rows
