"""Profiles: curves given by delta(eps) itself, registered by name so that they can be stored and recomputed.

A registered profile is a name and a few public parameters; its mathematics lives in one table here, so a saved
guarantee is recomputed and never trusted. `Profile.from_function` tabulates a user's own profile.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.privacy.curves import Curve, Pure
from sfumato.privacy.gaussian_tail import UNIT, bisect_down, gaussian_delta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Value = float | int | tuple[float, ...]
Parameters = Mapping[str, Value]


@dataclass(frozen=True)
class Registered:
    """A named profile. `delta` takes eps >= 0, `deltas` many of them at once; `check` refuses impossible parameters."""

    check: Callable[[Parameters], None]
    delta: Callable[[Parameters, float], float]
    renyi: Callable[[Parameters, float], float]
    sentence: Callable[[Parameters], str]
    deltas: Callable[[Parameters, NDArray[np.float64]], NDArray[np.float64]] | None = None
    floor: Callable[[Parameters], float] = lambda parameters: 0.0


def _lookup(name: str) -> Registered:
    """The named profile; those of posterior draws are in their own module, which is imported at the first use of one."""
    if name in _BASIC:
        return _BASIC[name]
    from sfumato.privacy.posterior_profiles import REGISTERED

    if name not in REGISTERED:
        known = ", ".join(sorted([*_BASIC, *REGISTERED]))
        raise FormatError(f"profile name must be one of {known}; got {name!r}.")
    return REGISTERED[name]


@dataclass(frozen=True)
class Profile(Curve):
    """A registered exact profile: `name` picks the mathematics, `parameters` are its public numbers."""

    name: str
    items: tuple[tuple[str, Value], ...]
    kind = "profile"

    def __init__(self, name: str, parameters: Parameters) -> None:
        plain = {
            key: tuple(_validate.real(key, v) for v in value) if isinstance(value, (list, tuple)) else value
            for key, value in parameters.items()
        }
        _lookup(name).check(plain)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "items", tuple(sorted(plain.items())))

    @classmethod
    def from_function(cls, delta_fn: Callable[[float], float], epsilons: Iterable[float]) -> Profile:
        """Tabulate delta(eps) of your own mechanism at the listed epsilons (ascending, the first may be 0).

        `delta_fn` must already be the maximum over ordered neighbouring pairs. Between the points the chord in exp(eps)
        is used, which lies above every true profile; a table that no profile can have is refused.
        """
        grid = sorted(float(e) for e in epsilons)
        return cls("tabulated", {"epsilons": tuple(grid), "deltas": tuple(float(delta_fn(e)) for e in grid)})

    @property
    def parameters(self) -> dict[str, Value]:
        """The public numbers of this profile."""
        return dict(self.items)

    @property
    def floor(self) -> float:
        """The mass that no epsilon covers."""
        return _lookup(self.name).floor(self.parameters)

    @property
    def answers_at_once(self) -> bool:
        """Whether many epsilons cost little more than one; where not, composition evaluates fewer points."""
        return _lookup(self.name).deltas is not None

    def deltas(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """`delta` for an array of non-negative epsilons."""
        many = _lookup(self.name).deltas
        return super().deltas(epsilons) if many is None else many(self.parameters, epsilons)

    def _delta(self, epsilon: float) -> float:
        return _lookup(self.name).delta(self.parameters, epsilon)

    def _epsilon(self, delta: float) -> float:
        if self._delta(0.0) <= delta:
            return 0.0
        if self.floor > delta or delta <= 0:
            pure = self.renyi(math.inf)
            return pure if pure < math.inf and self._delta(pure) <= delta else math.inf
        upper = 1.0
        while self._delta(upper) > delta:
            if upper > 1e6:
                return math.inf
            upper *= 2.0
        return bisect_down(lambda eps: self._delta(eps) <= delta, 0.0, upper, relative=1e-13)

    def _renyi(self, order: float) -> float:
        return _lookup(self.name).renyi(self.parameters, order)

    def to_json(self) -> dict[str, Any]:
        """{"curve": "profile", "name": ..., "parameters": {...}}."""
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in self.items}
        return {"curve": self.kind, "name": self.name, "parameters": plain}

    def __str__(self) -> str:
        return _lookup(self.name).sentence(self.parameters)

    def __repr__(self) -> str:
        return f"Profile({self.name!r}, {self.parameters!r})"


def require_keys(name: str, parameters: Parameters, keys: Iterable[str]) -> None:
    """Refuse a profile whose parameters are not exactly `keys`."""
    expected = set(keys)
    if set(parameters) != expected:
        raise ArgumentError(
            f"profile {name!r} takes exactly the parameters {', '.join(sorted(expected))}; got {', '.join(sorted(parameters))}."
        )


def takes(
    name: str, optional: tuple[str, ...] = (), **rules: Callable[[str, Value], object]
) -> Callable[[Parameters], None]:
    """A check that the parameters of a profile are exactly these, the optional ones aside, each within its rule."""

    def check(parameters: Parameters) -> None:
        require_keys(name, parameters, (key for key in rules if key in parameters or key not in optional))
        for key, value in parameters.items():
            rules[key](key, value)

    return check


def number(value: Value) -> float:
    """Return a scalar parameter as a float."""
    if isinstance(value, tuple):
        raise ArgumentError(f"this profile parameter must be one number; got {value!r}.")
    return float(value)


# --- (eps, delta) by itself: reveal with probability delta, else randomised response -------------------------------


def _approximate_delta(parameters: Parameters, epsilon: float) -> float:
    delta = number(parameters["delta"])
    inner = Pure(number(parameters["epsilon"])).delta(epsilon)
    return delta if inner == 0 else min(1.0, (delta + (1.0 - delta) * inner) * (1 + 4 * UNIT))


def _approximate_renyi(parameters: Parameters, order: float) -> float:
    return Pure(number(parameters["epsilon"])).renyi(order) if parameters["delta"] == 0 else math.inf


# --- reveal with probability delta, else a mu-Gaussian: what a ledger has left ---------------------------------------


def _revealing_delta(parameters: Parameters, epsilon: float) -> float:
    reveal = number(parameters["delta"])
    return min(1.0, (reveal + (1.0 - reveal) * gaussian_delta(epsilon, number(parameters["mu"]))) * (1 + 4 * UNIT))


def _revealing_renyi(parameters: Parameters, order: float) -> float:
    mu = number(parameters["mu"])
    if parameters["delta"] != 0:
        return math.inf
    return 0.0 if mu == 0 else 0.5 * order * mu * mu * (1 + 4 * UNIT)


# --- a user's table ------------------------------------------------------------------------------------------------


def _tables(parameters: Parameters) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The listed epsilons and deltas."""
    epsilons, deltas = parameters["epsilons"], parameters["deltas"]
    if not isinstance(epsilons, tuple) or not isinstance(deltas, tuple) or len(epsilons) != len(deltas) or not deltas:
        raise ArgumentError("epsilons and deltas must be lists of the same length, at least 1.")
    return epsilons, deltas


def _check_tabulated(parameters: Parameters) -> None:
    require_keys("tabulated", parameters, ("epsilons", "deltas"))
    epsilons, deltas = _tables(parameters)
    if not 0 <= epsilons[0] < math.inf or not epsilons[-1] < math.inf or any(not b > a for a, b in pairwise(epsilons)):
        raise ArgumentError("epsilons must ascend strictly from 0 or more and be finite.")
    if any(not 0 <= d <= 1 for d in deltas):
        raise ArgumentError(f"deltas must all lie in [0, 1]; got {min(deltas)!r} to {max(deltas)!r}.")
    falls = all(b <= a * (1 + 1e-12) for a, b in pairwise(deltas))
    inner = zip(pairwise(zip(epsilons, deltas, strict=True)), zip(epsilons[2:], deltas[2:], strict=True), strict=False)
    bends = all(d1 <= _chord(e0, d0, e2, d2, e1) * (1 + 1e-9) + 1e-15 for ((e0, d0), (e1, d1)), (e2, d2) in inner)
    first = len(deltas) < 2 or deltas[0] <= _from_certainty(epsilons[1], deltas[1], epsilons[0]) * (1 + 1e-9) + 1e-15
    if not (falls and bends and first):
        raise ArgumentError(
            "deltas must fall and be convex in exp(epsilon), as every privacy profile is; this table is neither a "
            "profile nor a bound that can be composed. Pass the maximum over both directions, rounded up."
        )


def _chord(e0: float, d0: float, e1: float, d1: float, epsilon: float) -> float:
    """The chord in exp(eps) of two points, between them, in exponentials that cannot overflow."""
    share = math.exp(epsilon - e1) * math.expm1(e0 - epsilon) / math.expm1(e0 - e1) if epsilon > e0 else 0.0
    return d0 + (d1 - d0) * share


def _from_certainty(e1: float, d1: float, epsilon: float) -> float:
    """The chord from (exp(-inf), 1), where every profile starts."""
    return 1.0 + (d1 - 1.0) * math.exp(epsilon - e1)


def _tabulated_delta(parameters: Parameters, epsilon: float) -> float:
    epsilons, deltas = _tables(parameters)
    if epsilon >= epsilons[-1]:
        return deltas[-1]
    if epsilon <= epsilons[0]:
        return min(1.0, _from_certainty(epsilons[0], deltas[0], epsilon) * (1 + 16 * UNIT))
    high = bisect_left(epsilons, epsilon)
    value = _chord(epsilons[high - 1], deltas[high - 1], epsilons[high], deltas[high], epsilon)
    return min(1.0, value + 16 * UNIT * deltas[high - 1])


def _tabulated_renyi(parameters: Parameters, order: float) -> float:
    """Renyi divergence of the discrete pair that the connected dots describe; infinite if mass is left at the end."""
    epsilons, deltas = _tables(parameters)
    return math.inf if deltas[-1] > 0 else min(epsilons[-1], Pure(epsilons[-1]).renyi(order))


_BASIC: dict[str, Registered] = {
    "approximate": Registered(
        takes("approximate", epsilon=_validate.non_negative, delta=_validate.probability),
        _approximate_delta,
        _approximate_renyi,
        lambda p: f"({number(p['epsilon'])!r}, {number(p['delta'])!r})-differential privacy",
        floor=lambda p: number(p["delta"]),
    ),
    "revealing-gaussian": Registered(
        takes("revealing-gaussian", mu=_validate.non_negative, delta=_validate.probability),
        _revealing_delta,
        _revealing_renyi,
        lambda p: f"{number(p['mu']):.6g}-Gaussian differential privacy but for probability {number(p['delta']):.3g}",
        floor=lambda p: number(p["delta"]),
    ),
    "tabulated": Registered(
        _check_tabulated,
        _tabulated_delta,
        _tabulated_renyi,
        lambda p: f"a tabulated profile of {len(_tables(p)[0])} points",
        floor=lambda p: _tables(p)[1][-1],
    ),
}
