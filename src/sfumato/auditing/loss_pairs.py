"""The privacy curve of two finite laws, and of independent repetitions of them.

With probabilities p and q of the same points and losses L = log(p/q),

    delta(eps) = sum of max(p - e^eps q, 0) = P(L > eps) - e^eps Q(L > eps),

largest over both orders of the two laws: a function of e^eps that is linear between losses, so the losses hold all of it.

Independent parts: losses add up, and there are products of probabilities. To keep their number small, points of nearly equal
loss are joined before and after every product: p and q are summed over them. Joining is post-processing, so the curve of the
joined laws is never above the true one. The only other errors are roundings, which are bounded and subtracted. A curve here is
therefore a lower bound on the true one, exact to rounding where nothing was joined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import Array
from sfumato.errors import ArgumentError
from sfumato.privacy.guarantee import Guarantee

# Groups of nearly equal loss between the losses that hold all but `_TAIL` of both laws, and in each tail beyond. Losses that are
# spread over 2 x 8 deviations are then joined within 0.011 deviations, which lowers their variance by 1e-5 of itself.
_GROUPS, _OUTER, _TAIL = 1500, 24, 1e-18
# Unit roundoff of a float; roundings of a logarithm, of the exponential of one of at most 720, and of a sum besides its terms.
_UNIT, _LOG_ROUNDINGS, _ROUNDINGS = 2.0**-53, 8, 720
# A claim is called broken where it is exceeded by more than this share.
ROOM = 1e-12
# Losses at which a claim is compared where the curve has more, and where one evaluation of the claim takes 10 milliseconds.
_COMPARED, _COMPARED_SLOWLY = 400, 40
# Error rates below this are not turned into a mu: products of probabilities may have underflowed.
_RAREST = 1e-200


@dataclass(frozen=True, eq=False)
class Losses:
    """Log probabilities of the same points under two laws.

    `largest` is the largest loss in each order, before any points were joined and rounded down; `room` bounds the relative error
    of a probability; `joined` says whether points of different loss were joined.
    """

    first: Array
    second: Array
    largest: tuple[float, float]
    room: float
    joined: bool = False

    @classmethod
    def of(cls, first: Array, second: Array) -> Losses:
        """Two laws as they are."""
        if first.shape != second.shape or first.ndim != 1:
            raise ArgumentError(f"two laws must list the same points; got shapes {first.shape} and {second.shape}.")
        loss = first - second
        # A logarithm is rounded in proportion to its size: twice when it is made, and once in the difference.
        room = _LOG_ROUNDINGS * _UNIT * (1 + max(float(-first.min()), float(-second.min())))
        most = (max(0.0, float(loss.max()) - room), max(0.0, float(-loss.min()) - room))
        return cls(first, second, most, room)

    def __mul__(self, other: Losses) -> Losses:
        """Both laws drawn independently: all pairs of points, those of nearly equal loss joined."""
        a, b = self.grouped(), other.grouped()
        first, second = np.add.outer(a.first, b.first).ravel(), np.add.outer(a.second, b.second).ravel()
        largest = (self.largest[0] + other.largest[0], self.largest[1] + other.largest[1])
        return Losses(first, second, largest, a.room + b.room + 4 * _UNIT, a.joined or b.joined).grouped()

    def grouped(self) -> Losses:
        """The laws of the group that a point falls into: at most about 1550 groups of neighbouring losses."""
        if len(self.first) <= _GROUPS:
            return self
        loss = self.first - self.second
        p, q = np.exp(self.first), np.exp(self.second)
        group = np.searchsorted(_edges(loss, p + q), loss, side="right")
        sums = np.bincount(group, p), np.bincount(group, q)
        # A group without probability in floats is left out: that only lowers delta.
        kept = (sums[0] > 0) & (sums[1] > 0)
        room = self.room + (int(np.bincount(group).max()) + 2 * _ROUNDINGS) * _UNIT
        return Losses(np.log(sums[0][kept]), np.log(sums[1][kept]), self.largest, room, True)


def _edges(loss: Array, mass: Array) -> Array:
    """Edges of the groups: equal widths where all but the tails of both laws lie, wider ones in the tails."""
    lowest, highest = float(loss.min()), float(loss.max())
    counts, ends = np.histogram(loss, bins=1 << 14, weights=mass)
    inner = np.flatnonzero(np.minimum(np.cumsum(counts), np.cumsum(counts[::-1])[::-1]) > _TAIL)
    low, high = ends[inner[0]], ends[inner[-1] + 1]
    parts = (np.linspace(lowest, low, _OUTER), np.linspace(low, high, _GROUPS), np.linspace(high, highest, _OUTER))
    return np.unique(np.concatenate(parts))


def independent(parts: list[Losses]) -> Losses:
    """The losses of independent parts together; of no part, none."""
    together = Losses.of(np.zeros(1), np.zeros(1))
    for place, part in enumerate(parts):
        together = part if place == 0 else together * part
    return together


def repeated(one: Losses, draws: int) -> Losses:
    """The losses of `draws` independent draws, by squaring."""
    result, power, left = None, one, draws
    while True:
        if left & 1:
            result = power if result is None else result * power
        left >>= 1
        if left == 0 and result is not None:
            return result
        power = power * power


@dataclass(frozen=True, eq=False)
class _Order:
    """One order of two laws: falling losses, P and Q of the k largest, P of the others; `room` bounds relative roundings."""

    losses: Array
    p: Array
    q: Array
    missed: Array
    room: float

    @classmethod
    def of(cls, first: Array, second: Array, room: float) -> _Order:
        loss = first - second
        order = np.argsort(-loss, kind="stable")
        p, q = np.exp(first[order]), np.exp(second[order])
        sums = [np.concatenate([[0.0], np.cumsum(masses)]) for masses in (p, q, p[::-1])]
        return cls(loss[order], sums[0], sums[1], sums[2][::-1], room + (len(loss) + _ROUNDINGS) * _UNIT)

    def delta(self, epsilon: Array) -> Array:
        """P(L > eps) - e^eps Q(L > eps) less what roundings may have added, or 0."""
        larger = np.searchsorted(-self.losses, -epsilon, side="left")
        with np.errstate(over="ignore"):
            p, q = self.p[larger], np.exp(epsilon) * self.q[larger]
        return np.asarray(np.maximum(0.0, p * (1 - self.room) - q * (1 + self.room)))

    def epsilon(self, delta: float) -> float:
        """The epsilon at which delta(eps) is this positive delta, rounded down; 0 where it is smaller at every epsilon."""
        at_losses = self.delta(self.losses)
        # Losses fall and delta rises along the array: the first segment end that exceeds delta.
        place = int(np.searchsorted(at_losses, delta, side="right"))
        largest = self.p[place] * (1 - self.room) - delta
        if place == 0 or largest <= 0:
            return 0.0
        return max(0.0, math.log(largest / (self.q[place] * (1 + self.room))))


@dataclass(frozen=True, eq=False)
class Exact:
    """The computed privacy curve of a pair of data sets, both orders: a lower bound, exact to rounding where `joined` is False."""

    name: str
    largest: tuple[float, float]
    joined: bool
    forward: _Order
    backward: _Order

    @classmethod
    def of(cls, losses: Losses, name: str = "") -> Exact:
        """The curve of two laws."""
        a, b, room = losses.first, losses.second, losses.room
        return cls(name, losses.largest, losses.joined, _Order.of(a, b, room), _Order.of(b, a, room))

    def deltas(self, epsilons: Array) -> Array:
        """Delta at every epsilon of 0 or more, the larger of both orders."""
        return np.maximum(self.forward.delta(epsilons), self.backward.delta(epsilons))

    def delta(self, epsilon: float) -> float:
        """Delta at one epsilon of 0 or more."""
        return float(self.deltas(np.array([epsilon]))[0])

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at this delta; at 0 the largest loss of either order."""
        if delta <= 0:
            return max(self.largest)
        return max(self.forward.epsilon(delta), self.backward.epsilon(delta))

    def trade_off(self) -> tuple[Array, Array]:
        """False accusations and misses of the likelihood-ratio tests of the first law against the second: the best tests.

        They accuse the second law where its loss is among the largest; test k accuses at the k largest losses.
        """
        room = 1 + self.backward.room
        return np.minimum(1.0, self.backward.q * room), np.minimum(1.0, self.backward.missed * room)

    @property
    def mu(self) -> float:
        """The smallest mu of a Gaussian curve that lies above this one: Phi^-1(1 - a) - Phi^-1(b) over the best tests."""
        from scipy.special import ndtri

        false, missed = self.trade_off()
        usable = (false > _RAREST) & (missed > _RAREST) & (false + missed < 1)
        return float(max(0.0, (-ndtri(false[usable]) - ndtri(missed[usable])).max(initial=0.0)))

    def kinks(self, most: int = _COMPARED) -> Array:
        """Losses above 0 at which the curve bends, 0 itself first; where there are many, evenly chosen ones."""
        losses = np.unique(np.concatenate([self.forward.losses, self.backward.losses]))
        losses = losses[losses > 0]
        if len(losses) > most:
            # Half of them equally spaced along the losses, half along their ranks.
            spaced = np.searchsorted(losses, np.linspace(losses[0], losses[-1], most // 2))
            ranked = np.linspace(0, len(losses) - 1, most // 2).astype(np.int64)
            losses = losses[np.unique(np.concatenate([spaced.clip(max=len(losses) - 1), ranked]))]
        return np.concatenate([[0.0], losses])

    def breaks(self, claim: Claim | Guarantee) -> bool:
        """Whether the curve exceeds the claim, with room for roundings: a true claim is never called broken.

        A guarantee is compared by its delta at every kink (at 400 of them where there are more, at 40 for a slow curve) and by its
        epsilon at delta 0. A `Claim`, which may be an enlarged one, is compared as a trade-off at the best tests.
        """
        if isinstance(claim, Claim):
            false, missed = (rates[_spread(len(rates))] for rates in self.trade_off())
            return bool((missed < claim.least_missed(false)).any())
        if max(self.largest) > claim.epsilon(0.0) * (1 + ROOM):
            return True
        kinks = self.kinks(_COMPARED if getattr(claim.curve, "answers_at_once", True) else _COMPARED_SLOWLY)
        return bool((self.deltas(kinks) > _allowed(claim, kinks) * (1 + ROOM)).any())

    def share(self, guarantee: Guarantee, delta: float) -> float:
        """How tight the price is at this delta: the computed epsilon divided by the claimed one, 1 where both are 0."""
        claimed = guarantee.epsilon(delta)
        return 1.0 if claimed == 0 else self.epsilon(delta) / claimed


def _allowed(guarantee: Guarantee, epsilons: Array) -> Array:
    """The claimed delta at every epsilon."""
    if guarantee.slack == 0:
        return guarantee.curve.deltas(epsilons)
    return np.array([guarantee.delta(float(eps)) for eps in epsilons])


def _spread(size: int) -> NDArray[np.int64]:
    """Places of at most 4,000 of `size` tests."""
    return np.unique(np.linspace(0, size - 1, min(size, 10 * _COMPARED)).astype(np.int64))
