"""Lengths of stay: how many days patients of a made-up hospital stay, and how many stay longer than a week.

Look at the long tail. The mean alone hides it, so the release has quartiles and other quantiles, each with an interval.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95]


def write_table(path: str) -> None:
    """Write made-up stays in days, one row per patient; nobody in it exists."""
    rng = np.random.default_rng(4)
    days = np.where(rng.random(5_000) < 0.8, rng.gamma(2.0, 2.2, 5_000), rng.gamma(3.0, 6.0, 5_000))
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["stay in days"], *([f"{day:.1f}"] for day in days)])


def main(picture: str) -> None:
    """Publish quantiles of the stays, ask two questions, and draw them."""
    write_table("stays.csv")
    # After 60 days a patient is moved to another house, by the hospital's own rules.
    schema = sf.Schema({"stay in days": sf.Number(0, 60)}, name="stays", unit="patient")
    data = sf.Dataset.from_table("stays.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("stays", epsilon=2.0, delta=1e-6, unit="patient")

    plan = sf.plan(sf.families.Quantiles.of(schema, LEVELS), data.n, epsilon=0.5, delta=1e-7, goal="estimate")
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="quantiles of the stay")
    print(release.summary(), end="\n\n")
    print(release.column_quantiles([0.99]), end="\n\n")  # another level, at no further price
    print(release.attacker().sentence)
    print(ledger.spent("stays"))
    release.save("lengths_of_stay.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="lengths_of_stay.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
