"""Proposals by exact inversion, and the first kept point of a public number of trials."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from goodness import LEVEL, chi_square_p
from sfumato.procedures import envelope
from sfumato.samplers import rejection
from sfumato.samplers.langevin import silent

T = (np.arange(81) - 30) * 0.1


def law(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def test_shares_are_the_weights_to_a_float_and_fill_everything():
    logs = -0.5 * T * T
    ends = np.array([end / 2.0**512 for end in rejection.table(logs).ends])
    np.testing.assert_allclose(np.diff(ends, prepend=0.0), law(logs), rtol=1e-12, atol=1e-15)
    assert rejection.table(logs).ends[-1] == 1 << 512


def test_places_far_out_are_never_picked():
    ends = rejection.table(np.array([-800.0, 0.0, -1e9])).ends
    assert ends == [0, 1 << 512, 1 << 512]
    found = rejection.table(np.array([-800.0, 0.0, -1e9]))
    assert rejection.places(found, 1, Fixed((1 << 64) - 1, (1 << 448) - 1)).tolist() == [1]
    assert set(rejection.places(found, 1_000, sf.seeded(1))) == {1}


class Fixed:
    """A source that hands out prepared bits."""

    def __init__(self, *values: int) -> None:
        self.values = list(values)

    def bits(self, count: int) -> int:
        return self.values.pop(0)


def test_a_word_that_does_not_decide_is_continued():
    found = rejection.table(np.log(np.array([1.0, 2.0])))  # the first end is 2^512/3, within a float of it
    upper, lower = found.ends[0] >> 448, found.ends[0] & ((1 << 448) - 1)
    assert rejection.places(found, 1, Fixed(upper, lower - 1)).tolist() == [0]
    assert rejection.places(found, 1, Fixed(upper, lower)).tolist() == [1]
    assert rejection.places(found, 1, Fixed(upper - 1)).tolist() == [0]


@pytest.mark.planted
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
def test_places_follow_the_weights_and_no_other_scale(scale):
    picked = rejection.places(rejection.table(-0.5 * T * T), 20_000, sf.seeded(1))
    p = chi_square_p(np.bincount(picked, minlength=81), 20_000 * law(-0.5 * (T / scale) ** 2))
    assert (p > LEVEL) == (scale == 1.0)


def kept(power: float, trials: int, draws: int, seed: int = 2) -> np.ndarray:
    """Draws of exp(-power |t|^3/3 - t^2/2) by its Gaussian envelope."""
    stream = sf.seeded(seed)
    found = rejection.table(-0.5 * T * T)
    return rejection.first_kept(
        lambda size: rejection.places(found, size, stream)[:, None],
        lambda places: power * np.abs(T[places[:, 0]]) ** 3 / 3,
        trials,
        draws,
        np.array([80]),
        stream,
        silent,
    )[:, 0]


@pytest.mark.parametrize("power", [0.7, 1.0, 1.3])
def test_kept_points_follow_the_target_and_no_other_power(power):
    picked = kept(1.0, 60, 30_000)
    p = chi_square_p(np.bincount(picked, minlength=81), 30_000 * law(-0.5 * T * T - power * np.abs(T) ** 3 / 3))
    assert (p > LEVEL) == (power == 1.0)


def test_where_nothing_is_kept_the_public_point_comes_out():
    trials, draws = 2, 20_000
    share = float((law(-0.5 * T * T) * np.exp(-5 * np.abs(T) ** 3 / 3)).sum())
    missed = (kept(5.0, trials, draws) == 80).mean()
    assert missed == pytest.approx((1 - share) ** trials, abs=5 * np.sqrt(0.25 / draws))
    assert (kept(5.0, 400, 200) != 80).all()


def test_every_trial_is_run_whatever_is_kept():
    for level in (0.0, 1e9):
        seen = []

        def exponent(places, level=level, seen=seen):
            seen.append(len(places))
            return np.full(len(places), level)

        told = []
        rejection.first_kept(
            lambda size: np.zeros((size, 1), dtype=np.int64),
            exponent, 5_000, 3, np.array([0]), sf.seeded(1), lambda done, steps: told.append((done, steps)),
        )  # fmt: skip
        assert sum(seen) == 15_000
        assert told[-1] == (15_000, 15_000)


def test_a_table_keeps_every_weight_that_is_not_charged_as_lost():
    """Weights down to e^-240 of the largest are there, each to a relative 2e-13: what lies below is charged absolutely."""
    logs = np.array([0.0, -0.5, -7.0, -19.0, -25.0, -40.0, -59.9, -119.0, -180.0, -239.9])
    assert rejection.SMALLEST == -240
    assert math.exp(-60) == envelope._TAIL
    ends = [0, *rejection.table(logs).ends]
    assert ends[-1] == 1 << 512
    shares = [Fraction(high - low, 1 << 512) for low, high in itertools.pairwise(ends)]
    exact = np.exp(logs) / np.exp(logs).sum()
    for share, wanted in zip(shares, exact, strict=True):
        assert abs(float(share) / wanted - 1) <= envelope._WEIGHT_ERROR + 2.0**-512 / wanted


@pytest.mark.parametrize("chance", [0.3, 1 - 2.0**-53, 2.0**-70 * 1.25, 5e-324, 1.0, 0.0])
def test_a_coin_compares_its_bits_with_every_digit_of_the_float(chance):
    """The bits of a uniform number just below the chance make the coin true, those of the chance itself do not."""

    def said(number: Fraction) -> bool:
        pieces = []
        for _ in range(20):  # 20 times 63 bits: more digits than a float can have
            whole, number = divmod(number * 2**63, 1)
            pieces.append(int(whole) << 1)
        return bool(rejection.coins(np.array([chance]), Fixed(*pieces))[0])

    exact = Fraction(chance)
    if chance > 0:
        assert said(exact - Fraction(1, 2**1260))
    if chance < 1:
        assert not said(exact)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_mixture_has_its_share_of_uniform_places_and_no_other(share):
    count, sizes = 20_000, (3, 5)
    picked = rejection.mixed(np.tile([1, 2], (count, 1)), 0.3, sizes, sf.seeded(4))
    observed = np.bincount(picked[:, 0] * 5 + picked[:, 1], minlength=15)
    wanted = np.full(15, share / 15)
    wanted[7] += 1 - share
    assert (chi_square_p(observed, count * wanted) > LEVEL) == (share == 0.3)
