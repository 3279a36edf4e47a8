"""A target of ordered levels by logistic regressions: at the middle cut for the whole price, or at all three for a third each.

    python benchmarks/ordinal_cuts.py            400 runs a cell (about 6 minutes of one core)
    python benchmarks/ordinal_cuts.py 50         fewer runs

Four levels with proportional odds, two numbers, coefficients 1.5 and -0.8 over their ranges. Prints for each way the root mean
square error of the two coefficients, the mean half-width of 90 % intervals and their coverage. The estimate from three cuts is
the mean of the three, and its interval has the means of their ends, which is wide enough however their errors are correlated.
"""

from __future__ import annotations

import sys

import numpy as np

import sfumato as sf

RUNS = 400
# (records, epsilon) of each cell; delta is 1e-6.
CELLS = [(5_000, 1.0), (20_000, 1.0)]
CUTS, EFFECTS = np.array([-1.2, 0.0, 1.2]), np.array([1.5, -0.8])
SCHEMA = sf.Schema(
    {"age": sf.Number(0, 1), "dose": sf.Number(0, 1), "above": sf.Boolean(missing=False)}, target="above"
)


def released(plan: sf.Plan, X: np.ndarray, above: np.ndarray, seed: int) -> np.ndarray:
    """(estimate, lower, upper) of the two coefficients; seeded, because the rows are invented."""
    data = sf.Dataset.from_table({"age": X[:, 0], "dose": X[:, 1], "above": above}, schema=SCHEMA)
    release = sf.publish(plan, data, randomness=sf.seeded(seed))
    places = [release.labels.index("age"), release.labels.index("dose")]
    lower, upper = release.interval()
    return np.array([np.asarray(each)[places] for each in (release.estimate(), lower, upper)])


def run(n: int, plans: list[sf.Plan], seed: int) -> list[np.ndarray]:
    """One data set: the middle cut for the whole price, and the mean of three cuts for a third each."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    levels = ((X - 0.5) @ EFFECTS + rng.logistic(size=n))[:, None] > CUTS
    one = released(plans[0], X, levels[:, 1], seed)
    three = [released(plans[1], X, levels[:, cut], 10_000 * (cut + 1) + seed) for cut in range(3)]
    return [one, np.mean(three, axis=0)]


def main(runs: int) -> None:
    """Print two lines a cell."""
    print(f"{'way':<34} {'rows':>7} {'epsilon':>8} {'error':>7} {'half-width':>11} {'coverage':>9}")
    model = sf.regression("logistic", SCHEMA)
    for n, epsilon in CELLS:
        whole = sf.plan(model, n, epsilon, 1e-6, goal="estimate")
        third = sf.plan(model, n, target=sf.share(whole.guarantee.curve, 3)[0], goal="estimate")
        made = np.array([run(n, [whole, third], seed) for seed in range(runs)])  # (run, way, number, coefficient)
        for way, name in enumerate(("one cut, the whole price", "three cuts, a third of it each")):
            estimate, lower, upper = made[:, way].transpose(1, 0, 2)
            error = np.sqrt(np.mean((estimate - EFFECTS) ** 2))
            held = np.mean((lower <= EFFECTS) & (upper >= EFFECTS))
            print(
                f"{name:<34} {n:>7,} {epsilon:>8g} {error:>7.3f} {np.mean(upper - lower) / 2:>11.3f} {held:>9.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
