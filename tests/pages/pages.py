"""The pages that are looked at: PAGES names a builder for each, which writes the page into a folder and returns its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from effort import sized
from sfumato.shells.report import write_report

N = 1500
REGIONS = ["the north and its islands", "east", "a region with a name that is rather long for a table", "west"]


def _table() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {"region": rng.choice(REGIONS, N), "age": rng.integers(18, 90, N), "ill": rng.random(N) < 0.3}


def _released(model: Any, schema: sf.Schema, **options: Any) -> Any:
    plan = sf.plan(model, N, 1.0, 1e-6, **options)
    return sf.publish(plan, sf.Dataset.from_table(_table(), schema=schema))


def _written(release: Any, path: Path, **options: Any) -> Path:
    write_report(release, path, **options)
    return path


def share(folder: Path) -> Path:
    """Shares of a category with long labels."""
    schema = sf.Schema({"region": sf.Category(REGIONS, missing=REGIONS[0])}, name="survey")
    return _written(_released(sf.families.DirichletCategorical(REGIONS), schema), folder / "share.html")


def fit(folder: Path) -> Path:
    """A logistic regression."""
    columns = {
        "region": sf.Category(REGIONS, missing=REGIONS[0]),
        "age": sf.Number(18, 90),
        "ill": sf.Boolean(missing=False),
    }
    schema = sf.Schema(columns, target="ill", name="survey")
    design = schema.design()
    radius = sf.losses.radius_with_intercept(design.radius, 0.5)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(0.05), design.dimension + 1, 0.5)
    return _written(_released(model, schema, goal="estimate", keep=("transcript",)), folder / "fit.html")


def _rate() -> Any:
    return _released(sf.families.BetaBernoulli(), sf.Schema({"ill": sf.Boolean(missing=False)}, name="survey"))


def bare(folder: Path) -> Path:
    """One rate."""
    return _written(_rate(), folder / "bare.html")


def audited(folder: Path) -> Path:
    """One rate, with the picture of an attack on its plan."""
    attack = folder / "audit.json"
    attack.write_text(json.dumps(sf.audit(sf.plan(sf.families.BetaBernoulli(), N, 1.0, 1e-6), runs=200).to_json()))
    return _written(_rate(), folder / "audited.html", audit=attack)


def _of(model: Any, columns: dict[str, Any], rows: dict[str, Any], path: Path, **options: Any) -> Path:
    """The report of a model of a made-up table."""
    n = len(next(iter(rows.values())))
    schema = sf.Schema(columns, name="survey", unit="person")
    plan = sf.plan(model, n, 1.0, 1e-6, **options)
    return _written(sf.publish(plan, sf.Dataset.from_table(rows, schema=schema)), path)


def many_rates(folder: Path) -> Path:
    """Rates of 200 districts, some of them small."""
    rng = np.random.default_rng(6)
    names = [f"District {k:03d} of the province" for k in range(200)]
    n = sized(2_000, 20_000)
    where = rng.choice(200, n, p=rng.dirichlet(np.full(200, 2.0)))
    rows = {"district": np.array(names)[where], "ill": rng.random(n) < 0.05 + 0.4 * (where % 7) / 7}
    model = sf.grouped(sf.families.BetaBernoulli(), by="district", levels=names)
    return _of(
        model,
        {"district": sf.Category(names, missing=names[0]), "ill": sf.Boolean(missing=False)},
        rows,
        folder / "rates.html",
        mechanism="noisy-statistics",
    )


def many_coefficients(folder: Path) -> Path:
    """A logistic regression with 60 coefficients."""
    rng = np.random.default_rng(7)
    n, levels = 4_000, [f"sector {k}" for k in range(30)]
    rows: dict[str, Any] = {f"score_{k}": rng.uniform(0, 10, n) for k in range(20)}
    rows |= {f"owns_{k}": rng.random(n) < 0.4 for k in range(10)}
    rows |= {"sector": rng.choice(levels, n)}
    rows["ill"] = rng.random(n) < 1 / (1 + np.exp(2 - 0.3 * rows["score_0"]))
    columns: dict[str, Any] = {name: sf.Number(0, 10) for name in rows if name.startswith("score")}
    columns |= {name: sf.Boolean(missing=False) for name in rows if name.startswith("owns")}
    columns |= {"sector": sf.Category(levels, missing=levels[0]), "ill": sf.Boolean(missing=False)}
    schema = sf.Schema(columns, target="ill", name="survey", unit="person")
    plan = sf.plan(sf.regression("logistic", schema), n, 3.0, 1e-6, goal="estimate")
    return _written(sf.publish(plan, sf.Dataset.from_table(rows, schema=schema)), folder / "coefficients.html")


def network(folder: Path) -> Path:
    """A network of six columns, one arrow skipping a level."""
    rng = np.random.default_rng(8)
    n = 5_000
    rows = {
        "region": rng.choice(REGIONS, n),
        "smoker": rng.random(n) < 0.3,
        "age_class": rng.choice(["young", "old"], n),
    }
    rows["active"] = rng.random(n) < np.where(rows["smoker"], 0.3, 0.6)
    rows["ill"] = rng.random(n) < np.where(rows["active"], 0.1, 0.4) + 0.2 * rows["smoker"]
    rows["insured"] = rng.random(n) < 0.9
    columns = {name: sf.Boolean(missing=False) for name in ("smoker", "active", "ill", "insured")}
    columns |= {
        "region": sf.Category(REGIONS, missing=REGIONS[0]),
        "age_class": sf.Category(["young", "old"], missing="young"),
    }
    parents = {
        "region": [],
        "smoker": ["region"],
        "active": ["smoker"],
        "ill": ["smoker", "active"],
        "age_class": [],
        "insured": [],
    }
    schema = sf.Schema(columns, name="survey", unit="person")
    model = sf.networks.BayesianNetwork.from_schema(schema, parents)
    plan = sf.plan(model, n, 1.0, 1e-6, mechanism="noisy-statistics")
    return _written(sf.publish(plan, sf.Dataset.from_table(rows, schema=schema)), folder / "network.html")


def cross(folder: Path) -> Path:
    """A cross table of a region by five classes."""
    rng = np.random.default_rng(9)
    classes = ["none", "primary", "secondary", "tertiary", "doctorate"]
    rows = {"region": rng.choice(REGIONS, 3_000), "education": rng.choice(classes, 3_000)}
    columns = {
        "region": sf.Category(REGIONS, missing=REGIONS[0]),
        "education": sf.Category(classes, missing=classes[0]),
    }
    model = sf.families.CrossTable.from_schema(sf.Schema(columns, name="survey"), ["region", "education"])
    return _of(model, columns, rows, folder / "cross.html", mechanism="noisy-statistics")


def histogram(folder: Path) -> Path:
    """A histogram of incomes with bins of different widths."""
    rows = {"income": np.random.default_rng(10).lognormal(10, 0.6, 3_000)}
    model = sf.families.Histogram(0, 200_000, edges=[0, 10_000, 20_000, 30_000, 50_000, 80_000, 120_000, 200_000])
    return _of(model, {"income": sf.Number(0, 200_000)}, rows, folder / "histogram.html")


def means(folder: Path) -> Path:
    """Means by group, with bounds; one group is tiny."""
    rng = np.random.default_rng(11)
    rows = {"region": rng.choice(REGIONS, 2_000, p=[0.5, 0.3, 0.0005, 0.1995]), "income": rng.lognormal(8, 0.5, 2_000)}
    model = sf.grouped(sf.families.BoundedMean(0, 20_000), by="region", levels=REGIONS)
    columns = {"region": sf.Category(REGIONS, missing=REGIONS[0]), "income": sf.Number(0, 20_000)}
    return _of(model, columns, rows, folder / "means.html", goal="estimate")


def steps(folder: Path) -> Path:
    """A Markov chain."""
    states = ["well", "ill", "recovering"]
    rng = np.random.default_rng(12)
    rows = {"before": rng.choice(states, 2_000), "after": rng.choice(states, 2_000)}
    columns = {"before": sf.Category(states, missing=states[0]), "after": sf.Category(states, missing=states[0])}
    return _of(sf.networks.MarkovChain(states), columns, rows, folder / "steps.html")


def learnt(folder: Path) -> Path:
    """A learnt table of eight columns, all pairs counted."""
    rng, n = np.random.default_rng(13), 6_000
    age, education = rng.integers(17, 91, n), rng.choice(4, n, p=[0.3, 0.4, 0.2, 0.1])
    income = np.where(age < 20, 0.0, rng.gamma(2.0 + education, 9_000, n)).clip(0, 200_000)
    rows = {
        "age": age,
        "education": np.array(["primary", "secondary", "bachelor", "doctorate"])[education],
        "sex": rng.choice(["female", "male"], n),
        "region": rng.choice(REGIONS, n),
        "married": rng.random(n) < np.clip((age - 18) / 40, 0, 0.8),
        "income": income,
        "hours": rng.normal(38, 9, n).round().clip(0, 99).astype(int),
        "rich": rng.random(n) < 1 / (1 + np.exp((50_000 - income) / 15_000)),
    }
    columns: dict[str, Any] = {
        "age": sf.Number(17, 90, integer=True),
        "education": sf.Category(["primary", "secondary", "bachelor", "doctorate"], missing="primary"),
        "sex": sf.Category(["female", "male"], missing="female"),
        "region": sf.Category(REGIONS, missing=REGIONS[0]),
        "married": sf.Boolean(missing=False),
        "income": sf.Number(0, 200_000),
        "hours": sf.Number(0, 99, integer=True),
        "rich": sf.Boolean(missing=False),
    }
    model = sf.networks.learn(sf.Schema(columns, name="survey", unit="person"))
    return _of(model, columns, rows, folder / "learnt.html")


def learnt_wide(folder: Path) -> Path:
    """A learnt table of thirty columns of every type: chosen pairs, missing cells, dates, a rule, columns kept apart."""
    rng, n = np.random.default_rng(14), sized(2_000, 20_000)
    age, drive = rng.integers(0, 91, n), rng.normal(size=n)
    days = np.datetime64("2015-01-01") + rng.integers(0, 3650, n).astype("m8[D]")
    rows: dict[str, Any] = {
        "age": age,
        "marital status of the person": np.where(age < 15, "single", rng.choice(["single", "married", "widowed"], n)),
        "admitted": days.astype(str),
        "income": [
            None if lost else float(x) for lost, x in zip(rng.random(n) < 0.2, rng.gamma(2, 9_000, n), strict=True)
        ],
        "region": rng.choice(REGIONS, n),
    }
    columns: dict[str, Any] = {
        "age": sf.Number(0, 90, integer=True),
        "marital status of the person": sf.Category(["single", "married", "widowed"], missing="single"),
        "admitted": sf.Date("2015-01-01", "2024-12-31"),
        "income": sf.Number(0, 100_000),
        "region": sf.Category(REGIONS, missing=REGIONS[0]),
    }
    for k in range(10):
        rows[f"owns_{k}"] = rng.random(n) < 1 / (1 + np.exp(-drive * (k % 4)))
        columns[f"owns_{k}"] = sf.Boolean(missing=False)
        rows[f"score of the test number {k}"] = (5 + 2 * drive * (k % 3) / 2 + rng.normal(0, 2, n)).clip(0, 10)
        columns[f"score of the test number {k}"] = sf.Number(0, 10)
    for k in range(5):
        rows[f"class_{k}"] = np.array(list("abcde"))[np.clip((drive + k * rng.normal(size=n)).astype(int) + 2, 0, 4)]
        columns[f"class_{k}"] = sf.Category(list("abcde"), missing="a")
    model = sf.networks.learn(
        sf.Schema(columns, name="survey", unit="person"),
        bins={"age": [0, 15, 30, 45, 60, 90], **{name: 5 for name in columns if name.startswith("score")}},
        pairs="select",
        chosen=30,
        target="class_0",
        missing=["income"],
        impossible=[{"age": "< 15", "marital status of the person": ["married", "widowed"]}],
        leave_out=[["owns_0", "owns_1", "owns_2"]],
    )
    return _of(model, columns, rows, folder / "learnt wide.html")


def visits(folder: Path) -> Path:
    """Means by group of persons with several rows, with long names of the unit and of the rows."""
    rng, people = np.random.default_rng(15), 900
    who = rng.integers(0, people, 3_000)
    rows = {"pupil number": who, "region": rng.choice(REGIONS, 3_000), "marks": rng.uniform(0, 15, 3_000)}
    persons = sf.Persons("pupil number", most=20, count=people, rows="written tests of one school year")
    columns = {"region": sf.Category(REGIONS, missing=REGIONS[0]), "marks": sf.Number(0, 15, missing=5)}
    schema = sf.Schema(columns, name="schools", unit="pupil of a secondary school", persons=persons)
    model = sf.grouped(sf.families.BoundedMean(0, 15), by="region", levels=REGIONS)
    plan = sf.plan(model, people, 1.0, 1e-6, goal="estimate", persons=persons)
    return _written(sf.publish(plan, sf.Dataset.from_table(rows, schema=schema)), folder / "visits.html")


# The quick suite takes every fourth: a regression, a network, a histogram and a learnt table.
PAGES: dict[str, Callable[[Path], Path]] = {
    "fit": fit,
    "share": share,
    "bare": bare,
    "audited": audited,
    "network": network,
    "many rates": many_rates,
    "many coefficients": many_coefficients,
    "cross": cross,
    "histogram": histogram,
    "means": means,
    "steps": steps,
    "learnt wide": learnt_wide,
    "learnt": learnt,
    "visits": visits,
}
