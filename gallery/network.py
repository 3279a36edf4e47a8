"""A network and a synthetic table: how five answers of a made-up town survey hang together.

Look at the arrows: each column is described given its parents, and only these links are kept. The synthetic table is drawn
from the released network, so it costs nothing more and may be given to anybody.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

PARENTS = {"quarter": [], "age": ["quarter"], "rents": ["quarter", "age"], "car": ["rents", "age"], "bus": ["car"]}
COLUMNS = {
    "quarter": sf.Category(["centre", "suburb", "village"], missing="centre"),
    "age": sf.Category(["18-39", "40-64", "65+"], missing="18-39"),
    "rents": sf.Boolean(missing=False),
    "car": sf.Boolean(missing=False),
    "bus": sf.Boolean(missing=False),
}


def write_table(path: str, n: int) -> None:
    """Write a made-up survey of n people; nobody in it exists."""
    rng = np.random.default_rng(7)
    quarter = rng.choice(3, n, p=[0.35, 0.45, 0.2])
    age = np.array([rng.choice(3, p=[[0.5, 0.3, 0.2], [0.3, 0.45, 0.25], [0.2, 0.4, 0.4]][q]) for q in quarter])
    rents = rng.random(n) < np.array([0.75, 0.4, 0.2])[quarter] - 0.1 * age
    car = rng.random(n) < 0.75 - 0.35 * rents - 0.1 * (age == 2)
    bus = rng.random(n) < np.where(car, 0.15, 0.7)
    names = [np.array(COLUMNS[name].levels)[code] for name, code in (("quarter", quarter), ("age", age))]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(COLUMNS), *zip(*names, rents, car, bus, strict=True)])


def main(picture: str) -> None:
    """Publish the network, ask two questions, write a synthetic table, and draw the network."""
    write_table("town.csv", 10_000)
    schema = sf.Schema(COLUMNS, name="town", unit="person")
    data = sf.Dataset.from_table("town.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("town", epsilon=2.0, delta=1e-6, unit="person")

    network = sf.networks.BayesianNetwork.from_schema(schema, PARENTS)
    plan = sf.plan(network, data.n, epsilon=1.0, delta=1e-7, mechanism="noisy-statistics")
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="network of the town survey")
    print(release.promise, end="\n\n")
    print(release.conditional("bus", "car", interval=0.9), end="\n\n")
    print(release.marginal(["quarter", "car"]), end="\n\n")
    synthetic = release.synthesize(10_000)
    with open("synthetic.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(synthetic), *zip(*synthetic.values(), strict=True)])
    print(ledger.spent("town"))
    release.save("network.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="network.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
