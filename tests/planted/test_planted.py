"""The list of planted faults fits the source and the tests, and the script that plants them tells killed from survived."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import plant

FAULTS = plant.read_faults()


def test_names_are_unique():
    names = [(fault.room, fault.name) for fault in FAULTS]
    assert FAULTS
    assert len(names) == len(set(names))


@cache
def spans(source: str) -> list[tuple[int, int]]:
    """Before which line the statements of a module begin, decorators included, and with which they end."""
    body = ast.parse(source).body
    starts = [min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))]) for node in body]
    return [(start - 1, node.end_lineno or start) for start, node in zip(starts, body, strict=True)]


def same_lines(one: list[str], other: list[str]) -> int:
    """How many lines both have alike before the first that differs."""
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def same_meaning(source: str, changed: str) -> bool:
    """Whether Python reads the same of both: what it parses the changed lines to, with the statements that they touch."""
    before, after = source.splitlines(), changed.splitlines()
    low = same_lines(before, after)
    kept = same_lines(before[low:][::-1], after[low:][::-1])
    high = len(before) - kept
    touched = [span for span in spans(source) if span[0] <= high and span[1] >= low]
    low, high = min([low, *(start for start, _ in touched)]), max([high, *(end for _, end in touched)])
    grown = len(after) - len(before)
    return ast.dump(ast.parse("\n".join(before[low:high]))) == ast.dump(ast.parse("\n".join(after[low : high + grown])))


@pytest.mark.parametrize(
    ("changed", "same"),
    [("@f(1)\ndef g():\n    return 2  # two\n", True), ("@f(3)\ndef g():\n    return 2\n", False),
     ("@f(1)\ndef g():\n    return 3\n", False), ("@f(1)\ndef g():\n    return 2\nx = 1\n", False),
     ("@f(1)\ndef g():\n    x = 1\n    return 2\n", False), ("@f(1)\ndef g():\n\n    return 2\n", True)],
)  # fmt: skip
def test_a_comment_is_no_fault_and_a_changed_decorator_is_one(changed, same):
    assert same_meaning("@f(1)\ndef g():\n    return 2\n", changed) == same


def misfits(faults: list[plant.Fault], root: Path) -> list[str]:
    """Faults whose old text is not in its file exactly once, or which change nothing that Python reads."""
    found = []
    for fault in faults:
        try:
            source = (root / plant.PACKAGE / fault.file).read_text()
            changed = fault.planted(source)
            # The kernels of a card are no Python: there another text is another meaning.
            if source == changed or (fault.file.endswith(".py") and same_meaning(source, changed)):
                found.append(fault.name)
        except (OSError, ValueError, SyntaxError):
            found.append(fault.name)
    return found


def test_every_fault_can_be_planted():
    assert misfits(FAULTS, plant.ROOT) == []


def defined(path: Path) -> set[str]:
    """Names of the tests of a file as node ids write them: a function, a class, or a class and its function."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return found


def absent(faults: list[plant.Fault], root: Path) -> list[str]:
    """Faults whose test is not in the file that they name."""
    known: dict[str, set[str]] = {}
    for fault in faults:
        file = fault.test.partition("::")[0]
        if file not in known:
            known[file] = defined(root / file) if (root / file).is_file() else set()
    return [
        fault.name
        for fault in faults
        if fault.test.partition("::")[2].partition("[")[0] not in known[fault.test.partition("::")[0]]
    ]


def test_every_named_test_exists():
    assert absent(FAULTS, plant.ROOT) == []


# --- the marker ------------------------------------------------------------------------------------------------------

# Every test that catches a planted fault, one a line. A test that is renamed is renamed there too; none may be lost.
LISTED = Path(__file__).with_name("names.txt").read_text().split()


def marked(faults: list[plant.Fault], root: Path) -> set[str]:
    """Tests that carry the marker `planted`: those that a fault names, and those with the decorator."""
    lost = absent(faults, root)
    found = {fault.test.partition("[")[0] for fault in faults if fault.name not in lost}
    for path in (root / "tests").rglob("test_*.py"):
        text = path.read_text()
        if "@pytest.mark.planted" in text:
            found |= {
                f"{path.relative_to(root).as_posix()}::{node.name}"
                for node in ast.parse(text).body
                if isinstance(node, ast.FunctionDef) and "pytest.mark.planted" in map(ast.unparse, node.decorator_list)
            }
    return found


def test_every_listed_test_still_exists_and_is_marked(request):
    listed = set(LISTED)
    assert sorted(listed) == LISTED
    assert sorted(listed - marked(FAULTS, plant.ROOT)) == []
    collected = [item for item in request.session.items if item.nodeid.partition("[")[0] in listed]
    assert collected
    assert [item.nodeid for item in collected if item.get_closest_marker("planted") is None] == []


# --- the script on a tree of its own ---------------------------------------------------------------------------------

SOURCE = "def twice(x):\n    return x + x\n\n\ndef thrice(x):\n    return x + x + x\n"
TESTS = "from sfumato.sums import twice, thrice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
ENTRY = "[[fault]]\nname = '{name}'\nfile = 'sums.py'\nold = '''{old}'''\nnew = '''{new}'''\ntest = '{test}'\n"
GOOD = {
    "name": "added once",
    "old": "return x + x\n\n",
    "new": "return x\n\n",
    "test": "tests/test_sums.py::test_twice",
}
UNSEEN = {**GOOD, "name": "tripled by four", "old": "x + x + x\n", "new": "x + x + x + x\n"}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package of two functions, of which a test looks at one. Its tests need no plugins, whose imports take longest."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / plant.PACKAGE).mkdir(parents=True)
    (tmp_path / plant.PACKAGE / "__init__.py").write_text("")
    (tmp_path / plant.PACKAGE / "sums.py").write_text(SOURCE)
    (tmp_path / "tests" / "planted").mkdir(parents=True)
    (tmp_path / "tests" / "test_sums.py").write_text(TESTS)

    def listed(*entries):
        text = "\n".join(ENTRY.format(**entry) for entry in entries)
        (tmp_path / "tests" / "planted" / "toy.toml").write_text(text)
        return tmp_path

    return listed


@pytest.mark.planted
def test_a_killed_fault_and_a_survivor_are_told_apart(toy, capsys):
    assert plant.main(["-j", "2"], toy(GOOD, UNSEEN)) == 1
    shown = capsys.readouterr().out
    assert "[1/2] toy: added once: killed" in shown
    assert "[2/2] toy: tripled by four: SURVIVED" in shown
    assert "1 of 2 killed, 0 of 1 tests fail without a fault." in shown


def test_a_test_that_was_renamed_or_lost_its_marker_is_not_counted(toy):
    root = toy(GOOD, {**GOOD, "name": "renamed", "test": "tests/test_sums.py::test_double"})
    text = "@pytest.mark.planted\ndef test_kept():\n    pass\n\n\ndef test_bare():\n    pass\n"
    (root / "tests" / "test_more.py").write_text(text)
    assert marked(plant.read_faults(root), root) == {"tests/test_sums.py::test_twice", "tests/test_more.py::test_kept"}


def test_only_what_is_asked_for_is_planted(toy, capsys):
    root = toy(GOOD, UNSEEN)
    assert plant.main(["toy", "-k", "ONCE"], root) == 0
    assert "1 of 1 killed" in capsys.readouterr().out
    assert (root / plant.PACKAGE / "sums.py").read_text() == SOURCE
    assert plant.main(["other"], root) == 1
    assert "no fault has such a room" in capsys.readouterr().out


def test_a_test_that_fails_without_the_fault_is_seen(toy, capsys):
    root = toy(GOOD)
    (root / "tests" / "test_sums.py").write_text(TESTS.replace("== 4", "== 5"))
    assert plant.main([], root) == 1
    assert "FAILS WITHOUT A FAULT  tests/test_sums.py::test_twice" in capsys.readouterr().out


def test_a_fault_that_cannot_be_planted_is_no_success(toy, capsys):
    twice, nowhere = {**GOOD, "old": "x + x"}, {**GOOD, "name": "nowhere", "test": "tests/test_sums.py::test_absent"}
    root = toy(twice, nowhere, UNSEEN)
    faults = plant.read_faults(root)
    assert misfits(faults, root) == ["added once"]
    assert absent(faults, root) == ["nowhere"]
    assert plant.verdict(faults[0], root).startswith("BROKEN: toy: added once: its old text occurs 2 times")
    assert plant.verdict(faults[1], root).startswith("BROKEN: the test did not run to a verdict")


def test_a_misspelt_key_is_refused(toy):
    root = toy(GOOD)
    listing = root / "tests" / "planted" / "toy.toml"
    listing.write_text(listing.read_text().replace("old =", "was ="))
    with pytest.raises(ValueError, match="has the keys name, file, old, new, test"):
        plant.read_faults(root)
