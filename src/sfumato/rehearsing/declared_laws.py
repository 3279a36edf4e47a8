"""The law of one column of the expected rows: what was declared of it, or what is assumed where nothing was.

Values are drawn in strata, so that the shares of m rows are as near to the declared ones as whole numbers allow and a rare
level is never absent by chance. They are in the column's stored form: a number within its bounds, the position of a level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.rehearsing.fact_examples import example_of, refused
from sfumato.schema import Boolean, Column, Date, Number

Array = NDArray[np.float64]
# Shares of levels are sums of decimals, which differ from 1 by a few roundings.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Law:
    """How a column's values are drawn, and a sentence that says it."""

    sentence: str
    draw: Callable[[int, np.random.Generator], NDArray[Any]]


def law_of(
    name: str, column: Column, fact: object = None, spread: float | None = None, rare: float | None = None
) -> Law:
    """The law of a column: {"mean", "sd"} of a number, the share of yes, or shares by level; None for the default.

    A number without a fact is uniform between its bounds, or has a deviation of `spread` times their width about their middle;
    levels without one are equally likely, or of this `rare` share but for the reference level.
    """
    if isinstance(column, Number):
        if fact is None and spread is not None:
            width = column.upper - column.lower
            fact = {"mean": column.lower + width / 2, "sd": spread * width}
        return _uniform(name, column) if fact is None else _beta(name, column, fact)
    if fact is None and rare is not None:
        common = getattr(column, "reference", None)
        fact = {level: rare for level in column.levels or () if level != common}
        fact = dict(list(fact.items())[-len(column.levels or ()) + 1 :])
    shares = shares_of(name, column, fact)
    levels = ["no", "yes"] if isinstance(column, Boolean) else [str(level) for level in column.levels or ()]
    if fact is None:
        said = "yes or no, half and half" if isinstance(column, Boolean) else f"{len(levels)} levels, equally likely"
    else:
        said = ", ".join(f"{level} {100 * share:.3g} %" for level, share in zip(levels, shares, strict=True))
    return Law(f"{name}: {said}", lambda m, rng: rng.permutation(np.repeat(np.arange(len(shares)), counts(shares, m))))


def shares_of(name: str, column: Column, fact: object) -> list[float]:
    """The share of every level; levels that are not named share the rest evenly."""
    levels = list(column.levels or ())
    if fact is None:
        return [1 / len(levels)] * len(levels)
    if isinstance(fact, Mapping):
        return _shares_by_level(name, column, levels, fact)
    if len(levels) != 2:
        raise refused(f"{name!r} has {len(levels)} levels; declare their shares", example_of(column), fact)
    share = _share(name, fact)
    return [1 - share, share]


def _shares_by_level(name: str, column: Column, levels: list[Any], fact: Mapping[Any, object]) -> list[float]:
    # The keys of TOML are texts, also where the levels are whole numbers.
    texts = {} if isinstance(column, Boolean) else {str(level): level for level in levels}
    fact = {level if level in levels or level not in texts else texts[level]: share for level, share in fact.items()}
    named = {level: _share(f"{name}={level}", share) for level, share in fact.items()}
    unknown = [level for level in named if level not in levels]
    if unknown or (isinstance(column, Boolean) and any(not isinstance(level, bool) for level in named)):
        raise ArgumentError(
            f"rows: the levels of {name!r} are {', '.join(map(repr, levels))}; got {', '.join(map(repr, fact))}."
        )
    rest, others = 1 - sum(named.values()), len(levels) - len(named)
    if rest < -_ROUNDING or (not others and rest > _ROUNDING):
        raise ArgumentError(
            f"rows: the shares of the levels of {name!r} must add up to 1, or to less where a level is left out; they add up "
            f"to {1 - rest:g}."
        )
    return [named.get(level, max(rest, 0.0) / max(others, 1)) for level in levels]


def _share(name: str, value: object) -> float:
    share = _validate.finite(f"rows: the share of {name}", value)
    if not 0 <= share <= 1:
        raise ArgumentError(f"rows: the share of {name} must lie between 0 and 1 (0.05 for 5 %); got {share:g}.")
    return share


def counts(shares: Sequence[float], m: int) -> NDArray[np.int64]:
    """How many of m rows have each level: the share, rounded, at least one of each that has a share; m in all."""
    wanted: NDArray[np.int64] = np.maximum(np.rint(np.array(shares) * m), np.array(shares) > 0).astype(np.int64)
    while (excess := int(wanted.sum()) - m) != 0:
        # The largest level takes what rounding left over; few rows and many levels may need several.
        most = int(wanted.argmax())
        wanted[most] -= min(excess, max(int(wanted[most]) - 1, 1))
    return wanted


def together(
    columns: Mapping[str, NDArray[Any]], correlation: float, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """The same values of every column in another order: in that of normal numbers of which each two have this correlation."""
    common = rng.normal(size=len(next(iter(columns.values()))))
    ordered = {}
    for name, values in columns.items():
        own = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.normal(size=len(values))
        ordered[name] = np.sort(values)[own.argsort().argsort()]
    return ordered


def strata(m: int, rng: np.random.Generator) -> Array:
    """Probabilities, m of them, at equal distances, in random order."""
    return np.asarray(rng.permutation((np.arange(m) + 0.5) / m))


def _uniform(name: str, column: Number) -> Law:
    width = column.upper - column.lower
    return Law(
        f"{name}: uniform between {column.shown(column.lower)} and {column.shown(column.upper)}",
        lambda m, rng: _whole(column, column.lower + width * strata(m, rng)),
    )


def _beta(name: str, column: Number, fact: object) -> Law:
    """A Beta law on the bounds: it exists for every mean within them and every deviation below that of their two ends."""
    mean, sd = mean_and_sd(name, column, fact)
    place, spread = (mean - column.lower) / (column.upper - column.lower), sd / (column.upper - column.lower)
    if spread**2 >= place * (1 - place):
        most = (column.upper - column.lower) * (place * (1 - place)) ** 0.5
        raise ArgumentError(
            f"rows: between {column.lower:g} and {column.upper:g} a mean of {mean:g} allows sd below {most:.4g}; {name!r} has "
            f"{sd:g}. Declare a smaller sd."
        )
    size = place * (1 - place) / spread**2 - 1

    def draw(m: int, rng: np.random.Generator) -> Array:
        from scipy.special import betaincinv

        unit = betaincinv(place * size, (1 - place) * size, strata(m, rng))
        return _whole(column, column.lower + (column.upper - column.lower) * np.asarray(unit))

    low, high = column.shown(column.lower), column.shown(column.upper)
    days = " days" if isinstance(column, Date) else ""
    return Law(f"{name}: mean {column.shown(mean)}, sd {sd:g}{days} (a Beta law between {low} and {high})", draw)


def mean_and_sd(name: str, column: Number, fact: object, sd: float | None = None) -> tuple[float, float]:
    """The two declared numbers of a column, the mean within its bounds; `sd` stands for one that is not given."""
    keys = set(fact) if isinstance(fact, Mapping) else set()
    if (
        not isinstance(fact, Mapping)
        or "mean" not in keys
        or keys - {"mean", "sd"}
        or (sd is None and "sd" not in keys)
    ):
        raise refused(f"{name!r} is a number; declare its mean and sd", example_of(column), fact)
    try:
        given = column.edge(fact["mean"], f"the mean of {name}")
    except ArgumentError as error:
        raise ArgumentError(f"rows: {str(error).removeprefix('Date: ')}") from None
    mean = _validate.finite(f"rows: the mean of {name}", given)
    if not column.lower < mean < column.upper:
        low, high = column.shown(column.lower), column.shown(column.upper)
        raise ArgumentError(
            f"rows: the mean of {name!r} must lie between its bounds {low} and {high}; got {column.shown(mean)}."
        )
    return mean, _validate.positive(f"rows: the sd of {name}", fact.get("sd", sd))


def _whole(column: Number, values: Array) -> Array:
    return np.asarray(np.clip(np.rint(values) if column.integer else values, column.lower, column.upper))
