"""`sfumato query`: questions to a saved release. They need no data and cost nothing, however many are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato._validate import visible
from sfumato.errors import ArgumentError
from sfumato.shells.file_kinds import expect
from sfumato.shells.forged_files import blames_a_forged_file
from sfumato.shells.printing import Force, Json, check_new, emit, write_new

app = typer.Typer(
    help="Ask a release anything, any number of times: it costs nothing and needs no data.", no_args_is_help=True
)
# What `--include` of an interval may be.
_INCLUDE = '"privacy and sampling", "privacy" alone, or "robust": right where the model is wrong too, for a release with scores.'
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
ReleaseFile = Annotated[Path, typer.Argument(help="A saved release.")]


def _question(command: Callable[..., None]) -> Callable[..., None]:
    """Add a command that answers from a release, its argument `file`."""
    return app.command()(blames_a_forged_file(command))


def opened(file: Path) -> Any:
    """Read the release; for one that is not private, a notice goes to standard error."""
    from sfumato.release import load
    from sfumato.wording import notice

    release = load(expect(file, "release"))
    if notice(release):
        typer.echo(f"sfumato: {notice(release)}", err=True)
    return release


def _table(labels: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """A row of numbers for each label, aligned under the columns' names."""
    lines = [
        [visible(str(label)), *(f"{number:.6g}" for number in row)] for label, row in zip(labels, rows, strict=True)
    ]
    table = [["", *names], *lines]
    first, *others = (max(map(len, column)) for column in zip(*table, strict=True))
    return "\n".join("  ".join([line[0].ljust(first), *map(str.rjust, line[1:], others)]).rstrip() for line in table)


def _by_label(release: Any, columns: dict[str, Any], as_json: bool) -> None:
    """Print one number of every label for each column."""
    names = list(columns)
    rows = list(zip(*(values.ravel().tolist() for values in columns.values()), strict=True))
    document = {label: dict(zip(names, row, strict=True)) for label, row in zip(release.labels, rows, strict=True)}
    emit(as_json, document, _table(_labels(release), names, rows))


def _labels(release: Any) -> Sequence[str]:
    """Labels for people: private bins by their edges, and dates as dates. Programs get those of the file."""
    from sfumato.wording import shown_labels

    shown: Sequence[str] = shown_labels(release) if release.labels == release.draws.labels else release.labels
    return shown


def numbers(release: Any, made: Any, as_json: bool, as_csv: bool) -> None:
    """Print estimates with their intervals as a table, as JSON by label, or as CSV."""
    from sfumato.queries.at_the_edge import meaning
    from sfumato.queries.coefficients import aligned
    from sfumato.wording import number_writer

    if as_csv:
        csv_of(release, made)
        return
    head = ["", made.name, *([] if made.ends is None else [f"{100 * made.level:g} % interval"])]
    said = made.texts(number_writer(release))
    lines = [[visible(str(label)), *filter(None, each)] for label, each in zip(_labels(release), said, strict=True)]
    notes = [meaning(made.states), f"No interval: {made.reason}" if made.reason else ""]
    table = "\n".join(["\n".join(aligned([head, *lines])), *(f"\n{note}" for note in notes if note)])
    emit(as_json, made.by_label(), table)


def csv_of(release: Any, made: Any) -> None:
    """Print estimates with their intervals as CSV."""
    columns = made.columns()
    emit_csv(release, ["label", *columns], zip(_labels(release), *columns.values(), strict=True))


def emit_csv(release: Any, head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table as CSV, with a notice before it for a release that is not private."""
    from sfumato.shells import csv_output
    from sfumato.wording import notice

    typer.echo(csv_output.table([head, *rows], notice(release)), nl=False)


def _say_clipping(release: Any, as_json: bool) -> None:
    """Print what the declared bounds and several rows of one person do to the answer; of a regression its summary says so."""
    from sfumato.queries.own_units import regression_of
    from sfumato.wording import clipping_in_words, counting_in_words

    if as_json or regression_of(release.plan) is not None:
        return
    for note in filter(None, (clipping_in_words(release), *(said for _, said in counting_in_words(release)))):
        typer.echo(f"\n{visible(note[:1].upper() + note[1:])}")


@_question
def mean(
    file: ReleaseFile,
    draws: Annotated[bool, typer.Option("--draws", help="The mean of the draws, as they were released.")] = False,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Every number's estimate with its 90 % interval; with --draws the mean of the draws, which may lean.

    Example: sfumato query mean smokers.sfumato
    """
    from sfumato.queries.one_number import OF_DRAWS

    release = opened(file)
    if draws:
        _by_label(release, {OF_DRAWS: release.mean()}, as_json)
    else:
        numbers(release, release.numbers(), as_json, as_csv)
    _say_clipping(release, as_json or as_csv)


@_question
def interval(
    file: ReleaseFile,
    level: Annotated[float, typer.Option(help="How often the interval should hold the parameter.")] = 0.9,
    include: Annotated[str, typer.Option(help=_INCLUDE)] = "privacy and sampling",
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Intervals that include the privacy noise, not only the spread of the draws.

    Example: sfumato query interval smokers.sfumato --level 0.95
    """
    release = opened(file)
    made = release.numbers(level, include)
    if made.ends is None:
        raise ArgumentError(made.reason)
    numbers(release, made, as_json, as_csv)
    unknown = release.prior_dominated(made.ends, level)
    if unknown and not (as_json or as_csv):
        typer.echo(f"\n{visible(unknown)}")
    _say_clipping(release, as_json or as_csv)


@_question
def quantile(
    file: ReleaseFile, at: Annotated[float, typer.Option(help="Between 0 and 1.")] = 0.5, as_json: Json = False
) -> None:
    """A quantile of the released draws; of a release of Quantiles or a histogram, that quantile of the column.

    Example: sfumato query quantile smokers.sfumato --at 0.9
    """
    release = opened(file)
    if release.plan["model"].get("family") == "Quantiles":
        asked = release.column_quantiles(at)
        low, high = (float(end[0]) for end in asked.intervals)
        facts = {"at": at, "estimate": float(asked.estimates[0]), "lower": low, "upper": high, "level": asked.level}
        emit(as_json, facts, str(asked))
        _say_clipping(release, as_json)
        return
    if release.plan["model"].get("family") == "Histogram":
        reply = release.histogram().quantile(at)
        emit(as_json, {"at": at, "value": reply.value, "sentence": reply.sentence}, str(reply))
        return
    if len(release.draws.pooled()) == 1:
        raise ArgumentError(f"{_single(release)} has no quantiles: ask for an interval{_more(release)}.")
    _by_label(release, {f"quantile {at:g}": release.quantile(at)}, as_json)


@_question
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
    release = opened(file)
    draws = release.in_units().pooled()
    if len(draws) == 1:
        raise ArgumentError(f"{_single(release)} has no shares: ask for an interval{_more(release)}.")
    if above is not None:
        shares = {f"share of draws above {above:g}": (draws > above).mean(axis=0)}
    else:
        shares = {f"share of draws below {below:g}": (draws < below).mean(axis=0)}
    _by_label(release, shares, as_json)


def _single(release: Any) -> str:
    """What a release of one point is called."""
    return "one draw" if release.kind == "draws" else "an estimate"


def _more(release: Any) -> str:
    return ", or plan with more draws" if release.kind == "draws" else ""


@_question
def top(file: ReleaseFile, k: Annotated[int, typer.Option(help="How many.")] = 1, as_json: Json = False) -> None:
    """The k categories with the largest shares.

    Example: sfumato query top regions.sfumato --k 3
    """
    reply = opened(file).ask.top(k)
    emit(as_json, {"value": reply.value, "sentence": reply.sentence}, str(reply))


@_question
def attacker(file: ReleaseFile, as_json: Json = False) -> None:
    """What somebody who knows every other record can still tell about one.

    Example: sfumato query attacker smokers.sfumato
    """
    # The answer is computed from the recorded guarantee, so the record is verified first.
    answer = opened(file).verify().attacker()
    emit(as_json, {"success": answer.success, "sentence": answer.sentence}, str(answer))


@_question
def synthesize(
    file: ReleaseFile,
    rows: Annotated[int, typer.Option(help="How many rows.")] = 1000,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A CSV file; the terminal if left out.")] = None,
    force: Force = False,
) -> None:
    """A synthetic table from a released network or learnt table, as CSV: any number of rows, at no further cost.

    Separator, decimal mark and encoding are those that the schema declares for the data; missing cells are empty.

    Example: sfumato query synthesize table.sfumato --rows 5000 -o synthetic.csv
    """
    from sfumato.schema import Schema
    from sfumato.shells import csv_output
    from sfumato.wording import notice

    check_new(output, force, file)
    release = opened(file)
    # Arrow holds whole numbers with missing cells as whole numbers; NumPy would make floats of them.
    table = release.synthesize(rows, to="arrow")
    records = zip(*(column.to_pylist() for column in table.columns), strict=True)
    form = Schema.from_json(release.schema["document"]).form
    tabs = output is not None and output.suffix == ".tsv"
    separator = form.separator or ("\t" if tabs else ",")
    lines = [table.column_names, *records]
    if not form.header:  # every column of the file at its place; those that were not released are empty
        lines = [
            [dict(zip(table.column_names, row, strict=True)).get(name) for name in form.names] for row in lines[1:]
        ]
    text = csv_output.table(lines, notice(release), separator, form.decimal)
    write_new(output, text, f"wrote {rows:,} rows to {output}", force, form.encoding)
