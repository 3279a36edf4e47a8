"""Wrong uses of persons on the command line: one line each, which says what to write, and shows no number of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from visit_table import LEDGER, MOST, OF_ROWS, ROWS, SCHEMA, SPEC, command, register, write_table


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with the table, its roster, its schema and a spec."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path)
    return tmp_path


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return command(monkeypatch, capsys)


COUNTED = SCHEMA.replace('roster = "ids.csv"', "count = 900")
WRONG = {
    "most is missing": (SCHEMA.replace(f"most = {MOST}\n", ""), SPEC, "plan", "Persons needs most: the most rows of one"),
    "count and roster are missing": (SCHEMA.replace('roster = "ids.csv"\n', ""), SPEC, "plan", "Persons needs count, the"),
    "the id is missing": (SCHEMA.replace('id = "patient_id"\n', ""), SPEC, "plan", "[persons] of a schema needs id ="),
    "the id is not in the table": (SCHEMA.replace("patient_id", "person"), SPEC, "release", "column 'person'"),
    "the id is a column too": (
        SCHEMA + '\n[columns.patient_id]\ntype = "category"\nlevels = ["a", "b"]\nmissing = "a"\n', SPEC, "plan",
        "column 'patient_id' is the id of persons and no column of the schema",
    ),
    "roster and count disagree": (
        SCHEMA.replace('roster = "ids.csv"', 'roster = "ids.csv"\ncount = 950'), SPEC, "plan",
        "the roster has 900 persons and the schema declares count = 950: one of the two is wrong",
    ),
    "n is the number of rows": (
        COUNTED, SPEC.replace("[data]", f"[data]\nn = {ROWS}"), "plan",
        "n in [data] is the number of persons, and the schema declares count = 900 of them; got another number. It is not the "
        "number of visits, which is private.",
    ),
    "n is not the length of the roster": (
        SCHEMA, SPEC.replace("[data]", "[data]\nn = 901"), "release",
        "n in [data] is the number of persons, and ids.csv lists another number of them.",
    ),
    "n is the number of rows, not the length of the roster": (
        SCHEMA, SPEC.replace("[data]", f"[data]\nn = {ROWS}"), "plan", "ids.csv lists another number of them. It is not the number"
    ),
    "the roster is not there": (SCHEMA.replace("ids.csv", "names.csv"), SPEC, "plan", "there is no file"),
    "the roster is empty": (SCHEMA.replace("ids.csv", "empty.csv"), SPEC, "plan", "empty.csv is empty: it lists nobody"),
    "a roster for rows": (
        OF_ROWS, SPEC.replace("[data]", '[data]\nroster = "ids.csv"'), "plan",
        "a roster lists persons, and the schema declares none",
    ),
    "more persons than declared": (
        COUNTED.replace("count = 900", "count = 800"), SPEC, "release", "ids of more persons than the schema's count = 800"
    ),
    "a delta for rows": (
        SCHEMA, SPEC.replace("1e-6", "0.01"), "plan", "would allow all visits of one patient among 900 to be published"
    ),
    "an unknown fact": (SCHEMA.replace("most =", "maximum ="), SPEC, "plan", "[persons] of a schema has the keys id, rule, most"),
}  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_is_one_line(name, clinic, sfumato):
    schema, spec, command, line = WRONG[name]
    Path("visits.toml").write_text(schema)
    Path("wrong.toml").write_text(spec)
    Path("empty.csv").write_text("patient_id\n")
    output = ("-o", "none.sfumato") if command == "release" else ()
    said = sfumato(command, "wrong.toml", *output, code=2)
    assert line in said
    assert said.count("\n") == 1
    assert not Path("none.sfumato").exists()


@pytest.mark.planted
def test_a_name_that_was_registered_for_rows_is_refused_with_what_to_do(clinic, sfumato):
    def planned() -> str:
        return sfumato("plan", "stay.toml").splitlines()[-1]

    options = "--unit patient --persons patient_id."
    assert planned().endswith(
        f"sfumato ledger create budget.db, then register 'visits' with its whole budget and {options}"
    )
    said = sfumato("ledger", "create", "budget.db")
    assert "(where one person may have several rows, with --persons and the column that says whose row it is)" in said
    assert planned().endswith(f"or sfumato ledger register. For the persons of this schema: {options}")
    sfumato("ledger", "register", "budget.db", "visits", "--epsilon", 3, "--delta", "1e-6", "--unit", "patient")
    refusal = "'visits' was registered for single rows, and one patient of this schema may have several visits:"
    assert planned().startswith(f"ledger     {refusal}")
    assert "with --unit 'patient' --persons 'patient_id'" in planned()
    assert refusal in sfumato("release", "stay.toml", "-o", "stay.sfumato", code=3)
    assert not Path("stay.sfumato").exists()


def test_rows_under_a_name_of_persons_and_persons_by_another_column_are_refused(clinic, sfumato):
    register(sfumato)
    Path("visits.toml").write_text(OF_ROWS)
    said = sfumato("release", "stay.toml", "-o", "stay.sfumato", code=3)
    assert "'visits' was registered for every patient with all of their rows" in said
    assert "Declare [persons] in the schema, with id = 'patient_id'" in said
    Path("visits.toml").write_text(SCHEMA.replace("patient_id", "ward").replace("[columns.ward]", "[columns.other]"))
    Path("ids.csv").write_text("ward\nnorth\nsouth\n")
    Path("stay.toml").write_text((SPEC + LEDGER).replace("1e-6", "1e-7"))
    assert "id column must be 'patient_id'" in sfumato("release", "stay.toml", "-o", "stay.sfumato", code=3)
