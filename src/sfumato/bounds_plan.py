"""`sf.plan_bounds`: what private bounds of Number columns cost and bring, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._public_grid import COARSE, column_grid, is_even
from sfumato.models.families.quantile import Quantile
from sfumato.models.whose_rows import a_record, whose_rows
from sfumato.planning import plan
from sfumato.privacy import weakness
from sfumato.schema import Date, Number, Schema

if TYPE_CHECKING:
    from sfumato.mechanisms.plan import Plan

# Levels of the proposed bounds: one record in a hundred lies beyond each.
LEVELS = (0.01, 0.99)
# Probability with which one of a column's two bounds may have a larger rank error than stated; each has half of it.
_FAILURE = 0.1


class BoundRequest(NamedTuple):
    """One bound: its column, its level, the name of its request in a ledger, and its plan."""

    column: str
    level: float
    request: str
    plan: Plan


@dataclass(frozen=True)
class BoundsPlan:
    """What private bounds of these columns will cost and bring, from public numbers alone; prints as a few lines."""

    schema: Schema
    n: int
    epsilon: float
    levels: tuple[float, float]
    requests: tuple[BoundRequest, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose bounds are proposed."""
        return tuple(dict.fromkeys(each.column for each in self.requests))

    def outside(self, column: str) -> tuple[float, float]:
        """Largest shares of records below and above the proposed bounds: 9 times in 10 neither is exceeded.

        Records are rounded outwards to the grid, so a candidate with rank error 0 exists, and a bound with a rank error of at
        most t leaves out at most the share of its level plus t/n.
        """
        low, high = (each for each in self.requests if each.column == column)
        errors = [_rank_error(each) / self.n for each in (low, high)]
        return min(1.0, low.level + errors[0]), min(1.0, 1 - high.level + errors[1])

    def __str__(self) -> str:
        count = len(self.columns)
        shares = "half of it for each bound" if count == 1 else f"1/{2 * count} of it for each bound of {count} columns"
        lines = [
            f"price      epsilon {self.epsilon:g} (pure) in all: {shares}; each is a private quantile by the exponential mechanism",
            f"records    {self.n:,} (public){self._record()}",
            *self._whose_rows(),
        ]
        for column in self.columns:
            low, high = (each for each in self.requests if each.column == column)
            lines.append(
                f"{column}: the {100 * low.level:.4g} % and {100 * high.level:.4g} % quantiles, "
                f"each {_candidates(low.plan.model, self.schema.columns[column])}"
            )
            lines.append(f"  {outside_in_words(self.outside(column), self.levels)}")
        return "\n".join([*lines, *self._too_few()])

    def _record(self) -> str:
        """What a record is, where it is a person who may have several rows."""
        persons = self.schema.persons
        return "" if persons is None else f": {a_record(persons.terms, self.schema.unit)}"

    def _whose_rows(self) -> list[str]:
        """A line on what counts and is estimated, where persons may have several rows; each bound is of the same kind."""
        persons = self.schema.persons
        if persons is None:
            return []
        return [f"persons    {whose_rows(self.requests[0].plan.model, persons.terms, self.schema.only(self.columns))}"]

    def _too_few(self) -> list[str]:
        """A sentence for the columns of which this price says little: the rank error is larger than what a level leaves out."""
        tails = self.levels[0], 1 - self.levels[1]
        weak = [
            each for each in self.requests
            if _rank_error(each) > self.n * (tails[0] if each.level == self.levels[0] else tails[1])
        ]  # fmt: skip
        if not weak:
            return []
        worst = max(_rank_error(each, math.inf) for each in weak)
        needed, tail = _up(worst * self.epsilon / (self.n * min(tails))), _up(worst / self.n)
        enough = f"Epsilon {needed:g}" if needed <= weakness.LARGEST_EPSILON else "No epsilon that is accepted"
        other = f", and so would the levels {tail:g} and {1 - tail:g} at this price" if tail < 0.5 else ""
        return [
            f"note: {self.n:,} records are few for epsilon {self.epsilon:g}: the rank error is larger than the share that the "
            f"levels leave out, so a bound may come out anywhere up to the declared one. {enough} would be enough{other}."
        ]


def plan_bounds(
    schema: Schema,
    n: int,
    columns: str | Sequence[str] | None = None,
    epsilon: float = 0.2,
    *,
    levels: tuple[float, float] = LEVELS,
    request_id: str | None = None,
) -> BoundsPlan:
    """Plan private bounds of Number columns (all of them unless named): pure, no data, nothing is spent.

    `epsilon` is for all bounds together, in equal shares. The requests are named "bounds of <column>, <level> %" in a ledger;
    `request_id` replaces "bounds". Each bound is the quantile at one of `levels`, on the grid that the declared bounds give; for
    the lower one records are rounded down to the grid, for the upper one up.
    """
    total, count = _validate.positive("epsilon", epsilon), _validate.records("n", n)
    weakness.allowed(weakness.of_point(total, 0.0, count), False)  # each bound has a share of it
    low, high = _levels(levels)
    names = _columns(schema, columns)
    share = total / (2 * len(names))
    requests = []
    for name in names:
        for level, rounding in ((low, "down"), (high, "up")):
            model = Quantile(level, bound_grid(schema.columns[name]), name, rounding)
            planned = plan(model, count, share, 0.0, mechanism="exponential", persons=schema.persons)
            named = f"{request_id or 'bounds'} of {name}, {100 * level:.6g} %"
            requests.append(BoundRequest(name, level, named, planned))
    return BoundsPlan(schema, count, total, (low, high), tuple(requests))


def _rank_error(request: BoundRequest, most: float | None = None) -> float:
    """Records by which the bound's rank may be off; one of a column's two is off by more 1 time in 10 at most.

    It is cut at n, or at `most`: uncut it is inversely proportional to epsilon.
    """
    model: Any = request.plan.model
    return float(model.rank_error(request.plan.n if most is None else most, float(request.plan["power"]), _FAILURE / 2))


def outside_in_words(shares: tuple[float, float], levels: tuple[float, float]) -> str:
    """What clipping to the proposed bounds leaves out, as a sentence."""
    below, above = (f"{100 * share:.3g} %" for share in shares)
    wanted = f"{100 * levels[0]:.3g} % and {100 * (1 - levels[1]):.3g} % by their levels"
    return (
        f"9 times in 10 at most {below} of the records lie below the lower bound and at most {above} above the upper one "
        f"({wanted}, the rest is the rank error of a private quantile)."
    )


def bound_grid(column: Any) -> tuple[float, ...]:
    """The public candidates for a bound of a Number column, from its declared bounds alone."""
    return column_grid(column, COARSE)


def _candidates(model: Any, column: Any) -> str:
    grid = model.grid
    first, last = (column.shown(end) if isinstance(column, Date) else f"{end:,.6g}" for end in (grid[0], grid[-1]))
    even = isinstance(column, Date) or is_even(grid[0], grid[-1])
    spaced = "evenly spaced" if even else "12 % apart"
    return f"one of {len(grid):,} public candidates from {first} to {last}, {spaced}"


def _levels(levels: tuple[float, float]) -> tuple[float, float]:
    if isinstance(levels, str) or len(levels) != 2:
        raise ArgumentError(f"levels must be two shares such as (0.01, 0.99); got {_validate.shown(levels)}.")
    low, high = (_validate.between("levels", level, 0.0, 1.0) for level in levels)
    if not low < high:
        raise ArgumentError(f"levels must be rising, such as (0.01, 0.99); got {low:g} and {high:g}.")
    return low, high


def _columns(schema: Schema, columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """The named columns, or all Number columns; others have no bounds to propose."""
    numbers = [name for name, column in schema.columns.items() if isinstance(column, Number)]
    names = numbers if columns is None else [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name not in numbers:
            listed = ", ".join(map(repr, numbers)) or "none"
            raise ArgumentError(
                f"columns: {name!r} is no Number column of schema {schema.name!r}. Its Number columns: {listed}."
            )
    if not names:
        raise ArgumentError(f"schema {schema.name!r} has no Number column, so there are no bounds to propose.")
    return tuple(dict.fromkeys(names))


def _up(value: float) -> float:
    """Two digits, rounded up."""
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(value)))
