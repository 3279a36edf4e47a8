"""The column type of declared levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.schema.missing_codes import LETTERS, Code, read_codes, with_codes
from sfumato.schema.texts import DECLARE, public_text

if TYPE_CHECKING:
    from sfumato.schema.encoding import Array, Encoded, Plain

# The value of `reference` for effects that add up to 0 over the levels.
SUM_TO_ZERO = "sum-to-zero"
# Whole levels are compared as float64, which separates whole numbers below this one.
_LARGEST_LEVEL = 2**53
# A text or a whole number, and the position of the level that it stands for.
Spelling = tuple[str | int, int]
# The value of `missing` that makes a level of missing cells, and what that level is called.
OWN_LEVEL, OWN = "own level", "missing"


@dataclass(frozen=True)
class Category:
    """One of a declared list of levels: texts, or whole numbers.

    The cell is stored as the position of its level. A cell that is empty, unreadable or no declared level counts as the
    level `missing`; "own level" adds a level "missing" for them. There is no default: a schema refuses a column without it.
    Space around a text is dropped before it is compared. With `fold_case` capitals make no difference, and a cell that is
    spelled as a key of `alias` is its level: alias={"female": "f"}. Nothing else is done to it. A number and the text that
    spells it are the same cell, so Category([0, 1]) reads the text "1" and Category(["0", "1"]) reads the number 1.

    `reference` is the level with which a regression compares the others, by default the first; "sum-to-zero" compares each
    level with the mean of all. It changes what is printed, and neither the release nor its predictions.
    """

    levels: tuple[str, ...] | tuple[int, ...]
    missing: str | int | None
    reference: str | int
    missing_codes: tuple[Code, ...] = ()
    alias: tuple[tuple[str, str | int], ...] = ()
    fold_case: bool = False
    kind = "category"
    needed = ("levels", "missing")
    facts = ("levels", "missing", "reference", "missing_codes", "alias", "fold_case")
    largest_square = 1.0

    def __init__(
        self,
        levels: Sequence[str] | Sequence[int] | None = None,
        missing: str | int | None = None,
        reference: str | int | None = None,
        missing_codes: Sequence[Code] = (),
        alias: Mapping[str, str | int] | None = None,
        fold_case: bool = False,
    ) -> None:
        """Refuse levels that are absent, repeated or of mixed kinds; a set has no order and is refused too."""
        if levels is None:
            raise ArgumentError(f"Category needs levels: {DECLARE.format('the public list of them, in order')}")
        if not isinstance(levels, list | tuple | range) or not levels:
            raise ArgumentError(f"Category: levels must be a list with at least one entry; got {levels!r}.")
        known = tuple(_level(level) for level in levels)
        # The own level of missing cells is a text beside whole numbers too.
        if len({type(level) for level in (known[:-1] if known[-1] == missing == OWN else known)}) > 1:
            raise ArgumentError(f"Category: levels must be all texts or all whole numbers; got {known!r}.")
        if len(set(known)) < len(known):
            raise ArgumentError(f"Category: levels must be distinct; got {known!r}.")
        if missing == OWN_LEVEL and OWN_LEVEL not in known:
            missing, known = OWN, known if OWN in known else (*known, OWN)
        fill = None if missing is None else _level(missing)
        if fill is not None and fill not in known:
            raise ArgumentError(
                f"Category: missing must be one of the levels {known!r}, or {OWN_LEVEL!r}; got {missing!r}."
            )
        base = known[0] if reference is None else reference if reference == SUM_TO_ZERO else _level(reference)
        if base not in known and base != SUM_TO_ZERO:
            raise ArgumentError(
                f"Category: reference must be one of the levels {known!r}, or {SUM_TO_ZERO!r}; got {reference!r}."
            )
        vars(self).update(levels=known, missing=fill, reference=base)
        vars(self).update(missing_codes=read_codes("Category", missing_codes))
        if not isinstance(fold_case, bool):
            raise ArgumentError(f"Category: fold_case must be True or False; got {fold_case!r}.")
        vars(self).update(alias=read_alias("Category", alias, known), fold_case=fold_case)
        check_spellings(self)
        with_codes("Category", self, ())  # refuses a code that is a level

    def to_json(self) -> dict[str, Any]:
        """Every fact; `reference` where it is not the first level."""
        facts: dict[str, Any] = {"type": self.kind, "levels": list(self.levels), "missing": self.missing}
        facts |= {} if self.reference == self.levels[0] else {"reference": self.reference}
        facts |= {"missing_codes": list(self.missing_codes)} if self.missing_codes else {}
        facts |= {"alias": dict(self.alias)} if self.alias else {}
        return {**facts, "fold_case": True} if self.fold_case else facts

    def __repr__(self) -> str:
        shown = list(self.levels) if len(self.levels) <= 6 else f"[{self.levels[0]!r}, ..., {self.levels[-1]!r}]"
        base = "" if self.reference == self.levels[0] else f", reference={self.reference!r}"
        base += f", missing_codes={list(self.missing_codes)!r}" if self.missing_codes else ""
        base += f", alias={dict(self.alias)!r}" if self.alias else ""
        return f"Category({shown}, missing={self.missing!r}{base}{', fold_case=True' * self.fold_case})"

    def encoded(self, cells: Plain) -> Encoded:
        """Positions of the levels, in the smallest unsigned integers that count them."""
        import numpy as np

        from sfumato.schema import cells as rules
        from sfumato.schema.encoding import filled

        fill = self.levels.index(declared_missing("Category", self))
        return filled(rules.places(self, cells), fill, np.min_scalar_type(len(self.levels) - 1))

    def spellings(self) -> list[Spelling]:
        """Every declared spelling with the position of its level: the levels, then the aliases."""
        levels: Sequence[str | int] = self.levels
        codes = {level: code for code, level in enumerate(levels)}
        return [*codes.items(), *((spelling, codes[level]) for spelling, level in self.alias)]

    def features(self, name: str) -> list[str]:
        """One feature per level, 1 for the level of the row and 0 for the others."""
        return [f"{name}={level}" for level in self.levels]

    def write_features(self, values: Array, out: Array) -> None:
        """Write the features of encoded values to `out` (rows, levels), which holds zeros."""
        import numpy as np

        out[np.arange(len(values)), values.astype(np.intp)] = 1.0


def declared_missing(what: str, column: Any) -> Any:
    """What missing cells of a column of levels count as; refuse one that does not say so, whatever the cells are."""
    if column.missing is None:
        first = column.levels[0]
        raise ArgumentError(
            f"{what} says nothing of cells that are empty, unreadable or hold no declared level. Declare missing={first!r} (or "
            f"another of its levels, as which such a cell then counts) or missing={OWN_LEVEL!r} (such cells are a level of "
            "their own)."
        )
    return column.missing


def read_alias(where: str, alias: object, levels: Sequence[Any]) -> tuple[tuple[str, Any], ...]:
    """Return the declared aliases as pairs of a text and a level; a whole number stands for the text that spells it."""
    if alias is not None and not isinstance(alias, Mapping):
        raise ArgumentError(f'{where}: alias must be a table such as {{"F": {levels[0]!r}}}; got {alias!r}.')
    kept = {}
    for key, level in (alias or {}).items():
        spelling = public_text(f"{where}: an alias", str(key) if type(key) is int else key)
        if len(spelling) > LETTERS or not any(type(level) is type(each) and level == each for each in levels):
            raise ArgumentError(
                f"{where}: an alias must have at most {LETTERS} letters and stand for one of the levels {levels!r}; got {level!r}."
            )
        kept[spelling] = level
    return tuple(kept.items())


def numbered(spellings: Sequence[Spelling]) -> dict[float, int]:
    """The numbers that spellings are or spell, as `cells.number` reads them without numpy; of two equal ones, the first."""
    values: dict[float, int] = {}
    for spelling, code in spellings:
        with suppress(ValueError):
            if math.isfinite(float(spelling)):
                values.setdefault(float(spelling), code)
    return values


def check_spellings(column: Any) -> None:
    """Refuse a spelling of two levels: as a text, without regard to capitals where these are folded, or as a number."""
    aliases: dict[Any, Any] = dict(column.alias)
    seen: dict[Any, int] = {}
    for spelling, code in column.spellings():
        word = str(spelling).casefold() if column.fold_case else str(spelling)
        for key in (word, *numbered([(spelling, code)])):
            other = seen.setdefault(key, code)
            # Two texts may be levels though both spell one number, such as "1" and "01"; an alias may not.
            if other != code and (isinstance(key, str) or spelling in aliases):
                raise ArgumentError(
                    f"{type(column).__name__}: {spelling!r} would stand for two levels, {column.levels[other]!r} and "
                    f"{column.levels[code]!r}. Leave out the alias, or fold_case where levels differ by case alone."
                )


def _level(level: object) -> str | int:
    if isinstance(level, str):
        return public_text("Category: a level", level)
    if isinstance(level, bool) or not hasattr(level, "__index__"):
        raise ArgumentError(f"Category: a level must be a text or a whole number; got {level!r}.")
    whole = int(level.__index__())
    if abs(whole) >= _LARGEST_LEVEL:
        raise ArgumentError(f"Category: a whole level must be smaller than 2**53 in size; got {whole}.")
    return whole
