"""Reference chains through BlackJAX on laws written down here: long enough, they have the law; and they say what is missing.

JAX keeps threads of its own, after which a process had better not fork: its chains run in a process apart.
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from effort import sized
from goodness import LEVEL
from sfumato.errors import ArgumentError
from sfumato.samplers import reference

# Both kinds of chains stay within walls. The quick form shows it here for those that use a slope; for the other kind
# procedures/test_reference_chain.py shows that a release stays in its ball.
KINDS = sized(("slope",), ("slope", "slices"))
# 10 chains of 16 coordinates give 160 squares, whose sum has a relative spread of sqrt(2 / 160) = 0.11: scales that are wrong
# by a factor of 1.6 are rejected surely, those of the long form need 320 squares.
D, CHAINS = sized((16, 10), (4, 80))
WRONG = sized((0.6, 1.6), (0.7, 1.3))
PRECISION = np.tile([0.5, 1.0, 2.0, 4.0], D // 4)


@pytest.fixture(scope="module")
def apart():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield lambda work, *given: pool.submit(work, *given).result()


def value(theta: np.ndarray) -> float:
    return float(0.5 * (PRECISION * theta * theta).sum())


def slope(theta: np.ndarray) -> np.ndarray:
    return PRECISION * theta


def spread_p(states: np.ndarray, scale: float) -> float:
    """Two-sided p-value of the summed squares, which have a chi-square law if the states are normal of this scale."""
    found = float((PRECISION * states * states).sum()) / scale**2
    tail = stats.chi2(states.size)
    return 2 * min(tail.cdf(found), tail.sf(found))


def by_nuts() -> np.ndarray:
    """From one point: the chains must find the law."""
    return reference.last_states(value, slope, np.zeros((CHAINS, D)), 0.7, 30, 12, sf.seeded(1))


def by_slices() -> np.ndarray:
    """From draws of the law, for callbacks are slow: the chains must not leave it."""
    start = np.random.default_rng(5).normal(size=(CHAINS, D)) / np.sqrt(PRECISION)
    return reference.last_states(value, None, start, 0.7, 0, 6, sf.seeded(1))


@pytest.mark.planted
@pytest.mark.parametrize("chains", [by_nuts, by_slices])
def test_last_states_have_the_law_and_no_other_scale(apart, chains):
    states = apart(chains)
    assert states.shape == (CHAINS, D)
    assert states.dtype == np.float64
    assert len({tuple(state) for state in states}) == CHAINS  # every chain has a key of its own
    assert spread_p(states, 1.0) > LEVEL
    for wrong in WRONG:
        assert spread_p(states, wrong) < LEVEL


def within_walls() -> tuple[list[np.ndarray], set[str], tuple[bool, bool]]:
    """Chains in a cube, the types of the places that they ask about, and JAX's precision before and after."""
    import jax

    before, seen = jax.config.jax_enable_x64, set()
    kinds = [{"slope": slope, "slices": None}[kind] for kind in KINDS]

    def walled(theta):
        seen.add(str(theta.dtype))
        return value(theta) if np.abs(theta).max() <= 0.5 else np.inf

    states = [reference.last_states(walled, kind, np.zeros((1, D)), 0.3, 20, 5, sf.seeded(2)) for kind in kinds]
    return states, seen, (before, jax.config.jax_enable_x64)


@pytest.fixture(scope="module")
def walled_chains(apart):
    return apart(within_walls)


def test_double_precision_is_asked_for_and_given_back(walled_chains):
    _, seen, (before, after) = walled_chains
    assert seen == {"float64"}
    assert before == after


def test_no_state_leaves_the_domain(walled_chains):
    for states in walled_chains[0]:
        assert np.abs(states).max() <= 0.5
        assert np.abs(states).min() > 0


def test_a_missing_library_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "blackjax", None)
    with pytest.raises(ArgumentError, match=r"pip install 'sfumato\[jax\]'"):
        reference.last_states(value, None, np.zeros((1, D)), 1.0, 0, 1, sf.seeded(1))
