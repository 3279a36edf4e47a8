"""A mean with bounds that nobody knew: the income of made-up households, by type.

The bounds are private quantiles of the incomes, a release of their own that is paid for. Look for the bounds beside the
means: a value beyond them counts as the bound, so each mean is that of the clipped incomes.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

TYPES = {
    "single": (28_000, 2_600),
    "couple": (46_000, 2_300),
    "family": (52_000, 2_100),
    "lone parent": (24_000, 1_000),
}


def write_table(path: str) -> None:
    """Write made-up households with skewed incomes in euros a year; nobody in it exists."""
    rng = np.random.default_rng(3)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["type", "income in euros"])
        for kind, (middle, size) in TYPES.items():
            rows.writerows([kind, round(income)] for income in middle * rng.lognormal(0, 0.5, size))


def main(picture: str) -> None:
    """Buy bounds, publish a mean for each type of household, ask two questions, and draw the means."""
    write_table("households.csv")
    # Far too wide on purpose: anything from 0 to a billion. A missing income counts as 0.
    wide = sf.Schema(
        {"type": sf.Category(list(TYPES), missing="single"), "income in euros": sf.Number(0, 1e9, missing=0)},
        name="households",
        unit="household",
    )
    data = sf.Dataset.from_table("households.csv", schema=wide)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("households", epsilon=2.0, delta=1e-6, unit="household")

    print(sf.plan_bounds(wide, data.n, epsilon=0.5), end="\n\n")
    proposed = sf.private_bounds(data, epsilon=0.5, ledger=ledger)
    print(proposed, end="\n\n")
    data = sf.Dataset.from_table("households.csv", schema=proposed.schema)
    income = proposed.schema.columns["income in euros"]
    means = sf.grouped(sf.families.BoundedMean(income.lower, income.upper), by="type", levels=list(TYPES))
    plan = sf.plan(means, data.n, epsilon=1.0, delta=1e-7, goal="estimate")
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="mean income by type")
    print(release.summary(), end="\n\n")
    print(ledger.spent("households"))
    release.save("mean_with_bounds.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="mean_with_bounds.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
