"""The draws of Figure 3 by two samplers: Hamiltonian trajectories and elliptical slices agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.drawing import label, panels
from papers.geumlek2017 import _cells, _chains, _tables
from papers.reporting import NOT_STATED, Output

PLACE = "Figure 3, the sampler"
NEEDS = tuple(name for names in _tables.FILES.values() for name in names)
QUANTITIES = ("test error", "log-likelihood", "squared norm")
# Cells that are compared (every so many), chains of a cell, slices of a chain: in the quick form and in full.
EVERY = {"Abalone": (6, 2), "Adult": (40, 8), "MNIST 3v8": (40, 10)}
CHAINS = {"Abalone": (40, 200), "Adult": (4, 16), "MNIST 3v8": (4, 16)}
SLICES = {"Abalone": (100, 600), "Adult": (30, 300), "MNIST 3v8": (30, 300)}
# A ball is tight where the normal approximation has most of its mass near its surface or beyond.
TIGHT = 0.9


def run(out: Output) -> None:
    """Compare means of three quantities over independent chains of both samplers, cell by cell."""
    rows = [row for name in EVERY for row in compared(name, out)]
    z = np.array([row[-1] for row in rows])
    out.table(("table", "cell", "quantity", "trajectories", "slices", "z"), rows)
    figure, axes = panels("Two samplers of the same posteriors: differences of means in standard errors", 1, 1)
    names = list(EVERY)
    for place, name in enumerate(names):
        mine = np.sort([row[-1] for row in rows if row[0] == name])
        axes[0, 0].plot(mine, (np.arange(len(mine)) + 0.5) / len(mine), "os^"[place], label=name, markersize=3)
    grid = np.linspace(-3.5, 3.5, 200)
    from scipy import stats

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
        why="Draws of Figure 3 are the last points of Metropolis-corrected Hamiltonian chains of 80 trajectories; elliptical "
        "slices use no gradient and no step size. Both samplers are tested against quadrature in two dimensions.",
    )  # fmt: skip


def compared(name: str, out: Output) -> list[list[Any]]:
    """For every few cells: the means of each quantity by both samplers and their difference in standard errors."""
    pick = 0 if out.quick else 1
    training, test = _tables.split(_tables.load(name), 0)
    cells = [each for each in _cells.cells_of(len(training[0])) if each.mu is None]
    first = _cells.posterior(training, cells)
    typical = _cells.on_host(first.xp.sqrt((first.mode**2 + first.variance).sum(axis=0)))
    tight = [length > TIGHT * each.radius for length, each in zip(typical, cells, strict=True)]
    rows = []
    for flag, sampler, factor in ((False, _chains.elliptical, 1), (True, _chains.spherical, 5)):
        mine = [each for each, is_tight in zip(cells, tight, strict=True) if is_tight == flag][:: EVERY[name][pick]]
        # Slices on the sphere need thousands of passes in many dimensions: balls are compared where that is quick.
        if mine and not (flag and name in (("Adult", "MNIST 3v8") if out.quick else ("MNIST 3v8",))):
            rows += _both(name, mine, (training, test), CHAINS[name][pick], sampler, factor * SLICES[name][pick])
    return rows


def _both(
    name: str,
    cells: list[_cells.Cell],
    parts: tuple[_tables.Table, _tables.Table],
    chains: int,
    sampler: Any,
    sweeps: int,
) -> list[list[Any]]:
    """Rows of the comparison for these cells, with this other sampler."""
    target = _cells.posterior(parts[0], [each for each in cells for _ in range(chains)])
    rng = target.xp.random.default_rng([3, len(parts[1][0])])
    first = measured(target, _chains.hamiltonian(target, rng)[0], parts[1])
    other = measured(target, sampler(target, rng, sweeps), parts[1])
    rows = []
    for number, each in enumerate(cells):
        mine = slice(number * chains, (number + 1) * chains)
        for place, quantity in enumerate(QUANTITIES):
            a, b = first[mine, place], other[mine, place]
            spread = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / chains)
            z = float((a.mean() - b.mean()) / spread) if spread > 0 else 0.0
            rows.append([name, each.key, quantity, float(a.mean()), float(b.mean()), z])
    return rows


def measured(target: _chains.Posterior, w: Any, test: _tables.Table) -> Any:
    """Test error, log-likelihood and squared norm of every chain's last point, shaped (chains, 3)."""
    drawn = _cells.on_host(target.coefficients(w))
    return np.array([(*_cells.scores(column, test), float(column @ column)) for column in drawn.T])
