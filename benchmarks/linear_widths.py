"""Half-widths of linear regressions against the printed range where nobody declared anything: a line for each of 12 tables.

    python benchmarks/linear_widths.py            10 releases a table
    python benchmarks/linear_widths.py 30         another number

Six tables are generated, three of them with skewed targets; the others are Wine (red and white), Abalone, Adult and Bank
(tables.py says where the files are looked for, and a table that is not there is left out). A line has the share of half-widths
that lie within the range, and the smallest and the largest ratio of the obtained width to the narrow and to the wide end.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

import estimand_tables as made
import sfumato as sf
import tables

DELTA, RELEASES = 1e-6, 10


def simulated(kind: str) -> dict[str, Any]:
    """10,000 rows of two related numbers and a yes or no; errors that are Student's, exponential, or all that there is."""
    rng, n = np.random.default_rng(7), 10_000
    age, flag = rng.uniform(18, 90, n), rng.random(n) < 0.3
    years = np.clip((age - 18) * rng.beta(2, 2, n), 0, 60)
    score = 0.05 * (age - 54) - 0.03 * years + 0.5 * flag
    errors = {"student": rng.standard_t(3, n), "exponential": rng.exponential(2, n) - 2}[kind]
    return {"age": age, "years": years, "flag": flag, "y": np.clip(score + errors, -20, 20)}


def abalone() -> dict[str, Any]:
    """UCI Abalone: how many rings has a shell?"""
    columns = [np.array(column) for column in zip(*tables.lines("abalone.data"), strict=True)]
    return (
        {"sex": columns[0]} | {f"x{j}": columns[j].astype(float) for j in range(1, 8)} | {"y": columns[8].astype(float)}
    )


def adult() -> dict[str, Any]:
    """UCI Adult: how many hours a week does a person work?"""
    columns = [
        np.array(column) for column in zip(*(row for row in tables.lines("adult.data") if len(row) == 15), strict=True)
    ]
    numbers = {"age": 0, "education": 4}
    return {name: columns[j].astype(float) for name, j in numbers.items()} | {
        "sex": columns[9], "marital": columns[5], "y": columns[12].astype(float)
    }  # fmt: skip


def wine(colour: str) -> dict[str, Any]:
    """UCI Wine quality, of one colour."""
    cells = made.wine()
    here = cells.pop("red") == (colour == "red")
    return {name: values[here] for name, values in cells.items()}


def bank() -> dict[str, Any]:
    """UCI Bank marketing: the balance of a client, of which some are very large."""
    cells = made.bank()
    return {name: cells[name] for name in ("age", "day", "marital", "education", "housing", "loan")} | {
        "y": cells["balance"]
    }


_SIMULATED = {
    "age": sf.Number(18, 90),
    "years": sf.Number(0, 60),
    "flag": sf.Boolean(missing=False),
    "y": sf.Number(-20, 20),
}
_WINE = {name: sf.Number(*ends) for name, ends in made.WINE.items()} | {"y": sf.Number(0, 10)}
# Name -> the file that it needs, its columns (None: numbers with the bounds below, levels as they are), and its rows.
TABLES: dict[str, tuple[str | None, dict[str, Any], Any]] = {
    "costs, half of them 0": (None, made.TABLES["costs"].columns, made.costs),
    "prices, skewed": (None, made.TABLES["prices"].columns, made.prices),
    "normal": (None, made.TABLES["normal, linear"].columns, lambda: made.normal("linear")),
    "gamma errors": (None, made.KINDS["linear, rows"].columns, lambda: made.people("linear")),
    "Student errors": (None, _SIMULATED, lambda: simulated("student")),
    "exponential errors": (None, _SIMULATED, lambda: simulated("exponential")),
    "wine, red": ("winequality-red.csv", _WINE, lambda: wine("red")),
    "wine, white": ("winequality-white.csv", _WINE, lambda: wine("white")),
    "both wines": ("winequality-red.csv", made.TABLES["wine"].columns, made.wine),
    "abalone, rings": (
        "abalone.data",
        {"sex": sf.Category(["F", "I", "M"], missing="I"), "y": sf.Number(0, 30)}
        | {f"x{j}": sf.Number(0, 3 if j > 3 else 1.2) for j in range(1, 8)},
        abalone,
    ),
    "adult, hours": (
        "adult.data", {"age": sf.Number(0, 100), "education": sf.Number(0, 16), "y": sf.Number(0, 100)}, adult,
    ),
    "bank, balance": (
        "bank-full.csv", {"age": sf.Number(0, 100), "day": sf.Number(1, 31), "y": sf.Number(-10_000, 105_000)}, bank,
    ),
}  # fmt: skip


@cache
def table(name: str) -> tuple[sf.Schema, dict[str, Any]]:
    """Schema and rows of a table; a column of texts without a declaration is a category of its levels."""
    _, columns, rows = TABLES[name]
    cells = rows()
    whole = {
        each: columns.get(each) or sf.Category(sorted(map(str, np.unique(values)))) for each, values in cells.items()
    }
    return sf.Schema(whole, target="y", name=name), cells


def within(name: str, epsilon: float, releases: int, facts: Any = None) -> tuple[Any, Any, Any]:
    """The narrow and the wide end of the range, and the half-widths of releases on rows drawn with replacement."""
    schema, cells = table(name)
    n = len(cells["y"])
    plan = sf.plan(sf.regression("linear", schema), n, epsilon, DELTA, goal="estimate")
    expected = sf.expected_widths(plan, schema, facts)
    rng, halves = np.random.default_rng(3), []
    for seed in range(releases):
        drawn = rng.integers(n, size=n)
        data = sf.Dataset.from_table({each: values[drawn] for each, values in cells.items()}, schema=schema)
        lower, upper = sf.publish(plan, data, randomness=sf.seeded(seed)).interval()
        halves.append((upper - lower) / 2)
    return expected.half_widths, np.array([expected.widest(each) for each in expected.names]), np.array(halves)


def main(releases: int) -> None:
    """Print a line for every table as soon as it is done."""
    print("table                   rows  epsilon  within the range  obtained/narrow end  obtained/wide end")
    for name, (file, *_) in TABLES.items():
        if file is not None and not tables.is_there(file):
            continue
        for epsilon in (1.0, 3.0):
            narrow, wide, halves = within(name, epsilon, releases)
            inside = ((halves >= narrow) & (halves <= wide)).mean()
            print(
                f"{name:<22} {len(table(name)[1]['y']):>6,}  {epsilon:>7g}  {inside:>16.2f}  {(halves / narrow).min():>9.2f} to "
                f"{(halves / narrow).max():<6.2f}  {(halves / wide).min():>7.2f} to {(halves / wide).max():<5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES)
