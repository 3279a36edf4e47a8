"""The column type of numbers between declared bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema.missing_codes import Code, read_codes
from sfumato.schema.texts import DECLARE

if TYPE_CHECKING:
    from sfumato.schema.encoding import Array, Encoded, Plain


@dataclass(frozen=True)
class Number:
    """A number in [lower, upper].

    The cell x is stored as min(max(x, lower), upper); a cell that is empty, no number, NaN or infinite is stored as
    `missing`, by default the middle of the bounds. With `integer=True` a cell is first rounded to the nearest whole
    number (ties to the even one) and the bounds and `missing` are whole. A cell that equals one of `missing_codes` is missing
    too, inside the bounds or not.
    """

    lower: float
    upper: float
    missing: float
    integer: bool = False
    missing_codes: tuple[Code, ...] = ()
    kind = "number"
    needed: ClassVar[tuple[str, ...]] = ("lower", "upper")
    facts: ClassVar[tuple[str, ...]] = ("lower", "upper", "missing", "integer", "missing_codes")
    levels = None
    largest_square = 0.25

    def __init__(
        self,
        lower: float | None = None,
        upper: float | None = None,
        missing: float | None = None,
        integer: bool = False,
        missing_codes: Sequence[Code] = (),
    ) -> None:
        """Refuse bounds that are absent, not finite, or in the wrong order."""
        for name, bound in (("lower", lower), ("upper", upper)):
            if bound is None:
                raise ArgumentError(f"Number needs {name}: {DECLARE.format('a public bound')}")
        low, high = (_validate.finite(name, bound) + 0.0 for name, bound in (("lower", lower), ("upper", upper)))
        if not low < high or math.isinf(high - low):
            raise ArgumentError(f"Number: lower must be below upper by a finite width; got {low!r} and {high!r}.")
        if not isinstance(integer, bool):
            raise ArgumentError(f"Number: integer must be True or False; got {integer!r}.")
        middle = low / 2 + high / 2
        fill = (math.floor(middle) if integer else middle) if missing is None else _validate.finite("missing", missing)
        if integer and any(value != math.floor(value) for value in (low, high, fill)):
            raise ArgumentError(
                f"Number: lower, upper and missing must be whole when integer=True; got {low!r}, {high!r}, {fill!r}."
            )
        if not low <= fill <= high:
            raise ArgumentError(f"Number: missing must lie in [{low!r}, {high!r}]; got {fill!r}.")
        vars(self).update(lower=low, upper=high, missing=float(fill) + 0.0, integer=integer)
        vars(self).update(missing_codes=read_codes("Number", missing_codes))

    def to_json(self) -> dict[str, Any]:
        """Every fact, the default of `missing` written out."""
        facts: dict[str, Any] = {"type": self.kind, "lower": self.lower, "upper": self.upper, "missing": self.missing}
        facts |= {"integer": True} if self.integer else {}
        return {**facts, "missing_codes": list(self.missing_codes)} if self.missing_codes else facts

    def __repr__(self) -> str:
        more = ", integer=True" if self.integer else ""
        more += f", missing_codes={list(self.missing_codes)!r}" if self.missing_codes else ""
        return f"Number({self.lower:.12g}, {self.upper:.12g}, missing={self.missing:.12g}{more})"

    def edge(self, given: Any, what: str = "an edge of bins") -> Any:
        """A value of the column as a caller writes it, as a number where a subclass has another form; it is not checked."""
        return given

    def shown(self, value: float) -> str:
        """A value of the column as sentences show it."""
        return f"{value:g}"

    def encoded(self, cells: Plain) -> Encoded:
        """Float64 values in [lower, upper]."""
        import numpy as np

        from sfumato.schema.encoding import Encoded, to_floats

        numbers = to_floats(cells)
        whole = np.rint(numbers) if self.integer else numbers
        # NaN passes np.clip, and an infinite cell is no measurement: both are replaced afterwards.
        unusable = ~np.isfinite(numbers)
        outside = ((whole < self.lower) | (whole > self.upper)) & ~unusable
        values = np.clip(whole, self.lower, self.upper)
        values[unusable] = self.missing
        values += 0.0  # one zero: -0.0 becomes 0.0
        return Encoded(values, unusable, outside)

    def features(self, name: str) -> list[str]:
        """One feature, (x - lower)/(upper - lower) - 1/2."""
        return [name]

    def write_features(self, values: Array, out: Array) -> None:
        """Write the feature of encoded values to `out` (rows, 1)."""
        scaled = values - self.lower
        scaled /= self.upper - self.lower
        scaled -= 0.5
        scaled.clip(-0.5, 0.5, out=out[:, 0])  # rounding may pass the end by one part in 2^53
