"""A user's own loss: right ones are accepted, and each kind of wrong one is rejected with a witness that is real."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ArgumentError, AssumptionError, LossRejected
from sfumato.models.losses import (
    ClippedCloglog,
    ClippedPoisson,
    ClippedProbit,
    Hinge,
    Huber,
    LabelInterval,
    LabelSet,
    Logistic,
    LogitBernoulli,
    Quantile,
    ScalarLink,
    ScalarLinkLoss,
    SmoothedHinge,
    SmoothedQuantile,
)

SIGNS = (-1, 1)
WIDE = LabelInterval(-50.0, 50.0)


def sigmoid(u: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -u))


def logistic_value(u: Any, y: Any) -> Any:
    return np.logaddexp(0.0, -y * u)


def logistic_slope(u: Any, y: Any) -> Any:
    return -y * sigmoid(-y * u)


def declare(**changes: Any) -> ScalarLink:
    right: dict[str, Any] = {
        "value": logistic_value,
        "derivative": logistic_slope,
        "labels": SIGNS,
        "radius": 1.0,
        "derivative_bound": 1.0,
        "curvature_bound": 0.25,
        "convex": True,
        "name": "mine",
    }
    return ScalarLink(**(right | changes))


BUILT_IN: list[tuple[ScalarLinkLoss, float, float | None, Any]] = [
    (Logistic(2.0), 1.0, 0.25, None),
    (Hinge(1.0), 1.0, None, None),
    (SmoothedHinge(1.0, 0.3), 1.0, 1 / 0.3, None),
    (Huber(1.0, 1.5), 1.5, 1.0, WIDE),
    (Quantile(1.0, 0.3), 0.7, None, WIDE),
    (SmoothedQuantile(1.0, 0.3, 0.2), 0.7, 5.0, WIDE),
    (ClippedProbit(1.0, 3.0), 3.0, 1.0, None),
    (ClippedCloglog(1.0, 2.0), 2.0, 2.0, None),
    (ClippedCloglog(1.0, 0.3), 0.3, 0.4126, None),
    (ClippedPoisson(1.0, 5.0, 20.0), 5.0, 25.0, None),
    (LogitBernoulli(), 1.0, 0.25, None),
]


@pytest.mark.parametrize(("loss", "slope", "curvature", "labels"), BUILT_IN, ids=[case[0].name for case in BUILT_IN])
def test_every_built_in_loss_is_accepted_as_a_users(
    loss: ScalarLinkLoss, slope: float, curvature: float | None, labels: Any
) -> None:
    mine = ScalarLink(
        loss.value, loss.derivative, labels or loss.label_domain, loss.radius, slope, curvature, convex=True
    )
    assert isinstance(mine, ScalarLinkLoss)
    theirs, own = loss.constants(), mine.constants()
    assert own.lipschitz == pytest.approx(theirs.lipschitz, rel=1e-15)
    assert own.difference == pytest.approx(2 * theirs.lipschitz, rel=1e-15)
    assert own.smoothness == pytest.approx(theirs.smoothness, rel=1e-15)
    assert (own.convex, own.smooth) == (theirs.convex, theirs.smooth)
    assert mine.constants(domain_radius=2.0).bound == pytest.approx(4.0 * own.lipschitz)
    assert np.array_equal(mine.derivative([0.3, -2.0], 1.0), loss.derivative([0.3, -2.0], 1.0))


@pytest.mark.planted
@pytest.mark.parametrize(("loss", "slope", "curvature", "labels"), BUILT_IN, ids=[case[0].name for case in BUILT_IN])
def test_the_same_losses_are_rejected_one_percent_too_low(
    loss: ScalarLinkLoss, slope: float, curvature: float | None, labels: Any
) -> None:
    domain = labels or loss.label_domain
    with pytest.raises(LossRejected, match="bound on the derivative"):
        ScalarLink(loss.value, loss.derivative, domain, loss.radius, 0.99 * slope, curvature, convex=True)
    if curvature is not None and not isinstance(loss, (ClippedProbit, ClippedCloglog)):
        with pytest.raises(LossRejected, match="bound on the curvature"):
            ScalarLink(loss.value, loss.derivative, domain, loss.radius, slope, 0.99 * curvature, convex=True)


def bump(u: Any, at: float, width: float) -> Any:
    return np.where(np.abs(u - at) < width, (1 - ((u - at) / width) ** 2) ** 2, 0.0)


def bump_slope(u: Any, at: float, width: float) -> Any:
    return np.where(np.abs(u - at) < width, -4 * (u - at) / width**2 * (1 - ((u - at) / width) ** 2), 0.0)


def noisy(u: Any, y: Any) -> Any:
    return logistic_slope(u, y) * np.random.default_rng().random(np.shape(u))


# name -> (changes of a right declaration, hypothesis that must be named)
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "bound one percent too low": ({"derivative_bound": 0.99}, "bound on the derivative"),
    "bound a part in a thousand too low": ({"derivative_bound": 0.999}, "bound on the derivative"),
    "curvature one percent too low": ({"curvature_bound": 0.2475}, "bound on the curvature"),
    "derivative of another sign": ({"derivative": lambda u, y: y * sigmoid(-y * u)}, "convexity"),
    "derivative of another loss": (
        {"derivative": lambda u, y: -y * np.clip(0.5 - y * u / 4, 0, 1)},
        "derivative of the value",
    ),
    "derivative off by a constant": (
        {"derivative": lambda u, y: logistic_slope(u, y) + 1e-4, "derivative_bound": 1.01},
        "derivative of the value",
    ),
    "derivative scaled by 1.001": (
        {"derivative": lambda u, y: 1.001 * logistic_slope(u, y), "derivative_bound": 1.01, "curvature_bound": 0.26},
        "derivative of the value",
    ),
    "derivative clipped, value not": (
        {"derivative": lambda u, y: np.clip(logistic_slope(u, y), -0.5, 0.5), "derivative_bound": 0.5},
        "derivative of the value",
    ),
    "derivative wrong for one label of three": (
        {
            "value": lambda u, y: y * np.logaddexp(0.0, u),
            "derivative": lambda u, y: np.where(y == 2, 1.9, y) * sigmoid(u),
            "labels": (0, 1, 2),
            "derivative_bound": 2.0,
            "curvature_bound": 0.5,
        },
        "derivative of the value",
    ),
    "not convex: a sigmoid loss": (
        {"value": lambda u, y: sigmoid(-y * u), "derivative": lambda u, y: -y * sigmoid(-y * u) * sigmoid(y * u)},
        "convexity",
    ),
    "not convex: a cosine of small height": (
        {
            "value": lambda u, y: 0.5 * u + 0.01 * np.cos(u) + 0 * y,
            "derivative": lambda u, y: 0.5 - 0.01 * np.sin(u) + 0 * y,
        },
        "convexity",
    ),
    "not convex in one small place": (
        {
            "value": lambda u, y: np.logaddexp(0.0, -y * u) + 0.002 * bump(u, 7.123, 0.05),
            "derivative": lambda u, y: logistic_slope(u, y) + 0.002 * bump_slope(u, 7.123, 0.05),
            "derivative_bound": 2.0,
            "curvature_bound": 50.0,
        },
        "convexity",
    ),
    "redescending (Tukey's biweight)": (
        {
            "value": lambda u, y: np.where(np.abs(u - y) < 4, (1 - (1 - ((u - y) / 4) ** 2) ** 3) * 16 / 6, 16 / 6),
            "derivative": lambda u, y: np.where(np.abs(u - y) < 4, (u - y) * (1 - ((u - y) / 4) ** 2) ** 2, 0.0),
            "derivative_bound": 2.0,
            "curvature_bound": 2.0,
        },
        "convexity",
    ),
    "kink declared smooth": (
        {"value": Hinge(1).value, "derivative": Hinge(1).derivative, "curvature_bound": 99.0},
        "bound on the curvature",
    ),
    "kink declared smooth with an enormous bound": (
        {"value": Hinge(1).value, "derivative": Hinge(1).derivative, "curvature_bound": 1e7},
        "bound on the curvature",
    ),
    "small kink far from 0 declared smooth": (
        {
            "value": lambda u, y: 1e-3 * np.maximum(u - 13.377, 0) + 0 * y,
            "derivative": lambda u, y: 1e-3 * (u > 13.377) + 0 * y,
            "curvature_bound": 5.0,
        },
        "bound on the curvature",
    ),
    "NaN at 0": (
        {"derivative": lambda u, y: np.where(u == 0, np.nan, logistic_slope(u, y))},
        "finiteness",
    ),
    "value overflows": (
        {"value": lambda u, y: np.log(1 + np.exp(-y * u))},
        "finiteness",
    ),
    "bound broken only far out": (
        {
            "value": lambda u, y: np.where(u < 5000, 0.5 * u, 2500 + 0.75 * (u - 5000)) + 0 * y,
            "derivative": lambda u, y: np.where(u < 5000, 0.5, 0.75) + 0 * y,
            "derivative_bound": 0.6,
            "curvature_bound": None,
        },
        "bound on the derivative",
    ),
    "unbounded (squared loss)": (
        {
            "value": lambda u, y: (u - y) ** 2 / 2,
            "derivative": lambda u, y: u - y,
            "derivative_bound": 100.0,
            "curvature_bound": 1.0,
        },
        "bound on the derivative",
    ),
    "unbounded probit": (
        {
            "value": ClippedProbit(1.0, 1e9).value,
            "derivative": ClippedProbit(1.0, 1e9).derivative,
            "derivative_bound": 1.0,
            "curvature_bound": 1.0,
        },
        "bound on the derivative",
    ),
    "bound broken for one label only": (
        {
            "value": lambda u, y: np.where(y == 3, 1.02, 1.0) * np.logaddexp(0.0, u),
            "derivative": lambda u, y: np.where(y == 3, 1.02, 1.0) * sigmoid(u),
            "labels": (0, 1, 2, 3),
            "curvature_bound": 0.26,
        },
        "bound on the derivative",
    ),
    "bound broken inside the label interval only": (
        {
            "value": lambda u, y: (1 + 0.05 * bump(y, 0.377, 0.05)) * np.logaddexp(0.0, u),
            "derivative": lambda u, y: (1 + 0.05 * bump(y, 0.377, 0.05)) * sigmoid(u),
            "labels": LabelInterval(0.0, 1.0),
            "curvature_bound": 1.0,
        },
        "bound on the derivative",
    ),
    "curvature broken for one label only": (
        {
            "value": lambda u, y: np.logaddexp(0.0, -(1 + (y > 0) * 0.2) * u) / (1 + (y > 0) * 0.2),
            "derivative": lambda u, y: -sigmoid(-(1 + (y > 0) * 0.2) * u),
        },
        "bound on the curvature",
    ),
    "value jumps": (
        {"value": lambda u, y: logistic_value(u, y) + (u > 1.2345)},
        "derivative of the value",
    ),
    "random": (
        {"derivative": noisy},
        "purity",
    ),
    "wrong shape": ({"derivative": lambda u, y: 0.5}, "function of arrays"),
    "not for arrays": ({"derivative": lambda u, y: -y if u > 0 else y}, "function of arrays"),
}


@pytest.mark.planted
@pytest.mark.parametrize("name", WRONG)
def test_wrong_losses_are_rejected_by_the_right_check(name: str) -> None:
    changes, hypothesis = WRONG[name]
    with pytest.raises(LossRejected) as caught:
        declare(**changes)
    assert caught.value.hypothesis == hypothesis
    assert hypothesis in str(caught.value)
    assert "'mine'" in str(caught.value)


def witness(error: LossRejected) -> tuple[float, float, float]:
    seen = re.fullmatch(r"(\S+) at u = (\S+), y = (\S+)", error.given)
    assert seen is not None
    found, u, y = map(float, seen.groups())
    return found, u, y


def test_the_witness_is_real_and_names_found_and_declared() -> None:
    with pytest.raises(LossRejected) as caught:
        declare(derivative_bound=0.9)
    found, u, y = witness(caught.value)
    assert abs(logistic_slope(u, y)) == pytest.approx(found, rel=1e-8)
    assert found > 0.9
    assert caught.value.required == "at most 0.9"
    assert isinstance(caught.value, AssumptionError)


def test_the_witness_of_lost_convexity_is_real() -> None:
    slope = WRONG["not convex: a sigmoid loss"][0]["derivative"]
    with pytest.raises(LossRejected) as caught:
        declare(**WRONG["not convex: a sigmoid loss"][0])
    found, u, y = witness(caught.value)
    assert found < 0
    # phi' falls somewhere within the widest gap to the right of the witness.
    after = u + np.linspace(0.0, 0.1 * max(1.0, abs(u)), 201)
    assert (slope(after, y) - slope(u, y)).min() <= found * (1 - 1e-6)


@pytest.mark.planted
def test_a_loss_that_is_not_convex_may_be_declared_so() -> None:
    changes, _ = WRONG["not convex: a sigmoid loss"]
    loss = declare(**changes, convex=False)
    assert not loss.constants().convex
    assert loss.constants().smoothness == 0.25
    # Without convexity a falling derivative counts against the curvature as well.
    with pytest.raises(LossRejected, match="bound on the curvature"):
        declare(**(changes | {"curvature_bound": 0.09}), convex=False)
    with pytest.raises(LossRejected, match="derivative of the value"):
        declare(**(changes | {"derivative": lambda u, y: -1.01 * y * sigmoid(-y * u) * sigmoid(y * u)}), convex=False)


@pytest.mark.planted
@settings(max_examples=12, deadline=None)
@given(
    knots=st.lists(st.floats(-8, 8), min_size=1, max_size=4),
    weights=st.lists(st.floats(0.05, 1), min_size=4, max_size=4),
    excess=st.sampled_from([0.98, 1.0, 1.5]),
)
def test_mixtures_of_smooth_steps_are_judged_by_their_true_bound(
    knots: list[float], weights: list[float], excess: float
) -> None:
    # phi' = sum w (2 sigma(3 (u - k)) - 1): convex, |phi'| < sum w, phi'' <= 3/2 sum w.
    pairs = list(zip(knots, weights, strict=False))
    total = sum(w for _, w in pairs)

    def value(u: Any, y: Any) -> Any:
        return sum(w * (np.logaddexp(0.0, 3 * (u - k)) * 2 / 3 - (u - k)) for k, w in pairs) + 0 * y

    def slope(u: Any, y: Any) -> Any:
        return np.clip(sum(w * (2 * sigmoid(3 * (u - k)) - 1) for k, w in pairs), -total, total) + 0 * y

    def make() -> ScalarLink:
        return ScalarLink(value, slope, [0.0], 1.0, excess * total, 1.5 * total, convex=True)

    if excess < 1:
        with pytest.raises(LossRejected, match="bound on the derivative"):
            make()
    else:
        assert make().constants().lipschitz == excess * total


ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"value": None}, "value and derivative must be functions"),
    ({"labels": ()}, "labels"),
    ({"labels": LabelInterval(0.0, math.inf)}, "bounded LabelInterval"),
    ({"radius": 0.0}, "radius"),
    ({"derivative_bound": math.inf}, "derivative_bound"),
    ({"curvature_bound": 0.0}, "curvature_bound"),
    ({"convex": "yes"}, "convex"),
    ({"name": ""}, "name"),
    ({"search_radius": 0.5}, "search_radius"),
    ({"search_radius": math.inf}, "search_radius"),
]


@pytest.mark.parametrize(("changes", "message"), ARGUMENTS)
def test_arguments_are_checked_before_the_attack(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        declare(**changes)


def test_the_document_tells_functions_apart_and_is_stable() -> None:
    def document(**changes: Any) -> dict[str, Any]:
        return declare(**changes).to_json()

    same = document()
    assert same == document()
    assert same["loss"] == "custom"
    assert same["labels"] == {"values": [-1.0, 1.0]}
    other: Callable[[Any, Any], Any] = SmoothedHinge(1.0, 4.0).derivative
    assert document(value=SmoothedHinge(1.0, 4.0).value, derivative=other)["fingerprint"] != same["fingerprint"]
    assert declare(labels=LabelInterval(-1.0, 1.0)).to_json()["labels"] == {"lower": -1.0, "upper": 1.0}
    assert declare(labels=LabelSet(SIGNS)) == declare()


def test_the_bound_is_attacked_as_far_as_the_search_radius() -> None:
    changes, _ = WRONG["bound broken only far out"]
    assert declare(**changes, search_radius=4000.0).constants().lipschitz == 0.6
