"""The three currencies in which adaptive filters are proved: Gaussian, zero-concentrated, Renyi at one fixed order.

Each converts a promise (epsilon, delta) to a cap, a curve to a cost, a cost to units and to an epsilon, and what is left to
a curve. Every rounding is to the private side.
Proofs: docs/proofs/ledger.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeGuard

from sfumato.errors import ArgumentError, ChargeRefused
from sfumato.ledger.terms import Terms
from sfumato.ledger.units import UNITS, ceiling_of, float_above, float_below, root_above, root_below
from sfumato.privacy.compose import Composed
from sfumato.privacy.convert import minimise_over_orders, renyi_to_epsilon
from sfumato.privacy.cover import covering_mu
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian
from sfumato.privacy.gaussian_tail import gaussian_delta, gaussian_epsilon, gaussian_mu
from sfumato.privacy.profiles import Profile, number
from sfumato.privacy.renyi import Renyi


class Currency(Protocol):
    """The conversions that a ledger needs of its currency."""

    word: str

    def cap(self, terms: Terms) -> float:
        """Largest amount that may be spent in all without breaking the promise, rounded down; raises where there is none."""

    def cost(self, curve: Curve, terms: Terms, delta0: float) -> tuple[float, float]:
        """(amount, reveal probability) that covers the curve; raises ChargeRefused where none does."""

    def units(self, amount: float, cap: float) -> int:
        """Units that an amount takes from the cap, at least 1."""

    def amount(self, units: int, cap: float) -> float:
        """The amount of so many units, rounded up."""

    def epsilon(self, amount: float, delta0: float, core: Fraction, terms: Terms) -> float:
        """Smallest epsilon that the amount and reveal probability keep within `core`; infinite where there is none."""

    def remaining(self, left: int, cap: float, delta0: float, terms: Terms) -> Curve:
        """The curve of `left` units and one allotment of reveal probability; charging it fits exactly once."""


class GaussianCurrency:
    """sum mu_i^2 <= mu_B^2 and sum delta0_i <= slack delta (arXiv 2210.17520 with reveals; docs/proofs/ledger.md)."""

    word = "mu"

    def cap(self, terms: Terms) -> float:
        """Largest mu_B with s + (1 - s) delta_mu(epsilon) + (1 + e^epsilon) tv <= delta, s = slack delta."""
        room = (terms.core(terms.tv, terms.epsilon) - terms.reveal) / (1 - terms.reveal)
        return gaussian_mu(terms.epsilon, float_below(room)) if room > 0 else 0.0

    def cost(self, curve: Curve, terms: Terms, delta0: float) -> tuple[float, float]:
        """The curve's own mu, or the smallest one that covers it up to `delta0` (`gaussian_cost`)."""
        mu, reveal = gaussian_cost(curve, delta0)
        if mu is None and delta0 == 0:
            raise ChargeRefused(
                f"{curve!r} has no mu, so it can only be charged up to a reveal probability, and none may be used here "
                "(slack=0 or delta0=0). Register with a slack, or keep a 'renyi' ledger."
            )
        if mu is None:
            raise ChargeRefused(
                f"no Gaussian covers {curve!r} up to a reveal probability of {delta0:.3g}: its profile is unknown or "
                f"leaves more than that at every epsilon. Give charge(..., delta0=...) a larger share of "
                f"{float(terms.reveal):.3g}, or keep a 'renyi' ledger at an order where the curve is finite."
            )
        return mu, reveal

    def units(self, amount: float, cap: float) -> int:
        """ceil(mu^2 / mu_B^2 10^18)."""
        return max(1, ceiling_of(Fraction(amount) ** 2, Fraction(cap) ** 2))

    def amount(self, units: int, cap: float) -> float:
        """Root of the share of mu_B^2."""
        return root_above(Fraction(cap) ** 2 * units / UNITS)

    def epsilon(self, amount: float, delta0: float, core: Fraction, terms: Terms) -> float:
        """Smallest epsilon with delta0 + (1 - delta0) delta_mu(epsilon) <= core."""
        reveal = Fraction(delta0)
        room = float_below((core - reveal) / (1 - reveal)) if reveal < 1 else 0.0
        if room <= 0:
            return math.inf
        epsilon = gaussian_epsilon(room, amount)
        # The cap was tested at the registered epsilon: rounding must not lift the epsilon of a full cap above it.
        return terms.epsilon if epsilon > terms.epsilon and gaussian_delta(terms.epsilon, amount) <= room else epsilon

    def remaining(self, left: int, cap: float, delta0: float, terms: Terms) -> Curve:
        """Profile "revealing-gaussian"."""
        mu = root_below(Fraction(cap) ** 2 * left / UNITS)
        return Profile("revealing-gaussian", {"mu": mu, "delta": delta0 if mu > 0 else 0.0})


class _AdditiveCurrency(ABC):
    """A currency whose amounts add: sum a_i <= a_B (Feldman and Zrnic 2021). `converted` gives the epsilon of an amount."""

    @abstractmethod
    def converted(self, amount: float, room: float, terms: Terms) -> float:
        """Epsilon of a positive amount at delta = `room`."""

    def cap(self, terms: Terms) -> float:
        """Largest a_B that converts to (epsilon, delta); 0 where even a free release does not."""
        room = terms.core(terms.tv, terms.epsilon)
        return _largest(lambda amount: self.epsilon(amount, 0.0, room, terms) <= terms.epsilon, terms.epsilon)

    def units(self, amount: float, cap: float) -> int:
        """ceil(a / a_B 10^18)."""
        return max(1, ceiling_of(Fraction(amount), Fraction(cap)))

    def amount(self, units: int, cap: float) -> float:
        """The share of a_B."""
        return float_above(Fraction(cap) * units / UNITS)

    def epsilon(self, amount: float, delta0: float, core: Fraction, terms: Terms) -> float:
        """The conversion at delta = core; an amount of 0 has epsilon 0."""
        room = float_below(core)
        if amount == 0 or room <= 0:
            return 0.0 if room > 0 else math.inf
        return self.converted(amount, room, terms)


class ConcentratedCurrency(_AdditiveCurrency):
    """sum rho_i <= rho_B (Feldman and Zrnic 2021 at every order at once)."""

    word = "rho"

    def converted(self, amount: float, room: float, terms: Terms) -> float:
        """Smallest epsilon over all orders."""
        return minimise_over_orders(lambda a: renyi_to_epsilon(a, math.nextafter(a * amount, math.inf), room))

    def cost(self, curve: Curve, terms: Terms, delta0: float) -> tuple[float, float]:
        """The smallest rho known for the curve."""
        rho = concentrated(curve)
        if rho is None:
            raise ChargeRefused(
                f"{curve!r} has no rho: its Renyi divergence is not known, or not finite, at every order. "
                "Keep a 'gdp' ledger (with slack), or a 'renyi' ledger at an order where the curve is finite."
            )
        return float_above(rho), 0.0

    def remaining(self, left: int, cap: float, delta0: float, terms: Terms) -> Curve:
        """Gaussian with mu = sqrt(2 rho), stepped down until its own charge fits."""
        mu = root_below(2 * Fraction(cap) * left / UNITS)
        while mu > 0 and self.units(float_above(Fraction(mu) ** 2 / 2), cap) > left:
            mu = math.nextafter(mu, 0.0)
        return Gaussian(mu)


class RenyiCurrency(_AdditiveCurrency):
    """sum D_a <= tau_B at the one order a fixed at registration (Feldman and Zrnic 2021)."""

    word = "renyi"

    def converted(self, amount: float, room: float, terms: Terms) -> float:
        """The conversion at the registered order."""
        return renyi_to_epsilon(_order(terms), amount, room)

    def cost(self, curve: Curve, terms: Terms, delta0: float) -> tuple[float, float]:
        """The Renyi divergence at the registered order."""
        divergence = curve.renyi(_order(terms))
        if divergence == math.inf:
            raise ChargeRefused(
                f"{curve!r} has no finite Renyi divergence at the registered order {terms.order:g}. "
                "Keep a 'gdp' ledger (with slack), or register a lower order."
            )
        return divergence, 0.0

    def remaining(self, left: int, cap: float, delta0: float, terms: Terms) -> Curve:
        """Renyi at the registered order alone."""
        return Renyi([_order(terms)], [float_below(Fraction(cap) * left / UNITS)])


# By the names that `Terms.currency` accepts.
BY_NAME: dict[str, Currency] = {"gdp": GaussianCurrency(), "zcdp": ConcentratedCurrency(), "renyi": RenyiCurrency()}


def gaussian_cost(curve: Curve, delta0: float) -> tuple[float | None, float]:
    """(mu, reveal probability) of a curve in a gdp ledger; mu is None where no Gaussian covers it up to `delta0`.

    In this order: the curve's own mu; the pair of a revealing Gaussian; the smallest mu that covers the curve up to delta0.
    """
    if curve.mu is not None:
        return curve.mu, 0.0
    if _revealing(curve):
        return number(curve.parameters["mu"]), number(curve.parameters["delta"])
    return (covering_mu(curve, delta0) if 0 < delta0 < 1 else None), delta0


def _revealing(curve: Curve) -> TypeGuard[Profile]:
    return isinstance(curve, Profile) and curve.name == "revealing-gaussian"


def searched(curve: Curve, currency: str) -> bool:
    """Whether the cost of the curve takes a search: that for the smallest mu that covers it."""
    return currency == "gdp" and curve.mu is None and not _revealing(curve)


def concentrated(curve: Curve) -> Fraction | None:
    """Smallest rho known to make the curve rho-zCDP, or None.

    mu-GDP gives mu^2/2; a pure bound eps gives eps^2/2 (Bun and Steinke 2016); a range bound gives eps^2/8 (Cesar and
    Rogers 2021); parts add.
    """
    known: list[Fraction] = []
    if curve.mu is not None:
        known.append(Fraction(curve.mu) ** 2 / 2)
    if isinstance(curve, Composed):
        parts = [(concentrated(part), count) for part, count in curve.parts]
        if all(rho is not None for rho, _ in parts):
            known.append(sum((rho * count for rho, count in parts if rho is not None), Fraction(0)))
        return min(known, default=None)
    limit = curve.renyi(math.inf)
    if limit < math.inf:
        known.append(Fraction(limit) ** 2 / (8 if isinstance(curve, BoundedRange) else 2))
    return min(known, default=None)


def cap_of(terms: Terms) -> float:
    """The cap of a registration; raises where the promise leaves nothing to spend."""
    cap = BY_NAME[terms.currency].cap(terms)
    # Squares of a cap must neither overflow nor lose digits in float64.
    if not 1e-150 < cap < 1e150:
        where = "at this order " if terms.currency == "renyi" else ""
        raise ArgumentError(
            f"the promise ({terms.epsilon:g}, {terms.delta:g}) leaves nothing {where}to spend after slack={terms.slack:g} "
            f"and tv={terms.tv:g}: (1 + e^epsilon) tv must stay below (1 - slack) delta, and a Renyi order must be large "
            "enough that a free release meets the promise. Lower tv or slack, or raise the order, epsilon or delta."
        )
    return cap


def _order(terms: Terms) -> float:
    if terms.order is None:
        raise ArgumentError("a 'renyi' ledger must have an order; got None.")
    return terms.order


def _largest(holds: Callable[[float], bool], start: float) -> float:
    """Largest amount at which `holds` is true, by doubling and bisection; 0 if there is none. The result was itself tested."""
    low, high = 0.0, start
    while holds(high) and high < 1e300:
        low, high = high, 2.0 * high
    # Halving 1 down to the smallest float takes 1,074 steps.
    for _ in range(1200):
        middle = low + 0.5 * (high - low)
        if middle in (low, high) or high - low <= 1e-15 * high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
