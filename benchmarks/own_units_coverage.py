"""How often intervals of contrasts, of predicted means and of answers hold the truth: six cells, 500 runs each.

    python benchmarks/own_units_coverage.py            all cells (about 20 minutes of two cores)
    python benchmarks/own_units_coverage.py 50         fewer runs

Prints one line a cell: the share of contrasts, means and answers inside their 90 % intervals, and that of means inside intervals
of a third of the width. Answers of counts are whole numbers, so that their intervals hold more than nine in ten.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from unit_cells import CELLS

RUNS = 500


def one(task: tuple[int, int]) -> dict[str, list[bool]]:
    """One run of a cell."""
    cell, seed = task
    return CELLS[cell].run(seed)


def main(runs: int) -> None:
    """Print a line for every cell as soon as it is done."""
    print(f"{'cell':<32} {'rows':>7} {'epsilon':>8} {'contrasts':>10} {'means':>7} {'answers':>8} {'a third':>8}")
    with ProcessPoolExecutor() as pool:
        for place, cell in enumerate(CELLS):
            held = list(pool.map(one, [(place, seed) for seed in range(runs)], chunksize=10))
            shares = {name: np.mean([each[name] for each in held]) for name in held[0]}
            answers = f"{shares['answers']:.3f}" if "answers" in shares else "-"
            print(
                f"{cell.name:<32} {cell.n:>7,} {cell.epsilon:>8g} {shares['contrasts']:>10.3f} {shares['means']:>7.3f} "
                f"{answers:>8} {shares['naive']:>8.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
