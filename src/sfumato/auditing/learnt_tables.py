"""Learnt tables under audit: what each part of a run declares, what a release says about two data sets, and what must follow.

Everything that meets randomness is released: noisy counts, and which pairs were chosen. So the likelihood ratio of a release is
known: normal densities of the counts, and the probabilities of the choices after the tables that were released before them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.replay_record import Record
from sfumato.draws import Draws
from sfumato.mixtures.noisy_pairs import NoisyTable
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.privacy.curves import BoundedRange
from sfumato.procedures import choosing_pairs, noisy_tables
from sfumato.procedures import learnt_parts as parts
from sfumato.procedures.protocol import Task

Array = NDArray[np.float64]
NAME = noisy_tables.NAME
# Shares of the information of pairs: noise in m cells costs m sigma, at the price 1/sigma^2.
_BY_CELLS, _TARGET = 2 / 3, 4.0


def planned_noise(task: Task[Any, Any]) -> list[tuple[str, float, float]]:
    """(name, how far a record moves it, deviation) of each group of counts, in order; written down beside the procedure's own."""
    model, numbers = task.model, task.parameters
    listed = []
    for name, edges in model.quantiles:
        levels = max(1, math.ceil(math.log(len(edges) - 1, 4) - 1e-9))
        moved = math.sqrt(2 * levels)
        listed.append((f"tree of {name}", moved, numbers.bins_noise * moved * math.sqrt(len(model.quantiles))))
    moved = math.sqrt(2)
    if model.chosen:
        deviation = numbers.single_noise * moved * math.sqrt(len(model.names))
        listed += [(f"table of {name}", moved, deviation) for name in model.names]
        count = len(model.fixed_pairs) + model.chosen
        return [*listed, *[("table of a pair", moved, numbers.noise * moved * math.sqrt(count))] * count]
    sizes, weights = list(model.sizes.values()), []
    for pair in model.fixed_pairs:
        aimed = model.target in (model.names[place] for place in pair)
        weights.append((sizes[pair[0]] * sizes[pair[1]]) ** _BY_CELLS * (_TARGET if aimed else 1.0))
    noises = [numbers.noise * moved * math.sqrt(math.fsum(weights) / weight) for weight in weights]
    return [*listed, *(("table of a pair", moved, each) for each in noises)]


def choices_last(model: LearnedNetwork, groups: Sequence[Any], choice: Any) -> list[Any]:
    """The groups of counts with a choice before each of the last ones, round by round."""
    first = len(groups) - model.chosen
    listed, at = list(groups[:first]), first
    for size in choosing_pairs.round_sizes(model):
        listed += [choice] * size + list(groups[at : at + size])
        at += size
    return listed


class Exact:
    """The exact counts of one data set, and the noisy tables of a release up to a round: what a choice is made from."""

    def __init__(self, model: LearnedNetwork, task: Task[Any, Any], totals: Sequence[int]) -> None:
        """Cut the totals of a model with public bins into its tables."""
        self.model, self.noise = model, task.parameters.noise
        self.exact: Mapping[tuple[int, ...], Any] = {
            table.columns: list(totals[table.first : table.last]) for table in model.counted
        }
        self.tables: tuple[Any, ...] = ()

    def count(self, wanted: Sequence[Any]) -> None:
        """Nothing is counted under audit."""

    def part_of(self, pair: tuple[int, int]) -> Any:
        """The table of an open pair."""
        return parts.pair_parts(self.model, self.noise, (pair,))[-1]


def choice_laws(task: Task[Any, Any], draws: Draws, sides: Sequence[Exact]) -> Iterator[tuple[int, list[Array]]]:
    """For every choice of a release: the place of the chosen pair among those left, and log weights under each data set.

    The reference of a round is fitted to the released tables of the rounds before it, here again and for all sides at once.
    """
    model, power = task.model, float(task.parameters.choice or 0.0)
    if not model.chosen or draws.totals is None:
        return
    places = [int(place) for place in draws.published[parts.CHOSEN].tolist()]
    tables = _released_tables(task, draws)
    left, done, counted = list(range(len(model.open_pairs))), 0, len(tables) - model.chosen
    for size in choosing_pairs.round_sizes(model):
        open_model = sides[0].model
        reference = choosing_pairs.reference_shares(open_model, task.n, tables[: counted + done])
        misfits = [
            {at: choosing_pairs.misfit_of(open_model, task.n, side, reference, at) for at in left} for side in sides
        ]
        for place in places[done : done + size]:
            laws = [choosing_pairs.law_of(left, each, power) for each in misfits]
            yield left.index(place), [np.array([log * 2.0**-48 for log in each.logs]) for each in laws]
            left.remove(place)
        done += size


def _released_tables(task: Task[Any, Any], draws: Draws) -> list[Any]:
    """The noisy tables of a release, without the trees behind private bins."""
    listed, first = [], 0
    for part in parts.parts_of(task.model, task.parameters, parts.chosen_pairs(task.model, draws.published)):
        cells = np.asarray(draws.totals)[first : first + part.size]
        listed.append(NoisyTable(part.columns, cells.reshape(part.shape), part.deviation))
        first += part.size
    return listed[len(task.model.quantiles) :]


def resolved(task: Task[Any, Any], totals: Array) -> LearnedNetwork:
    """The model with the bins that follow from released trees."""
    model, trees, first = task.model, {}, 0
    if not model.quantiles:
        return model  # type: ignore[no-any-return]
    for (name, _), part in zip(
        model.quantiles, parts.tree_parts(model, float(task.parameters.bins_noise)), strict=True
    ):
        trees[name] = np.asarray(totals)[first : first + part.size]
        first += part.size
    return model.resolved(parts.edges_from(model, trees, task.n))  # type: ignore[no-any-return]


@lru_cache(maxsize=32)  # one run is compared with several others, and a reference is fitted for each round of choices
def follows(task: Task[Any, Any], run: Record) -> tuple[tuple[str, bool], ...]:
    """Whether bins and choices of a run differ from those that its released tables lead to: bins from trees, references from
    earlier tables.
    """
    draws, last = run.draws, run.calls[-1]
    if draws is None or draws.totals is None:
        return ()
    open_model, compared = resolved(task, draws.totals), []
    if task.model.quantiles:
        own = getattr(last.arguments[0], "__self__", None)
        compared.append(("bins of the noisy trees", own != open_model))
    weights = [part.values for part in run.parts if part.kind == "weights"]
    exact = Exact(open_model, task, last.result)
    for seen, (_, (logs,)) in zip(weights, choice_laws(task, draws, [exact]), strict=False):
        differs = seen.shape != logs.shape or not np.allclose(seen, logs, rtol=0, atol=1e-9)
        compared.append(("choice by released tables", differs))
    return tuple(compared)


def log_ratio(task: Task[Any, Any], engines: Sequence[Any], draws: Draws) -> float:
    """Log of the density of a release under the second data set over that under the first."""
    released = np.asarray(draws.totals)
    open_model = resolved(task, released)
    sides = [Exact(open_model, task, engine.totals(open_model.tally)) for engine in engines]
    trees = [np.array(engine.totals(task.model.tally_cells)) if task.model.quantiles else () for engine in engines]
    counted = parts.parts_of(task.model, task.parameters, parts.chosen_pairs(task.model, draws.published))
    deviations = np.concatenate([np.full(part.size, part.deviation) for part in counted])
    tables = counted[len(task.model.quantiles) :]
    first, second = (
        np.concatenate([tree, *(side.exact[part.columns] for part in tables)])
        for tree, side in zip(trees, sides, strict=True)
    )
    total = float((((released - first) ** 2 - (released - second) ** 2) / (2 * deviations**2)).sum())
    for chosen, (one, other) in choice_laws(task, draws, sides):
        total += float((other - _log_sum(other) - one + _log_sum(one))[chosen])
    return total


def _log_sum(logs: Array) -> float:
    top = float(logs.max())
    return top + math.log(math.fsum(np.exp(logs - top).tolist()))


def moved_mu(task: Task[Any, Any], engines: Sequence[Any]) -> float:
    """Mu of all noisy counts between two data sets; bins are those of the first one, pairs the first that may be chosen."""
    model, numbers = task.model, task.parameters
    trees = [np.array(engine.totals(model.tally_cells), dtype=np.float64) for engine in engines if model.quantiles]
    open_model = resolved(task, trees[0]) if trees else model
    sides = [Exact(open_model, task, engine.totals(open_model.tally)) for engine in engines]
    shifts, first = list[float](), 0
    for part in parts.parts_of(model, numbers, model.open_pairs[: model.chosen]):
        if len(shifts) < len(model.quantiles):
            one, other = (each[first : first + part.size] for each in trees)
            first += part.size
        else:
            one, other = (np.array(side.exact[part.columns], dtype=np.float64) for side in sides)
        shifts.append(float(np.linalg.norm(one - other)) / part.deviation)
    return math.hypot(*shifts)


def mu_of_range(width: float) -> float:
    """Mu of a choice whose log weights differ by so much more at one point than at another."""
    return BoundedRange(width).mu
