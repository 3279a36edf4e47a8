"""`sfumato demo`: a tour on a made-up table. Every step is what a command of the same name does, and says so."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any

import typer

_N = 6_000
_SCHEMA = """\
sfumato = "schema"
version = 1
name = "health survey"
unit = "person"

[columns.region]
type = "category"
levels = ["north", "east", "south", "west"]

[columns.age]
type = "number"
lower = 18.0
upper = 90.0
integer = true

[columns.smoker]
type = "boolean"

[columns.active]
type = "boolean"

[columns.hypertension]
type = "boolean"
"""
_SPEC = """\
[data]
file = "survey.csv"
schema = "survey.schema.toml"

[model]
{model}

[price]
epsilon = {epsilon}
delta = 1e-7
{more}
[ledger]
file = "budget.db"
name = "health survey"
request = "{request}"
"""
_RATES = 'family = "BetaBernoulli"\ncolumn = "smoker"\nby = "region"'
_LOGISTIC = 'regression = "logistic"\ntarget = "hypertension"\nfeatures = ["age", "smoker", "active"]'
_NETWORK = """\
alpha = 1.0

[model.network]
region = []
smoker = ["region"]
active = ["smoker"]
hypertension = ["smoker", "active"]"""
_SPECS = {
    "smokers": _SPEC.format(model=_RATES, epsilon=0.5, more="", request="smokers by region"),
    "hypertension": _SPEC.format(model=_LOGISTIC, epsilon=1.0, more="", request="who has hypertension"),
    "table": _SPEC.format(model=_NETWORK, epsilon=1.0, more="", request="a synthetic table"),
}


def write_table(path: Path) -> None:
    """A made-up survey: nobody in it exists."""
    import numpy as np

    rng = np.random.default_rng(20_261)
    region = rng.choice(["north", "east", "south", "west"], _N, p=[0.31, 0.27, 0.24, 0.18])
    age = rng.integers(18, 91, _N)
    smoker = rng.random(_N) < np.select(
        [region == "north", region == "east", region == "south"], [0.17, 0.24, 0.29], 0.21
    )
    active = rng.random(_N) < np.where(smoker, 0.35, 0.55)
    odds = -3.2 + 0.045 * (age - 40) + 0.9 * smoker - 0.8 * active + 1.2
    ill = rng.random(_N) < 1 / (1 + np.exp(-odds))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["region", "age", "smoker", "active", "hypertension"])
        for row in zip(region.tolist(), age.tolist(), smoker.tolist(), active.tolist(), ill.tolist(), strict=True):
            writer.writerow(row)


def run(folder: Path | None = None) -> None:
    """Walk through the tour in this folder, or in a new one."""
    place = Path(tempfile.mkdtemp(prefix="sfumato-demo-")) if folder is None else folder
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        from sfumato.errors import ArgumentError

        raise ArgumentError(f"{place} is not empty; give the tour a folder of its own.")
    typer.echo(f"A made-up survey of {_N:,} people, three releases and one budget, in {place}\n")
    write_table(place / "survey.csv")
    (place / "survey.schema.toml").write_text(_SCHEMA, encoding="utf-8")
    for name, text in _SPECS.items():
        (place / f"{name}.toml").write_text(text, encoding="utf-8")
    _budget(place)
    releases = {name: _release(place, name) for name in _SPECS}
    _questions(place, releases)
    _overspend(place)
    _report(place, releases)


def _said(command: str) -> None:
    typer.echo(f"$ sfumato {command}")


def _budget(place: Path) -> None:
    from sfumato.ledger import Ledger

    _said("ledger create budget.db")
    _said('ledger register budget.db "health survey" --epsilon 3 --delta 1e-6 --unit person')
    with Ledger.open(place / "budget.db") as ledger:
        ledger.register("health survey", 3.0, 1e-6, unit="person")
        typer.echo(f"{ledger.spent('health survey')}\n")


def _release(place: Path, name: str) -> Any:
    import sys

    from sfumato.publishing import publish
    from sfumato.shells.spec import Spec

    spec = Spec.load(place / f"{name}.toml")
    data = spec.dataset()
    plan = spec.plan(data.n)
    if name == "smokers":
        _said("plan smokers.toml")
        typer.echo(f"{plan}\n")
    _said(f"release {name}.toml -o {name}.sfumato")
    ledger = spec.open_ledger()
    made = publish(plan, data, ledger, spec.ledger["name"], spec.ledger["request"], progress=sys.stderr.isatty())
    made.save(place / f"{name}.sfumato")
    typer.echo(f"{made}\n")
    return made


def _questions(place: Path, releases: dict[str, Any]) -> None:
    """Ask the saved files, with the table gone: a release cannot reach it."""
    import shutil

    from sfumato.release import load
    from sfumato.shells.query_commands import interval_table

    hidden = place / "survey.csv.away"
    shutil.move(place / "survey.csv", hidden)
    typer.echo("The table is now out of reach; the releases go on answering.\n")
    for name in ("smokers", "hypertension"):
        found = load(place / f"{name}.sfumato")
        _said(f"query interval {name}.sfumato")
        typer.echo(interval_table(found, 0.9) + "\n")
    _said("query attacker smokers.sfumato")
    typer.echo(f"{load(place / 'smokers.sfumato').attacker()}\n")
    _said("query marginal table.sfumato smoker hypertension")
    typer.echo(f"{releases['table'].marginal(['smoker', 'hypertension'])}\n")
    _said("query synthesize table.sfumato --rows 5000 -o synthetic.csv")
    table = load(place / "table.sfumato").synthesize(5_000)
    with (place / "synthetic.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    typer.echo(f"wrote 5,000 rows to {place / 'synthetic.csv'}\n")
    shutil.move(hidden, place / "survey.csv")


def _overspend(place: Path) -> None:
    from sfumato.errors import LedgerExhausted
    from sfumato.ledger import Ledger
    from sfumato.publishing import publish
    from sfumato.shells.spec import Spec

    spec = Spec.load(place / "hypertension.toml")
    data = spec.dataset()
    with Ledger.open(place / "budget.db") as ledger:
        _said("ledger show budget.db")
        typer.echo(f"{ledger.spent('health survey')}\n")
        typer.echo("The same regression again, with epsilon = 4 in hypertension.toml:")
        _said('release hypertension.toml -o again.sfumato --request "once more"')
        try:
            publish(spec.plan(data.n, epsilon=4.0), data, ledger, "health survey", "once more")
        except LedgerExhausted as error:
            typer.echo(f"refused: {error}\n")


def _report(place: Path, releases: dict[str, Any]) -> None:
    from sfumato.shells.report import write_report

    for name, release in releases.items():
        _said(f"report {name}.sfumato -o {name}.html --ledger budget.db")
        write_report(release, place / f"{name}.html", str(place / "budget.db"))
    typer.echo(f"\nopen {place / 'hypertension.html'} in a browser; everything else is in {place}")
