"""`python benchmarks/speed_fit.py clip|normalise rows`: time and peak memory of one default fit, printed as JSON.

The process makes or reads a table of Adult's shape, fits a small one so that all is imported and compiled, notes its resident
memory, fits, and reports how far its resident memory ever rose above that. Linux only: the peak is the kernel's VmHWM.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

import numpy as np

# Columns of adult.data that are numbers, with round bounds.
NUMBERS = {0: (17, 90), 2: (0, 1.5e6), 4: (1, 16), 10: (0, 1e5), 11: (0, 5e3), 12: (1, 99)}


def adult(rows: int) -> tuple[np.ndarray, np.ndarray] | None:
    """UCI Adult with every level a feature, in [0, 1]; None where the file is not found.

    Levels are taken from the file: this is about time and memory, and nothing is released.
    """
    for folder in (os.environ.get("SFUMATO_DATA"), Path(__file__).parents[2] / "shared" / "data"):
        for name, opened in (("adult.data", open), ("adult.data.gz", gzip.open)):
            path = Path(folder or ".") / name
            if folder is not None and path.exists():
                with opened(path, "rt") as lines:  # type: ignore[operator]
                    cells = [line.strip().split(", ") for line in lines if line.count(",") == 14]
                return features(cells[:rows])
    return None


def features(cells: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """The matrix and the labels 0 and 1."""
    columns = list(zip(*cells, strict=True))
    found = []
    for place, column in enumerate(columns[:14]):
        if place in NUMBERS:
            lower, upper = NUMBERS[place]
            found.append((np.array(column, dtype=float) - lower) / (upper - lower))
        else:
            found += [np.array([cell == level for cell in column], dtype=float) for level in sorted(set(column))]
    return np.column_stack(found), np.array([cell.startswith(">") for cell in columns[14]], dtype=int)


def generated(rows: int, width: int = 105) -> tuple[np.ndarray, np.ndarray]:
    """Rows of Adult's shape: six numbers and eight ones among zeros."""
    rng = np.random.default_rng(1)
    matrix = np.zeros((rows, width))
    matrix[:, :6] = rng.random((rows, 6))
    for place in rng.permuted(np.tile(np.arange(6, width), (rows, 1)), axis=1)[:, :8].T:
        matrix[np.arange(rows), place] = 1.0
    return matrix, (matrix[:, 0] + 0.5 * rng.standard_normal(rows) > 0.7).astype(int)


def kilobytes(field: str) -> int:
    """A line of the process's own status."""
    found = re.search(field + r":\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found.group(1)) if found else 0


def main() -> None:
    """Fit three times; memory is that of the first."""
    from sfumato.estimators import PrivateLogisticRegression

    kind, rows = sys.argv[1], int(sys.argv[2])
    matrix, labels = adult(rows) or generated(rows)
    estimator = PrivateLogisticRegression(
        1.0, 1e-5, bounds=(0, 1), classes=[0, 1], missing_class=0, rows=kind, allow_weak=True
    )
    start = time.perf_counter()
    estimator.fit(matrix[:50].copy(), labels[:50])
    first = time.perf_counter() - start
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
    before = kilobytes("VmRSS")
    times, peaks = [], []
    for _ in range(3):
        start = time.perf_counter()
        estimator.fit(matrix, labels)
        times.append(time.perf_counter() - start)
        peaks.append(kilobytes("VmHWM"))
    rise = (peaks[0] - before) * 1024
    found = {"rows": len(matrix), "columns": matrix.shape[1], "seconds": statistics.median(times), "first": first}
    print(json.dumps({**found, "rise": rise, "matrix": matrix.nbytes}))


if __name__ == "__main__":
    main()
