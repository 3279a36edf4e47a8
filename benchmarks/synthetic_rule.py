"""`python benchmarks/synthetic_rule.py [--tables a,b] [--epsilons .1,1,10]`: how far the fit of learnt tables rests on its numbers.

Tables of all pairs get normal noise at the price of epsilon, delta = 1e-6, one record replaced; a mixture is fitted with other
numbers of components and folds than the library's (`sfumato.mixtures.fitting`). Printed is the mean total variation between the
mixture's shares of pairs and those of the rows, over two releases. The rule was chosen on Adult, with a look at Abalone.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np

import sfumato as sf
from sfumato.mixtures import fitting
from sfumato.mixtures.mixture import firsts
from sfumato.mixtures.noisy_pairs import NoisyTable, assembled
from synthetic_tables import TABLES, Codes

RELEASES = 2
VARIANTS = [(20, 10), (50, 10), (100, 2), (100, 5), (100, 10), (200, 10)]


def counted(codes: Codes, sizes: list[int]) -> dict[tuple[int, int], np.ndarray]:
    """The exact counts of all pairs."""
    tables = {}
    for a, b in itertools.combinations(range(len(sizes)), 2):
        cells = np.bincount(codes[:, a] * sizes[b] + codes[:, b], minlength=sizes[a] * sizes[b])
        tables[a, b] = cells.reshape(sizes[a], sizes[b]).astype(np.float64)
    return tables


def noisy(tables: dict[tuple[int, int], np.ndarray], mu: float, rng: np.random.Generator) -> list[NoisyTable]:
    """The counts with noise by the library's rule: information in proportion to cells^(2/3)."""
    weights = {pair: table.size ** (2 / 3) for pair, table in tables.items()}
    total = sum(weights.values())
    made = []
    for pair, table in tables.items():
        deviation = float(np.sqrt(2 * total / weights[pair]) / mu)
        made.append(NoisyTable(pair, table + deviation * rng.standard_normal(table.shape), deviation))
    return made


def main() -> None:
    """Print one line for each table, epsilon and variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default="adult8,latent,abalone,survey")
    parser.add_argument("--epsilons", default=".1,1,10")
    asked = parser.parse_args()
    print("| table | epsilon | components | folds | 2-way | CPU s |\n|---|---|---|---|---|---|")
    for name in asked.tables.split(","):
        table = TABLES[name]()
        codes, sizes = table.codes(table.fit), table.sizes
        exact, n, edges = counted(codes, sizes), len(codes), firsts(sizes)
        for epsilon in map(float, asked.epsilons.split(",")):
            mu = sf.plan(sf.families.BoundedMean(0, 1), n, epsilon, 1e-6).guarantee.curve.mu
            for components, folds in VARIANTS:
                gaps, start = [], time.process_time()
                for seed in range(RELEASES):
                    tables = noisy(exact, mu, np.random.default_rng(seed))
                    shares = fitting.fitted(assembled(tuple(sizes), n, tables), folds, components).pairs()
                    for (a, b), cells in exact.items():
                        block = shares[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]
                        gaps.append(0.5 * float(np.abs(block - cells / n).sum()))
                seconds = (time.process_time() - start) / RELEASES
                print(
                    f"| {name} | {epsilon:g} | {components} | {folds} | {np.mean(gaps):.4f} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
