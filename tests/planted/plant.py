"""Plant known faults in the source, one at a time, and see that the test named for each of them fails.

A test suite is trusted for what it notices. Each `*.toml` file beside this one lists faults of one part of the package:

    [[fault]]
    name = "short name of the fault"
    file = "models/regression.py"      # relative to src/sfumato
    old = '''source text that occurs exactly once in that file'''
    new = '''the faulty text'''
    test = "tests/models/test_regression.py::test_the_radius_counts_the_intercept"

For every fault the source is copied to a temporary folder, the fault is planted there, and the test is run against the copy.
"killed" means that the test failed, "SURVIVED" that it passed. The same tests must pass on the source as it stands.

    python tests/planted/plant.py                  all faults
    python tests/planted/plant.py -j 2 ledger      those listed in ledger.toml, two at a time
    python tests/planted/plant.py -k radius        those whose name contains "radius"
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src") / "sfumato"
KEYS = ("name", "file", "old", "new", "test")
# Exit statuses of pytest that say something about a test: it passed, or it failed.
PASSED, FAILED = 0, 1
# A fault may make a loop endless; a test that takes this long (seconds) did not fail by itself.
LONGEST = 600


@dataclass(frozen=True)
class Fault:
    """One change of the source that a test must notice; `room` is the stem of the file that lists it."""

    room: str
    name: str
    file: str
    old: str
    new: str
    test: str

    def planted(self, source: str) -> str:
        """The source with the fault in it; refuse if the text to replace is absent or occurs twice."""
        count = source.count(self.old)
        if count != 1:
            raise ValueError(f"{self.room}: {self.name}: its old text occurs {count} times in {self.file}, not once.")
        return source.replace(self.old, self.new)


def read_faults(root: Path = ROOT) -> list[Fault]:
    """Every fault listed under tests/planted, in the order of the files."""
    found = []
    for path in sorted((root / "tests" / "planted").glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["fault"]:
            if sorted(entry) != sorted(KEYS):
                raise ValueError(
                    f"{path.name}: a fault has the keys {', '.join(KEYS)}; this one has {', '.join(entry)}."
                )
            found.append(Fault(path.stem, **entry))
    return found


def chosen(faults: Iterable[Fault], rooms: Sequence[str], word: str) -> list[Fault]:
    """Faults of the rooms asked for (all if none is), whose name contains the word."""
    return [fault for fault in faults if (not rooms or fault.room in rooms) and word.lower() in fault.name.lower()]


def run_tests(root: Path, source: Path, tests: Sequence[str], longest: float = LONGEST) -> tuple[int | None, str]:
    """Exit status of pytest for these tests against the package in `source`, and its output; None if it took too long."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=line", *tests]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=longest, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"stopped after {longest:g} seconds"
    return done.returncode, done.stdout + done.stderr


@contextmanager
def faulty_copy(fault: Fault, root: Path) -> Iterator[Path]:
    """A copy of the source with the fault in it, for as long as it is used."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(root / "src", copy)
        target = copy / PACKAGE.name / fault.file
        target.write_text(fault.planted(target.read_text()))
        # Bytecode and compiled kernels of the sound file could be taken for those of the faulty one.
        for stale in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
            stale.unlink()
        yield copy


def verdict(fault: Fault, root: Path = ROOT) -> str:
    """Plant the fault in a copy of the source and run its test: "killed", "SURVIVED", or "BROKEN" and why."""
    try:
        with faulty_copy(fault, root) as copy:
            status, output = run_tests(root, copy, [fault.test])
    except (OSError, ValueError) as error:
        return f"BROKEN: {error}"
    if status == FAILED:
        return "killed"
    return "SURVIVED" if status == PASSED else f"BROKEN: the test did not run to a verdict\n{output[-2000:]}"


def failing_without(root: Path, tests: Sequence[str]) -> list[str]:
    """Tests that do not pass on the source as it stands: all in one run, and one by one only if that fails."""
    if not tests or run_tests(root, root / "src", tests)[0] == PASSED:
        return []
    return [test for test in tests if run_tests(root, root / "src", [test])[0] != PASSED]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the script; the exit status is 1 if a fault survived or could not be planted, or a test fails without it."""
    parser = argparse.ArgumentParser(description="Plant known faults and see that the test named for each fails.")
    parser.add_argument("rooms", nargs="*", help="files to read, without .toml (default: all)")
    parser.add_argument("-k", dest="word", default="", help="only faults whose name contains this")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="faults tried at a time")
    options = parser.parse_args(arguments)
    faults = chosen(read_faults(root), options.rooms, options.word)
    if not faults:
        print("no fault has such a room or name.")
        return 1
    tests = sorted({fault.test for fault in faults})
    print(f"running {len(tests)} tests without any fault ...", flush=True)
    unsound = failing_without(root, tests)
    for test in unsound:
        print(f"FAILS WITHOUT A FAULT  {test}")
    killed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        answers = pool.map(lambda fault: verdict(fault, root), faults)
        for place, (fault, answer) in enumerate(zip(faults, answers, strict=True), 1):
            killed += answer == "killed"
            print(f"[{place}/{len(faults)}] {fault.room}: {fault.name}: {answer}", flush=True)
    print(f"{killed} of {len(faults)} killed, {len(unsound)} of {len(tests)} tests fail without a fault.")
    return 0 if killed == len(faults) and not unsound else 1


if __name__ == "__main__":
    sys.exit(main())
