"""A logistic regression: who has hypertension in a made-up survey, with odds ratios.

Look at which intervals leave out 1, the odds ratio of no effect. The picture compares the two bounds of a number (18 and 90
years), the printed summary one unit.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

REGIONS = ["north", "south", "west"]


def write_table(path: str, n: int) -> None:
    """Write a made-up survey of n people; nobody in it exists."""
    rng = np.random.default_rng(5)
    age, bmi = rng.integers(18, 91, n), np.round(rng.normal(26, 4.5, n), 1)
    smoker, region = rng.random(n) < 0.25, rng.choice(REGIONS, n, p=[0.5, 0.35, 0.15])
    score = -0.4 + 0.045 * (age - 55) + 0.08 * (bmi - 26) + 0.6 * smoker - 0.5 * (region == "west")
    ill = rng.random(n) < 1 / (1 + np.exp(-score))
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "bmi", "smoker", "region", "hypertension"])
        rows.writerows(zip(age, bmi, smoker.astype(int), region, ill.astype(int), strict=True))


def main(picture: str) -> None:
    """Publish the regression, ask two questions, and draw the odds ratios."""
    write_table("survey.csv", 12_000)
    columns = {
        "age": sf.Number(18, 90),
        "bmi": sf.Number(15, 45),
        "smoker": sf.Boolean(missing=False),
        "region": sf.Category(REGIONS, reference="north", missing=REGIONS[0]),
        "hypertension": sf.Boolean(missing=False),
    }
    schema = sf.Schema(columns, target="hypertension", name="survey", unit="person")
    data = sf.Dataset.from_table("survey.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("survey", epsilon=2.0, delta=1e-6, unit="person")

    model = sf.regression("logistic", schema, ["age", "bmi", "smoker", "region"])
    plan = sf.plan(model, data.n, epsilon=1.0, delta=1e-7, goal="estimate")
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="who has hypertension")
    print(release.summary(), end="\n\n")
    print(release.contrast({"age": 10}), end="\n\n")  # ten years older
    print(release.contrast({"region=south": 1, "region=west": -1}), end="\n\n")
    print(ledger.spent("survey"))
    release.save("regression.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="regression.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
