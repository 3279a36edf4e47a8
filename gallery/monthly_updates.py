"""Monthly updates: the share of unemployed people in a made-up panel, twelve months under one budget.

The same people are asked every month, so every release is charged to the same name and the budget is shared out in advance.
Look for a change that is larger than the intervals: between neighbouring months there is none, over the year there is one.
"""

from __future__ import annotations

import argparse
import csv
import os

import numpy as np

import sfumato as sf

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def write_tables(folder: str, n: int) -> None:
    """Write a made-up panel, one file a month and one row per person; nobody in it exists."""
    rng = np.random.default_rng(10)
    os.makedirs(folder, exist_ok=True)
    luck = rng.random(n)  # the same people, most of whom keep their answer
    for k, month in enumerate(MONTHS):
        rate = 0.052 + 0.032 / (1 + np.exp(6 - k)) + 0.004 * np.cos(2 * np.pi * k / 12)
        moved = rng.random(n) < 0.1
        luck = np.where(moved, rng.random(n), luck)
        with open(f"{folder}/{month}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["unemployed"], *([int(yes)] for yes in luck < rate)])


def main(picture: str) -> None:
    """Publish one rate a month, ask two questions, and draw the year."""
    write_tables("panel", 6_000)
    schema = sf.Schema({"unemployed": sf.Boolean(missing=False)}, name="panel", unit="person")
    ledger = sf.Ledger.open("budget.db")
    ledger.register("panel", epsilon=1.0, delta=1e-6, unit="person")

    # Twelve releases at epsilon 0.26 cost 1 together, not 3.12: squares of mu add, not epsilons.
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 6_000, epsilon=0.26, delta=1e-6, mechanism="noisy-statistics")
    print(plan, end="\n\n")
    releases = {}
    for month in MONTHS:
        data = sf.Dataset.from_table(f"panel/{month}.csv", schema=schema)
        releases[month] = sf.publish(plan, data, ledger, request_id=f"unemployed, {month}")
    rates = {month: (*each.interval(0.9), each.estimate()) for month, each in releases.items()}
    for month, (low, high, middle) in rates.items():
        print(f"{month}: {middle:.1%}, 90 % interval {low:.1%} to {high:.1%}")
    print(f"from January to December: {rates['Dec'][2] - rates['Jan'][2]:+.1%}", end="\n\n")
    print(ledger.spent("panel"))
    requests = [entry.request_id for entry in ledger.history("panel") if entry.kind == "charge"]
    print(f"{len(requests)} requests, from '{requests[0]}' to '{requests[-1]}'")
    releases["Dec"].save("monthly_updates.sfumato")
    sf.plots.over_time(releases).savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="monthly_updates.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
