"""Pairs of records at which the price of a family is attained or nearly so, with the others that make them worst.

Draws are told apart best where the others say nothing about what the record changes: counts are smallest (a Beta with no success,
a Gamma whose sum is 0), or the cells that change are empty and the rest of their row is full. Noisy totals depend on the two
records alone: their statistics are as far apart as they can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.auditing.records import MATRIX, Candidate, Record, ends, levels_of, plain
from sfumato.models import families
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families._vectors import Vectors
from sfumato.models.grouped import Grouped
from sfumato.models.networks import BayesianNetwork, MarkovChain
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.schema import Number, Schema

# Levels of a finite family among which pairs are compared exactly; of more, the first and the last ones.
_MOST_LEVELS = 6
# Places of a mode in the range of a trimmed family, from 0 to 1; the ratio of neighbours varies most at one of them.
_PLACES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# Divisions of the others of a finite family between two levels that are looked at at once.
_PARTS = 64


def worst_records(model: Any, schema: Schema, n: int, power: float, entry: bool = False) -> list[Candidate]:
    """Worst pairs of a family's records; with `entry` the two records differ in one cell alone."""
    if entry and isinstance(model, BayesianNetwork):
        return _network(model, schema, n, power, entry)
    for kind, candidates in _TABLE:
        if isinstance(model, kind):
            return candidates(model, schema, n, power)
    return _ends(model, schema, n, power)


def _ends(model: Any, schema: Schema, n: int, power: float) -> list[Candidate]:
    """Every column that is read at one end and at the other; the others at either end."""
    low, high = {**plain(schema)}, {**plain(schema)}
    for name in model.columns(schema):
        if name in schema.columns:
            low[name], high[name] = ends(schema.columns[name])
    return [
        Candidate("one record falls to the lower end, all others are there", high, low, [(low, 1.0)]),
        Candidate("one record rises to the upper end, all others are there", low, high, [(high, 1.0)]),
        *(
            Candidate(
                "one record rises to the upper end, some of the others are there",
                low,
                high,
                [(low, 1 - share), (high, share)],
            )
            for share in (_PLACES if model.bounded else (0.5,))
        ),
    ]


def _vectors(model: Vectors, schema: Schema, n: int, power: float) -> list[Candidate]:
    """Opposite rows of the largest norm along the direction in which the records say most about the mean."""
    basis = np.eye(model.size) if model.basis is None else np.array(model.basis)
    steepest = basis[:, int(np.argmax(model.curvatures))]
    row = (schema.data_norm or 0.0) * steepest / np.linalg.norm(steepest)
    base = plain(schema)
    return [
        Candidate(
            "a row becomes its opposite, all others are 0", {**base, MATRIX: row}, {**base, MATRIX: -row}, [(base, 1.0)]
        )
    ]


def _statistic(model: GammaRate, schema: Schema, n: int, power: float) -> list[Candidate]:
    """The least and the largest statistic: at the centre of the records and as far from it as the bounds allow."""
    (name,) = model.columns(schema)
    low, high = ends(schema.columns[name])
    centre = min(max(getattr(model, "centre", 0.0), low), high)
    far = max((low, high), key=lambda value: float(model.statistic(np.array([value]))[0]))
    least, most = {**plain(schema), name: centre}, {**plain(schema), name: far}
    return [
        Candidate("one statistic rises from least to largest, all others are least", least, most, [(least, 1.0)]),
        Candidate("one statistic falls from largest to least, all others are largest", most, least, [(most, 1.0)]),
        *(
            Candidate(
                "one statistic rises from least to largest, all others lie between",
                least,
                most,
                [({**least, name: x}, 1.0)],
            )
            for x in _central_values(model, centre, far, n, power)
        ),
    ]


def _central_values(model: GammaRate, centre: float, far: float, n: int, power: float) -> list[float]:
    """Values of the others that put the posterior's mode inside the range of a trimmed family."""
    if model.lower is None or model.upper is None or n < 2:
        return []
    shape, most = model.shape + power * model.shape_per_record * n, power * (n - 1) * float(model.largest)
    modes = [model.lower + place * (model.upper - model.lower) for place in _PLACES]
    shares = [share for mode in modes if 0 < (share := (shape / mode - model.rate) / most) < 1]
    values = np.linspace(centre, far, 4097)
    return np.interp(shares, model.statistic(values), values).tolist()


def _shares(model: families.DirichletCategorical, schema: Schema, n: int, power: float) -> list[Candidate]:
    """From the rarest cell of the prior to the next; the others in a third cell, else in one of the two."""
    columns = model.columns(schema)
    order = sorted(range(len(model.levels)), key=lambda place: model.alpha[place])
    records = [{**plain(schema), **model.record_in(place, columns)} for place in order]
    third = [("a third", records[-1])] if len(records) > 2 else []
    others = [*third, ("the old one", records[0]), ("the new one", records[1])]
    name = "one record changes its level, all others are in"
    return [Candidate(f"{name} {where}", records[0], records[1], [(r, 1.0)]) for where, r in others]


def _finite(model: families.Finite, schema: Schema, n: int, power: float) -> list[Candidate]:
    """The pairs of levels, and the division of the others between two levels, of the largest ratio and divergence."""
    (name,) = model.columns(schema)
    levels = levels_of(schema.columns[name])
    places = list(range(len(levels)))
    if len(places) > _MOST_LEVELS:
        places = places[: _MOST_LEVELS // 2] + places[-_MOST_LEVELS // 2 :]
    records = [{**plain(schema), name: level} for level in levels]
    candidates = []
    for how in ("divergence", "ratio"):
        best = max(_divided(model, n, power, how, pair, rest) for rest in _pairs(places) for pair in _pairs(places))
        _, count, (one, two), (here, there) = best
        others = (
            [(records[here], float(count)), (records[there], float(n - 1 - count))] if n > 1 else [(records[here], 1.0)]
        )
        candidates.append(
            Candidate(f"one record changes to the level of largest {how}", records[one], records[two], others)
        )
    return candidates


def _pairs(places: list[int]) -> list[tuple[int, int]]:
    return list(combinations(places, 2))


def _divided(
    model: families.Finite, n: int, power: float, how: str, pair: tuple[int, int], rest: tuple[int, int]
) -> tuple[float, int, tuple[int, int], tuple[int, int]]:
    """The largest divergence or log ratio of two levels over divisions of the others, and how many are at the first level.

    As a function of the division it has a peak between neighbouring parameters, so the best of some is looked at more closely.
    """
    table, prior = np.array(model.kept_log_likelihood), np.array(model.log_prior)
    low, high, best = 0, n - 1, (-1.0, 0)
    while True:
        counts = np.unique(np.linspace(low, high, _PARTS).round().astype(np.int64))
        base = prior + power * (counts[:, None] * table[:, rest[0]] + (n - 1 - counts)[:, None] * table[:, rest[1]])
        first, second = (_normalised(base + power * table[:, place]) for place in pair)
        gap = first - second
        values = np.abs(gap).max(axis=1) if how == "ratio" else ((np.exp(first) - np.exp(second)) * gap).sum(axis=1)
        place = int(values.argmax())
        best = max(best, (float(values[place]), int(counts[place])))
        if len(counts) < _PARTS or high - low < _PARTS:
            return *best, pair, rest
        width = (high - low) // _PARTS + 1
        low, high = max(0, int(counts[place]) - width), min(n - 1, int(counts[place]) + width)


def _normalised(logs: Any) -> Any:
    """Log probabilities of every row of log weights."""
    relative = logs - logs.max(axis=-1, keepdims=True)
    return relative - np.log(np.exp(relative).sum(axis=-1, keepdims=True))


def _quantile(model: families.Quantile, schema: Schema, n: int, power: float) -> list[Candidate]:
    """From below all candidates to above them, the others such that candidates of equal loss gain and lose one record each.

    With b records below, two between the middle candidates and the rest above, the lower candidates miss level n - b records
    and the upper ones b + 2 - level n; with b = level n - 1 both miss one.
    """
    (name,) = model.columns(schema)
    low, high = ends(schema.columns[name])
    grid = model.grid
    gap = len(grid) // 2
    between = min(max((grid[gap - 1] + grid[gap]) / 2, low), high)
    below, inside, above = ({**plain(schema), name: value} for value in (low, between, high))
    under = min(max(round(model.level * n) - 1, 0), max(n - 3, 0))
    counts = [under, min(2, n - 1), max(n - 1 - under - 2, 0)]
    if not sum(counts):
        counts = [1, 0, 0]
    others = [(record, float(count)) for record, count in zip((below, inside, above), counts, strict=True) if count]
    return [
        Candidate("one record jumps over all candidates, others are on both sides", below, above, others),
        Candidate("one record jumps over all candidates, others are in the middle", below, above, [(inside, 1.0)]),
    ]


def _grouped(model: Grouped, schema: Schema, n: int, power: float) -> list[Candidate]:
    """From one group to another, with every pair of the family's worst records; the others fill both groups."""
    group, *_ = model.columns(schema)
    inner = Schema({name: schema.columns[name] for name in schema.columns if name != group}, name=schema.name)
    here, there = model.levels[0], model.levels[-1]
    candidates = []
    for own in worst_records(model.model, inner, n, power)[:2]:
        for one, two in ((own.second, own.second), (own.first, own.first), (own.first, own.second)):
            for filler in (own.first, own.second):
                others = [({**filler, group: level}, 1.0) for level in (here, there)]
                candidates.append(
                    Candidate("one record changes its group", {**one, group: here}, {**two, group: there}, others)
                )
        for place in (here, there):
            others = [({**record, group: place}, weight) for record, weight in own.others]
            name = f"in one group, {own.name}" if place == here else "one record changes, others are in another group"
            candidates.append(Candidate(name, {**own.first, group: here}, {**own.second, group: here}, others))
    return candidates


def _network(model: BayesianNetwork, schema: Schema, n: int, power: float, entry: bool = False) -> list[Candidate]:
    """Every table changed: all columns at their first level, then at their last; the others in the rows that both leave empty."""
    low, high, between = plain(schema), plain(schema), plain(schema)
    for name in model.columns(schema):
        low[name], high[name] = ends(schema.columns[name])
        between[name] = _inner(schema, name, dict(model.bins).get(name))
    first, second = low, high
    if entry:
        children = {node: sum(node in above for _, above in model.parents) for node in model.sizes}
        node = max(children, key=lambda name: children[name])
        second = {**low, node: high[node]}
    change = "one cell changes" if entry else "one record changes every cell"
    roots = {node for node, above in model.parents if not above}
    sides = [{name: (side[name] if name in roots else between[name]) for name in side} for side in (low, high)]
    return [
        Candidate(f"{change}, all others equal the new one", first, second, [(second, 1.0)]),
        Candidate(f"{change}, all others equal the old one", first, second, [(first, 1.0)]),
        Candidate(f"{change}, all others have inner levels", first, second, [(between, 1.0)]),
        Candidate(
            f"{change}, all others share its parents",
            first,
            second,
            [(side, 1.0) for side in sides],
        ),
    ]


def _learnt(model: LearnedNetwork, schema: Schema, n: int, power: float) -> list[Candidate]:
    """Every table changed; the others at either end, at inner levels, or half at each end."""
    low, high, between = plain(schema), plain(schema), plain(schema)
    edges = {**dict(model.bins), **dict(model.quantiles)}
    for name in model.columns(schema):
        low[name], high[name] = ends(schema.columns[name])
        between[name] = _inner(schema, name, edges.get(name))
    others = {"equal the new one": [(high, 1.0)], "equal the old one": [(low, 1.0)], "have inner levels": [(between, 1.0)],
              "are at both ends": [(low, 1.0), (high, 1.0)]}  # fmt: skip
    return [Candidate(f"one record changes every cell, all others {where}", low, high, given)
            for where, given in others.items()]  # fmt: skip


def _inner(schema: Schema, name: str, edges: Sequence[float] | None) -> Any:
    """A level that is neither the first nor the last, where there is one."""
    column = schema.columns[name]
    if isinstance(column, Number):
        inner = edges or (column.lower, column.upper)
        return min(max((inner[len(inner) // 2 - 1] + inner[len(inner) // 2]) / 2, column.lower), column.upper)
    return levels_of(column)[:2][-1]


def _chain(model: MarkovChain, schema: Schema, n: int, power: float) -> list[Candidate]:
    """From staying in one state to staying in another; the others leave these states, so that their rows are full."""
    names = model.columns(schema)
    levels = schema.columns[names[0]].levels or ()
    size = len(levels) - (model.end is not None)

    def visiting(*states: int) -> Record:
        return {**plain(schema), **{name: levels[states[k % len(states)]] for k, name in enumerate(names)}}

    here, there, away = visiting(0), visiting(size - 1), 1 if size > 2 else len(levels) - 1
    leaving = [(visiting(0, away), 1.0), (visiting(size - 1, away if size > 2 else 0), 1.0)]
    if size > 2 and len(names) > 2:
        around = visiting(*[away, *(0 if k % 2 else size - 1 for k in range(1, len(names)))])
        leaving = [(around, 1.0)]
    beside = visiting(0, size - 1) if len(names) == 2 else visiting(*[0] * (len(names) - 1), size - 1)
    return [
        Candidate("one record stays in another state, others leave both", here, there, leaving),
        Candidate("one record leaves its state differently, others are elsewhere", here, beside, [(there, 1.0)]),
        Candidate("one record stays in another state, all others are there", here, there, [(there, 1.0)]),
    ]


_TABLE: tuple[tuple[Any, Callable[..., list[Candidate]]], ...] = (
    (Grouped, _grouped),
    (BayesianNetwork, _network),
    (LearnedNetwork, _learnt),
    (MarkovChain, _chain),
    (families.Finite, _finite),
    (families.Quantile, _quantile),
    (families.DirichletCategorical, _shares),
    (GammaRate, _statistic),
    (Vectors, _vectors),
)
