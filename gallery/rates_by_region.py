"""Rates by region: the share of smokers in each of eight regions of a made-up health survey.

Look for the width of the intervals: all eight rates cost what one costs, and a small region has a wide interval.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

# Public facts: the regions of the questionnaire. The rates and sizes behind them only serve to make up a table.
REGIONS = {
    "capital": (0.17, 1_900),
    "coast": (0.22, 1_500),
    "hills": (0.29, 700),
    "islands": (0.14, 250),
    "lakes": (0.24, 600),
    "north": (0.31, 1_100),
    "plain": (0.26, 1_400),
    "valley": (0.20, 550),
}


def write_table(path: str) -> None:
    """Write a made-up survey, one row per person; nobody in it exists."""
    rng = np.random.default_rng(1)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["region", "smoker"])
        for region, (rate, size) in REGIONS.items():
            rows.writerows([region, "yes" if yes else "no"] for yes in rng.random(size) < rate)


def main(picture: str) -> None:
    """Publish the eight rates, ask two questions, and draw the rates."""
    write_table("survey.csv")
    schema = sf.Schema(
        {"region": sf.Category(list(REGIONS), missing="capital"), "smoker": sf.Boolean(missing=False)},
        name="survey",
        unit="person",
    )
    data = sf.Dataset.from_table("survey.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("survey", epsilon=2.0, delta=1e-6, unit="person")

    rates = sf.grouped(sf.families.BetaBernoulli(1, 1), by="region", levels=list(REGIONS))
    plan = sf.plan(rates, data.n, epsilon=1.0, delta=1e-7)
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="smokers by region")
    print(release.summary(), end="\n\n")
    print(release.group_sizes(), end="\n\n")
    print(ledger.spent("survey"))
    release.save("rates_by_region.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="rates_by_region.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
