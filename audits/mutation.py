"""Plant every listed fault, one at a time, and see that the attack or the test named for it notices.

    python -m audits.mutation --quick         faults of a factor of 1.5 or more, and those that need no samples
    python -m audits.mutation -j 2            all faults
    python -m audits.mutation --only moments  those whose name, threat or procedure contains the word

First every attack and test is run on the source as it stands, where none may accuse. Then each fault is planted in a copy of the
source and its killer runs against the copy in a process of its own, with twice as many runs each time until the claim is broken.
The exit status is 1 if a fault survives. build/audit/mutation.json holds what is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from audits.planting import FORMS, ROOT, TEST, Fault, Verdict, cpu_seconds, plant, read_faults, try_fault

# Probability that any attack accuses a sound source in one run of this command, over all attacks and numbers of runs.
FALSE_ALARM = 1e-6
# Numbers of runs that one attack tries, doubling, at most.
_LOOKS = 10
# Runs on the sound source in the quick form; the long form makes as many as the attack ever does.
_SOUND = 500


def chosen(faults: Iterable[Fault], quick: bool, word: str) -> list[Fault]:
    """The faults of a form whose name, threat or procedure contains the word."""
    said = word.lower()
    return [
        fault
        for fault in faults
        if (fault.form == FORMS[0] or not quick)
        and any(said in text.lower() for text in (fault.name, fault.threat, fault.procedure, fault.room, fault.killer))
    ]


def accusers(faults: Sequence[Fault], quick: bool, false_alarm: float) -> list[str]:
    """Killers that accuse the source as it stands: none, if both are sound."""
    names = sorted({fault.killer for fault in faults})
    tests = [name.removeprefix(TEST) for name in names if name.startswith(TEST)]
    wrong = [f"{TEST}{test}" for test in plant.failing_without(ROOT, tests)]
    attacks = [name for name in names if not name.startswith(TEST)]
    wrong += [name for name in attacks if _accuses(name, quick, false_alarm)]
    return wrong


def _accuses(name: str, quick: bool, false_alarm: float) -> bool:
    from audits.killers import BY_NAME

    killer = BY_NAME[name]
    outcome = killer.attack(min(killer.most, _SOUND) if quick else killer.most, false_alarm, 0)
    runs = f" with {outcome.runs:,} runs a side" if outcome.runs else ""
    print(f"sound: {name}: {outcome.shown:.4g} of a claimed {outcome.claim:.4g} was shown{runs}", flush=True)
    return outcome.broken


def false_alarm_of_one() -> float:
    """The level of one look of one attack."""
    from audits.killers import KILLERS

    return FALSE_ALARM / (len(KILLERS) * _LOOKS)


def main(arguments: Sequence[str] | None = None, faults: Sequence[Fault] | None = None, out: Path | None = None) -> int:
    """Run the command; `faults` are those listed and `out` is build/audit/mutation.json unless given."""
    parser = argparse.ArgumentParser(description="Plant every listed fault and see that its killer notices.")
    parser.add_argument("--quick", action="store_true", help="only faults that are seen with few runs")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="only faults that have this in name, threat or procedure"
    )
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="faults tried at a time")
    options = parser.parse_args(arguments)
    picked = chosen(read_faults() if faults is None else faults, options.quick, options.only)
    if not picked:
        print("no fault has this word.")
        return 1
    level = false_alarm_of_one()
    wrong = accusers(picked, options.quick, level)
    for name in wrong:
        print(f"ACCUSES THE SOUND SOURCE  {name}")
    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for place, verdict in enumerate(pool.map(lambda fault: try_fault(fault, level), picked), 1):
            verdicts.append(verdict)
            fault = verdict.fault
            print(f"[{place}/{len(picked)}] {fault.procedure}: {fault.name} ({fault.threat}): {verdict}", flush=True)
    killed = sum(verdict.killed for verdict in verdicts)
    spent = cpu_seconds() + sum(verdict.cpu for verdict in verdicts)
    print(
        f"{killed} of {len(picked)} faults killed; {len(wrong)} attacks accuse the sound source; {spent:.0f} CPU seconds."
    )
    _write(out or ROOT / "build" / "audit" / "mutation.json", options.quick, verdicts, wrong, spent)
    return 0 if killed == len(picked) and not wrong else 1


def _write(path: Path, quick: bool, verdicts: Sequence[Verdict], wrong: Sequence[str], spent: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "form": "quick" if quick else "long",
        "killed": sum(verdict.killed for verdict in verdicts),
        "total": len(verdicts),
        "accuse_sound": list(wrong),
        "false_alarm": FALSE_ALARM,
        "cpu_seconds": round(spent, 1),
        "faults": [verdict.to_json() for verdict in verdicts],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
