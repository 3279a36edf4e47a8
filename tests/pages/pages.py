"""The pages that are looked at: PAGES names a builder for each, which writes the page into a folder and returns its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
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
    schema = sf.Schema({"region": sf.Category(REGIONS)}, name="survey")
    return _written(_released(sf.families.DirichletCategorical(REGIONS), schema), folder / "share.html")


def fit(folder: Path) -> Path:
    """A logistic regression."""
    columns = {"region": sf.Category(REGIONS), "age": sf.Number(18, 90), "ill": sf.Boolean()}
    schema = sf.Schema(columns, target="ill", name="survey")
    design = schema.design()
    radius = sf.losses.radius_with_intercept(design.radius, 0.5)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(0.05), design.dimension + 1, 0.5)
    return _written(_released(model, schema, goal="estimate", keep=("transcript",)), folder / "fit.html")


def _rate() -> Any:
    return _released(sf.families.BetaBernoulli(), sf.Schema({"ill": sf.Boolean()}, name="survey"))


def bare(folder: Path) -> Path:
    """One rate."""
    return _written(_rate(), folder / "bare.html")


def audited(folder: Path) -> Path:
    """One rate, with the picture of an attack on its plan."""
    attack = folder / "audit.json"
    attack.write_text(json.dumps(sf.audit(sf.plan(sf.families.BetaBernoulli(), N, 1.0, 1e-6), runs=200).to_json()))
    return _written(_rate(), folder / "audited.html", audit=attack)


PAGES: dict[str, Callable[[Path], Path]] = {"share": share, "fit": fit, "bare": bare, "audited": audited}
