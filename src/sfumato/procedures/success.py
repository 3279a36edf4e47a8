"""How often a trial of the envelope succeeds on a ball, at least, whatever the data."""

from __future__ import annotations

import math

from sfumato.errors import MechanismRefused
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import ScalarLinkLoss
from sfumato.models.priors import Ball
from sfumato.procedures.modes import mode_distance
from sfumato.theorems.rejection import ball_acceptance, traced_acceptance


def on_a_ball(
    model: Gibbs,
    n: int,
    power: float,
    curvatures: tuple[float, float, float],
    spacing: tuple[float, ...],
    near: float,
    gap: float,
) -> tuple[float, float]:
    """The success by the largest curvature alone, and the better of that and the one by the trace of the Hessian.

    `curvatures` are those of the envelope and of the upper bound, and the part k m of the latter; `near` is the distance
    of the descent's last point from the mode. Refuses a ball that some data set's mode lies outside of.
    """
    if not isinstance(model.prior, Ball):
        raise MechanismRefused(f"the success of a trial on a ball needs a prior on a ball; got {model.prior!r}.")
    (soft, stiff, given_up), radius = curvatures, model.prior.radius
    away = mode_distance(model, n, power)
    if away > radius:
        raise MechanismRefused(
            f"beyond two dimensions the ball must hold the mode of every data set: radius {away:.6g} or more for this "
            f"power ({power:.3g}); got {radius:.6g}. Or use sf.priors.Box, which need not hold it."
        )
    d, distance = len(spacing), away + near + 0.5 * math.hypot(*spacing)
    chance = ball_acceptance(
        strong_convexity=soft, smoothness=stiff, spacing=spacing[0], dimension=d, radius=radius, distance=distance,
        gap=gap,
    )  # fmt: skip
    if not isinstance(model.loss, ScalarLinkLoss):
        return chance, chance
    # A record's Hessian has rank one: its trace is its only eigenvalue, at most the loss's smoothness.
    traced = traced_acceptance(
        strong_convexity=soft, smoothness=stiff, common=model.prior.smoothness + given_up,
        trace=power * n * model.constants.smoothness * (1 + 1e-12), spacing=spacing[0], dimension=d, radius=radius,
        distance=distance, gap=gap,
    )  # fmt: skip
    return chance, max(chance, traced)
