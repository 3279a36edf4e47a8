"""The results of a network in the report: its graph, its strongest tables, the shares of every column, and all numbers folded."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.reading import model_from_json
from sfumato.pictures import of_network, svg
from sfumato.pictures._dependence import FAMILY, LISTED
from sfumato.pictures.results import interval, word
from sfumato.queries.shares_by_level import Shares
from sfumato.queries.statistics.network_tables import unreadable
from sfumato.shells.html_page import folded, paragraph, table

# Rows of shares that are shown at once; the columns after them are folded.
_SHARES = 60


def is_shown(release: Any) -> bool:
    """Whether a release is of a Bayesian network with noisy counts, from which intervals are computed."""
    model = model_from_json(release.plan["model"])
    return isinstance(model, BayesianNetwork) and unreadable(model, release.draws.totals is not None) is None


def results(release: Any, level: float, most: int) -> str:
    """The graph, the strongest tables, the shares of all columns; then every table as numbers, folded.

    Of a table with more lines than `most` the folded part has the command that prints them.
    """
    model: Any = model_from_json(release.plan["model"])
    parts = [svg.figure(of_network.graph(release, level)), f"<p>{escape(_arrows(release, level))}</p>"]
    drawn = of_network.strongest(release, level)
    if drawn:
        parts.append(f"<h3>The strongest dependences</h3><p>{LISTED}</p>")
    parts += [f"{svg.figure(shown.picture)}<p>{escape(shown.reading)}</p>" for shown in drawn]
    parts.append("<h3>Each column by itself</h3>")
    parts += shares_pictures(release, model.sizes, level)
    parts.append("<h3>All numbers, by column</h3>")
    parts += [_column(release, model, name, level, most) for name in model.sizes]
    parts.append(
        "<p>Intervals include the privacy noise and the sampling of the records. Columns that no table counts together have "
        "shares, computed through other columns, and no intervals.</p>"
    )
    return "".join(parts)


def _arrows(release: Any, level: float) -> str:
    """What an arrow and its thickness mean, with the strongest as an example."""
    measured = of_network.strengths(release)
    if not measured:
        return "The network has no arrows: each column was counted by itself."
    said = (
        "An arrow leads from a column to one that was counted together with it. The arrows were chosen in the plan and do not "
        "show causes. The thicker an arrow, the more the shares of the second column differ between the levels of the first "
        "(Cramér's V of the released counts, from 0 to 1, less what noise adds on average)."
    )
    clear = {link: each for link, each in measured.items() if each.clear}
    if clear:
        (first, second), best = max(clear.items(), key=lambda item: item[1].strength)
        said += f" The strongest is {first} to {second}, {best.strength:.2f}."
    if len(clear) < len(measured):
        said += (
            " Broken arrows cannot be distinguished from noise. Were all columns independent, any arrow would be whole in "
            f"{100 * FAMILY:g} of 100 networks at most."
        )
    return said


def shares_pictures(release: Any, sizes: Mapping[str, int], level: float) -> list[str]:
    """The shares of the columns in one picture, and those that would make it too long in a folded one."""
    shown: list[str] = []
    rows = 0
    for name, size in sizes.items():
        rows += 1 if size == 2 else size + 1
        if rows > _SHARES and shown:
            break
        shown.append(name)
    rest = [name for name in sizes if name not in shown]
    parts = [svg.figure(of_network.shares(release, level, shown))]
    if rest:
        parts.append(folded(f"Shares of {len(rest)} more columns", svg.figure(of_network.shares(release, level, rest))))
    return parts


def _column(release: Any, model: Any, name: str, level: float, most: int) -> str:
    """The numbers of one column, folded: its shares, and those given its parents."""
    inner = share_numbers(release.marginal(name, interval=level))
    above = model.above[name]
    if not above:
        return folded(name, inner)
    inner += f"<p>Given {escape(' and '.join(above))}:</p>"
    if math.prod(model.sizes[each] for each in (name, *above)) > most:
        given = " ".join(f"--given {shlex.quote(each)}" for each in above)
        asked = f"sfumato query conditional FILE {shlex.quote(name)} {given} --interval {level:g}"
        inner += f"<p>More lines than fit here; they are printed by <code>{escape(asked)}</code>.</p>"
    else:
        inner += share_numbers(release.conditional(name, list(above), interval=level))
    return folded(f"{name}, given {' and '.join(above)}", inner)


def share_numbers(shares: Shares, joint: bool = False) -> str:
    """The shares of a column with their intervals, all with the same decimals; a heading for each combination of parents.

    Shares of the combinations themselves are `joint`.
    """
    if shares.lower is None or shares.upper is None:
        return ""
    write = of_network.decimals(((shares.upper - shares.lower) / 2).ravel().tolist())
    *above, column = shares.columns
    rows, groups = [], []
    for index in np.ndindex(*shares.values.shape):
        *given, level = (levels[k] for levels, k in zip(shares.levels, index, strict=True))
        ends = interval(float(shares.lower[index]), float(shares.upper[index]), write)
        rows.append([word(level), shares.said(index, write)[0], ends])
        groups.append(of_network.in_words(above, given))
    head = [column, "share", f"{100 * (shares.level or 0):g} % interval"]
    given_to = f" given {' and '.join(above)}" if above and not joint else " among all records"
    caption = f"Shares of {' and '.join(shares.columns) if joint else column}{given_to}"
    made = table(head, rows, groups=groups if above else (), caption=caption)
    return made + paragraph("In place of a share", shares.meaning)
