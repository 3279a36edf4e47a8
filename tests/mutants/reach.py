"""Which tests run which lines of the source: a trace of the suite, and the order in which tests are tried on a fault.

`run.py --trace` runs the suite once with this file as a plugin of pytest (twice the time of `make test`) and writes the lines
to build/mutants. Of each function the first few calls of a test are traced line by line.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

# Calls of one function that are traced in one test; more would show few new lines.
CALLS = 4
# Tests of the first run on a fault, and seconds of tests (as traced) of the second, which takes all that are left.
FIRST, SECONDS = 20, 30.0
FOLDER = Path("build") / "mutants"
SOURCE = os.path.realpath("src/sfumato") + os.sep


class Trace:
    """The lines of the source that one test runs."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()
        self.lines: defaultdict[str, set[int]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace the lines of a function of the package, for the first few calls."""
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE) or self.calls[code] >= CALLS:
            return None
        self.calls[code] += 1
        lines = self.lines[code.co_filename[len(SOURCE) :]]

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line(frame, event, argument)


SEEN: dict[str, Any] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Trace one test."""
    trace, start = Trace(), time.process_time()
    sys.settrace(trace)
    threading.settrace(trace)
    yield
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    lines = {file: sorted(numbers) for file, numbers in trace.lines.items()}
    SEEN[item.nodeid] = {"seconds": time.process_time() - start, "lines": lines}


def pytest_sessionfinish() -> None:
    """Write what the tests of this process ran."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"trace.{os.getpid()}.json").write_text(json.dumps(SEEN))


def read(root: Path) -> dict[str, Any]:
    """The trace of every test, by its id; empty where none was made."""
    listed: dict[str, Any] = {}
    for path in sorted((root / FOLDER).glob("trace.*.json")):
        listed |= json.loads(path.read_text())
    return listed


def reaching(traced: Mapping[str, Any], file: str, lines: Sequence[int]) -> list[str]:
    """Tests that run one of these lines of a source file: of the files that run them most, quick ones first."""
    wanted = set(lines)
    tests = [test for test, seen in traced.items() if wanted & set(seen["lines"].get(file, ()))]
    whole = Counter(test.partition("::")[0] for test in traced)
    part = Counter(test.partition("::")[0] for test in tests)

    def worth(test: str) -> float:
        path = test.partition("::")[0]
        return (traced[test]["seconds"] + 0.01) * whole[path] / part[path]

    # One case of each parametrised test before the second of any: cases of one test often see the same.
    turns: Counter[str] = Counter()
    ranked = []
    for test in sorted(tests, key=worth):
        name = test.partition("[")[0]
        ranked.append((turns[name], worth(test), test))
        turns[name] += 1
    return [test for _, _, test in sorted(ranked)]


def batches(traced: Mapping[str, Any], tests: Sequence[str]) -> list[list[str]]:
    """The tests to run at first, and the others as far as their time allows."""
    rest, spent = [], 0.0
    for test in tests[FIRST:]:
        spent += traced[test]["seconds"]
        if spent < SECONDS:
            rest.append(test)
    return [batch for batch in (list(tests[:FIRST]), rest) if batch]
