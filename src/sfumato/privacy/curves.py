"""Privacy curves: the price of a mechanism as a function, not as one number.

A curve is the function delta(eps), the largest hockey-stick divergence over ordered neighbouring pairs. The relation
"neighbour" is symmetric here, so the values at eps >= 0 fix the curve on the whole line:

    delta(-eps) = 1 - exp(-eps) (1 - delta(eps)).

Curves are frozen values. Every answer is rounded to the private side: a delta or an epsilon is never below the true
one, a positive delta that underflows is the smallest positive float, and where no epsilon exists it is `math.inf`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.privacy.gaussian_tail import (
    TINY,
    UNIT,
    gaussian_delta,
    gaussian_epsilon,
    mu_of_total_variation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


class Curve(ABC):
    """The questions that every privacy curve answers, and the algebra that all of them share."""

    kind: str

    def delta(self, epsilon: float) -> float:
        """Smallest provable delta at this epsilon (any real number)."""
        eps = _validate.real("epsilon", epsilon)
        if eps == math.inf:
            return self.floor
        if eps >= 0:
            return self._delta(eps)
        if eps == -math.inf:
            return 1.0
        return min(1.0, _up(-math.expm1(eps) + math.exp(eps) * self._delta(-eps)))

    def epsilon(self, delta: float) -> float:
        """Smallest provable epsilon at this delta; `math.inf` if there is none."""
        target = _validate.probability("delta", delta)
        return 0.0 if target >= 1 else self._epsilon(target)

    def renyi(self, order: float) -> float:
        """Smallest provable Renyi divergence of this order (at least 1); `math.inf` if there is none."""
        alpha = _validate.real("order", order)
        if alpha < 1:
            raise ArgumentError(f"order must be 1 or greater; got {alpha!r}.")
        return self._renyi(alpha)

    @property
    def floor(self) -> float:
        """The limit of delta(eps) as eps grows: the mass that no epsilon covers."""
        return 0.0

    @property
    def mu(self) -> float | None:
        """Smallest proved mu for which the mechanism is mu-GDP, or None where there is none."""
        return None

    @property
    def composable_as_profile(self) -> bool:
        """Whether delta(eps) is known for every eps, so that a privacy loss distribution can be built from it."""
        return True

    def deltas(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """`delta` for an array of epsilons at once."""
        import numpy as np

        return np.array([self.delta(float(epsilon)) for epsilon in epsilons], dtype=np.float64)

    @abstractmethod
    def _delta(self, epsilon: float) -> float: ...

    @abstractmethod
    def _epsilon(self, delta: float) -> float: ...

    @abstractmethod
    def _renyi(self, order: float) -> float: ...

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return a document that `from_json` reads back to an equal curve."""

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Curve:
        """Read a curve of any kind; unknown kinds and unknown keys are refused."""
        from sfumato.privacy.codec import curve_from_json

        return curve_from_json(document)

    def __add__(self, other: object) -> Curve:
        if not isinstance(other, Curve):
            return NotImplemented
        from sfumato.privacy.compose import compose

        return compose([(self, 1), (other, 1)])

    def __mul__(self, count: object) -> Curve:
        if isinstance(count, bool) or not hasattr(count, "__index__"):
            return NotImplemented
        from sfumato.privacy.compose import compose

        return compose([(self, _validate.whole("the number of releases", count, minimum=0))])

    __rmul__ = __mul__


def _up(value: float, units: float = 16.0) -> float:
    """Round a computed value up by `units` units of relative rounding error."""
    return value if value in (0.0, math.inf) else math.nextafter(value * (1.0 + units * UNIT), math.inf)


@dataclass(frozen=True)
class Gaussian(Curve):
    """mu-GDP: no easier to attack than telling N(0,1) from N(mu,1) (Dong, Roth and Su 2022).

    delta(eps) = Phi(-eps/mu + mu/2) - exp(eps) Phi(-eps/mu - mu/2);  Renyi(alpha) = alpha mu^2 / 2.
    """

    mu_value: float
    kind = "gaussian"

    def __init__(self, mu: float) -> None:
        object.__setattr__(self, "mu_value", _validate.non_negative("mu", mu))

    @property
    def mu(self) -> float:
        """The parameter itself."""
        return self.mu_value

    def _delta(self, epsilon: float) -> float:
        return gaussian_delta(epsilon, self.mu_value)

    def _epsilon(self, delta: float) -> float:
        return gaussian_epsilon(delta, self.mu_value)

    def _renyi(self, order: float) -> float:
        return 0.0 if self.mu_value == 0 else max(_up(0.5 * order * self.mu_value * self.mu_value), TINY)

    def to_json(self) -> dict[str, Any]:
        """{"curve": "gaussian", "mu": ...}."""
        return {"curve": self.kind, "mu": self.mu_value}

    def __repr__(self) -> str:
        return f"Gaussian(mu={self.mu_value!r})"


@dataclass(frozen=True)
class Pure(Curve):
    """(eps, 0)-differential privacy; the worst such mechanism is randomised response, whose curve this is.

    delta(e) = (exp(eps) - exp(e)) / (1 + exp(eps)) for e <= eps;  mu = -2 Phi^-1(1/(1 + exp(eps))) (tight).
    """

    epsilon_value: float
    kind = "pure"

    def __init__(self, epsilon: float) -> None:
        object.__setattr__(self, "epsilon_value", _validate.non_negative("epsilon", epsilon))

    @property
    def mu(self) -> float:
        """The Gaussian curve that touches this one from above."""
        return mu_of_total_variation(self.epsilon_value)

    def _delta(self, epsilon: float) -> float:
        bound = self.epsilon_value
        if epsilon >= bound:
            return 0.0
        return min(1.0, max(_up(-math.expm1(epsilon - bound) / (1.0 + math.exp(-bound))), TINY))

    def _epsilon(self, delta: float) -> float:
        bound = self.epsilon_value
        spent = delta * (1.0 + math.exp(-bound))
        if spent >= 1:
            return 0.0
        return max(0.0, min(bound, bound + math.log1p(-spent) + 8 * UNIT * (bound + spent) / (1.0 - spent)))

    def _renyi(self, order: float) -> float:
        bound = self.epsilon_value
        if order == math.inf or bound == 0:
            return bound
        if order == 1:
            return min(bound, max(_up(bound * math.tanh(0.5 * bound)), TINY))
        return min(bound, max(_up(_randomised_response_renyi(bound, order)), TINY))

    def to_json(self) -> dict[str, Any]:
        """{"curve": "pure", "epsilon": ...}."""
        return {"curve": self.kind, "epsilon": self.epsilon_value}

    def __repr__(self) -> str:
        return f"Pure(epsilon={self.epsilon_value!r})"


def _randomised_response_renyi(bound: float, order: float) -> float:
    """[log(e^{a eps} + e^{(1-a) eps}) - log(1 + e^eps)]/(a-1), without cancellation for small eps or a near 1.

    With p = 1/(1 + e^-eps) and g = (a-1) eps: (a-1) D = log(p e^g + (1-p) e^-g), taken as a log1p.
    """
    gain = (order - 1.0) * bound
    if gain > 30.0:
        return (gain + math.log1p(math.exp(-gain - order * bound)) - math.log1p(math.exp(-bound))) / (order - 1.0)
    p = 1.0 / (1.0 + math.exp(-bound))
    # p e^{g} + (1-p) e^{-g} = 1 + (e^g - 1)(p - (1-p) e^{-g});   p - (1-p)e^{-g} = (2p-1) + (1-p)(1 - e^{-g}).
    excess = math.expm1(gain) * (math.tanh(0.5 * bound) - (1.0 - p) * math.expm1(-gain))
    return math.log1p(excess) / (order - 1.0)


@dataclass(frozen=True)
class BoundedRange(Curve):
    """The log ratio of any two neighbouring laws lies in an interval of length eps: every exponential mechanism.

    Worst case over where the interval lies (a two-point law for each): for 0 <= e <= eps

        delta(e) = (exp(eps/2) - exp(e/2))^2 / (exp(eps) - 1),

    so it is pure eps, eps^2/8-zCDP (Cesar and Rogers 2021) and mu-GDP with Phi(-mu/2) = 1/(1 + exp(eps/2)).
    """

    epsilon_value: float
    kind = "bounded-range"

    def __init__(self, epsilon: float) -> None:
        object.__setattr__(self, "epsilon_value", _validate.non_negative("epsilon", epsilon))

    @property
    def mu(self) -> float:
        """The Gaussian curve that touches this one from above, at eps = 0."""
        return mu_of_total_variation(max(0.5 * self.epsilon_value, TINY) if self.epsilon_value > 0 else 0.0)

    def _delta(self, epsilon: float) -> float:
        bound = self.epsilon_value
        if epsilon >= bound:
            return 0.0
        gap = -math.expm1(0.5 * (epsilon - bound))
        return min(1.0, max(_up(gap * (gap / -math.expm1(-bound)), 32.0), TINY))

    def _epsilon(self, delta: float) -> float:
        bound = self.epsilon_value
        root = math.sqrt(delta * -math.expm1(-bound))
        if root >= 1:
            return 0.0
        return max(0.0, min(bound, bound + 2.0 * math.log1p(-root) + 16 * UNIT * (bound + root) / (1.0 - root)))

    def _renyi(self, order: float) -> float:
        bound = self.epsilon_value
        if order == math.inf or bound == 0:
            return bound
        quadratic = max(_up(order * bound * bound / 8.0), TINY)
        if bound < 1e-4 or order > 1e9:
            return min(bound, quadratic)
        return min(bound, quadratic, _two_point_renyi(bound, max(order, 1.0 + 1e-6)))

    def to_json(self) -> dict[str, Any]:
        """{"curve": "bounded-range", "epsilon": ...}."""
        return {"curve": self.kind, "epsilon": self.epsilon_value}

    def __repr__(self) -> str:
        return f"BoundedRange(epsilon={self.epsilon_value!r})"


def _two_point_renyi(bound: float, order: float) -> float:
    """Largest Renyi divergence of two-point laws whose log ratios are `bound` apart, rounded up.

    With E = exp(bound), u = exp(t), t the larger log ratio: (a-1) D = log f(u),
    f(u) = u^{a-1} [ (E - u) + (u - 1) E^{1-a} ] / (E - 1), maximal at u = (a-1)/a (E - E^{1-a})/(1 - E^{1-a}).
    """
    scale = order - 1.0
    drop = -math.expm1(-scale * bound)
    below = math.log(scale / order) + math.log(-math.expm1(-order * bound)) - math.log(drop)
    below = min(max(below, -bound), 0.0)  # t - bound
    # (E - u)/(E - 1) and (u - 1)/(E - 1), each without cancellation; the sum in f is 1 - share_low * drop.
    share_high = -math.expm1(below) / -math.expm1(-bound)
    share_low = math.exp(below) * -math.expm1(-(bound + below)) / -math.expm1(-bound)
    lost = share_low * drop
    log_mean = math.log1p(-lost) if lost < 0.5 else math.log(share_high + share_low * (1.0 - drop))
    # The two terms nearly cancel for small bounds, so the charge is on each of them.
    return (bound + below) + log_mean / scale + 64 * UNIT * (bound + abs(log_mean) / scale)
