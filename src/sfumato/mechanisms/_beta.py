"""What the Beta-Bernoulli mechanisms share: price, search, expectation and the draw on the public grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato.calibrate import Target, largest_admitted
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Expected, Plan
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.privacy.cover import covering_mu_of
from sfumato.privacy.curves import BoundedRange, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.profiles import Profile, number
from sfumato.privacy.renyi import Renyi
from sfumato.samplers.grid import LARGEST_WEIGHT, mass_error, nodes_for
from sfumato.theorems import conjugate

if TYPE_CHECKING:
    from sfumato.draws import Draws
    from sfumato.samplers.grid import Integers


def price(model: BetaBernoulli, n: int, draws: int, power: float = 1.0, strength: float = 1.0) -> Guarantee:
    """Exact price of `draws` draws of the tempered, strengthened posterior, the grid's rounding included."""
    return conjugate.beta_bernoulli(
        alpha=model.alpha,
        beta=model.beta,
        n=n,
        power=power,
        strength=strength,
        draws=draws,
        grid_error=_grid_error(model, n, power, strength),
    )


def strongest(model: BetaBernoulli, n: int) -> float:
    """Largest strength that the grid can still draw."""
    return max(1.0, (LARGEST_WEIGHT - n) / (model.alpha + model.beta) * (1 - 1e-9))


def _grid_error(model: BetaBernoulli, n: int, power: float, strength: float) -> float:
    """What the grid may be off by, from public numbers alone."""
    return mass_error(_weight(model, n, power, strength), strength * min(model.alpha, model.beta))


def _weight(model: BetaBernoulli, n: int, power: float, strength: float) -> float:
    return power * n + strength * (model.alpha + model.beta)


def draw(
    model: BetaBernoulli, ones: float, n: int, power: float, strength: float, draws: int, source: Integers
) -> Draws:
    """Draw from Beta(s alpha + r ones, s beta + r (n - ones)) on the public grid, by integers alone."""
    import numpy as np

    from sfumato.draws import Draws
    from sfumato.samplers.grid import beta_log_masses, draw_cells, integer_weights, rate_grid

    a, b = model.natural(ones, n, power, strength)
    weights = integer_weights(beta_log_masses(a, b, nodes_for(_weight(model, n, power, strength))))
    cells = draw_cells(weights, source, draws)
    return Draws(rate_grid()[np.array(cells)][None, :], ("theta",))


def draw_planned(plan: Plan, engine: Any, randomness: Any) -> Draws:
    """Take the count of ones from the engine and draw what the plan says."""
    ones = engine.total(plan.model.statistic)
    return draw(plan.model, ones, plan.n, float(plan["power"]), float(plan["strength"]), plan.draws, randomness)


def quick_excess(model: BetaBernoulli, n: int, draws: int, target: Target, power: float, strength: float) -> float:
    """Excess over the target from the two end pairs alone: the certificate is asked once, at the end of a search."""
    from sfumato.privacy.posterior_profiles import beta_bernoulli_delta, inflated

    alpha, beta = strength * model.alpha, strength * model.beta
    error = 2 * math.atanh(_grid_error(model, n, power, strength)) * draws

    def ends(epsilon: float) -> float:
        return inflated(
            lambda eps: beta_bernoulli_delta(alpha, beta, n, power, draws, eps, certified=False), error, epsilon
        )

    if isinstance(target.curve, Profile):
        allowed = {key: number(value) for key, value in target.curve.parameters.items()}
        mu = covering_mu_of(ends, allowed["delta"])
        return math.inf if mu is None else math.log(max(mu, 1e-300)) - math.log(allowed["mu"])
    if target.curve is not None or not target.delta:
        return target.excess(price(model, n, draws, power, strength))
    return math.log(ends(target.epsilon or 0.0)) - math.log(target.delta)


def refuse_pure(target: Target | None) -> None:
    """A Beta draw has an unbounded log ratio: no power or strength makes it pure."""
    pure = target is not None and (target.delta == 0 or isinstance(target.curve, (Pure, BoundedRange)))
    if pure:
        raise MechanismRefused("a draw from a Beta posterior is never pure: give a delta greater than 0, such as 1e-6.")


def calibrated(model: BetaBernoulli, n: int, draws: int, target: Target, lower: float, what: str) -> float:
    """Largest x in [lower, 1] whose price is admitted, x being the power, or 1/strength.

    Searched on the end pairs and certified once; should a block exceed the claim, step back until the certificate agrees.
    """
    refuse_pure(target)
    single = (draws == 1 and not isinstance(target.curve, Profile)) or isinstance(target.curve, Renyi)
    power, strength = _readings(what)
    found = largest_admitted(
        lambda x: quick_excess(model, n, draws, target, power(x), strength(x)),
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


def expected_error(model: BetaBernoulli, n: int, power: float, strength: float) -> Expected:
    """Root-mean-square error of one draw about the true rate, over rates drawn from the prior: bias and spread together."""
    return Expected(
        "root-mean-square error of one draw",
        _error(model, n, power, strength),
        "",
        "averaged over the prior",
        without_privacy=_error(model, n, 1.0, 1.0),
    )


def _prior_rates(model: BetaBernoulli) -> Any:
    """Sixty-four rates, equally likely under the prior: a public picture of what the data may look like."""
    import numpy as np
    from scipy.stats import beta

    return np.clip(beta.ppf((np.arange(64) + 0.5) / 64, model.alpha, model.beta), 1e-12, 1 - 1e-12)


def _error(model: BetaBernoulli, n: int, power: float, strength: float) -> float:
    rate = _prior_rates(model)
    a, b = model.natural(n * rate, n, power, strength)
    total = a + b
    spread = a * b / (total**2 * (total + 1))
    sampling = power**2 * n * rate * (1 - rate) / total**2
    return float(((a / total - rate) ** 2 + spread + sampling).mean() ** 0.5)


def divergence(model: BetaBernoulli, n: int, power: float, strength: float) -> float:
    """KL of the true posterior from the released law, averaged over rates from the prior: what "auto" minimises."""
    from scipy.special import betaln, digamma

    ones = n * _prior_rates(model)
    a, b = model.natural(ones, n)
    c, d = model.natural(ones, n, power, strength)
    total = digamma(a + b)
    gap = betaln(c, d) - betaln(a, b) + (a - c) * (digamma(a) - total) + (b - d) * (digamma(b) - total)
    return float(gap.mean())
