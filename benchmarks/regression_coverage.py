"""Coverage of the 90 % intervals of private regressions, truths from the prior, with the real plans and releases.

    python benchmarks/regression_coverage.py [runs] [kind] [first cell] [last cell]

Each of 24 cells (tests/regression_cells.py): the share of coefficients in "privacy and sampling" intervals, with its Monte Carlo
error over runs; the least covered coefficient; the median half-width beside that of a fit without privacy and of the prior;
naive intervals (the estimate with the half-width of a fit without privacy); the root mean square error of estimate() and of the
path's average; the median diagnostic q. kind "poisson" has five cells of its own. Prints the table of
docs/benchmarks/regressions.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from regression_cells import CELLS, LEVEL, NOISE, POISSON, Cell, covered
from sfumato.queries.shaped_intervals import diagnostic

_NORMAL = 1.6448536269514722  # of a 90 % interval


def usual_half_widths(cell: Cell, truth: np.ndarray, seed: int) -> np.ndarray:
    """Half-widths without privacy, from the information at the truth."""
    rng = np.random.default_rng([seed, cell.n, cell.d, int(cell.epsilon * 10), cell.ill])
    rng.normal(size=cell.d)
    rows = np.column_stack([cell.rows(rng), np.full(cell.n, 0.5)])
    scores = rows @ truth
    weights = {
        "logistic": lambda: 1 / (2 + np.exp(scores) + np.exp(-scores)),
        "linear": lambda: np.full(cell.n, NOISE**-2),
        "poisson": lambda: np.exp(scores),
    }[cell.kind]()
    inverse = np.linalg.inv(rows.T @ (rows * weights[:, None]) + np.eye(cell.d))
    return _NORMAL * np.sqrt(np.diag(inverse))


def row_of(cell: Cell, runs: int) -> str:
    """One line of the table."""
    inside, naive, half, bare, errors, averages, far = [], [], [], [], [], [], []
    for seed in range(runs):
        truth, release = cell.run(seed)
        ends = release.interval(LEVEL, scaled=True)
        usual = usual_half_widths(cell, truth, seed)
        middle = release.estimate(scaled=True)
        inside.append(covered(truth, ends))
        naive.append(covered(truth, np.stack([middle - usual, middle + usual])))
        half.append(np.median(ends[1] - ends[0]) / 2)
        bare.append(np.median(usual))
        errors.append(np.sqrt(np.mean((middle - truth) ** 2)))
        averages.append(np.sqrt(np.mean((release.mean(scaled=True) - truth) ** 2)))
        far.append(diagnostic(release.draws, release.plan))
    each = np.mean(inside, axis=1)
    cells = [
        f"{each.mean():.3f} ({each.std(ddof=1) / runs**0.5:.3f})",
        f"{np.mean(inside, axis=0).min():.3f}",
        f"{np.mean(naive):.2f}",
        f"{np.median(half):.3f}",
        f"{np.median(bare):.3f}",
        f"{np.mean(errors):.3f}",
        f"{np.mean(averages):.3f}",
        f"{np.median(far):.2f}",
    ]
    return f"| {cell} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, one line a cell."""
    given = sys.argv[1:]
    runs = int(given[0]) if given else 500
    cells = POISSON if given[1:2] == ["poisson"] else [c for c in CELLS if not given[1:] or c.kind == given[1]]
    if len(given) > 3:
        cells = cells[int(given[2]) : int(given[3]) + 1]
    print(f"{runs} runs a cell, delta = 1e-6; half-width of the prior {_NORMAL:.2f}\n")
    print("| cell | covered | least | naive | half-width | without privacy | error of estimate | of average | q |")
    print("|---|---|---|---|---|---|---|---|---|")
    for cell in cells:
        print(row_of(cell, runs), flush=True)


if __name__ == "__main__":
    main()
