"""Commands are tested for what they print; the widths that they print are tested elsewhere with as many runs as users get."""

from __future__ import annotations

import sys

import pytest

from sfumato.rehearsing import expected_widths


@pytest.fixture(autouse=True)
def two_runs(monkeypatch):
    """Two runs behind every expected width."""
    module = sys.modules[expected_widths.__module__]
    monkeypatch.setattr(module, "_FEWEST", 2)
    monkeypatch.setattr(module, "_MOST", 2)
