"""`make bench-quick`: import cost and planning times, medians of repeated runs. Times are printed, not judged."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

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
    rows.append(("charge to a SQLite ledger (durable, median)", charge_seconds(), ""))
    for name, seconds, aim in rows:
        print(f"{name:<48} {seconds:>9.4f} s   {aim}")


if __name__ == "__main__":
    main()
