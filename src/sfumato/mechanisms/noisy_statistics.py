"""The sufficient statistic with Gaussian noise: the least noise that the target admits; any number of draws costs the same."""

from __future__ import annotations

from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.errors import ArgumentError, MechanismRefused
from sfumato.grids import size_of
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.models.families.family import Family
from sfumato.models.model import LOSSES
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.procedures import noisy_tables, noisy_totals
from sfumato.procedures.protocol import Procedure
from sfumato.samplers import laws as exact_laws

NAME = "noisy-statistics"
PROCEDURES = ("noisy-tables", "noisy-totals")
MAY_ASSUME = False
STRENGTH = False
# The noises that are searched, in units of the sensitivity.
LEAST_NOISE, MOST_NOISE = 1e-6, 1e12


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Release draws of a family with a posterior, and an estimate of one without."""
    if model.summed == LOSSES or model.utility or model.drawn == (goal == "draws"):
        return None
    return (
        "it releases draws; use goal='draws'" if model.drawn else "its noisy mean is an estimate; use goal='estimate'"
    )


def plan(request: Request[Family], procedure: Procedure[Any, Any]) -> Plan:
    """Search the noise, in units of what one record can move the totals by."""
    model, target = request.model, request.needed_target(NAME)
    if target.pure:
        raise MechanismRefused("Gaussian noise is never pure: give a delta greater than 0, such as 1e-6.")
    if isinstance(model, LearnedNetwork):
        if request.draws != 1:
            raise ArgumentError(
                f"draws must be 1 for a learnt table, or left out: it is one estimate, from which any number of synthetic rows "
                f"costs nothing more; got {request.draws:,}."
            )
        return request.planned(NAME, procedure, _tables(request, model, target, procedure))
    if model.drawn:
        # Raises now if the law cannot be drawn, before anything is charged. A grouped model is drawn by its inner family.
        exact_laws.log_error(getattr(model, "model", model).public_law(request.n))
    noise = smallest(
        lambda sigma: procedure.price(model, request.n, 1, noisy_totals.Parameters(sigma)),
        target, LEAST_NOISE, MOST_NOISE, "noise",
    )  # fmt: skip
    # The grid of a group whose size is private follows from its noisy size.
    grid = size_of(model.public_law(request.n)) if model.drawn and model.priced else None
    return request.planned(NAME, procedure, noisy_totals.Parameters(noise, grid, len(model.units)))


def _tables(request: Request[Family], model: LearnedNetwork, target: Target, procedure: Procedure[Any, Any]) -> Any:
    """The least noise of a learnt table, shared among its parts by fixed shares."""
    noise = smallest(
        lambda sigma: procedure.price(model, request.n, 1, noisy_tables.at_noise(model, sigma)),
        target, LEAST_NOISE, MOST_NOISE, "noise",
    )  # fmt: skip
    return noisy_tables.at_noise(model, noise)
