"""The pictures of a Bayesian network: its graph, its strongest tables, and the shares of its columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from sfumato.models.networks.learned import MISSING
from sfumato.models.reading import model_from_json
from sfumato.pictures import axes
from sfumato.pictures._dependence import Dependence, dependence
from sfumato.pictures._svg_text import fitted, width
from sfumato.pictures.description import Edge, Graph, Node, Picture, Row, Rows
from sfumato.pictures.dot_plots import from_results
from sfumato.pictures.results import LITTLE, fixed, interval, of_family, word
from sfumato.queries import tables
from sfumato.queries.at_the_edge import in_words as said_in_words
from sfumato.queries.at_the_edge import state
from sfumato.queries.learned_tables import is_learned
from sfumato.queries.shares_by_level import Shares
from sfumato.queries.statistics.network_tables import unreadable

# Tables that are drawn, and rows of a picture that still fit a screen or two.
STRONGEST, MOST_ROWS = 4, 24
# The strength at which an arrow is thickest, where no dependence is stronger: a "large" effect of one degree of freedom is 0.5
# and a "medium" one 0.3 (Cohen, Statistical Power Analysis, 1988).
_FULL = 0.3
# A share with a coefficient of variation above one third is too unreliable to be published on its own (Statistics Canada,
# Quality Guidelines).
_VARIATION = 1 / 3
# Levels with an order of their own: numbers, dates, bins.
_ORDERED = re.compile(r"^[\[(<>≤≥]?\s*-?\d")
# Pixels of a heading in bold letters on a narrow screen, a tenth less than it is wide, and of the shortest name in it.
_HEADING, _LEAST_NAME = 320.0, 30.0
# Arrows that a text for readers without the picture lists.
_LISTED = 12


@dataclass(frozen=True)
class Shown:
    """A table of a column given its parents: its strength, its picture, and one sentence that reads it."""

    column: str
    strength: float
    picture: Rows
    reading: str


def pictures(release: Any, level: float = 0.9) -> list[Picture]:
    """The graph, then the strongest tables; without noisy counts a graph with equal arrows, then all tables in one picture."""
    if unreadable(_model(release), release.draws.totals is not None):
        return [graph(release, level), from_results(of_family(release, level), None, release.private)]
    return [graph(release, level), *(shown.picture for shown in strongest(release, level))]


def graph(release: Any, level: float = 0.9) -> Graph:
    """The network's arrows, as thick as the dependence that the noisy counts show is strong."""
    above = _model(release).above
    names = list(above)
    nodes = tuple(map(Node, names))
    links = [(parent, name) for name in names for parent in above[name]]
    known = strengths(release)
    if not known:
        edges = tuple(Edge(names.index(a), names.index(b)) for a, b in links)
        alt = f"{_arrows_in_words(links)} All arrows are equally thick: how strong a dependence is was not estimated."
        return Graph(titled(release, "Columns of the network and their parents"), nodes, edges, alt)
    top = max(_FULL, *(each.strength for each in known.values()))
    edges = tuple(
        Edge(names.index(a), names.index(b), known[a, b].strength / top, faint=not known[a, b].clear) for a, b in links
    )
    ranked = sorted(known, key=lambda link: (not known[link].clear, -known[link].strength))
    listed = [f"{a} to {b} {_strength(known[a, b])}" for a, b in ranked[:_LISTED]]
    more = f", and {len(ranked) - _LISTED} weaker ones" if len(ranked) > _LISTED else ""
    alone = [name for name in names if not any(name in link for link in links)]
    apart = f" Without arrows: {', '.join(alone)}." if alone else ""
    alt = f"Arrows with the strength of their dependence from 0 to 1: {'; '.join(listed)}{more}.{apart}"
    title = titled(release, "Columns of the network; thicker arrows are stronger dependences")
    return Graph(title, nodes, edges, alt)


def strengths(release: Any) -> dict[tuple[str, str], Dependence]:
    """(parent, column) -> how strongly the two depend on each other; empty without noisy counts.

    The table of a column counts it together with each of its parents, so the pair is a sum of that table's noisy cells, and
    the noise of the sum is known. No record and no other table is used.
    """
    network = tables.read(release.draws, release.plan, release.schema)
    measured, tests = {}, sum(map(len, _model(release).above.values()))
    for counted in () if isinstance(network.counted, str) else network.counted:
        *parents, column = counted.columns
        for place, parent in enumerate(parents):
            others = tuple(k for k in range(len(parents)) if k != place)
            summed = math.prod(counted.counts.shape[k] for k in others)
            pair = counted.counts.sum(axis=others)
            measured[parent, column] = dependence(pair, counted.variance * summed, tests)
    return measured


def strongest(release: Any, level: float = 0.9, most: int = STRONGEST) -> list[Shown]:
    """The tables in which a column depends most on its parents taken together, the strongest first."""
    network = tables.read(release.draws, release.plan, release.schema)
    ranked = []
    held = [each for each in (() if isinstance(network.counted, str) else network.counted) if len(each.columns) > 1]
    for counted in held:
        joint = dependence(counted.counts.reshape(-1, counted.counts.shape[-1]), counted.variance, len(held))
        if joint.clear:
            ranked.append((joint.strength, counted))
    ranked.sort(key=lambda pair: -pair[0])
    return [shown_table(release, counted, strength, level) for strength, counted in ranked[:most]]


def shares(release: Any, level: float = 0.9, columns: Sequence[str] | None = None) -> Rows:
    """The shares of every column, or of some: a heading for each, a column of yes and no as one row."""
    plain: list[Row] = []
    headed: list[Row] = []
    for name in _model(release).above if columns is None else columns:
        answer = column_shares(release, name, level)
        own = _column_rows(answer, level)
        if _is_yes_no(answer.levels[0]):
            plain += [replace(row, label=f"{name} = yes") for row in own if row.label == "yes"]
        else:
            headed += [replace(row, group=name) for row in own]
    rows = with_details([*sorted(plain, key=lambda row: -row.middle), *headed])
    ends = f", with {100 * level:g} % intervals" if any(row.lower is not None for row in rows) else ""
    listed = (f"{row.group + ' = ' if row.group else ''}{row.label} {row.detail}" for row in rows[:_LISTED])
    alt = f"Shares of all records: {'; '.join(listed)}{'; and others' if len(rows) > _LISTED else ''}."
    return Rows(titled(release, f"Shares of all records{ends}"), _axis("share of records", rows), rows, alt)


def column_shares(release: Any, column: str, level: float) -> Shares:
    """The shares of one column, with intervals where the network has noisy counts, as every learnt table has."""
    reason = None if is_learned(release.plan) else unreadable(_model(release), release.draws.totals is not None)
    answer: Shares = release.marginal(column) if reason else release.marginal(column, interval=level)
    return answer


def in_words(names: Sequence[str], levels: Sequence[Any]) -> str:
    """The levels of some columns: smoker = yes and active = no."""
    return _and([f"{name} = {word(level)}" for name, level in zip(names, levels, strict=True)])


def with_details(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows with their numbers at the end, all with the same decimals: two digits of a typical half interval."""
    listed = list(rows)
    halves = [(row.upper - row.lower) / 2 for row in listed if row.lower is not None and row.upper is not None]
    write = decimals(halves)
    return tuple(replace(row, detail=_detail(row, write)) for row in listed)


def decimals(halves: Sequence[float]) -> Callable[[float], str]:
    """A function that writes shares with 2 to 4 decimals: two digits of the half interval below which a quarter of them lie."""
    typical = float(np.quantile(halves, 0.25)) if len(halves) else 0.01
    digits = 2 if typical >= 0.01 else 3 if typical >= 0.001 else 4
    return fixed(digits)


def shown_table(release: Any, counted: Any, strength: float, level: float, spread: bool = False) -> Shown:
    """The picture of one table and its reading; of a large table the combinations of parents with the most records.

    With `spread` those evenly apart instead: bins hold about equally many records, and their ends say more.
    """
    *parents, column = counted.columns
    own = column_shares(release, column, level)
    yes_no = _is_yes_no(own.levels[0])
    each = 1 if yes_no else len(own.levels[0])
    weights = counted.counts.sum(axis=-1)
    size, kept = weights.size, max(MOST_ROWS // each, 1)
    levels = _levels(release, parents)
    chosen = set(np.argsort(-weights, axis=None, kind="stable")[:kept].tolist())
    if spread and kept < size:
        chosen = {round(k * (size - 1) / max(kept - 1, 1)) for k in range(kept)}
    combinations = [combo for k, combo in enumerate(product(*levels)) if k in chosen]
    rows: list[tuple[tuple[Any, ...], Row]] = []
    for combination in combinations:
        given = dict(zip(parents, combination, strict=True))
        answer = release.conditional(column, given, interval=level)
        rows += [
            (combination, row) for row in _column_rows(answer, level, ordered=True) if not yes_no or row.label == "yes"
        ]
    texts = [in_words(parents, combination) for combination, _ in rows]
    if yes_no:
        *before, last = parents
        listed = [
            replace(row, label=_heading([last], combo[-1:]), group=_heading(before, combo[:-1])) for combo, row in rows
        ]
    else:
        listed = [replace(row, group=_heading(parents, combo)) for combo, row in rows]
    pictured = with_details(listed)
    what = f"{column} = yes" if yes_no else column
    reading = _reading(column, yes_no, own, pictured, texts)
    most = f"{len(chosen)}" if spread else f"the {kept} most frequent"
    part = f" ({most} of {size} combinations)" if kept < size else ""
    title = f"Shares of {what}, given {_and(parents)}{part}, with {100 * level:g} % intervals"
    alt = f"{reading} {len(pictured)} rows with intervals."
    axis = _axis(f"share with {what}" if yes_no else f"share of each level of {column}", pictured)
    return Shown(column, strength, Rows(titled(release, title), axis, pictured, alt), reading)


def _reading(column: str, yes_no: bool, own: Shares, rows: Sequence[Row], texts: Sequence[str]) -> str:
    """Where the column's share is farthest above its share of all records, if the interval excludes that one."""
    overall = {word(level): float(value) for level, value in zip(own.levels[0], own.values, strict=True)}
    best, where = None, ""
    for row, text in zip(rows, texts, strict=True):
        base = overall["yes" if yes_no else row.label]
        if row.lower is None or row.faint or not row.dot or row.lower <= base:
            continue
        if best is None or row.middle - base > best[0]:
            best, where = (row.middle - base, row, base), text
    if best is None:
        return f"No share of {column} lies clearly above its share of all records."
    _, row, base = best
    named = column if yes_no else f"{column} = {row.label}"
    # The largest of several estimates is the largest share for certain only where no other interval reaches its own.
    others = [each for each in rows if each is not row and (yes_no or each.label == row.label)]
    apart = all(each.upper is not None and each.upper < (row.lower or 0.0) for each in others)
    claim = "is most frequent" if apart else "has its highest estimate"
    return f"{named} {claim} where {where}: {row.detail}; among all records {base:.2f}."


def _column_rows(answer: Shares, level: float, ordered: bool = False) -> list[Row]:
    """A row for each level of one column; without an order of their own from the largest share to the smallest."""
    rows = []
    for k, value in enumerate(answer.values):
        low, high = (None if ends is None else float(ends[k]) for ends in (answer.lower, answer.upper))
        row = Row(word(answer.levels[0][k]), float(value), low, high)
        rows.append(replace(row, faint=_is_little(row, level), dot=not answer.state((k,))))
    keeps = ordered or all(_ORDERED.match(row.label) or row.label == MISSING for row in rows)
    return rows if keeps else sorted(rows, key=lambda row: (not row.dot, -row.middle))


def titled(release: Any, title: str) -> str:
    return title if release.private else f"NOT PRIVATE: {title}"


def _model(release: Any) -> Any:
    return model_from_json(release.plan["model"])


def _is_little(row: Row, level: float) -> bool:
    from scipy.special import ndtri

    if row.lower is None or row.upper is None:
        return False
    return bool((row.upper - row.lower) / 2 / ndtri(0.5 + 0.5 * level) > _VARIATION * row.middle)


def _levels(release: Any, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return [release.marginal(name).levels[0] for name in names]


def _is_yes_no(levels: Sequence[Any]) -> bool:
    return len(levels) == 2 and all(isinstance(level, bool | np.bool_) for level in levels)


def _heading(names: Sequence[str], levels: Sequence[Any]) -> str:
    """The levels of some columns, whose names are shortened so that the levels, in which headings differ, stay whole."""
    ends = [f" = {word(level)}" for level in levels]
    left = _HEADING - sum(map(width, ends)) - width(", ") * (len(names) - 1)
    shorter = {}
    # The shortest names first: what they do not need goes to the longer ones.
    for place, name in enumerate(sorted(names, key=width)):
        shorter[name] = fitted(name, max(left / (len(names) - place), _LEAST_NAME))
        left -= width(shorter[name])
    return ", ".join(shorter[name] + end for name, end in zip(names, ends, strict=True))


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _detail(row: Row, write: Callable[[float], str]) -> str:
    if row.lower is None or row.upper is None:
        return write(row.middle)
    if not row.dot:
        said = state(row.middle, row.lower, row.upper, (0.0, 1.0), True)
        return said_in_words(row.middle, row.lower, row.upper, said, write)
    if row.faint:
        # The ends are in the picture and in the table; beside them there would be no room for the words.
        return f"{write(row.middle)}, {LITTLE}"
    return f"{write(row.middle)} ({interval(row.lower, row.upper, write)})"


def _axis(name: str, rows: Sequence[Row]) -> Any:
    """From 0 to the largest end, so that lengths compare with the whole."""
    high = max((row.middle if row.upper is None else row.upper for row in rows), default=1.0)
    return axes.linear(name, 0.0, min(1.0, 1.05 * high) or 1.0)


def _strength(measured: Dependence) -> str:
    return f"{measured.strength:.2f}" if measured.clear else "not distinguishable from noise"


def _arrows_in_words(links: Sequence[tuple[str, str]]) -> str:
    listed = "; ".join(f"{a} to {b}" for a, b in links[:_LISTED])
    more = f"; and {len(links) - _LISTED} others" if len(links) > _LISTED else ""
    return f"Arrows: {listed}{more}." if links else "No arrows."
