"""The baseline: the sufficient statistic with Gaussian noise, and the posterior of that. One charge for any draws."""

from __future__ import annotations

from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.mechanisms import _gibbs
from sfumato.mechanisms.plan import Cost, Expected, Plan
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._hypotheses import Hypotheses

NAME = "noisy-statistics"


def refuses(model: Any, goal: str) -> str | None:
    """Serve families with a bounded sufficient statistic."""
    if not isinstance(model, BetaBernoulli):
        return "it needs a family with a bounded sufficient statistic"
    return None if goal == "draws" else "it releases draws; use goal='draws'"


def price(noise: float, sensitivity: float = 1.0) -> Guarantee:
    """Mu = sensitivity/noise: Renyi(a) = a sensitivity^2/(2 noise^2) (Geumlek's baseline prints twice that)."""
    h = Hypotheses("Gaussian mechanism", "Dong, Roth and Su 2022")
    sigma = h.number(noise, "noise", "sigma", "finite and greater than 0", "Add positive noise.")
    width = h.number(sensitivity, "sensitivity", "Delta", "finite and greater than 0", "Declare the bounds.", "schema")
    return h.guarantee(Gaussian(width / sigma * (1 + 1e-15)))


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the least noise on the count of ones that the target admits."""
    limit = _gibbs.needs_target(target, NAME)
    noise = smallest(price, limit, 1e-6, 1e12, "noise")
    expected = Expected("standard deviation of the noise in the count", noise, "records", "exact", without_privacy=0.0)
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("noise", noise),),
        price(noise),
        expected,
        Cost(1),
        limit,
    )
