"""The Gaussian that covers a curve but for a revealing probability: sound on a fine grid, and not wastefully large."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

from effort import sized
from sfumato import calibrate
from sfumato.errors import ArgumentError
from sfumato.privacy.cover import covering_mu
from sfumato.privacy.curves import BoundedRange, Gaussian, Pure
from sfumato.privacy.gaussian_tail import gaussian_delta
from sfumato.privacy.metric import Metric
from sfumato.privacy.profiles import Profile
from sfumato.privacy.renyi import Renyi
from sfumato.privacy.sharing import share

CURVES = {
    "beta": Profile("beta-bernoulli", {"alpha": 6, "beta": 12, "n": 100, "power": 0.4, "draws": 1}),
    "small prior": Profile("beta-pair", {"a": 0.3, "b": 2.0, "power": 0.05, "draws": 1}),
    "gamma shape": Profile("gamma-shape", {"shape": 5.0, "shift": 0.6, "draws": 1}),
    "gamma rate": Profile("gamma-rate", {"shape": 40.0, "rate": 9.0, "shift": 0.4, "draws": 1}),
    "approximate": Profile("approximate", {"epsilon": 0.3, "delta": 1e-9}),
    "revealing": Profile("revealing-gaussian", {"mu": 0.4, "delta": 1e-9}),
}


@lru_cache
def profile(curve, limit: float) -> list[tuple[float, float]]:
    """Epsilons of the grid and delta of the curve at each of them."""
    return [(float(epsilon), curve.delta(float(epsilon))) for epsilon in np.linspace(0, limit, 200)]


def gap(curve, mu: float, delta0: float, limit: float) -> float:
    """Smallest of delta0 + (1 - delta0) delta_mu - delta, relative to delta, over a grid finer than the code's."""
    worst = math.inf
    for epsilon, truth in profile(curve, limit):
        worst = min(worst, (delta0 + (1 - delta0) * gaussian_delta(epsilon, mu)) / truth - 1)
    return worst


@pytest.mark.planted
@pytest.mark.parametrize("name", list(CURVES))
@pytest.mark.parametrize("delta0", sized([1e-8], [1e-7, 1e-8]))
def test_it_covers_everywhere_and_little_more(name, delta0):
    curve = CURVES[name]
    mu = covering_mu(curve, delta0)
    limit = 1.2 * curve.epsilon(delta0)
    assert gap(curve, mu, delta0, limit) >= -1e-9
    assert gap(curve, mu * 0.985, delta0, limit) < 0, "the same check must see a mu that is too small"


def test_curves_with_a_mu_keep_it():
    assert covering_mu(Gaussian(0.7), 0.0) == 0.7
    assert covering_mu(Pure(1.0), 1e-9) == Pure(1.0).mu
    assert covering_mu(2 * BoundedRange(1.0), 1e-9) == (2 * BoundedRange(1.0)).mu


def test_there_may_be_none():
    beta = CURVES["beta"]
    assert covering_mu(beta, 0.0) is None
    assert covering_mu(Renyi([2], [0.1]), 1e-6) is None
    assert covering_mu(Profile("approximate", {"epsilon": 0.1, "delta": 1e-5}), 1e-9) is None
    assert covering_mu(Profile("approximate", {"epsilon": 0.0, "delta": 1e-9}), 1e-8) == 0.0


def test_a_composition_of_covers_bounds_the_composition():
    """Three Beta draws against (sqrt(3) mu, 3 delta0): the ledger's arithmetic is above the exact composition."""
    beta, delta0 = CURVES["beta"], 1e-8
    mu = covering_mu(beta, delta0)
    exact = Profile("beta-bernoulli", {**beta.parameters, "draws": 3})
    for epsilon in (0.5, 1.5, 2.5):
        assert exact.delta(epsilon) <= 3 * delta0 + gaussian_delta(epsilon, math.sqrt(3) * mu) + 1e-12


@pytest.mark.parametrize(
    "curve",
    [Gaussian(1.0), Pure(1.0), BoundedRange(2.0), Renyi([2, 5], [0.4, 1.0]), CURVES["revealing"]],
)
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_shares_add_up_to_at_most_the_whole(curve, parts):
    pieces = share(curve, parts)
    assert len(pieces) == parts
    if isinstance(curve, Profile):
        whole, piece = curve.parameters, pieces[0].parameters
        assert piece["mu"] * math.sqrt(parts) <= whole["mu"] <= piece["mu"] * math.sqrt(parts) * (1 + 1e-12)
        assert piece["delta"] * parts <= whole["delta"] <= piece["delta"] * parts * (1 + 1e-12)
        return
    total = parts * pieces[0]
    if isinstance(curve, Gaussian):
        assert total.mu <= curve.mu <= total.mu * (1 + 1e-12)
    elif isinstance(curve, Renyi):
        assert all(a <= b for a, b in zip(total.values, curve.values, strict=True))
    else:
        assert total.renyi(math.inf) <= curve.epsilon_value <= total.renyi(math.inf) * (1 + 1e-12)


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(ArgumentError, match="shared"):
        share(CURVES["beta"], 2)
    with pytest.raises(ArgumentError, match="parts"):
        share(Gaussian(1.0), 0)
    with pytest.raises(ArgumentError, match="shared"):
        share(Metric(1.0, 0.0, "d"), 2)


def test_a_ledgers_remainder_is_a_target():
    from sfumato.privacy.guarantee import Guarantee

    target = calibrate.target_of(target=CURVES["revealing"])
    as_guarantee = lambda curve: Guarantee(curve, "replace-one", "t", "s")
    assert target.admits(as_guarantee(Gaussian(0.4)))
    assert not target.admits(as_guarantee(Gaussian(0.4001)))
    small = Profile("beta-bernoulli", {"alpha": 60, "beta": 120, "n": 100, "power": 0.4, "draws": 1})
    assert target.admits(as_guarantee(small))
    assert not target.admits(as_guarantee(Profile("beta-bernoulli", {**small.parameters, "power": 3.0})))
    assert not target.admits(as_guarantee(Renyi([2], [1e-6])))


def test_a_table_that_reaches_beyond_every_float_has_none():
    table = Profile("tabulated", {"epsilons": (0.0, 1.0, 720.0), "deltas": (0.3, 0.01, 1e-9)})
    assert covering_mu(table, 1e-8) is None


def test_the_gaussian_that_must_cover_is_rounded_down():
    """delta_mu in 60 digits: what is compared with a curve is never above it, and at most 1e-10 of it below."""
    from mpmath import mp, mpf

    from sfumato.privacy.cover import _gaussian_below

    rng = np.random.default_rng(8)
    with mp.workdps(60):
        for _ in range(300):
            mu = float(10 ** rng.uniform(-3, 1))
            epsilon = float(rng.uniform(0, 6)) * mu
            x, m = mpf(epsilon), mpf(mu)
            tail = lambda t: mp.erfc(t / mp.sqrt(2)) / 2
            exact = tail(x / m - m / 2) - mp.exp(x) * tail(x / m + m / 2)
            found = _gaussian_below(epsilon, mu)
            assert exact * (1 - mpf(1e-10)) <= found <= exact
