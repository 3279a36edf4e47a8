"""A synthetic table of a survey: seven columns of a made-up health survey, with dates and missing answers, no network drawn.

Look at the line `tables` of the plan: how exactly the count of one cell will be known. The synthetic table has the columns, types
and bounds of the survey, and no child in it is married, because that was declared impossible.
"""

from __future__ import annotations

import argparse
import csv
from datetime import date, timedelta

import numpy as np

import sfumato as sf

COLUMNS = {
    "age": sf.Number(0, 99, integer=True),
    "marital": sf.Category(["single", "married", "widowed"], missing="single"),
    "income": sf.Number(0, 150_000, integer=True),
    "children": sf.Number(0, 8, integer=True),
    "smoker": sf.Boolean(missing=False),
    "interview": sf.Date("2023-01-01", "2024-12-31"),
    "ill": sf.Boolean(missing=False),
}
AGES, INCOMES = [0, 18, 30, 45, 65, 99], [0, 1, 10_000, 20_000, 35_000, 60_000, 150_000]


def write_table(path: str, n: int) -> None:
    """Write a made-up survey of n people, a tenth of whom leave their income out; nobody in it exists."""
    rng = np.random.default_rng(8)
    age = rng.integers(0, 100, n)
    marital = np.where(
        age < 18, 0, np.where(age > 70, rng.choice(3, n, p=[0.1, 0.5, 0.4]), rng.choice(2, n, p=[0.4, 0.6]))
    )
    earned = np.where(age < 18, 0.0, rng.gamma(2.5, 9_000 + 200 * np.minimum(age, 60))).clip(0, 150_000)
    children = np.where(age < 20, 0, rng.poisson(0.6 + 0.9 * (marital > 0))).clip(0, 8)
    smoker = (age > 15) & (rng.random(n) < 0.35 - 0.003 * age)
    days = [date(2023, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 731, n)]
    ill = rng.random(n) < 0.03 + 0.004 * age + 0.15 * smoker
    income = ["" if hidden else f"{value:.0f}" for hidden, value in zip(rng.random(n) < 0.1, earned, strict=True)]
    words = np.array(COLUMNS["marital"].levels)[marital]
    rows = zip(age, words, income, children, smoker, days, ill, strict=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(COLUMNS), *rows])


def main(picture: str) -> None:
    """Publish the learnt table, ask two questions, write a synthetic table, and draw the release."""
    write_table("health.csv", 20_000)
    schema = sf.Schema(COLUMNS, name="health", unit="person")
    data = sf.Dataset.from_table("health.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("health", epsilon=2.0, delta=1e-6, unit="person")

    model = sf.networks.learn(
        schema,
        bins={"age": AGES, "income": INCOMES, "interview": 8},
        target="ill",
        missing=["income"],
        impossible=[{"age": "< 18", "marital": ["married", "widowed"]}],
    )
    plan = sf.plan(model, data.n, epsilon=1.0, delta=1e-7)
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="synthetic table of the health survey")
    print(release.promise, end="\n\n")
    print(release.conditional("ill", "smoker", interval=0.9), end="\n\n")
    print(release.marginal("income", interval=0.9), end="\n\n")
    synthetic = release.synthesize(20_000, to="arrow")
    with open("synthetic.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([synthetic.column_names, *zip(*synthetic.to_pydict().values(), strict=True)])
    print(synthetic.slice(0, 3).to_pylist(), end="\n\n")
    print(ledger.spent("health"))
    release.save("synthetic_table.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="synthetic_table.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
