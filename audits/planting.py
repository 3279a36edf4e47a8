"""Faults of `faults/*.toml`, and what became of one that was planted: killed by its attack or test, or not.

    [[fault]]
    name = "short name"
    threat = "13 noise"                # row of THREATS, "6 ..." for a constant of THEORY 6, or a kind of dp_recorder.toml
    procedure = "path"                 # of procedures.TABLE, or "all" for what several share
    file = "samplers/langevin.py"      # relative to src/sfumato
    old = \'\'\'text that occurs exactly once in that file\'\'\'
    new = \'\'\'the faulty text\'\'\'
    factor = 1.5                       # true loss over the claim, where that makes sense
    form = "quick"                     # or "long": planted in the long form only, as all that a test must notice are
    killer = "path, sampled"           # an attack of `killers`, or "test:" and a test of pytest

The copy of the source and the run of a test are those of tests/planted/plant.py.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import resource
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FORMS = ("quick", "long")
TEST = "test:"
# Modules without any of the package: loaded once, and inherited by the process of every fault.
PRELOADED = ["numpy", "scipy.special", "scipy.stats", "numba", "randomgen"]
# A fault may make a loop endless: an attack that takes this long (seconds) is stopped.
LONGEST = 300


def _plant() -> ModuleType:
    """tests/planted/plant.py."""
    spec = importlib.util.spec_from_file_location("plant", ROOT / "tests" / "planted" / "plant.py")
    if spec is None or spec.loader is None:
        raise ImportError("tests/planted/plant.py is not there.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("plant", module)
    spec.loader.exec_module(module)
    return module


plant = _plant()


@dataclass(frozen=True)
class Fault:
    """One change of the source that an attack or a test must notice; `room` is the stem of the file that lists it."""

    room: str
    name: str
    threat: str
    procedure: str
    file: str
    old: str
    new: str
    form: str
    killer: str
    factor: float | None = None

    def planted(self, source: str) -> str:
        """The source with the fault in it; refuse if the text to replace is absent or occurs twice."""
        count = source.count(self.old)
        if count != 1 or self.old == self.new:
            raise ValueError(f"{self.room}: {self.name}: its old text occurs {count} times in {self.file}, not once.")
        return source.replace(self.old, self.new)


def read_faults(folder: Path = ROOT / "audits" / "faults") -> list[Fault]:
    """Every fault that is listed, in the order of the files."""
    return [
        Fault(path.stem, **entry)
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text())["fault"]
    ]


def kinds(faults: Sequence[Fault]) -> list[dict[str, Any]]:
    """The kinds of dp_recorder.toml, each with the names of our faults of that kind."""
    listed = tomllib.loads((ROOT / "audits" / "dp_recorder.toml").read_text())["kind"]
    return [{**kind, "faults": [fault.name for fault in faults if fault.threat in kind["threats"]]} for kind in listed]


@dataclass(frozen=True)
class Verdict:
    """What became of a fault; `how` says by what kind of evidence it was killed, `runs` after how many runs a side."""

    fault: Fault
    killed: bool
    how: str
    runs: int
    seconds: float
    why: str = ""
    cpu: float = 0.0

    def __str__(self) -> str:
        if not self.killed:
            return f"SURVIVED {self.fault.killer}" + (f": {self.why}" if self.why else "")
        runs = f"{self.runs:,} runs a side" if self.runs else {"refused": "which was refused"}.get(self.how, "no runs")
        return f"killed by {self.fault.killer}; {runs}"

    def to_json(self) -> dict[str, Any]:
        """The line of the report."""
        facts = {
            name: getattr(self.fault, name) for name in ("name", "threat", "procedure", "factor", "form", "killer")
        }
        return {
            **facts,
            "killed": self.killed,
            "how": self.how,
            "runs": self.runs,
            "seconds": round(self.seconds, 2),
            "cpu": round(self.cpu, 2),
        }


def try_fault(fault: Fault, false_alarm: float) -> Verdict:
    """Plant a fault in a copy of the source and run its killer against the copy, in a process of its own."""
    start = time.perf_counter()
    try:
        with plant.faulty_copy(fault, ROOT) as copy:
            if fault.killer.startswith(TEST):
                verdict = _by_test(fault, copy)
            else:
                verdict = _by_attack(fault, copy, false_alarm)
    except (OSError, ValueError) as error:
        verdict = Verdict(fault, False, "broken", 0, 0.0, str(error))
    return replace(verdict, seconds=time.perf_counter() - start)


def _by_test(fault: Fault, copy: Path) -> Verdict:
    status, output = plant.run_tests(ROOT, copy, [fault.killer.removeprefix(TEST)])
    ran = status in (plant.PASSED, plant.FAILED)
    return Verdict(
        fault, status == plant.FAILED, "test", 0, 0.0, "" if ran else f"the test did not run: {output[-500:]}"
    )


def _by_attack(fault: Fault, copy: Path, false_alarm: float) -> Verdict:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    mine, yours = context.Pipe(duplex=False)
    process = context.Process(target=attack_until_killed, args=(fault.killer, str(copy), false_alarm, yours))
    process.start()
    yours.close()
    try:
        answer = (
            mine.recv()
            if mine.poll(LONGEST)
            else ("broken", 0, False, f"stopped after {LONGEST} seconds", float(LONGEST))
        )
    except EOFError:
        answer = ("broken", 0, False, "its process ended without an answer", 0.0)
    if process.is_alive():
        process.join(5)
        process.kill()
    process.join()
    how, runs, killed, why, cpu = answer
    return Verdict(fault, killed, how, runs, 0.0, why, cpu)


def attack_until_killed(name: str, copy: str, false_alarm: float, answer: Any) -> None:
    """Run an attack against the package in `copy`, with twice as many runs each time until the claim is broken.

    Runs in a process of its own. An error of the package's own is a kill: the planted fault made it refuse its numbers.
    """
    sys.path.insert(0, copy)
    sys.path.insert(1, str(ROOT))
    import sfumato

    try:
        if not str(sfumato.__file__).startswith(copy):
            raise ImportError(f"the package was taken from {sfumato.__file__}")
        verdict = _doubled(name, false_alarm)
    except sfumato.errors.SfumatoError as error:
        verdict = ("refused", 0, True, str(error))
    except Exception as error:  # reported, and not counted as a kill
        verdict = ("broken", 0, False, f"{type(error).__name__}: {error}")
    answer.send((*verdict, time.process_time()))


def _doubled(name: str, false_alarm: float) -> tuple[str, int, bool, str]:
    from audits.killers import BY_NAME

    killer = BY_NAME[name]
    runs = killer.least
    while True:
        outcome = killer.attack(runs, false_alarm, runs + 1)
        if outcome.broken or runs * 2 > killer.most or not runs:
            shown = f"showed {outcome.shown:.4g} of a claimed {outcome.claim:.4g} with {runs} runs"
            return outcome.how, runs, outcome.broken, shown
        runs *= 2


def cpu_seconds() -> float:
    """CPU time of this process and of the tests that it ran; attacks on faults state their own (`Verdict.cpu`)."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)
