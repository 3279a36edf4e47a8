"""The column type of declared levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.schema.missing_codes import Code, read_codes, with_codes
from sfumato.schema.texts import DECLARE, public_text

if TYPE_CHECKING:
    from sfumato.schema.encoding import Array, Encoded, Plain

# The value of `reference` for effects that add up to 0 over the levels.
SUM_TO_ZERO = "sum-to-zero"
# Whole levels are compared as float64, which separates whole numbers below this one.
_LARGEST_LEVEL = 2**53


@dataclass(frozen=True)
class Category:
    """One of a declared list of levels: texts, or whole numbers.

    The cell is stored as the position of its level; a cell that is empty or no level is stored as `missing`, by default
    the FIRST level: put first the level that a missing answer should count as, or declare a level for it. Space around a
    text is dropped before it is compared, and nothing else is: "F" is not "f". A number and the text that spells it are
    the same cell, so Category([0, 1]) reads the text "1" and Category(["0", "1"]) reads the number 1.

    `reference` is the level with which a regression compares the others, by default the first; "sum-to-zero" compares each
    level with the mean of all. It changes what is printed, and neither the release nor its predictions.
    """

    levels: tuple[str, ...] | tuple[int, ...]
    missing: str | int
    reference: str | int
    missing_codes: tuple[Code, ...] = ()
    kind = "category"
    needed, facts = ("levels",), ("levels", "missing", "reference", "missing_codes")
    largest_square = 1.0

    def __init__(
        self,
        levels: Sequence[str] | Sequence[int] | None = None,
        missing: str | int | None = None,
        reference: str | int | None = None,
        missing_codes: Sequence[Code] = (),
    ) -> None:
        """Refuse levels that are absent, repeated or of mixed kinds; a set has no order and is refused too."""
        if levels is None:
            raise ArgumentError(f"Category needs levels: {DECLARE.format('the public list of them, in order')}")
        if not isinstance(levels, list | tuple | range) or not levels:
            raise ArgumentError(f"Category: levels must be a list with at least one entry; got {levels!r}.")
        known = tuple(_level(level) for level in levels)
        if len({type(level) for level in known}) > 1:
            raise ArgumentError(f"Category: levels must be all texts or all whole numbers; got {known!r}.")
        if len(set(known)) < len(known):
            raise ArgumentError(f"Category: levels must be distinct; got {known!r}.")
        fill = known[0] if missing is None else _level(missing)
        if fill not in known:
            raise ArgumentError(f"Category: missing must be one of the levels {known!r}; got {missing!r}.")
        base = known[0] if reference is None else reference if reference == SUM_TO_ZERO else _level(reference)
        if base not in known and base != SUM_TO_ZERO:
            raise ArgumentError(
                f"Category: reference must be one of the levels {known!r}, or {SUM_TO_ZERO!r}; got {reference!r}."
            )
        vars(self).update(levels=known, missing=fill, reference=base)
        vars(self).update(missing_codes=read_codes("Category", missing_codes))
        with_codes("Category", self, ())  # refuses a code that is a level

    def to_json(self) -> dict[str, Any]:
        """Every fact, the default of `missing` written out; `reference` where it is not the first level."""
        facts: dict[str, Any] = {"type": self.kind, "levels": list(self.levels), "missing": self.missing}
        facts |= {} if self.reference == self.levels[0] else {"reference": self.reference}
        return {**facts, "missing_codes": list(self.missing_codes)} if self.missing_codes else facts

    def __repr__(self) -> str:
        shown = list(self.levels) if len(self.levels) <= 6 else f"[{self.levels[0]!r}, ..., {self.levels[-1]!r}]"
        base = "" if self.reference == self.levels[0] else f", reference={self.reference!r}"
        base += f", missing_codes={list(self.missing_codes)!r}" if self.missing_codes else ""
        return f"Category({shown}, missing={self.missing!r}{base})"

    def encoded(self, cells: Plain) -> Encoded:
        """Positions of the levels, in the smallest unsigned integers that count them."""
        import numpy as np

        from sfumato.schema import cells as rules
        from sfumato.schema.encoding import filled

        if isinstance(cells, np.ndarray):
            places = np.full(len(cells), -1, dtype=np.int64)
            levels = sorted(rules.numeric_levels(self))
            if levels:
                # Searched among sorted values: many cells are encoded at once.
                known, codes = np.array([v for v, _ in levels]), np.array([c for _, c in levels], dtype=np.int64)
                nearest = np.minimum(np.searchsorted(known, cells), len(known) - 1)
                places = np.where(known[nearest] == cells, codes[nearest], places)
        else:
            places = np.array(rules.codes(cells, rules.level_finder(self)), dtype=np.int64)
        return filled(places, self.levels.index(self.missing), np.min_scalar_type(len(self.levels) - 1))

    def features(self, name: str) -> list[str]:
        """One feature per level, 1 for the level of the row and 0 for the others."""
        return [f"{name}={level}" for level in self.levels]

    def write_features(self, values: Array, out: Array) -> None:
        """Write the features of encoded values to `out` (rows, levels), which holds zeros."""
        import numpy as np

        out[np.arange(len(values)), values.astype(np.intp)] = 1.0


def _level(level: object) -> str | int:
    if isinstance(level, str):
        return public_text("Category: a level", level)
    if isinstance(level, bool) or not hasattr(level, "__index__"):
        raise ArgumentError(f"Category: a level must be a text or a whole number; got {level!r}.")
    whole = int(level.__index__())
    if abs(whole) >= _LARGEST_LEVEL:
        raise ArgumentError(f"Category: a whole level must be smaller than 2**53 in size; got {whole}.")
    return whole
