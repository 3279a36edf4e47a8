"""The two searches of tempered draws: the largest power, and the smallest strength of the prior, that a target admits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sfumato.calibrate import Target, largest, largest_admitted, smallest
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.protocol import Request
from sfumato.models.families.family import Family
from sfumato.privacy.cover import covering_mu_of
from sfumato.privacy.profiles import Profile, number
from sfumato.privacy.renyi import Renyi
from sfumato.procedures import law
from sfumato.procedures.expectations import divergence
from sfumato.procedures.protocol import PoweredProcedure

# The procedures that draw a posterior at any power and strength.
PROCEDURES = ("law", "last-iterate", "kinked-grid")
# The powers that are searched: 1 is the posterior itself, and below 1e-12 the prior is all that is left.
LOWEST_POWER, HIGHEST_POWER = 1e-12, 1.0
# Lowest power searched for a family: below it no profile is computed.
_LOWEST_FAMILY_POWER = 1e-9
# Halvings of the log range of powers in which a divergence is looked for: to within half a per cent of a power.
_HALVINGS = 12
# Beyond this strength the records no longer matter.
STRONGEST = 1e9


def largest_power(request: Request[Any], procedure: PoweredProcedure[Any, Any], target: Target) -> float:
    """Largest power in (0, 1] whose price, for all draws together, the target admits, with the model's own prior."""
    model = request.model
    if model.conjugate:
        return calibrated(model, request.n, request.draws, target, _LOWEST_FAMILY_POWER, "power", request.most)
    return largest(request.price_of_power(procedure, model, 1.0), target, LOWEST_POWER, HIGHEST_POWER, "power")


def smallest_strength(request: Request[Any], procedure: PoweredProcedure[Any, Any], target: Target) -> float:
    """Smallest multiple of the prior's precision, at least 1, whose price at power 1 the target admits."""
    model = request.model
    if model.conjugate:
        least = 1.0 / model.strongest(request.n)
        return 1.0 / calibrated(model, request.n, request.draws, target, least, "strength", request.most)
    return smallest(
        lambda s: request.price_of_power(procedure, model.strengthened(s), s)(1.0), target, 1.0, STRONGEST, "strength"
    )


def refuse_pure(model: Family, target: Target | None) -> None:
    """An untruncated posterior has an unbounded log ratio: no power or strength makes it pure."""
    if target is not None and target.pure and not model.bounded:
        raise MechanismRefused(
            f"a draw from an untruncated {model.name} posterior is never pure: give a delta greater than 0, such as 1e-6, or "
            "truncate the parameter where the family allows it (floor=, lower=, upper=)."
        )


def calibrated(
    model: Family, n: int, draws: int, target: Target, lower: float, what: str, most: int | None = None
) -> float:
    """Largest x in [lower, 1] whose price is admitted, x being the power, or 1/strength.

    `most` is the most rows of a person that are averaged, None where each record is one row.

    For a Beta profile the search looks at the two extreme counts only. The result is then priced in full; while that price
    exceeds the target, x is lowered.
    """
    refuse_pure(model, target)
    single = (draws == 1 and not isinstance(target.curve, Profile)) or isinstance(target.curve, Renyi)
    power, strength = _readings(what)
    admitted = largest_admitted(
        lambda x: _excess(model, n, draws, target, law.Parameters(power(x), strength(x), most=most)),
        lower, 1.0, what, target, 1e-10 if single else 1e-6,
    )  # fmt: skip
    step = 1e-7 if single else 1e-5
    while (
        excess := target.excess(
            law.price(model, n, draws, law.Parameters(power(admitted), strength(admitted), most=most))
        )
    ) > 0:
        # delta falls at least like x^8, so lowering log x by excess/8 is normally enough; otherwise the loop repeats.
        admitted *= math.exp(-max(step, excess / 8 if math.isfinite(excess) else step))
    return admitted


def stays_farther(
    model: Family, n: int, draws: int, target: Target, what: str, best: float, most: int | None = None
) -> bool:
    """Whether the power, or the strength, that the target admits leaves the posterior farther off than `best`, by one price.

    The divergence KL(P_1 || P_x) of the posterior from the law at x, in natural parameters convex along the line on which x
    moves them and 0 at x = 1, falls with x. At an x with a divergence above `best`, a price that is not admitted therefore means
    that the largest admitted x is smaller and farther off still; the search for it can be left out.
    """
    power, strength = _readings(what)
    low, high = math.log(_LOWEST_FAMILY_POWER if what == "power" else 1.0 / model.strongest(n)), 0.0

    def far(x: float) -> bool:
        return divergence(model, n, power(math.exp(x)), strength(math.exp(x))) > best

    if not far(low):
        return False
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if far(middle) else (low, middle)
    x = math.exp(low)
    return _excess(model, n, draws, target, law.Parameters(power(x), strength(x), most=most)) > 0


def _readings(what: str) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """How a searched number is read as (power, strength)."""
    if what == "power":
        return (lambda x: x), (lambda x: 1.0)
    return (lambda x: 1.0), (lambda x: 1.0 / x)


def _excess(model: Family, n: int, draws: int, target: Target, numbers: law.Parameters) -> float:
    """Excess over the target; of a Beta profile from its end pairs alone, the certificate being asked once at the end."""
    guarantee = law.price(model, n, draws, numbers)
    curve = guarantee.curve
    point = target.curve is None and target.delta
    if not (isinstance(curve, Profile) and curve.name == "beta-bernoulli"):
        return target.excess(guarantee)
    if not point and not isinstance(target.curve, Profile):
        return target.excess(guarantee)
    from sfumato.privacy.inflation import inflated
    from sfumato.privacy.posterior_profiles import beta_bernoulli_delta

    p = {key: number(value) for key, value in curve.parameters.items()}

    def exact_ends(eps: float) -> float:
        return beta_bernoulli_delta(
            p["alpha"], p["beta"], n, p["power"], draws, eps, certified=False, trials=int(p.get("trials", 1))
        )

    def ends(eps: float) -> float:
        return inflated(exact_ends, p.get("error", 0.0) * draws, eps)

    if isinstance(target.curve, Profile):
        allowed = {key: number(value) for key, value in target.curve.parameters.items()}
        mu = covering_mu_of(ends, allowed["delta"])
        return math.inf if mu is None else math.log(max(mu, 1e-300)) - math.log(allowed["mu"])
    return math.log(ends(target.epsilon or 0.0)) - math.log(target.delta or 1.0)
