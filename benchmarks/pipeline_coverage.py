"""A logistic regression behind sf.PublicEncoder, beside `sf.regression` on the same rows: coverage and width of 90 % intervals.

    python benchmarks/pipeline_coverage.py            600 data sets (about 4 minutes of one core)
    python benchmarks/pipeline_coverage.py 50         fewer

5,000 records, epsilon 1; two numbers, a yes or no, two levels and four levels. Coefficients of numbers are over their whole range.
Prints a line for each coefficient: coverage and mean half-width of the pipeline and of `sf.regression`.
"""

from __future__ import annotations

import sys

import numpy as np

import sfumato as sf

RUNS, RECORDS = 600, 5_000
PRICE = {"epsilon": 1.0, "delta": 1e-6}
SCHEMA = sf.Schema(
    {
        "age": sf.Number(18, 90),
        "hours": sf.Number(0, 60),
        "smoker": sf.Boolean(missing=False),
        "sex": sf.Category(["m", "f"], missing="m"),
        "region": sf.Category(["north", "south", "west", "east"], missing="north"),
        "ill": sf.Boolean(missing=False),
    },
    target="ill",
)
# Coefficient of each column of the encoder, and the range of the column that it is over.
EFFECTS = np.array([2.0, -1.0, 0.5, 0.7, -0.4, 0.3, 0.0])
RANGES = np.array([72.0, 60.0, 1.0, 1.0, 1.0, 1.0, 1.0])


def table(rng: np.random.Generator) -> dict[str, list[object]]:
    """Invented records."""
    region = rng.choice(["north", "south", "west", "east"], RECORDS, p=[0.4, 0.3, 0.2, 0.1])
    return {
        "age": rng.uniform(18, 90, RECORDS).tolist(),
        "hours": rng.uniform(0, 60, RECORDS).tolist(),
        "smoker": (rng.random(RECORDS) < 0.3).tolist(),
        "sex": rng.choice(["m", "f"], RECORDS).tolist(),
        "region": region.tolist(),
    }


def ends(release: sf.Release, names: list[str]) -> np.ndarray:
    """Lower and upper ends of the intervals of these coefficients."""
    places = [release.labels.index(name) for name in names]
    return np.array([np.asarray(end)[places] for end in release.interval()])


def run(seed: int, plan: sf.Plan) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of the pipeline and of `sf.regression` for one data set."""
    rng = np.random.default_rng(seed)
    columns = table(rng)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    encoder = sf.PublicEncoder(SCHEMA)
    coded = encoder.fit_transform(rows)
    names = list(encoder.get_feature_names_out())
    ill = (rng.random(RECORDS) < 1 / (1 + np.exp(0.3 - coded @ EFFECTS))).tolist()
    pipe = sf.make_pipeline(encoder, sf.PrivateLogisticRegression(**PRICE)).fit(rows, ill)
    release = sf.publish(plan, sf.Dataset.from_table({**columns, "ill": ill}, schema=SCHEMA))
    return ends(pipe[-1].release_, names), ends(release, names) * RANGES


def main(runs: int) -> None:
    """Print a line for each coefficient, and the mean coverage."""
    plan = sf.plan(sf.regression("logistic", SCHEMA), RECORDS, **PRICE, goal="estimate")
    made = np.array([run(seed, plan) for seed in range(runs)])  # (run, way, end, coefficient)
    held = ((made[:, :, 0] <= EFFECTS) & (made[:, :, 1] >= EFFECTS)).mean(axis=0)
    half = (made[:, :, 1] - made[:, :, 0]).mean(axis=0) / 2
    print(f"{'coefficient':<14} {'pipeline':>9} {'half-width':>11} {'sf.regression':>14} {'half-width':>11}")
    names = ["age", "hours", "smoker", "sex=f", "region=south", "region=west", "region=east"]
    for place, name in enumerate(names):
        print(
            f"{name:<14} {held[0, place]:>9.3f} {half[0, place]:>11.3f} {held[1, place]:>14.3f} {half[1, place]:>11.3f}"
        )
    print(f"{'all':<14} {held[0].mean():>9.3f} {'':>11} {held[1].mean():>14.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
