"""A quantile of a bounded column, drawn from a public list of candidates; also used to choose bounds privately."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._columns import only_column
from sfumato.models.families._counts import Counted
from sfumato.models.families._log_weights import UNITS, tempered
from sfumato.models.families._public_grid import column_grid
from sfumato.models.families.family import Claim
from sfumato.models.laws import Finite, Law
from sfumato.schema import Number, Schema

# Most candidates: as many as the largest grid has cells.
_LARGEST_GRID = 1 << 16
# Probability with which the stated rank error may be exceeded.
_FAILURE = 0.1
# How a record is moved to a candidate before it is counted.
ROUNDINGS = ("nearest", "down", "up")


@dataclass(frozen=True, repr=False)
class Quantile(Counted):
    """The exponential mechanism on the candidates of `grid`, with the rank error of a candidate c as its loss.

    A record equal to c may stand on either side of it, so c covers the ranks from #{x < c} to #{x <= c}; its error is
    their distance from level * n,

        loss(c) = max(0, #{x < c} - level n, level n - #{x <= c}),

    which one replaced record moves by at most 1. A draw is c with probability proportional to exp(-power loss(c)). The
    candidates are public and need not reach every record. `column` names the Number column where there are several.

    `rounding` moves each record to a candidate before it is counted: to the nearest, or to the next one "down" or "up". Then
    one candidate has a loss of 0, also where all records lie between two of them. Without it all candidates on one side of
    such records have the same loss, and a draw may be any of them.
    """

    level: float
    grid: tuple[float, ...]
    column: str | None = None
    rounding: str | None = None
    name = "Quantile"
    quantity = "quantile"
    bounded = True
    strengthens = False
    utility = True
    highest_power = 1e6

    def __init__(
        self, level: float, grid: Sequence[float], column: str | None = None, rounding: str | None = None
    ) -> None:
        if isinstance(grid, str) or not isinstance(grid, Iterable):
            raise ArgumentError(
                f"grid must be a list of candidates such as [0, 10, 20]; got {_validate.shown(grid)}. In a spec file it may be "
                "left out, and in Python Quantile.of(schema, level) makes one from the column's declared bounds."
            )
        candidates = tuple(sorted(_validate.finite("grid", value) + 0.0 for value in grid))
        if len(candidates) < 2 or len(set(candidates)) != len(candidates):
            raise ArgumentError("grid must list at least two different candidates, each once.")
        if len(candidates) > _LARGEST_GRID:
            raise ArgumentError(f"grid must have at most {_LARGEST_GRID:,} candidates; got {len(candidates):,}.")
        if column is not None and not isinstance(column, str):
            raise ArgumentError(f"column must be the name of a column; got {column!r}.")
        object.__setattr__(self, "level", _validate.between("level", level, 0.0, 1.0))
        object.__setattr__(self, "grid", candidates)
        object.__setattr__(self, "column", column)
        if rounding is not None:
            _validate.one_of("rounding", rounding, ROUNDINGS)
        object.__setattr__(self, "rounding", rounding)

    @classmethod
    def of(cls, schema: Schema, level: float, column: str | None = None, rounding: str = "nearest") -> Quantile:
        """The quantile of a Number column on the grid that its declared bounds give; records are rounded to the grid."""
        name = cls._column_of(schema, column)
        return cls(level, cls.grid_of(schema.columns[name]), column, rounding)

    @staticmethod
    def grid_of(column: Any) -> tuple[float, ...]:
        """The automatic candidates of a Number column: evenly spaced, or geometric on both sides of 0 if its range is wide."""
        return column_grid(column)

    @staticmethod
    def geometric_grid(
        smallest: float, largest: float, per_decade: int = 20, signed: bool = False
    ) -> tuple[float, ...]:
        """0 and the numbers from `smallest` to `largest` that grow by the same factor, `per_decade` to a factor of 10.

        `signed` adds their negatives. Twelve decades take 240 candidates, so the bounds may be astronomically wide.
        """
        low, high = _validate.positive("smallest", smallest), _validate.positive("largest", largest)
        steps = _validate.whole("per_decade", per_decade)
        if not low < high:
            raise ArgumentError(f"largest must be greater than smallest; got smallest={low!r} and largest={high!r}.")
        decades = math.log10(high) - math.log10(low)
        if decades * steps > _LARGEST_GRID:
            raise ArgumentError(f"per_decade={steps} makes more than {_LARGEST_GRID:,} candidates; use fewer.")
        # Twelve digits, so that all machines have the same candidates; 1e-9 keeps rounding from adding one next to `largest`.
        inner = [float(f"{low * 10 ** (k / steps):.12g}") for k in range(1, math.ceil(decades * steps - 1e-9))]
        rising = [low, *(value for value in inner if low < value < high), high]
        falling = [-value for value in reversed(rising)] if signed else []
        return (*falling, 0.0, *rising)

    @classmethod
    def geometric(
        cls,
        level: float,
        smallest: float,
        largest: float,
        per_decade: int = 20,
        signed: bool = False,
        column: str | None = None,
    ) -> Quantile:
        """A quantile on a geometric grid, for columns of which only a wide range of magnitudes is known."""
        return cls(level, cls.geometric_grid(smallest, largest, per_decade, signed), column)

    # --- what is released and what is read ---------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """One number, the quantile."""
        return ("quantile",)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column: the named one, else the target, or the only one there is."""
        name = self._column_of(schema, self.column)
        declared = schema.columns[name]
        if isinstance(declared, Number) and not any(declared.lower <= c <= declared.upper for c in self.grid):
            raise ArgumentError(
                f"no candidate of the grid lies within the bounds of column {name!r}, [{declared.lower:g}, "
                f"{declared.upper:g}]. Give candidates where the records can be."
            )
        return (name,)

    @classmethod
    def _column_of(cls, schema: Schema, column: str | None) -> str:
        """The named Number column, or the only one there is."""
        if column is None:
            return only_column(schema, Number, cls.name)
        if not isinstance(schema.columns.get(column), Number):
            raise ArgumentError(f"column {column!r} is no Number column of schema {schema.name!r}.")
        return column

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Records below the first candidate, at it, between it and the second, at the second, and so on."""
        values, candidates = self._rounded(block[columns[0]]), np.array(self.grid)
        places = np.searchsorted(candidates, values, "left") + np.searchsorted(candidates, values, "right")
        return np.bincount(places, minlength=self.cells).astype(np.int64)

    def _rounded(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each record moved to a candidate, by itself alone; beyond the first and the last candidate to these."""
        if self.rounding is None:
            return values
        candidates, last = np.array(self.grid), len(self.grid) - 1
        below = np.clip(np.searchsorted(candidates, values, "right") - 1, 0, last)
        above = np.clip(np.searchsorted(candidates, values, "left"), 0, last)
        down, up = candidates[below], candidates[above]
        if self.rounding == "nearest":
            return np.where(values - down <= up - values, down, up)
        return down if self.rounding == "down" else up

    @property
    def cells(self) -> int:
        """A count at each candidate, and one in each gap beside them."""
        return 2 * len(self.grid) + 1

    def losses(self, totals: Sequence[Fraction | int], n: int) -> tuple[list[int], int]:
        """Rank error of every candidate as whole numbers over a common denominator.

        The level is a decimal fraction; counts of persons with several rows are fractions too.
        """
        level = Fraction(repr(self.level))
        scale = math.lcm(level.denominator, *{total.denominator for total in totals})
        rank = level.numerator * n * (scale // level.denominator)
        running = list(accumulate(total.numerator * (scale // total.denominator) for total in totals))
        below, upto = running[0:-1:2], running[1::2]
        return [max(0, low - rank, rank - high) for low, high in zip(below, upto, strict=True)], scale

    # --- what is drawn, and at what price ----------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """The exponential mechanism with a loss of sensitivity 1."""
        return Claim("quantile", {"candidates": len(self.grid)})

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Law:
        """Weights exp(-power loss), each logarithm an exact fraction that is rounded once."""
        losses, scale = self.losses(totals, n)
        logs = tempered(power, [[-loss] for loss in losses], [Fraction(UNITS, scale)])
        return Finite(tuple(logs), tuple((candidate,) for candidate in self.grid))

    # --- what a reader may expect ------------------------------------------------------------------------------------

    def rank_error(self, n: float, power: float, failure: float = _FAILURE) -> float:
        """Records by which the rank error exceeds the best candidate's, except with this probability: ln((m - 1)/failure)/power.

        The m - 1 other candidates weigh at most exp(-power t) of the best one if they are t records worse.
        """
        return min(float(n), math.log((len(self.grid) - 1) / failure) / power)

    def expectation(self, n: int, power: float) -> dict[str, Any]:
        """The rank error that is exceeded with probability 0.1 at most."""
        further = self.rank_error(n, power)
        return {"id": "rank-error", "value": further, "without_privacy": 0.0}

    def updated(self, totals: Sequence[Fraction], n: int) -> Any:
        """There is no prior."""
        raise ArgumentError(
            "a private quantile has no prior that public records could change; choose its grid by them."
        )

    def to_json(self) -> dict[str, Any]:
        """The public numbers; `rounding` only where there is one, as files of earlier versions have it."""
        document = Counted.to_json(self)
        return document if self.rounding is not None else {k: v for k, v in document.items() if k != "rounding"}
