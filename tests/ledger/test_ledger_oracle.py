"""The helpers themselves: known values, and composition by the tree against closed forms."""

from __future__ import annotations

import math

import pytest
from ledger_oracle import (
    best_adaptive_delta,
    gaussian_delta,
    mixture,
    randomised_response,
    renyi,
    revealing,
    revealing_delta,
)

import sfumato as sf


def test_the_gaussian_profile_has_its_golden_value():
    assert float(gaussian_delta(4.377178095681, 1.0)) == pytest.approx(1e-5, rel=1e-9)
    assert float(revealing_delta(4.377178095681, 1.0, 0.25)) == pytest.approx(0.25 + 0.75e-5, rel=1e-9)


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0])
def test_renyi_of_randomised_response(order):
    assert renyi(randomised_response(0.7), order) == pytest.approx(sf.Pure(0.7).renyi(order), rel=1e-12)


@pytest.mark.parametrize("pair", [randomised_response(0.7), revealing(0.1), mixture(0.1, randomised_response(0.7))])
def test_pairs_are_distributions(pair):
    assert math.fsum(p for p, _ in pair.values()) == pytest.approx(1)
    assert math.fsum(q for _, q in pair.values()) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_the_tree_agrees_with_the_binomial_formula(epsilon):
    found = best_adaptive_delta(epsilon, {"a": randomised_response(0.6)}, lambda picked: len(picked) <= 3, 4)
    assert found == pytest.approx((3 * sf.Pure(0.6)).delta(epsilon), rel=1e-10)


def test_the_tree_sees_a_better_second_choice():
    """An adversary with two mechanisms does at least as well as with one."""
    menu = {"a": randomised_response(0.6), "b": revealing(0.2)}
    single = best_adaptive_delta(1.0, {"a": menu["a"]}, lambda picked: len(picked) <= 2, 2)
    assert best_adaptive_delta(1.0, menu, lambda picked: len(picked) <= 2, 2) >= single + 0.1
