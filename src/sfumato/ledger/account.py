"""The filter: one account per registered name, and the only place where a charge is admitted or refused.

A charge is admitted if three integer sums stay within 10^18 units: the currency's own, the reveal probability and the
total-variation allowance. The promise is the registered cap, whatever is spent and however adaptively.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError, ChargeRefused, LedgerExhausted
from sfumato.ledger.currency import BY_NAME, Currency, searched
from sfumato.ledger.terms import PARTS, Terms
from sfumato.ledger.units import SMALLEST, UNITS, ceiling_of, check_amount, float_above
from sfumato.privacy.curves import Curve, Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.privacy.neighbours import REPLACE_ONE, REPLACE_PERSON

# The other values of `trust`, "assumes converged" and "not private", are no proved guarantee, which the filter requires.
CHARGEABLE = ("proved", "proved with slack")
# Relative difference of one number computed on two machines: they round otherwise, and the search for a covering Gaussian stops
# at 1e-9 (`privacy.cover`). No budget is noticeably larger for it.
ROUNDING = 1e-8


@dataclass(frozen=True)
class Price:
    """The price of one charge: an amount of the currency, a reveal probability and a total-variation distance."""

    amount: float
    delta0: float
    tv: float
    units: int
    delta0_units: int
    tv_units: int

    def to_json(self) -> dict[str, Any]:
        """Return the plain document of this price."""
        return dict(vars(self))


@dataclass(frozen=True)
class Account:
    """The terms registered under a name, and how many units are spent."""

    name: str
    terms: Terms
    cap: float
    # Spent units of the currency, of the reveal probability and of the total-variation allowance.
    units: int = 0
    delta0_units: int = 0
    tv_units: int = 0
    charges: int = 0

    @property
    def currency(self) -> Currency:
        """The currency of the account."""
        return BY_NAME[self.terms.currency]

    # --- pricing: public numbers only, so it is done before the ledger is locked ------------------------------------

    def price(self, guarantee: Guarantee, delta0: float | None = None) -> Price:
        """Return the price of the guarantee, or raise ChargeRefused; `delta0` replaces the default allotment."""
        return self._price(guarantee, delta0, None, False)

    def price_again(self, guarantee: Guarantee, delta0: float | None, recorded: float, seen: bool) -> Price:
        """The price of a recorded charge, computed again: with the recorded amount only where rounding can have made it.

        A row that the witness has `seen` was computed again when it was; the search for a covering Gaussian, which takes longer
        than everything else together, is not repeated for it.
        """
        return self._price(guarantee, delta0, float(recorded), seen)

    def _price(self, guarantee: Guarantee, delta0: float | None, recorded: float | None, seen: bool) -> Price:
        self._refuse_unchargeable(guarantee)
        share = self.terms.allotment if delta0 is None else _validate.probability("delta0", delta0)
        if delta0 is not None and Fraction(share) > self.terms.reveal:
            raise ArgumentError(
                f"delta0 must be at most the {float(self.terms.reveal):.3g} set aside at registration; got {share!r}."
            )
        if recorded is not None and seen and searched(guarantee.curve, self.terms.currency):
            amount, reveal = recorded, share
        else:
            amount, reveal = _cost(guarantee.curve, self.terms, share)
        if recorded is not None and math.isclose(recorded, amount, rel_tol=ROUNDING):
            amount = recorded
        # A charge may consist of a reveal probability alone; any other amount must be positive.
        if not (amount == 0 and reveal > 0):
            check_amount(self.currency.word, amount)
        return self.of_amounts(amount, reveal, guarantee.slack)

    def of_amounts(self, amount: float, reveal: float, tv: float) -> Price:
        """The price of these amounts, with their units."""
        for what, value in (("the reveal probability", reveal), ("the total-variation slack", tv)):
            if value != 0:
                check_amount(what, value)
        if reveal > 0 and self.terms.reveal == 0:
            raise ChargeRefused(
                f"a reveal probability of {reveal:.3g} needs a slack at registration; this one has none."
            )
        if tv > 0 and self.terms.tv == 0:
            raise ChargeRefused(
                f"the guarantee has total-variation slack {tv:.3g}, and {self.name!r} was registered with tv=0. "
                "Neither GDP nor Renyi survives such slack: register with a total-variation allowance, or use an exact sampler."
            )
        return Price(
            amount,
            reveal,
            tv,
            self.currency.units(amount, self.cap),
            ceiling_of(Fraction(reveal), self.terms.reveal) if reveal else 0,
            ceiling_of(Fraction(tv), Fraction(self.terms.tv)) if tv else 0,
        )

    def _refuse_unchargeable(self, guarantee: Guarantee) -> None:
        if isinstance(guarantee.curve, Metric):
            raise ChargeRefused(
                "a guarantee under a distance between data sets cannot be charged: the ledger counts neighbours. "
                "Charge curve.within(rho) for the distance that one neighbour moves."
            )
        if guarantee.trust not in CHARGEABLE:
            raise ChargeRefused(
                f"trust must be {' or '.join(map(repr, CHARGEABLE))} to be charged; got {guarantee.trust!r}. "
                "What is not proved does not become so by being counted."
            )
        for what, own, other in (
            ("adjacency", self.terms.adjacency, guarantee.adjacency),
            ("unit", self.terms.unit, guarantee.unit),
            ("id column", self.terms.id_column or "", guarantee.id_column),
        ):
            if own != other:
                raise ChargeRefused(self._other_neighbours(what, own, other, guarantee))

    def _other_neighbours(self, what: str, own: str, other: str, guarantee: Guarantee) -> str:
        """The refusal of a guarantee for other neighbours than the registered ones, with what to do."""
        must = f"{what} must be {own!r}, as {self.name!r} was registered; got {other!r}."
        if (own, other) == (REPLACE_ONE, REPLACE_PERSON):
            unit, rows = guarantee.unit, guarantee.rows
            return (
                f"{self.name!r} was registered for single rows, and one {unit} of this schema may have several {rows}: {must} "
                f"Register a name for every {unit} with all of their {rows}, with --unit {unit!r} --persons "
                f"{guarantee.id_column!r} (unit= and id_column= in Python), and charge that; what was charged to {self.name!r} is "
                "no part of its promise."
            )
        if (own, other) == (REPLACE_PERSON, REPLACE_ONE):
            return (
                f"{self.name!r} was registered for every {self.terms.unit} with all of their rows: {must} Declare [persons] in the "
                f"schema, with id = {self.terms.id_column!r} (persons=schema.persons in a plan)."
            )
        return (
            f"{must} Say the same in the schema (unit and persons, or --unit and --persons when registering): a second name for "
            "the same people would be a second promise, and a promise about rows is none about persons."
        )

    # --- the filter ---------------------------------------------------------------------------------------------------

    def admits(self, price: Price) -> bool:
        """Whether all three sums stay within the cap."""
        return (
            self.units + price.units <= UNITS
            and self.delta0_units + price.delta0_units <= UNITS
            and self.tv_units + price.tv_units <= UNITS
        )

    def plus(self, price: Price) -> Account:
        """Return the account after the charge, or raise LedgerExhausted."""
        if not self.admits(price):
            raise self.exhausted(price)
        return replace(
            self,
            units=self.units + price.units,
            delta0_units=self.delta0_units + price.delta0_units,
            tv_units=self.tv_units + price.tv_units,
            charges=self.charges + 1,
        )

    def exhausted(self, price: Price) -> LedgerExhausted:
        """The error for a price that is not admitted, with the epsilons spent, requested and left."""
        spent, left = self.epsilon(), self.epsilon_left()
        asked = self._epsilon(price.amount, price.delta0, price.tv)
        delta = self.terms.delta
        return LedgerExhausted(
            f"{self.name!r}: the charge does not fit. Spent epsilon {shown(spent)} of {self.terms.epsilon:g}, requested "
            f"{shown(asked)}, remaining {shown_down(left)} (each at delta {delta:g}; {self.terms.currency} amounts do not add "
            f"as epsilons do).{self._why(price)} Nothing was charged. Plan for less: "
            f"sf.plan(target=ledger.remaining({self.name!r})).",
            spent,
            asked,
            left,
        )

    def _why(self, price: Price) -> str:
        """A sentence on what else is exceeded or nearly so: slack, reveal probability or total variation."""
        over = self.units + price.units - UNITS
        if 0 < over < UNITS // 50 and self.terms.slack > 0:
            return (
                f" It is too much by {max(over / UNITS, 1e-4):.2%} of the budget: {self.terms.slack:.0%} of delta is set aside for "
                "curves without a mu of their own (slack=0 sets nothing aside)."
            )
        if over > 0:
            return ""
        if self.delta0_units + price.delta0_units > UNITS:
            return (
                f" Of the reveal probability {float(self.terms.reveal):.3g} set aside at registration "
                f"{shown_down(self.delta0_left)} is left, and the charge takes {shown(price.delta0)}: curves without a mu of "
                f"their own take 1/{PARTS} of it each unless charge(..., delta0=...) says otherwise."
            )
        return f" Of the total-variation allowance {self.terms.tv:.3g} the charge takes {shown(price.tv)}, which is too much."

    # --- spent and remaining amounts ----------------------------------------------------------------------------------

    @property
    def amount(self) -> float:
        """The amount spent, rounded up."""
        return self.currency.amount(self.units, self.cap) if self.units else 0.0

    @property
    def delta0(self) -> float:
        """The reveal probability spent, rounded up."""
        return float_above(self.terms.reveal * self.delta0_units / UNITS)

    @property
    def delta0_left(self) -> float:
        """The reveal probability left, as a float."""
        return float(self.terms.reveal * (UNITS - self.delta0_units) / UNITS)

    @property
    def tv(self) -> float:
        """The total-variation distance spent, rounded up."""
        return float_above(Fraction(self.terms.tv) * self.tv_units / UNITS)

    def epsilon(self) -> float:
        """Epsilon spent so far at the registered delta. Information: the promise is the cap."""
        return self._epsilon(self.amount, self.delta0, self.tv) if self.charges else 0.0

    def epsilon_left(self) -> float:
        """Epsilon of the whole remaining budget at the registered delta."""
        left = UNITS - self.units
        if not left:
            return 0.0
        return min(self.terms.epsilon, self._epsilon(self.currency.amount(left, self.cap), self.delta0_left, 0.0))

    def remaining(self) -> Curve:
        """Return the curve of the remaining budget; a plan for it can be charged once."""
        share = self.terms.allotment
        fits = share > 0 and self.delta0_units + ceiling_of(Fraction(share), self.terms.reveal) <= UNITS
        return self.currency.remaining(UNITS - self.units, self.cap, share if fits else 0.0, self.terms)

    def _epsilon(self, amount: float, delta0: float, tv: float) -> float:
        """Epsilon at the registered delta less (1 + e^level) tv, for the first `level` tried that is at least that epsilon."""
        level = self.terms.epsilon
        # The level grows to the epsilon that it yields; where delta is used up, the currency returns infinity.
        for _ in range(64):
            epsilon = self.currency.epsilon(amount, delta0, self.terms.core(tv, level), self.terms)
            if epsilon <= level or tv == 0:
                return epsilon
            level = epsilon * 1.001
        return math.inf


@lru_cache(maxsize=1024)
def _cost(curve: Curve, terms: Terms, share: float) -> tuple[float, float]:
    """The currency's cost of a curve that protects somebody, kept: the same one is charged, and read again, many times."""
    if _vacuous(curve):
        raise ChargeRefused(
            f"{curve!r} is vacuous: its delta is 1 at every epsilon up to 100. It protects nobody and cannot be charged."
        )
    return BY_NAME[terms.currency].cost(curve, terms, share)


def _vacuous(curve: Curve) -> bool:
    """Whether delta is 1 at epsilon 100; of the covering Gaussian where there is one, since that is quick to compute."""
    mu = curve.mu
    if mu is None:
        return curve.delta(100.0) >= 1
    return SMALLEST <= mu < math.inf and Gaussian(mu).delta(100.0) >= 1


def shown(value: float, rounding: str = ROUND_CEILING) -> str:
    """Four significant digits, rounded up, so that a spent amount is never printed too small."""
    if value in (0.0, math.inf):
        return "0" if value == 0 else "infinity"
    # Twelve digits first, so that the last bit of a root does not show 0.1 as 0.1001.
    digits = Context(prec=12).create_decimal(Decimal(value))
    return f"{float(Context(prec=4, rounding=rounding).create_decimal(digits)):.4g}"


def shown_down(value: float) -> str:
    """Four significant digits, rounded down, so that a remaining amount is never printed too large."""
    return shown(value, ROUND_FLOOR)
