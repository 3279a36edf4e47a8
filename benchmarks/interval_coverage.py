"""Coverage of 90 % intervals beside naive ones: the truth from the prior, the real plan, the real sampler.

    python benchmarks/interval_coverage.py [runs]

A naive interval takes the mean of the draws as if the rows had said it. Prints the table of docs/benchmarks/coverage.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import coverage_cases


def main() -> None:
    """Print one row per family, n, epsilon and number of draws."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"90 % intervals, delta = 1e-6, {runs} data sets a row (500 at most for n = 10,000)\n")
    print("| family | n | epsilon | draws | mechanism | covered | naive |")
    print("|---|---|---|---|---|---|---|")
    for name, model in coverage_cases.MODELS.items():
        for n in (100, 1000, 10_000):
            for epsilon in (0.1, 1.0):
                for draws in (1, 10):
                    count = min(runs, 500) if n == 10_000 else runs
                    plan, aware, plain = coverage_cases.places(model, n, epsilon, draws, count)
                    shares = f"{coverage_cases.coverage(aware):.3f} | {coverage_cases.coverage(plain):.3f}"
                    print(f"| {name} | {n:,} | {epsilon:g} | {draws} | {plan.mechanism} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
