"""Every numbered statement of the three papers has a row with a verdict, code that exists, and scripts that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from papers import page, running
from papers.reporting import VERDICTS

ROOT = Path(__file__).resolve().parents[2]
STATEMENTS = {paper: page.statements(paper) for paper in running.PAPERS}
ALL = [(paper, each) for paper, rows in STATEMENTS.items() for each in rows]


def numbered(kind: str, *numbers: int) -> set[str]:
    return {f"{kind} {number}" for number in numbers}


# What the papers number, from their texts.
NUMBERED = {
    "minami2016": numbered("Theorem", 3, 4, 5, 7, 10, 15, 16, 18, 21)
    | numbered("Corollary", 8, 11)
    | numbered("Assumption", 6, 9)
    | numbered("Proposition", 12, 13)
    | numbered("Lemma", 14, 20)
    | numbered("Example", 17, 19)
    | {"Claim 1", "Definition 2", "Figure 1", "Table 1", "(A.1)", "(B.7)", "(B.8)", "(C.4)", "(D.8)"}
    | {f"({k})" for k in range(1, 26)},
    "dimitrakakis2017": numbered("Example", 1, 2)
    | numbered("Definition", 1, 2)
    | numbered("Assumption", 1, 2)
    | numbered("Claim", 1, 2, 3, 4)
    | numbered("Theorem", 4, 6, 7, 8, 13, 17, 25)
    | numbered("Lemma", 5, 11, 12, 14, 15, *range(18, 25))
    | numbered("Corollary", 9, 10, 16)
    | numbered("Algorithm", 1, 2)
    | {"Remark 3", "Figure 1a", "Figure 1b", "Section 2.2.2", "Section 6.2"},
    "geumlek2017": numbered("Definition", *range(1, 12))
    | numbered("Algorithm", *range(1, 6))
    | numbered("Theorem", *range(12, 18))
    | numbered("Corollary", 1, 2)
    | numbered("Figure", 1, 2, 3)
    | {"Assumption 1", *(f"Equation ({k})" for k in range(3, 7))},
}


def covered(labels: list[str]) -> set[str]:
    """The numbered things that these labels name: "Theorem 7, (6)" names both, "Theorem 7 (2)" the theorem."""
    text = "; ".join(labels)
    names = set(re.findall(r"(?:[A-Z][a-z]+ )(?:\d+(?:\.\d)*[ab]?)", text)) | set(
        re.findall(r"\((?:[A-D]\.)?\d+\)", text)
    )
    return names | set(re.findall(r"Equation \(\d+\)", text, flags=re.IGNORECASE))


def resolve(dotted: str) -> object:
    """The object of a dotted name: the longest importable module, then attributes."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            value = getattr(value, name)
        return value
    raise ModuleNotFoundError(dotted)


@pytest.mark.parametrize("paper", running.PAPERS)
def test_every_numbered_statement_has_a_row(paper):
    labels = [each["label"] for each in STATEMENTS[paper]]
    assert len(labels) == len(set(labels))
    assert NUMBERED[paper] - covered(labels) == set()


def test_a_statement_that_is_left_out_is_seen():
    labels = [each["label"] for each in STATEMENTS["geumlek2017"] if each["label"] != "Theorem 15"]
    assert NUMBERED["geumlek2017"] - covered(labels) == {"Theorem 15"}


@pytest.mark.parametrize(("paper", "statement"), ALL, ids=lambda each: each if isinstance(each, str) else each["label"])
def test_a_row_names_code_and_scripts_that_exist(paper, statement):
    assert set(statement) <= {"label", "says", "code", "verdict", "scripts", "note"}
    assert statement["verdict"] in VERDICTS
    assert statement["says"].endswith(".")
    assert statement["code"]
    for name in statement["code"]:
        assert (ROOT / name).is_file() if "/" in name else resolve(name) is not None
    for name in statement["scripts"]:
        assert (ROOT / "papers" / paper / f"{name}.py").is_file()


@pytest.mark.parametrize("paper", running.PAPERS)
def test_every_script_belongs_to_a_statement(paper):
    scripts = {name.split("/")[1] for name in running.names() if name.startswith(f"{paper}/")}
    assert scripts == {name for each in STATEMENTS[paper] for name in each["scripts"]}


def test_a_name_that_does_not_exist_is_seen():
    with pytest.raises(AttributeError):
        resolve("sfumato.theorems.metric.no_such_theorem")
