"""What the Beta-Bernoulli mechanisms share: the price, the search that certifies only where it ends, the expectation."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.calibrate import Target, largest_admitted
from sfumato.mechanisms.plan import Expected
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import conjugate


def price(model: BetaBernoulli, n: int, draws: int, power: float = 1.0, strength: float = 1.0) -> Guarantee:
    """Exact price of `draws` draws of the tempered, strengthened posterior."""
    return conjugate.beta_bernoulli(
        alpha=model.alpha, beta=model.beta, n=n, power=power, strength=strength, draws=draws
    )


def quick_excess(model: BetaBernoulli, n: int, draws: int, target: Target, power: float, strength: float) -> float:
    """Excess over a point target from the two end pairs alone: the certificate is asked once, at the end of a search."""
    from sfumato.privacy.posterior_profiles import beta_bernoulli_delta

    if target.curve is not None or not target.delta:
        return target.excess(price(model, n, draws, power, strength))
    found = beta_bernoulli_delta(
        strength * model.alpha, strength * model.beta, n, power, draws, target.epsilon or 0.0, certified=False
    )
    return math.log(found) - math.log(target.delta)


def calibrated(model: BetaBernoulli, n: int, draws: int, target: Target, lower: float, what: str) -> float:
    """Largest x in [lower, 1] whose price is admitted, x being the power, or 1/strength.

    Searched on the end pairs and certified once; should a block exceed the claim, step back until the certificate agrees.
    """
    single = draws == 1 or target.curve is not None
    power, strength = _readings(what)
    found = largest_admitted(
        lambda x: quick_excess(model, n, draws, target, power(x), strength(x)),
        lower,
        1.0,
        what,
        target,
        1e-10 if single else 1e-6,
    )
    while not target.admits(price(model, n, draws, power(found), strength(found))):
        found *= 1 - 1e-7 if single else 1 - 1e-5
    return found


def _readings(what: str) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """How a searched number is read as (power, strength)."""
    if what == "power":
        return (lambda x: x), (lambda x: 1.0)
    return (lambda x: 1.0), (lambda x: 1.0 / x)


def expected_spread(model: BetaBernoulli, n: int, power: float, strength: float) -> Expected:
    """Standard deviation of one released draw if the data look as the prior expects (a public guess)."""
    ones = n * model.prior_mean
    return Expected(
        "standard deviation of one draw",
        _deviation(*model.natural(ones, n, power, strength)),
        "",
        "at the prior mean",
        without_privacy=_deviation(*model.natural(ones, n)),
    )


def divergence(model: BetaBernoulli, n: int, power: float, strength: float) -> float:
    """KL of the true posterior from the released law at the count that the prior expects: what "auto" minimises."""
    from scipy.special import betaln, digamma

    ones = n * model.prior_mean
    a, b = model.natural(ones, n)
    c, d = model.natural(ones, n, power, strength)
    total = digamma(a + b)
    return float(betaln(c, d) - betaln(a, b) + (a - c) * (digamma(a) - total) + (b - d) * (digamma(b) - total))


def _deviation(a: float, b: float) -> float:
    return math.sqrt(a * b / (a + b + 1)) / (a + b)
