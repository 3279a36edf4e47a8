"""How often intervals of counted shares hold the truth: cells, margins and conditional rows of histograms, cross tables, networks.

    python benchmarks/count_coverage.py            # 2,000 data sets a case
    python benchmarks/count_coverage.py --sets 200

Truths are drawn from the prior (Dirichlet with all cells 1), or fixed and skewed: share k is proportional to 1/k. Data sets are
multinomial counts with normal noise of the deviation that the plan has at this epsilon and delta 1e-6; each line is of one
kind of share, of the largest, the middle and the smallest cell in turn, and of both kinds of truths. Nothing is private
here. "count" is the number of records of a cell itself, the noise alone.
"root", "child" and "given" are of a network a -> b of two tables, each with noise of sqrt(2) times that deviation: the
marginal of a, which both tables count, that of b, a sum over a, and the share of b given a. Its truths are drawn table by table.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import sfumato as sf
from sfumato.queries.statistics import cell_counts, count_laws
from sfumato.queries.statistics.cell_counts import Counted

LEVEL, DELTA = 0.9, 1e-6
SIZES, EPSILONS, CELLS = (200, 2000, 50_000), (0.1, 1.0, 3.0), (2, 10, 100)
# Levels of the column across: a table of 100 cells has 25 rows of 4.
ACROSS = {2: 2, 10: 2, 100: 4}
KINDS = ("cell", "margin", "row", "count")
NETWORK = ("root", "child", "given")


def deviation(epsilon: float) -> float:
    """The noise of one count of a cross table at this price: that of one histogram, whatever its size."""
    model = sf.families.Histogram(0, 1, 2)
    plan = sf.plan(model, 1000, epsilon, DELTA, mechanism="noisy-statistics")
    return float(plan["noise"]) * model.sensitivity


def shares(cells: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """True shares: from the prior, or in proportion to 1/k."""
    if kind == "prior":
        return rng.dirichlet(np.ones(cells))
    falling = 1 / np.arange(1, cells + 1)
    return falling / falling.sum()


def held(n: int, noise: float, cells: int, what: str, truths: str, sets: int, seed: int, slack: float = 1.0) -> float:
    """Share of data sets whose interval holds the truth; `slack` scales the noise that the reader believes in."""
    rng = np.random.default_rng([seed, n, cells, KINDS.index(what), truths == "prior"])
    across = ACROSS[cells]
    shape = (cells // across, across)
    inside = 0
    for run in range(sets):
        truth = shares(cells, truths, rng)
        records = rng.multinomial(n, truth)
        counts = records + noise * rng.standard_normal(cells)
        table = [Counted(("r", "c"), counts.reshape(shape), (slack * noise) ** 2)]
        order = np.argsort(-truth, kind="stable")
        cell = int(order[(0, cells // 2, cells - 1)[run % 3]])
        at = {"r": cell // across, "c": cell % across}
        grid = truth.reshape(shape)
        if what == "count":
            low, high = count_laws.count_ends(cell_counts.share(table, n, at), LEVEL)
            inside += low <= records[cell] <= high
            continue
        if what == "cell":
            law, value = cell_counts.share(table, n, at), truth[cell]
        elif what == "margin":
            law, value = cell_counts.share(table, n, {"c": at["c"]}), grid[:, at["c"]].sum()
        else:
            given = {"r": at["r"]}
            law = cell_counts.conditional(table, n, {"c": at["c"]}, given)
            value = grid[at["r"], at["c"]] / grid[at["r"]].sum()
        low, high = law.share_ends(LEVEL)
        inside += low <= value <= high
    return inside / sets


def network_held(n: int, noise: float, cells: int, what: str, truths: str, sets: int, seed: int) -> float:
    """Share of data sets whose interval of a network's share holds the truth."""
    rng = np.random.default_rng([seed, n, cells, NETWORK.index(what), truths == "prior"])
    across = ACROSS[cells]
    rows, deviation, inside = max(2, cells // across), math.sqrt(2) * noise, 0
    for run in range(sets):
        root = shares(rows, truths, rng)
        given = np.stack([np.roll(shares(across, truths, rng), k if truths == "skewed" else 0) for k in range(rows)])
        counts = rng.multinomial(n, (root[:, None] * given).ravel()).reshape(rows, across)
        first = Counted(("a",), counts.sum(axis=1) + deviation * rng.standard_normal(rows), deviation**2)
        second = Counted(("a", "b"), counts + deviation * rng.standard_normal(counts.shape), deviation**2)
        a, b = int(np.argsort(-root)[(0, rows // 2, rows - 1)[run % 3]]), run % across
        if what == "root":
            law, value = cell_counts.share([first, second], n, {"a": a}), root[a]
        elif what == "child":
            law, value = cell_counts.share([first, second], n, {"b": b}), float(root @ given[:, b])
        else:
            law, value = cell_counts.conditional([first, second], n, {"b": b}, {"a": a}), given[a, b]
        low, high = law.share_ends(LEVEL)
        inside += low <= value <= high
    return inside / sets


def main() -> None:
    """Print one line for each kind of share, n and number of cells, with a column for each epsilon."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--sets", type=int, default=2000)
    arguments.add_argument("--kinds", nargs="*", default=(*KINDS, *NETWORK))
    given = arguments.parse_args()
    noises = [deviation(epsilon) for epsilon in EPSILONS]
    print(f"{given.sets:,} data sets a case; standard error of a coverage {math.sqrt(0.09 / given.sets):.4f}")
    print(f"{'share of':8} {'truths':7} {'n':>7} {'cells':>6}", *(f"{f'eps {e:g}':>8}" for e in EPSILONS))
    for what in given.kinds:
        for truths in ("prior", "skewed"):
            for n in SIZES:
                for cells in CELLS:
                    if what == "row" and cells == 2:
                        continue
                    measure = network_held if what in NETWORK else held
                    row = [measure(n, noise, cells, what, truths, given.sets, 1) for noise in noises]
                    print(f"{what:8} {truths:7} {n:7,} {cells:6}", *(f"{share:8.3f}" for share in row), flush=True)


if __name__ == "__main__":
    main()
