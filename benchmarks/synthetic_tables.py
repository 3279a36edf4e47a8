"""Tables of the benchmark of synthetic tables: public schemas and bins, rows to fit, rows held out, and a target column.

UCI Adult with 8 and with all 15 columns (adult.data to fit, adult.test held out), UCI Abalone and a generated table (a third
held out), and a generated survey of 30 columns of mixed types with missing values, for speed. Levels and bounds are those of
the code books, edges are round numbers; none was read from the rows. Files are looked for as tables.py does.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import adult_network
import sfumato as sf
from adult_network import words
from tables import lines, split

Codes = NDArray[np.int64]
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Table:
    """Rows under a public schema; a row is positive where the code of its target is at least `positive`.

    optional: the columns that may be missing; a missing cell has a code of its own, the last.
    """

    name: str
    schema: sf.Schema
    bins: dict[str, list[Any]]
    fit: Columns
    held: Columns
    target: str
    positive: int = 1
    optional: tuple[str, ...] = ()

    @cached_property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.schema.columns)

    @cached_property
    def sizes(self) -> list[int]:
        """Number of codes of every column."""
        return [self._known(name) + (name in self.optional) for name in self.names]

    @property
    def unordered(self) -> list[bool]:
        """Whether a column's codes have no order, by column."""
        return [name not in self.bins for name in self.names]

    def _known(self, name: str) -> int:
        levels = self.schema.columns[name].levels
        return len(self.bins[name]) - 1 if levels is None else len(levels)

    def codes(self, columns: Mapping[str, Any]) -> Codes:
        """Positions of levels or bins (rows, columns); the same for real and for synthetic rows."""
        return np.column_stack([self._coded(name, columns[name]) for name in self.names])

    def _coded(self, name: str, values: Any) -> Codes:
        column, coded = self.schema.columns[name], np.full(len(values), self._known(name), dtype=np.int64)
        cells = [value.item() if isinstance(value, np.generic) else value for value in values]
        there = np.array([not is_missing(cell) for cell in cells], dtype=bool)
        if not there.all() and name not in self.optional:
            raise ValueError(f"{self.name}: column {name} has a missing cell")
        cells = [cell for cell, known in zip(cells, there, strict=True) if known]
        if column.levels is not None:
            place = {str(level): code for code, level in enumerate(column.levels)}
            coded[there] = [place[str(cell)] for cell in cells]
            return coded
        inner = [column.edge(edge) for edge in self.bins[name][1:-1]]
        coded[there] = np.searchsorted(inner, [float(column.edge(cell)) for cell in cells], side="right")
        return coded


def is_missing(cell: Any) -> bool:
    """None, NaN and NaT."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell)) or str(cell) == "NaT"


def rounds(*edges: float) -> list[float]:
    """Edges, written in one line."""
    return list(edges)


# --- UCI Adult --------------------------------------------------------------------------------------------------------


def adult_rows(name: str) -> Columns:
    """The 15 columns of a file, as texts."""
    rows = [cells for cells in lines(name) if len(cells) == len(adult_network.NAMES)]
    return dict(zip(adult_network.NAMES, map(list, zip(*rows, strict=True)), strict=True))


def adult_of(name: str, schema: sf.Schema, bins: dict[str, list[Any]]) -> Table:
    """Adult under one of two schemas; the target is the income."""
    return Table(name, schema, bins, adult_rows("adult.data"), adult_rows("adult.test"), "income")


def adult8() -> Table:
    """Eight columns, as benchmarks/adult_network.py has them."""
    return adult_of("adult8", adult_network.SCHEMA, dict(adult_network.BINS))


COUNTRIES = words(
    "?|United-States|Cambodia|England|Puerto-Rico|Canada|Germany|Outlying-US(Guam-USVI-etc)|India|Japan|Greece|South|China|"
    "Cuba|Iran|Honduras|Philippines|Italy|Poland|Jamaica|Vietnam|Mexico|Portugal|Ireland|France|Dominican-Republic|Laos|"
    "Ecuador|Taiwan|Haiti|Columbia|Hungary|Guatemala|Nicaragua|Scotland|Thailand|Yugoslavia|El-Salvador|Trinadad&Tobago|"
    "Peru|Hong|Holand-Netherlands"
)
WORK = words("?|Private|Self-emp-not-inc|Self-emp-inc|Federal-gov|Local-gov|State-gov|Without-pay|Never-worked")
RACES = words("White|Asian-Pac-Islander|Amer-Indian-Eskimo|Other|Black")
# Years of education are 1 to 16, one level each; a gain or loss of 0 is a bin of its own.
ADULT_BINS: dict[str, list[Any]] = {
    **adult_network.BINS,
    "fnlwgt": rounds(0, 50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 400_000, 500_000, 1_500_000),
    "capital-gain": rounds(0, 1, 1_000, 2_000, 3_000, 4_000, 5_000, 7_500, 10_000, 20_000, 50_000, 99_999),
    "capital-loss": rounds(0, 1, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 5_000),
}


def adult15() -> Table:
    """All columns, in the file's order."""
    columns = {
        **adult_network.SCHEMA.columns,
        "workclass": sf.Category(WORK, missing=WORK[0]),
        "fnlwgt": sf.Number(0, 1_500_000, integer=True),
        "education-num": sf.Category(list(range(1, 17)), missing=1),
        "race": sf.Category(RACES, missing=RACES[0]),
        "capital-gain": sf.Number(0, 99_999, integer=True),
        "capital-loss": sf.Number(0, 5_000, integer=True),
        "native-country": sf.Category(COUNTRIES, missing=COUNTRIES[0]),
    }
    ordered = {name: columns[name] for name in adult_network.NAMES}
    return adult_of("adult15", sf.Schema(ordered, name="adult", unit="person"), ADULT_BINS)


# --- the others: a third is held out ----------------------------------------------------------------------------------


def halves(columns: Columns) -> tuple[Columns, Columns]:
    """Rows to fit and a third held out, by a fixed seed."""
    n = len(next(iter(columns.values())))
    fit, held = split(n, n // 3, 0)
    return tuple({name: [values[k] for k in kept] for name, values in columns.items()} for kept in (fit, held))  # type: ignore[return-value]


# Lengths are millimetres / 200 and weights grams / 200, as abalone.names says; means and deviations are printed there.
ABALONE_BINS: dict[str, list[Any]] = {
    "length": rounds(0, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 1),
    "diameter": rounds(0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 1),
    "height": rounds(0, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 1.2),
    "whole": rounds(0, 0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3),
    "shucked": rounds(0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.5),
    "viscera": rounds(0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 1),
    "shell": rounds(0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 1.2),
    "rings": rounds(1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 20, 30),
}


def abalone() -> Table:
    """UCI Abalone, 9 strongly correlated columns; positive are ten rings or more."""
    columns: dict[str, Any] = {"sex": sf.Category(["M", "F", "I"], missing="M")}
    for name, edges in ABALONE_BINS.items():
        columns[name] = sf.Number(edges[0], edges[-1], integer=name == "rings")
    rows = dict(zip(columns, map(list, zip(*lines("abalone.data"), strict=True)), strict=True))
    fit, held = halves(rows)
    schema = sf.Schema(columns, name="abalone", unit="animal")
    return Table("abalone", schema, ABALONE_BINS, fit, held, "rings", ABALONE_BINS["rings"].index(10))


LATENT_SIZES = (2, 3, 4, 5, 6, 3, 4, 2)


def latent() -> Table:
    """12 columns, 20,000 rows to fit: eight given a latent class of 6, two coins, their parity, and a target of interactions.

    The parity equals the exclusive or of the coins in 9 of 10 rows, and every pair among the three is independent: what is
    measured on pairs alone cannot show it.
    """
    draws, n = np.random.default_rng(21), 30_000
    group = draws.choice(6, size=n, p=[0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
    parts = []
    for size in LATENT_SIZES:
        shares = draws.dirichlet(np.full(size, 0.6), size=6)
        parts.append((draws.random(n)[:, None] > np.cumsum(shares, axis=1)[group][:, :-1]).sum(axis=1))
    coins = draws.integers(0, 2, size=(2, n))
    parity = coins[0] ^ coins[1] ^ (draws.random(n) < 0.1)
    logits = 1.2 * (parts[0] == parts[7]) - 0.5 * parts[1] + 0.4 * parts[4] * (parts[2] > 1) + 1.5 * parity - 1.5
    label = draws.random(n) < 1 / (1 + np.exp(-logits))
    cells = {f"part{j}": part for j, part in enumerate(parts)}
    cells |= {"coin0": coins[0], "coin1": coins[1], "parity": parity, "label": label}
    columns = {name: [f"l{int(code)}" for code in codes] for name, codes in cells.items()}
    sizes = dict(zip(columns, (*LATENT_SIZES, 2, 2, 2, 2), strict=True))
    schema = sf.Schema(
        {name: sf.Category([f"l{code}" for code in range(size)], missing="l0") for name, size in sizes.items()},
        name="latent",
        unit="person",
    )
    return Table("latent", schema, {}, *halves(columns), "label")


def survey() -> Table:
    """30 columns, 20,000 rows to fit: 10 numbers, 6 whole numbers, 4 dates, 10 categories; cells are missing in half of them."""
    draws, n = np.random.default_rng(30), 30_000
    trait = draws.normal(size=(n, 3))
    columns: dict[str, Any] = {}
    bins: dict[str, list[Any]] = {}
    rows: Columns = {}

    def score() -> NDArray[np.float64]:
        """A column between 0 and 1 that depends on the three traits."""
        return 1 / (1 + np.exp(-(trait @ draws.normal(size=3)) - draws.normal(scale=0.7, size=n)))

    for j in range(10):
        columns[f"number{j}"], bins[f"number{j}"] = sf.Number(0, 100), [10.0 * k for k in range(11)]
        rows[f"number{j}"] = [float(each) for each in 100 * score()]
    for j in range(6):
        columns[f"count{j}"], bins[f"count{j}"] = sf.Number(0, 40, integer=True), [0, 1, 2, 3, 5, 10, 20, 40]
        rows[f"count{j}"] = [int(each) for each in np.minimum(draws.poisson(12 * score()), 40)]
    first = datetime.date(2020, 1, 1)
    for j in range(4):
        columns[f"date{j}"] = sf.Date("2020-01-01", "2024-12-31")
        bins[f"date{j}"] = [f"{2020 + k // 2}-{'07' if k % 2 else '01'}-01" for k in range(10)] + ["2024-12-31"]
        rows[f"date{j}"] = [first + datetime.timedelta(days=int(1826 * each)) for each in score()]
    for j in range(10):
        size = 2 + j
        levels = [f"level{k}" for k in range(size)]
        columns[f"choice{j}"] = sf.Category(levels, missing=levels[0])
        rows[f"choice{j}"] = [levels[min(int(size * each), size - 1)] for each in score()]
    optional = tuple(name for place, name in enumerate(columns) if place % 2)
    for name in optional:
        lost = draws.random(n) < 0.08
        rows[name] = [None if gone else cell for gone, cell in zip(lost, rows[name], strict=True)]
    schema = sf.Schema(columns, name="survey", unit="person")
    return Table("survey", schema, bins, *halves(rows), "choice0", optional=optional)


TABLES: dict[str, Callable[[], Table]] = {
    "adult8": adult8,
    "adult15": adult15,
    "latent": latent,
    "abalone": abalone,
    "survey": survey,
}
