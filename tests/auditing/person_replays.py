"""The tasks of `replay_cases` for persons with several rows, and groups of tables that differ in the rows of one person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from replay_cases import CASES, FAMILIES, LEARNT, N, every_two

import sfumato as sf
from sfumato.auditing.person_pairs import person_groups
from sfumato.auditing.records import STYLES
from sfumato.auditing.replay_record import Record, recorded
from sfumato.auditing.schemas import public_schema
from sfumato.engines.opening import open_engine
from sfumato.mixtures.fitting import fitted
from sfumato.procedures import named, noisy_tables, unaveraged
from sfumato.procedures.protocol import Task

MOST = 3
PERSONS = sf.Persons("who", most=MOST, count=N, rows="visits")


@dataclass(frozen=True)
class PersonCase:
    """A task about persons, the engines that serve it, and the schema of their rows."""

    procedure: str
    task: Task
    engines: tuple[str, ...]
    schema: sf.Schema

    def records(self, engine: str, seed: int, size: int, noise: float = 1.0) -> list[Record]:
        """The runs on a group of tables, each after the outputs of the first."""
        run, rng = named(self.procedure), np.random.default_rng([seed, 8])
        group = person_groups(self.schema, size, rng, STYLES[seed % len(STYLES)], engine == "sparse")
        opened = [open_engine(each, self.task.model, run.NEEDS, engine) for each in group]
        # A mixture is fitted to what is released: a short fit shows as much.
        with patch.object(noisy_tables, "fitted", lambda pairs, report: fitted(pairs, 2, 4, 10, report)):
            first = recorded(run, self.task, opened[0], seed, size=noise)
            return [first, *(recorded(run, self.task, each, seed, first) for each in opened[1:])]

    def pairs(self, engine: str, seed: int, size: int, noise: float = 1.0) -> Iterator[Any]:
        """Every two runs of a group, compared."""
        yield from every_two(self.procedure, self.task, self.records(engine, seed, size, noise))


def _schema(name: str, task: Task) -> sf.Schema:
    """The schema of the rows: the case's own, or for a regression the one that its model fixes."""
    listed = {**FAMILIES, **LEARNT}
    own = listed.get(name.rpartition(", ")[0] or name)
    return (own[1] if own is not None else public_schema(task.model, N)).with_persons(PERSONS)


def person_cases() -> dict[str, PersonCase]:
    """Every case that is served for averages of a person's rows."""
    made = {}
    for name, case in CASES.items():
        if unaveraged(named(case.procedure), case.task.model, PERSONS.terms) is None:
            task = replace(case.task, parameters=case.task.parameters.averaging(MOST), persons=PERSONS.terms)
            made[name] = PersonCase(case.procedure, task, case.engines, _schema(name, task))
    return made


PERSON_CASES = person_cases()
