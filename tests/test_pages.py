"""The pages for users run as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("families.md", ["region=north", "costs epsilon", "declare Number", "smoker"]),
        ("estimators.md", ["differential privacy", "data_norm=1.0,", "true 0.3", "same side: True", "NOT PRIVATE"]),
    ],
)
def test_a_page_runs_as_printed(page, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    printed = capsys.readouterr().out
    assert [word for word in said if word not in printed] == []
