"""Every theorem file has its note, every note its parts, and every theorem function says its mathematics."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
THEOREMS = sorted(p.stem for p in (ROOT / "src" / "sfumato" / "theorems").glob("*.py") if not p.stem.startswith("_"))
PARTS = ["## Precondition", "## Statement", "## Proof", "## How it differs from the papers"]


def missing_parts(text: str) -> list[str]:
    lines = text.splitlines()
    return [part for part in PARTS if not any(line.startswith(part) for line in lines)]


@pytest.mark.parametrize("name", THEOREMS)
def test_each_theorem_has_its_note(name):
    note = ROOT / "docs" / "proofs" / f"{name}.md"
    assert note.exists(), f"docs/proofs/{name}.md is missing"
    assert missing_parts(note.read_text()) == []


@pytest.mark.parametrize("name", THEOREMS)
def test_each_public_function_is_documented(name):
    module = importlib.import_module(f"sfumato.theorems.{name}")
    functions = [
        f for n, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__ and n[0] != "_"
    ]
    assert functions
    for function in functions:
        assert inspect.getdoc(function), f"{name}.{function.__name__}"


def test_a_note_without_a_proof_is_seen():
    assert missing_parts("## Precondition\n## Statement\n## How it differs from the papers\n") == ["## Proof"]
