"""`sfumato query` of a regression: summary, coefficients, contrasts, predictions and marginal effects."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato._validate import visible
from sfumato.errors import ArgumentError
from sfumato.shells.forged_files import blames_a_forged_file
from sfumato.shells.ledger_commands import WitnessFile
from sfumato.shells.ledger_places import expect_public
from sfumato.shells.printing import Force, Json, check_new, emit, write_new
from sfumato.shells.query_commands import Csv, ReleaseFile, csv_of, emit_csv, opened

Level = Annotated[float, typer.Option(help="How often the interval should hold the coefficient.")]
PublicRows = Annotated[
    Path | None, typer.Option("--public-rows", help="A table of PUBLIC rows: .csv, .parquet. Never the private ones.")
]
# A table without the option, as it is refused.
Unsaid = Annotated[Path | None, typer.Argument(hidden=True)]
LedgerPlace = Annotated[
    str | None,
    typer.Option("--ledger", help="Look also beside this ledger which files are private; the user's own are known."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A CSV file; the terminal if left out.")]
# What `--interval` of a prediction may be.
_INTERVALS = ("mean", "answer")
References = Annotated[
    list[str] | None,
    typer.Option("--reference", help="column=level: compare with this level, or column=sum-to-zero. Repeatable."),
]


def summary(
    file: ReleaseFile,
    level: Level = 0.9,
    reference: References = None,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Estimates and intervals as a table; of a regression the coefficients in the columns' own units, with ratios.

    Example: sfumato query summary illness.sfumato --reference region=south
    """
    release = opened(file)
    made = release.summary(level, reference=_references(release, reference))
    if hasattr(made, "coefficients"):
        if as_csv:
            _save(release, "coefficient", made.labels, made.coefficients.columns())
        else:
            emit(as_json, _document(made), str(made))
    elif as_csv:
        csv_of(release, made.numbers)
    else:  # programs get the labels of the file
        emit(as_json, replace(made.numbers, labels=release.labels).document(), str(made))


def coefficients(
    file: ReleaseFile,
    level: Level = 0.9,
    reference: References = None,
    scaled: Annotated[bool, typer.Option("--scaled", help="As they were released, for coded features.")] = False,
    output: Output = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """The coefficients of a regression with standard errors, intervals and ratios, in the columns' own units.

    Example: sfumato query coefficients illness.sfumato -o coefficients.csv
    """
    check_new(output, force, file)
    release = opened(file)
    table = release.coefficients(level, reference=_references(release, reference), scaled=scaled)
    if output is not None:
        _save(release, "coefficient", table.labels, table.columns(), output, force)
        return
    emit(as_json, _by_name(table), str(table))


def contrast(
    file: ReleaseFile,
    weights: Annotated[
        list[str], typer.Argument(help="name=weight, such as region=north=1 region=south=-1 or age=10.")
    ],
    level: Level = 0.9,
    as_json: Json = False,
) -> None:
    """A weighted sum of coefficients with its interval.

    Example: sfumato query contrast illness.sfumato region=north=1 region=south=-1
    """
    made = opened(file).contrast(dict(_weight(each) for each in weights), level)
    document = {key: getattr(made, key) for key in ("weights", "estimate", "deviation", "lower", "upper", "level")}
    emit(as_json, {**document, "ratio": made.ratio, "ratios": made.ratios}, str(made))


def predict(
    file: ReleaseFile,
    rows: Unsaid = None,
    public_rows: PublicRows = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes, not the likeliest one.")
    ] = False,
    interval: Annotated[
        str | None, typer.Option("--interval", help='Add an interval: of the "mean", or of one "answer".')
    ] = None,
    level: Level = 0.9,
    output: Output = None,
    force: Force = False,
    ledger: LedgerPlace = None,
    witness: WitnessFile = None,
    as_json: Json = False,
) -> None:
    """Predictions of a released regression for public rows, one a line under a header; as CSV where -o names a file.

    Example: sfumato query predict illness.sfumato --public-rows new_rows.csv --interval mean -o predicted.csv
    """
    given = _said_public("predict", file, rows, public_rows)
    check_new(output, force, file, given)
    release = opened(file)
    if interval not in (None, *_INTERVALS):
        raise ArgumentError(f"--interval must be {' or '.join(_INTERVALS)}; got {interval!r}.")
    if proba and interval is not None:
        raise ArgumentError(
            "--proba and --interval exclude each other: --interval mean gives the probability of the second level."
        )
    expect_public(given, ledger, witness)
    head, table, note = _predictions(release, given, proba, interval, level)
    _noted(note)
    if as_json:
        named = [dict(zip(head, row, strict=True)) for row in table] if interval is not None else table
        emit(True, [row[0] for row in table] if len(head) == 1 else named, "")
        return
    _written(release, head, table, output, force)


def _predictions(
    release: Any, rows: Path, proba: bool, interval: str | None, level: float
) -> tuple[list[str], list[Any], str]:
    """The names of the columns, a row of values for each row of the file, and what was replaced in its cells."""
    if interval is not None:
        made = release.predict_interval(public_rows=rows, level=level, of=interval)
        ends = (made.estimate.tolist(), made.lower.tolist(), made.upper.tolist())
        return [made.what, "lower", "upper"], list(zip(*ends, strict=True)), made.note
    note = release.rows_note(public_rows=rows)
    if proba:
        schema = _declared(release)
        levels = schema.columns[schema.target or ""].levels or ()
        return [str(each) for each in levels], release.predict_proba(public_rows=rows).tolist(), note
    return ["prediction"], [[value] for value in release.predict(public_rows=rows).tolist()], note


def _said_public(command: str, file: Path, unsaid: Path | None, given: Path | None) -> Path:
    """The table of public rows, which the command line must say to be public."""
    if unsaid is None and given is not None:
        return given
    name = "ROWS.csv" if unsaid is None else shlex.quote(str(unsaid))
    raise ArgumentError(
        "rows that are read without noise must be public, and be said to be: "
        f"sfumato query {command} {shlex.quote(str(file))} --public-rows {name}"
    )


def _noted(note: str) -> None:
    """One line to standard error on cells that were clipped or empty, where there were any."""
    if note:
        typer.echo(f"sfumato: {visible(note)}", err=True)


def _written(
    release: Any, head: Sequence[str], table: Sequence[Sequence[Any]], output: Path | None, force: bool
) -> None:
    """A CSV file, or aligned values on the terminal, with a header."""
    from sfumato.shells import csv_output
    from sfumato.wording import notice

    if output is not None:
        text = csv_output.table([list(head), *table], notice(release))
        write_new(output, text, f"wrote {len(table):,} rows to {output}", force)
        return
    shown = [[_cell(each) for each in row] for row in table]
    lines = [list(map(visible, head)), *shown]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    typer.echo("\n".join("  ".join(map(str.rjust, line, widths)) for line in lines))


def _cell(value: Any) -> str:
    from sfumato.shells.csv_output import defused

    return f"{value:.6g}" if isinstance(value, float) else visible(str(defused(value)))


def _declared(release: Any) -> Any:
    """The schema of the release."""
    from sfumato.schema import Schema

    return Schema.from_json(release.schema["document"])


def effects(
    file: ReleaseFile,
    rows: Unsaid = None,
    public_rows: PublicRows = None,
    level: Level = 0.9,
    output: Output = None,
    force: Force = False,
    ledger: LedgerPlace = None,
    witness: WitnessFile = None,
    as_json: Json = False,
) -> None:
    """Marginal effects: how the probability, rate, mean or quantile changes with each column, averaged over public rows.

    Example: sfumato query effects illness.sfumato --public-rows typical_rows.csv -o effects.csv
    """
    given = _said_public("effects", file, rows, public_rows)
    check_new(output, force, file, given)
    release = opened(file)
    expect_public(given, ledger, witness)
    made = release.marginal_effects(public_rows=given, level=level)
    _noted(made.note)
    if output is not None:
        _save(release, "column", made.names, made.columns(), output, force)
        return
    columns = {name: values.tolist() for name, values in made.columns().items()}
    document = {label: {name: values[k] for name, values in columns.items()} for k, label in enumerate(made.names)}
    emit(as_json, {"what": made.what, "effects": document}, str(made))


def _save(
    release: Any,
    first: str,
    labels: Sequence[str],
    columns: Mapping[str, Any],
    output: Path | None = None,
    force: bool = False,
) -> None:
    """A row for each label as CSV, in a file or printed; what does not exist is an empty cell."""
    cells = zip(*columns.values(), strict=True)
    rows = [
        [label, *("" if value is None or (isinstance(value, float) and math.isnan(value)) else value for value in row)]
        for label, row in zip(labels, cells, strict=True)
    ]
    if output is None:
        emit_csv(release, [first, *columns], rows)
    else:
        _written(release, [first, *columns], rows, output, force)


def _weight(text: str) -> tuple[str, float]:
    """Name and weight of "region=north=1": the weight follows the last sign of equality."""
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise ArgumentError(f"a weight must be name=number, such as region=north=1; got {text!r}.") from None


def _references(release: Any, texts: list[str] | None) -> dict[str, Any] | None:
    """{"region": "south"} of "region=south"; a level that is a number is read as one."""
    chosen: dict[str, Any] = {}
    columns = _declared(release).columns if texts else {}
    for text in texts or ():
        name, mark, level = text.partition("=")
        if not mark:
            raise ArgumentError(f"--reference must be column=level; got {text!r}.")
        levels = getattr(columns.get(name), "levels", None) or ()
        chosen[name] = next((each for each in levels if str(each) == level), level)
    return chosen or None


def _by_name(table: Any) -> dict[str, Any]:
    """Every number of a table of coefficients by coefficient and column; None for one that does not exist."""
    columns = {name: values.tolist() for name, values in table.columns().items()}
    return {
        label: {name: None if values[k] != values[k] else values[k] for name, values in columns.items()}
        for k, label in enumerate(table.labels)
    }


def _document(made: Any) -> dict[str, Any]:
    """The summary of a regression as `--json` prints it."""
    return {
        "title": made.title,
        **dict(made.facts),
        "coefficients": _by_name(made.coefficients),
        "clipped": None if made.clipped is None else made.clipped.to_json(),
        "notes": made.notes,
    }


def add_to(app: typer.Typer) -> None:
    """Add the commands; each is named after its function."""
    for command in (summary, coefficients, contrast, predict, effects):
        app.command()(blames_a_forged_file(command))
