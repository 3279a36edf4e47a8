"""`python benchmarks/adult_network.py`: synthetic tables of UCI Adult from a private tree, against noisy statistics.

A tree over 8 columns under a public schema, epsilon = 1, delta = 1e-6. Printed is the mean total variation between the data's
shares and the release's, over all 8 single columns and all 28 pairs of columns, averaged over 20 releases: of the released
tables themselves (sums over the network) and of a synthetic table with as many rows as the data.

The data is looked for in $SFUMATO_DATA, then in ../shared/data: adult.data.gz, or adult.data as UCI gives it.
"""

from __future__ import annotations

import gzip
import itertools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf


def words(text: str) -> list[str]:
    """Words that stand between bars."""
    return text.split("|")


RUNS = 20
NAMES = words(
    "age|workclass|fnlwgt|education|education-num|marital-status|occupation|relationship|race|sex|capital-gain|"
    "capital-loss|hours-per-week|native-country|income"
)

# Levels as the data's code book lists them; bounds and bins are round numbers.
SCHEMA = sf.Schema(
    {
        "age": sf.Number(17, 90, integer=True),
        "education": sf.Category(
            words(
                "Preschool|1st-4th|5th-6th|7th-8th|9th|10th|11th|12th|HS-grad|Some-college|Assoc-voc|Assoc-acdm|"
                "Bachelors|Masters|Prof-school|Doctorate"
            ),
            missing="Preschool",
        ),
        "marital-status": sf.Category(
            words(
                "Never-married|Married-civ-spouse|Divorced|Separated|Widowed|Married-spouse-absent|Married-AF-spouse"
            ),
            missing="Never-married",
        ),
        "occupation": sf.Category(
            words(
                "?|Tech-support|Craft-repair|Other-service|Sales|Exec-managerial|Prof-specialty|Handlers-cleaners|"
                "Machine-op-inspct|Adm-clerical|Farming-fishing|Transport-moving|Priv-house-serv|Protective-serv|"
                "Armed-Forces"
            ),
            missing="?",
        ),
        "relationship": sf.Category(
            words("Not-in-family|Husband|Wife|Own-child|Other-relative|Unmarried"), missing="Not-in-family"
        ),
        "sex": sf.Category(["Female", "Male"], missing="Female"),
        "hours-per-week": sf.Number(1, 99, integer=True),
        "income": sf.Category(["<=50K", ">50K"], missing="<=50K"),
    },
    name="adult",
    unit="person",
)
# The tree was drawn by hand from what the columns mean, not from the rows.
PARENTS = {
    "marital-status": [],
    "relationship": ["marital-status"],
    "sex": ["relationship"],
    "age": ["marital-status"],
    "income": ["relationship"],
    "education": ["income"],
    "occupation": ["education"],
    "hours-per-week": ["occupation"],
}
BINS = {"age": [17, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 90], "hours-per-week": [1, 20, 35, 40, 41, 50, 60, 99]}


def folders() -> Iterator[Path]:
    """Where the data may be."""
    if "SFUMATO_DATA" in os.environ:
        yield Path(os.environ["SFUMATO_DATA"])
    yield Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def adult() -> dict[str, list[str]]:
    """The training rows, as texts."""
    for folder in folders():
        for name, opened in (("adult.data.gz", gzip.open), ("adult.data", open)):
            if (folder / name).exists():
                with opened(folder / name, "rt") as file:
                    rows = [line.strip().split(", ") for line in file if line.strip()]
                return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    sys.exit(
        "adult.data is in neither $SFUMATO_DATA nor ../shared/data: download it from archive.ics.uci.edu/dataset/2/adult"
    )


def codes(name: str, values: Any) -> np.ndarray:
    """Positions of levels or bins."""
    column = SCHEMA.columns[name]
    if isinstance(column, sf.Category):
        place = {level: k for k, level in enumerate(column.levels)}
        return np.array([place[str(value)] for value in values])
    return np.searchsorted(np.array(BINS[name][1:-1]), np.asarray(values, dtype=float), side="right")


def size(name: str) -> int:
    """Number of levels or bins."""
    column = SCHEMA.columns[name]
    return len(column.levels) if isinstance(column, sf.Category) else len(BINS[name]) - 1


def shares(table: dict[str, Any]) -> dict[tuple[str, ...], np.ndarray]:
    """Shares of every column and of every pair of columns."""
    coded = {name: codes(name, table[name]) for name in PARENTS}
    found = {}
    for columns in asked():
        place = np.zeros(len(coded[columns[0]]), dtype=int)
        for name in columns:
            place = place * size(name) + coded[name]
        counts = np.bincount(place, minlength=int(np.prod([size(name) for name in columns])))
        found[columns] = counts.reshape([size(name) for name in columns]) / counts.sum()
    return found


def asked() -> list[tuple[str, ...]]:
    """All single columns and all pairs."""
    return [(name,) for name in PARENTS] + list(itertools.combinations(PARENTS, 2))


def errors(found: dict[tuple[str, ...], np.ndarray], truth: dict[tuple[str, ...], np.ndarray]) -> list[float]:
    """Mean total variation over single columns, and over pairs."""
    gaps = {columns: 0.5 * np.abs(found[columns] - truth[columns]).sum() for columns in truth}
    return [float(np.mean([gap for columns, gap in gaps.items() if len(columns) == k])) for k in (1, 2)]


def judged(release: sf.Release, truth: dict[tuple[str, ...], np.ndarray], rows: int, seed: int) -> list[float]:
    """Errors of the released tables, then of a synthetic table."""
    exact = {columns: release.marginal(columns).values for columns in truth}
    return errors(exact, truth) + errors(shares(release.synthesize(rows, seed)), truth)


def main() -> None:
    """Print the table."""
    table = adult()
    data, truth = sf.Dataset.from_table(table, schema=SCHEMA), shares(table)
    models = {
        alpha: sf.networks.BayesianNetwork.from_schema(SCHEMA, PARENTS, BINS, alpha=alpha)
        for alpha in (1.0, "balanced")
    }
    print(
        f"Adult, n = {data.n:,}; 8 columns, {len(models[1.0].labels)} cells; epsilon 1, delta 1e-6; {RUNS} releases each.\n"
    )
    print("| mechanism | alpha | draws | tables: 1-way | tables: 2-way | synthetic: 1-way | synthetic: 2-way |")
    print("|---|---|---|---|---|---|---|")
    cases = [
        ("noisy-statistics", 1.0, 1), ("diffused", 1.0, 1), ("concentrated", 1.0, 1), ("concentrated", "balanced", 1),
        ("auto", 1.0, 1), ("noisy-statistics", 1.0, 10), ("concentrated", "balanced", 10),
    ]  # fmt: skip
    for mechanism, alpha, draws in cases:
        start = time.perf_counter()
        plan = sf.plan(models[alpha], data.n, 1.0, 1e-6, mechanism=mechanism, draws=draws)
        found = [judged(sf.publish(plan, data), truth, data.n, seed) for seed in range(RUNS)]
        label = mechanism if mechanism != "auto" else f"auto (takes {plan.mechanism})"
        numbers = " | ".join(f"{value:.4f}" for value in np.mean(found, axis=0))
        spread = np.std(found, axis=0, ddof=1).max() / RUNS**0.5
        print(f"| {label} | {alpha} | {draws} | {numbers} |", flush=True)
        print(f"{label}: standard error at most {spread:.4f}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    free = sf.plan(models[1.0], data.n, mechanism="exact", draws=1)
    found = [judged(sf.publish(free, data), truth, data.n, seed) for seed in range(5)]
    numbers = " | ".join(f"{value:.4f}" for value in np.mean(found, axis=0))
    print(f"| exact (the true posterior, no target; 5 releases) | 1.0 | 1 | {numbers} |")


if __name__ == "__main__":
    main()
