"""The exact rounded normal: the right law on any grid, exact rounding, and no low bits that tell its centre."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from effort import sized
from goodness import LEVEL, chi_square_p, uniform_p
from sfumato.errors import ArgumentError
from sfumato.randomness import seeded
from sfumato.samplers.bits import BufferedBits, LazyUniform
from sfumato.samplers.normal import LazyNormal, rounded_normal


def sample(seed: int, count: int, mean, deviation, spacing) -> np.ndarray:
    source = BufferedBits(seeded(seed))
    return np.array([rounded_normal(source, mean, deviation, spacing) for _ in range(count)])


@pytest.mark.planted
@pytest.mark.parametrize(("mean", "deviation", "spacing"), [(0.3, 2.0, 1.0), (-7.25, 0.6, 0.5), (1e6 + 0.1, 3.0, 2.0)])
def test_coarse_grids_have_the_integrated_law(mean, deviation, spacing):
    # A scale that is off by a tenth adds about 0.02 for each draw to a chi-square of some 15 degrees: 160 at 8,000.
    size = sized(8_000, 20_000)
    drawn = sample(1, size, mean, deviation, spacing)
    centre = round(mean / spacing)
    cells = np.arange(centre - 40, centre + 41)
    counts = np.array([(drawn == c).sum() for c in cells])
    assert counts.sum() == size

    def expected(scale):
        edge = lambda c: (c * spacing - mean) / (deviation * scale)
        return size * (stats.norm.cdf(edge(cells + 0.5)) - stats.norm.cdf(edge(cells - 0.5)))

    assert chi_square_p(counts, expected(1.0)) > LEVEL
    assert chi_square_p(counts, expected(0.9)) < LEVEL
    assert chi_square_p(counts, expected(1.1)) < LEVEL


@pytest.mark.planted
def test_fine_grids_are_normal():
    drawn = sample(2, sized(10_000, 20_000), 0.25, 1.5, 2.0**-30) * 2.0**-30
    assert uniform_p(stats.norm.cdf((drawn - 0.25) / 1.5)) > LEVEL
    assert uniform_p(stats.norm.cdf((drawn - 0.25) / 1.3)) < LEVEL
    assert uniform_p(stats.norm.cdf((drawn - sized(0.4, 0.32)) / 1.5)) < LEVEL


@pytest.mark.planted
def test_the_tails_are_those_of_a_normal():
    """Noise that is cut off at three deviations has the middle of a normal, and gives a delta of 0.003 away."""
    source, size = BufferedBits(seeded(7)), sized(20_000, 100_000)
    counts = np.bincount([min(LazyNormal(source).whole, 3) for _ in range(size)], minlength=4)
    expected = 2 * size * np.diff([*stats.norm.cdf([0, 1, 2, 3]), 1.0])
    assert chi_square_p(counts, expected) > LEVEL
    cut = np.array([*counts[:2], counts[2] + counts[3], 0])
    assert chi_square_p(cut, expected) < LEVEL


@pytest.mark.planted
def test_weighing_grid_points_by_the_density_is_another_law():
    """The discrete Gaussian (weights at grid points) is not the rounded normal, and the check can tell."""
    size = sized(6_000, 60_000)
    drawn = sample(3, size, 0.0, 0.5, 1.0)
    cells = np.arange(-3, 4)
    counts = np.array([(drawn == c).sum() for c in cells])
    weights = np.exp(-0.5 * (cells / 0.5) ** 2)
    assert chi_square_p(counts, size * weights / weights.sum()) < LEVEL


def test_rounding_is_exact_in_rational_arithmetic():
    """Replay the same digits: the returned multiple is the nearest to the interval's content."""
    for seed in range(200):
        mean, deviation, spacing = Fraction(1, 3), Fraction(7, 5), Fraction(1, 1000)
        j = rounded_normal(BufferedBits(seeded(seed)), mean, deviation, spacing)
        low, high = LazyNormal(BufferedBits(seeded(seed))).interval(64)
        distance = max(abs(mean + deviation * end - j * spacing) for end in (low, high))
        assert distance <= spacing / 2 + deviation * Fraction(1, 2**60)


def low_bits(values: np.ndarray) -> float:
    """Share of values whose lowest set bit is below 2^-53."""
    scaled = values * 2.0**53
    return float((scaled != np.floor(scaled)).mean())


def test_low_bits_tell_nothing_of_the_centre():
    spacing = 2.0**-20
    ours = {c: sample(4 + c, sized(4_000, 20_000), float(c), 1.0, spacing) * spacing for c in (0, 1)}
    assert low_bits(ours[0]) == low_bits(ours[1]) == 0.0
    for values in ours.values():
        assert (values / spacing == np.floor(values / spacing)).all()


@pytest.mark.planted
def test_the_naive_float_gives_its_centre_away():
    """The planted fault: one float64 normal added to its centre. The event is common on one side and impossible on the other."""
    stream = seeded(9)
    naive = {c: c + stream.normal(20_000) for c in (0.0, 1.0)}
    assert low_bits(naive[0.0]) > 0.1
    assert low_bits(naive[1.0][naive[1.0] > 0.5]) == 0.0


def test_lazy_uniforms_compare_as_numbers():
    source = BufferedBits(seeded(5))
    pairs = [(LazyUniform(source), LazyUniform(source)) for _ in range(2000)]
    below = [a.below(b) for a, b in pairs]
    assert [a.to(64) < b.to(64) for a, b in pairs] == below
    assert chi_square_p(np.array([sum(below), 2000 - sum(below)]), np.array([1000.0, 1000.0])) > LEVEL


def test_a_deviation_of_zero_only_rounds():
    assert rounded_normal(BufferedBits(seeded(1)), 2.6, 0.0, 1.0) == 3


@pytest.mark.parametrize("bad", [(float("nan"), 1.0, 1.0), (0.0, float("inf"), 1.0), (0.0, 1.0, 0.0), (0.0, -1.0, 1.0)])
def test_arguments_are_checked(bad):
    with pytest.raises(ArgumentError):
        rounded_normal(BufferedBits(seeded(1)), *bad)
