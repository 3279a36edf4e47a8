"""Every numbered statement of Dimitrakakis et al. 2017 has a row with a verdict, code that exists, and scripts that exist."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "papers" / "dimitrakakis2017"
STATEMENTS = tomllib.loads((FOLDER / "statements.toml").read_text(encoding="utf-8"))["statement"]
VERDICTS = {"reproduced", "tighter", "false", "loose but valid", "notation", "not stated"}
# What the paper numbers: parts of theorems count on their own.
NUMBERED = {
    *(f"Example {k}" for k in (1, 2)), *(f"Definition {k}" for k in (1, 2)), "Remark 3", "Theorem 4",
    *(f"Assumption {k}" for k in (1, 2)), "Lemma 5", "Theorem 6", "Section 2.2.2", *(f"Claim {k}" for k in (1, 2, 3, 4)),
    *(f"{name} ({k})" for name in ("Theorem 7", "Theorem 8", "Corollary 10") for k in (1, 2)), "Corollary 9",
    "Algorithm 1 (BAPS)", "Algorithm 2 (PSAQR)", *(f"Lemma {k}" for k in (11, 12, 14, 15, *range(18, 25))), "Theorem 13",
    "Corollary 16", "Theorem 17 (a)", "Theorem 17 (b)", "Theorem 25", "Section 6.2", "Figure 1a", "Figure 1b",
}  # fmt: skip


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


def test_every_numbered_statement_has_one_row():
    labels = [each["label"] for each in STATEMENTS]
    assert len(labels) == len(set(labels))
    assert set(labels) >= NUMBERED


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each["label"])
def test_a_row_names_code_and_scripts_that_exist(statement):
    assert set(statement) <= {"label", "says", "code", "verdict", "scripts", "note"}
    assert statement["verdict"] in VERDICTS
    assert statement["says"].endswith(".")
    assert statement["code"]
    for name in statement["code"]:
        assert (ROOT / name).is_file() if "/" in name else resolve(name) is not None
    for name in statement["scripts"]:
        assert (FOLDER / f"{name}.py").is_file()


def test_every_script_belongs_to_a_statement():
    scripts = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}
    assert scripts == {name for each in STATEMENTS for name in each["scripts"]}


def test_a_name_that_does_not_exist_is_seen():
    with pytest.raises(AttributeError):
        resolve("sfumato.theorems.metric.no_such_theorem")
