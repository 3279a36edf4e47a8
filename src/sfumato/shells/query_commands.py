"""`sfumato query`: questions to a saved release. They need no data and cost nothing, however many are asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato._validate import visible
from sfumato.errors import ArgumentError
from sfumato.shells.forged_files import blames_a_forged_file
from sfumato.shells.printing import emit

app = typer.Typer(
    help="Ask a release anything, any number of times: it costs nothing and needs no data.", no_args_is_help=True
)
ReleaseFile = Annotated[Path, typer.Argument(help="A saved release.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _load(file: Path) -> Any:
    """Read the release; that it is not private goes to standard error, beside whatever is printed of it."""
    from sfumato.release import load
    from sfumato.wording import notice

    found = load(file)
    if notice(found):
        typer.echo(f"sfumato: {notice(found)}", err=True)
    return found


def _table(labels: Any, columns: dict[str, Any]) -> str:
    """Labels and columns of numbers, aligned."""
    names = list(columns)
    rows = [["", *names]] + [
        [visible(str(label)), *(f"{float(columns[name][k]):.6g}" for name in names)] for k, label in enumerate(labels)
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(len(names) + 1)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    )


def _by_label(found: Any, columns: dict[str, Any], as_json: bool) -> None:
    labels = found.draws.labels
    flat = {name: [float(v) for v in values.ravel()] for name, values in columns.items()}
    document = {label: {name: flat[name][k] for name in flat} for k, label in enumerate(labels)}
    emit(as_json, document, _table(labels, flat))


def _ends(found: Any, level: float, include: str) -> tuple[Any, dict[str, Any]]:
    lower, upper = found.interval(level, include)
    return found, {"lower": lower, "estimate": found.estimate(include), "upper": upper}


def interval_table(found: Any, level: float, include: str = "privacy and sampling") -> str:
    """Intervals of every label, as text."""
    columns = _ends(found, level, include)[1]
    return _table(found.draws.labels, {name: values.ravel() for name, values in columns.items()})


@app.command()
@blames_a_forged_file
def mean(file: ReleaseFile, as_json: Json = False) -> None:
    """The mean of the released draws.

    Example: sfumato query mean smokers.sfumato
    """
    found = _load(file)
    _by_label(found, {"mean": found.mean()}, as_json)


@app.command()
@blames_a_forged_file
def interval(
    file: ReleaseFile,
    level: Annotated[float, typer.Option(help="How often the interval should hold the truth.")] = 0.9,
    include: Annotated[str, typer.Option(help='"privacy and sampling", or "privacy" alone.')] = "privacy and sampling",
    as_json: Json = False,
) -> None:
    """Intervals for the truth that count the privacy noise, not only the spread of the draws.

    Example: sfumato query interval smokers.sfumato --level 0.95
    """
    import numpy as np

    found, columns = _ends(_load(file), level, include)
    _by_label(found, columns, as_json)
    unknown = found.untold(np.stack([columns["lower"].ravel(), columns["upper"].ravel()]), level)
    if unknown and not as_json:
        typer.echo(f"\n{visible(unknown)}")


@app.command()
@blames_a_forged_file
def quantile(
    file: ReleaseFile,
    at: Annotated[float, typer.Option(help="Between 0 and 1.")] = 0.5,
    as_json: Json = False,
) -> None:
    """A quantile of the released draws.

    Example: sfumato query quantile smokers.sfumato --at 0.9
    """
    found = _load(file)
    if len(found.draws.pooled()) == 1:
        raise ArgumentError("one draw has no quantiles: ask for an interval, or plan with more draws.")
    _by_label(found, {f"quantile {at:g}": found.quantile(at)}, as_json)


@app.command()
@blames_a_forged_file
def probability(
    file: ReleaseFile,
    above: Annotated[float | None, typer.Option(help="How likely the value is above this.")] = None,
    below: Annotated[float | None, typer.Option(help="How likely the value is below this.")] = None,
    as_json: Json = False,
) -> None:
    """The share of draws above or below a number, for every label.

    Example: sfumato query probability smokers.sfumato --above 0.3
    """
    if (above is None) == (below is None):
        raise ArgumentError("give exactly one of --above and --below.")
    found = _load(file)
    draws = found.draws.pooled()
    if len(draws) == 1:
        raise ArgumentError("one draw has no shares: ask for an interval, or plan with more draws.")
    share = (draws > above).mean(axis=0) if above is not None else (draws < below).mean(axis=0)
    name = f"share of draws above {above:g}" if above is not None else f"share of draws below {below:g}"
    _by_label(found, {name: share}, as_json)


@app.command()
@blames_a_forged_file
def top(
    file: ReleaseFile,
    k: Annotated[int, typer.Option(help="How many.")] = 1,
    as_json: Json = False,
) -> None:
    """The k categories with the largest shares.

    Example: sfumato query top regions.sfumato --k 3
    """
    reply = _load(file).ask.top(k)
    emit(as_json, {"value": reply.value, "sentence": reply.sentence}, str(reply))


@app.command()
@blames_a_forged_file
def attacker(file: ReleaseFile, as_json: Json = False) -> None:
    """What somebody who knows every other record can still tell about one.

    Example: sfumato query attacker smokers.sfumato
    """
    # Its answer is the guarantee's, which is computed from the record: so the record is checked first.
    found = _load(file).verify().attacker()
    emit(as_json, {"success": found.success, "sentence": found.sentence}, str(found))


@app.command()
@blames_a_forged_file
def predict(
    file: ReleaseFile,
    rows: Annotated[Path, typer.Argument(help="PUBLIC rows to predict for: .csv, .parquet.")],
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes instead of the likeliest one.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Predictions of a released regression for public rows, one a line.

    Example: sfumato query predict income.sfumato new_rows.csv
    """
    found = _load(file)
    if proba:
        shares = found.predict_proba(rows)
        emit(as_json, shares, "\n".join("  ".join(f"{share:.4f}" for share in row) for row in shares))
        return
    from sfumato.shells.csv_output import defused

    values = found.predict(rows)
    emit(as_json, list(values), "\n".join(visible(str(defused(value))) for value in values.tolist()))


@app.command()
@blames_a_forged_file
def marginal(
    file: ReleaseFile,
    columns: Annotated[list[str], typer.Argument(help="Columns of the network.")],
    as_json: Json = False,
) -> None:
    """Joint shares of some columns of a released network.

    Example: sfumato query marginal table.sfumato region smoker
    """
    found = _load(file).marginal(columns)
    document = {"columns": found.columns, "levels": found.levels, "shares": found.values}
    emit(as_json, document, str(found))


@app.command()
@blames_a_forged_file
def synthesize(
    file: ReleaseFile,
    rows: Annotated[int, typer.Option(help="How many rows.")] = 1000,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A CSV file; the terminal if left out.")] = None,
) -> None:
    """A synthetic table from a released network, as CSV: any number of rows, at no further cost.

    Example: sfumato query synthesize table.sfumato --rows 5000 -o synthetic.csv
    """
    from sfumato.shells import csv_output
    from sfumato.wording import notice

    found = _load(file)
    table = found.synthesize(rows)
    records = zip(*(column.tolist() for column in table.values()), strict=True)
    text = csv_output.table([list(table), *records], notice(found))
    if output is None:
        typer.echo(text, nl=False)
        return
    if output.exists():
        raise ArgumentError(f"{output} is there already; choose another name.")
    output.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {rows:,} rows to {output}")
