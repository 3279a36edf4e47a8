"""One small release of each kind, the same on every machine: its randomness is a fixed stream in place of the system's keys.

KINDS names a builder for each. The builders of `release_cases` are taken as they are; tables with columns of their own, which
more commands can be asked about, are made here. Every kind has public rows, `ROWS`, on which a regression predicts.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import learnt_cases
import release_cases
import sfumato as sf
import sfumato.ledger.ledger
from sfumato import randomness

N = 600
REGIONS = ["north", "east", "south & west"]
# The first and the last day of a column, as days since 1970.
DAYS = (17_897, 19_357)


@contextmanager
def fixed(name: str) -> Iterator[None]:
    """Keys of private randomness that follow from a name, and a ledger's clock that moves an hour at every look."""
    keys, hours = itertools.count(), itertools.count()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(randomness, "_system_key", lambda: hashlib.sha256(f"{name} {next(keys)}".encode()).digest())
        for module in ("sfumato.ledger.book", "sfumato.ledger.ledger"):
            patched.setattr(sys.modules[module], "now", lambda: _time(next(hours)))
        # Synthetic rows are drawn without a seed.
        generator = np.random.default_rng
        patched.setattr(np.random, "default_rng", lambda seed=None: generator(0 if seed is None else seed))
        yield


def _time(hour: int) -> str:
    return f"2026-01-{5 + hour // 24:02d}T{hour % 24:02d}:00:00.000000+00:00"


def people() -> dict[str, list[Any]]:
    """Invented persons with columns of every type; some cells are empty."""
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, N)
    region = rng.choice(REGIONS, N, p=[0.5, 0.3, 0.2])
    smoker = rng.random(N) < np.where(region == "north", 0.2, 0.4)
    joined = np.datetime64("2019-01-01") + rng.integers(0, 1400, N).astype("m8[D]")
    income = rng.gamma(2.0, 9_000.0, N)
    score = (age - 50) / 30 + 0.8 * smoker
    ill = rng.random(N) < 1 / (1 + np.exp(1 - score))
    visits = np.minimum(rng.poisson(np.exp(0.5 + 0.4 * score)), 20)
    weight = rng.choice([1.0, 2.0, 6.0], N)
    return {
        "region": region.tolist(),
        "age": age.tolist(),
        "smoker": smoker.tolist(),
        "joined": joined.astype(str).tolist(),
        "income": [None if lost else round(float(x), 2) for lost, x in zip(rng.random(N) < 0.1, income, strict=True)],
        "ill": ill.tolist(),
        "visits": visits.tolist(),
        "cost": np.round(20 + 10 * score + rng.normal(0, 4, N), 2).tolist(),
        "w": weight.tolist(),
    }


COLUMNS: dict[str, Any] = {
    "region": sf.Category(REGIONS, missing=REGIONS[0]),
    "age": sf.Number(18, 90, integer=True),
    "smoker": sf.Boolean(missing=False),
    "joined": sf.Date("2019-01-01", "2022-12-31"),
    "income": sf.Number(0, 80_000, missing=10_000),
    "ill": sf.Boolean(missing=False),
    "visits": sf.Number(0, 20, integer=True),
    "cost": sf.Number(0, 80),
}


WEIGHT = sf.Weight("w", upper=8.0, fixed=True)


def declared(*names: str, **more: Any) -> sf.Schema:
    """A schema of some of the columns."""
    return sf.Schema({name: COLUMNS[name] for name in names}, name="survey", unit="person", **more)


def released(model: Any, schema: sf.Schema, n: int = N, rows: Any = None, **options: Any) -> sf.Release:
    """A release of the invented persons."""
    terms = {"epsilon": 2.0, "delta": 1e-6, **options}
    data = sf.Dataset.from_table(people() if rows is None else rows, schema=schema)
    return sf.publish(sf.plan(model, n, **terms), data)


FEATURES = ("region", "age", "smoker", "joined")


def fitted(kind: str, target: str, features: tuple[str, ...] = FEATURES, **options: Any) -> sf.Release:
    """A regression of the invented persons."""
    schema = declared(*features, target, target=target)
    numbers = options.pop("numbers", {})
    model = sf.regression(kind, schema, options.pop("terms", None), **numbers)
    return released(model, schema, **{"epsilon": 6.0, "goal": "estimate", **options})


def multinomial() -> sf.Release:
    schema = declared("age", "smoker", "region", target="region")
    return released(sf.regression("multinomial", schema), schema, epsilon=8.0, goal="estimate")


def weighted(model: Any, *names: str, target: str | None = None, **options: Any) -> sf.Release:
    schema = declared(*names, weight=WEIGHT, target=target)
    built = sf.regression(model, schema) if isinstance(model, str) else model
    return released(built, schema, weight=WEIGHT, **options)


def visits(*names: str, target: str | None = None) -> tuple[sf.Schema, dict[str, Any]]:
    """Persons with several rows each: their schema and rows."""
    rng, count = np.random.default_rng(4), 200
    who = rng.integers(0, count, N)
    stay = np.round(rng.uniform(0, 15, count)[who] + rng.uniform(0, 5, N), 1)
    passed = rng.random(N) < stay / 20
    rows = {"pupil": who.tolist(), "region": people()["region"], "stay": stay.tolist(), "passed": passed.tolist()}
    columns = {
        "region": sf.Category(REGIONS, missing=REGIONS[0]),
        "stay": sf.Number(0, 20, missing=5),
        "passed": sf.Boolean(missing=False),
    }
    persons = sf.Persons("pupil", most=20, count=count, rows="tests")
    chosen = {name: columns[name] for name in names}
    return sf.Schema(chosen, name="schools", unit="pupil", persons=persons, target=target), rows


def visiting(model: Callable[[], Any] | str, target: str | None = None, **options: Any) -> sf.Release:
    """A release of persons with several rows each."""
    schema, rows = visits("region", "stay", *([target] if target else []), target=target)
    built = sf.regression(model, schema) if isinstance(model, str) else model()
    persons = schema.persons
    return released(built, schema, persons.count, rows, goal="estimate", persons=persons, **options)


def network(**options: Any) -> sf.Release:
    names = ("region", "smoker", "ill", "cheap")
    rows = {**people(), "cheap": [cost < 25 for cost in people()["cost"]]}
    schema = sf.Schema(
        {**{name: COLUMNS[name] for name in names[:3]}, "cheap": sf.Boolean(missing=False)},
        name="survey",
        unit="person",
    )
    parents = {"region": [], "smoker": ["region"], "ill": ["smoker", "region"], "cheap": ["region"]}
    model = sf.networks.BayesianNetwork.from_schema(schema, parents)
    return released(model, schema, rows=rows, **options)


def cross() -> sf.Release:
    schema = declared("region", "smoker", "ill")
    return released(
        sf.families.CrossTable.from_schema(schema, ["region", "smoker"]), schema, mechanism="noisy-statistics"
    )


def learned(name: str) -> sf.Release:
    """A learnt table of 6,000 records."""
    data = sf.Dataset.from_table(learnt_cases.rows(), schema=learnt_cases.SCHEMA)
    return sf.publish(sf.plan(learnt_cases.MODELS[name], learnt_cases.N, 1.0, 1e-6), data)


def learned_dates() -> sf.Release:
    """A learnt table with a date, missing cells, chosen pairs, a rule and a target."""
    schema = declared("region", "age", "smoker", "joined", "income")
    model = sf.networks.learn(
        schema,
        bins={"age": [18, 30, 45, 60, 90], "joined": 4, "income": 4},
        pairs="select",
        chosen=4,
        rounds=2,
        target="smoker",
        missing=["income"],
        impossible=[{"age": "< 30", "smoker": True}],
        leave_out=[["region", "income"]],
    )
    return released(model, schema, epsilon=8.0)


def by_region(model: Any) -> Any:
    return sf.grouped(model, by="region", levels=REGIONS)


def stored(folder: Path) -> sf.Release:
    """A release that comes back under a request that was sealed before."""
    with sf.Ledger.open(folder / "budget.db") as ledger:
        ledger.register("bits", epsilon=3.0, delta=1e-5, unit="person")
        release_cases.made(release_cases.RATE, release_cases.BITS, mechanism="noisy-statistics", ledger=ledger)
        return release_cases.made(release_cases.RATE, release_cases.BITS, mechanism="noisy-statistics", ledger=ledger)


# Reference chains are compiled by JAX for seconds each, and read like the other chains.
COMPILED = ("chain", "chain exact", "converged", "converged in a ball")
# The release of these is read like that of another case; its plan differs.
ALIKE = (
    "chain concentrated", "chain in a box", "rate of trials", "path", "path in a ball", "shaped path", "shaped path in a ball",
    "lattice by trials in a ball", "lattice by trials", "lattice on a line", "kinks in a plane", "network above a floor",
    "target pure", "target gaussian", "durations by group", "rate concentrated", "kinks on a line", "chain diffused",
)  # fmt: skip

KINDS: dict[str, Callable[[], sf.Release]] = {
    **{name: case for name, case in release_cases.CASES.items() if name not in (*COMPILED, *ALIKE)},
    "cross table": cross,
    "histogram": lambda: released(
        sf.families.Histogram(0, 80_000, edges=[0, 5_000, 10_000, 20_000, 40_000, 80_000]),
        declared("income"),
        mechanism="noisy-statistics",
    ),
    "histogram of dates": lambda: released(
        sf.families.Histogram(*DAYS, bins=4), declared("joined"), mechanism="diffused", draws=3
    ),
    "mean of dates": lambda: released(sf.families.BoundedMean(*DAYS), declared("joined"), goal="estimate"),
    "mean with missing cells": lambda: released(
        sf.families.BoundedMean(0, 80_000), declared("income"), goal="estimate"
    ),
    "quantiles of dates": lambda: released(
        sf.families.Quantiles([0.1, 0.5, 0.9], *DAYS, cells=64), declared("joined"), goal="estimate"
    ),
    "rates by region": lambda: released(
        by_region(sf.families.BetaBernoulli()), declared("region", "ill"), mechanism="noisy-statistics", draws=5
    ),
    "means by region": lambda: released(
        by_region(sf.families.BoundedMean(0, 80_000)), declared("region", "income"), goal="estimate"
    ),
    "network of a survey": lambda: network(mechanism="noisy-statistics"),
    "network drawn": lambda: network(mechanism="diffused", draws=3, epsilon=20.0),
    "learned": lambda: learned("all"),
    "learned private bins": lambda: learned("private bins"),
    "learned with a rule": learned_dates,
    "logistic": lambda: fitted("logistic", "ill"),
    "logistic with scores": lambda: fitted("logistic", "ill", keep=("scores", "transcript")),
    "logistic of terms": lambda: fitted("logistic", "ill", terms=["age", "age^2", "region*smoker"]),
    "logistic drawn": lambda: fitted("logistic", "ill", goal="draws", mechanism="shaped-langevin", draws=4),
    "linear": lambda: fitted("linear", "cost"),
    "linear of dates": lambda: fitted("linear", "joined", ("region", "age")),
    "poisson": lambda: fitted("poisson", "visits", epsilon=20.0),
    "multinomial": multinomial,
    "quantile regression": lambda: fitted("quantile", "cost", numbers={"quantile": 0.9}),
    "svm": lambda: fitted("svm", "ill"),
    "probit": lambda: fitted("probit", "ill"),
    "cloglog": lambda: fitted("cloglog", "ill"),
    "rate weighted": lambda: weighted(sf.families.BetaBernoulli(), "smoker", mechanism="noisy-statistics"),
    "mean weighted": lambda: weighted(sf.families.BoundedMean(18, 90), "age", goal="estimate"),
    "logistic weighted": lambda: weighted(
        "logistic", "age", "smoker", "ill", target="ill", goal="estimate", epsilon=6.0
    ),
    "visits": lambda: visiting(lambda: by_region(sf.families.BoundedMean(0, 20))),
    "visits logistic": lambda: visiting("logistic", "passed", epsilon=6.0),
}

# Of these the questions to draws of any kind are asked too.
WHOLE = (
    "rate exact", "rate noisy", "rate seeded", "rate diffused", "shares", "quantiles", "mean of dates", "rates by region",
    "cross table", "histogram", "network of a survey", "learned with a rule", "logistic with scores", "logistic drawn", "linear",
    "chain in a ball", "visits",
)  # fmt: skip
# Of these every refusal is recorded.
REFUSING = (
    "rate noisy",
    "quantiles",
    "cross table",
    "learned with a rule",
    "logistic with scores",
    "linear",
    "rate seeded",
)
# Of these the commands are typed.
TYPED = (
    *WHOLE, "bounded mean", "histogram of dates", "quantiles of dates", "mean with missing cells", "learned private bins",
    "multinomial", "poisson", "linear of dates", "rate weighted", "vector mean", "groups diffused",
)  # fmt: skip
# The pages of these differ from another one in numbers alone.
PLAIN = (
    "rate exponential", "events", "durations", "scale", "precision", "mean", "finite",

    "lattice in a plane", "probit", "cloglog", "svm", "groups diffused", "bounded mean",
    "correlated mean", "groups", "shares noisy", "logistic of terms", "quantile regression", "linear of dates", "logistic",
    "target renyi", "learned",
)  # fmt: skip


@cache
def release(name: str) -> sf.Release:
    """The release of a kind."""
    with fixed(name):
        return KINDS[name]()
