"""Declared spellings of levels: aliases, and levels that are compared without regard to capitals.

Every reader maps cells by the one function `cells.level_finder`, which reads these declarations. A spelling that could mean
two levels is refused when it is declared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.schema.missing_codes import LETTERS
from sfumato.schema.texts import public_text

# A text or a whole number, and the position of the level that it stands for.
Spelling = tuple[str | int, int]


def read_alias(where: str, alias: object, levels: Sequence[Any]) -> tuple[tuple[str, Any], ...]:
    """Return the declared aliases as pairs of a text and a level; a whole number stands for the text that spells it."""
    if alias is None:
        return ()
    if not isinstance(alias, Mapping):
        raise ArgumentError(f'{where}: alias must be a table such as {{"F": {levels[0]!r}}}; got {alias!r}.')
    kept = {}
    for key, level in alias.items():
        spelling = str(key) if isinstance(key, int) and not isinstance(key, bool) else key
        if isinstance(spelling, str) and len(spelling) > LETTERS:
            raise ArgumentError(f"{where}: an alias must have at most {LETTERS} letters; got one of {len(spelling)}.")
        if not any(type(level) is type(each) and level == each for each in levels):
            raise ArgumentError(
                f"{where}: the alias {key!r} must stand for one of the levels {levels!r}; got {level!r}."
            )
        kept[public_text(f"{where}: an alias", spelling)] = level
    return tuple(kept.items())


def texts_of(column: Any) -> dict[str, int]:
    """Every text that is declared, as it is compared, with the position of its level."""
    pairs = [(spelling, code) for spelling, code in column.spellings() if isinstance(spelling, str)]
    return {spelling.casefold() if column.fold_case else spelling: code for spelling, code in pairs}


def numbered(spellings: Sequence[Spelling]) -> dict[float, int]:
    """The numbers that spellings are or spell, as `cells.number` reads them without numpy; of two equal ones, the first."""
    values: dict[float, int] = {}
    for spelling, code in spellings:
        with suppress(ValueError):
            value = float(spelling)
            if math.isfinite(value):
                values.setdefault(value, code)
    return values


def check_spellings(column: Any) -> None:
    """Refuse a spelling that stands for two levels: as a text, in capitals or not, or as a number."""
    what = type(column).__name__
    if not isinstance(column.fold_case, bool):
        raise ArgumentError(f"{what}: fold_case must be True or False; got {column.fold_case!r}.")
    texts: dict[str, int] = {}
    values: dict[float, int] = {}
    aliases = {spelling for spelling, _ in column.alias}
    for spelling, code in column.spellings():
        seen = []
        if isinstance(spelling, str):
            seen.append(texts.setdefault(spelling.casefold() if column.fold_case else spelling, code))
        # Two texts may be levels though both spell one number, such as "1" and "01"; an alias may not.
        for value in numbered([(spelling, code)]):
            first = values.setdefault(value, code)
            seen += [first] if spelling in aliases else []
        other = next((place for place in seen if place != code), code)
        if other != code:
            raise ArgumentError(
                f"{what}: {spelling!r} would stand for two levels, {column.levels[other]!r} and {column.levels[code]!r}. Leave "
                "out the alias, or fold_case where levels differ by capitals alone."
            )
