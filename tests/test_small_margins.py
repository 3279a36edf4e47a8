"""Small terms that a bound needs to be a bound: left out or weakened, each of them makes some exact value exceed it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import sfumato as sf
from sfumato.errors import LossRejected
from sfumato.mechanisms import joint
from sfumato.models.losses.scalar_link import ScalarLink
from sfumato.queries import regret_bounds
from sfumato.theorems import metric_examples


@pytest.mark.parametrize("ones", [0, 100, 2_000, 10**6])
def test_public_records_make_no_possible_parameter_impossible(ones):
    """However improbable a rate becomes, private records may still speak for it: only what is impossible leaves."""
    model = sf.families.Finite.bernoulli(0.1)
    public = model.updated([10**6 - ones, ones], 10**6)
    assert public.kept == model.kept
    assert min(public.prior) >= 1e-301
    certain = sf.families.Finite([[0.0, -math.inf], [math.log(0.5)] * 2], [0.0, 0.5], lipschitz=1.0)
    assert certain.updated([3, 1], 4).prior[0] == 0


def exact_softmax_bound(radius: float, classes: int, domain: float):
    """The largest loss minus the smallest, by the formula of the proof in 50 digits."""
    reach, others = mpf(radius) * mpf(domain), mpf(classes - 1)
    most = mp.log1p(others * mp.exp(mp.sqrt(2) * reach))
    return most - mp.log1p(others * mp.exp(-reach * mp.sqrt(mpf(classes) / others)))


def test_the_softmax_bound_is_never_below_the_exact_one():
    mp.dps = 50
    rng = np.random.default_rng(3)
    for _ in range(400):
        radius, domain = (float(10 ** rng.uniform(-4, 1.5)) for _ in range(2))
        classes = int(rng.integers(2, 50))
        found = sf.losses.Softmax(radius, classes).constants(domain_radius=domain).bound
        exact = exact_softmax_bound(radius, classes, domain)
        assert mpf(found) >= exact, (radius, classes, domain)
        assert mpf(found) <= exact * (1 + mpf("1e-13")) + mpf("1e-13")


def wavy(depth: float) -> ScalarLink:
    """log cosh(u), whose derivative settles at 1, with a wave in it: convex only where the wave is not there."""
    value = lambda u, y: np.logaddexp(u, -u) - math.log(2) + depth * np.cos(u) + 0 * y
    slope = lambda u, y: np.tanh(u) - depth * np.sin(u) + 0 * y
    return ScalarLink(value, slope, [0.0], 1.0, 1.0 + depth, 1.0 + depth, convex=True, name="wavy")


@pytest.mark.parametrize("depth", [1e-10, 1e-8, 1e-6, 1e-3])
def test_a_derivative_that_falls_by_more_than_rounding_is_not_convex(depth):
    with pytest.raises(LossRejected, match="convexity"):
        wavy(depth)
    assert wavy(0.0).convex


@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_the_information_of_a_kinked_loss_is_shared_by_the_coordinates(dimension):
    """Rows of norm r that point everywhere: the mean square of one coordinate of the gradient is its norm's over d."""
    radius = 1.5
    rows = np.random.default_rng(dimension).normal(size=(20_000, dimension))
    rows *= radius / np.linalg.norm(rows, axis=1, keepdims=True)
    model = sf.Gibbs(sf.losses.Hinge(radius), sf.priors.Gaussian(1.0), dimension)
    assert joint.information(model) == pytest.approx((rows**2).mean(), rel=1e-9)
    smooth = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(1.0), dimension)
    assert joint.information(smooth) == pytest.approx((rows**2).mean() / 4, rel=1e-9)


@pytest.mark.parametrize("eta", [0.0, 1e-6, 0.01, 0.1, 0.3, 1.0, 400.0])
@pytest.mark.parametrize("sampling", [1e-3, 0.05, 0.4, 0.8, 0.99])
def test_no_bound_on_the_reweighted_loss_is_smaller_than_both_that_are_proved(sampling, eta):
    """Below 1, s e^(2 eta) is never above s + 4 tanh(eta/2): with y = e^eta + 1 that is (3 y - 2)(y - 2) >= 0."""
    mp.dps = 30
    s, e = mpf(sampling), mpf(eta)
    proved = min(mpf(1), s * mp.exp(2 * e), s + 4 * mp.tanh(e / 2))
    found = regret_bounds.reweighted_loss(sampling=sampling, log_ratio=eta)
    assert proved <= found <= min(1, proved * (1 + mpf("1e-11")))


@pytest.mark.parametrize("size", [3, 7, 10, 49, 1000])
@pytest.mark.parametrize("below", [0, 1, 2, 5, 1000])
def test_the_span_of_a_table_with_almost_equal_shares_is_not_rounded_down(size, below):
    """1 - c floor keeps no digit there: ln((1 - (c - 1) floor)/floor) of the float that was given, in 40 digits."""
    mp.dps = 40
    floor = 1 / size
    for _ in range(below):
        floor = math.nextafter(floor, 0.0)
    if mpf(floor) * size > 1:
        floor = math.nextafter(floor, 0.0)
    exact = mp.log((1 - (size - 1) * mpf(floor)) / mpf(floor))
    found = metric_examples.discrete_network(parents=[[]], cardinalities=[size], floor=floor).lipschitz
    assert exact <= mpf(found) <= exact * (1 + mpf("1e-11")) + mpf("1e-15") * size
