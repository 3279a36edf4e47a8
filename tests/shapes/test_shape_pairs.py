"""Directions of two columns in which rows hardly vary: found among noisy moments, and given back to the prior."""

from __future__ import annotations

import numpy as np
import pytest
from path_oracle import published, symmetric

from sfumato.shapes.curvature import pairs
from sfumato.shapes.posterior import posterior
from sfumato.shapes.unseen import SEEN, unseen

D, NOISE, USUAL = 30, 0.02, 0.1


def seen(seed: int, moments: np.ndarray, bent: float = 0.004):
    """Published numbers of rows with these second moments, in a map that leaves coordinates as they are."""
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(moments + symmetric(rng, D, NOISE))
    resolved = values > NOISE * np.sqrt(2 * D)
    return published(
        n=5_000,
        matrix=np.eye(D),
        values=values,
        vectors=vectors,
        own=np.where(resolved, values, USUAL),
        resolved=resolved,
        moments_noise=NOISE,
        average=rng.normal(size=D),
        gradient=0.01 * rng.normal(size=D),
        curvature=0.2 * moments + symmetric(rng, D, bent),
        curvature_noise=bent,
        precision=np.eye(D),
        centre=np.zeros(D),
    )


def alike() -> np.ndarray:
    """Columns 3 and 7 agree, all others are independent."""
    moments = USUAL * np.eye(D)
    moments[3, 7] = moments[7, 3] = USUAL
    return moments


@pytest.mark.planted
def test_noise_alone_shows_no_pairs():
    """870 normal numbers exceed sqrt(4 log 30 + 1) = 3.8 deviations with probability .12 a time: 12 of 40 is far out."""
    assert sum(bool(pairs(seen(seed, USUAL * np.eye(D)))) for seed in range(40)) < 12


def test_two_columns_that_agree_are_found():
    """The direction of their difference has no moment; its value stands 5 deviations below the usual one."""
    right = np.zeros(D)
    right[[3, 7]] = np.array([1.0, -1.0]) / np.sqrt(2)
    hits = 0
    for seed in range(20):
        best = [abs(vector @ right) for vector, own, smooth in pairs(seen(seed, alike())) if own < smooth / 2]
        hits += max(best, default=0.0) > 0.99
    assert hits >= 14, hits


@pytest.mark.planted
def test_a_direction_without_rows_keeps_the_law_of_the_prior():
    """Its own variance, 1; or that of Student's law around coefficients of more than a deviation, at most 1 + their square."""
    checked = 0
    for seed in range(12):
        p = seen(seed, alike())
        for vector, own, smooth in pairs(p):
            if own == 0 and smooth > 0:
                got = posterior(p, "model")
                far = float(np.max(got.mean[[3, 7]] ** 2))
                variance = vector @ got.covariance @ vector
                assert 0.95 < variance < (1.05 if far < 0.5 else 1 + far), far
                assert vector @ got.mean == pytest.approx(0.0, abs=0.05)
                checked += 1
    assert checked > 3


@pytest.mark.planted
def test_chance_alone_gives_no_direction_back_to_the_prior():
    """Noise of the moments lists such a direction once in about 40 times; the curvature, with its own noise, contradicts it."""
    listed = marked = 0
    for seed in range(200):
        p = seen(seed, USUAL * np.eye(D), 0.002)
        chance = [vector for vector, own, smooth in pairs(p) if own < smooth and (1 - own / smooth) ** 2 > SEEN]
        listed += len(chance)
        law = unseen(p, np.zeros(D), 0.01 * np.eye(D))[1]
        marked += sum(vector @ law @ vector > 0.02 for vector in chance)
    assert marked == 0
    assert listed >= 3


@pytest.mark.planted
def test_rows_that_do_vary_little_are_given_back_whatever_noise_the_curvature_has():
    for bent in (0.0005, 0.02):
        marked = 0
        for seed in range(12):
            law = unseen(p := seen(seed, alike(), bent), np.zeros(D), 0.01 * np.eye(D))[1]
            marked += float(np.linalg.eigvalsh(law)[-1]) > 0.3 and len(pairs(p)) > 0
        assert marked >= 7, (bent, marked)
