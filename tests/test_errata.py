"""Every erratum of docs/errata.md names a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "errata.md").read_text())


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_names_a_test():
    rows = [line for line in (ROOT / "docs" / "errata.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(NAMED) > 30


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_the_named_test_exists(file, name):
    assert name in functions(ROOT / file)
