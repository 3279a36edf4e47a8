"""What a script reports: figures, tables, and claims of the paper beside the numbers computed here."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# What a comparison may end in.
REPRODUCED = "reproduced"  # the paper's number, curve or statement comes out of this code
TIGHTER = "tighter"  # the paper's statement holds, and this code proves a better one
FALSE = "false"  # the statement fails somewhere; the claim says where
LOOSE = "loose but valid"  # the statement holds with room to spare, and the paper claims or suggests more
NOTATION = "notation"  # a slip of the pen, or of the text at hand; what is meant is clear and right
NOT_STATED = "not stated"  # the paper gives no number to compare with
VERDICTS = (REPRODUCED, TIGHTER, FALSE, LOOSE, NOTATION, NOT_STATED)
# Seconds between two lines of progress.
_PAUSE = 15.0


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, what it says in numbers, what is computed here, and the verdict.

    `shown` is the computed condition that the verdict rests on (for a false statement: that the counterexample exceeds it).
    """

    place: str
    statement: str
    paper: str
    here: str
    verdict: str
    shown: bool
    why: str = ""


@dataclass
class Output:
    """Where a script puts its results: <folder>/<name>.png, .csv and .json, `name` being the script's.

    In the quick form (`quick`) a script simulates less and runs for seconds; every figure, table and claim is still there.
    `runs` is how often an experiment on data is repeated.
    """

    folder: Path
    name: str
    quick: bool = False
    runs: int = 10
    claims: list[Claim] = field(default_factory=list)
    figures: list[dict[str, str]] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    _said: float = field(default_factory=time.monotonic)

    def sized(self, quick: Any, full: Any) -> Any:
        """The first in the quick form, else the second."""
        return quick if self.quick else full

    def claim(
        self, place: str, statement: str, *, paper: str, here: str, verdict: str, shown: bool, why: str = ""
    ) -> None:
        """Record a claim and print it. `why` derives or explains a deviation in a sentence or two."""
        if verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}; got {verdict!r}")
        self.claims.append(Claim(place, statement, paper, here, verdict, bool(shown), why))
        mark = "" if shown else "   NOT SHOWN"
        print(f"  {place}: {statement}\n    paper: {paper} / here: {here} / {verdict}{mark}", flush=True)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]], part: str = "") -> Path:
        """Write a CSV; `part` is added to the name where a script has several."""
        path = self._path(part, ".csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows([f"{x:.6g}" if isinstance(x, float) else x for x in row] for row in rows)
        self.tables.append(path.name)
        return path

    def figure(self, drawn: Any, alt: str, part: str = "") -> Path:
        """Write a matplotlib figure as PNG; `alt` says in a sentence what it shows."""
        path = self._path(part, ".png")
        drawn.savefig(path, dpi=110)
        self.figures.append({"file": path.name, "alt": alt})
        return path

    def progress(self, done: int, total: int, what: str) -> None:
        """Say how far a long run is, every quarter of a minute."""
        if time.monotonic() - self._said >= _PAUSE:
            self._said = time.monotonic()
            print(f"    {what}: {done} of {total}", file=sys.stderr, flush=True)

    def save(self, title: str, place: str, seconds: float) -> None:
        """Write what was reported as JSON."""
        stored = {
            "title": title, "place": place, "quick": self.quick, "runs": self.runs, "seconds": round(seconds, 1),
            "claims": [asdict(each) for each in self.claims], "figures": self.figures, "tables": self.tables,
        }  # fmt: skip
        self._path("", ".json").write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _path(self, part: str, suffix: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{self.name}{'_' + part if part else ''}{suffix}"
