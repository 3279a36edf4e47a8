"""How far a grid of epsilons must reach, and integrals that skip points of weight 0: the same numbers in fewer calls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.privacy.loss_distribution import loss_limit, loss_limit_of
from sfumato.privacy.pairs import beta_delta


@pytest.mark.planted
@pytest.mark.parametrize("scale", [1e-3, 0.2, 0.25, 1.0, 3.7, 900.0, 1e7])
def test_many_epsilons_at_once_give_the_limit_of_one_by_one(scale):
    """For delta(eps) = exp(-eps/scale), whose limit lies at scale ln(1e17), up to the farthest epsilon of a grid."""
    limit = loss_limit_of(lambda epsilons: np.exp(-epsilons / scale))
    assert limit == loss_limit(lambda epsilon: math.exp(-epsilon / scale), 0.0)
    assert limit >= min(scale * math.log(1e17), 2.0**17) * (1 - 1e-12)


def test_the_limit_is_looked_for_in_few_calls():
    calls = []
    loss_limit_of(lambda epsilons: calls.append(len(epsilons)) or np.exp(-epsilons))
    assert len(calls) <= 5


@pytest.mark.parametrize("cells", [(0.5, 300.0), (40.0, 40.0), (7.0, 1e6)])
def test_a_delta_does_not_depend_on_the_others_of_its_block(cells):
    """Points of weight 0 are left out block by block; a value alone and among others is the same to the last bit."""
    a, b = (np.array([each]) for each in cells)
    epsilons = np.linspace(0.0, 4.0, 41)
    together = beta_delta(a, b, np.array([0.1]), epsilons)
    alone = [float(beta_delta(a, b, np.array([0.1]), np.array([each]))[0]) for each in epsilons]
    assert together.tolist() == alone
