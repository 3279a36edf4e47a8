"""Faults that nobody chose: drawn at random from all that `edits` can make of the source, by room.

A room is one of the fourteen parts that the suite answers for: ROOMS says which source files belong to it, TESTS which
tests. A fault that is kept stands in `<room>.toml` beside this file:

    [[fault]]
    name = "grouped.py move: right term dropped: 2 * radius"
    file = "models/grouped.py"         # relative to src/sfumato
    old = '''source text that occurs exactly once in that file'''
    new = '''the faulty text'''
    test = "tests/models/test_grouped.py::test_one_moved_record"     # fails on the fault
    reason = "why no test can fail on it"       # only where the fault survives; `test` then runs its line and passes
"""

from __future__ import annotations

import ast
import random
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "planted"))
import edits
from plant import KEYS, PACKAGE, ROOT, Fault

HERE = Path(__file__).resolve().parent
# The first room whose pattern fits a source file (relative to src/sfumato) answers for it.
ROOMS = {
    "rounding": [
        "_quadrature.py", "models/_rounding.py", "models/_precision.py", "models/families/_fixed_point.py",
        "models/families/_log_weights.py", "models/families/_finite_table.py", "models/families/_columns.py",
        "privacy/inflation.py", "privacy/gaussian_tail.py", "privacy/cover.py", "theorems/inexact.py",
        "theorems/sampling_error.py", "samplers/laws.py", "ledger/units.py", "ledger/currency.py",
    ],
    "report": [
        "shells/report*.py", "shells/html_page.py", "wording.py", "_shown.py", "pictures/*", "plots/[!_]*", "plots/_[pr]*.py",
    ],
    "command line": ["shells/*", "__main__.py"],
    "sensitivity": ["models/*", "engines/*", "shapes/*", "cuda/*"],
    "theorems": ["theorems/*", "privacy/*"],
    "calibration": [
        "calibrate.py", "planning.py", "tune.py", "comparing.py", "rehearsing/*", "mechanisms/*", "simulating/*",
    ],
    "grids": ["grids/*", "procedures/lattice.py", "procedures/domains.py", "procedures/kinked_grid.py"],
    "samplers": ["samplers/*", "randomness.py", "draws.py"],
    "publish": ["publishing.py", "release.py", "release_file.py", "procedures/*"],
    "ledger": ["ledger/*"],
    "readers": ["schema/*", "dataset/*", "gathering/*", "storage.py", "_validate.py", "_private_files.py"],
    "verify": ["verifying/*", "signing.py", "auditing/*"],
    "queries": ["queries/*", "mixtures/*"],
    "estimators": ["estimators/*", "bounds_proposal.py", "bounds_plan.py"],
}  # fmt: skip
# Where a room's tests are, the most telling first; a trace of the suite (`run.py --trace`) orders single tests better.
TESTS = {
    "rounding": [
        "tests/privacy",
        "tests/models",
        "tests/samplers",
        "tests/ledger/test_ledger_units.py",
        "tests/theorems",
    ],
    "report": ["tests/pictures", "tests/shells", "tests/plots", "tests/test_threats.py"],
    "command line": ["tests/shells", "tests/test_threats.py", "tests/test_errors.py"],
    "sensitivity": ["tests/models", "tests/engines", "tests/shapes", "tests/test_private_bounds.py"],
    "theorems": ["tests/theorems", "tests/privacy"],
    "calibration": ["tests/test_calibrate.py", "tests/test_planning.py", "tests/mechanisms", "tests"],
    "grids": ["tests/grids", "tests/procedures", "tests/samplers", "tests/models"],
    "samplers": ["tests/samplers", "tests/test_randomness.py", "tests/models"],
    "publish": ["tests/test_publishing.py", "tests/procedures", "tests/test_file_promises.py", "tests/verifying"],
    "ledger": ["tests/ledger", "tests/test_publishing.py"],
    "readers": ["tests/schema", "tests/dataset", "tests/test_storage.py", "tests/test_private_files.py"],
    "verify": ["tests/verifying", "tests/test_signing.py", "tests/test_file_promises.py", "tests/auditing"],
    "queries": ["tests/queries"],
    "estimators": ["tests/estimators", "tests/test_private_bounds.py"],
}
# How often a kind of fault is drawn: checks, bounds and safe roundings most, a constant moved by one least, since such
# constants are often sizes of work (steps of a search, cells of a table) that change no answer.
WEIGHTS = {
    "guard removed": 5, "call left out": 5, "always true": 5, "other function": 4, "statement left out": 4,
    "condition dropped": 3, "filter removed": 3, "not dropped": 3, "and for or": 3, "other comparison": 2,
    "right term dropped": 2, "left term dropped": 2, "other operation": 2, "power dropped": 2, "scaled down": 2, "scaled up": 2,
    "argument left at its default": 2, "arguments swapped": 2, "branch never taken": 2, "branch always taken": 1,
    "first choice always": 2, "second choice always": 2, "slice whole": 2, "sign dropped": 2, "other truth": 2,
    "loop left otherwise": 2, "one more": 1, "one less": 1,
}  # fmt: skip
# Lines of context that may be added, above and then below, until a text occurs once in its file.
CONTEXT = 12


@dataclass(frozen=True)
class Listed:
    """A fault that is kept: with the test that fails on it, or with the reason why none does."""

    fault: Fault
    reason: str = ""


def room_of(file: str) -> str:
    """The room that answers for a source file; "" where none does."""
    return next((room for room, patterns in ROOMS.items() if any(fnmatch(file, each) for each in patterns)), "")


def _lines(text: str, edit: edits.Edit) -> tuple[str, str] | None:
    """The whole lines that a fault changes, before and after, with as many neighbours as make them unique."""
    first, last = text.count("\n", 0, edit.start), text.count("\n", 0, edit.end)
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for more in range(2 * CONTEXT):
        low, high = max(first - min(more, CONTEXT), 0), min(last + 1 + max(more - CONTEXT, 0), len(lines))
        old = text[starts[low] : starts[high]]
        if text.count(old) == 1:
            return old, text[starts[low] : edit.start] + edit.text + text[edit.end : starts[high]]
    return None


def _compiles(text: str, old: str, new: str) -> bool:
    try:
        return ast.dump(ast.parse(text.replace(old, new))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


@cache
def _drawn_from(file: str, root: Path) -> list[tuple[edits.Edit, str, str]]:
    """Faults of one source file, each with its function and the text of the file."""
    text = (root / PACKAGE / file).read_text()
    return [(edit, owner, text) for edit, owner in edits.edits(text)]


def sources(root: Path, room: str) -> list[str]:
    """Source files of a room, relative to the package."""
    files = (path.relative_to(root / PACKAGE).as_posix() for path in (root / PACKAGE).rglob("*.py"))
    return sorted(file for file in files if room_of(file) == room)


def drawn(room: str, seed: int, root: Path = ROOT) -> Iterator[tuple[Fault, int]]:
    """Faults of a room in a random order that the seed decides, one for a function, each with its line."""
    random_source = random.Random(f"{seed} {room}")
    pool = [(file, *each) for file in sources(root, room) for each in _drawn_from(file, root)]
    # Weighted order without replacement: the keys u^(1/weight), largest first (Efraimidis and Spirakis 2006).
    keyed = [(random_source.random() ** (1 / WEIGHTS[edit.kind]), place) for place, (_, edit, _, _) in enumerate(pool)]
    seen: set[tuple[str, str]] = set()
    for _, place in sorted(keyed, reverse=True):
        file, edit, owner, text = pool[place]
        fitted = _lines(text, edit) if (file, owner) not in seen or not owner else None
        if fitted is None or not _compiles(text, *fitted):
            continue
        seen.add((file, owner))
        was = " ".join(text[edit.start : edit.end].split())[:60]
        line = text.count("\n", 0, edit.start) + 1
        yield Fault(room, f"{file} {owner or 'module'}: {edit.kind}: {was}", file, *fitted, ""), line


def read_list(folder: Path = HERE) -> list[Listed]:
    """The faults that are kept, by room."""
    listed = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["fault"]:
            reason = entry.pop("reason", "")
            if sorted(entry) != sorted(KEYS):
                raise ValueError(
                    f"{path.name}: a fault has the keys {', '.join(KEYS)}; this one has {', '.join(entry)}."
                )
            listed.append(Listed(Fault(path.stem.replace("_", " "), **entry), reason))
    return listed


def written(listed: list[Listed]) -> str:
    """The faults of one room as the text of their file."""
    entries = []
    for each in listed:
        rows = [(key, getattr(each.fault, key)) for key in KEYS] + [("reason", each.reason)] * bool(each.reason)
        entries.append("[[fault]]\n" + "".join(f"{key} = {_quoted(value)}\n" for key, value in rows))
    return "\n".join(entries)


def _quoted(text: str) -> str:
    """A TOML string: source text literally, between lines of its own."""
    if "\n" in text and "'''" not in text:
        return f"'''\n{text}'''"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
