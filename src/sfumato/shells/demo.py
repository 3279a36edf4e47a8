"""`sfumato demo`: a tour on a made-up table. It prints and runs the commands that a user would type."""

from __future__ import annotations

import csv
import shlex
import tempfile
from contextlib import chdir
from pathlib import Path

import typer

from sfumato.errors import ArgumentError, LedgerExhausted
from sfumato.shells.printing import INTERRUPTED

# Enough for three useful releases, and little enough that the tour takes seconds.
_N = 6_000
_SCHEMA = """\
sfumato = "schema"
version = 1
name = "health survey"
unit = "person"

[columns.region]
type = "category"
levels = ["north", "east", "south", "west"]
missing = "north"

[columns.age]
type = "number"
lower = 18.0
upper = 90.0
integer = true

[columns.smoker]
type = "boolean"
missing = false

[columns.active]
type = "boolean"
missing = false

[columns.hypertension]
type = "boolean"
missing = false
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

[ledger]
file = "budget.db"
name = "health survey"
request = "{request}"
"""
_RATES = 'family = "BetaBernoulli"\ncolumn = "smoker"\nby = "region"'
_LOGISTIC = 'regression = "logistic"\ntarget = "hypertension"\nfeatures = ["age", "smoker", "active", "region"]'
_NETWORK = """\
alpha = 1.0

[model.network]
region = []
smoker = ["region"]
active = ["smoker"]
hypertension = ["smoker", "active"]"""
_SPECS = {
    "smokers": _SPEC.format(model=_RATES, epsilon=0.5, request="smokers by region"),
    "hypertension": _SPEC.format(model=_LOGISTIC, epsilon=1.0, request="who has hypertension"),
    "table": _SPEC.format(model=_NETWORK, epsilon=1.0, request="a synthetic table"),
    "again": _SPEC.format(model=_LOGISTIC, epsilon=4.0, request="once more"),
}
# The commands of the tour: with the table at hand, without it, and at the end.
_PUBLISH = (
    "ledger create budget.db",
    'ledger register budget.db "health survey" --epsilon 3 --delta 1e-6 --unit person',
    "schema check survey.schema.toml survey.csv",
    "plan smokers.toml",
    "release smokers.toml -o smokers.sfumato",
    "plan hypertension.toml",
    "release hypertension.toml -o hypertension.sfumato",
    "release table.toml -o table.sfumato",
)
_ASK = (
    "query interval smokers.sfumato",
    "query summary hypertension.sfumato",
    "query contrast hypertension.sfumato age=10",
    "query attacker smokers.sfumato",
    "query marginal table.sfumato smoker hypertension",
    "query synthesize table.sfumato --rows 5000 -o synthetic.csv",
)
_REPORT = tuple(
    f"report {name}.sfumato -o {name}.html --ledger budget.db" for name in ("smokers", "hypertension", "table")
)
# The last page shows all releases and compares the saved files with what the ledger sealed.
_LEDGER_REPORT = "ledger report budget.db -o budget.html smokers.sfumato hypertension.sfumato table.sfumato"


def write_table(path: Path) -> None:
    """Write a simulated survey; nobody in it exists."""
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
        writer.writerows(zip(*(column.tolist() for column in (region, age, smoker, active, ill)), strict=True))


def run(folder: Path | None = None) -> None:
    """Run the tour in this folder, or in a new one."""
    place = Path(tempfile.mkdtemp(prefix="sfumato-demo-")) if folder is None else folder
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        raise ArgumentError(f"{place} is not empty; give the tour a folder of its own.")
    typer.echo(f"A made-up survey of {_N:,} people, three releases and one budget, in {place}\n")
    with chdir(place):
        _tour()
    typer.echo(f"open {place / 'budget.html'} in a browser: all releases and one budget; everything else is in {place}")


def _tour() -> None:
    """The commands, in the present folder."""
    table, hidden = Path("survey.csv"), Path("survey.csv.away")
    write_table(table)
    Path("survey.schema.toml").write_text(_SCHEMA, encoding="utf-8")
    for name, text in _SPECS.items():
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    _run(*_PUBLISH)
    table.rename(hidden)
    typer.echo("The table is now out of reach; the releases go on answering.\n")
    _run(*_ASK)
    hidden.rename(table)
    typer.echo("again.toml asks for the same regression at epsilon = 4, more than is left:\n")
    try:
        _run("ledger show budget.db", "release again.toml -o again.sfumato")
    except LedgerExhausted as error:
        typer.echo(f"refused: {error}\n")
    _run(*_REPORT, _LEDGER_REPORT)


def _run(*commands: str) -> None:
    """Print and run commands of the command line; their errors are raised here."""
    from sfumato.shells.cli import app

    for command in commands:
        typer.echo(f"$ sfumato {command}")
        # typer turns Ctrl-C into this return value; the rest of the tour must not run after it.
        if app(shlex.split(command), standalone_mode=False) == INTERRUPTED:
            raise KeyboardInterrupt
        typer.echo()
