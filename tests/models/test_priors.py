"""Priors: curvature on the safe side, domains, starts, refusals."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ArgumentError
from sfumato.models.priors import Ball, Box, Flat, Gaussian, Prior


def random_precision(seed: int, dimension: int, spread: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    matrix = basis @ np.diag(np.geomspace(1.0, spread, dimension)) @ basis.T
    return (matrix + matrix.T) / 2


def exact_eigenvalues(matrix: np.ndarray) -> list[Any]:
    with mpmath.workdps(50):
        return sorted(mpmath.eigsy(mpmath.matrix(matrix.tolist()), eigvals_only=True))


PRIORS: dict[str, Any] = {
    "number": Gaussian(32.0),
    "number and mean": Gaussian(2.0, mean=[1.0, -1.0]),
    "diagonal": Gaussian([1.0, 4.0, 2.0]),
    "matrix": Gaussian(random_precision(0, 3, 50.0), mean=np.array([0.5, 0.0, -2.0])),
    "flat": Flat(),
    "ball": Ball(Gaussian(2.0), 3.0),
    "ball off centre": Ball(Gaussian(2.0, mean=[4.0, 0.0]), 1.0, centre=[0.0, 3.0]),
    "flat ball": Ball(Flat(), 0.5),
    "box": Box(Gaussian([1.0, 4.0]), -1.0, 2.0),
    "flat box": Box(Flat(), [-1.0, 2.0, 0.0], [1.0, 5.0, 0.5]),
}


@pytest.mark.parametrize("name", PRIORS)
def test_every_prior_goes_through_one_battery(name: str) -> None:
    prior = PRIORS[name]
    assert isinstance(prior, Prior)
    assert prior.convex_domain is True
    assert prior.truncated is isinstance(prior, (Ball, Box))
    assert hash(prior) == hash(prior.scaled(1.0))
    assert prior == prior.scaled(1.0)
    assert json.loads(json.dumps(prior.to_json(), allow_nan=False)) == prior.to_json()
    assert str(prior)
    with pytest.raises(AttributeError):
        prior.start = (0.0,)
    with pytest.raises(ArgumentError, match="factor"):
        prior.scaled(0.0)


@pytest.mark.parametrize("name", PRIORS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_gradient_keeps_within_the_declared_curvature(name: str, seed: int) -> None:
    prior = PRIORS[name]
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 20, prior.dimension or 3)) * 5
    rise, apart = prior.gradient(a) - prior.gradient(b), a - b
    product, square = np.sum(rise * apart, axis=1), np.sum(apart * apart, axis=1)
    assert np.all(product >= prior.strong_convexity * square * (1 - 1e-12) - 1e-12)
    assert np.all(np.linalg.norm(rise, axis=1) <= prior.smoothness * np.sqrt(square) * (1 + 1e-12) + 1e-12)


@pytest.mark.parametrize("name", PRIORS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 3.0, 1e3, 1e200]))
def test_projection_is_into_the_domain_idempotent_and_nearest(name: str, seed: int, scale: float) -> None:
    prior = PRIORS[name]
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(30, prior.dimension or 3)) * scale
    inside = prior.project(theta)
    if not prior.truncated:
        assert np.array_equal(inside, theta)
        return
    assert np.linalg.norm(inside, axis=1).max() <= prior.domain_radius * (1 + 1e-14)
    assert inside == pytest.approx(prior.project(inside), rel=1e-13, abs=1e-13)
    # The nearest point of a convex set: no point of the set is on the far side.
    others = prior.project(rng.normal(size=theta.shape) * 10)
    reach = np.abs(theta).max(axis=1) + 1.0
    assert np.all(np.sum((theta - inside) / reach[:, None] * (others - inside), axis=1) <= 1e-12)


@pytest.mark.parametrize("name", PRIORS)
def test_the_start_is_a_public_point_of_the_domain(name: str) -> None:
    prior = PRIORS[name]
    if prior.start is None:
        inside = prior.project(np.zeros(3))
        assert np.array_equal(inside, np.zeros(3))
        assert np.array_equal(prior.gradient(np.zeros(3)), np.zeros(3))
    else:
        assert all(type(entry) is float for entry in prior.start)
        assert np.array(prior.start) == pytest.approx(prior.project(prior.start), rel=1e-14)


def test_starts_are_the_mean_moved_into_the_domain() -> None:
    assert Gaussian(1.0, mean=[1, 2]).start == (1.0, 2.0)
    assert Gaussian(1.0).start is None
    assert Ball(Gaussian(1.0), 2.0).start is None
    assert Ball(Gaussian(1.0, mean=[3.0, 4.0]), 1.0).start == pytest.approx((0.6, 0.8))
    assert Ball(Gaussian(1.0), 1.0, centre=[3.0, 0.0]).start == pytest.approx((2.0, 0.0))
    assert Box(Gaussian(1.0, mean=[3.0, -4.0]), -1.0, 2.0).start == (2.0, -1.0)
    assert Box(Flat(), [1.0, -1.0], [2.0, 1.0]).start == (1.0, 0.0)


def test_domains_reach_as_far_as_their_farthest_point() -> None:
    assert Gaussian(1.0).domain_radius == Flat().domain_radius == math.inf
    assert Ball(Flat(), 2.5).domain_radius == 2.5
    assert Ball(Flat(), 1.0, centre=[3.0, 4.0]).domain_radius == 6.0
    assert Box(Flat(), [-3.0, -1.0], [1.0, 4.0]).domain_radius == 5.0
    centre = [0.1, 0.2, 0.3]
    exact = sum(Fraction(c) ** 2 for c in centre)
    assert (Fraction(Ball(Flat(), 0.7, centre).domain_radius) - Fraction(0.7)) ** 2 >= exact
    assert Fraction(Box(Flat(), [-1.0] * 3, centre).domain_radius) ** 2 >= 3


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), dimension=st.integers(1, 8), power=st.floats(0, 10))
def test_eigenvalues_of_a_matrix_are_rounded_outwards(seed: int, dimension: int, power: float) -> None:
    matrix = random_precision(seed, dimension, 10.0**power)
    prior = Gaussian(matrix)
    exact = exact_eigenvalues(np.array(prior.precision))
    assert mpmath.mpf(prior.strong_convexity) <= exact[0]
    assert mpmath.mpf(prior.smoothness) >= exact[-1]
    # And by no more than twice the allowance of 16 (d + 1) 2^-53 |P|.
    allowance = 2 * 16 * (dimension + 1) * 2.0**-53 * float(np.linalg.norm(matrix))
    assert prior.strong_convexity >= float(exact[0]) - allowance
    assert prior.smoothness <= float(exact[-1]) + allowance


def test_numbers_and_diagonals_are_exact() -> None:
    assert (Gaussian(0.1).strong_convexity, Gaussian(0.1).smoothness) == (0.1, 0.1)
    diagonal = Gaussian([0.3, 0.1, 7.0])
    assert (diagonal.strong_convexity, diagonal.smoothness, diagonal.dimension) == (0.1, 7.0, 3)
    assert (Flat().strong_convexity, Flat().smoothness, Flat().dimension) == (0.0, 0.0, None)


def test_the_kinds_of_precision_agree() -> None:
    theta = np.array([[1.0, -2.0], [0.5, 4.0]])
    mean = [0.25, -1.0]
    by_number, by_vector, by_matrix = (Gaussian(p, mean) for p in (3.0, [3.0, 3.0], 3.0 * np.eye(2)))
    assert np.array_equal(by_number.gradient(theta), by_vector.gradient(theta))
    assert np.array_equal(by_number.gradient(theta), by_matrix.gradient(theta))
    full = Gaussian([[2.0, 1.0], [1.0, 3.0]], mean)
    assert full.gradient(theta[0]) == pytest.approx(np.array([[2.0, 1.0], [1.0, 3.0]]) @ (theta[0] - mean))


def test_scaling_multiplies_the_precision_and_keeps_mean_and_domain() -> None:
    prior = Ball(Gaussian([[2.0, 1.0], [1.0, 3.0]], mean=[1.0, 0.0]), 2.0)
    scaled = prior.scaled(2.5)
    assert scaled.prior.precision == ((5.0, 2.5), (2.5, 7.5))
    assert scaled.prior.mean == (1.0, 0.0)
    assert scaled.radius == 2.0
    assert scaled.strong_convexity == pytest.approx(2.5 * prior.strong_convexity, rel=1e-13)
    assert Gaussian(2.0).scaled(0.5) == Gaussian(1.0)
    assert Gaussian([1.0, 2.0]).scaled(3) == Gaussian([3.0, 6.0])
    assert Box(Gaussian(2.0, mean=[0.0]), 0.0, 1.0).scaled(4.0) == Box(Gaussian(8.0, mean=[0.0]), 0.0, 1.0)


WRONG: list[tuple[Any, str]] = [
    (lambda: Gaussian(0.0), "precision"),
    (lambda: Gaussian(-1.0), "precision"),
    (lambda: Gaussian(math.nan), "precision"),
    (lambda: Gaussian(math.inf), "precision"),
    (lambda: Gaussian(True), "precision"),
    (lambda: Gaussian("one"), "precision"),
    (lambda: Gaussian([1.0, 0.0]), r"precision\[1\]"),
    (lambda: Gaussian([]), "precision"),
    (lambda: Gaussian(None), "precision"),
    (lambda: Gaussian([1.0, [2.0]]), "precision"),
    (lambda: Gaussian(["1", "2"]), "precision"),
    (lambda: Gaussian(1.0, mean=np.eye(2)), "mean"),
    (lambda: Gaussian(1.0, mean="ab"), "mean"),
    (lambda: Box(Gaussian([1.0]), None, 1.0), "lower"),
    (lambda: Gaussian(np.ones((2, 2, 2))), "precision"),
    (lambda: Gaussian([[1.0, 2.0]]), "square"),
    (lambda: Gaussian([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
    (lambda: Gaussian([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
    (lambda: Gaussian([[1.0, 1.0], [1.0, 1.0]]), "positive definite"),
    (lambda: Gaussian([[1.0, math.nan], [math.nan, 1.0]]), "finite"),
    (lambda: Gaussian([1.0, 2.0], mean=[0.0]), "one dimension"),
    (lambda: Gaussian(1.0, mean=[math.inf]), "mean"),
    (lambda: Gaussian(1.0, mean=3.0), "mean"),
    (lambda: Ball(Gaussian(1.0), 0.0), "radius"),
    (lambda: Ball(Gaussian(1.0), math.inf), "radius"),
    (lambda: Ball(Gaussian([1.0, 1.0]), 1.0, centre=[0.0]), "one dimension"),
    (lambda: Ball(Ball(Flat(), 1.0), 1.0), "not truncated yet"),
    (lambda: Ball(None, 1.0), "not truncated yet"),
    (lambda: Box(Ball(Flat(), 1.0), [0.0], [1.0]), "not truncated yet"),
    (lambda: Box(Flat(), 0.0, 1.0), "lower or upper must be a vector"),
    (lambda: Box(Flat(), [0.0, 1.0], [1.0, 1.0]), "below upper"),
    (lambda: Box(Flat(), [0.0, 1.0], [1.0, 2.0, 3.0]), "one dimension"),
    (lambda: Box(Flat(), [0.0], [math.inf]), "upper"),
    (lambda: Box(Gaussian([1.0, 1.0]), -math.inf, 1.0), "lower"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_what_is_no_prior_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_priors_print_shortly() -> None:
    assert str(Gaussian(32.0)) == "Gaussian(precision 32)"
    assert repr(Gaussian(32)) == "Gaussian(precision=32.0, mean=None)"
    assert str(Ball(Gaussian(2.0, mean=[1.0]), 3.0)) == "Gaussian(precision 2, public mean) on a ball of radius 3"
    assert len(str(Gaussian(np.eye(50)))) < 60
