"""The pages about the ledger: the proof has its parts, the user's page runs, and the limits are said."""

from __future__ import annotations

import re
from pathlib import Path

from test_pages import SAID

DOCS = Path(__file__).parent.parent.parent / "docs"
PARTS = ["## Precondition", "## Statement", "## Proof", "## How it differs from the papers"]


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_proof_note_has_its_parts():
    lines = (DOCS / "proofs" / "ledger.md").read_text().splitlines()
    assert [part for part in PARTS if part not in lines] == []


def test_the_page_runs_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "ledger.md").read_text()
    names: dict[str, object] = {}
    assert len(blocks(text)) == 2
    for block in blocks(text):
        exec(compile(block, "docs/ledger.md", "exec"), names)
    said = capsys.readouterr().out
    names["ledger"].close()
    assert [word for word in SAID["ledger.md"] if word not in said] == []
    # Row by row as on the page, but for the time and the hash.
    printed = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    spent = next(line for line in printed if line.startswith("survey: spent"))
    assert spent in said
    receipt = next(line for line in printed if line.startswith("row 2"))
    assert receipt.split(": ", 1)[1].split(";")[0] in said
    assert "the charge does not fit" in said


def test_what_is_not_detected_is_said():
    text = (DOCS / "ledger.md").read_text()
    assert re.search(r"restored together.*not detected", text)
    assert blocks("```python\n1 / 0\n```") == ["1 / 0\n"]
