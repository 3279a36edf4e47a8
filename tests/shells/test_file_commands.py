"""`show --verify`, `--public-key`, `--ledger`, `release --sign`, CSV: a file from somebody else, on the command line."""

from __future__ import annotations

import csv
import dataclasses
import json

import numpy as np
import pytest

import sfumato as sf
from command_line import typed
from forging import forge, stored
from sfumato.grids.rates import RateGrid
from sfumato.shells import csv_output


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return lambda *words: typed(monkeypatch, capsys, *words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_verify_refuses_a_forged_file_with_an_exit_code(folder, sfumato):
    (folder / "good.sfumato").write_bytes(stored("rate noisy"))
    (folder / "bad.sfumato").write_bytes(forge("rate noisy", {"plan.target.epsilon": 0.01}))
    code, out, _ = sfumato("show", "good.sfumato", "--verify")
    assert code == 0
    assert "\nverified " in out
    code, out, err = sfumato("show", "bad.sfumato", "--verify")
    assert code == 2
    assert "verified" not in out
    assert "target" in err
    code, _, err = sfumato("show", "bad.sfumato", "--verify", "--json")
    assert (code, json.loads(err)["kind"]) == (2, "FormatError")
    assert sfumato("show", "bad.sfumato")[0] == 0, "without --verify a readable file is shown"


def test_a_forged_guarantee_is_refused_before_it_is_computed_with(folder, sfumato):
    """10^15 draws in a profile would ask for petabytes."""
    (folder / "x.sfumato").write_bytes(forge("rate seeded", {"guarantee.curve.parameters.draws": 10**15}))
    code, _, err = sfumato("query", "attacker", "x.sfumato")
    assert code == 2
    assert "not what the plan costs" in err


def test_a_query_that_fails_on_forged_numbers_says_that_the_record_was_edited(folder, sfumato):
    (folder / "x.sfumato").write_bytes(forge("rate noisy", {"plan.parameters": {"noise": "much"}}))
    code, _, err = sfumato("query", "interval", "x.sfumato")
    assert code == 2
    assert "no sound release: plan.parameters.noise must be a number" in err


def test_a_query_that_fails_on_a_sound_record_is_a_fault_of_the_program(folder, sfumato, monkeypatch):
    """A sound file is not blamed, and the message of the exception, which may quote anything, is not shown."""
    (folder / "x.sfumato").write_bytes(stored("rate noisy"))

    def breaks(*_):
        raise ZeroDivisionError("a cell of the data")

    monkeypatch.setattr(sf.Release, "interval", breaks)
    code, _, err = sfumato("query", "mean", "x.sfumato")
    assert code == 1
    assert "fault of Sfumato" in err
    assert "ZeroDivisionError" in err
    assert "a cell of the data" not in err


def test_a_quantile_is_the_median_unless_another_is_asked_for(folder, sfumato):
    (folder / "x.sfumato").write_bytes(stored("rate noisy"))
    middle, same, other = (
        sfumato("query", "quantile", "x.sfumato", *more)[1] for more in ((), ("--at", "0.5"), ("--at", "0.2"))
    )
    assert middle == same != other


@pytest.fixture
def charged(folder):
    """A ledger, and the file of what it sealed."""
    from release_cases import charged

    charged("gdp", folder).save(folder / "x.sfumato")
    return folder


def test_a_file_is_compared_with_what_the_ledger_sealed(charged, sfumato):
    code, out, err = sfumato("show", "x.sfumato", "--verify", "--ledger", "gdp.db")
    assert code == 0, err
    assert "byte for byte what gdp.db sealed" in out
    assert "signed afterwards" not in out


def test_a_file_that_differs_from_what_was_sealed_is_refused(charged, sfumato):
    """Another draw of the same plan passes every check of the file: only the ledger's copy tells."""
    release = sf.load("x.sfumato")
    grid = RateGrid(0.0, 1 << 12).middles
    place = int(np.searchsorted(grid, release.draws.values[0, 0]))
    moved = dataclasses.replace(release.draws, values=np.array([[grid[place + 5]]]))
    dataclasses.replace(release, draws=moved).verify().save("y.sfumato")
    code, _, err = sfumato("show", "y.sfumato", "--verify", "--ledger", "gdp.db")
    assert code == 2
    assert "differs from what the ledger sealed" in err
    with sf.Ledger.open("gdp.db") as ledger, pytest.raises(sf.errors.FormatError, match="differs"):
        sf.load("y.sfumato").verify(ledger=ledger)


def test_a_request_that_the_ledger_never_sealed_is_refused(charged, sfumato):
    release = sf.load("x.sfumato")
    dataclasses.replace(release, receipt={**release.receipt, "request_id": "never"}).verify().save("y.sfumato")
    code, _, err = sfumato("show", "y.sfumato", "--verify", "--ledger", "gdp.db")
    assert (code, "sealed nothing" in err) == (2, True)
    dataclasses.replace(release, receipt={**release.receipt, "ledger": "census"}).verify().save("w.sfumato")
    code, _, err = sfumato("show", "w.sfumato", "--verify", "--ledger", "gdp.db")
    assert (code, "no account 'census'" in err) == (2, True)


def test_a_file_without_a_receipt_has_no_sealed_copy(charged, sfumato):
    (charged / "y.sfumato").write_bytes(stored("rate noisy"))
    code, _, err = sfumato("show", "y.sfumato", "--verify", "--ledger", "gdp.db")
    assert (code, "charged to no ledger" in err) == (2, True)


def test_a_key_or_ledger_without_verify_is_a_wrong_use(charged, sfumato):
    for words in (("--ledger", "gdp.db"), ("--public-key", "x.pub")):
        code, _, err = sfumato("show", "x.sfumato", *words)
        assert (code, "--verify" in err) == (2, True)


SPEC = """\
[data]
file = "bits.csv"
schema = "bits.toml"

[model]
family = "BetaBernoulli"
column = "x"

[price]
epsilon = 1.0
delta = 1e-6
mechanism = "noisy-statistics"
"""


def test_a_release_is_signed_and_the_reader_checks_it(folder, sfumato):
    (folder / "bits.toml").write_text(
        'sfumato = "schema"\nversion = 1\nname = "bits"\n\n[columns.x]\ntype = "boolean"\nmissing = false\n'
    )
    (folder / "bits.csv").write_text("x\n" + "True\nFalse\n" * 30)
    (folder / "spec.toml").write_text(SPEC)
    for name in ("office", "other"):
        assert sfumato("keys", "create", f"{name}.key")[0] == 0
    code, _, err = sfumato("release", "spec.toml", "-o", "x.sfumato", "--sign", "missing.key")
    assert (code, "missing.key" in err, (folder / "x.sfumato").exists()) == (2, True, False)
    assert sfumato("release", "spec.toml", "-o", "x.sfumato", "--sign", "office.key")[0] == 0
    code, out, _ = sfumato("show", "x.sfumato", "--verify", "--public-key", "office.key.pub")
    assert code == 0
    assert "signature" in out
    code, _, err = sfumato("show", "x.sfumato", "--verify", "--public-key", "other.key.pub")
    assert (code, "another key" in err) == (2, True)
    assert json.loads(sfumato("show", "x.sfumato", "--json")[1])["signed"] is True
    assert sfumato("query", "mean", "x.sfumato")[0] == 0


# --- CSV ---------------------------------------------------------------------------------------------------------------

FORMULA = '=HYPERLINK("//x","y")'


@pytest.mark.parametrize("text", [FORMULA, "+1+1", "-x", "@SUM(A1)", "\tcmd", " =1+1", "=1"])
def test_a_formula_is_defused(text):
    assert csv_output.defused(text) == f"'{text}"


@pytest.mark.parametrize("cell", ["a", "", "-1.5", "+2", "x=1", -1.5, True, None, 3])
def test_numbers_and_plain_texts_stay(cell):
    assert csv_output.defused(cell) is cell


@pytest.fixture
def planted(folder):
    """Releases of a histogram and of a network whose levels and names are formulas."""
    levels = [FORMULA, "@b", "plain"]
    schema = sf.Schema({"=c": sf.Category(levels, missing=levels[0]), "d": sf.Boolean(missing=False)}, name="s")
    data = sf.Dataset.from_table({"=c": levels * 20, "d": [True, False] * 30}, schema=schema)
    one = sf.Dataset.from_table(
        {"=c": levels * 20}, schema=sf.Schema({"=c": sf.Category(levels, missing=levels[0])}, name="s")
    )
    shares = sf.families.DirichletCategorical(levels)
    network = sf.networks.BayesianNetwork.from_schema(schema, {"=c": [], "d": ["=c"]})
    for name, model, rows in (("shares", shares, one), ("network", network, data)):
        sf.publish(sf.plan(model, 60, 8.0, 1e-6, mechanism="noisy-statistics"), rows).save(f"{name}.sfumato")
    return folder


@pytest.mark.parametrize(
    "words", [("show", "shares.sfumato", "--csv"), ("query", "synthesize", "network.sfumato", "--rows", "40")], ids=str
)
def test_no_cell_of_a_csv_output_is_a_formula(words, planted, sfumato):
    code, out, _ = sfumato(*words)
    assert code == 0
    rows = list(csv.reader(out.splitlines()))
    assert any("HYPERLINK" in cell for row in rows for cell in row)
    assert [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))] == []
    assert len({len(row) for row in rows}) == 1


def test_a_predicted_level_is_no_formula(folder, sfumato):
    schema = sf.Schema({"a": sf.Number(0, 1), "y": sf.Category([FORMULA, "@b"], missing=FORMULA)}, target="y", name="s")
    data = sf.Dataset.from_table({"a": [0.0, 1.0] * 30, "y": [FORMULA, "@b"] * 30}, schema=schema)
    model = sf.Gibbs(sf.losses.Logistic(schema.design().radius), sf.priors.Gaussian(5.0), 1)
    sf.publish(sf.plan(model, 60, 1.0, 1e-6, mechanism="langevin"), data).save("fit.sfumato")
    (folder / "new.csv").write_text("a\n0.1\n0.9\n")
    code, out, _ = sfumato("query", "predict", "fit.sfumato", "--public-rows", "new.csv")
    assert code == 0
    assert [line.strip()[:2] in ("'=", "'@") for line in out.splitlines()] == [False, True, True]
