"""`sfumato query` of tables: cross tables, histograms of a number, and the shares of networks, with their intervals."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sfumato.errors import ArgumentError
from sfumato.shells.forged_files import blames_a_forged_file
from sfumato.shells.printing import Json, emit
from sfumato.shells.query_commands import Csv, ReleaseFile, emit_csv, opened

Level = Annotated[float, typer.Option(help="How often an interval should hold the share or count.")]
Interval = Annotated[
    float | None, typer.Option(help="Level of the intervals, 0.9 by default; from noisy counts, where there are any.")
]


def cross_table(
    file: ReleaseFile,
    columns: Annotated[list[str] | None, typer.Argument(help="Columns of the table; all if left out.")] = None,
    of: Annotated[str, typer.Option(help='"shares", "counts", "row shares" or "column shares".')] = "shares",
    level: Level = 0.9,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """A released cross table with an interval for every cell and margin; the last column runs across.

    Example: sfumato query cross-table smokers.sfumato region smoker --of "row shares"
    """
    release = opened(file)
    view = release.cross_table(*(columns or ()), of=of, level=level)
    _shown(release, view.cells, as_json, as_csv, str(view), of=view.of, records=view.n)


def histogram(
    file: ReleaseFile,
    of: Annotated[str, typer.Option(help='"shares" or "counts".')] = "shares",
    level: Level = 0.9,
    quantile: Annotated[
        list[float] | None, typer.Option(help="Also an approximate quantile, between 0 and 1; may be repeated.")
    ] = None,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """A released histogram of a number with an interval for every bin, and approximate quantiles.

    Example: sfumato query histogram ages.sfumato --of counts --quantile 0.5
    """
    release = opened(file)
    view = release.histogram(of, level)
    replies = [view.quantile(q, level) for q in quantile or ()]
    text, values = "\n".join([str(view), *map(str, replies)]), [each.value for each in replies]
    _shown(release, view.bins, as_json, as_csv, text, of=of, records=view.n, quantiles=values)


def marginal(
    file: ReleaseFile,
    columns: Annotated[list[str], typer.Argument(help="Columns of the network, learnt table or cross table.")],
    interval: Interval = None,
    as_json: Json = False,
) -> None:
    """Joint shares of some columns of a released network, learnt table or cross table.

    Example: sfumato query marginal table.sfumato region smoker --interval 0.9
    """
    table = opened(file).marginal(columns, interval=interval)
    emit(as_json, _document(table), str(table))


def conditional(
    file: ReleaseFile,
    column: Annotated[str, typer.Argument(help="The column whose shares are asked for.")],
    given: Annotated[list[str], typer.Option(help="A column, or column=level; may be repeated.")],
    interval: Interval = None,
    as_json: Json = False,
) -> None:
    """Shares of a column of a released network, learnt table or cross table, given other columns or their levels.

    Example: sfumato query conditional table.sfumato smoker --given region --interval 0.9
    """
    release = opened(file)
    table = release.conditional(column, _given(release, given), interval=interval)
    emit(as_json, _document(table), str(table))


def group_sizes(file: ReleaseFile, level: Level = 0.9, as_json: Json = False) -> None:
    """How many records each group of a release by group holds: noisy counts with intervals.

    Example: sfumato query group-sizes means.sfumato
    """
    sizes = opened(file).group_sizes(level)
    emit(as_json, _document(sizes), str(sizes))


def _given(release: Any, given: list[str]) -> Any:
    """Columns by name, or a mapping from columns to levels as the release has them."""
    pairs = [text.partition("=") for text in given]
    if len({bool(sign) for _, sign, _ in pairs}) > 1:
        raise ArgumentError("--given takes columns alone, or column=level for each of them; got both.")
    if not pairs[0][1]:
        return given
    levels = {name: release.marginal(name).levels[0] for name, _, _ in pairs}
    # Levels that are numbers or yes and no are written as texts on a command line.
    return {name: next((each for each in levels[name] if str(each) == text), text) for name, _, text in pairs}


def _document(shares: Any) -> dict[str, Any]:
    """Shares or counts as `--json` prints them: a row for each combination, null for an estimate that is not shown."""
    names, rows = shares.table()
    named = [dict(zip(names, row, strict=True)) for row in rows]
    return {"columns": shares.columns, "levels": shares.levels, "level": shares.level, "rows": named}


def _shown(release: Any, shares: Any, as_json: bool, as_csv: bool, text: str, **more: Any) -> None:
    """Print shares or counts as a table, as JSON or as CSV."""
    if as_csv:
        emit_csv(release, *shares.table())
    else:
        emit(as_json, {**more, **_document(shares)}, text)


def add_to(app: typer.Typer) -> None:
    """Add the commands to `sfumato query`."""
    for command in (cross_table, histogram, marginal, conditional, group_sizes):
        app.command()(blames_a_forged_file(command))
