"""Base class of the families: the columns that a family reads, its totals, its posterior, and the theorem that prices it.

A family is a frozen value of public numbers. The posterior's natural parameter is linear in the prior and the data,

    natural = strength * prior + power * data(totals, n),

`totals` being sums over the records of whole numbers times public units. One replaced record moves the totals by at most
`sensitivity` in Euclidean norm. The methods after `law` compute expectations, from public numbers and from data simulated from
the prior; no record is passed to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.models.laws import Law, resized
from sfumato.models.model import TOTALS
from sfumato.schema import Schema
from sfumato.schema.counts import Tally
from sfumato.schema.missing_cells import missing_key
from sfumato.schema.reading import open_source
from sfumato.schema.structure import BLOCK_ROWS

Array = NDArray[np.float64]
# Of a family from outside the package: what it may change alone, and what it must state with any other change.
_NAMES = ("name", "quantity", "labels", "priced")
_PRICES = frozenset({"sensitivity", "claim"})
_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Claim:
    """The theorem that prices draws of a family, by its name in `procedures.law` or as a function, and its public arguments."""

    theorem: str | Callable[..., Any]
    facts: Mapping[str, Any]


class Family:
    """Base of the families: each subclass defines the mathematics of one. It implements `models.model.Model`."""

    summed: ClassVar[Literal["totals"]] = TOTALS
    name: ClassVar[str]
    quantity: ClassVar[str]  # name of the quantity that is drawn, as reports show it
    bounded: bool = False  # whether the log ratio of neighbouring posteriors is bounded: then draws are pure
    priced: bool = True  # whether a theorem prices its draws; otherwise only noisy totals are released
    strengthens: ClassVar[bool] = True  # whether the prior can be multiplied by a strength
    releases_totals: bool = False  # whether the noisy totals are released beside the draws made from them
    drawn: bool = True  # whether there is a posterior to draw from
    shows_spread: ClassVar[bool] = False  # whether noisy totals show how far records spread beyond their likelihood
    groupable: ClassVar[bool] = False  # whether `spans` and `reach` are right, so that there may be one for every group
    # Whether a person's totals are those of the mean of their values, and not the means of their rows' totals.
    of_person_means: ClassVar[bool] = False
    utility: ClassVar[bool] = False  # whether draws follow a utility and not a likelihood: then power 1 is not special
    highest_power: ClassVar[float] = 1.0  # largest power that is searched; 1 is the posterior itself

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a class from outside the package that changes a family whose price was proved without changing the price.

        It may have new fields and functions, other names, and no price at all (`priced`). Where it has another function or
        number in the place of one of the family's, it must state `sensitivity` and `claim` of its own.
        """
        super().__init_subclass__(**options)
        lineage = cls.__mro__
        base = next(each for each in lineage[1:] if issubclass(each, Family))
        if base is Family or cls.__module__.partition(".")[0] == _PACKAGE:
            return
        own = {name for each in lineage[: lineage.index(base)] for name in vars(each) if not name.startswith("__")}
        changed = {name for name in own if hasattr(base, name)} - {*_NAMES, *getattr(base, "__dataclass_fields__", ())}
        if changed and not own >= _PRICES:
            raise ArgumentError(
                f"class {cls.__name__} has another {', '.join(sorted(changed - _PRICES) or sorted(changed))} than {base.__name__}, "
                "whose price was proved for its own: define sensitivity and claim too, for what the class counts and draws."
            )

    # Whether what is drawn is a share of all records, of which none, or all, may be of a kind.
    proportion: bool = False

    @property
    def possible(self) -> tuple[float, float]:
        """The least and the largest value that what is drawn can have."""
        return -math.inf, math.inf

    def strengthened(self, strength: float) -> Self:
        """The family itself: its law takes the strength as a number."""
        return self

    # --- what is released --------------------------------------------------------------------------------------------

    @property
    def conjugate(self) -> bool:
        """Whether there is a posterior to draw from, of a likelihood and not of a utility."""
        return self.drawn and not self.utility

    @property
    def goal(self) -> str:
        """Draws, or an estimate where there is no posterior."""
        return "draws" if self.drawn else "estimate"

    @property
    def size(self) -> int | None:
        """Numbers of one draw."""
        return len(self.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for every coordinate of one draw."""
        return ("theta",)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """Shape of one draw: a scalar where there is one coordinate."""
        return () if len(self.labels) == 1 else (len(self.labels),)

    def released(self, schema: Schema) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Labels and shape of one draw from data of this schema, which must fit the model."""
        self.columns(schema)
        return self.labels, self.draw_shape

    # --- what is read ------------------------------------------------------------------------------------------------

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Names of the columns that are read; a schema that does not fit is refused."""
        raise NotImplementedError

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Whole-number totals over the rows of a block: additive over rows, bounded for each."""
        raise NotImplementedError

    @property
    def units(self) -> tuple[Fraction, ...]:
        """What one whole number of each total is worth."""
        return (Fraction(1),)

    @property
    def sensitivity(self) -> float:
        """How far one replaced record can move the totals, in Euclidean norm."""
        raise NotImplementedError

    # --- one record's totals, for groups whose sizes are private ----------------------------------------------------

    @property
    def spans(self) -> tuple[int, ...]:
        """The largest whole number that a record adds to each total, counted from 0; 0 where it is not bounded so."""
        return (0,) * len(self.units)

    @property
    def reach(self) -> Fraction:
        """How far one record's totals can be from the middle of their spans, in Euclidean norm."""
        spans, units = self.spans, self.units
        return units[0] * spans[0] / 2 if len(spans) == 1 and spans[0] else Fraction(self.sensitivity)

    @property
    def presence(self) -> Fraction:
        """What a record adds to the total that counts the records of its group."""
        return self.reach

    def feasible(self, totals: Array, n: int) -> Array:
        """The nearest totals that some data set could have; applied to noisy totals, which may be impossible."""
        raise NotImplementedError

    def estimate(self, totals: Sequence[Fraction], n: int) -> list[float]:
        """For a family without a posterior: the estimate from noisy totals, one number per label."""
        raise NotImplementedError

    def widest(self, n: int) -> Array:
        """Of a model without a posterior: totals of data whose estimate has the widest interval; of one group of several."""
        raise NotImplementedError

    def estimate_error(self, n: int, deviation: float) -> float:
        """For a family without a posterior: standard deviation of an estimate when the totals have this noise."""
        raise NotImplementedError

    def estimate_expectation(self, n: int, deviation: float) -> Mapping[str, Any] | None:
        """For a family without a posterior: fields of `outlook.Expected`, if not the deviation of the estimate's noise."""
        return None

    # --- what is drawn, and at what price ----------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """The theorem that prices a draw of the posterior of n records."""
        raise NotImplementedError

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Natural parameters, shaped (..., p), of the posterior after totals shaped (..., k)."""
        raise NotImplementedError

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Law:
        """The posterior as a law to draw from, with its public grid."""
        raise NotImplementedError

    def public_law(self, n: int, power: float = 1.0, strength: float = 1.0, grid: int | None = None) -> Any:
        """The posterior of an empty table: its public fields, grid included, are those of every data set of n records.

        `grid` is the size that a plan recorded, where it is not the present one.
        """
        law = self.law([Fraction(0)] * len(self.units), n, power, strength)
        return law if grid in (None, getattr(law, "grid", None)) else resized(law, grid)

    def strongest(self, n: int) -> float:
        """Largest strength that is searched: beyond it the prior is all that is left."""
        return 1e9

    # --- what a reader may expect ------------------------------------------------------------------------------------

    def expectation(self, n: int, power: float) -> Mapping[str, Any] | None:
        """Fields of `outlook.Expected`, if the family can compute them without simulated data; else None."""
        return None

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """True parameters (size, d) drawn from the prior, and totals (size, k) of n records drawn from each."""
        raise NotImplementedError

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw (size, d) from each posterior; for expectations alone, never released."""
        raise NotImplementedError

    def divergence(self, first: Array, second: Array) -> Array:
        """KL divergence of the posterior with natural parameter `first` from that with `second`."""
        raise NotImplementedError

    def distance(self, draws: Array, truth: Array) -> Array:
        """How far draws (size, d) are from the truth (size, d): the largest coordinate's error."""
        return np.asarray(np.abs(draws - truth).max(axis=-1), dtype=np.float64)

    # --- public records ----------------------------------------------------------------------------------------------

    def with_public(self, data: object, *, schema: Schema) -> Any:
        """The family with its prior updated by PUBLIC records: a table, as `Dataset.from_table` reads it, and its schema.

        A private `Dataset` is refused: its rows may only be read by `sf.publish`, which charges for it.
        """
        # By name: this room may not import `dataset`, and a private data set must not be read as a public table.
        if hasattr(data, "schema") and hasattr(data, "n") and type(data).__name__ == "Dataset":
            raise ArgumentError(
                "with_public takes public records: a path, a data frame or a mapping of columns. An sf.Dataset holds "
                "private rows, which only sf.publish may use."
            )
        columns = self.columns(schema)
        # Masks of missing cells too, as a block of private rows has them.
        read = [*columns, *map(missing_key, columns)]
        waiting: dict[str, list[Any]] = {name: [] for name in read}
        for chunk in open_source(data, None, schema, Tally()):
            for name in read:
                if name in chunk:
                    waiting[name].append(chunk[name])
        if not any(len(part) for part in waiting[columns[0]]):
            raise ArgumentError("with_public needs at least one public record; the table is empty.")
        block = {name: np.concatenate(parts) for name, parts in waiting.items() if parts}
        rows = len(block[columns[0]])
        # In runs of rows, as private data are read: whole numbers of one run cannot overflow.
        runs = [slice(start, start + BLOCK_ROWS) for start in range(0, rows, BLOCK_ROWS)]
        tallies = [self.tally({name: array[run] for name, array in block.items()}, columns) for run in runs]
        totals = [sum(int(count) for count in counts) for counts in zip(*tallies, strict=True)]
        return self.updated([count * unit for count, unit in zip(totals, self.units, strict=True)], rows)

    def updated(self, totals: Sequence[Fraction], n: int) -> Any:
        """The family whose prior is this one's posterior after `n` public records with these totals."""
        raise NotImplementedError

    # --- documents ---------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Name and public numbers."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"family": self.name, **{key: _plain(value) for key, value in values.items()}}

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{key}={_short(value)}"
            for key, value in self.to_json().items()
            if key != "family" and value is not None and not (key == "floor" and value == 0)
        )
        return f"{self.name}({shown})"


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        inner = ", ".join(map(_short, value[:6]))
        return f"[{inner}{', ...' if len(value) > 6 else ''}]"
    return repr(value)
