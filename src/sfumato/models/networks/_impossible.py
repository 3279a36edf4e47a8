"""Combinations of two columns that cannot occur, declared beforehand: children who are married.

A rule is a mapping of two columns to conditions, both of which no record meets at once: a level, a list of levels, or for a column
of numbers a comparison such as "< 15", which must end at an edge of its public bins. Rules are public: nothing is read from rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema import Date, Number

MISSING = "missing"
_COMPARISON = re.compile(r"^\s*(<=|>=|<|>)\s*(.+?)\s*$")

# (column, positions of its levels) twice: no record has one of the first and one of the second.
Rule = tuple[tuple[str, tuple[int, ...]], tuple[str, tuple[int, ...]]]
Levels = Mapping[str, tuple[Any, ...]]


def comparison(given: Any) -> tuple[str, str] | None:
    """The sign and the number of a comparison such as "< 15"; None for anything else."""
    match = _COMPARISON.match(given) if isinstance(given, str) else None
    return None if match is None else (match[1], match[2])


def edge_of(column: Number, given: Any) -> float | None:
    """The edge of bins at which a comparison ends: of whole numbers "<= 14" and "< 15" are the same."""
    said = comparison(given)
    if said is None:
        return None
    sign, text = said
    try:
        value = float(column.edge(text)) if isinstance(column, Date) else float(text)
    except (TypeError, ValueError):
        like = "a date such as '< 2020-01-31'" if isinstance(column, Date) else "a number such as '< 15'"
        raise ArgumentError(f"impossible: {given!r} must compare with {like}.") from None
    return value + 1.0 if column.integer and sign in ("<=", ">") else value


def read_rules(given: Any, columns: Mapping[str, Any], levels: Levels, edges: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules by positions of levels; `levels` are those of every column in order, `edges` those of public bins."""
    if isinstance(given, (Mapping, str)) or not isinstance(given, Sequence):
        raise ArgumentError(
            'impossible must be a list of rules of two columns each, such as [{"age": "< 15", "marital": "married"}]; '
            f"got {_validate.shown(given)}."
        )
    return tuple(_rule(each, columns, levels, edges) for each in given)


def _rule(given: Any, columns: Mapping[str, Any], levels: Levels, edges: Mapping[str, Any]) -> Rule:
    if not isinstance(given, Mapping) or len(given) != 2:
        raise ArgumentError(
            f"a rule of impossible names two columns, each with what cannot occur together; got {_validate.shown(given)}."
        )
    for name in given:
        if name not in levels:
            raise ArgumentError(f"impossible names {name!r}, which is not a column of the table: {', '.join(levels)}.")
    first, second = ((name, _places(name, said, columns[name], levels[name], edges)) for name, said in given.items())
    return first, second


def _places(name: str, said: Any, column: Any, levels: tuple[Any, ...], edges: Mapping[str, Any]) -> tuple[int, ...]:
    """The positions of the levels, or of the bins, that a condition names."""
    if isinstance(column, Number) and comparison(said) is not None:
        return _bins(name, said, column, edges)
    listed = list(said) if isinstance(said, (list, tuple)) else [said]
    single = _single_values(column, edges.get(name))
    places = [single.get(each) if each in single else levels.index(each) if each in levels else None for each in listed]
    if not listed or None in places:
        wrong = listed[places.index(None)] if listed else said
        advice = (
            f"one of {', '.join(map(repr, levels))}, or a list of them" if len(levels) <= 12 else "a level, or a list"
        )
        more = ', or a comparison such as "< 15"' if isinstance(column, Number) else ""
        raise ArgumentError(f"impossible: {name!r} must be {advice}{more}; got {_validate.shown(wrong)}.")
    return tuple(sorted({place for place in places if place is not None}))


def _single_values(column: Any, edges: Any) -> dict[Any, int]:
    """The bins of a column of whole numbers that hold one number each, by that number."""
    if not isinstance(column, Number) or not column.integer or edges is None:
        return {}
    return {int(a): place for place, (a, b) in enumerate(pairwise(edges)) if b - a == 1}


def _bins(name: str, said: Any, column: Number, edges: Mapping[str, Any]) -> tuple[int, ...]:
    if name not in edges:
        raise ArgumentError(
            f"impossible compares {name!r}, whose bins are private quantiles: give it public bins, "
            f"bins = {{ {name} = [edges] }}."
        )
    own, at = tuple(edges[name]), edge_of(column, said)
    if at not in own[1:-1]:
        raise ArgumentError(
            f"impossible: {name} {said} must end at an inner edge of the bins of {name!r}, {list(own)!r}: add {at:g} to them, or "
            "compare with another value if all bins lie on one side of it."
        )
    place, below = own.index(at), str(said).strip().startswith("<")
    return tuple(range(place)) if below else tuple(range(place, len(own) - 1))


def checked_rules(given: Any, sizes: Mapping[str, int]) -> tuple[Rule, ...]:
    """Rules by positions, as a document holds them."""
    rules = []
    for each in given:
        parts = [
            (str(name), tuple(_validate.whole(f"impossible, {name}", place, 0) for place in places))
            for name, places in each
        ]
        fits = len(parts) == 2 and parts[0][0] != parts[1][0]
        if not fits or any(name not in sizes or not places for name, places in parts):
            raise ArgumentError(f"a rule of impossible names two columns of the table; got {each!r}.")
        if any(not 0 <= place < sizes[name] for name, places in parts for place in places):
            raise ArgumentError(f"a rule of impossible names levels that its columns do not have: {each!r}.")
        rules.append((parts[0], parts[1]))
    _leaves_some(rules, sizes)
    return tuple(rules)


def _leaves_some(rules: Sequence[Rule], sizes: Mapping[str, int]) -> None:
    """Refuse rules under which two columns have no combination left: no record could exist."""
    excluded: dict[frozenset[str], set[frozenset[tuple[str, int]]]] = {}
    for (a, first), (b, second) in rules:
        cells = {frozenset(((a, i), (b, j))) for i in first for j in second}
        excluded.setdefault(frozenset((a, b)), set()).update(cells)
    for pair, cells in excluded.items():
        if len(cells) == math.prod(sizes[name] for name in pair):
            raise ArgumentError(f"impossible excludes every combination of {' and '.join(sorted(pair))}.")
