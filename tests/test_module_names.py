"""No two modules of the tests have the same name: they are imported by it, whatever folder they lie in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
# Pytest keeps these apart by their folders.
APART = {"conftest", "__init__"}


def doubled(paths: list[Path]) -> list[str]:
    counted = Counter(path.stem for path in paths if path.stem not in APART)
    return sorted(name for name, count in counted.items() if count > 1)


def test_every_module_has_a_name_of_its_own():
    assert doubled(sorted(HERE.rglob("*.py"))) == []


def test_a_second_module_of_a_name_is_seen():
    assert doubled(
        [Path("a/person_cases.py"), Path("b/person_cases.py"), Path("a/conftest.py"), Path("b/conftest.py")]
    ) == ["person_cases"]
