"""What the Gibbs mechanisms share: pricing through the sharp theorem, and what a tempered draw is worth."""

from __future__ import annotations

from sfumato.calibrate import Target
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Expected
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import asymptotics, sharp

# The powers that are searched: 1 is the posterior itself, and below 1e-12 the prior is all that is left.
LOWEST_POWER, HIGHEST_POWER = 1e-12, 1.0


def sharp_price(model: Gibbs, n: int, power: float, draws: int) -> Guarantee:
    """Price of `draws` exact draws from the Gibbs posterior at `power`."""
    return sharp.gibbs_draw(
        difference=model.difference(power),
        strong_convexity=model.strong_convexity(n, power),
        convex=model.constants.convex,
        convex_domain=model.prior.convex_domain,
        draws=draws,
    )


def needs_target(target: Target | None, name: str) -> Target:
    """Return the target, or refuse: a calibrated mechanism cannot be planned without one."""
    if target is None:
        raise MechanismRefused(
            f"mechanism {name!r} is calibrated to a target: give epsilon and delta, or target=<a curve>."
        )
    return target


def expected_of_power(power: float) -> Expected:
    """Asymptotic variance of one draw over data and draw, in units of the estimator without privacy (Theorem 16)."""
    factor = 1.0 + asymptotics.inflation(power=power)
    return Expected("variance of one draw", factor, "times that of the MLE", "large-sample limit", without_privacy=2.0)


def not_gibbs(model: object) -> str | None:
    """Return a reason if the model is no Gibbs model."""
    return None if isinstance(model, Gibbs) else f"it serves sf.Gibbs models; got {model!r}"
