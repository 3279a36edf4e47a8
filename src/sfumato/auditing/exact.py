"""What a plan gives away between two data sets, computed instead of sampled: every point that a draw can be is listed.

Where a draw is one of finitely many public points, or a rounded normal, its probabilities on two neighbouring data sets decide
the whole privacy curve. No test of an attacker does better, and no confidence is needed. The probabilities are those of the
sampler (`cell_masses`); the price of the plan is not used. A claim that is smaller than the computed curve is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.auditing.cell_masses import MOST_APART, apart, factors, is_listed, log_probabilities, normal_pair
from sfumato.auditing.error_rates import Array
from sfumato.auditing.loss_pairs import Exact, Losses, independent, repeated
from sfumato.auditing.pairs import Neighbours
from sfumato.dataset import Dataset
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.plan import Plan
from sfumato.models import laws
from sfumato.procedures import (
    kinked_grid,
    lattice,
    law,
    learnt_parts,
    loss_values,
    named,
    noisy_tables,
    noisy_totals,
)
from sfumato.procedures.protocol import Task

__all__ = ["Exact", "Masses", "exact", "released_masses"]


@dataclass(frozen=True)
class Masses:
    """The independent parts of one draw, and how many independent draws are released.

    `draws` is 1 where all draws are made from one noisy statistic: then the statistic is listed.
    """

    parts: tuple[laws.Law, ...]
    draws: int

    def log_probabilities(self) -> tuple[Array, ...]:
        """Log probability of every public point, for each part that lies on a finite grid."""
        return tuple(log_probabilities(part) for part in self.parts if not isinstance(part, laws.Normal))


def released_masses(plan: Plan, dataset: Dataset) -> Masses | None:
    """The probabilities of everything that one draw of the plan can be, as they are drawn; None where they are not listed.

    Listed are draws of a posterior law, lattices of Gibbs posteriors, intervals with kinks, and noisy totals. Chains, draws by
    trials and lattices of more than a million points are not.
    """
    # As a claim is given, not as `publish` would check it: a claim below the plan's own price is refuted here.
    procedure, task = named(plan.procedure), plan.task
    listing = _LAWS.get(procedure.NAME)
    if listing is None:
        return None
    listed = listing(task, open_engine(dataset, plan.model, procedure.NEEDS))
    parts = () if listed is None else factors(listed)
    if not parts or not all(map(is_listed, parts)):
        return None
    return Masses(parts, 1 if procedure.NAME == "noisy-totals" else plan.draws)


def exact(plan: Plan, pair: Neighbours) -> Exact | None:
    """The privacy curve between two data sets, for all draws of the plan together; None where it cannot be listed.

    Parts that are equal on both data sets tell nothing and are left out; the others are independent, so their privacy losses
    add up. Where there is more than one part or draw, points of nearly equal loss are joined, which is post-processing: the
    curve is then a lower bound (`loss_pairs`). Normals that are very far apart are not listed: one is 0 in floats where the
    other lies.
    """
    first, second = released_masses(plan, pair.first), released_masses(plan, pair.second)
    if first is None or second is None:
        return None
    differing = [(a, b) for a, b in zip(first.parts, second.parts, strict=True) if a != b]
    normals = [(a, b) for a, b in differing if isinstance(a, laws.Normal) and isinstance(b, laws.Normal)]
    if any(apart(a, b) > MOST_APART for a, b in normals):
        return None
    pairs = [_listed(a, b) for a, b in differing]
    return Exact.of(repeated(independent(pairs), first.draws), pair.name)


def _listed(first: laws.Law, second: laws.Law) -> Losses:
    """Log probabilities of the same points under both data sets."""
    if isinstance(first, laws.Normal) and isinstance(second, laws.Normal):
        return Losses.of(*normal_pair(first, second))
    return Losses.of(log_probabilities(first), log_probabilities(second))


# --- the law of one draw, by procedure: the steps of its `carry_out` up to the draw itself --------------------------------


def _posterior(task: Task[Any, law.Parameters], engine: Any) -> laws.Law:
    numbers = task.parameters
    drawn = task.model.law(law.exact_totals(task.model, engine), task.n, numbers.power, numbers.strength)
    return laws.resized(drawn, numbers.grid) if numbers.grid not in (None, getattr(drawn, "grid", None)) else drawn


def _lattice(task: Task[Any, lattice.Parameters], engine: Any) -> laws.Law:
    model, power = task.model, task.parameters.power
    points, unit = lattice.points_of(model, task.parameters.points), loss_values.unit_of(model)
    totals = engine.values(points, unit, loss_values.value_bound(model))
    logs = loss_values.log_weights(power, unit, totals, loss_values.public_terms(model, task.n, power, points))
    return laws.Finite(logs, tuple(map(tuple, points.tolist())))


def _kinked(task: Task[Any, kinked_grid.Parameters], engine: Any) -> laws.Law | None:
    """An interval; points of a box are drawn by trials and not listed."""
    power, count = task.parameters.power, task.parameters.points
    if task.parameters.trials is not None:
        return None
    logs, middle = kinked_grid.log_masses(kinked_grid.bounded(task.model, task.n, power), power, count, engine)
    return laws.Finite(tuple(logs), tuple((value,) for value in middle.tolist()))


def _noisy_totals(task: Task[Any, noisy_totals.Parameters], engine: Any) -> laws.Law:
    """The totals as they are noised: draws and estimates are computed from them."""
    deviation = float(Fraction(float(task.parameters.noise)) * Fraction(task.model.sensitivity))
    totals = tuple(law.exact_totals(task.model, engine))
    return laws.Normal(totals, (deviation,) * len(totals), (noisy_totals.spacing(deviation),) * len(totals))


def _noisy_tables(task: Task[Any, noisy_tables.Parameters], engine: Any) -> laws.Law | None:
    """Tables of public pairs with public bins; what is chosen or binned by earlier tables has no fixed list."""
    model = task.model
    if model.chosen or model.quantiles:
        return None
    deviations = tuple(
        part.deviation for part in learnt_parts.parts_of(model, task.parameters, ()) for _ in range(part.size)
    )
    totals = tuple(map(Fraction, engine.totals(model.tally)))
    return laws.Normal(totals, deviations, tuple(map(noisy_totals.spacing, deviations)))


_LAWS: dict[str, Callable[[Task[Any, Any], Any], laws.Law | None]] = {
    law.NAME: _posterior,
    lattice.NAME: _lattice,
    kinked_grid.NAME: _kinked,
    noisy_totals.NAME: _noisy_totals,
    noisy_tables.NAME: _noisy_tables,
}
