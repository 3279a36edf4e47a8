"""One statement has one label: in docs/errata.md, in the scripts' claims and in the lists of statements.

labels.toml says which rows judge the same statement. The claims are those kept in docs/papers, where a run has been kept.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from errata_cases import CASES, FALSE, LABELS, LOOSE, NOTATION, PROOF, Case
from papers import page, running
from papers.reporting import REPRODUCED, TIGHTER, VERDICTS

LETTERS = {"minami2016": "M", "geumlek2017": "G", "dimitrakakis2017": "D"}
TABLE = {
    paper: [(tuple(row["errata"]), row["claims"], row["statements"]) for row in rows]
    for paper, rows in tomllib.loads((Path(__file__).parent / "labels.toml").read_text(encoding="utf-8")).items()
}
ROWS = [(paper, *row) for paper, rows in TABLE.items() for row in rows]
# Labels that need a row in the errata; a better theorem (tighter) needs none.
WRONG = (FALSE, LOOSE, NOTATION)
# What Figure 3 shows on data is a finding of the experiment, which no short computation can repeat.
MEASURED = ("figure_3", "figure_3_samplers")

Claims = dict[str, list[dict[str, Any]]]


def kept_claims(paper: str, folder: Path = running.KEPT) -> Claims:
    """The claims of a paper's scripts, for each script of which a run has been kept."""
    scripts = [name.split("/")[1] for name in running.names() if name.startswith(f"{paper}/")]
    paths = {script: folder / paper / f"{script}.json" for script in scripts}
    return {
        script: json.loads(path.read_text(encoding="utf-8"))["claims"]
        for script, path in paths.items()
        if path.exists()
    }


STATEMENTS = {paper: {each["label"]: each for each in page.statements(paper)} for paper in running.PAPERS}


def case_of(paper: str, errata: tuple[str, str]) -> Case:
    """The row of the errata at a place whose printed text holds the part given."""
    where, part = errata
    (one,) = [c for c in CASES if (c.paper, c.where) == (LETTERS[paper], where) and part in c.printed]
    return one


def claim_of(claims: list[dict[str, Any]], place: str, part: str) -> dict[str, Any]:
    """The one claim at a place whose statement holds the part given."""
    there = [each for each in claims if each["place"] == place and part in each["statement"]]
    assert len(there) == 1, f"{len(there)} claims at {place} about {part!r}"
    return there[0]


def of_claim(case: Case, claim: dict[str, Any]) -> list[str]:
    """How a claim of a script contradicts the errata."""
    about_step = "proof" in claim["place"]
    if case.label == PROOF:
        allowed = (FALSE,) if about_step else (REPRODUCED, TIGHTER)
    else:
        allowed = (case.label,)
    return [] if claim["verdict"] in allowed else [f"{claim['place']}: {claim['verdict']}, errata: {case.label}"]


def of_statement(case: Case, statement: dict[str, Any]) -> list[str]:
    """How a row of statements contradicts the errata: its verdict is another, and its note does not give the label."""
    note = statement.get("note", "")
    if case.label == PROOF:
        agrees = statement["verdict"] in (REPRODUCED, TIGHTER) and "proof" in note
    else:
        agrees = statement["verdict"] == case.label or case.label in note
    return [] if agrees else [f"{statement['label']}: {statement['verdict']}, errata: {case.label}"]


def disagreements(case: Case, claims: list[dict[str, Any]], statements: list[dict[str, Any]]) -> list[str]:
    """Every place at which the label of an erratum differs."""
    return [text for claim in claims for text in of_claim(case, claim)] + [
        text for statement in statements for text in of_statement(case, statement)
    ]


def judged(paper: str, errata: tuple[str, str], wanted: list[list[str]], labels: list[str], kept: Claims) -> list[str]:
    """Disagreements of one row of the table."""
    claims = [claim_of(kept[script], place, part) for script, place, part in wanted if script in kept]
    return disagreements(case_of(paper, errata), claims, [STATEMENTS[paper][label] for label in labels])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{LETTERS[row[0]]} {row[1][0]}")
def test_the_label_is_the_same_everywhere(row):
    paper, errata, claims, statements = row
    assert judged(paper, errata, claims, statements, kept_claims(paper)) == []


def test_every_erratum_is_in_the_table_once():
    listed = [case_of(paper, errata) for paper, errata, _, _ in ROWS]
    assert len(listed) == len(CASES) == len({(c.paper, c.where, c.printed) for c in listed})


@pytest.mark.parametrize("paper", running.PAPERS)
def test_what_is_called_wrong_has_an_erratum(paper):
    statements = {label for _, _, labels in TABLE[paper] for label in labels}
    assert {label for label, each in STATEMENTS[paper].items() if each["verdict"] in WRONG} <= statements
    assert unlisted(paper, kept_claims(paper)) == []


def unlisted(paper: str, kept: Claims) -> list[str]:
    """Claims with a verdict that needs an erratum, and without one."""
    listed = [
        claim_of(kept[script], place, part)
        for _, claims, _ in TABLE[paper]
        for script, place, part in claims
        if script in kept
    ]
    return [
        f"{script}, {claim['place']}: {claim['statement']}"
        for script, claims in kept.items()
        for claim in claims
        if claim["verdict"] in WRONG and script not in MEASURED and claim not in listed
    ]


@pytest.mark.parametrize("paper", running.PAPERS)
def test_the_table_names_scripts_and_statements_that_exist(paper):
    scripts = {name.split("/")[1] for name in running.names() if name.startswith(f"{paper}/")}
    assert {script for _, claims, _ in TABLE[paper] for script, _, _ in claims} <= scripts
    assert {label for _, _, labels in TABLE[paper] for label in labels} <= set(STATEMENTS[paper])


# --- Planted disagreements -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in ROWS if row[3]], ids=lambda row: f"{LETTERS[row[0]]} {row[1][0]}")
def test_another_label_in_the_errata_is_seen(row):
    paper, errata, _, labels = row
    case, statements = case_of(paper, errata), [STATEMENTS[paper][label] for label in labels]
    noted = " ".join(statement["verdict"] + " " + statement.get("note", "") for statement in statements)
    others = [label for label in LABELS if label != case.label and label not in noted]
    assert others
    for label in others:
        assert disagreements(replace(case, label=label), [], statements)


def test_another_verdict_of_a_claim_or_a_statement_is_seen(tmp_path):
    paper, errata, place = "minami2016", ("(C.4)", ""), "(C.4)"
    for verdict in VERDICTS:
        claim = {"place": place, "statement": "the minimiser", "verdict": verdict}
        (tmp_path / paper).mkdir(exist_ok=True)
        (tmp_path / paper / "theorem_18_example_19.json").write_text(json.dumps({"claims": [claim]}), encoding="utf-8")
        kept = kept_claims(paper, tmp_path)
        seen = judged(paper, errata, [["theorem_18_example_19", place, ""]], [], kept)
        assert bool(seen) is (verdict != NOTATION)
        assert bool(of_statement(case_of(paper, errata), {"label": place, "verdict": verdict})) is (verdict != NOTATION)


def test_a_proof_whose_statement_is_called_false_is_seen():
    case = case_of("dimitrakakis2017", ("Thm 4, proof", ""))
    for place, verdict, agrees in (("Theorem 4", REPRODUCED, True), ("Theorem 4", TIGHTER, True),
                                   ("Theorem 4", FALSE, False), ("Theorem 4", NOTATION, False),
                                   ("Theorem 4, proof", FALSE, True), ("Theorem 4, proof", REPRODUCED, False)):  # fmt: skip
        assert (of_claim(case, {"place": place, "verdict": verdict}) == []) is agrees
    held = {"label": "Theorem 4", "verdict": REPRODUCED, "note": "A step of the proof fails."}
    assert of_statement(case, held) == []
    assert of_statement(case, {**held, "note": ""})
    assert of_statement(case, {**held, "verdict": FALSE})


def test_a_claim_without_an_erratum_is_seen():
    claim = {"place": "Corollary 9, repaired", "statement": "with the prior restricted", "verdict": FALSE}
    first = {"place": "Corollary 9", "statement": "with prior probability", "verdict": FALSE}
    assert unlisted("dimitrakakis2017", {"corollary_9": [first]}) == []
    assert unlisted("dimitrakakis2017", {"corollary_9": [first, claim]}) == [
        "corollary_9, Corollary 9, repaired: with the prior restricted"
    ]
