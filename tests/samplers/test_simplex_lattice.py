"""Shares above a floor, on a lattice: every point with its exact weight, whatever the exponents; the stated error holds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from goodness import LEVEL, chi_square_p
from sfumato.grids.lattice import ShareLattice
from sfumato.models.laws import Lattice
from sfumato.randomness import seeded
from sfumato.samplers import laws
from sfumato.samplers import simplex_lattice as lattice


def points(size: int, steps: int) -> list[tuple[int, ...]]:
    """All whole numbers >= 0 that sum to `steps`."""
    return [j for j in itertools.product(range(steps + 1), repeat=size) if sum(j) == steps]


def exact(law: Lattice) -> dict[tuple[int, ...], mpf]:
    """Probability of every point in 50 digits, by enumeration; the shares are the public floats."""
    mp.dps = 50
    size = len(law.cells)
    shares = [mpf(float(x)) for x in law.geometry.values]
    weights = {
        j: mp.fprod(shares[k] ** (mpf(a) - 1) for k, a in zip(j, law.cells, strict=True))
        for j in points(size, law.steps)
    }
    total = mp.fsum(weights.values())
    return {j: w / total for j, w in weights.items()}


def as_drawn(law: Lattice) -> dict[tuple[int, ...], mpf]:
    """Probability with which the sampler gives every point: its whole-number weights, multiplied out in 50 digits."""
    mp.dps = 50
    base = np.log(law.geometry.values)
    logs = [(cell - 1.0) * base for cell in law.cells]
    behind, shift = lattice.suffix_sums(logs), lattice.places_for(law)
    found = {}
    for j in points(len(law.cells), law.steps):
        chance, left = mpf(1), law.steps
        for column, chosen in enumerate(j[:-1]):
            digits, places = lattice.whole_weights(logs[column][: left + 1] + behind[column][left::-1], shift)
            whole = [mp.ldexp(d, s) for d, s in zip(digits, places, strict=True)]
            chance *= whole[chosen] / mp.fsum(whole)
            left -= chosen
        found[j] = chance
    return found


LAWS = [
    Lattice((0.5, 0.5), 1.0, 0.05, 8),
    Lattice((3.0, 0.2, 1.0), 4.2, 0.01, 8),
    Lattice((10.0, 2.0, 30.0), 50.0, 1e-3, 16),
    Lattice((900.0, 0.3, 50.0, 7000.0), 9000.0, 1e-4, 5),
]


@pytest.mark.parametrize("law", LAWS)
def test_every_point_has_its_weight_to_the_stated_error(law):
    drawn, truth = as_drawn(law), exact(law)
    assert abs(mp.fsum(drawn.values()) - 1) < mpf(10) ** -40
    worst = max(abs(mp.log(p / truth[j])) for j, p in drawn.items())
    assert worst <= laws.log_error(law) < 1e-8
    assert min(truth.values()) > 0


def test_no_weight_is_cut_off_however_small():
    law = LAWS[3]
    drawn = as_drawn(law)
    smallest = min(drawn.values())
    assert 0 < smallest < mpf(10) ** -3000
    assert exact(law)[min(drawn, key=drawn.get)] < mpf(10) ** -3000


@pytest.mark.planted
def test_a_float_convolution_without_scaling_would_lose_them():
    """The planted fault: plain exponentials underflow, and points become impossible."""
    law = LAWS[3]
    base = np.log(law.geometry.values)
    assert (np.exp((law.cells[3] - 1) * base) == 0).any()


@pytest.mark.planted
@pytest.mark.parametrize("law", LAWS[:3])
def test_draws_follow_the_enumerated_law(law):
    size, draws = len(law.cells), 6000
    found = laws.draw(law, draws, seeded(5))
    assert found.shape == (draws, size)
    places = np.rint((found - law.floor) / (1 - size * law.floor) * law.steps).astype(int)
    assert (places.sum(axis=1) == law.steps).all()
    assert found.min() >= law.floor
    listed = points(size, law.steps)
    index = {j: k for k, j in enumerate(listed)}
    counts = np.bincount([index[tuple(j)] for j in places.tolist()], minlength=len(listed))

    def judged(factor: float) -> float:
        wrong = Lattice(tuple(factor * c for c in law.cells), 2 * law.weight, law.floor, law.steps)
        truth = exact(wrong)
        return chi_square_p(counts, draws * np.array([float(truth[j]) for j in listed]))

    assert judged(1.0) > LEVEL
    assert judged(0.7) < LEVEL
    assert judged(1.3) < LEVEL


def test_the_released_shares_are_public_whatever_the_cells():
    public = set(ShareLattice(3, 0.02, 1024).values.tolist())
    for cells in ((1.0, 1.0, 1.0), (400.0, 3.0, 11.5)):
        assert set(laws.draw(Lattice(cells, 500.0, 0.02, 1024), 20, seeded(2)).ravel().tolist()) <= public


def test_the_error_and_the_length_of_the_numbers_depend_on_public_numbers_alone():
    one, other = Lattice((1.0, 1.0, 498.0), 500.0, 0.02, 64), Lattice((166.0, 167.0, 167.0), 500.0, 0.02, 64)
    assert laws.log_error(one) == laws.log_error(other)
    assert lattice.places_for(one) == lattice.places_for(other)


@pytest.mark.planted
@pytest.mark.parametrize("near", [0, 1, 3, 60])
def test_far_weights_are_drawn_with_their_own_chance(monkeypatch, near):
    """With the split moved up among the common weights the slow way is taken often, and the law is the same."""
    monkeypatch.setattr(lattice, "NEAR", near)
    weights = np.array([8.0, 1.0, 0.3, 5.0, 2.0])
    logs, source = np.log(weights), seeded(9)
    counts = np.bincount([lattice._inverted(logs, 60, source) for _ in range(8000)], minlength=5)
    assert chi_square_p(counts, 8000 * weights / weights.sum()) > LEVEL
    assert chi_square_p(counts, 8000 * weights**0.7 / (weights**0.7).sum()) < LEVEL


def test_exponents_of_any_width_are_drawn_from_short_numbers():
    """A million records at full power spread over millions of binary places; what is drawn needs a few thousand."""
    law = Lattice((3e5, 7e5), 1e6, 0.001, 1024)
    assert lattice.places_for(law) > 5_000_000
    drawn = laws.draw(law, 20, seeded(1))
    assert np.abs(drawn[:, 0] - 0.3).max() < 0.01
    assert laws.log_error(law) < 1e-6


def test_convolution_is_the_sum_over_all_splits():
    rng = np.random.default_rng(4)
    first, second = rng.normal(0, 400, 20), rng.normal(0, 400, 20)
    found = lattice.suffix_sums([first, first, second])[0]
    mp.dps = 40
    for m in range(20):
        want = mp.log(mp.fsum(mp.exp(mpf(first[j]) + mpf(second[m - j])) for j in range(m + 1)))
        assert math.isclose(found[m], float(want), rel_tol=1e-13, abs_tol=1e-10)
