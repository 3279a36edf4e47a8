"""Profiles of laws that are drawn with a stated error: every point's mass is within a factor exp(+-error) of the exact one.

Then P'(S) - e^eps Q'(S) <= e^error [P(S) - e^(eps - 2 error) Q(S)] for every event S, so

    delta'(eps) <= exp(error) delta(eps - 2 error),    D'_alpha <= D_alpha + error (2 alpha - 1)/(alpha - 1).

At order 1 (KL) the second bound is infinite. With L = log P/Q, P' <= exp(error) P and log P'/Q' <= L + 2 error give

    KL' <= KL + 2 error + (exp(error) - 1) E_P|L|,    E_P|L| <= KL + 2 TV <= KL + min(2, sqrt(2 KL)),

since E_P max(0, -L) <= E_P max(0, Q/P - 1) = TV, and TV <= sqrt(KL/2) (Pinsker).

`tolerant` gives a registered profile an optional parameter "error", per draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato import _validate
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.pair_losses import Array
from sfumato.privacy.profiles import Parameters, Registered, number

# e^709 overflows a float64: laws known to within larger factors promise nothing.
_LARGEST_ERROR = 700.0


def inflated(delta: Callable[[float], float], error: float, epsilon: float) -> float:
    """Delta of laws whose every mass is off by a factor within exp(+-error): exp(error) delta(eps - 2 error)."""
    if error == 0:
        return delta(epsilon)
    if error > _LARGEST_ERROR:
        return 1.0
    moved = epsilon - 2 * error
    inner = delta(moved) if moved >= 0 else -math.expm1(moved) + math.exp(moved) * delta(-moved)
    return min(1.0, math.exp(error) * inner * (1 + 1e-15))


def _inflated_many(deltas: Callable[[Array], Array], error: float, epsilons: Array) -> Array:
    if error > _LARGEST_ERROR:
        return np.ones_like(epsilons)
    moved = epsilons - 2 * error
    inner = deltas(np.abs(moved))
    # A negative eps by delta(-eps) = 1 - e^-eps + e^-eps delta(eps) of the mirrored pair; profiles here are symmetric maxima.
    full = np.where(moved >= 0, inner, -np.expm1(np.minimum(moved, 0)) + np.exp(np.minimum(moved, 0)) * inner)
    return np.minimum(1.0, math.exp(error) * full * (1 + 1e-15))


def renyi_extra(error: float, order: float, divergence: float = math.inf) -> float:
    """What a stated error adds to a Renyi divergence: error (2 a - 1)/(a - 1), twice the error in the limit.

    At order 1 it depends on the KL divergence of the exact laws, `divergence`: see above.
    """
    if error == 0:
        return 0.0
    if order == 1:
        if error > _LARGEST_ERROR:
            return math.inf
        mean_loss = divergence + min(2.0, math.sqrt(2 * divergence))
        return (2 * error + math.expm1(error) * mean_loss) * (1 + 8 * UNIT)
    return 2 * error if order == math.inf else error * (2 * order - 1) / (order - 1)


def tolerant(exact: Registered) -> Registered:
    """The same profile with an optional parameter "error"; without it nothing changes."""

    def parts(parameters: Parameters) -> tuple[Parameters, float]:
        if "error" not in parameters:
            return parameters, 0.0
        bare = {key: value for key, value in parameters.items() if key != "error"}
        return bare, number(parameters["error"])

    def check(parameters: Parameters) -> None:
        bare, error = parts(parameters)
        exact.check(bare)
        _validate.non_negative("error", error)

    def delta(parameters: Parameters, epsilon: float) -> float:
        bare, error = parts(parameters)
        return inflated(lambda eps: exact.delta(bare, eps), error * number(bare["draws"]), epsilon)

    def deltas(parameters: Parameters, epsilons: Array) -> Array:
        """The same for many epsilons at once."""
        bare, error = parts(parameters)
        if exact.deltas is None:
            return np.array([delta(parameters, float(eps)) for eps in epsilons])
        many = exact.deltas
        if error == 0:
            return many(bare, epsilons)
        return _inflated_many(lambda eps: many(bare, eps), error * number(bare["draws"]), epsilons)

    def renyi(parameters: Parameters, order: float) -> float:
        bare, error = parts(parameters)
        together, draws = exact.renyi(bare, order), number(bare["draws"])
        return together + draws * renyi_extra(error, order, together / draws)

    many_at_once = None if exact.deltas is None else deltas
    return Registered(check, delta, renyi, lambda p: exact.sentence(parts(p)[0]), many_at_once, exact.floor)
