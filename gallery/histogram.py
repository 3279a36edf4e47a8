"""A histogram of a number: how old the members of a made-up library are.

Look for the three humps: pupils, adults and pensioners. The privacy noise is the same in every bin, so the bins with few
members are known worst in relation to what they hold.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf


def write_table(path: str) -> None:
    """Write a made-up list of members, one row each; nobody in it exists."""
    rng = np.random.default_rng(2)
    pupils, adults, retired = rng.normal(14, 4, 1_100), rng.normal(41, 11, 1_700), rng.normal(67, 7, 1_200)
    ages = np.clip(np.concatenate([pupils, adults, retired]), 6, 99).astype(int)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["age in years"], *([age] for age in rng.permutation(ages))])


def main(picture: str) -> None:
    """Publish the share of members in bins of five years, ask two questions, and draw the bins."""
    write_table("members.csv")
    # Bounds and bins are public: the library lends to children from 5 on, and nobody is counted as older than 95.
    schema = sf.Schema({"age in years": sf.Number(5, 95, integer=True)}, name="members", unit="member")
    data = sf.Dataset.from_table("members.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("members", epsilon=1.0, delta=1e-6, unit="member")

    histogram = sf.families.Histogram(5, 95, width=5, integer=True)
    plan = sf.plan(histogram, data.n, epsilon=0.5, delta=1e-7)
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="ages in bins of five years")
    print(release.histogram("counts"), end="\n\n")
    print(release.histogram().quantile(0.5))
    print(release.histogram().mean(), end="\n\n")
    print(ledger.spent("members"))
    release.save("histogram.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="histogram.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
