"""The pictures of a learnt table: how strongly its columns depend on each other, its strongest pairs, the shares of its columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sfumato.pictures import of_network
from sfumato.pictures._dependence import dependence, strength_of
from sfumato.pictures.description import Matrix, Pair, Picture
from sfumato.pictures.of_network import Shown, shown_table, titled
from sfumato.queries import learned_tables
from sfumato.queries.learned_tables import LearnedTable, is_learned
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.schema import Number

__all__ = ["Strength", "is_learned", "matrix", "pictures", "ranked", "strengths", "strongest"]
# Names that the matrix still shows apart on a phone.
MOST_NAMES = 40
# The strength at which a dot is largest, where no dependence is stronger (Cohen's "medium" effect, as for the arrows of a network).
_FULL = 0.3
# Pairs that a text for readers without the picture lists, and decimals of a strength.
_LISTED = 12


@dataclass(frozen=True)
class Strength:
    """How strongly two columns depend on each other, as Cramér's V from 0 to 1.

    `measured` is that of the noisy table, less what noise and sampling add on average; None where the pair was not counted.
    `clear` says that independent columns rarely give as much. `synthetic` is that of the mixture, hence of synthetic tables.
    Levels with few records beside the noise are pooled, for both alike.
    """

    columns: tuple[str, str]
    measured: float | None
    clear: bool
    synthetic: float

    @property
    def shown(self) -> float:
        """The measured strength, or the mixture's own where the pair was not counted."""
        return self.synthetic if self.measured is None else self.measured


def pictures(release: Any, level: float = 0.9) -> list[Picture]:
    """The dependences, the strongest tables, and the shares of every column."""
    table = _read(release)
    known = strengths(table)
    tables = [shown.picture for shown in strongest(release, table, known, level)]
    return [matrix(release, table, known), *tables, of_network.shares(release, level, table.model.names)]


def strengths(table: LearnedTable) -> list[Strength]:
    """Every pair of columns, in their order.

    Pairs that were chosen were chosen among all, so that all of them count as tests.
    """
    tests = math.comb(len(table.model.names), 2)
    noisy = {frozenset(each.columns): each for each in table.counted if len(each.columns) == 2}
    # Small levels of a pair that was not counted are pooled as in the noisiest table that was.
    most = max(each.variance for each in noisy.values())
    listed = []
    for pair in combinations(table.model.names, 2):
        counted = noisy.get(frozenset(pair))
        own = strength_of(table.learnt.n * table.joint(pair), most if counted is None else counted.variance)
        measured = None if counted is None else dependence(counted.counts, counted.variance, tests)
        strength = None if measured is None else measured.strength
        listed.append(Strength(pair, strength, measured is not None and measured.clear, own))
    return listed


def ranked(known: Sequence[Strength]) -> list[Strength]:
    """From the strongest: first what is clear, then what was not counted, last what noise alone could explain."""
    return sorted(known, key=lambda each: (not each.clear, each.measured is not None, -each.shown))


def matrix(release: Any, table: LearnedTable, known: Sequence[Strength]) -> Matrix:
    """A dot for every pair; of very many columns those with the strongest dependences."""
    names = _kept(table.model.names, known)
    inside = [each for each in known if set(each.columns) <= set(names)]
    top = max([_FULL, *(each.shown for each in inside if each.clear or each.measured is None)])
    pairs = []
    for each in inside:
        first, second = (names.index(name) for name in each.columns)
        guessed = each.measured is None
        pairs.append(Pair(first, second, each.shown / top, guessed, not each.clear and not guessed))
    key = [(Pair(0, 1, 1.0), f"strength {top:.2f} in the noisy counts; smaller dots are weaker")]
    if any(pair.guessed for pair in pairs):
        key.append((Pair(0, 1, 0.5, guessed=True), "not counted together: the strength is the model's guess"))
    if any(pair.unclear for pair in pairs):
        key.append((Pair(0, 1, 0.0, unclear=True), "counted, and not distinguishable from noise"))
    part = "" if len(names) == len(table.model.names) else f": {len(names)} of {len(table.model.names)} columns"
    title = titled(release, f"How strongly columns depend on each other{part}")
    return Matrix(title, names, tuple(pairs), _in_words(known), tuple(key))


def strongest(
    release: Any, table: LearnedTable, known: Sequence[Strength], level: float = 0.9, most: int = of_network.STRONGEST
) -> list[Shown]:
    """Pictures of the strongest pairs that were counted: the shares of one column given the other."""
    by_pair = {frozenset(each.columns): each for each in table.counted if len(each.columns) == 2}
    chosen = [each for each in ranked(known) if each.clear][:most]
    return [
        shown_table(
            release, _turned(table, by_pair[frozenset(each.columns)]), each.shown, level, _ordered(table, each.columns)
        )
        for each in chosen
    ]


def _turned(table: LearnedTable, counted: Counted) -> Counted:
    """The table with the column that is read last: the target, or else the one with fewer levels."""
    first, second = counted.columns
    target = table.model.target
    keeps = second == target or (first != target and len(table.levels[second]) <= len(table.levels[first]))
    return counted if keeps else Counted((second, first), counted.counts.T, counted.variance)


def _ordered(table: LearnedTable, columns: Sequence[str]) -> bool:
    """Whether the levels of a column are bins, of which some stand for all."""
    return any(isinstance(table.schema.columns[name], Number) for name in columns)


def _kept(names: Sequence[str], known: Sequence[Strength]) -> tuple[str, ...]:
    """All names, or those in the strongest pairs."""
    if len(names) <= MOST_NAMES:
        return tuple(names)
    kept: dict[str, None] = {}
    for each in ranked(known):
        for name in each.columns:
            if len(kept) < MOST_NAMES:
                kept[name] = None
    return tuple(name for name in names if name in kept)


def _in_words(known: Sequence[Strength]) -> str:
    """The picture for readers who do not see it."""
    clear = [each for each in ranked(known) if each.clear]
    guessed = sum(each.measured is None for each in known)
    listed = "; ".join(f"{' and '.join(each.columns)} {each.shown:.2f}" for each in clear[:_LISTED])
    parts = [f"Strength of the dependence of {len(known)} pairs of columns, from 0 to 1."]
    parts.append(f"The strongest: {listed}." if clear else "None is distinguishable from noise.")
    if len(clear) > _LISTED:
        parts.append(f"{len(clear) - _LISTED} more are weaker.")
    if guessed:
        parts.append(f"{guessed} pairs were not counted together.")
    unclear = len(known) - guessed - len(clear)
    if unclear and clear:
        parts.append(f"{unclear} are not distinguishable from noise.")
    return " ".join(parts)


def _read(release: Any) -> LearnedTable:
    return learned_tables.read(release.draws, release.plan, release.schema)
