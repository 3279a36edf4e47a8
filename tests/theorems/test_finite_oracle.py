"""The brute-force oracle itself: closed forms it must reproduce, and faults it must see."""

from __future__ import annotations

import math

import numpy as np
import pytest
from finite_oracle import (
    Family,
    hockey_stick,
    independent,
    kl,
    random_family,
    renyi,
    smallest_concentration,
    total_variation,
)

COIN, FAIR = np.array([0.8, 0.2]), np.array([0.5, 0.5])


def test_divergences_have_their_closed_forms():
    assert hockey_stick(COIN, FAIR, 0.0) == pytest.approx(0.3)
    assert hockey_stick(COIN, FAIR, math.log(1.6)) == pytest.approx(0.0, abs=1e-15)
    assert total_variation(COIN, FAIR) == pytest.approx(0.3)
    assert kl(COIN, FAIR) == pytest.approx(0.8 * math.log(1.6) + 0.2 * math.log(0.4))
    assert renyi(COIN, FAIR, 2.0) == pytest.approx(math.log(0.64 / 0.5 + 0.04 / 0.5))
    assert renyi(COIN, FAIR, 1 + 1e-6) == pytest.approx(kl(COIN, FAIR), rel=1e-5)


def test_independent_draws_add_divergences():
    law, other = independent(COIN, 3), independent(FAIR, 3)
    assert law.shape == (8,)
    assert law.sum() == pytest.approx(1)
    assert kl(law, other) == pytest.approx(3 * kl(COIN, FAIR))


def test_posterior_and_constants_of_a_coin():
    family = Family(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0.25, 0.75]), np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert family.posteriors()[:, 0] == pytest.approx(np.array([0.2, 0.3]) / 0.5)
    assert family.posteriors(2.0)[:, 1] == pytest.approx(np.array([0.01, 0.27]) / 0.28)
    assert family.lipschitz == pytest.approx([math.log(4) / 2, math.log(1.5) / 2])
    assert family.ratio == pytest.approx(0.8 / 0.5)
    assert family.pairs() == [(0, 1), (1, 0)]


@pytest.mark.planted
def test_concentration_is_the_largest():
    lipschitz, prior = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.3, 0.2])
    c = smallest_concentration(lipschitz, prior, 1.0)
    t = np.linspace(1.0, 5.0, 40001)
    tails = np.array([prior[lipschitz > level].sum() for level in t])
    assert (tails <= np.exp(-c * (t - 1.0)) + 1e-12).all()
    assert not (tails <= np.exp(-1.01 * c * (t - 1.0))).all()


def test_random_families_are_proper():
    rng = np.random.default_rng(1)
    for _ in range(50):
        family = random_family(rng)
        assert np.allclose(family.p.sum(axis=1), 1)
        assert family.prior.sum() == pytest.approx(1)
        size = len(family.rho)
        assert all(
            family.rho[x, y] <= family.rho[x, z] + family.rho[z, y] + 1e-12
            for x in range(size)
            for y in range(size)
            for z in range(size)
        )
