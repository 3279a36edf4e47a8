"""The page of threats names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def named(text: str) -> list[str]:
    """Every test or file of tests that a page names."""
    return re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", text)


def missing(names: list[str]) -> list[str]:
    """The names for which there is no file, or no function in it."""
    absent = []
    for name in names:
        file, _, function = name.partition("::")
        path = ROOT / file
        if not path.is_file() or (function and not re.search(rf"^ *def {function}\(", path.read_text(), re.MULTILINE)):
            absent.append(name)
    return absent


def test_every_threat_names_a_test_that_exists():
    rows = [line for line in (ROOT / "docs" / "threats.md").read_text().splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(row.split("|")[1]) for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) >= 23
    assert [row for row in rows if not named(row)] == []
    assert missing(named("\n".join(rows))) == []


def test_a_name_that_is_not_there_is_seen():
    assert missing(["tests/test_threats.py::test_nothing", "tests/nowhere.py", "tests/test_threats.py"]) == [
        "tests/test_threats.py::test_nothing",
        "tests/nowhere.py",
    ]
