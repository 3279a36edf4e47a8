"""The drawn faults fit the source, every room has its number, and the script tells killed from survived."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import edits
import faults
import plant
import reach
import run
from test_planted import absent, misfits

from effort import sized

LISTED = faults.read_list()
# Faults that the list must hold, in all and for a room; and the least share of them that is killed.
ALL, EACH, SHARE = 200, 8, 0.95


def test_the_list_is_long_enough_and_every_room_has_its_share():
    counts = Counter(each.fault.room for each in LISTED)
    assert set(counts) == set(faults.ROOMS) == set(faults.TESTS)
    assert min(counts.values()) >= EACH
    assert sum(counts.values()) >= ALL
    assert len({(each.fault.room, each.fault.name, each.fault.new) for each in LISTED}) == len(LISTED)
    assert all(faults.room_of(each.fault.file) == each.fault.room for each in LISTED)


def test_every_kept_fault_can_be_planted_and_its_test_exists():
    kept = [each.fault for each in LISTED]
    texts = {file: (plant.ROOT / plant.PACKAGE / file).read_text() for file in {fault.file for fault in kept}}
    assert [fault.name for fault in kept if texts[fault.file].count(fault.old) != 1 or fault.old == fault.new] == []
    # That Python reads something else is checked by parsing the faulty source, which takes longer.
    assert misfits(kept[:: sized(8, 1)], plant.ROOT) == []
    assert absent(kept, plant.ROOT) == []


def test_few_survive_and_each_for_a_reason():
    reasons = [each.reason for each in LISTED if each.reason]
    assert len(reasons) <= (1 - SHARE) * len(LISTED)
    assert all(len(reason.split()) > 4 for reason in reasons)


def test_every_source_file_belongs_to_a_room_or_holds_nothing_to_break():
    files = [
        path.relative_to(plant.ROOT / plant.PACKAGE).as_posix() for path in (plant.ROOT / plant.PACKAGE).rglob("*.py")
    ]
    alone = {file for file in files if not faults.room_of(file)}
    # What is left are texts, lists of names, and where a plot's labels go.
    assert alone == {"__init__.py", "_version.py", "errors.py", "progress.py", "plots/__init__.py", "plots/_drawing.py"}


def test_the_tests_of_every_room_exist():
    assert [path for paths in faults.TESTS.values() for path in paths if not (plant.ROOT / path).exists()] == []


# --- the faults of a text --------------------------------------------------------------------------------------------

TEXT = '''"""A docstring: 1 + 1."""


def bound(x: int = 3, *rest: int) -> float:
    """Twice."""
    if x < 0 and rest:
        raise ValueError(f"x must be {1 + 1}; got {x - 1}")
    return 2 * max(x, len(rest))
'''


def made(text: str) -> set[tuple[str, str, str]]:
    return {(edit.kind, text[edit.start : edit.end], edit.text) for edit, _ in edits.edits(text)}


def test_faults_are_made_of_code_and_not_of_texts_for_people():
    listed = made(TEXT)
    assert {
        ("guard removed", "x < 0 and rest", "False"),
        ("condition dropped", "x < 0 and rest", "((rest))"),
        ("and for or", "x < 0 and rest", "((x < 0) or (rest))"),
        ("other comparison", " < ", " <= "),
        ("other function", "max", "min"),
        ("right term dropped", "2 * max(x, len(rest))", "(2)"),
        ("left term dropped", "2 * max(x, len(rest))", "(max(x, len(rest)))"),
        ("one less", "2", "1"),
    } <= listed
    assert not [old for _, old, _ in listed if "1 +" in old or "- 1" in old]
    for edit, owner in edits.edits(TEXT):
        ast.parse(TEXT[: edit.start] + edit.text + TEXT[edit.end :])
        assert owner == "bound"


@pytest.mark.parametrize(
    ("text", "fault"),
    [("y = np.clip(x, 0, 1)", ("call left out", "np.clip(x, 0, 1)", "(x)")),
     ("y = math.ceil(x)", ("other function", "math.ceil", "math.floor")),
     ("y = (a) == (b)", ("other comparison", ") == (", ") != (")),
     ("y = 'ä' if not x else z[:-1]", ("not dropped", "not x", "(x)")),
     ("y = 'ä' if not x else z[:-1]", ("slice whole", "-1", "")),
     ("check(x, size)", ("statement left out", "check(x, size)", "pass")),
     ("check(x, size)", ("arguments swapped", "x, size", "size, x")),
     ("y = f(x, most=z)", ("argument left at its default", ", most=z", "")),
     ("def f(x) -> bool:\n    return x", ("always true", "x", "True")),
     ("total += x", ("other operation", "total += x", "total -= x")),
     ("y = [x for x in z if x]", ("filter removed", "x", "True")),
     ("y = 0.5", ("scaled down", "0.5", "0.25")),
     ("y = 1e-9", ("scaled up", "1e-9", "1e-06")),
     ("for x in y:\n    break", ("loop left otherwise", "break", "continue"))],
)  # fmt: skip
def test_a_kind_of_fault(text, fault):
    assert fault in made(text)


def test_lines_of_context_make_a_text_unique(tmp_path):
    text = "def a(x):\n    return x + 1\n\n\ndef b(x):\n    return x + 1\n"
    (tmp_path / plant.PACKAGE / "models").mkdir(parents=True)
    (tmp_path / plant.PACKAGE / "models" / "sums.py").write_text(text)
    drawn = [fault for fault, _ in faults.drawn("sensitivity", 1, tmp_path)]
    assert {fault.name.split(":")[0] for fault in drawn} == {"models/sums.py a", "models/sums.py b"}
    for fault in drawn:
        assert text.count(fault.old) == 1
        assert fault.planted(text) != text


def test_a_seed_draws_the_same_faults_again_and_another_draws_others():
    def first(seed: int) -> list[str]:
        return [fault.name for fault, _ in itertools.islice(faults.drawn("verify", seed), 5)]

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_tests_that_run_the_line_are_tried_the_telling_and_quick_ones_first():
    traced = {
        "a.py::slow": {"seconds": 5.0, "lines": {"f.py": [1, 2]}},
        "a.py::quick": {"seconds": 0.1, "lines": {"f.py": [2]}},
        "b.py::stray": {"seconds": 0.1, "lines": {"f.py": [2]}},
        "b.py::other": {"seconds": 0.1, "lines": {"f.py": [3]}},
        "b.py::elsewhere": {"seconds": 0.1, "lines": {"g.py": [2]}},
    }
    assert reach.reaching(traced, "f.py", [2]) == ["a.py::quick", "b.py::stray", "a.py::slow"]
    many = {f"a.py::{i}": {"seconds": reach.SECONDS / 2.5, "lines": {"f.py": [2]}} for i in range(reach.FIRST + 5)}
    assert [len(batch) for batch in reach.batches(many, list(many))] == [reach.FIRST, 2]


# --- the script on a tree of its own ---------------------------------------------------------------------------------

SOURCE = "def twice(x):\n    return x + x\n\n\ndef unseen(x):\n    return -x\n"
TESTS = "from sfumato.queries.sums import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
KILLED = plant.Fault("queries", "once", "queries/sums.py", "x + x\n", "x\n", "tests/queries/test_sums.py::test_twice")
UNSEEN = plant.Fault("queries", "no sign", "queries/sums.py", "-x\n", "x\n", "tests/queries/test_sums.py::test_twice")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package of two functions, of which a test looks at one."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for folder in ("src/sfumato/queries", "tests/queries", "tests/mutants"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("src/sfumato", "src/sfumato/queries"):
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "src/sfumato/queries/sums.py").write_text(SOURCE)
    (tmp_path / "tests/queries/test_sums.py").write_text(TESTS)

    def listed(*entries):
        text = faults.written([faults.Listed(*entry) for entry in entries])
        (tmp_path / "tests/mutants/queries.toml").write_text(text)
        return tmp_path

    return listed


@pytest.mark.planted
def test_a_killed_fault_and_survivors_with_and_without_a_reason_are_told_apart(toy, capsys):
    root = toy((KILLED,), (UNSEEN,))
    assert run.main(["-j", "2"], root) == 1
    shown = capsys.readouterr().out
    assert "[1/2] queries: once: killed (tests/queries/test_sums.py::test_twice)" in shown
    assert "[2/2] queries: no sign: survived" in shown
    # The room and the package of this name.
    assert len(re.findall(r"^queries +2 +1 +1$", shown, re.MULTILINE)) == 2
    assert "1 of 2 killed (50.0%); 1 survivors without a reason; 0 could not be planted." in shown
    toy((KILLED,), (UNSEEN, "nobody calls it"))
    assert run.main(["queries", "-k", "SIGN"], root) == 1
    assert "survived (1 tests or folders passed): nobody calls it\n" in capsys.readouterr().out


def test_drawn_faults_are_new_and_are_kept_on_demand(toy, capsys):
    root = toy((KILLED,))
    assert run.main(["queries", "--seed", "3", "--number", "2", "--keep"], root) == 1
    assert "1 of 2 killed at first sight" in capsys.readouterr().out
    kept = [each.fault for each in faults.read_list(root / "tests" / "mutants")]
    assert [fault.test for fault in kept] == [KILLED.test, ""]  # of the two that were drawn, the survivor alone
    assert "unseen" in kept[1].name


@pytest.mark.parametrize(
    ("verdicts", "reason", "status"),
    [(["killed"] * 95 + ["survived"] * 5, "equivalent", 0), (["killed"] * 94 + ["survived"] * 6, "equivalent", 1),
     (["killed"] * 99 + ["survived"], "", 1), (["killed"] * 99 + ["BROKEN"], "", 1), (["killed"] * 9, "", 0)],
)  # fmt: skip
def test_the_status_wants_95_of_100_and_a_reason_for_each_survivor(verdicts, reason, status):
    assert run.closing([(faults.Listed(KILLED, reason), run.Outcome(verdict, "")) for verdict in verdicts]) == status


def test_a_fault_that_cannot_be_planted_or_has_no_test_is_no_success(toy, capsys):
    absent_text = plant.Fault("queries", "gone", "queries/sums.py", "x ** x\n", "x\n", KILLED.test)
    nowhere = plant.Fault(
        "queries", "nowhere", "queries/sums.py", "x + x\n", "x\n", "tests/queries/test_none.py::test_a"
    )
    assert run.main([], toy((absent_text,), (nowhere,))) == 1
    assert "2 could not be planted" in capsys.readouterr().out
    assert run.main(["attic"], plant.ROOT) == 1
    assert "no such room" in capsys.readouterr().out


def test_a_misspelt_key_is_refused(toy):
    root = toy((KILLED,))
    listing = root / "tests" / "mutants" / "queries.toml"
    listing.write_text(listing.read_text().replace("old =", "was ="))
    with pytest.raises(ValueError, match="has the keys name, file, old, new, test"):
        faults.read_list(root / "tests" / "mutants")
