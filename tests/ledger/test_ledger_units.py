"""Budget arithmetic: exact at the cap, rounded up everywhere, and no number that is not a price."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ChargeRefused
from sfumato.ledger.currency import BY_NAME
from sfumato.ledger.terms import Terms
from sfumato.ledger.units import (
    UNITS,
    ceiling_of,
    check_amount,
    float_above,
    float_below,
    root_above,
    root_below,
)

CAPS = (0.6474573, 1.0, 3.0, 1e-6, 17.3, 0.1)
fractions = st.fractions(min_value=Fraction(1, 10**12), max_value=10**6)


@given(fractions)
def test_rounding_is_to_the_next_float(value):
    below, above = float_below(value), float_above(value)
    assert Fraction(below) <= value <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))
    low, high = root_below(value), root_above(value)
    assert Fraction(low) ** 2 <= value <= Fraction(high) ** 2
    assert high in (low, math.nextafter(low, math.inf))


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("currency", ["gdp", "zcdp", "renyi"])
def test_a_million_charges_of_a_millionth_end_exactly_at_the_cap(currency, cap):
    whole = Fraction(cap)
    share = root_below(whole**2 / 10**6) if currency == "gdp" else float_below(whole / 10**6)
    each = BY_NAME[currency].units(share, cap)
    total = 0
    for _ in range(10**6):
        total += each
        assert total <= UNITS
    assert total == UNITS


@pytest.mark.planted
def test_float_sums_would_not():
    """The planted fault: in floats, ten tenths are not one, and a million millionths go past it."""
    tenths = millionths = 0.0
    for _ in range(10):
        tenths += 0.1
    for _ in range(10**6):
        millionths += 1e-6
    assert tenths < 1.0
    assert millionths > 1.0


@given(st.floats(min_value=1e-9, max_value=10.0), st.sampled_from(CAPS), st.sampled_from(["gdp", "zcdp", "renyi"]))
def test_units_never_stand_for_less_than_the_amount(amount, cap, currency):
    units = BY_NAME[currency].units(amount, cap)
    assert units >= 1
    assert BY_NAME[currency].amount(units, cap) >= amount
    power = 2 if currency == "gdp" else 1
    assert Fraction(units - 1, UNITS) < (Fraction(amount) / Fraction(cap)) ** power


def test_a_total_variation_costs_no_less_than_its_exponential():
    """Floats nearest to e^epsilon lie below it as often as above."""
    terms = Terms(1.0, 1e-5, tv=1e-7)
    for k in range(1, 400):
        epsilon, tv = k / 64, 1e-7
        power = Fraction(Decimal(epsilon).exp(Context(prec=60)))
        exact = Fraction(terms.delta) - (1 + power) * Fraction(tv)
        assert exact - Fraction(tv) * power * Fraction(1, 2**50) <= terms.core(tv, epsilon) <= exact


@pytest.mark.planted
def test_rounding_down_would_be_free_money():
    """The planted fault: with units rounded down, amounts under one unit cost nothing for ever."""
    assert ceiling_of(Fraction(1, 10**30), Fraction(1)) == 1
    assert math.floor(Fraction(1, 10**30) * UNITS) == 0


@pytest.mark.parametrize("amount", [0.0, -0.0, -1.0, math.nan, math.inf, -math.inf, 5e-324, 2e-308])
def test_what_is_no_price_is_refused(amount):
    with pytest.raises(ChargeRefused, match="finite number"):
        check_amount("mu", amount)


@pytest.mark.parametrize("amount", [2.3e-308, 1e-9, 1.0, 1e300])
def test_prices_pass(amount):
    assert check_amount("mu", amount) == amount
