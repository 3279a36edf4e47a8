"""A count model: how often patients of made-up practices see a doctor in a year, as rate ratios.

Look at the side of 1 on which an interval lies: a ratio of 1.5 means half as many visits again, 0.6 means 40 % fewer. More than
20 visits count as 20, the bound of the schema.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

INSURANCE = ["public", "private", "none"]


def write_table(path: str, n: int) -> None:
    """Write a made-up year of visits, one row per patient; nobody in it exists."""
    rng = np.random.default_rng(6)
    age, chronic = rng.integers(18, 91, n), rng.random(n) < 0.3
    insurance = rng.choice(INSURANCE, n, p=[0.7, 0.2, 0.1])
    rate = np.exp(
        0.9 + 0.008 * (age - 50) + 0.45 * chronic + 0.15 * (insurance == "private") - 0.5 * (insurance == "none")
    )
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "chronic", "insurance", "visits"])
        rows.writerows(zip(age, chronic.astype(int), insurance, rng.poisson(rate), strict=True))


def main(picture: str) -> None:
    """Publish a Poisson regression, ask two questions, and draw the rate ratios."""
    write_table("visits.csv", 12_000)
    columns = {
        "age": sf.Number(18, 90),
        "chronic": sf.Boolean(missing=False),
        "insurance": sf.Category(INSURANCE, reference="public", missing=INSURANCE[0]),
        "visits": sf.Number(0, 20, integer=True),
    }
    schema = sf.Schema(columns, target="visits", name="practices", unit="patient")
    data = sf.Dataset.from_table("visits.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("practices", epsilon=2.0, delta=1e-6, unit="patient")

    model = sf.regression("poisson", schema, ["age", "chronic", "insurance"])
    plan = sf.plan(model, data.n, epsilon=1.0, delta=1e-7, goal="estimate")
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="visits a year")
    print(release.summary(), end="\n\n")
    new = {"age": [30, 70], "chronic": ["no", "yes"], "insurance": ["none", "public"]}  # public, made-up people
    made = release.predict_interval(public_rows=new)
    for middle, low, high in zip(made.estimate, made.lower, made.upper, strict=True):
        print(f"expected visits a year {middle:.2f}, 90 % interval {low:.2f} to {high:.2f}")
    print(ledger.spent("practices"))
    release.save("count_model.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="count_model.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
