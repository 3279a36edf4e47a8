"""`python benchmarks/bulk_simulation.py`: 10,000 draws of as many data sets in bulk, beside exact draws one by one.

Prints the seconds of `sf.simulate` for a Beta and a Gamma posterior, and how many times longer the exact sampler of a release
would take for the same number of data sets, measured on fifty of them.
"""

from __future__ import annotations

import statistics
import time
from fractions import Fraction

import numpy as np

import sfumato as sf
from sfumato.procedures import law

DATA_SETS, EXACT, REPEATS = 10_000, 50, 5


def seconds(work) -> float:
    """Median time of a few runs."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    """Measure both families."""
    rng = np.random.default_rng(1)
    families = {
        "Beta": (sf.families.BetaBernoulli(6, 12), rng.binomial(100, 0.5, DATA_SETS)),
        "Gamma": (sf.families.GammaPoisson(2, 1, bound=5), rng.poisson(150, DATA_SETS)),
    }
    for name, (model, totals) in families.items():
        plan = sf.plan(model, 100, target=sf.Renyi([2], [0.1]), mechanism="diffused")
        bulk = seconds(lambda plan=plan, totals=totals: sf.simulate(plan, totals, seed=1))

        def one_by_one(plan=plan, model=model, totals=totals) -> None:
            for total in totals[:EXACT].tolist():
                law.drawn(model, [Fraction(total)], plan.n, plan.parameters, 1, sf.seeded(total))

        exact = seconds(one_by_one) * DATA_SETS / EXACT
        print(f"{name}: {DATA_SETS:,} draws in {bulk:.4f} s; the exact sampler takes {exact / bulk:,.0f} times as long")


if __name__ == "__main__":
    main()
