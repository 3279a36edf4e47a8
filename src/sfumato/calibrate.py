"""From a target to a parameter: the largest safe power, the smallest safe noise. One-sided and re-verified.

Every search keeps a parameter that was itself priced and admitted, and returns that one: it cannot end on the unsafe
side, whatever the shape of the price. Where nothing in the range is admitted it raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sfumato import _validate
from sfumato.errors import ArgumentError, CalibrationError
from sfumato.privacy import weakness
from sfumato.privacy.cover import covering_mu
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.privacy.profiles import Profile, number
from sfumato.privacy.renyi import Renyi

Price = Callable[[float], Guarantee]
# Least excess of a price above its target, the smallest positive float: the difference of two logarithms may round to 0.
_ABOVE = 5e-324


@dataclass(frozen=True)
class Target:
    """The largest price of a release: a point (epsilon, delta), or a whole curve that must not be exceeded."""

    epsilon: float | None = None
    delta: float | None = None
    curve: Curve | None = None

    @property
    def pure(self) -> bool:
        """Whether no delta is left over at all, so that unbounded noise cannot meet it."""
        return self.delta == 0 or isinstance(self.curve, (Pure, BoundedRange))

    def excess(self, guarantee: Guarantee) -> float:
        """How far the price lies above the target, on a log scale; 0 or less means admitted."""
        if isinstance(guarantee.curve, Metric):
            raise ArgumentError("a target admits ordinary guarantees only; turn a metric one into .within(rho) first.")
        if self.curve is None:
            return _point_excess(guarantee, self.epsilon or 0.0, self.delta or 0.0)
        if guarantee.slack:
            return math.inf
        return _curve_excess(guarantee.curve, self.curve)

    def admits(self, guarantee: Guarantee) -> bool:
        """Whether the price is within the target."""
        return self.excess(guarantee) <= 0

    def weakness(self, n: int, whom: str = "records") -> str:
        """Why a release at this price protects next to nobody; "" where it does not (`privacy.weakness`)."""
        if self.curve is not None:
            return weakness.of_curve(self.curve, n)
        return weakness.of_point(self.epsilon or 0.0, self.delta or 0.0, n, whom)

    def __str__(self) -> str:
        if self.curve is not None:
            return repr(self.curve)
        return f"(epsilon, delta) = ({self.epsilon:g}, {self.delta:g})"


def target_of(epsilon: float | None = None, delta: float | None = None, target: Curve | None = None) -> Target:
    """Check that exactly one of (epsilon, delta) and `target` is given, and return it."""
    if target is not None:
        if epsilon is not None or delta is not None:
            raise ArgumentError("give either epsilon and delta, or target=<a curve>, not both.")
        if not isinstance(target, (Gaussian, Pure, BoundedRange, Renyi)) and not _is_revealing(target):
            raise ArgumentError(
                f"target must be a Gaussian, Pure, BoundedRange or Renyi curve, or what a ledger has left; got {target!r}. "
                "For a single point give epsilon and delta."
            )
        return Target(curve=target)
    if epsilon is None or delta is None:
        missing = " and ".join(name for name, value in (("epsilon", epsilon), ("delta", delta)) if value is None)
        raise ArgumentError(
            f"{missing} must be given: an epsilon without its delta says nothing. Use delta=0 for pure privacy."
        )
    eps = _validate.positive("epsilon", epsilon)
    small = _validate.probability("delta", delta)
    if small >= 1:
        raise ArgumentError(
            f"delta must be less than 1 (1 promises nothing); got {small!r}. Common choices: 1e-6, or far below 1/n."
        )
    return Target(epsilon=eps, delta=small)


def _is_revealing(curve: Curve) -> bool:
    return isinstance(curve, Profile) and curve.name == "revealing-gaussian"


def _point_excess(guarantee: Guarantee, epsilon: float, delta: float) -> float:
    price = guarantee.delta(epsilon)
    if price <= delta:
        return -math.inf if price == 0 else math.log(price) - math.log(delta)
    if delta > 0:
        return max(_ABOVE, math.log(price) - math.log(delta))
    limit = guarantee.curve.renyi(math.inf)
    return math.inf if limit == math.inf else max(_ABOVE, math.log(limit) - math.log(epsilon))


def _curve_excess(curve: Curve, target: Curve) -> float:
    """Log ratio of the price to the target in the target's own currency."""
    if isinstance(target, Renyi):
        pairs = [(curve.renyi(a), value) for a, value in zip(target.orders, target.values, strict=True)]
        return max(_log_ratio(price, allowed) for price, allowed in pairs)
    if isinstance(target, Gaussian):
        return math.inf if curve.mu is None else _log_ratio(curve.mu, target.mu)
    if isinstance(target, Profile):
        allowed = {key: number(value) for key, value in target.parameters.items()}
        mu = covering_mu(curve, allowed["delta"])
        return math.inf if mu is None else _log_ratio(mu, allowed["mu"])
    if isinstance(target, BoundedRange):
        return _log_ratio(curve.epsilon_value, target.epsilon_value) if isinstance(curve, BoundedRange) else math.inf
    return _log_ratio(curve.renyi(math.inf), target.renyi(math.inf))


def _log_ratio(price: float, allowed: float) -> float:
    if price <= allowed:
        return -math.inf if price == 0 else math.log(price) - math.log(allowed)
    return math.inf if allowed == 0 or price == math.inf else max(_ABOVE, math.log(price) - math.log(allowed))


# A draw whose log ratio is unbounded has no epsilon at delta = 0, whatever its power.
_PURE = (
    "A pure target (delta = 0) needs a bounded log ratio: truncate the prior or the family, as sf.priors.Ball(prior, radius=...) "
    "does, or give a delta above 0."
)


def largest_admitted(
    excess: Callable[[float], float], lower: float, upper: float, what: str, target: Target, tolerance: float = 1e-10
) -> float:
    """Largest value in [lower, upper] with excess 0 or less, for an excess that grows with the value."""
    top = excess(upper)
    if top <= 0:
        return upper
    bottom = excess(lower)
    if bottom > 0:
        pure = target.delta == 0 and bottom == math.inf
        raise CalibrationError(
            f"no {what} in [{lower:.3g}, {upper:.3g}] meets the target {target}. "
            + (_PURE if pure else "Ask for a larger epsilon or delta, fewer draws, or a stronger prior.")
        )
    return math.exp(_search(lambda x: excess(math.exp(x)), math.log(lower), math.log(upper), bottom, top, tolerance))


def largest(
    price: Price, target: Target, lower: float, upper: float, what: str = "parameter", tolerance: float = 1e-10
) -> float:
    """Largest value in [lower, upper] whose price the target admits, for a price that grows with the value."""
    return largest_admitted(lambda x: target.excess(price(x)), lower, upper, what, target, tolerance)


def smallest(
    price: Price, target: Target, lower: float, upper: float, what: str = "parameter", tolerance: float = 1e-10
) -> float:
    """Smallest value in [lower, upper] whose price the target admits, for a price that falls with the value."""
    value = 1.0 / largest(lambda x: price(1.0 / x), target, 1.0 / upper, 1.0 / lower, what, tolerance)
    # The reciprocal rounds: step up to a value that was itself admitted.
    while not target.admits(price(value)):
        value = math.nextafter(value * (1 + 1e-15), math.inf)
    return value


def largest_count(
    price: Callable[[int], Guarantee], target: Target, most: int = 1 << 20, what: str = "number of draws"
) -> int:
    """Largest whole number whose price the target admits, by doubling and halving."""
    if not target.admits(price(1)):
        raise CalibrationError(f"not even one meets the target {target} ({what}). Ask for a larger epsilon or delta.")
    low = 1
    while low < most and target.admits(price(min(2 * low, most))):
        low = min(2 * low, most)
    high = min(2 * low, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if target.admits(price(middle)) else (low, middle)
    return low


def _search(
    excess: Callable[[float], float], low: float, high: float, f_low: float, f_high: float, tolerance: float
) -> float:
    """Return an admitted point within `tolerance` of the boundary: secant steps where both ends are finite, else halves.

    The end that a secant keeps hitting is approached by probing just beyond the estimate, so both ends close in.
    """
    for turn in range(400):
        if high - low <= tolerance:
            break
        middle = 0.5 * (low + high)
        if math.isfinite(f_low) and math.isfinite(f_high) and turn % 3 != 2:
            root = low - f_low * (high - low) / (f_high - f_low)
            nudge = max(0.4 * tolerance, 1e-3 * min(root - low, high - root))
            root += -nudge if turn % 2 == 0 else nudge
            if low + 0.2 * tolerance < root < high - 0.2 * tolerance:
                middle = root
        if middle in (low, high):
            break
        value = excess(middle)
        if value <= 0:
            low, f_low = middle, value
        else:
            high, f_high = middle, value
    return low
