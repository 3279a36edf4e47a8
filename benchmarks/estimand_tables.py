"""The tables of estimands.py: ten whose rows are records of their own, and one whose rows have survey weights or belong to persons.

Adult, Bank, Magic and Wine are read from files (tables.py says where they are looked for); the others are generated from a fixed
seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import sfumato as sf
import tables

Array = NDArray[np.float64]
Columns = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A kind of regression with its numbers, the schema of the columns, the rows of the population, and what its records are.

    `records` is empty where a row is a record, "persons", or the name of the weights in `WEIGHTS`.
    """

    kind: str
    columns: dict[str, Any]
    rows: Callable[[], Columns]
    numbers: dict[str, float] = field(default_factory=dict)
    records: str = ""

    @property
    def clipped(self) -> bool:
        """Whether a clip is part of the fit that intervals are for: that of linear and count regressions is not."""
        return self.kind not in ("linear", "poisson")

    def model(self, schema: Any) -> Any:
        """The regression; "huber" is the linear one whose target has no declared bounds."""
        if self.kind != "huber":
            return sf.regression(self.kind, schema, **self.numbers)
        model = sf.regression("linear", schema, **self.numbers)
        return replace(model, loss=replace(model.loss, lower=None, upper=None))


def _groups(rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> Any:
    return rng.choice(list("abcdefgh"[: len(shares)]), n, p=shares)


def costs() -> Columns:
    """Costs of 20,000 people, about half of them 0, log-normal otherwise."""
    rng, n = np.random.default_rng(101), 20_000
    age, group, flag = rng.uniform(18, 90, n), _groups(rng, n, (0.5, 0.35, 0.15)), rng.random(n) < 0.3
    some = rng.random(n) < 1 / (1 + np.exp(0.3 - 0.02 * (age - 50) - 0.5 * (group == "b")))
    amount = np.exp(6.3 + 0.018 * (age - 50) + 0.3 * (group == "b") + 0.6 * (group == "c") + 0.9 * rng.normal(size=n))
    return {"age": age, "group": group, "flag": flag, "y": np.where(some, np.minimum(amount, 30_000), 0.0)}


def counts(times: float, shape: float, most: int) -> Columns:
    """Counts of 20,000 people with a rate that is multiplied by a gamma variable of mean 1."""
    rng, n = np.random.default_rng(102), 20_000
    income, age = np.minimum(rng.lognormal(0, 0.8, n), 10), rng.uniform(18, 90, n)
    group, flag = _groups(rng, n, (0.6, 0.3, 0.1)), rng.random(n) < 0.3
    score = -0.2 + 0.012 * (age - 50) + 0.35 * np.log1p(income) - 0.2 * flag + 0.4 * (group == "c")
    rate = times * np.exp(score) * rng.gamma(shape, 1 / shape, n)
    return {"age": age, "income": income, "group": group, "flag": flag, "y": np.minimum(rng.poisson(rate), most)}


def prices() -> Columns:
    """50,000 prices: a power of the size, and three categories whose effects are even from -h to h in logs."""
    rng, n = np.random.default_rng(103), 50_000
    size = np.clip(rng.lognormal(-0.4, 0.5, n), 0.2, 3)
    made: Columns = {"size": size, "width": np.clip(6.5 * size ** (1 / 3) + 0.05 * rng.normal(size=n), 3, 10)}
    made |= {"depth": rng.uniform(50, 70, n), "table": rng.uniform(50, 70, n)}
    log = 8 + 1.7 * np.log(size) + 0.2 * rng.normal(size=n)
    for name, levels, half in (("cut", 5, 0.15), ("colour", 7, 0.25), ("clarity", 8, 0.5)):
        level = rng.integers(levels, size=n)
        log = log + np.linspace(-half, half, levels)[level]
        made[name] = np.array(list("abcdefgh"))[level]
    return made | {"y": np.minimum(np.exp(log), 20_000)}


def normal(kind: str) -> Columns:
    """20,000 normal rows of ten columns, correlations .5^|i - j|, cut at 4 deviations; the model holds."""
    rng, n, d = np.random.default_rng(104), 20_000, 10
    place = np.arange(d)
    root = np.linalg.cholesky(0.5 ** np.abs(place[:, None] - place))
    rows = np.clip(rng.normal(size=(n, d)) @ root.T, -4, 4)
    score = rows @ np.linspace(-1, 1, d)
    made: Columns = {f"x{j}": rows[:, j] for j in range(d)}
    if kind == "linear":
        return made | {"y": np.clip(0.3 + score + 1.5 * rng.normal(size=n), -12, 12)}
    return made | {"y": rng.random(n) < 1 / (1 + np.exp(0.5 - 0.5 * score))}


# Places of the cells, and bounds.
ADULT_NUMBERS = {
    "age": (0, 0, 100),
    "schooling": (4, 0, 16),
    "gain": (10, 0, 99_999),
    "loss": (11, 0, 5_000),
    "hours": (12, 0, 100),
}
ADULT_LEVELS = {"work": 1, "marital": 5, "occupation": 6, "race": 8, "sex": 9}


@cache
def _adult_cells() -> list[NDArray[np.str_]]:
    rows = [cells for name in ("adult.data", "adult.test") for cells in tables.lines(name) if len(cells) == 15]
    return [np.array(column) for column in zip(*rows, strict=True)]


def adult() -> Columns:
    """UCI Adult, both files: does a person earn above 50,000?"""
    cells = _adult_cells()
    made: Columns = {name: cells[place[0]].astype(float) for name, place in ADULT_NUMBERS.items()}
    return made | {name: cells[place] for name, place in ADULT_LEVELS.items()} | {"y": cells[14] == ">50K"}


BANK_NUMBERS = {
    "age": (0, 100),
    "balance": (-10_000, 105_000),
    "day": (1, 31),
    "campaign": (1, 64),
    "previous": (0, 300),
}
BANK_LEVELS = ("job", "marital", "education", "default", "housing", "loan", "contact")


@cache
def _with_names(name: str) -> dict[str, NDArray[np.str_]]:
    import csv
    import gzip

    path = tables.find(name)
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    names, *rows = csv.reader(text.splitlines(), delimiter=";")
    return {each: np.array(column) for each, column in zip(names, zip(*rows, strict=True), strict=True)}


def bank() -> Columns:
    """UCI Bank marketing: does a client subscribe?"""
    cells = _with_names("bank-full.csv")
    made: Columns = {name: cells[name].astype(float) for name in BANK_NUMBERS}
    return made | {name: cells[name] for name in BANK_LEVELS} | {"y": cells["y"] == "yes"}


MAGIC = {
    "length": (0, 350), "width": (0, 260), "size": (1.5, 5.5), "conc": (0, 1), "conc1": (0, 1),
    "asym": (-500, 600), "long": (-350, 350), "trans": (-250, 250), "alpha": (0, 90), "dist": (0, 500),
}  # fmt: skip


def magic() -> Columns:
    """UCI Magic: is a shower a gamma ray's?"""
    cells = list(zip(*tables.lines("magic04.data"), strict=True))
    made: Columns = {name: np.array(cells[place], dtype=float) for place, name in enumerate(MAGIC)}
    return made | {"y": np.array(cells[10]) == "g"}


WINE = {
    "fixed acidity": (3, 16), "volatile acidity": (0, 1.6), "citric acid": (0, 1.7), "residual sugar": (0, 66),
    "chlorides": (0, 0.7), "free sulfur dioxide": (0, 300), "total sulfur dioxide": (0, 450), "density": (0.98, 1.04),
    "pH": (2.7, 4.1), "sulphates": (0.2, 2.0), "alcohol": (8, 15),
}  # fmt: skip


def wine() -> Columns:
    """UCI Wine quality, red and white together."""
    both = [_with_names(f"winequality-{colour}.csv") for colour in ("red", "white")]
    made: Columns = {name: np.concatenate([each[name] for each in both]).astype(float) for name in (*WINE, "quality")}
    made["red"] = np.repeat([True, False], [len(each["pH"]) for each in both])
    return {name: made[name] for name in (*WINE, "red")} | {"y": made["quality"]}


def _numbers(ends: dict[str, Any]) -> Columns:
    return {name: sf.Number(*each[-2:]) for name, each in ends.items()}


_ABC, _FLAG, _AGE = sf.Category(["a", "b", "c"], missing="a"), sf.Boolean(missing=False), sf.Number(18, 90)
_COUNTED = {"age": _AGE, "income": sf.Number(0, 10), "group": _ABC, "flag": _FLAG}
_PRICED = {
    "size": sf.Number(0.2, 3),
    "width": sf.Number(3, 10),
    "depth": sf.Number(50, 70),
    "table": sf.Number(50, 70),
} | {
    name: sf.Category(list("abcdefgh"[:levels]), missing="a")
    for name, levels in (("cut", 5), ("colour", 7), ("clarity", 8))
}
_NORMAL = {f"x{j}": sf.Number(-4, 4) for j in range(10)}
CELLS: dict[str, Callable[[], dict[str, NDArray[np.str_]]]] = {
    "adult": lambda: {name: _adult_cells()[place] for name, place in ADULT_LEVELS.items()},
    "bank": lambda: {name: _with_names("bank-full.csv")[name] for name in BANK_LEVELS},
}


def _from_file(numbers: dict[str, Any], table: str) -> Columns:
    """Numbers with their bounds, and categories of which the most frequent level is the reference."""
    cells = CELLS[table]() if tables.is_there({"adult": "adult.data", "bank": "bank-full.csv"}[table]) else {}
    made = _numbers(numbers)
    for name, column in cells.items():
        levels, times = np.unique(column, return_counts=True)
        made[name] = sf.Category(
            [str(each) for each in levels], missing=str(levels[0]), reference=str(levels[times.argmax()])
        )
    return made


TABLES: dict[str, Table] = {
    "costs": Table("linear", {"age": _AGE, "group": _ABC, "flag": _FLAG, "y": sf.Number(0, 30_000)}, costs),
    "counts": Table("poisson", _COUNTED | {"y": sf.Number(0, 40)}, lambda: counts(1, 2, 40)),
    "heavy counts": Table("poisson", _COUNTED | {"y": sf.Number(0, 60)}, lambda: counts(4, 0.5, 60)),
    "prices": Table("linear", _PRICED | {"y": sf.Number(0, 20_000)}, prices),
    "normal, linear": Table("linear", _NORMAL | {"y": sf.Number(-12, 12)}, lambda: normal("linear")),
    "normal, logistic": Table("logistic", _NORMAL | {"y": _FLAG}, lambda: normal("logistic")),
    "adult": Table("logistic", _from_file(ADULT_NUMBERS, "adult") | {"y": _FLAG}, adult),
    "bank": Table("logistic", _from_file(BANK_NUMBERS, "bank") | {"y": _FLAG}, bank),
    "magic": Table("logistic", _numbers(MAGIC) | {"y": _FLAG}, magic),
    "wine": Table("linear", _numbers(WINE) | {"red": _FLAG, "y": sf.Number(0, 10)}, wine),
}


def people(kind: str) -> Columns:
    """20,000 people; the score has a logarithm of the income, so that a model linear in it holds approximately."""
    rng, n = np.random.default_rng(105), 20_000
    income, age, size = (
        np.minimum(rng.lognormal(0, 0.8, n), 10),
        rng.uniform(18, 90, n),
        np.clip(rng.normal(size=n), -4, 4),
    )
    group, flag, chance = _groups(rng, n, (0.6, 0.3, 0.1)), rng.random(n) < 0.3, rng.random(n)
    score = -0.2 + 0.012 * (age - 50) + 0.35 * np.log1p(income) + 0.4 * size - 0.2 * flag + 0.4 * (group == "c")
    label = {
        "logistic": lambda: chance < 1 / (1 + np.exp(-score)),
        "svm": lambda: chance < 1 / (1 + np.exp(-2 * score)),
        "probit": lambda: chance < ndtr(score),
        "cloglog": lambda: chance < -np.expm1(-np.exp(score - 0.5)),
        "poisson": lambda: np.minimum(rng.poisson(np.exp(score)), 30),
        "linear": lambda: np.clip(score + rng.gamma(2, 0.7, n), -6, 14),
        "huber": lambda: np.clip(score + rng.standard_t(4, n), -10, 10),
        "quantile": lambda: np.clip(score + rng.gamma(2, 0.7, n), -6, 14),
    }
    return {"age": age, "income": income, "size": size, "group": group, "flag": flag, "y": label[kind]()}


def _raked(rng: np.random.Generator, columns: Columns) -> Array:
    """Weights by which the margins of group and flag are those of a population."""
    weights = np.ones(len(columns["y"]))
    for _ in range(50):
        for name, margin in (("group", {"a": 0.48, "b": 0.32, "c": 0.2}), ("flag", {True: 0.45, False: 0.55})):
            for level, share in margin.items():
                at = columns[name] == level
                weights[at] *= share * weights.sum() / weights[at].sum()
    return weights * len(weights) / weights.sum()


# Weights of the rows, and the largest one that counts.
WEIGHTS: dict[str, tuple[Callable[[np.random.Generator, Columns], Array], float]] = {
    "equal weights": (lambda rng, columns: np.full(len(columns["y"]), 3.0), 6.0),
    "drawn weights": (lambda rng, columns: np.clip(rng.gamma(2, 1.5, len(columns["y"])), 0.1, 10), 10.0),
    "weights by age": (lambda rng, columns: 1 + (columns["age"] - 18) / 8, 10.0),
    "raked weights": (_raked, 3.2),
}


def persons(rng: np.random.Generator, columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of the rows, and how many of each person follow each other in it: 1 to 4 with labels alike, more of large ones."""
    label = columns["y"].astype(float)
    order = np.argsort(label + label.std() * rng.normal(size=len(label)))
    sizes = []
    while sum(sizes) < len(order):
        sizes.append(min(1 + int(rng.binomial(3, sum(sizes) / len(order))), len(order) - sum(sizes)))
    return order, np.array(sizes)


def _kinds() -> dict[str, Table]:
    """Every kind with intervals, and every kind of record."""
    labels = {"poisson": sf.Number(0, 30), "huber": sf.Number(-10, 10)} | dict.fromkeys(
        ("linear", "quantile"), sf.Number(-6, 14)
    )
    made: dict[str, Table] = {}
    for kind in ("linear", "logistic", "poisson", "probit", "cloglog", "quantile", "svm", "huber"):
        columns = _COUNTED | {"size": sf.Number(-4, 4), "y": labels.get(kind, _FLAG)}
        for records in ("", *WEIGHTS, "persons"):
            numbers = {"huber": {"clip": 1.5}, "quantile": {"quantile": 0.7}}.get(kind, {})
            made[f"{kind}, {records or 'rows'}"] = Table(
                kind, columns, lambda kind=kind: people(kind), numbers, records
            )
    return made


KINDS = _kinds()
KINDS["clipped linear, rows"] = replace(KINDS["linear, rows"], numbers={"clip": 1.5})
