"""The column type of a yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.schema.missing_codes import Code, read_codes, with_codes

if TYPE_CHECKING:
    from sfumato.schema.encoding import Array, Encoded, Plain


@dataclass(frozen=True)
class Boolean:
    """A yes or no, stored as 1 or 0.

    Yes is True, 1 and the texts true, t, yes, y, 1; no is False, 0 and the texts false, f, no, n, 0, in capitals or not.
    Every other cell, the numbers 2 and 0.5 included, is stored as `missing`.
    """

    missing: bool = False
    missing_codes: Sequence[Code] = ()
    kind = "boolean"
    needed, facts = (), ("missing", "missing_codes")
    levels = (False, True)
    largest_square = 0.25

    def __post_init__(self) -> None:
        if not isinstance(self.missing, bool):
            raise ArgumentError(f"Boolean: missing must be True or False; got {self.missing!r}.")
        vars(self).update(missing_codes=read_codes("Boolean", self.missing_codes))
        with_codes("Boolean", self, ())  # refuses a code that means yes or no

    def to_json(self) -> dict[str, Any]:
        """Every fact."""
        facts: dict[str, Any] = {"type": self.kind, "missing": self.missing}
        return {**facts, "missing_codes": list(self.missing_codes)} if self.missing_codes else facts

    def __repr__(self) -> str:
        codes = f", missing_codes={list(self.missing_codes)!r}" if self.missing_codes else ""
        return f"Boolean(missing={self.missing!r}{codes})"

    def encoded(self, cells: Plain) -> Encoded:
        """1 for yes and 0 for no, as uint8."""
        import numpy as np

        from sfumato.schema import cells as rules
        from sfumato.schema.encoding import filled

        if isinstance(cells, np.ndarray):
            places = np.where(cells == 1, 1, np.where(cells == 0, 0, -1))
        else:
            places = np.array(rules.codes(cells, rules.truth), dtype=np.int64)
        return filled(places, int(self.missing), np.dtype(np.uint8))

    def features(self, name: str) -> list[str]:
        """One feature, 1/2 for yes and -1/2 for no."""
        return [name]

    def write_features(self, values: Array, out: Array) -> None:
        """Write the feature of encoded values to `out` (rows, 1)."""
        out[:, 0] = values - 0.5
