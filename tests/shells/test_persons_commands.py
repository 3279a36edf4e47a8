"""The commands on a table of visits: a whole walk from its header to a report, without one number of rows on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato import Schema
from visit_table import (
    ABOVE,
    BEYOND,
    COLUMNS,
    MEAN_PATIENT,
    MEAN_VISIT,
    MOST,
    OFF_ROSTER,
    PRIVATE,
    ROWS,
    SCHEMA,
    SPEC,
    WITHOUT_ID,
    N,
    command,
    register,
    shows,
    write_table,
)

MEANS = "the mean over the records of each patient's own mean over their visits, not the mean over all visits."
LIMIT = "At most 12 visits of one patient count: more do not cost more noise, and are left out by a random sample."
RATE = SPEC.replace('family = "BoundedMean"\ncolumn = "stay"', 'family = "BetaBernoulli"\ncolumn = "icu"')
REGRESSION = SPEC.replace(
    'family = "BoundedMean"\ncolumn = "stay"', 'regression = "logistic"\ntarget = "icu"\nfeatures = ["stay"]'
)


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with the table, its roster, its schema and a spec."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path)
    return tmp_path


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return command(monkeypatch, capsys)


def registered(sfumato) -> None:
    said = register(sfumato)
    assert "neighbours: one patient with all of their rows replaced (persons by patient_id), n public." in said


@pytest.mark.planted
def test_private_numbers_are_seen_where_they_stand():
    assert shows(f"x {ROWS} rows") == shows(f"n = {ROWS:,}.") == shows(f'"n": {ROWS},\n') == {ROWS}
    assert shows(f"a{ROWS}b 1{ROWS} 0.{ROWS} {ROWS}.5 {ROWS},000") == set()
    assert len(PRIVATE) == 4
    assert min(PRIVATE) > 1000
    assert MEAN_VISIT > MEAN_PATIENT + 10


# --- the walk ----------------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_a_walk_from_a_header_to_a_spec(clinic, sfumato):
    sfumato(
        "schema", "draft", "visits.csv", "--header", "--persons", "patient_id", "--rows", "visits", "-o", "new.toml"
    )
    text = Path("new.toml").read_text()
    assert "[columns.patient_id]" not in text
    assert "5 public facts must be declared" in sfumato("schema", "check", "new.toml", "visits.csv", code=2)
    head = text.partition("\n# type =")[0]
    for old, new in (
        ('name = "data"', 'name = "visits"'), ('unit = "person"', 'unit = "patient"'), ('# decimal', 'decimal'),
        ('most = "REQUIRED"', f"most = {MOST}"), ('count = "REQUIRED"', "#"), ('# roster = "file.csv"', 'roster = "ids.csv"'),
    ):  # fmt: skip
        assert old in head
        head = head.replace(old, new)
    Path("new.toml").write_text(f"{head}\n{COLUMNS}")
    assert Schema.load("new.toml") == Schema.load("visits.toml")
    structure = sfumato("schema", "check", "new.toml", "visits.csv", "--no-counts")
    assert structure == "the structure fits the schema; no row was read\n"
    counted = sfumato("schema", "check", "new.toml", "visits.csv")
    assert f"{ROWS} rows, 0 of the wrong length" in counted
    assert f"900 declared, 40 of them without visits, {ABOVE} with more than {MOST} visits\n" in counted
    assert (
        f"rows left out: {WITHOUT_ID} without patient_id, {OFF_ROSTER} of ids that are not on the roster, {BEYOND} beyond"
        in counted
    )
    sfumato("spec", "--data", "visits.csv", "--schema", "new.toml", "--column", "stay", "-o", "first.toml")
    assert "records    900 (public)" in sfumato("plan", "first.toml")
    drafted = sfumato("schema", "draft", "visits.csv", "--header")
    assert 'draft again with --persons "patient_id"' in drafted


@pytest.mark.planted
def test_a_walk_from_a_plan_to_a_report(clinic, sfumato):
    registered(sfumato)
    plan = sfumato("plan", "stay.toml")
    lines = dict(line.split(None, 1) for line in plan.splitlines())
    assert lines["persons"] == f"each patient counts once: what is estimated is {MEANS} {LIMIT}"
    assert lines["missing"] == (
        "empty, unreadable or undeclared cells: stay as 0. Every patient without visits counts as one row whose cells "
        "are all missing."
    )
    assert lines["records"] == (
        "900 (public): a record is one patient with all of their visits; how many visits there are is private"
    )
    assert "It holds for every patient with all of their visits (neighbours: one patient with" in lines["price"]
    assert lines["ledger"].startswith("of 'visits' epsilon 10 is left")
    assert "person counts" not in plan
    made = sfumato("release", "stay.toml", "-o", "stay.sfumato")
    assert (
        "about    visits, column stay: 900 of unit 'patient', each with all of their visits (by patient_id)\n" in made
    )
    assert f"persons  {lines['persons']}\n" in made
    Path("visits.csv").unlink()
    assert "verified the file is byte for byte" in sfumato("show", "stay.sfumato", "--verify", "--ledger", "budget.db")
    assert f"Persons: {lines['persons']}" in sfumato("query", "summary", "stay.sfumato")
    assert f"E{lines['persons'][1:]}" in sfumato("query", "interval", "stay.sfumato")
    assert "knows all visits of every other patient" in sfumato("query", "attacker", "stay.sfumato")
    sfumato("plot", "stay.sfumato", "-o", "stay.svg")
    sfumato("report", "stay.sfumato", "-o", "stay.html", "--ledger", "budget.db")
    page = Path("stay.html").read_text()
    assert "900 records, one for each patient with all of their visits." in page
    assert "Persons: each patient counts once" in page
    sfumato("ledger", "show", "budget.db")
    sfumato("ledger", "report", "budget.db", "-o", "budget.html", "stay.sfumato")
    budget = Path("budget.html").read_text()
    assert "private together, for every patient with all of their rows (neighbours: one patient" in budget
    assert "Persons are known by the column &#x27;patient_id&#x27;." in budget
    assert "900 records (one for each patient with all of their visits)" in budget
    assert "one rate, such as the share of a yes" in budget  # an example of what is left fits the registered neighbours
    for written in clinic.iterdir():
        assert shows(written.read_bytes().decode("latin-1")) == set(), written.name


def test_what_is_released_is_the_mean_patient_and_not_the_mean_visit(clinic, sfumato):
    Path("exact.toml").write_text(SPEC.replace("epsilon = 1.0", "epsilon = 50.0"))
    released = json.loads(sfumato("release", "exact.toml", "-o", "exact.sfumato", "--json"))
    # The deviation of the noise is about 60 * 0.15 / 900.
    assert abs(next(iter(released["estimates"].values()))["estimate"] - MEAN_PATIENT) < 0.2
    assert released["plan"]["persons"] == {"id": "patient_id", "rule": "average", "rows": "visits", "most": MOST}
    assert released["plan"]["n"] == N


@pytest.mark.planted
def test_json_documents_name_the_persons(clinic, sfumato):
    registered(sfumato)
    planned = json.loads(sfumato("plan", "stay.toml", "--json"))
    assert planned["persons"]["id"] == "patient_id"
    assert planned["guarantee"]["adjacency"] == "replace-person"
    listed = json.loads(sfumato("price-list", "stay.toml", "--epsilons", "0.5,1", "--json"))
    assert [each["plan"]["persons"]["most"] for each in listed] == [MOST, MOST]
    assert json.loads(sfumato("ledger", "show", "budget.db", "--json"))["visits"]["persons"] == "patient_id"
    assert json.loads(sfumato("plan", "nowhere.toml", "--json", code=2))["kind"]


@pytest.mark.planted
def test_every_other_command_plans_for_persons(clinic, sfumato):
    registered(sfumato)
    proposed = sfumato("bounds", "stay.toml", "--epsilon", 2)
    assert "records    900 (public): a record is one patient with all of their visits" in proposed
    assert "persons    each patient counts once: their visits share the weight of one record" in proposed
    assert "would be left after these charges" in proposed
    sfumato("bounds", "stay.toml", "--epsilon", 2, "--yes", "-o", "bounded.toml")
    assert Schema.load("bounded.toml").persons == Schema.load("visits.toml").persons
    Path("icu.toml").write_text(RATE)
    assert "n = 900" in sfumato("compare", "icu.toml")
    audit = sfumato("audit", "icu.toml", "--runs", 20, "-o", "audit.json")
    assert "not refuted" in audit
    sfumato("release", "icu.toml", "-o", "icu.sfumato")
    sfumato("report", "icu.sfumato", "-o", "icu.html", "--audit", "audit.json")
    Path("fit.toml").write_text(REGRESSION)
    said = sfumato("plan", "fit.toml")
    assert "expected half-widths" in said
    assert "  one row for each patient" in said
    assert "half-widths" in sfumato("rehearse", "fit.toml", "--runs", 1)
    sfumato("release", "fit.toml", "-o", "fit.sfumato")
    assert "records  900 (unit: patient with all of their visits)" in sfumato("query", "summary", "fit.sfumato")
    Path("public.csv").write_text("stay;ward\n12,5;north\n")
    assert "prediction" in sfumato("query", "predict", "fit.sfumato", "--public-rows", "public.csv")


# --- the roster --------------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_the_roster_lies_beside_the_schema_and_a_spec_may_name_another(clinic, sfumato, monkeypatch):
    Path("facts").mkdir()
    Path("facts/visits.toml").write_text(SCHEMA)
    Path("ids.csv").rename("facts/ids.csv")
    Path("specs").mkdir()
    spec = SPEC.replace('"visits.csv"', '"../visits.csv"').replace('"visits.toml"', '"../facts/visits.toml"')
    Path("specs/stay.toml").write_text(spec)
    assert "records    900 (public)" in sfumato("plan", "specs/stay.toml")
    sfumato("release", "specs/stay.toml", "-o", "stay.sfumato")
    sfumato("schema", "check", "facts/visits.toml", "visits.csv", "--counts")
    Path("specs/fewer.csv").write_text("patient_id\n" + "".join(f"{who}\n" for who in range(850)))
    Path("specs/stay.toml").write_text(spec.replace("[data]", '[data]\nroster = "fewer.csv"'))
    assert "records    850 (public)" in sfumato("plan", "specs/stay.toml")
    assert "850 of unit 'patient'" in sfumato("release", "specs/stay.toml", "-o", "other.sfumato")
    said = sfumato("schema", "check", "facts/visits.toml", "visits.csv", "--counts", "--roster", "specs/fewer.csv")
    assert "850 declared, 0 of them without visits" in said


def test_a_plan_needs_no_data(clinic, sfumato):
    Path("visits.csv").unlink()
    assert "records    900 (public)" in sfumato("plan", "stay.toml")
