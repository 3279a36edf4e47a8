"""A Markov chain of order one: single transitions, or whole trajectories of bounded length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._counts import ONE_MOVED
from sfumato.models.families.family import Array, Claim
from sfumato.models.networks import _unshrunk
from sfumato.models.networks._tables import Factor, Table, Tables, named_levels, prior_cells, size_of
from sfumato.schema import Category, Schema

# Accepted values of `record`, and the names of the two tables.
RECORDS = ("entry", "trajectory")
_FIRST, _NEXT = "first", "next"


@dataclass(frozen=True, repr=False, init=False)
class MarkovChain(Tables):
    """x_(t+1) ~ theta[x_t], every row of theta Dirichlet(alpha); of trajectories also x_1 ~ Dirichlet(alpha).

    record: what one row of the table is, and so what is protected. "entry": one transition, two Category columns (from, to).
    "trajectory": `length` Category columns, one per step, a whole trajectory of at most that many states. `end` declares a
    further level, last in the schema: a trajectory stops where it first appears, and going there is a transition too.
    names: the columns in order; left out, the schema's Category columns are taken as they stand.
    """

    states: Any
    alpha: Any
    record: str
    length: int | None
    end: Any
    names: tuple[str, ...] | None
    name = "MarkovChain"

    def __init__(
        self,
        states: Any,
        alpha: Any = 1.0,
        record: str = "entry",
        length: int | None = None,
        end: Any = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """Check that the record is declared: trajectories need their largest length."""
        object.__setattr__(self, "states", named_levels("states", states))
        object.__setattr__(self, "record", _validate.one_of("record", record, RECORDS))
        if record == "trajectory":
            if length is None:
                raise ArgumentError(
                    "a record that is a trajectory needs length: the largest number of its states, public."
                )
            length = _validate.whole("length", length, minimum=2)
        elif length is not None or end is not None:
            raise ArgumentError("length and end belong to record='trajectory'.")
        if isinstance(self.states, tuple) and end is not None and end in self.states:
            raise ArgumentError(f"end must be a level of its own, not one of the states; got {end!r}.")
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "names", None if names is None else tuple(names))
        if names is not None and (len(set(names)) != len(names) or len(names) != self._steps + 1):
            raise ArgumentError(f"names must be {self._steps + 1} different columns, in order; got {list(names)!r}.")
        object.__setattr__(self, "alpha", prior_cells(alpha, self.tables))

    # --- structure ---------------------------------------------------------------------------------------------------

    @property
    def _steps(self) -> int:
        """Most transitions of one record."""
        return 1 if self.length is None else self.length - 1

    @property
    def _size(self) -> int:
        return size_of(self.states)

    @property
    def _reached(self) -> int:
        """Levels that a step can lead to: the states, and the end where there is one."""
        return self._size + (self.end is not None)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Of trajectories the first state's table; the transitions' table, which all steps share."""
        size, reached, steps = self._size, self._reached, self._steps
        if self.record == "entry":
            return (Table(_NEXT, 0, size, reached),)
        filled = self.end is None
        return Table(_FIRST, 0, 1, reached), Table(_NEXT, reached, size, reached, steps, filled)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every cell in words: first=state, next=state | state."""
        states = [str(s) for s in (range(self.states) if isinstance(self.states, int) else self.states)]
        reached = states + ([str(self.end)] if self.end is not None else [])
        first = [f"first={word}" for word in reached] if self.record == "trajectory" else []
        return (*first, *(f"next={to} | {start}" for start in states for to in reached))

    # --- what is read ------------------------------------------------------------------------------------------------

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns of the steps, in order; their levels must be the states, and then the end."""
        names = self.names
        if names is None:
            names = tuple(name for name, column in schema.columns.items() if isinstance(column, Category))
        if len(names) != self._steps + 1:
            raise ArgumentError(
                f"the chain needs {self._steps + 1} Category columns and schema {schema.name!r} has {len(names)}. "
                "Name them in order: MarkovChain(..., names=[...])."
            )
        end = () if self.end is None else (self.end,)
        for name in names:
            column = schema.columns.get(name)
            levels: tuple[Any, ...] = tuple(column.levels) if isinstance(column, Category) else ()
            states = levels[: self._size] if isinstance(self.states, int) else self.states
            if len(levels) != self._reached or levels != (*states, *end):
                raise ArgumentError(
                    f"column {name!r} must be a Category whose levels are the chain's states"
                    f"{'' if self.end is None else ' and then the end'}, in the same order."
                )
        return names

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Counts of first states and of transitions: a record adds one of the first and at most `length` - 1 of the others."""
        reached, size = self._reached, self._size
        steps = [np.clip(np.asarray(block[name]).astype(np.int64), 0, reached - 1) for name in columns]
        counts = np.zeros(size * reached, dtype=np.int64)
        going = np.ones(len(steps[0]), dtype=bool)
        for here, there in pairwise(steps):
            going = going & (here < size)
            counts += np.bincount(here[going] * reached + there[going], minlength=size * reached)
        if self.record == "entry":
            return counts
        return np.concatenate([np.bincount(steps[0], minlength=reached), counts]).astype(np.int64)

    @property
    def sensitivity(self) -> float:
        """One first state is replaced by another, and all transitions may leave one cell for another."""
        if self.record == "entry":
            return ONE_MOVED
        return math.sqrt(2 + 2 * self._steps**2) * (1 + 1e-15)

    # --- what is drawn -----------------------------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """One transition is one node of a network; a trajectory moves up to `length` - 1 counts at once."""
        if self.record == "entry":
            return Claim("network", {"smallest_cells": self.smallest_cells})
        first, following = self.smallest_cells
        return Claim("trajectories", {"first_cell": first, "next_cell": following, "moves": self._steps})

    # --- what a reader may expect ------------------------------------------------------------------------------------

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Tables from the prior, and counts of n records; single transitions start from every state equally often."""
        truth = self.sketch(rng, np.tile(self.prior, (size, 1)))
        counts = np.zeros_like(truth)
        table = self.tables[-1]
        if self.record == "entry":
            at_state = rng.multinomial(np.full(size, n), np.full(self._size, 1 / self._size))
        else:
            first = rng.multinomial(np.full(size, n), truth[:, : self._reached])
            counts[:, : self._reached], at_state = first, first[:, : self._size]
        for _ in range(self._steps):
            cells = rng.multinomial(at_state, table.of(truth))
            counts[:, table.first :] += cells.reshape(size, -1)
            at_state = cells.sum(axis=-2)[:, : self._size]
        return truth, counts

    def row_weights(self, truth: Array) -> Iterator[Array]:
        """Share of transitions that leave each state: over all steps of a trajectory; equal for single transitions."""
        if self.record == "entry":
            return super().row_weights(truth)
        visits = self._visits(truth)
        total = np.maximum(visits.sum(axis=-1, keepdims=True), 1e-300)
        return iter([np.ones((*truth.shape[:-1], 1)), visits / total])

    def _visits(self, truth: Array) -> Array:
        """Expected number of times that one trajectory leaves each state."""
        here = truth[..., : self._size]
        rows = self.tables[-1].of(truth)[..., : self._size]
        visits = np.zeros_like(here)
        for _ in range(self._steps):
            visits = visits + here
            here = (here[..., :, None] * rows).sum(axis=-2)
        return visits

    # --- queries of a release ----------------------------------------------------------------------------------------

    def factors(self, values: Array, columns: Sequence[str]) -> list[Factor]:
        """The law of each step given the one before; after the end comes the end. Single transitions have no first law."""
        rows = self.tables[-1].of(values)
        if self.end is not None:
            rows = np.concatenate([rows, np.eye(self._reached)[-1:]])
        start = [] if self.record == "entry" else [Factor(columns[0], (), values[: self._reached])]
        return start + [Factor(there, (here,), rows) for here, there in pairwise(columns)]

    def unshrunk(self, values: Array, n: int, power: float, strength: float) -> Array | None:
        """Remove the prior's shrinkage. Visits of a state depend on the tables themselves, so the correction is iterated."""
        if self.record == "entry":
            return None
        first, following = self.tables
        freed = values.copy()
        start = _unshrunk.rows(first.of(values), first.of(self.prior), np.array([float(n)]), power, strength)
        freed[: first.last] = start.ravel()
        # Eight rounds: visits and rows depend on each other, and each round corrects less than the one before.
        for _ in range(8):
            at_state = n * self._visits(freed)
            rows = _unshrunk.rows(following.of(values), following.of(self.prior), at_state, power, strength)
            freed[following.first :] = rows.ravel()
        return freed
