"""The law of a plan's release given the totals of the records, for families with a Beta or Gamma posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families._rate import Rate
from sfumato.models.families.exponential_rate import ExponentialRate
from sfumato.models.families.family import Family
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.procedures import law, noisy_totals

# Procedures whose law given the totals is computed here.
PROCEDURES = (law.NAME, noisy_totals.NAME)


def one_number(model: Any) -> bool:
    """Whether the posterior is a Beta, or a Gamma that is not trimmed: one total, one number drawn."""
    return isinstance(model, Rate | GammaPoisson) or (isinstance(model, GammaRate) and not model.bounded)


def check_plan(plan: object, what: str) -> Plan:
    """The plan, or raise: `what` is the subject of the refusal, in the plural."""
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must be what sf.plan returned; got {type(plan).__name__}.")
    if not isinstance(plan.model, Family) or not plan.model.conjugate or plan.procedure not in PROCEDURES:
        raise ArgumentError(
            f"{what} are for conjugate families drawn exactly or from noisy statistics; this plan draws "
            f"{plan.model} by {plan.mechanism!r}."
        )
    return plan


def read_totals(model: Family, totals: Any, n: int) -> Array:
    """Totals (data sets, totals of each), checked: finite, and such as n records can have."""
    width = 1 if one_number(model) else len(model.units)  # the squares of counts are not in their posterior
    try:
        given = np.asarray(totals, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError("totals must be numbers, one row for each data set.") from error
    rows = given.reshape(-1, 1) if width == 1 and given.ndim <= 1 else np.atleast_2d(given)
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        raise ArgumentError(
            f"totals must be shaped (data sets, {width}), what each data set's records sum to; got {given.shape}."
        )
    if not np.isfinite(rows).all() or not np.allclose(model.feasible(rows, n), rows, rtol=1e-9, atol=1e-9):
        raise ArgumentError(f"totals must be sums that {n:,} records can have.")
    return rows


def read_records(model: Any, records: Any) -> Array:
    """Held-out records as numbers that the model can have: successes of its trials, counts, durations or other numbers."""
    try:
        values = np.asarray(records, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError("records must be numbers.") from error
    if not values.size or not np.isfinite(values).all():
        raise ArgumentError("records must be finite numbers, at least one; got none, or a number that is not finite.")
    counted = isinstance(model, Rate | GammaPoisson)
    least = 0.0 if counted or isinstance(model, ExponentialRate) else -np.inf
    most = float(model.trials) if isinstance(model, Rate) else np.inf
    if (values < least).any() or (values > most).any() or (counted and (values != np.rint(values)).any()):
        kind = "whole numbers" if counted else "numbers"
        limit = f"from 0 to {most:g}" if most < np.inf else "of at least 0"
        raise ArgumentError(f"records of {model} must be {kind} {limit}; got {values.min():g} to {values.max():g}.")
    return values


def noise_deviation(plan: Plan) -> float:
    """Standard deviation of the noise on a total; 0 where the posterior is drawn from the totals themselves."""
    model: Any = plan.model
    return float(plan["noise"]) * float(model.sensitivity) if plan.procedure == noisy_totals.NAME else 0.0


def natural(plan: Plan, totals: Array) -> Array:
    """Natural parameters of the law that is drawn once the totals, noise included, are known."""
    model: Any = plan.model
    numbers = (1.0, 1.0) if plan.procedure == noisy_totals.NAME else (plan["power"], plan["strength"])
    return np.asarray(model.natural(totals, plan.n, *map(float, numbers)), dtype=np.float64)
