"""Run the scripts one after another: `python -m papers.running`, or `sfumato papers` from a clone."""

from __future__ import annotations

import json
import os
import time
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks import tables
from papers.reporting import Output

ROOT = Path(__file__).resolve().parent
# Results that docs/papers.md is written from.
KEPT = ROOT.parent / "docs" / "papers"
PAPERS = ("minami2016", "dimitrakakis2017", "geumlek2017")
# Repetitions of an experiment on data: in full, and in the quick form.
RUNS, QUICK_RUNS = 10, 2


def names() -> list[str]:
    """All scripts as paper/script, in the order of the papers; a name with a leading underscore is a helper."""
    return [
        f"{paper}/{path.stem}"
        for paper in PAPERS
        for path in sorted((ROOT / paper).glob("*.py"))
        if not path.stem.startswith("_")
    ]


def chosen(wanted: str | None) -> list[str]:
    """The scripts whose name begins with `wanted`, or all."""
    return [name for name in names() if wanted is None or name == wanted or name.startswith(f"{wanted.rstrip('/')}/")]


def module(name: str) -> ModuleType:
    """The script as a module."""
    return import_module("papers." + name.replace("/", "."))


def title(name: str) -> str:
    """The first line of the script's docstring."""
    return (module(name).__doc__ or "").strip().split("\n")[0]


def missing(name: str) -> list[str]:
    """The data files that the script needs and that are not on this machine."""
    return [each for each in getattr(module(name), "NEEDS", ()) if not tables.is_there(each)]


def kept_verdicts(name: str) -> list[tuple[str, str]] | None:
    """(place, verdict) of the claims that docs/papers.md shows for a script, or None where it shows none yet."""
    path = KEPT / f"{name}.json"
    if not path.exists():
        return None
    return [(claim["place"], claim["verdict"]) for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]]


def run_all(wanted: str | None = None, *, quick: bool = False, runs: int | None = None, folder: Path) -> int:
    """Run the chosen scripts; return how many fail: an error, a condition that does not hold, a verdict other than the page's.

    Scripts whose data are not there count as failures only where no script ran.
    """
    failed, idle, lacking = [], [], set()
    repeated = runs or int(os.environ.get("RUNS", "0")) or (QUICK_RUNS if quick else RUNS)
    listed = chosen(wanted)
    for number, name in enumerate(listed, 1):
        print(f"[{number}/{len(listed)}] {name}: {module(name).PLACE}. {title(name)}", flush=True)
        if absent := missing(name):
            lacking.update(absent)
            idle.append(name)
            print(f"  not run: it needs {', '.join(absent)}", flush=True)
        elif not _run(name, Output(folder / name.split("/")[0], name.split("/")[1], quick, repeated)):
            failed.append(name)
    if lacking:
        print(f"Data that were not there: {', '.join(sorted(lacking))}. {tables.HOW_TO_GET}")
    waiting = f", {len(idle)} not run for want of data" if idle else ""
    print(
        f"{len(listed) - len(failed) - len(idle)} of {len(listed)} scripts without a fault{waiting}; results in {folder}"
    )
    for name in failed:
        print(f"FAILED: {name}")
    return len(failed) or int(idle == listed)


def _run(name: str, out: Output) -> bool:
    """Run one script and save its results; whether every claim is shown and as on the page."""
    start = time.monotonic()
    try:
        module(name).run(out)
    except Exception:
        traceback.print_exc()
        return False
    seconds = time.monotonic() - start
    out.save(title(name), module(name).PLACE, seconds)
    print(f"  {seconds:.1f} s; {', '.join(out.tables + [each['file'] for each in out.figures])}", flush=True)
    page = kept_verdicts(name)
    if page is not None and page != [(claim.place, claim.verdict) for claim in out.claims]:
        print(
            "  places or verdicts differ from docs/papers.md: run 'make papers' and 'python -m papers.page build/papers'"
        )
        return False
    return all(claim.shown for claim in out.claims)
