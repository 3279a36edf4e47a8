"""What the mechanisms of families share: price, search, expectation and the exact draw. No family is named here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.calibrate import Target, largest_admitted
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Expected, Plan
from sfumato.models.families.family import Array, Family
from sfumato.privacy.cover import covering_mu_of
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.profiles import Profile, number
from sfumato.privacy.renyi import Renyi
from sfumato.samplers import laws as exact_laws
from sfumato.theorems import conjugate, finite_family, location, networks, quantile, truncated

# Invented data sets behind an expectation, and behind a divergence (which needs special functions of each).
_SIMULATED, _COMPARED = 8192, 256


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


def is_posterior(model: object) -> bool:
    """Whether the model is a family with a posterior to draw from."""
    return isinstance(model, Family) and model.drawn and not model.utility


def unpriced(model: object) -> str | None:
    """Return a reason if no theorem prices draws of this family."""
    if not isinstance(model, Family) or not model.drawn:
        return "it needs a family with a posterior to draw from"
    return None if model.priced else "no theorem here prices draws of this model; use 'noisy-statistics'"


def price(model: Family, n: int, draws: int, power: float = 1.0, strength: float = 1.0) -> Guarantee:
    """Price of `draws` draws of the tempered, strengthened posterior, the error of the drawn masses included."""
    claim = model.claim(n)
    return _THEOREMS[claim.theorem](
        **claim.facts,
        power=power,
        strength=strength,
        draws=draws,
        log_error=drawing_error(model, n, power, strength),
    )


def drawing_error(model: Family, n: int, power: float, strength: float) -> float:
    """What the drawn masses may be off by, from public numbers alone: the law of an empty table has the same grid."""
    nothing = [Fraction(0)] * len(model.units)
    return exact_laws.log_error(model.law(nothing, n, power, strength))


def draw_planned(plan: Plan, engine: Any, randomness: Any) -> Draws:
    """Take the totals from the engine and draw what the plan says."""
    model: Family = plan.model
    totals = [count * unit for count, unit in zip(engine.totals(model.tally), model.units, strict=True)]
    return drawn(model, totals, plan.n, float(plan["power"]), float(plan["strength"]), plan.draws, randomness)


def drawn(
    model: Family, totals: Sequence[Fraction], n: int, power: float, strength: float, draws: int, randomness: Any
) -> Draws:
    """Exact draws of the posterior, shaped (1, draws, *shape)."""
    values = exact_laws.draw(model.law(totals, n, power, strength), draws, randomness)
    return Draws(values.reshape(1, draws, *model.draw_shape), model.labels)


# --- calibration -----------------------------------------------------------------------------------------------------


def refuse_pure(model: Family, target: Target | None) -> None:
    """An untruncated posterior has an unbounded log ratio: no power or strength makes it pure."""
    if target is not None and target.pure and not model.bounded:
        raise MechanismRefused(
            f"a draw from an untruncated {model.name} posterior is never pure: give a delta greater than 0, such as 1e-6, or "
            "truncate the parameter where the family allows it (floor=, lower=, upper=)."
        )


def calibrated(model: Family, n: int, draws: int, target: Target, lower: float, what: str) -> float:
    """Largest x in [lower, 1] whose price is admitted, x being the power, or 1/strength.

    A Beta profile is searched on its end pairs and certified once; should a block exceed the claim, step back until the
    certificate agrees.
    """
    refuse_pure(model, target)
    single = (draws == 1 and not isinstance(target.curve, Profile)) or isinstance(target.curve, Renyi)
    power, strength = _readings(what)
    found = largest_admitted(
        lambda x: _excess(model, n, draws, target, power(x), strength(x)),
        lower, 1.0, what, target, 1e-10 if single else 1e-6,
    )  # fmt: skip
    step = 1e-7 if single else 1e-5
    while (excess := target.excess(price(model, n, draws, power(found), strength(found)))) > 0:
        # delta falls faster than the eighth power here; where it does not, the loop simply goes on.
        found *= math.exp(-max(step, excess / 8 if math.isfinite(excess) else step))
    return found


def _readings(what: str) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """How a searched number is read as (power, strength)."""
    if what == "power":
        return (lambda x: x), (lambda x: 1.0)
    return (lambda x: 1.0), (lambda x: 1.0 / x)


def _excess(model: Family, n: int, draws: int, target: Target, power: float, strength: float) -> float:
    """Excess over the target; of a Beta profile from its end pairs alone, the certificate being asked once at the end."""
    guarantee = price(model, n, draws, power, strength)
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


# --- what the reader will get ----------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _invented(model: Family, n: int, size: int) -> tuple[Array, Array]:
    """True parameters and totals, invented from the prior with a fixed seed: public numbers, the same for every data set."""
    return model.simulate(np.random.default_rng(20_170_117), size, n)


def expected(model: Family, n: int, power: float, strength: float, noise: float = 0.0) -> Expected:
    """How far one draw lies from the true parameter 9 times in 10, data and parameter drawn from the prior."""
    own = model.expectation(n, power)
    if own is not None:
        return Expected(**own)
    quantity = f"half-width about the true {model.quantity} that holds 90 % of draws"
    value, bare = (_half_width(model, n, *case) for case in ((power, strength, noise), (1.0, 1.0, 0.0)))
    return Expected(quantity, value, "", "averaged over the prior", without_privacy=bare)


def _half_width(model: Family, n: int, power: float, strength: float, noise: float) -> float:
    size = max(256, _SIMULATED // len(model.labels))
    truth, totals = _invented(model, n, size)
    rng = np.random.default_rng(1)
    if noise > 0:
        totals = model.feasible(totals + noise * rng.standard_normal(totals.shape), n)
    draws = model.sketch(rng, model.natural(totals, n, power, strength))
    return float(np.quantile(model.distance(draws, truth), 0.9))


def divergence(model: Family, n: int, power: float, strength: float, noise: float = 0.0) -> float:
    """KL of the true posterior from the released law, averaged over data from the prior: what "auto" minimises.

    With noisy totals the released law is the mixture over the noise; it is compared coordinate by coordinate through means
    and variances, as normal laws are.
    """
    if noise > 0:
        return _mixture_divergence(model, n, noise)
    _, totals = _invented(model, n, _COMPARED)
    gap = model.divergence(model.natural(totals, n), model.natural(totals, n, power, strength))
    return float(np.mean(gap))


def _mixture_divergence(model: Family, n: int, noise: float) -> float:
    sets, repeats = 32, max(32, 256 // max(1, len(model.labels) // 16))
    _, totals = _invented(model, n, sets)
    rng = np.random.default_rng(2)
    many = np.repeat(totals, repeats, axis=0)
    seen = model.feasible(many + noise * rng.standard_normal(many.shape), n)
    exact, released = (model.sketch(rng, model.natural(values, n)) for values in (many, seen))
    moments = []
    for draws in (exact, released):
        each = draws.reshape(sets, repeats, -1)
        moments.append((each.mean(axis=1), each.var(axis=1) + 1e-300))
    (mean, spread), (moved, wider) = moments
    gap = 0.5 * (spread / wider + (mean - moved) ** 2 / wider - 1 + np.log(wider / spread))
    return float(gap.sum(axis=-1).mean())
