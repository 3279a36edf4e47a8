"""The price of a family's draws: the error of a drawn mass is charged, for every family and every draw."""

from __future__ import annotations

import math

import pytest
from family_cases import CASES

from pricing import family_price
from sfumato.procedures import law

PRICED = [name for name, case in CASES.items() if case.model.priced]


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("name", PRICED)
def test_the_error_of_a_drawn_mass_is_charged_for_every_family(name, draws, monkeypatch):
    """With an error large enough to see, each family's price grows as its theorem says; and its own error is not 0."""
    case = CASES[name]
    model, n = case.model, 30
    own = law.exact_laws.log_error(model.public_law(n, 0.5, 1.0))
    assert (own > 0) == (model.claim(n).theorem != "gaussian-location")
    exact = family_price(model, n, draws, 0.5)
    error = 0.05
    monkeypatch.setattr(law.exact_laws, "log_error", lambda law: error)
    rough = family_price(model, n, draws, 0.5)
    if model.claim(n).theorem == "gaussian-location":
        return
    if model.bounded:
        # A log ratio is off by 2 e a draw, a range of log ratios by 4 e.
        each = 2 * error if type(exact.curve).__name__ == "Pure" else 4 * error
        assert rough.curve.renyi(math.inf) == pytest.approx(exact.curve.renyi(math.inf) + draws * each, rel=1e-6)
        return
    for epsilon in (0.5, 1.5):
        grown = math.exp(draws * error) * exact.delta(max(epsilon - 2 * draws * error, 0.0))
        assert rough.delta(epsilon) >= min(1.0, grown) * (1 - 1e-6)
