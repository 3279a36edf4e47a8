"""A random local search for the pair of neighbours that a measure of separation rates highest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.person_pairs import with_persons
from sfumato.auditing.records import (
    MATRIX,
    Candidate,
    Record,
    neighbour_of,
    one_cell,
    random_record,
)
from sfumato.auditing.separating import Separation, separation_of
from sfumato.mechanisms.plan import Plan
from sfumato.schema import Number, Schema

# Share of the moves that change one cell and leave the others of the record.
_SMALL_MOVES = 0.5
# Standard deviation of a small move of a number or a row, as a share of its range.
_STEP = 0.15
# Digits of a separation that count: smaller gains are roundings, and the earlier candidate has the clearer name.
_DIGITS = 6


def searched(
    plan: Plan,
    schema: Schema,
    separation: Separation | None = None,
    seed: int = 0,
    tries: int = 200,
    starts: Sequence[Candidate] | None = None,
) -> Neighbours:
    """The best pair of `tries` tries, from the best of `starts` (the model's worst cases unless given) and random changes.

    A move replaces one of the two records or one of the others, wholly or in one cell; it is kept where the separation grows.
    Without starts (an empty list) the search begins at a random pair. The same seed gives the same pair.
    """
    from sfumato.auditing.neighbours import candidates_of  # it offers this search to callers

    measure, schema = separation or separation_of(plan), with_persons(plan, schema)
    rng = np.random.default_rng(seed)
    listed = list(candidates_of(plan, schema) if starts is None else starts) or [_random(plan, schema, rng)]
    climb = Climb(plan, schema, measure)
    for candidate in listed:
        climb.look_at(candidate)
    climb.search(rng, tries)
    return climb.ranked[0][2]


class Climb:
    """Candidates with their separation and their pair, the best first; of equal ones the earlier."""

    def __init__(self, plan: Plan, schema: Schema, measure: Separation) -> None:
        """Nothing has been looked at yet."""
        self.plan, self.schema, self.measure = plan, schema, measure
        self.ranked: list[tuple[float, Candidate, Neighbours]] = []

    @property
    def best(self) -> Candidate:
        """The candidate of the largest separation."""
        return self.ranked[0][1]

    def look_at(self, candidate: Candidate, kept: int = 64) -> None:
        """Put the candidate into its place; only the best `kept` are held."""
        pair = candidate.built(self.schema, self.plan.n)
        self.ranked.append((self.measure(pair), candidate, pair))
        self.ranked.sort(key=lambda entry: -round(entry[0], _DIGITS))
        del self.ranked[kept:]

    def search(self, rng: np.random.Generator, tries: int) -> None:
        """Random changes of the best candidate; those that are better replace it."""
        for _ in range(tries):
            self.look_at(_moved(self.plan, self.schema, self.best, rng), kept=len(self.ranked))


def _random(plan: Plan, schema: Schema, rng: np.random.Generator) -> Candidate:
    first = random_record(schema, rng)
    second = neighbour_of(plan, first, random_record(schema, rng), rng)
    return Candidate(
        "one record is replaced, chosen by a random search", first, second, [(random_record(schema, rng), 1.0)]
    )


def _moved(plan: Plan, schema: Schema, start: Candidate, rng: np.random.Generator) -> Candidate:
    """The candidate with one of its records changed, or with another mixture of the others."""
    first, second, others = start.first, start.second, list(start.others)
    kind = int(rng.integers(4))
    if kind == 0:
        first = _changed(schema, first, rng)
    elif kind == 1:
        second = _changed(schema, second, rng)
    else:
        place = int(rng.integers(len(others)))
        others[place] = (_changed(schema, others[place][0], rng), float(rng.random() + 0.1))
        if kind == 3 and len(others) < 3:
            others.append((random_record(schema, rng), float(rng.random() + 0.1)))
    if one_cell(plan):
        second = neighbour_of(plan, first, second, rng)
    return Candidate("one record is replaced, chosen by a random search", first, second, others)


def _changed(schema: Schema, record: Record, rng: np.random.Generator) -> Record:
    """Another random record, or the same with one cell replaced or moved a little."""
    fresh = random_record(schema, rng)
    if rng.random() >= _SMALL_MOVES:
        return fresh
    name = list(record)[int(rng.integers(len(record)))]
    column = schema.columns.get(name)
    value: Any = fresh[name]
    if name == MATRIX and rng.random() < 0.5:
        value = record[name] + _STEP * (schema.data_norm or 1.0) * rng.standard_normal(len(record[name]))
    elif isinstance(column, Number) and not column.integer and rng.random() < 0.5:
        moved = record[name] + _STEP * (column.upper - column.lower) * rng.standard_normal()
        value = min(max(float(moved), column.lower), column.upper)
    return {**record, name: value}
