"""The estimated curvature: its error is smaller than that of either source and is what it says."""

from __future__ import annotations

import numpy as np
import pytest
from path_oracle import published, symmetric
from scipy.integrate import quad
from scipy.stats import norm

from sfumato.shapes.curvature import cleaned, combine, estimate, noisy_variance, positive, rotated

D, NOISE, MOMENTS = 24, 0.004, 0.01
OWN = np.geomspace(0.05, 0.4, D)


def case(rng, curvature, own=OWN, noise=NOISE):
    """A published curvature of the given truth, in the basis of noisy moments."""
    values, vectors = np.linalg.eigh(np.diag(own) + symmetric(rng, D, MOMENTS))
    return published(
        matrix=np.eye(D),
        values=values,
        vectors=vectors,
        own=np.maximum(values, 0),
        resolved=values > MOMENTS * np.sqrt(2 * D),
        moments_noise=MOMENTS,
        average=rng.normal(size=D),
        gradient=np.zeros(D),
        curvature=curvature + symmetric(rng, D, noise),
        curvature_noise=noise,
        precision=np.eye(D),
        centre=np.zeros(D),
    )


def matrix(shape):
    return (shape.vectors * shape.values) @ shape.vectors.T


def test_the_estimate_is_nearer_than_the_noisy_curvature_and_states_its_error():
    rng = np.random.default_rng(5)
    true = np.diag(0.15 * OWN)
    errors, stated = [], []
    for _ in range(20):
        p = case(rng, true)
        shape = estimate(p)
        errors.append(np.sum((matrix(shape) - true) ** 2))
        stated.append(shape.variance.sum())
    noisy = noisy_variance(D, NOISE).sum()
    # The squared noise of 300 entries scatters by a tenth: half is far outside.
    assert np.mean(errors) < 0.5 * noisy
    # The stated error adds one standard error of the scale of the misfit, so it may exceed; it must not fall short.
    assert np.mean(errors) < np.mean(stated) < 3 * np.mean(errors)


def test_a_direction_without_curvature_is_seen_beyond_the_noise():
    rng = np.random.default_rng(6)
    flat = np.full(D, 0.3)
    true = 0.15 * (np.diag(flat) - 0.28 * np.ones((D, D)) / D)
    empty = np.ones(D) / np.sqrt(D)
    shape = estimate(case(rng, true, own=flat, noise=0.001))
    # True .003; the other directions have .045; the noise along one direction has deviation .001.
    assert empty @ matrix(shape) @ empty == pytest.approx(0.003, abs=0.004)


def test_moments_along_noisy_eigenvectors():
    rng = np.random.default_rng(7)
    gaps, raw = [], []
    for _ in range(20):
        p = case(rng, np.eye(D))
        true = np.einsum("ij,i,ij->j", p.vectors, OWN, p.vectors)
        gaps.append(np.mean((cleaned(p) - true) ** 2))
        raw.append(np.mean((p.values - true) ** 2))
    assert np.mean(gaps) < 0.8 * np.mean(raw)


def test_variances_turn_with_the_basis():
    rng = np.random.default_rng(8)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    assert rotated(noisy_variance(5, 0.3), turn) == pytest.approx(noisy_variance(5, 0.3), rel=1e-12)
    single = np.zeros((5, 5))
    single[2, 2] = 1.0
    assert np.diag(rotated(single, turn)) == pytest.approx(turn[2] ** 4, rel=1e-12)


def test_entries_are_combined_by_their_precisions():
    mean, variance = combine(np.array([1.0]), np.array([4.0]), np.array([2.0]), np.array([1.0]))
    assert mean == pytest.approx([1.8])
    assert variance == pytest.approx([0.8])


@pytest.mark.parametrize(("mean", "deviation"), [(1.0, 0.5), (-1.0, 0.5), (0.0, 2.0)])
def test_a_positive_normal_has_this_mean(mean, deviation):
    law = norm(mean, deviation)
    expected = quad(lambda v: v * law.pdf(v), 0, mean + 12 * deviation)[0] / law.sf(0)
    assert positive(np.array([mean]), np.array([deviation])) == pytest.approx([expected], rel=1e-6)
    assert positive(np.array([40 * deviation]), np.array([deviation])) == pytest.approx([40 * deviation])
