"""Second derivatives of the losses: against differences of 40 digits, within their bound at any score, and in documents."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import sfumato as sf
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError
from sfumato.models.losses import LOSSES
from sfumato.models.losses.labels import LabelSet
from sfumato.models.losses.protocol import ScalarLinkLoss, Target


def pseudo_huber() -> sf.losses.ScalarLink:
    """A user's loss, whose curvature (1 + e^2)^(-3/2) is left to the difference quotient."""
    return sf.losses.ScalarLink(
        lambda u, y: np.hypot(1.0, u - y),
        lambda u, y: (u - y) / np.hypot(1.0, u - y),
        labels=(-1.0, 2.0),
        radius=1.2,
        derivative_bound=1.0,
        curvature_bound=1.0,
        convex=True,
    )


SMOOTH = {
    "logistic": sf.losses.Logistic(1.5),
    "huber": sf.losses.Huber(1.5, clip=0.7),
    "smoothed-hinge": sf.losses.SmoothedHinge(1.5, width=0.3),
    "smoothed-quantile": sf.losses.SmoothedQuantile(1.5, quantile=0.8, width=0.3),
    "clipped-poisson": sf.losses.ClippedPoisson(1.5, clip=2.0, label_bound=9.0),
    "clipped-cloglog": sf.losses.ClippedCloglog(1.5, clip=2.0),
    "clipped-cloglog, low": sf.losses.ClippedCloglog(1.5, clip=0.45),
    "clipped-probit": sf.losses.ClippedProbit(1.5, clip=45.0),
    "clipped-probit, low": sf.losses.ClippedProbit(0.7, clip=1.2),
    "logit-bernoulli": sf.losses.LogitBernoulli(),
    "custom": pseudo_huber(),
}
# Where a curvature jumps no difference quotient can follow: scores nearer than this to a jump are left out.
NEAR = 1e-3


def labels_of(loss) -> list[float]:
    domain = loss.label_domain
    if isinstance(domain, LabelSet):
        return list(domain.values)
    return [max(domain.lower, -4.0), 0.25, min(domain.upper, 9.0)]


def slope_of(name: str, u, y):
    """Unclipped slope in mpmath, written anew."""
    kind = name.split(",")[0]
    if kind == "logistic":
        return -y / (1 + mpmath.exp(y * u))
    if kind == "logit-bernoulli":
        return 1 / (1 + mpmath.exp(-u)) - y
    if kind in ("huber", "smoothed-quantile"):
        return (u - y) / (1 if kind == "huber" else mpmath.mpf(0.3))
    if kind == "smoothed-hinge":
        return -y * (1 - y * u) / mpmath.mpf(0.3)
    if kind == "clipped-poisson":
        return mpmath.exp(u) - y
    if kind == "clipped-cloglog":
        t = mpmath.exp(u)
        return -t / mpmath.expm1(t) if y > 0.5 else t
    if kind == "custom":
        return (u - y) / mpmath.sqrt(1 + (u - y) ** 2)
    return -y * mpmath.npdf(u) / mpmath.ncdf(y * u)


def limits(name: str, loss, y: float) -> tuple[float, float]:
    """Where the slope is clipped."""
    kind = name.split(",")[0]
    if kind == "smoothed-quantile":
        return -0.8, 0.2
    if kind == "smoothed-hinge":
        return min(-y, 0.0), max(-y, 0.0)
    clip = getattr(loss, "clip", math.inf)
    return -clip, clip


def exact(name: str, loss, u: float, y: float) -> float | None:
    """phi'' by a central difference in 40 digits, 0 beyond a clip; None too near a jump."""
    with mpmath.workdps(40):
        lower, upper = limits(name, loss, y)
        places = [slope_of(name, mpmath.mpf(u) + shift, y) for shift in (-NEAR, 0, NEAR)]
        inside = [lower < place < upper for place in places]
        if len(set(inside)) == 2:
            return None
        if not inside[0]:
            return 0.0
        h = mpmath.mpf(10) ** -12
        return float((slope_of(name, u + h, y) - slope_of(name, u - h, y)) / (2 * h))


def test_every_smooth_loss_of_one_score_is_tested_here():
    known = {name for name, loss in LOSSES.items() if issubclass(loss, ScalarLinkLoss)}
    assert {name.split(",")[0] for name in SMOOTH} == (known | {"custom"}) - {"hinge", "quantile"}


@pytest.mark.parametrize("name", list(SMOOTH))
def test_the_curvature_is_the_derivative_of_the_slope(name):
    loss = SMOOTH[name]
    scores = [*np.linspace(-6.0, 6.0, 61), -44.0, -37.0, -30.5, -29.5, 29.5, 36.0]
    seen = []
    for y in labels_of(loss):
        for u in scores:
            wanted = exact(name, loss, float(u), y)
            if wanted is not None:
                # The quotient of floats is off by the rounding of two slopes over its step.
                loose = name in ("custom", "logit-bernoulli")
                found = float(loss.curvature(u, y))
                assert found == pytest.approx(wanted, rel=1e-9 if loose else 1e-11, abs=1e-9 if loose else 1e-15)
                seen.append(wanted)
    assert len(seen) > 100
    assert max(seen) > 0.2 * loss.largest_curvature()


@pytest.mark.parametrize("name", list(SMOOTH))
def test_the_curvature_is_finite_and_within_its_bound_at_any_score(name):
    loss = SMOOTH[name]
    most = loss.largest_curvature()
    assert most == loss.constants().smoothness / loss.radius**2
    assert loss.largest_slope() == loss.constants().lipschitz / loss.radius

    @given(st.lists(st.floats(allow_nan=False) | st.floats(-50, 50), min_size=1), st.sampled_from(labels_of(loss)))
    def check(scores, label):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = loss.curvature(np.array(scores), label)
        assert found.shape == (len(scores),)
        assert np.isfinite(found).all()
        assert ((found >= 0) & (found <= most)).all()

    check()
    far = loss.curvature(np.array([math.inf, -math.inf, 1e308, -1e308, 1e16]), labels_of(loss)[0])
    np.testing.assert_array_equal(far[np.array([0, 2, 4])], 0.0)


def test_scores_and_labels_are_broadcast():
    for loss in SMOOTH.values():
        labels = np.array(labels_of(loss))
        table = loss.curvature(np.linspace(-2, 2, 5)[:, None], labels[None, :])
        assert table.shape == (5, len(labels))
        np.testing.assert_array_equal(table[:, -1], loss.curvature(np.linspace(-2, 2, 5), labels[-1]))


def test_the_quotient_of_a_loss_from_outside_is_bounded_by_what_it_declares():
    class Steep(sf.losses.Logistic):
        """Slopes four times as steep as the constants say."""

        curvature = ScalarLinkLoss.curvature

        def derivative(self, u, y):
            return 4 * special.expit(u) - y

    assert float(Steep(1.0).curvature(0.0, 1.0)) == 0.25
    assert float(Steep(1.0).curvature(4.0, 1.0)) == pytest.approx(4 * special.expit(4) * special.expit(-4), rel=1e-8)


# --- declared bounds of Huber's labels -------------------------------------------------------------------------------


def test_a_huber_loss_without_bounds_has_the_document_of_old():
    loss = sf.losses.Huber(1.5, clip=0.7)
    assert loss.to_json() == {"loss": "huber", "radius": 1.5, "clip": 0.7}
    assert list(loss.to_json()) == ["loss", "radius", "clip"]
    assert not loss.label_domain.bounded


def test_declared_bounds_are_in_the_document_and_read_back():
    loss = sf.losses.Huber(1.5, clip=0.7, lower=-1, upper=3)
    document = loss.to_json()
    assert document == {"loss": "huber", "radius": 1.5, "clip": 0.7, "lower": -1.0, "upper": 3.0}
    assert LOSSES[document.pop("loss")](**document) == loss
    assert (loss.label_domain.lower, loss.label_domain.upper) == (-1.0, 3.0)
    assert loss.constants() == sf.losses.Huber(1.5, clip=0.7).constants()
    drawn = loss.simulate(np.full((500, 1), 2.9), np.random.default_rng(1))
    assert drawn.max() == 3.0
    assert replace(loss, clip=0.1).upper == 3.0


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        ({"lower": 0.0}, "both or neither"),
        ({"upper": 0.0}, "both or neither"),
        ({"lower": 2.0, "upper": 2.0}, "lower must be below upper"),
        ({"lower": -math.inf, "upper": 2.0}, "lower must be finite"),
        ({"lower": 0.0, "upper": math.nan}, "upper"),
        ({"lower": True, "upper": 2.0}, "lower"),
    ],
)
def test_bounds_of_labels_that_make_no_sense_are_refused(bounds, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        sf.losses.Huber(1.0, 1.0, **bounds)


def test_a_spec_file_passes_the_bounds_of_its_target():
    loss = sf.losses.Huber.from_spec(2.0, Target("y", sf.Number(-1, 5), {"regression": "linear"}))
    assert (loss.lower, loss.upper, loss.clip) == (-1.0, 5.0, 3.0)


def test_a_target_with_wider_bounds_than_the_loss_declares_is_refused():
    rows = np.full((4, 2), 0.5)
    for target, fits in ((sf.Number(-1, 3), True), (sf.Number(-1, 3.5), False), (sf.Number(-2, 3), False)):
        schema = sf.Schema.vector(2, data_norm=1.0, target=target)
        data = sf.Dataset.from_arrays(rows, np.zeros(4), schema=schema)
        model = sf.Gibbs(sf.losses.Huber(1.0, 1.0, -1.0, 3.0), sf.priors.Gaussian(1.0), 2)
        if fits:
            assert open_engine(data, model, ("gradients",)).n == 4
        else:
            with pytest.raises(ArgumentError, match=r"the loss takes labels in \[-1, 3\]"):
                open_engine(data, model, ("gradients",))
