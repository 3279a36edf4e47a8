"""The model: constants of the potential on the safe side, dimensions that agree, posteriors that exist."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ArgumentError, AssumptionError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses import (
    ClippedPoisson,
    GaussianMean,
    Hinge,
    Huber,
    Logistic,
    LogitBernoulli,
    ScalarLink,
    Softmax,
)
from sfumato.models.priors import Ball, Box, Flat, Gaussian

powers = st.floats(1e-12, 10.0)
counts = st.integers(1, 10**9)
positive = st.floats(1e-6, 1e6)


def sigmoid_loss() -> ScalarLink:
    def slope(u: Any, y: Any) -> Any:
        return -y * np.exp(-np.logaddexp(0, y * u) - np.logaddexp(0, -y * u))

    return ScalarLink(
        lambda u, y: np.exp(-np.logaddexp(0, y * u)), slope, (-1, 1), 1.0, 0.25, 0.1, convex=False, name="sigmoid"
    )


@given(radius=positive, clip=positive, precision=positive, n=counts, power=powers)
def test_constants_of_the_potential_are_rounded_to_the_safe_side(
    radius: float, clip: float, precision: float, n: int, power: float
) -> None:
    model = Gibbs(Huber(radius, clip), Gaussian(precision))
    exact_g = 2 * Fraction(clip) * Fraction(radius) * Fraction(power)
    exact_m = Fraction(precision)
    exact_big = n * Fraction(radius) ** 2 * Fraction(power) + Fraction(precision)
    assert exact_g <= Fraction(model.difference(power)) <= exact_g * (1 + Fraction(1, 2**50))
    assert Fraction(model.strong_convexity(n, power)) == exact_m
    assert exact_big <= Fraction(model.smoothness(n, power)) <= exact_big * (1 + Fraction(1, 2**50))


@given(radius=positive, precision=positive, n=counts, power=powers)
def test_a_strongly_convex_loss_adds_to_the_prior_rounded_down(
    radius: float, precision: float, n: int, power: float
) -> None:
    model = Gibbs(GaussianMean(radius), Gaussian(precision))
    exact = n * Fraction(power) + Fraction(precision)
    lowest, highest = model.strong_convexity(n, power), model.smoothness(n, power)
    assert exact * (1 - Fraction(1, 2**52)) <= Fraction(lowest) <= exact <= Fraction(highest)
    assert lowest <= highest


def test_the_adult_numbers() -> None:
    model = Gibbs(Logistic(math.sqrt(2)), Gaussian(32.6), dimension=101)
    assert model.difference(0.1) == pytest.approx(0.2 * math.sqrt(2))
    assert model.strong_convexity(32561, 0.1) == 32.6
    assert model.smoothness(32561, 0.1) == pytest.approx(32561 * 0.05 + 32.6)


def test_a_loss_that_is_not_smooth_has_no_smoothness() -> None:
    assert Gibbs(Hinge(1.0), Gaussian(1.0)).smoothness(10, 0.5) == math.inf
    assert Gibbs(ClippedPoisson(1.0, 2.0), Gaussian(1.0)).smoothness(10, 0.5) == math.inf
    assert Gibbs(ClippedPoisson(1.0, 2.0, 4.0), Gaussian(1.0)).smoothness(10, 0.5) == 31.0


def test_a_loss_that_is_not_convex_has_no_strong_convexity() -> None:
    model = Gibbs(sigmoid_loss(), Gaussian(1.0))
    assert model.constants.convex is False
    assert model.difference(1.0) == 0.5
    with pytest.raises(AssumptionError, match="convexity of every loss"):
        model.strong_convexity(10, 1.0)


def test_the_domain_reaches_the_constants() -> None:
    assert Gibbs(Logistic(2.0), Gaussian(1.0)).constants.bound == math.inf
    assert Gibbs(Logistic(2.0), Ball(Gaussian(1.0), 3.0)).constants.bound == 6.0
    assert Gibbs(Logistic(2.0), Box(Flat(), [-3.0, -4.0], [0.0, 1.0])).constants.bound == 10.0
    assert Gibbs(GaussianMean(2.0), Ball(Gaussian(1.0), 3.0)).constants.lipschitz == 5.0


def test_the_dimension_is_taken_from_wherever_it_is_known() -> None:
    assert Gibbs(Logistic(1.0), Gaussian(1.0)).dimension is None
    assert Gibbs(Logistic(1.0), Gaussian(1.0), dimension=5).dimension == 5
    assert Gibbs(Logistic(1.0), Gaussian([1.0, 2.0])).dimension == 2
    assert Gibbs(LogitBernoulli(), Gaussian(1.0)).dimension == 1
    assert Gibbs(Softmax(1.0, 3), Gaussian(1.0), dimension=12).dimension == 12


def test_one_dimension_makes_logistic_cheaper_and_no_other_does() -> None:
    assert Gibbs(Logistic(1.0), Gaussian(1.0), dimension=1).difference(1.0) == pytest.approx(1.0516339916)
    for dimension in (None, 2, 100):
        assert Gibbs(Logistic(1.0), Gaussian(1.0), dimension=dimension).difference(1.0) == 2.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gibbs(Logistic(1.0), Gaussian([1.0, 2.0]), dimension=3), "one dimension"),
        (lambda: Gibbs(LogitBernoulli(), Gaussian(1.0), dimension=2), "one dimension"),
        (lambda: Gibbs(LogitBernoulli(), Gaussian([1.0, 2.0])), "one dimension"),
        (lambda: Gibbs(Softmax(1.0, 3), Gaussian(1.0), dimension=10), "multiple of 3"),
        (lambda: Gibbs(Logistic(1.0), Gaussian(1.0), dimension=0), "dimension"),
        (lambda: Gibbs(Logistic(1.0), Gaussian(1.0), dimension=2.0), "dimension"),
        (lambda: Gibbs("logistic", Gaussian(1.0)), "loss must be"),
        (lambda: Gibbs(Logistic(1.0), 1.0), "prior must be"),
        (lambda: Gibbs(Logistic(1.0), Gaussian(1.0)).difference(0.0), "power"),
        (lambda: Gibbs(Logistic(1.0), Gaussian(1.0)).strong_convexity(0, 1.0), "n must be"),
        (lambda: Gibbs(Logistic(1.0), Gaussian(1.0)).smoothness(10, math.inf), "power"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_an_improper_posterior_is_refused() -> None:
    with pytest.raises(AssumptionError, match="proper posterior"):
        Gibbs(Logistic(1.0), Flat())
    assert Gibbs(Logistic(1.0), Ball(Flat(), 1.0)).strong_convexity(10, 1.0) == 0.0
    assert Gibbs(GaussianMean(1.0), Flat()).strong_convexity(10, 0.5) == 5.0


def test_with_prior_keeps_loss_and_dimension() -> None:
    model = Gibbs(Logistic(1.0), Gaussian(1.0), dimension=4)
    stronger = model.with_prior(model.prior.scaled(3.0))
    assert stronger == Gibbs(Logistic(1.0), Gaussian(3.0), dimension=4)
    with pytest.raises(ArgumentError, match="one dimension"):
        model.with_prior(Gaussian([1.0, 1.0]))


def test_documents_and_printing() -> None:
    model = Gibbs(Logistic(1.0), Ball(Gaussian(32.0), 5.0), dimension=4)
    document = model.to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document == {
        "model": "gibbs",
        "loss": {"loss": "logistic", "radius": 1.0},
        "prior": {
            "prior": "ball",
            "of": {"prior": "gaussian", "precision": 32.0, "mean": None},
            "radius": 5.0,
            "centre": None,
        },
        "dimension": 4,
        "intercept": 0.0,
    }
    assert "Logistic(radius=1.0)" in str(model)
    assert "4 dimensions" in str(model)
    assert "any dimension" in str(Gibbs(Logistic(1.0), Gaussian(1.0)))
    assert repr(model).startswith("Gibbs(loss=Logistic(radius=1.0)")
    assert hash(model) == hash(Gibbs(Logistic(1.0), Ball(Gaussian(32.0), 5.0), dimension=4))
    custom = Gibbs(sigmoid_loss(), Gaussian(1.0)).to_json()
    assert json.loads(json.dumps(custom, allow_nan=False)) == custom
