"""Independent runs of a plan on one data set, and the numbers of each release that a test may look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato import procedures
from sfumato.auditing.error_rates import Array
from sfumato.dataset import Dataset
from sfumato.draws import Draws
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import noisy_tables, noisy_totals
from sfumato.procedures.learnt_parts import CHOSEN
from sfumato.procedures.protocol import Procedure, Task
from sfumato.randomness import Randomness
from sfumato.samplers.langevin import Report, silent

# Procedures whose draws are independent given the data and the plan's numbers: many releases are one run with many draws, one
# pass over the rows a step for all of them.
BATCHED = ("law", "last-iterate", "path", "lattice", "envelope", "kinked-grid")
# Draws made from one set of noisy totals: they are free, and so many tell the totals almost exactly.
_FREE_DRAWS = 32
# Distances below this are those of a float's rounding.
_NEAREST = 1e-15
# Chains that are run together: more would hold large transcripts in memory.
_CHAINS = 4096


@dataclass(frozen=True, eq=False)
class Trial:
    """A plan as it is run under audit, on one data set.

    With `inside`, noisy totals are looked at themselves, before draws are made from them: the price covers both.
    """

    procedure: Procedure[Any, Any]
    task: Task[Any, Any]
    engine: Any
    inside: bool = False

    @classmethod
    def of(cls, plan: Plan, data: Dataset, inside: bool = False) -> Trial:
        """The plan's own procedure and numbers, with all that its price covers: every noisy gradient, any number of free draws."""
        procedure, task = procedures.named(plan.procedure), plan.task
        if "transcript" in procedure.KEEPS and "transcript" not in task.keep and plan.procedure == "path":
            task = replace(task, keep=(*task.keep, "transcript"))
        if plan.procedure == "noisy-totals" and task.model.drawn:
            task = replace(task, draws=max(task.draws, _FREE_DRAWS))
        engine = open_engine(data, plan.model, procedure.NEEDS)
        return cls(procedure, task, engine, inside and plan.procedure in ("noisy-totals", "noisy-tables"))

    @property
    def batched(self) -> bool:
        """Whether many releases are one run with many draws."""
        return self.procedure.NAME in BATCHED

    def releases(self, runs: int, source: Randomness, report: Report = silent) -> list[Draws]:
        """Independent releases: with `batched` a few of many draws, else one for each run."""
        if not self.batched:
            made = []
            for done in range(1, runs + 1):
                made.append(self._once(source.spawn()))
                report(done, runs)
            return made
        made, left = [], runs
        while left:
            size = min(left, max(1, _CHAINS // self.task.draws))
            task = replace(self.task, draws=size * self.task.draws)
            made.append(self.procedure.carry_out(task, self.engine, source.spawn()))
            left -= size
            report(runs - left, runs)
        return made

    def _once(self, source: Randomness) -> Draws:
        if not self.inside:
            return self.procedure.carry_out(self.task, self.engine, source)
        if self.procedure.NAME == noisy_tables.NAME:
            # The mixture is fitted to these: a test that has them needs no mixture.
            totals, _, chosen = noisy_tables.noisy_counts(self.task, self.engine, source)
            names = tuple(map(str, range(len(totals))))
            return Draws(totals[None, None], names, totals=totals, published={CHOSEN: np.array(chosen, dtype=float)})
        totals = np.array(noisy_totals.noisy_totals(self.task, self.engine, source), dtype=np.float64)
        return Draws(totals[None, None], tuple(map(str, range(len(totals)))), totals=totals)


def numbers_of(trial: Trial, made: list[Draws]) -> Array:
    """The released numbers of every run as (runs, numbers): means over its draws of values and of functions of them.

    The draws of a release are independent given its data, and logarithms and squares are the statistics by which neighbouring
    Beta, Gamma, Dirichlet and normal laws differ.
    """
    rows = np.concatenate([_drawn(trial, draws) for draws in made])
    # Logarithms of distances from 0 and from 1; the smallest distance keeps the logarithm of 0 finite.
    logs = [np.log(np.maximum(np.abs(distance), _NEAREST)) for distance in (rows, 1 - rows)]
    parts = [each.mean(axis=1) for each in (rows, rows**2, *logs)]
    if made[0].totals is not None:
        parts.append(np.stack([draws.totals for draws in made if draws.totals is not None]))
    parts.extend(np.stack([draws.published[name] for draws in made]) for name in made[0].published)
    return np.concatenate(parts, axis=1)


def _drawn(trial: Trial, draws: Draws) -> Array:
    """(runs, draws of a run, coordinates)."""
    flat = draws.flat()
    return flat.reshape(-1, trial.task.draws, flat.shape[1])
