"""The filter against adversaries: ten thousand adaptive histories, exact trees, and the rules that are no filters."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from ledger_oracle import (
    best_adaptive_delta,
    mixture,
    randomised_response,
    renyi,
    revealing,
    revealing_delta,
)
from ledger_places import promise
from scipy.stats import norm

import sfumato as sf
from effort import sized
from sfumato.errors import ArgumentError, ChargeRefused
from sfumato.ledger.account import Account
from sfumato.ledger.currency import cap_of
from sfumato.ledger.terms import Terms

EPSILON, DELTA = 3.0, 1e-6


def account(epsilon=EPSILON, delta=DELTA, **terms) -> Account:
    registered = Terms(epsilon, delta, **terms)
    return Account("survey", registered, cap_of(registered))


def deltas(mu: np.ndarray, reveal: np.ndarray) -> np.ndarray:
    """True delta at EPSILON of histories with these totals; float64 is good to 1e-9 here (checked below)."""
    a = -EPSILON / mu + mu / 2
    return reveal + (1 - reveal) * (norm.cdf(a) - np.exp(EPSILON) * norm.cdf(a - mu))


# --- ten thousand histories -------------------------------------------------------------------------------------------


def history(book: Account, draw: np.random.Generator) -> tuple[float, float, float]:
    """One adaptive analyst: each price depends on the answers so far, and refusals are answered with smaller demands.

    Returns the summed mu^2, the summed reveal probability and the share of the cap that was spent.
    """
    squares, reveals, mood = [], [], 1.0
    for _ in range(8):
        mu = book.cap * mood * 10 ** draw.uniform(-2.5, 0.1)
        reveal = book.terms.allotment * (0.0, 0.5, 1.0, 7.0)[draw.integers(4)]
        price = book.of_amounts(mu, reveal, 0.0)
        if not book.admits(price):
            mood *= 0.7
            continue
        book = book.plus(price)
        squares.append(mu * mu)
        reveals.append(reveal)
        # The analyst sees the answer of a Gaussian mechanism on one of the two neighbours and presses on where it tells.
        mood = 1.0 if draw.normal(mu) > 0.5 * mu else 0.4
    left = book.remaining()
    book = book.plus(book.price(promise(left)))
    squares.append(left.parameters["mu"] ** 2)
    reveals.append(left.parameters["delta"])
    return math.fsum(squares), math.fsum(reveals), book.units / 10**18


@pytest.fixture(scope="module")
def histories() -> np.ndarray:
    draw = np.random.default_rng(20261101)
    book = account()
    return np.array([history(book, draw) for _ in range(sized(2_500, 10_000))])


def test_ten_thousand_adaptive_histories_never_exceed_the_cap(histories):
    squares, reveals, shares = histories.T
    assert deltas(np.sqrt(squares), reveals).max() <= DELTA * (1 + 1e-9)
    # They are no easy histories: every one runs into the cap.
    assert shares.min() > 1 - 1e-12
    worst = int(np.argmax(deltas(np.sqrt(squares), reveals)))
    exact = revealing_delta(EPSILON, math.sqrt(squares[worst]), reveals[worst])
    assert float(exact) <= DELTA
    assert float(exact) == pytest.approx(float(deltas(np.sqrt(squares), reveals)[worst]), rel=1e-9)


@pytest.mark.planted
def test_a_cap_without_the_slack_would_be_exceeded(histories):
    """The planted fault: mu_B taken from (epsilon, delta) itself, reveals counted beside it."""
    careless = cap_of(Terms(EPSILON, DELTA, slack=0.0))
    squares, reveals, _ = histories.T
    scaled = squares * (careless / account().cap) ** 2
    assert deltas(np.sqrt(scaled), reveals).max() > DELTA * (1 + 1e-4)


# --- exact trees: the best adversary there is, on finite mechanisms ---------------------------------------------------

LOOSE = {"epsilon": 0.7, "delta": 0.08, "slack": 0.3, "allow_weak": True}
REVEAL = 0.08 * 0.3
MENU = {
    "large": (randomised_response(0.4), sf.Pure(0.4)),
    "small": (randomised_response(0.25), sf.Pure(0.25)),
    "reveals": (
        mixture(REVEAL / 4, randomised_response(0.3)),
        sf.Profile("revealing-gaussian", {"mu": sf.Pure(0.3).mu, "delta": REVEAL / 4}),
    ),
    "only reveals": (revealing(REVEAL / 2), sf.Profile("revealing-gaussian", {"mu": 0.0, "delta": REVEAL / 2})),
}


@pytest.mark.planted
def test_the_best_adversary_stays_below_the_registered_delta():
    """Every adaptive strategy over the menu, walked to the end; the filter is the account itself."""
    start = account(**LOOSE)
    prices = {name: start.price(promise(curve)) for name, (_, curve) in MENU.items()}
    menu = {name: pair for name, (pair, _) in MENU.items()}

    @cache
    def after(picked: tuple[str, ...]) -> Account:
        return after(picked[:-1]).plus(prices[picked[-1]]) if picked else start

    found = best_adaptive_delta(0.7, menu, lambda picked: after(picked[:-1]).admits(prices[picked[-1]]), 6)
    assert 0.5 * 0.08 < found <= 0.08

    def three_times_too_much(picked: tuple[str, ...]) -> bool:
        """The planted fault: the very same walk sees the promise broken."""
        return all(
            sum(getattr(prices[name], kind) for name in picked) <= 3 * 10**18 for kind in ("units", "delta0_units")
        )

    assert best_adaptive_delta(0.7, menu, three_times_too_much, 5) > 1.5 * 0.08


# --- what is no filter --------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_the_exact_profile_is_no_filter():
    """ "Stop when the composition so far would exceed (epsilon, delta)" is broken by one adaptive choice.

    First randomised response. On "+", a second one that uses up delta there; on "-", a reveal with probability delta. Each
    pair fits in advance; chosen after the answer they give delta (1 + 1/(1 + e)).
    """
    epsilon, delta, first = 2.0, 1e-3, 1.0
    yes = 1 / (1 + math.exp(-first))

    def pair_delta(second: float) -> float:
        return yes / (1 + math.exp(-second)) * (1 - math.exp(epsilon - first - second))

    low, high = epsilon - first, epsilon
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if pair_delta(middle) <= delta else (low, middle)
    second = low
    # Both are admitted by the natural rule (to the rounding of the library's own profile) ...
    assert (sf.Pure(first) + sf.Pure(second)).delta(epsilon) <= delta * (1 + 1e-3)
    menu = {"first": randomised_response(first), "a": randomised_response(second), "b": revealing(delta)}

    def natural(picked: tuple[str, ...]) -> bool:
        return picked[0] == "first" and len(picked) <= 2 and picked.count("first") == 1

    for choice in "ab":
        only = {key: menu[key] for key in ("first", choice)}
        assert best_adaptive_delta(epsilon, only, natural, 2) <= delta * (1 + 1e-9)
    # ... and together they break the promise.
    found = best_adaptive_delta(epsilon, menu, natural, 2)
    assert found == pytest.approx(delta * (1 + 1 / (1 + math.exp(first))), rel=1e-9)
    # A gdp ledger refuses the reveal: it was never set aside.
    with pytest.raises(ChargeRefused, match="no Gaussian covers"):
        account(epsilon, delta).price(promise(sf.Profile("approximate", {"epsilon": 0.0, "delta": delta})))


ORDERS = (5.0, 10.0, 20.0, 40.0)
FIRST = {"+": (0.00129, 0.001), "-": (1 - 0.00129, 1 - 0.001)}
ON_PLUS = {"hit": (0.298, 0.051), "miss": (1 - 0.298, 1 - 0.051)}
ON_MINUS = {"hit": (9.8e-5, 1.2e-5), "miss": (1 - 9.8e-5, 1 - 1.2e-5)}


def renyi_cap(order: float, epsilon: float, delta: float) -> float:
    return epsilon - math.log1p(-1 / order) + math.log(delta * order) / (order - 1)


def some_order_still_fits(*pairs) -> bool:
    """The rule that looks like a filter and is none."""
    return any(sum(renyi(pair, a) for pair in pairs) <= renyi_cap(a, 2.0, 1e-5) for a in ORDERS)


def test_some_order_of_a_list_still_fits_is_no_filter():
    """Orders 5, 10, 20, 40 and cap (2, 1e-5): both branches fit, at order 40 and at order 10; the true delta is 1.69e-5."""
    assert some_order_still_fits(FIRST, ON_PLUS)
    assert some_order_still_fits(FIRST, ON_MINUS)
    found = 0.0
    for outcome, second in (("+", ON_PLUS), ("-", ON_MINUS)):
        p, q = FIRST[outcome]
        found += math.fsum(max(0.0, p * a - math.exp(2.0) * q * b) for a, b in second.values())
    assert found == pytest.approx(1.6872e-5, rel=1e-4)


def test_the_ledger_takes_one_order_and_refuses_the_counterexample():
    """By construction: a list cannot be registered, and at any one of its orders some branch does not fit."""
    with pytest.raises(ArgumentError, match="order"):
        Terms(2.0, 1e-5, currency="renyi", order=list(ORDERS))
    with pytest.raises(ArgumentError, match="leaves nothing"):
        account(2.0, 1e-5, currency="renyi", order=5.0)
    for order in ORDERS[1:]:
        book = account(2.0, 1e-5, currency="renyi", order=order)
        curves = [sf.Renyi(ORDERS, [renyi(pair, a) for a in ORDERS]) for pair in (FIRST, ON_PLUS, ON_MINUS)]
        first, plus, minus = (promise(curve) for curve in curves)
        book = book.plus(book.price(first))
        assert not (book.admits(book.price(plus)) and book.admits(book.price(minus))), order
