"""Exact draws from a family's posterior: the law is known in closed form and is drawn on a public grid.

The posterior has the natural parameter strength * prior + power * data. The family's claim names the theorem that prices
draws of it; how far the drawn masses may be from the exact ones (`samplers.laws.log_error`) is part of the price.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import starmap
from typing import Any, ClassVar

from sfumato.draws import Draws
from sfumato.engines.protocol import TotalsEngine
from sfumato.errors import MechanismRefused
from sfumato.grids import size_of
from sfumato.models.families._normal import Location
from sfumato.models.families.family import Claim, Family
from sfumato.models.laws import resized
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import expectations, protocol
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.procedures.ranges import within_range
from sfumato.randomness import Randomness
from sfumato.samplers import laws as exact_laws
from sfumato.samplers import support
from sfumato.samplers.langevin import Report, silent
from sfumato.schema.persons import MOST_ROWS
from sfumato.theorems import conjugate, finite_family, location, networks, persons, quantile, truncated

NAME = "law"
NEEDS = ("totals",)
KEEPS: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """The power of the likelihood and the strength of the prior, both 1 for the posterior itself, and the grid's cells.

    `most` is the most rows of a person whose contributions are averaged; None where each record is one row.
    """

    power: float
    strength: float
    grid: int | None = None
    most: int | None = None
    positive: ClassVar[tuple[str, ...]] = ("strength", "most")

    def averaging(self, most: int | None) -> Parameters:
        """The same numbers for averages of at most so many rows of a person."""
        return replace(self, most=most)


def _at_strength_one(theorem: Callable[..., Guarantee]) -> Callable[..., Guarantee]:
    """A theorem that prices the family's own prior: a plan that strengthens it is refused, not priced as if it did not."""

    def priced(*, strength: float, **facts: Any) -> Guarantee:
        if strength != 1:
            raise MechanismRefused(f"this posterior is priced with its own prior; got strength={strength!r}.")
        return theorem(**facts)

    return priced


# How the theorem named by a family's claim is called.
_THEOREMS: dict[str, Callable[..., Guarantee]] = {
    "beta-bernoulli": conjugate.beta_bernoulli,
    "dirichlet": conjugate.dirichlet,
    "network": conjugate.network,
    "network-tables": networks.table_draws,
    "spread-tables": persons.spread_draws,
    "trajectories": networks.trajectory_draws,
    "truncated-network": _at_strength_one(networks.truncated_draws),
    "gaussian-location": location.gaussian_location,
    "logit-draw": location.logit_draw,
    "gamma-poisson": conjugate.gamma_poisson,
    "gamma-rate": conjugate.gamma_rate,
    "truncated-gamma": lambda *, draws, **facts: truncated.gamma(
        **facts, draws=draws, form="pure" if draws == 1 else "bounded range"
    ),
    "finite-family": _at_strength_one(finite_family.posterior_draws),
    "quantile": _at_strength_one(quantile.quantile_draws),
    "truncated-dirichlet": _at_strength_one(truncated.dirichlet),
    "truncated-beta": _at_strength_one(
        lambda *, draws, **facts: truncated.beta(**facts, draws=draws, form="pure" if draws == 1 else "bounded range")
    ),
}


def refuses(model: Family) -> str | None:
    """Serve families with a posterior whose draws a theorem prices."""
    if not model.drawn:
        return "this family has no posterior to draw from; use 'noisy-statistics' with goal='estimate'"
    return None if model.priced else "no theorem here prices draws of this model; use 'noisy-statistics'"


def _of_rates(facts: Mapping[str, Any], power: float, most: int) -> tuple[str, Mapping[str, Any], float]:
    """A mean of at most c bits is a whole number of parts 1/W, W = lcm(1..c): the theorem of W times as many trials a record.

    The power of a part is rounded up, so that a person moves the posterior by no more than is priced.
    """
    parts = persons.common_denominator(most)
    return "beta-bernoulli", {**facts, "trials": parts * facts["trials"]}, math.nextafter(power / parts, math.inf)


def _of_tables(facts: Mapping[str, Any], power: float, most: int) -> tuple[str, Mapping[str, Any], float]:
    """A person's weight may leave several cells and enter several: the Renyi price, and no profile."""
    cells = facts.get("smallest_cells") or (min(facts["cells"]),)
    return "spread-tables", {"smallest_cells": tuple(cells)}, power


def _as_it_is(name: str) -> Callable[..., tuple[str, Mapping[str, Any], float]]:
    """A theorem from bounds that averages of rows keep (docs/proofs/persons.md)."""
    return lambda facts, power, most: (name, facts, power)


# The claims that hold for averages of a person's rows: how each is called then.
_AVERAGES: dict[str, Callable[..., tuple[str, Mapping[str, Any], float]]] = {
    "beta-bernoulli": _of_rates,
    "dirichlet": _of_tables,
    "network": _of_tables,
    "network-tables": _of_tables,
    # The exact supremum goes through whole counts; the range does not.
    "finite-family": lambda facts, power, most: ("finite-family", {**facts, "form": "bounded range"}, power),
    **{
        name: _as_it_is(name)
        for name in (
            "truncated-beta", "truncated-dirichlet", "truncated-network", "gaussian-location", "logit-draw",
            "gamma-poisson", "gamma-rate", "truncated-gamma", "quantile",
        )
    },
}  # fmt: skip


def refuses_averages(model: Family, most: int) -> str | None:
    """Serve averages of a person's rows where a theorem covers them."""
    stated = model.claim(1)
    claim = stated.theorem
    if stated.facts.get("adjacency") == "replace-entry":
        return "single entries of persons with several rows are not protected; use adjacency='replace-one'"
    if not isinstance(claim, str) or claim not in _AVERAGES:
        return "draws of it are priced for one row a person alone; use 'noisy-statistics', or rule first or reduce"
    if claim == "beta-bernoulli" and most > persons.MOST_DRAWN:
        return (
            f"draws of a rate are priced for averages of at most {persons.MOST_DRAWN} rows of a person; use 'noisy-statistics', "
            f"which serves up to {MOST_ROWS:,}"
        )
    return None


def at(model: Family, n: int, draws: int, power: float, strength: float | None, steps: int | None = None) -> Parameters:
    """The numbers of a draw at this power and strength; a family has no chain whose `steps` could be chosen."""
    times = 1.0 if strength is None else strength
    return Parameters(power, times, size_of(model.public_law(n, power, times)))


def price(model: Family, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """Price of all draws of the tempered, strengthened posterior, the error of the drawn masses included."""
    power, strength = parameters.power, parameters.strength
    public = model.public_law(n, power, strength, parameters.grid)
    error = exact_laws.log_error(public if parameters.most is None else _touched(public, parameters.most))
    claim = model.claim(n)
    if parameters.most is not None and parameters.most > 1:
        claim, power = _averaged(claim, power, parameters.most)
    theorem = claim.theorem if callable(claim.theorem) else _THEOREMS[claim.theorem]
    return theorem(**claim.facts, power=power, strength=strength, draws=draws, log_error=error)


def _touched(law: Any, most: int) -> Any:
    """The law with the number of its parts that one person may change: as many as a record, for each row that is averaged.

    Only the parts that change have an error to pay for, and the rows of one person may lie in as many groups as there are rows.
    """
    return law if getattr(law, "touched", None) is None else replace(law, touched=most * law.touched)


def _averaged(claim: Claim, power: float, most: int) -> tuple[Claim, float]:
    """The claim about averages of at most so many rows of a person, and the power that its theorem takes."""
    if not isinstance(claim.theorem, str) or claim.theorem not in _AVERAGES:
        raise MechanismRefused("no theorem here prices draws of this model for averages of a person's rows.")
    name, facts, of_part = _AVERAGES[claim.theorem](claim.facts, power, most)
    return Claim(name, facts), of_part


def expected(model: Family, n: int, parameters: Parameters) -> Expected:
    """How far a draw lies from the true parameter, averaged over the prior."""
    return expectations.expected(model, n, parameters.power, parameters.strength)


def cost(model: Family, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass: all draws are made from the same totals."""
    return Cost(1)


def carry_out(
    task: Task[Family, Parameters], engine: TotalsEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Sum the totals exactly, then draw from the posterior that they give."""
    return drawn(task.model, exact_totals(task.model, engine), task.n, task.parameters, task.draws, randomness)


def exact_totals(model: Family, engine: TotalsEngine) -> list[Fraction]:
    """The totals of all records, as fractions."""
    return list(starmap(operator.mul, zip(engine.totals(model.tally), model.units, strict=True)))


def drawn(
    model: Family, totals: Sequence[Fraction], n: int, numbers: Parameters, draws: int, randomness: Randomness
) -> Draws:
    """Exact draws of the posterior, shaped (1, draws, *shape)."""
    law = model.law(totals, n, numbers.power, numbers.strength)
    if numbers.grid not in (None, getattr(law, "grid", None)):
        law = resized(law, numbers.grid)
    values = exact_laws.draw(law, draws, randomness)
    return Draws(values.reshape(1, draws, *model.draw_shape), model.labels)


def check(task: Task[Family, Parameters], draws: Draws) -> bool:
    """Whether every draw is a point of the law's public grid, within the range that n records allow."""
    return draws.bare and possible(task.model, task.n, task.parameters, draws)


def possible(model: Family, n: int, numbers: Parameters, draws: Draws) -> bool:
    """Whether every draw is a point of the grid of the posterior with these numbers."""
    values, power, strength = draws.flat(), numbers.power, numbers.strength
    if isinstance(model, Location) and not within_range(model, n, power, strength, values):
        return False
    return support.on_grid(model.public_law(n, power, strength, numbers.grid), values)
