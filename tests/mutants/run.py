"""Plant faults that nobody chose, one at a time, and see that a test of their room fails: `make mutants`.

    python tests/mutants/run.py -j 2                     the faults that are kept beside this file
    python tests/mutants/run.py ledger verify -k units   those of two rooms whose name contains "units"
    python tests/mutants/run.py --seed 7 --number 100    faults that are not kept, drawn anew, the same number for each room: what
                                                         the tests see at first sight, by package
    python tests/mutants/run.py --trace                  trace which tests run which lines, so that --seed tries those first
    python tests/mutants/run.py --trace tests/pages      trace these tests alone, and add them to what was traced before
    ... --seed 7 --number 100 --keep                     and keep the survivors, with an empty reason

A fault is killed if a test fails, or if tests whose time is known no longer end. It survives if all tests that were tried
pass; a survivor needs a reason in the list. A kept fault is tried on the test that killed it when it was kept, and only if
that passes on the others. The exit status is 1 if fewer than 95 of 100 were killed or a reason is missing.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import faults
import plant
import reach

# Least share of faults that must be killed.
LEAST = 0.95
# Seconds that a run of tests on one fault may take: many times what they take without it (`reach.SECONDS`).
LONGEST = 180.0
# Exit statuses of pytest: all passed, or no test was left to run.
QUIET = (0, 5)
MISUSED = 4
# What pytest prints when a module of tests cannot be imported, which is the fault's doing.
BY_FAULT = "found no collectors for"


class Outcome(NamedTuple):
    """What became of a fault: "killed" and by which test, "survived", or "BROKEN" and why."""

    verdict: str
    detail: str


def changed_lines(fault: plant.Fault, root: Path) -> list[int]:
    """Numbers of the lines that a fault changes."""
    text = (root / plant.PACKAGE / fault.file).read_text()
    first = text.count("\n", 0, text.index(fault.old)) + 1
    old, new = fault.old.splitlines(), fault.new.splitlines()
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    after = sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old[::-1], new[::-1], strict=False))
    )
    return list(range(first + same, first + max(len(old) - after, same + 1)))


def tests_for(fault: plant.Fault, traced: dict[str, Any], root: Path) -> list[list[str]]:
    """Batches of tests to try on a fault: those that run its lines, or, where none is known to, those of its room."""
    lines = changed_lines(fault, root)
    text = (root / plant.PACKAGE / fault.file).read_text().splitlines()
    constant = re.match(r"(\w+)(:.*)? = ", text[lines[0] - 1])
    if constant:  # read where it is named, not where it is written
        lines = [number for number, line in enumerate(text, 1) if re.search(rf"\b{constant[1]}\b", line)]
    # A statement over several lines is traced at its first; what runs at import only is tried on all tests of its file.
    for wanted in (lines, range(lines[0] - 6, lines[0]), range(1, len(text) + 1)):
        tests = reach.reaching(traced, fault.file, wanted)
        if tests:
            return reach.batches(traced, tests)
    return [[test] for test in faults.TESTS.get(fault.room, ["tests"]) if (root / test).exists()]


def killer(output: str) -> str:
    """The test that failed, from the closing lines of pytest."""
    lines = re.findall(r"^(?:FAILED|ERROR) (tests/\S+?(?:\[.*?\])?)(?: - .*)?$", output, re.MULTILINE)
    return lines[0] if lines else ""


def tried(fault: plant.Fault, batches: Iterable[Sequence[str]], root: Path) -> Outcome:
    """Plant a fault and run batches of tests until one fails."""
    count = 0
    try:
        with plant.faulty_copy(fault, root) as copy:
            for tests in batches:
                status, output = plant.run_tests(root, copy, tests, LONGEST)
                if status == MISUSED and BY_FAULT not in output:
                    return Outcome("BROKEN", output[-800:])
                # A folder may take longer than that by itself; single tests do not.
                if status is None and "::" in tests[0]:
                    return Outcome("killed", "out of time")
                if status not in (None, *QUIET):
                    return Outcome("killed", killer(output))
                count += len(tests)
    except (OSError, ValueError) as error:
        return Outcome("BROKEN", str(error))
    return Outcome("survived", f"{count} tests or folders passed")


def judged(each: faults.Listed, traced: dict[str, Any], root: Path) -> Outcome:
    """Try a fault: on the test that is kept with it, then, unless a reason says why it passes, on the others."""

    def batches() -> Iterator[list[str]]:
        if each.fault.test:
            yield [each.fault.test]
        if not each.reason:
            yield from tests_for(each.fault, traced, root)

    return tried(each.fault, batches(), root)


def asked(options: argparse.Namespace, root: Path) -> list[faults.Listed]:
    """The faults that the command line asks for: from the list, or drawn anew and not in it."""
    kept = faults.read_list(root / "tests" / "mutants")
    rooms = options.rooms or [*faults.ROOMS]
    if options.seed is None:
        return [each for each in kept if each.fault.room in rooms and options.word.lower() in each.fault.name.lower()]
    known = {(each.fault.file, each.fault.old, each.fault.new) for each in kept}
    drawn = []
    for place, room in enumerate(rooms):
        share = options.number // len(rooms) + (place < options.number % len(rooms))
        new = (
            fault
            for fault, _ in faults.drawn(room, options.seed, root)
            if (fault.file, fault.old, fault.new) not in known
        )
        fitting = (fault for fault in new if options.word.lower() in fault.name.lower())
        drawn += [faults.Listed(fault) for fault in itertools.islice(fitting, share)]
    return drawn


def trace(root: Path, paths: Sequence[str]) -> int:
    """Run the suite under a trace; or some of its tests, which are added to an earlier trace."""
    if not paths:
        for path in (root / reach.FOLDER).glob("trace.*.json"):
            path.unlink()
    sources = os.pathsep.join([str(root / "src"), str(faults.HERE)])
    environment = {**os.environ, "PYTHONPATH": sources, "OPENBLAS_NUM_THREADS": "1"}
    workers = ["-n", "2", "--dist", "loadfile"] if not paths else []
    command = [sys.executable, "-m", "pytest", "-p", "reach", "-p", "no:cacheprovider", *workers, *(paths or ["tests"])]
    return subprocess.run(command, cwd=root, env=environment, check=False).returncode


def package_of(file: str) -> str:
    """The package, or the module beside the packages, that a source file belongs to."""
    return file.partition("/")[0].removesuffix(".py")


def table(outcomes: Sequence[tuple[faults.Listed, Outcome]]) -> str:
    """Planted, killed and survived, by room and then by package."""
    rooms = Counter((each.fault.room, outcome.verdict) for each, outcome in outcomes)
    packages = Counter((package_of(each.fault.file), outcome.verdict) for each, outcome in outcomes)
    rows: list[str] = []
    for title, counts in (("room", rooms), ("package", packages)):
        rows.append(f"{title:18s} {'planted':>8s} {'killed':>8s} {'survived':>8s}")
        for name in dict.fromkeys(name for name, _ in counts):
            killed, survived = counts[name, "killed"], counts[name, "survived"]
            if killed + survived:
                rows.append(f"{name:18s} {killed + survived:8d} {killed:8d} {survived:8d}")
    return "\n".join(rows)


def keep(outcomes: Sequence[tuple[faults.Listed, Outcome]], root: Path) -> None:
    """Add the survivors to the list, without a test and a reason: one of the two is then written by hand."""
    folder = root / "tests" / "mutants"
    listed = faults.read_list(folder) + [each for each, outcome in outcomes if outcome.verdict == "survived"]
    for room in faults.ROOMS:
        mine = [each for each in listed if each.fault.room == room]
        if mine:
            (folder / f"{room.replace(' ', '_')}.toml").write_text(faults.written(mine))


def shown(each: faults.Listed, outcome: Outcome) -> str:
    """A fault and what became of it; of a survivor its reason, or the texts if it has none."""
    line = f"{each.fault.room}: {each.fault.name}: {outcome.verdict} ({outcome.detail})"
    if outcome.verdict != "survived":
        return line
    if each.reason:
        return f"{line}: {each.reason}"
    return f"{line}\n--- {each.fault.file}\n{each.fault.old.rstrip()}\n+++\n{each.fault.new.rstrip()}"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Plant faults that nobody chose and see that a test fails.")
    parser.add_argument("rooms", nargs="*", help=f"of: {', '.join(faults.ROOMS)} (default: all)")
    parser.add_argument("-k", dest="word", default="", help="only faults whose name contains this")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="faults tried at a time")
    parser.add_argument("--seed", type=int, help="draw faults that are not in the list")
    parser.add_argument("--number", type=int, default=100, help="how many to draw (default 100)")
    parser.add_argument("--keep", action="store_true", help="add those that survive to the list")
    parser.add_argument("--trace", action="store_true", help="trace which tests run which lines")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None, root: Path = plant.ROOT) -> int:
    """Run the script."""
    options = parsed(arguments)
    if options.trace:
        return trace(root, options.rooms)
    unknown = [room for room in options.rooms if room not in faults.ROOMS]
    chosen = asked(options, root)
    if unknown or not chosen:
        print(f"no such room or fault; the rooms are {', '.join(faults.ROOMS)}.")
        return 1
    traced = reach.read(root)
    outcomes: list[tuple[faults.Listed, Outcome]] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        answers = pool.map(lambda each: judged(each, traced, root), chosen)
        for place, (each, outcome) in enumerate(zip(chosen, answers, strict=True), 1):
            outcomes.append((each, outcome))
            print(f"[{place}/{len(chosen)}] {shown(each, outcome)}", flush=True)
    if options.keep:
        keep(outcomes, root)
    return closing(outcomes, " at first sight" if options.seed is not None else "")


def closing(outcomes: Sequence[tuple[faults.Listed, Outcome]], when: str = "") -> int:
    """Print the tables and the share that was killed; 1 if it is too small, or a survivor has no reason."""
    print(table(outcomes))
    killed = sum(outcome.verdict == "killed" for _, outcome in outcomes)
    unexplained = sum(outcome.verdict == "survived" and not each.reason for each, outcome in outcomes)
    broken = sum(outcome.verdict == "BROKEN" for _, outcome in outcomes)
    print(
        f"{killed} of {len(outcomes)} killed{when} ({killed / len(outcomes):.1%}); {unexplained} survivors without a reason; "
        f"{broken} could not be planted."
    )
    return 0 if killed >= LEAST * len(outcomes) and not unexplained and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
