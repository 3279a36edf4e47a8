"""The profile of draws that are Gaussian but for a stated error: every mass within a factor exp(+-error) of the exact one.

With mu a draw and N of them, delta(eps) is the Gaussian one of sqrt(N) mu, inflated by N times the error, and

    D_alpha <= alpha N mu^2/2 + N error (2 alpha - 1)/(alpha - 1);

at order 1 the error adds what `inflation.renyi_extra` says for each draw.
"""

from __future__ import annotations

import math

from sfumato import _validate
from sfumato.privacy.curves import Gaussian
from sfumato.privacy.gaussian_tail import UNIT, gaussian_delta
from sfumato.privacy.inflation import inflated, renyi_extra
from sfumato.privacy.profiles import Parameters, Registered, number, takes


def _totals(parameters: Parameters) -> tuple[float, float]:
    """Mu and error of all draws together, rounded up."""
    draws = number(parameters["draws"])
    return number(parameters["mu"]) * math.sqrt(draws) * (1 + 4 * UNIT), number(parameters["error"]) * draws


def _delta(parameters: Parameters, epsilon: float) -> float:
    mu, error = _totals(parameters)
    return inflated(lambda eps: gaussian_delta(eps, mu), error * (1 + 2 * UNIT), epsilon)


def _renyi(parameters: Parameters, order: float) -> float:
    if order == math.inf:
        return math.inf
    mu, error = _totals(parameters)
    if order == 1:
        each = Gaussian(number(parameters["mu"])).renyi(1.0)
        extra = number(parameters["draws"]) * renyi_extra(number(parameters["error"]), 1.0, each)
    else:
        extra = renyi_extra(error, order)
    return (Gaussian(mu).renyi(order) + extra) * (1 + 8 * UNIT)


PERTURBED: dict[str, Registered] = {
    "perturbed-gaussian": Registered(
        takes("perturbed-gaussian", mu=_validate.positive, draws=_validate.whole, error=_validate.non_negative),
        _delta,
        _renyi,
        lambda p: (
            f"{int(number(p['draws']))} draw(s), each {number(p['mu']):.6g}-Gaussian but for a stated error of"
            f" {number(p['error']):.3g} in its log mass"
        ),
    ),
}
