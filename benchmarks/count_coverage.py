"""How often intervals of counted shares hold the truth: cells, margins and conditional rows of histograms, cross tables, networks.

    python benchmarks/count_coverage.py            # 2,000 data sets a case
    python benchmarks/count_coverage.py --sets 200

Truths are drawn from the prior (Dirichlet with all cells 1), or fixed and skewed: share k is proportional to 1/k. Data sets are
multinomial counts with normal noise of the deviation that the plan has at this epsilon and delta 1e-6; each line is of one
kind of share, of the largest, the middle and the smallest cell in turn, and of both kinds of truths. Nothing is private
here. "count" is the number of records of a cell itself, the noise alone.
"root", "child" and "given" are of a network a -> b of two tables, each with noise of sqrt(2) times that deviation: the
marginal of a, which both tables count, that of b, a sum over a, and the share of b given a. Its truths are drawn table by table.

    python benchmarks/count_coverage.py --rates    # mean rates of counts

A rate is the mean of counts of 0 to a bound, Poisson ones or negative binomial ones with seven times the variance of Poisson
counts, from noisy statistics. "as Poisson" are the intervals of the same noisy sums where the counts are taken for Poisson counts.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import sfumato as sf
from sfumato.queries.statistics import cell_counts, count_laws
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.queries.statistics.protocol import Numbers, Released
from sfumato.queries.statistics.table import reader_of

LEVEL, DELTA = 0.9, 1e-6
SIZES, EPSILONS, CELLS = (200, 2000, 50_000), (0.1, 1.0, 3.0), (2, 10, 100)
# Levels of the column across: a table of 100 cells has 25 rows of 4.
ACROSS = {2: 2, 10: 2, 100: 4}
KINDS = ("cell", "margin", "row", "count")
NETWORK = ("root", "child", "given")
# Means and bounds of counts whose rate is asked for.
RATES, RATE_EPSILONS = ((2.0, 20), (0.2, 10)), (0.3, 1.0, 8.0)


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


def counted(rng: np.random.Generator, n: int, mean: float, factor: float) -> np.ndarray:
    """Counts of this mean with `factor` times the variance of Poisson counts."""
    if factor == 1:
        return rng.poisson(mean, n)
    return rng.negative_binomial(mean / (factor - 1), 1 / factor, n)


def rate_held(n: int, noise: float, mean: float, bound: int, factor: float, poisson: bool, sets: int) -> float:
    """Share of data sets whose interval holds the mean of the counts, cut at the bound; `poisson` leaves their squares out."""
    rng, model = np.random.default_rng([n, bound, int(factor)]), sf.families.GammaPoisson(1, 1 / mean, bound)
    truth = float(np.minimum(counted(np.random.default_rng(1), 4_000_000, mean, factor), bound).mean())
    read, unit, inside = reader_of(model), float(model.units[1]), 0
    for _ in range(sets):
        counts = np.minimum(counted(rng, n, mean, factor), bound)
        totals = np.array([counts.sum(), unit * ((2 * counts - bound) ** 2).sum()])
        totals = totals + noise * bound * rng.standard_normal(2)
        released = Released(n, Numbers(1.0, 1.0, noise), np.empty((0, 0)), totals[:1] if poisson else totals)
        low, high = read(model, model, released)(LEVEL, True)[:, 0]
        inside += bool(low <= truth <= high)
    return inside / sets


def rates(sets: int) -> None:
    """Print one line for each kind of counts, n, mean and bound."""
    noises = [deviation(epsilon) / math.sqrt(2) for epsilon in RATE_EPSILONS]  # over what a record moves a histogram by
    print(
        f"{'counts':12} {'intervals':10} {'n':>7} {'mean':>5} {'bound':>5}",
        *(f"{f'eps {e:g}':>8}" for e in RATE_EPSILONS),
    )
    for factor, poisson in ((1.0, False), (7.0, False), (7.0, True)):
        for n in SIZES:
            for mean, bound in RATES[: 1 if poisson else None]:
                row = [rate_held(n, noise, mean, bound, factor, poisson, sets) for noise in noises]
                kind, how = "Poisson" if factor == 1 else "7 x Poisson", "as Poisson" if poisson else "released"
                print(f"{kind:12} {how:10} {n:7,} {mean:5g} {bound:5}", *(f"{share:8.3f}" for share in row), flush=True)


def main() -> None:
    """Print one line for each kind of share, n and number of cells, with a column for each epsilon."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--sets", type=int, default=2000)
    arguments.add_argument("--kinds", nargs="*", default=(*KINDS, *NETWORK))
    arguments.add_argument("--rates", action="store_true", help="mean rates of counts")
    given = arguments.parse_args()
    print(f"{given.sets:,} data sets a case; standard error of a coverage {math.sqrt(0.09 / given.sets):.4f}")
    if given.rates:
        rates(given.sets)
        return
    noises = [deviation(epsilon) for epsilon in EPSILONS]
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
