"""Composition of curves, in one place: counts, merging, and the tightest sound route to an answer.

A composition is kept as a normal form (distinct curves with counts), so that k-fold equals k singles and the order of
addition cannot matter. Closed forms are used where they exist (Gaussian: sqrt of the sum of mu^2, also adaptively;
equal pure curves: the binomial formula of Kairouz, Oh and Viswanath 2015). Otherwise the smallest of several
upper bounds is taken: the Gaussian curve that covers all parts, the sum of Renyi curves, the sum of pure
epsilons, and the privacy loss distribution.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import CompositionError
from sfumato.privacy.convert import minimise_over_orders, renyi_to_delta, renyi_to_epsilon
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.loss_distribution import ComposedLoss, from_profile, loss_limit
from sfumato.privacy.metric import Metric
from sfumato.privacy.profiles import Profile
from sfumato.privacy.renyi import Renyi

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Dots per side of 0 for the part with the widest loss; the narrowest part gets at least a hundredth of its width.
_DOTS, _MOST_DOTS = 1000, 1 << 17
# Most points at which a profile is evaluated, one by one and all at once: an integral costs much more than a closed form.
_POINTS, _POINTS_AT_ONCE = 400, 4000


def compose(parts: Iterable[tuple[Curve, int]]) -> Curve:
    """Return the curve of releasing every part `count` times, in normal form."""
    checked = [(curve, _validate.whole("the number of releases", count, minimum=0)) for curve, count in parts]
    counted = [(curve, count) for whole, times in checked for curve, count in _parts_of(whole, times) if count > 0]
    if len(counted) == 1 and counted[0][1] == 1:
        return counted[0][0]
    metrics = [(curve, count) for curve, count in counted if isinstance(curve, Metric)]
    if metrics:
        return _compose_metrics(metrics, counted)
    gaussians = [(curve.mu, count) for curve, count in counted if isinstance(curve, Gaussian) and curve.mu > 0]
    merged: dict[Any, tuple[Curve, int]] = {}
    renyis: dict[tuple[float, ...], list[tuple[Renyi, int]]] = {}
    for curve, count in counted:
        if isinstance(curve, Gaussian) or _is_free(curve):
            continue
        if isinstance(curve, Renyi):
            renyis.setdefault(curve.orders, []).append((curve, count))
        else:
            merged[curve] = (curve, merged.get(curve, (curve, 0))[1] + count)
    total = list(merged.values())
    total += [(_sum_of_renyi(orders, items), 1) for orders, items in renyis.items()]
    if gaussians:
        total.append((_sum_of_gaussian(gaussians), 1))
    if not total:
        return Gaussian(0.0)
    if len(total) == 1 and total[0][1] == 1:
        return total[0][0]
    return Composed(tuple(sorted(total, key=lambda item: json.dumps(item[0].to_json(), sort_keys=True))))


def _parts_of(curve: Curve, times: int) -> list[tuple[Curve, int]]:
    if isinstance(curve, Composed):
        return [(inner, count * times) for inner, count in curve.parts]
    return [(curve, times)]


def _is_free(curve: Curve) -> bool:
    return isinstance(curve, (Pure, BoundedRange)) and curve.epsilon_value == 0


def _sum_of_gaussian(items: list[tuple[float, int]]) -> Gaussian:
    """Square root of the sum of count * mu^2, rounded up; `hypot` neither overflows nor underflows on the way."""
    if len(items) == 1 and items[0][1] == 1:
        return Gaussian(items[0][0])
    return Gaussian(
        math.nextafter(math.hypot(*(math.sqrt(count) * mu for mu, count in items)) * (1 + 8 * UNIT), math.inf)
    )


def _sum_of_renyi(orders: tuple[float, ...], items: list[tuple[Renyi, int]]) -> Renyi:
    if items == [(items[0][0], 1)]:
        return items[0][0]
    sums = [math.fsum(count * curve.values[i] for curve, count in items) for i in range(len(orders))]
    return Renyi(orders, [value if value == math.inf else value * (1 + 8 * UNIT) for value in sums])


def _compose_metrics(metrics: list[tuple[Metric, int]], counted: list[tuple[Curve, int]]) -> Metric:
    distances = {curve.distance for curve, _ in metrics}
    if len(metrics) < len(counted) or len(distances) > 1:
        others = "an ordinary curve" if len(metrics) < len(counted) else " and ".join(sorted(map(repr, distances)))
        raise CompositionError(
            f"a metric curve composes only with curves under the same distance; got {sorted(distances)[0]!r} and {others}. "
            "Use .within(rho) to turn each into an ordinary curve for data sets at distance at most rho."
        )
    epsilon = math.fsum(count * c.epsilon_value for c, count in metrics)
    delta = math.fsum(count * c.delta_value for c, count in metrics)
    return Metric(epsilon * (1 + 8 * UNIT), delta * (1 + 8 * UNIT), distances.pop())


@dataclass(frozen=True)
class Composed(Curve):
    """Several curves released about the same people; made by adding curves, never by hand."""

    parts: tuple[tuple[Curve, int], ...]
    kind = "composed"

    @property
    def floor(self) -> float:
        """The mass that no epsilon covers: at most the sum of the parts'."""
        return min(1.0, math.fsum(count * curve.floor for curve, count in self.parts))

    @property
    def mu(self) -> float | None:
        """The Gaussian curve that covers the whole, where every part has one."""
        values = [(curve.mu, count) for curve, count in self.parts]
        if any(value is None for value, _ in values):
            return None
        return math.hypot(*(math.sqrt(count) * value for value, count in values if value)) * (1 + 8 * UNIT)

    @property
    def composable_as_profile(self) -> bool:
        """True where every part's profile is known."""
        return all(curve.composable_as_profile for curve, _ in self.parts)

    @property
    def pure_total(self) -> float:
        """Sum of the pure epsilons; infinite if some part is not pure."""
        limits = [count * curve.renyi(math.inf) for curve, count in self.parts]
        return math.fsum(limits) * (1 + 8 * UNIT)

    def _delta(self, epsilon: float) -> float:
        if epsilon >= self.pure_total:
            return 0.0
        exact = self._equal_pure(epsilon)
        if exact is not None:
            return exact
        answers = [self._renyi_delta(epsilon)]
        if self.mu is not None:
            answers.append(Gaussian(self.mu).delta(epsilon))
        loss = _loss(self.parts) if self.composable_as_profile else None
        return min([*answers, 1.0 if loss is None else loss.delta(epsilon)])

    def _epsilon(self, delta: float) -> float:
        answers = [self.pure_total]
        if delta > 0:
            answers.append(minimise_over_orders(lambda a: renyi_to_epsilon(a, self.renyi(a), delta), self._orders))
            if self.mu is not None:
                answers.append(Gaussian(self.mu).epsilon(delta))
            loss = _loss(self.parts) if self.composable_as_profile else None
            answers.append(math.inf if loss is None else loss.epsilon(delta))
        return min(answers)

    def _renyi_delta(self, epsilon: float) -> float:
        return minimise_over_orders(lambda a: renyi_to_delta(a, self.renyi(a), epsilon), self._orders)

    @property
    def _orders(self) -> tuple[float, ...]:
        return tuple(sorted({order for curve, _ in self.parts if isinstance(curve, Renyi) for order in curve.orders}))

    def _equal_pure(self, epsilon: float) -> float | None:
        """Exact delta of k equal pure curves (composition of randomised response), where k is moderate."""
        curve, count = self.parts[0]
        if len(self.parts) > 1 or not isinstance(curve, Pure) or count > 2000:
            return None
        bound = curve.epsilon_value
        log_yes = -math.log1p(math.exp(-bound))
        log_no = log_yes - bound
        terms = []
        for j in range(count // 2 + 1):
            loss = (count - 2 * j) * bound * (1 + 4 * UNIT)  # rounded up: next to eps a rounding is all there is
            if loss <= epsilon:
                break
            log_choose = math.lgamma(count + 1) - math.lgamma(j + 1) - math.lgamma(count - j + 1)
            weight = math.exp(log_choose + (count - j) * log_yes + j * log_no)
            terms.append(weight * -math.expm1(epsilon - loss))
        return min(1.0, math.fsum(terms) * (1 + 1e-11) + (5e-324 if terms else 0.0))

    def _renyi(self, order: float) -> float:
        return math.fsum(count * curve.renyi(order) for curve, count in self.parts) * (1 + 8 * UNIT)

    def to_json(self) -> dict[str, Any]:
        """{"curve": "composed", "parts": [{"count": k, "part": {...}}, ...]}; of pure parts also their summed "epsilon"."""
        pure = {"epsilon": self.pure_total} if self.pure_total < math.inf else {}
        return {"curve": self.kind, "parts": [{"count": n, "part": c.to_json()} for c, n in self.parts], **pure}

    def __repr__(self) -> str:
        return " + ".join(f"{count} * {curve!r}" if count > 1 else repr(curve) for curve, count in self.parts)


@lru_cache(maxsize=32)
def _loss(parts: tuple[tuple[Curve, int], ...]) -> ComposedLoss | None:
    """Privacy loss distribution of the composition on one grid; None where no grid is long and fine enough for all."""
    limits = [loss_limit(curve.delta, curve.floor) for curve, _ in parts]
    if max(limits) >= 1e5 or any(curve.floor >= 1 for curve, _ in parts):
        return None
    interval = max(min(limits) / _DOTS, max(limits) / _MOST_DOTS)
    built = []
    for (curve, count), limit in zip(parts, limits, strict=True):
        values = _deltas_on_grid(curve, interval, math.ceil(limit / interval - 1e-9))
        built.append((from_profile(values, values, interval), count))
    return ComposedLoss(built)


def _deltas_on_grid(curve: Curve, interval: float, top: int) -> NDArray[np.float64]:
    """Delta at 0, interval, ..., top * interval; a costly profile is evaluated at some of them and its chords are used.

    Between two points a profile lies below its chord in exp(eps), so the chord is an upper bound at every dot.
    """
    import numpy as np

    grid = interval * np.arange(top + 1, dtype=np.float64)
    points = _POINTS_AT_ONCE if isinstance(curve, Profile) and curve.answers_at_once else _POINTS
    if not isinstance(curve, Profile) or top <= points:
        return curve.deltas(grid)
    places = np.unique(np.round(np.linspace(0, top, points + 1)).astype(int))
    known = curve.deltas(grid[places])
    right = np.searchsorted(places, np.arange(top + 1)).clip(1)
    e0, e1, d0, d1 = grid[places[right - 1]], grid[places[right]], known[right - 1], known[right]
    share = (np.exp(grid - e1) - np.exp(e0 - e1)) / -np.expm1(e0 - e1)
    chords: NDArray[np.float64] = np.minimum(1.0, (d0 + (d1 - d0) * share) * (1 + 1e-14))
    return chords
