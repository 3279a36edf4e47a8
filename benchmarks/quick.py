"""`make bench-quick`: import cost and planning times, medians of repeated runs. Times are printed, not judged."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import sfumato as sf


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median wall time of `work` after one unmeasured run."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def seconds_in_new_process(code: str, repeats: int = 5) -> float:
    """Median wall time that a statement takes in a new interpreter, measured inside it."""
    timed = f"import time; s = time.perf_counter()\n{code}\nprint(time.perf_counter() - s)"
    runs = [
        subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def charge_seconds(charges: int = 60) -> float:
    """Median time of one durable charge."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = sf.Ledger.open(f"{folder}/budget.db")
        ledger.register("bench", epsilon=10.0, delta=1e-6)
        guarantee = sf.Guarantee(sf.Gaussian(mu=0.01), "replace-one", "bench", "bench")
        requests = iter(range(10**6))
        return median_seconds(lambda: ledger.charge("bench", guarantee, request_id=str(next(requests))), charges)


def histogram_seconds(draws: int = 3) -> float:
    """Median time to plan and draw a Dirichlet posterior of 50 categories from a million records."""
    import numpy as np

    levels = list(range(50))
    schema = sf.Schema({"x": sf.Category(levels, missing=levels[0])})
    data = sf.Dataset.from_table({"x": np.random.default_rng(1).integers(0, 50, 1_000_000)}, schema=schema)
    model = sf.families.DirichletCategorical(levels)

    def work() -> object:
        return sf.publish(sf.plan(model, data.n, 1.0, 1e-6, mechanism="diffused"), data)

    return median_seconds(work, draws)


def totals_seconds() -> list[tuple[str, float, str]]:
    """Median times to take the sufficient statistics of ten million records, which are in memory already."""
    import numpy as np

    from sfumato.engines.codes import CodesEngine

    rng = np.random.default_rng(1)
    levels = list(range(50))
    schema = sf.Schema({"x": sf.Category(levels, missing=levels[0]), "y": sf.Number(0, 100)})
    table = {"x": rng.integers(0, 50, 10_000_000), "y": rng.uniform(0, 100, 10_000_000)}
    data = sf.Dataset.from_table(table, schema=schema)
    rows = []
    for model in (sf.families.DirichletCategorical(levels), sf.families.BoundedMean(0, 100)):
        engine = CodesEngine(data, model.columns(schema))
        seconds = median_seconds(lambda m=model, e=engine: e.totals(m.tally), 3)
        rows.append((f"totals of 10,000,000 records, {model.name}", seconds, "aim 1 s"))
    return rows


def queries_seconds() -> list[tuple[str, float, str]]:
    """Median times to answer 10,000 queries with four responses each from 1,000 draws, as products and as a function."""
    import numpy as np

    from sfumato.queries.batches import LinearUtility

    levels = list(range(20))
    data = sf.Dataset.from_table(
        {"x": np.arange(2_000) % 20}, schema=sf.Schema({"x": sf.Category(levels, missing=levels[0])})
    )
    plan = sf.plan(
        sf.families.DirichletCategorical(levels), 2_000, 1.0, 1e-6, mechanism="noisy-statistics", draws=1_000
    )
    release = sf.publish(plan, data)
    rng = np.random.default_rng(1)
    table, cuts = rng.random((10_000, 4, 20)), rng.random(10_000)
    linear = LinearUtility(lambda draws: draws, table)

    def close(draws: Any, candidates: Any, questions: Any) -> Any:
        return 1 - np.abs(draws[:, 0, None] * questions[:, None, None] - candidates)

    prices = np.linspace(0, 1, 4)
    return [
        (
            "10,000 queries against 1,000 draws, linear",
            median_seconds(lambda: release.respond_all(linear, prices), 3),
            "aim 1 s",
        ),
        ("the same, a function", median_seconds(lambda: release.respond_all(close, prices, cuts), 3), "aim 1 s"),
    ]


def main() -> None:
    """Print one line per measurement, with its aim."""
    model = sf.Gibbs(sf.losses.Logistic(radius=2**0.5), sf.priors.Gaussian(precision=32.6), dimension=101)
    share = sf.families.BetaBernoulli(6, 12)
    sizes = iter(range(1_000_000, 2_000_000))  # another n each time: composed distributions are cached
    rows = [
        ("import sfumato", seconds_in_new_process("import sfumato"), ""),
        ("import numpy, for comparison", seconds_in_new_process("import numpy"), ""),
        (
            "Gaussian plan (n = 32,561, d = 101)",
            median_seconds(lambda: sf.plan(model, 32_561, 1.0, 1e-6, mechanism="diffused"), 30),
            "aim 0.005 s",
        ),
        ("Langevin plan", median_seconds(lambda: sf.plan(model, 32_561, 1.0, 1e-6), 30), ""),
        (
            "calibrated Beta-Bernoulli plan, n = 1,000,000",
            median_seconds(lambda: sf.plan(share, 1_000_000, 1.0, 1e-6, mechanism="diffused"), 5),
            "aim 3 s",
        ),
        (
            "the same for 5 draws (composed)",
            median_seconds(lambda: sf.plan(share, next(sizes), 1.0, 1e-6, mechanism="diffused", draws=5), 3),
            "",
        ),
    ]
    rows.append(("Dirichlet of 50 categories, n = 1,000,000: plan, draw", histogram_seconds(), "aim 2 s"))
    rows += totals_seconds()
    rows += queries_seconds()
    rows.append(("charge to a SQLite ledger (durable, median)", charge_seconds(), ""))
    for name, seconds, aim in rows:
        print(f"{name:<54} {seconds:>9.4f} s   {aim}")


if __name__ == "__main__":
    main()
