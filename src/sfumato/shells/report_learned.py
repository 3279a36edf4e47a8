"""The results of a learnt table in the report: its dependences, its strongest pairs, and the shares of every column."""

from __future__ import annotations

import shlex
from html import escape
from typing import Any

from sfumato.pictures import of_learned, svg
from sfumato.pictures._dependence import FAMILY, LISTED
from sfumato.pictures.of_learned import Strength
from sfumato.queries import learned_tables
from sfumato.queries.learned_tables import LearnedTable
from sfumato.shells.html_page import folded
from sfumato.shells.report_network import share_numbers, shares_pictures

# Pairs whose shares are listed as numbers.
_LISTED = 4


def is_shown(release: Any) -> bool:
    """Whether a release is of a learnt table."""
    return learned_tables.is_learned(release.plan)


def results(release: Any, level: float, most: int) -> str:
    """The matrix of dependences, the strongest pairs with their tables, the shares of all columns; numbers are folded."""
    table = learned_tables.read(release.draws, release.plan, release.schema)
    known = of_learned.strengths(table)
    parts = [svg.figure(of_learned.matrix(release, table, known)), f"<p>{escape(_meaning(known))}</p>"]
    parts.append(f"<p>{escape(_counted(release, table))}</p>")
    drawn = of_learned.strongest(release, table, known, level)
    if drawn:
        parts.append(f"<h3>The strongest dependences</h3><p>{LISTED}</p>")
    parts += [f"{svg.figure(shown.picture)}<p>{escape(shown.reading)}</p>" for shown in drawn]
    parts += [_pair(release, table, each, level, most) for each in of_learned.ranked(known)[:_LISTED] if each.clear]
    parts.append("<h3>Each column by itself</h3>")
    parts += shares_pictures(release, table.model.sizes, level)
    parts.append(
        "<p>These shares and their intervals come from the noisy tables, not from synthetic rows. The intervals include the "
        "privacy noise and the sampling of the records. Each share is estimated by itself, so the shares of a column need not "
        "add up to 1.</p>"
    )
    numbers = [share_numbers(release.marginal(name, interval=level)) for name in table.model.names]
    parts.append(folded("All these shares as numbers", "".join(numbers)))
    return "".join(parts)


def _meaning(known: list[Strength]) -> str:
    """What a dot and its size mean."""
    said = (
        "Two columns meet where the row of one crosses the column of the other. The larger the dot, the more the shares of one "
        "differ between the levels of the other (Cramér's V, from 0 to 1, of the noisy counts, less what noise adds on average). "
        "A dependence is no cause."
    )
    if any(each.measured is None for each in known):
        said += " A hollow dot stands for a pair that was not counted together: its strength is a guess of the model."
    if any(each.measured is not None and not each.clear for each in known):
        said += (
            " A point stands for a pair that cannot be distinguished from noise. Were all columns independent, any pair would have "
            f"a dot in {100 * FAMILY:g} of 100 tables at most."
        )
    return said


def _counted(release: Any, table: LearnedTable) -> str:
    """What was counted, in one paragraph."""
    model = table.model
    pairs = sum(len(each.columns) == 2 for each in table.counted)
    said = (
        f"From {release.plan['n']:,} records (unit: {release.schema['unit']}) {_part(pairs, _all_pairs(table))} pairs of "
        f"{len(model.names)} columns were counted with noise. A mixture of distributions in which columns are independent was "
        "fitted to these tables; synthetic rows are drawn from it, as many as one likes, at no further price."
    )
    private = list(table.learnt.trees)
    if private:
        said += f" The bins of {_listed(private)} follow from noisy counts, which are part of the price."
    if model.target is not None:
        said += f" {model.target} was counted with every other column."
    if model.impossible:
        count = len(model.impossible)
        said += (
            f" {count} rule{'s' * (count > 1)} known beforehand exclude{'s' * (count == 1)} combinations of levels: no "
            "synthetic row has one."
        )
    return said


def _all_pairs(table: LearnedTable) -> int:
    count = len(table.model.names)
    return count * (count - 1) // 2


def _part(count: int, whole: int) -> str:
    return f"all {whole:,}" if count == whole else f"{count:,} of the {whole:,}"


def _listed(names: list[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more columns" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _pair(release: Any, table: LearnedTable, each: Strength, level: float, most: int) -> str:
    """The shares of a strong pair as numbers, folded; the command that prints them where they are too many."""
    first, second = each.columns
    if len(table.levels[first]) * len(table.levels[second]) > most:
        asked = f"sfumato query marginal FILE {shlex.quote(first)} {shlex.quote(second)} --interval {level:g}"
        inner = f"<p>More lines than fit here; they are printed by <code>{escape(asked)}</code>.</p>"
    else:
        inner = share_numbers(release.marginal([first, second], interval=level), joint=True)
    return folded(f"Shares of {first} and {second} together, as numbers", inner)
