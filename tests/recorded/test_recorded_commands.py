"""What the commands print and write in an office's folder is what was recorded."""

from __future__ import annotations

import sys

import pytest

from recorded import kinds, office, texts
from recorded.shells import Shell
from sfumato.rehearsing import expected_widths


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path):
    """A shell in the office; two runs stand behind each expected width."""
    module = sys.modules[expected_widths.__module__]
    monkeypatch.setattr(module, "_FEWEST", 2)
    monkeypatch.setattr(module, "_MOST", 2)
    office.write(tmp_path)
    return Shell(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize("session", office.SESSIONS)
def test_session(session, shell):
    with kinds.fixed(session):
        answers = [f"$ {line}\n{shell(line)[0]}" for line in office.SESSIONS[session]]
    texts.check(f"office/{session}", "\n\n".join(answers))
