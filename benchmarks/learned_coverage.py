"""How often intervals of a learnt table hold the truth: shares of one and of two columns, of every way in which tables are counted.

    python benchmarks/learned_coverage.py            # 2,000 data sets a case
    python benchmarks/learned_coverage.py --sets 200 --cases chosen

Rows are drawn from a mixture of three classes (columns of 2, 3 and 4 levels and a number), counted, chosen and noised by the
procedure itself at delta 1e-6 (its normals as floats), and read as a release is. The truth is the share in the mixture, not in
the rows. Columns and cells are asked for in turn. Of private bins the truth is that of the bins as they were released. "chosen"
asks for cells of pairs that were chosen.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import sfumato as sf
from sfumato.procedures import noisy_tables
from sfumato.queries.statistics import cell_counts
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.schema.missing_cells import missing_key

LEVEL, DELTA = 0.9, 1e-6
SIZES, EPSILONS = (500, 5000), (0.3, 1.0, 3.0)
SCHEMA = sf.Schema(
    {
        "a": sf.Category(["x", "y"], missing="x"),
        "b": sf.Category(["r", "s", "t"], missing="r"),
        "c": sf.Category(["k", "l", "m", "n"], missing="k"),
        "z": sf.Number(0, 1),
    }
)
CASES: dict[str, Any] = {
    "all pairs": sf.networks.learn(SCHEMA, bins={"z": 5}),
    "target": sf.networks.learn(SCHEMA, bins={"z": 5}, target="a"),
    "private bins": sf.networks.learn(SCHEMA, bins={"z": {"quantiles": 5}}),
    "missing": sf.networks.learn(SCHEMA, bins={"z": 5}, missing=["b", "z"]),
    "chosen": sf.networks.learn(SCHEMA, bins={"z": 5}, pairs="select", chosen=2, rounds=2),
}
# Shares of the classes; in each, shares of the levels of a, b and c, the two powers of a Beta for z, and how often b is missing.
CLASSES = np.array([0.5, 0.3, 0.2])
LAWS: dict[str, Any] = {
    "a": np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]]),
    "b": np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]),
    "c": np.array([[0.55, 0.3, 0.1, 0.05], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]]),
}
POWERS = ((1.0, 4.0), (3.0, 3.0), (4.0, 1.5))
GONE = {"b": np.array([0.1, 0.3, 0.05]), "z": np.array([0.2, 0.05, 0.4])}


@dataclass(frozen=True, eq=False)
class Rows:
    """An engine that counts rows of the mixture."""

    block: dict[str, Any]

    @classmethod
    def drawn(cls, n: int, rng: np.random.Generator, missing: tuple[str, ...]) -> Rows:
        """So many rows."""
        kind = rng.choice(len(CLASSES), n, p=CLASSES)
        block: dict[str, Any] = {}
        for name, laws in LAWS.items():
            block[name] = (rng.random(n)[:, None] > np.cumsum(laws, axis=1)[kind]).sum(axis=1)
        first, second = np.array(POWERS)[kind].T
        block["z"] = rng.beta(first, second)
        for name in missing:
            block[missing_key(name)] = rng.random(n) < GONE[name][kind]
        return cls(block)

    def totals(self, tally: Any) -> list[int]:
        """Sums of whole numbers."""
        return list(tally(self.block, tuple(SCHEMA.columns)).tolist())


def truths(model: Any) -> list[np.ndarray]:
    """For every column the shares of its levels in each class, (classes, levels)."""
    from scipy.special import betainc

    laws = {**LAWS}
    edges = np.clip(np.array(dict(model.bins)["z"]), 0, 1)
    laws["z"] = np.array([np.diff(betainc(a, b, edges)) for a, b in POWERS])
    for name in model.missing:
        gone = GONE[name][:, None]
        laws[name] = np.hstack([laws[name] * (1 - gone), gone])
    return [laws[name] for name in model.names]


def held(case: str, n: int, epsilon: float, sets: int, seed: int = 1, slack: float = 1.0) -> tuple[float, float]:
    """How often intervals of one column and of two hold the truth; the reader believes in `slack` times the noise."""
    model = CASES[case]
    rng = np.random.default_rng([seed, n, list(CASES).index(case)])
    task = sf.plan(model, n, epsilon, DELTA).task
    inside = [0, 0]
    with patch.object(noisy_tables, "rounded_normals", partial(_normals, rng)):
        for run in range(sets):
            engine: Any = Rows.drawn(n, rng, model.missing)
            _, counted, _ = noisy_tables.noisy_counts(task, engine, sf.seeded(run))
            for columns in (1, 2):
                inside[columns - 1] += _holds(counted, n, columns, run, rng, slack)
    return inside[0] / sets, inside[1] / sets


def _normals(rng: np.random.Generator, source: Any, counts: Any, deviation: Any, grid: Any) -> Any:
    """Float normals in the place of exact ones, which take ten times as long; nothing is private here."""
    return np.array(counts, dtype=np.float64) + float(deviation) * rng.standard_normal(len(counts))


def _holds(counted: Any, n: int, columns: int, run: int, rng: np.random.Generator, slack: float) -> bool:
    """Whether the interval of one share holds it: of a column in turn, or of a table of two columns in turn."""
    laws = truths(counted.model)
    tables = [
        Counted(tuple(map(str, table.columns)), table.counts, (slack * table.deviation) ** 2)
        for table in counted.tables
    ]
    pairs = [table.columns for table in counted.tables if len(table.columns) == 2]
    places = (run % len(laws),) if columns == 1 else pairs[run % len(pairs)]
    levels = {place: int(rng.integers(laws[place].shape[1])) for place in places}
    value = float(CLASSES @ math.prod(laws[place][:, level] for place, level in levels.items()))
    law = cell_counts.share(tables, n, {str(place): level for place, level in levels.items()})
    low, high = law.share_ends(LEVEL)
    return bool(low <= value <= high)


def main() -> None:
    """Print one line for each case, n and number of columns, with a column for each epsilon."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--sets", type=int, default=2000)
    arguments.add_argument("--cases", nargs="*", default=list(CASES))
    given = arguments.parse_args()
    print(f"{given.sets:,} data sets a case; standard error of a coverage {math.sqrt(0.09 / given.sets):.4f}")
    print(f"{'tables':13} {'share of':>12} {'n':>6}", *(f"{f'eps {e:g}':>8}" for e in EPSILONS))
    for case in given.cases:
        for n in SIZES:
            both = [held(case, n, epsilon, given.sets) for epsilon in EPSILONS]
            for said, row in zip(("one column", "two columns"), zip(*both, strict=True), strict=True):
                print(f"{case:13} {said:>12} {n:6,}", *(f"{share:8.3f}" for share in row), flush=True)


if __name__ == "__main__":
    main()
