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
# Every how many cells are compared, chains of a cell, and elliptical slices of a chain: quick, and in full.
EVERY = {"Abalone": (4, 2), "Adult": (12, 6), "MNIST 3v8": (14, 7)}
CHAINS = {"Abalone": (60, 200), "Adult": (6, 24), "MNIST 3v8": (6, 24)}
SLICES = {"Abalone": (200, 1000), "Adult": (60, 600), "MNIST 3v8": (60, 600)}


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
    (training, test), chains = _tables.split(_tables.load(name), 0), CHAINS[name][pick]
    cells = [each for each in _cells.cells_of(len(training[0])) if each.mu is None][:: EVERY[name][pick]]
    target = _cells.posterior(training, [each for each in cells for _ in range(chains)])
    rng = target.xp.random.default_rng([3, len(test[0])])
    first = measured(target, _chains.hamiltonian(target, rng)[0], test)
    other = measured(target, slices(target, rng, SLICES[name][pick]), test)
    rows = []
    for number, each in enumerate(cells):
        mine = slice(number * chains, (number + 1) * chains)
        for place, quantity in enumerate(QUANTITIES):
            a, b = first[mine, place], other[mine, place]
            spread = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / chains)
            z = float((a.mean() - b.mean()) / spread) if spread > 0 else 0.0
            rows.append([name, each.key, quantity, float(a.mean()), float(b.mean()), z])
    out.progress(1, 1, f"{name}: {len(cells)} cells, {chains} chains each")
    return rows


def slices(target: _chains.Posterior, rng: Any, sweeps: int) -> Any:
    """Slices about the normal approximation; on the sphere where the ball cuts off much of that."""
    xp = target.xp
    typical = xp.sqrt((target.mode**2 + target.variance).sum(axis=0))
    plain = _chains.elliptical(target, rng, sweeps)
    tight = typical > 0.9 * target.cells.radius
    return xp.where(tight, _chains.spherical(target, rng, 5 * sweeps), plain) if bool(tight.any()) else plain


def measured(target: _chains.Posterior, w: Any, test: _tables.Table) -> Any:
    """Test error, log-likelihood and squared norm of every chain's last point, shaped (chains, 3)."""
    drawn = _cells.on_host(target.coefficients(w))
    return np.array([(*_cells.scores(column, test), float(column @ column)) for column in drawn.T])
