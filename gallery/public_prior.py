"""A public prior: last year's published survey sharpens this year's release about a small made-up clinic.

Public records go into the prior, where they cost nothing. Look at the distance between the two lines, largest where the
budget is small; it closes as the budget grows.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

N, PRICES = 800, [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]


def write_table(path: str) -> None:
    """Write made-up patients of this year; nobody in it exists."""
    rng = np.random.default_rng(9)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["vaccinated"], *([int(yes)] for yes in rng.random(N) < 0.71)])


def main(picture: str) -> None:
    """Compare prices under a flat and under a public prior, publish under the second, and draw the comparison."""
    write_table("clinic.csv")
    schema = sf.Schema({"vaccinated": sf.Boolean(missing=False)}, name="clinic", unit="patient")
    data = sf.Dataset.from_table("clinic.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("clinic", epsilon=1.0, delta=1e-5, unit="patient")

    published = {"vaccinated": [1] * 136 + [0] * 64}  # last year's survey: 136 of 200, open to all
    flat = sf.families.BetaBernoulli(1, 1)
    informed = flat.with_public(published, schema=schema)
    lists = {
        "flat prior": sf.price_list(flat, data.n, PRICES, delta=1e-6),
        "prior from 200 public records": sf.price_list(informed, data.n, PRICES, delta=1e-6),
    }
    for name, prices in lists.items():
        print(name, prices, sep="\n", end="\n\n")

    plan = sf.plan(informed, data.n, epsilon=0.2, delta=1e-6)
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="share of vaccinated")
    print(release.summary(), end="\n\n")
    print(release.summary(prior=flat), end="\n\n")  # for a reader who does not accept last year's survey
    print(ledger.spent("clinic"))
    release.save("public_prior.sfumato")
    sf.plots.utility_curve(lists).savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="public_prior.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
