"""How often 90 % intervals of means by group hold the mean: five laws of the values, sizes, prices and numbers of groups.

    python benchmarks/group_coverage.py                # about 2,000 intervals a case
    python benchmarks/group_coverage.py --intervals 400

Each record falls into one of the groups at random; the totals of every group get the noise that a plan has at this epsilon and
delta 1e-6, and intervals are read from them as from a release. Of 100 groups the first ten are taken. Nothing is private here.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import sfumato as sf
from sfumato.queries.statistics import bounded_means
from sfumato.queries.statistics.protocol import Numbers, Released

SIZES, EPSILONS, GROUPS = (200, 2_000, 50_000), (0.1, 1.0, 3.0), (2, 10, 100)
# Laws of values between the bounds 0 and 1, with their means.
LAWS = {
    "even": (lambda rng, size: rng.random(size), 0.5),
    "skewed": (lambda rng, size: rng.beta(2, 8, size), 0.2),
    "two values": (lambda rng, size: (rng.random(size) < 0.3) * 1.0, 0.3),
    "low": (lambda rng, size: 0.02 + 0.02 * rng.random(size), 0.03),
    "narrow": (lambda rng, size: 0.4 + 0.05 * rng.random(size), 0.425),
}


def measured(law: str, n: int, noise: float, groups: int, intervals: int) -> tuple[float, float]:
    """The share of intervals that hold the mean, and their mean width."""
    rng, (draw, mean) = np.random.default_rng([n, groups, round(10 * noise)]), LAWS[law]
    own = sf.families.BoundedMean(0, 1)
    model = sf.grouped(own, "g", list(range(groups)))
    held, widths = [], []
    while len(held) < intervals:
        group, x = rng.integers(0, groups, n), draw(rng, n) - 0.5
        sums = [np.bincount(group, weights, minlength=groups) for weights in (np.ones(n), x, x * x - 0.125)]
        sums[0] *= float(own.presence)
        rows = np.array(sums).T + noise * rng.standard_normal((groups, 3))
        released = Released(n, Numbers(1.0, 1.0, noise), np.empty((0, 0)), rows.ravel())
        for each in bounded_means.group_totals(model, released)[:10]:
            low, high = each.ends(0.9, True)
            held.append(low <= mean <= high)
            widths.append(high - low)
    return float(np.mean(held)), float(np.mean(widths))


def main() -> None:
    """Print one line a case: the coverage for each law, and the mean width of the first."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--intervals", type=int, default=2_000, help="intervals behind each share")
    intervals = parser.parse_args().intervals
    noises = {
        epsilon: float(sf.plan(sf.families.BoundedMean(0, 1), 100, epsilon, 1e-6, goal="estimate")["noise"])
        for epsilon in EPSILONS
    }
    print(f"| records | groups | epsilon | {' | '.join(LAWS)} | width, even |")
    print("|" + "---|" * (len(LAWS) + 4))
    for n in SIZES:
        for groups in GROUPS:
            for epsilon, noise in noises.items():
                cells = [measured(law, n, noise, groups, intervals) for law in LAWS]
                shares = " | ".join(f"{share:.3f}".lstrip("0") for share, _ in cells)
                print(f"| {n:,} | {groups} | {epsilon:g} | {shares} | {cells[0][1]:.3g} |", flush=True)
    print(
        f"\nThe standard error of a share of .9 is {math.sqrt(0.09 / intervals):.4f} or more: groups share a data set."
    )


if __name__ == "__main__":
    main()
