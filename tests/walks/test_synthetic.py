"""From a code book to a synthetic table, by commands alone: the table of an office with semicolons, dates and empty cells."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import sfumato as sf
from command_line import typed

N = 600
BOOK = """\
Variable;Description;Type;Min;Max;Values;Missing values;Format
Alter;Age in years;integer;0;99;;k.A.;
Kinder;Children;integer;0;6;;;
Familienstand;Marital status;category;;;ledig|verheiratet|verwitwet;;
Einkommen;Income in euros;number;0;90000;;;
Aufnahme;Date;date;01.01.2020;31.12.2024;;;DD.MM.YYYY
krank;Ill;category;;;nein|ja;;
"""


@pytest.fixture
def done(monkeypatch, capsys):
    """What a command prints; it must succeed."""

    def run(*words):
        code, out, err = typed(monkeypatch, capsys, *words)
        assert code == 0, err
        return out

    return run


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    lines = ["Akte;Alter;Kinder;Familienstand;Einkommen;Aufnahme;krank"]
    for place in range(N):
        age = int(rng.integers(0, 100))
        cells = [
            str(place),
            str(age) if rng.random() > 0.05 else "k.A.",
            str(min(int(rng.poisson(1.0)), 6) if age > 17 else 0),
            "ledig" if age < 18 else rng.choice(["ledig", "verheiratet", "verwitwet"]),
            "" if rng.random() < 0.2 else f"{rng.gamma(2, 9000):.2f}".replace(".", ","),
            f"{rng.integers(1, 29):02}.{rng.integers(1, 13):02}.{rng.integers(2020, 2025)}",
            rng.choice(["nein", "ja"], p=[0.8, 0.2]),
        ]
        lines.append(";".join(cells))
    (tmp_path / "akten.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    (tmp_path / "book.csv").write_text(BOOK, encoding="cp1252")
    return tmp_path


def test_from_a_code_book_to_a_synthetic_table(office, done):
    done("schema", "draft", "book.csv", "-o", "akten.toml")
    schema = office / "akten.toml"
    text = (
        schema.read_text().replace('# separator = ";"', 'separator = ";" #').replace('name = "data"', 'name = "akten"')
    )
    text = re.sub(r'levels = \[("\w+")(.*)\nmissing = "REQUIRED"', r"levels = [\1\2\nmissing = \1", text)
    schema.write_text(text.replace("# encoding", "encoding").replace("# decimal", "decimal"))
    done(
        "spec", "--data", "akten.csv", "--schema", "akten.toml", "--synthetic", "--target", "krank", "-o", "table.toml"
    )
    spec = office / "table.toml"
    rules = """network = "learn"
bins = { Alter = [0, 18, 40, 65, 99] }
missing = ["Alter", "Einkommen"]
impossible = [{ Alter = "< 18", Familienstand = ["verheiratet", "verwitwet"] }]"""
    spec.write_text(spec.read_text().replace('network = "learn"', rules).replace("epsilon = 1.0", "epsilon = 2.0"))
    done("ledger", "create", "budget.db")
    done("ledger", "register", "budget.db", "akten", "--epsilon", "3", "--delta", "1e-5", "--unit", "row")
    planned = done("plan", "table.toml")
    assert "15 pairs of 6 columns" in planned
    assert "Einkommen (10), Aufnahme (10)" in planned
    assert "no record has Alter=[0, 18) and Familienstand=verheiratet or verwitwet" in planned
    done("release", "table.toml", "-o", "table.sfumato")
    assert "sealed" in done("show", "table.sfumato", "--verify", "--ledger", "budget.db")
    # The same spec again costs nothing.
    done("release", "table.toml", "-o", "again.sfumato")
    assert (office / "again.sfumato").read_bytes() == (office / "table.sfumato").read_bytes()
    assert "in 1 charge" in done("ledger", "show", "budget.db")
    done("query", "synthesize", "table.sfumato", "--rows", "900", "-o", "synthetic.csv")
    with (office / "synthetic.csv").open(encoding="cp1252", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert len(rows) == 900
    assert list(rows[0]) == ["Alter", "Kinder", "Familienstand", "Einkommen", "Aufnahme", "krank"]
    young = [row for row in rows if row["Alter"] and int(row["Alter"]) < 18]
    assert young
    assert {row["Familienstand"] for row in young} == {"ledig"}
    assert any(row["Einkommen"] == "" for row in rows)
    # What was made from the table is read as the table is: another release could be made of it.
    again = sf.Dataset.from_table(office / "synthetic.csv", schema=sf.Schema.load(schema))
    assert again.n == 900
    assert "missing" in done("query", "marginal", "table.sfumato", "Alter", "--interval", "0.9")
    assert "guesses this one right at most" in done("query", "attacker", "table.sfumato")
    assert "0.3" in done("price-list", "table.toml")
    done("report", "table.sfumato", "-o", "table.html")
    assert "akten" in (office / "table.html").read_text()
