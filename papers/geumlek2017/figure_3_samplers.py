"""The draws of Figure 3 by two samplers: Hamiltonian trajectories and random-walk Metropolis agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from papers.drawing import label, panels
from papers.geumlek2017 import _cells, _chains, _tables
from papers.reporting import NOT_STATED, Output

PLACE = "Figure 3, the sampler"
NEEDS = tuple(name for names in _tables.FILES.values() for name in names)
QUANTITIES = ("test error", "log-likelihood", "squared norm")
# Cells that are compared (every so many), chains of a cell, and steps of the walk: in the quick form and in full.
EVERY = {"Abalone": (8, 4), "Adult": (60, 12), "MNIST 3v8": (0, 30)}
CHAINS = {"Abalone": (40, 100), "Adult": (6, 12), "MNIST 3v8": (0, 8)}
STEPS = {"Abalone": (1000, 2000), "Adult": (2000, 3000), "MNIST 3v8": (0, 8000)}


def run(out: Output) -> None:
    """Compare means of three quantities over independent chains of both samplers, cell by cell."""
    rows = [row for name in EVERY for row in compared(name, out)]
    z = np.array([row[-1] for row in rows])
    out.table(("table", "cell", "quantity", "trajectories", "random walk", "z"), rows)
    figure, axes = panels("Two samplers of the same posteriors: differences of means in standard errors", 1, 1)
    names = list(EVERY)
    for place, name in enumerate(names):
        mine = np.sort([row[-1] for row in rows if row[0] == name])
        axes[0, 0].plot(mine, (np.arange(len(mine)) + 0.5) / len(mine), "os^"[place], label=name, markersize=3)
    grid = np.linspace(-3.5, 3.5, 200)
    axes[0, 0].plot(grid, stats.norm.cdf(grid), color="black", linewidth=1, label="standard normal")
    label(axes[0, 0], "", "difference of means / its standard error", "share of comparisons below")
    axes[0, 0].legend(fontsize=8)
    out.figure(figure, "Distribution of the standardised differences between two samplers beside the normal law.")
    # Bonferroni at one in a thousand for the whole set.
    limit = float(stats.norm.isf(0.0005 / len(z)))
    out.claim(
        "5.2", "Slice sampling with 1,000 burn-in steps is expected to be close to the posterior.",
        paper="left as future work", here=f"{len(z)} comparisons of two samplers: largest |z| {np.abs(z).max():.2f}, "
        f"mean square {np.mean(z**2):.2f}; limit {limit:.2f}",
        verdict=NOT_STATED, shown=bool(np.abs(z).max() < limit),
        why="Draws of Figure 3 are the last points of Metropolis-corrected Hamiltonian chains of 80 trajectories; the "
        "random walks use no gradient and start elsewhere. Both samplers are tested against quadrature in two dimensions.",
    )  # fmt: skip


def compared(name: str, out: Output) -> list[list[Any]]:
    """For every few cells: the means of each quantity by both samplers and their difference in standard errors."""
    every, chains, steps = (each[name][0 if out.quick else 1] for each in (EVERY, CHAINS, STEPS))
    if every == 0:
        return []
    training, test = _tables.split(_tables.load(name), 0)
    cells = [each for each in _cells.cells_of(len(training[0])) if each.mu is None]
    if name == "MNIST 3v8":  # a random walk in 784 dimensions cannot leave the surface of a tight ball in time
        cells = [each for each in cells if each.radius >= _cells.RADIUS / _cells.PRECISION]
    rows = []
    for number, each in enumerate(cells[::every]):
        rows += _both(name, each, (training, test), chains, steps, number)
        out.progress(number + 1, len(cells[::every]), f"{name}, cells")
    return rows


def _both(
    name: str, cell: _cells.Cell, parts: tuple[_tables.Table, _tables.Table], chains: int, steps: int, number: int
) -> list[list[Any]]:
    """Rows of the comparison for this cell, by both samplers."""
    target = _cells.posterior(parts[0], [cell] * chains)
    rng = target.xp.random.default_rng([number, len(parts[1][0])])  # each cell its own numbers
    first = measured(target, _chains.hamiltonian(target, rng)[0], parts[1])
    other = measured(target, _chains.random_walk(target, rng, steps), parts[1])
    spread = np.sqrt((first.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / chains)
    gap = (first.mean(axis=0) - other.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    # Welch's t has at least chains - 1 degrees of freedom; as a normal deviate it can be compared with the others.
    z = stats.norm.ppf(stats.t.cdf(gap, chains - 1))
    columns = zip(QUANTITIES, first.mean(axis=0).tolist(), other.mean(axis=0).tolist(), z.tolist(), strict=True)
    return [[name, cell.key, *column] for column in columns]


def measured(target: _chains.Posterior, w: Any, test: _tables.Table) -> Any:
    """Test error, log-likelihood and squared norm of every chain's last point, shaped (chains, 3)."""
    drawn = _cells.on_host(target.coefficients(w))
    return np.array([(*_cells.scores(column, test), float(column @ column)) for column in drawn.T])
