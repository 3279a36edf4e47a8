"""The column type of a yes or no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.schema.category import OWN_LEVEL, Category, Spelling, check_spellings, declared_missing, read_alias
from sfumato.schema.missing_codes import Code, read_codes, with_codes

if TYPE_CHECKING:
    from sfumato.schema.encoding import Array, Encoded, Plain

# Spellings of no and yes; numbers are read by their value, and as levels of a category as they are written.
_WORDS: list[Spelling] = [
    (word, code) for code, each in enumerate(("false f no n", "true t yes y")) for word in each.split()
]
_DIGITS: list[Spelling] = [("0", 0), ("0.0", 0), ("1", 1), ("1.0", 1)]


@dataclass(frozen=True, init=False)
class Boolean:
    """A yes or no, stored as 1 or 0.

    Yes is True, 1 and the texts true, t, yes, y, 1; no is False, 0 and the texts false, f, no, n, 0, and those that are
    declared, alias={"ja": True, "nein": False}; in capitals or not. Every other cell, empty or not, counts as `missing`.
    There is no default: a schema refuses a column without it. Boolean(missing="own level") is the Category of the three
    levels "no", "yes" and "missing" that reads the same cells.
    """

    missing: bool | None
    missing_codes: Sequence[Code]
    alias: tuple[tuple[str, bool], ...]
    kind = "boolean"
    needed, facts = ("missing",), ("missing", "missing_codes", "alias")
    levels = (False, True)
    largest_square = 0.25
    fold_case = True

    def __new__(
        cls,
        missing: bool | str | None = None,
        missing_codes: Sequence[Code] = (),
        alias: Mapping[str, bool] | None = None,
    ) -> Boolean:
        """Refuse what is neither yes nor no, and an alias that contradicts another spelling."""
        listed = read_alias("Boolean", alias, cls.levels)
        if missing == OWN_LEVEL:
            words = {str(word): ("no", "yes")[code] for word, code in (*_DIGITS, *_WORDS, *listed)}
            own = {word: level for word, level in words.items() if word != level}
            three: Any = Category(["no", "yes"], OWN_LEVEL, missing_codes=missing_codes, alias=own, fold_case=True)
            return three  # type: ignore[no-any-return]
        if missing is not None and not isinstance(missing, bool):
            raise ArgumentError(f"Boolean: missing must be True, False or {OWN_LEVEL!r}; got {missing!r}.")
        made = object.__new__(cls)
        vars(made).update(missing=missing, missing_codes=read_codes("Boolean", missing_codes), alias=listed)
        check_spellings(made)
        return with_codes("Boolean", made, ())  # refuses a code that means yes or no

    def to_json(self) -> dict[str, Any]:
        """Every fact."""
        facts: dict[str, Any] = {"type": self.kind, "missing": self.missing}
        facts |= {"missing_codes": list(self.missing_codes)} if self.missing_codes else {}
        return {**facts, "alias": dict(self.alias)} if self.alias else facts

    def __repr__(self) -> str:
        codes = f", missing_codes={list(self.missing_codes)!r}" if self.missing_codes else ""
        codes += f", alias={dict(self.alias)!r}" if self.alias else ""
        return f"Boolean(missing={self.missing!r}{codes})"

    def spellings(self) -> list[Spelling]:
        """Every spelling of no, 0, and yes, 1."""
        return [(0, 0), (1, 1), *_WORDS, *((spelling, int(value)) for spelling, value in self.alias)]

    def encoded(self, cells: Plain) -> Encoded:
        """1 for yes and 0 for no, as uint8."""
        import numpy as np

        from sfumato.schema import cells as rules
        from sfumato.schema.encoding import filled

        fill = int(declared_missing("Boolean", self))
        return filled(rules.places(self, cells), fill, np.dtype(np.uint8))

    def features(self, name: str) -> list[str]:
        """One feature, 1/2 for yes and -1/2 for no."""
        return [name]

    def write_features(self, values: Array, out: Array) -> None:
        """Write the feature of encoded values to `out` (rows, 1)."""
        out[:, 0] = values - 0.5
