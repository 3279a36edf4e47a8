"""`python benchmarks/synthetic.py [--tables a,b] [--methods ...] [--epsilons .1,.3,1,3] [--releases 10] [--peers PYTHON]`

Synthetic tables side by side: delta = 1e-6, one record replaced, as many synthetic rows as real ones. Methods:
  - real rows, bootstrap (real rows drawn again with replacement): no privacy;
  - no privacy: `sf.networks.learn` at epsilon 10,000; learn: the same at the price; hand tree: the tree of adult_network.py;
  - MST, AIM, PrivBayes of dpmm 0.1.9 (peer_dpmm.py), calibrated to the replacement of one record; "... add/remove" is dpmm as
    shipped, whose price is for adding or removing one record. `--peers` names a Python that has dpmm.
Measures (synthetic_judges.py): mean total variation of 1-, 2- and 3-way tables from those of the real rows; area under the ROC
curve of a boosting and a logistic classifier trained on synthetic rows and tested on real held-out rows; CPU seconds; peak
memory of the process in MB. Each release runs in a process of its own.

Every release is kept in docs/benchmarks/synthetic.json (`-o`) as soon as it is made. One that is there already is not made
again unless `--again` is given, so that parts can be run one by one; the Markdown tables show everything that is asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from synthetic_judges import MEASURES, judged
from synthetic_tables import TABLES, Codes, Table

HERE = Path(__file__).resolve().parent
DELTA = 1e-6
ENOUGH = 1e4
NO_EPSILON = ("real rows", "bootstrap", "no privacy")
OURS = ("learn", "learn, target", "hand tree")
COLUMNS = (*MEASURES, "seconds", "memory")
# One process of its own for each release; a number of BLAS threads would make CPU seconds depend on the machine's cores.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
Record = dict[str, Any]


@dataclass(frozen=True)
class PeerMethod:
    """A mechanism of dpmm's and the arguments that differ from its defaults."""

    method: str
    adjacency: str = "replace-one"
    settings: dict[str, Any] = field(default_factory=dict)


PEERS = {
    "MST": PeerMethod("MST"),
    "AIM": PeerMethod("AIM"),
    "AIM, 300 iterations": PeerMethod("AIM", settings={"n_iters": 300}),
    "AIM, 100 iterations, 8 MB": PeerMethod("AIM", settings={"n_iters": 100, "max_model_size": 8}),
    "PrivBayes": PeerMethod("PrivBayes"),
    "PrivBayes, degree 3": PeerMethod("PrivBayes", settings={"degree": 3}),
    "MST add/remove": PeerMethod("MST", "add-remove"),
    "AIM add/remove": PeerMethod("AIM", "add-remove"),
    "AIM add/remove, 300 iterations": PeerMethod("AIM", "add-remove", {"n_iters": 300}),
    "PrivBayes add/remove": PeerMethod("PrivBayes", "add-remove"),
}
METHODS = (*NO_EPSILON, *OURS, *PEERS)
# AIM with its default of 1,000 iterations takes over five minutes on eight columns, and was not closer than with 300.
DEFAULT = "real rows; bootstrap; no privacy; hand tree; learn; MST; AIM, 300 iterations; PrivBayes"


@dataclass
class Kept:
    """The releases in a file, one record each; written after every one of them."""

    path: Path
    records: dict[tuple[Any, ...], Record] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Kept:
        """The file's records; none where it does not exist."""
        stored = json.loads(path.read_text()) if path.exists() else []
        return cls(path, {key_of(record): record for record in stored})

    def add(self, record: Record) -> None:
        """Keep one more; records that another process has written in the meantime stay."""
        others = Kept.read(self.path).records
        self.records = {**others, **self.records, key_of(record): record}
        lines = [json.dumps(each) for _, each in sorted(self.records.items(), key=lambda item: repr(item[0]))]
        self.path.write_text("[\n" + ",\n".join(lines) + "\n]\n")

    def of(self, table: str, method: str, epsilon: float | None) -> list[Record]:
        """The records of one line."""
        return [record for key, record in self.records.items() if key[:3] == (table, method, epsilon)]


def key_of(record: Record) -> tuple[Any, ...]:
    """What makes a release another one."""
    return tuple(record[name] for name in ("table", "method", "epsilon", "seed"))


def command(
    table: Table, real: Path, method: str, epsilon: float, seed: int, out: Path, peers: str | None
) -> list[str]:
    """The process that makes one synthetic table."""
    if method not in PEERS:
        name = "learn" if method == "no privacy" else method
        script = str(HERE / "synthetic_release.py")
        return [sys.executable, script, table.name, name, repr(epsilon), repr(DELTA), str(seed), str(out)]
    if peers is None:
        sys.exit(f"{method} needs --peers PYTHON, a Python with dpmm 0.1.9 (make synthetic sets one up)")
    peer = PEERS[method]
    request = {"method": peer.method, "adjacency": peer.adjacency, "settings": peer.settings}
    request |= {"epsilon": epsilon, "delta": DELTA, "seed": seed}
    return [peers, str(HERE / "peer_dpmm.py"), str(real), json.dumps(request), str(out)]


@dataclass(frozen=True)
class Bench:
    """One table, its codes, and a file of the real codes for other processes."""

    table: Table
    truth: Codes
    held: Codes
    folder: Path
    peers: str | None
    limit: float

    def made(self, method: str, epsilon: float | None, seed: int) -> tuple[Codes, Record]:
        """Synthetic codes of one release and what its process printed."""
        if method == "real rows":
            return self.truth, {}
        if method == "bootstrap":
            return self.truth[np.random.default_rng(seed).integers(0, len(self.truth), len(self.truth))], {}
        real, out = self.folder / "real.npz", self.folder / "synthetic.npz"
        np.savez(real, codes=self.truth, sizes=self.table.sizes, names=self.table.names)
        line = command(self.table, real, method, ENOUGH if epsilon is None else epsilon, seed, out, self.peers)
        environment = {**os.environ, **ONE_THREAD}
        process = subprocess.run(
            line, stdout=subprocess.PIPE, text=True, check=True, timeout=self.limit, env=environment
        )
        with np.load(out) as stored:
            return stored["codes"], json.loads(process.stdout.splitlines()[-1])

    def record(self, method: str, epsilon: float | None, seed: int) -> Record:
        """One release, judged; one that takes too long is recorded as such."""
        record: Record = {"table": self.table.name, "method": method, "epsilon": epsilon, "seed": seed}
        try:
            rows, printed = self.made(method, epsilon, seed)
        except subprocess.TimeoutExpired:
            return {**record, "stopped": self.limit}
        return {**record, **judged(self.table, rows, self.truth, self.held), **printed}


def asked_lines(methods: list[str], epsilons: list[float], table: str) -> list[tuple[str, float | None]]:
    """Methods with their prices; the tree was drawn for the eight columns of Adult."""
    lines: list[tuple[str, float | None]] = [(method, None) for method in methods if method in NO_EPSILON]
    priced = [method for method in methods if method not in NO_EPSILON and (method != "hand tree" or table == "adult8")]
    return lines + [(method, epsilon) for epsilon in epsilons for method in priced]


def shown(records: list[Record], measure: str) -> str:
    """Mean and, for several releases, its standard error; medians of seconds and memory."""
    values = [record[measure] for record in records if measure in record]
    if not values:
        return ""
    if measure in ("seconds", "memory"):
        return f"{np.median(values):.{1 if measure == 'seconds' else 0}f}"
    error = f" ({np.std(values, ddof=1) / len(values) ** 0.5:.4f})" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{error}"


def printed(kept: Kept, name: str, lines: list[tuple[str, float | None]]) -> None:
    """Print one table's lines."""
    print(f"\n{name}\n\n| epsilon | method | releases | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 3)}")
    for method, epsilon in lines:
        records = kept.of(name, method, epsilon)
        cells = " | ".join(shown(records, measure) for measure in COLUMNS)
        ended = [record for record in records if "stopped" not in record]
        count = f"{len(ended)}" + "".join(
            f", one stopped after {each['stopped']:.0f} s" for each in records if each not in ended
        )
        if records:
            print(f"| {'' if epsilon is None else f'{epsilon:g}'} | {method} | {count} | {cells} |")


def listed(text: str) -> list[str]:
    """Names between semicolons or commas; a method's name may hold a comma, so that semicolons come first."""
    return [each.strip() for each in text.split(";" if ";" in text or text in METHODS else ",")]


def main() -> None:
    """Make the releases that are missing, then print all that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="adult8,adult15,latent,abalone", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--methods", default=DEFAULT)
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--peer-releases", type=int, default=2, help="of dpmm's methods, minutes each")
    parser.add_argument("--peers", help="a Python that has dpmm 0.1.9")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which a release is given up")
    parser.add_argument("--again", action="store_true", help="make releases anew that the file has")
    parser.add_argument("-o", "--output", type=Path, default=HERE.parent / "docs" / "benchmarks" / "synthetic.json")
    asked = parser.parse_args()
    methods, epsilons = listed(asked.methods), [float(each) for each in asked.epsilons.split(",")]
    if unknown := [each for each in methods if each not in METHODS]:
        parser.error(f"unknown methods {unknown}; known are {'; '.join(METHODS)}")
    kept = Kept.read(asked.output)
    for name in listed(asked.tables):
        lines = asked_lines(methods, epsilons, name)
        missing = [
            (method, epsilon, seed)
            for method, epsilon in lines
            for seed in range(
                1 if method == "real rows" else asked.peer_releases if method in PEERS else asked.releases
            )
            if asked.again or (name, method, epsilon, seed) not in kept.records
        ]
        if missing:
            table = TABLES[name]()
            with tempfile.TemporaryDirectory() as folder:
                bench = Bench(
                    table, table.codes(table.fit), table.codes(table.held), Path(folder), asked.peers, asked.limit
                )
                for case in missing:
                    kept.add(bench.record(*case))
                    print(name, *case, "done", file=sys.stderr, flush=True)
        printed(kept, name, lines)


if __name__ == "__main__":
    main()
