"""Brute force over neighbours: no two records of any loss are farther apart than the numbers it declares allow.

A record is a person with one row or an average of several, at a share from 0 to 1 (a survey weight), in one, two and five
dimensions: plain gradients, weighted gradients at every bend, curvature and scores. Shipped losses and subclasses with larger
constants of their own are searched at random and then from the worst pairs on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.models.losses import ScalarLinkLoss
from sfumato.models.losses.pairs import labels_of
from sfumato.theorems import weighted

L = sf.losses


class Steeper(L.Logistic):
    """Three times the logistic loss, far from symmetric: 3 log(1 + exp(2 - y u))."""

    name = "steeper"

    def value(self, u, y):
        return 3.0 * np.logaddexp(0.0, 2.0 - np.multiply(y, u))

    def derivative(self, u, y):
        return -3.0 * np.asarray(y) * np.exp(-np.logaddexp(0.0, np.multiply(y, u) - 2.0))

    def curvature(self, u, y):
        return ScalarLinkLoss.curvature(self, u, y)

    def constants(self, dimension=None, domain_radius=math.inf):
        c = super().constants(None, domain_radius)
        return replace(
            c, lipschitz=3 * c.lipschitz, difference=3 * c.difference, smoothness=3 * c.smoothness, bound=6 * c.bound
        )

    def zero_slope(self):
        return 3.0 / (1.0 + math.exp(-2.0))


class Narrow(L.ClippedProbit):
    """The clipped probit, whose slope at 0 is sqrt(2/pi)."""

    name = "narrow"

    def zero_slope(self):
        return min(self.clip, 0.8)


def declared() -> L.ScalarLink:
    own = L.Logistic(1.0)
    return L.ScalarLink(
        own.value, own.derivative, (-1, 1), 1.0, 1.0, 0.25, convex=True, name="declared", derivative_bound_at_zero=0.5,
        difference_bound=1.0517,
    )  # fmt: skip


LOSSES: dict[str, Any] = {
    loss.name: loss
    for loss in (
        L.Logistic(1.0), L.Softmax(1.0, 3), L.Hinge(1.0), L.SmoothedHinge(1.0, 0.4), L.Huber(1.0, 0.6), L.Quantile(1.0, 0.3),
        L.SmoothedQuantile(1.0, 0.3, 0.5), L.ClippedProbit(1.0, 1.2), L.ClippedCloglog(1.0, 2.0), L.ClippedPoisson(1.0, 5.0, 12.0),
        L.LogitBernoulli(), Steeper(1.0), Narrow(1.0, 3.0), declared(),
    )
}  # fmt: skip
SERVED = [name for name, loss in LOSSES.items() if isinstance(loss, ScalarLinkLoss) and loss.record != "label"]
ROWS, STATES, ROUNDS = 3, 400, 8
State = dict[str, np.ndarray]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=-1, keepdims=True))


def largest(loss: Any, d: int, plain: bool, distance: Callable[[State], np.ndarray]) -> float:
    """The largest distance of two records that random search and refinement find."""
    rng, labels = np.random.default_rng(7), labels_of(loss)
    state: State = {
        "theta": rng.normal(size=(STATES, loss.outputs, d)) * 10 ** rng.uniform(-3, 2, (STATES, 1, 1)),
        "rows": rng.normal(size=(STATES, 2, ROWS, d)) * 10 ** rng.uniform(-1, 2, (STATES, 1, 1, 1)),
        "labels": rng.choice(labels, (STATES, 2, ROWS)),
        # Half of the records are one row, or rows that are all the same; half have the share 1.
        "alone": rng.random((STATES, 2)) < 0.5,
        "share": np.minimum(1.0, rng.uniform(0, 2, (STATES, 2))),
    }
    state["rows"][::2, 1] = -state["rows"][::2, 0]
    worst = 0.0
    for each in range(ROUNDS + 1):
        held = dict(state)
        if plain:
            held["rows"] = np.ones_like(state["rows"]) if loss.record == "label" else unit(state["rows"])
        for name in ("rows", "labels"):
            single = state["alone"].reshape(-1, 2, *[1] * (held[name].ndim - 2))
            held[name] = np.where(single, held[name][:, :, :1], held[name])
        found = distance(held)
        worst, best = max(worst, float(found.max())), np.argsort(found)[-20:]
        state = {name: np.repeat(part[best], 20, axis=0) for name, part in state.items()}
        scale = 0.6**each
        for name in ("theta", "rows"):
            state[name] = state[name] * (1 + scale * rng.normal(size=state[name].shape))
        moved = rng.random(state["labels"].shape) < 0.1
        state["labels"] = np.where(moved, rng.choice(labels, moved.shape), state["labels"])
        state["share"] = np.where(rng.random(state["share"].shape) < 0.3, 1.0, state["share"])
    return worst


def weights(rows: np.ndarray, bend: float | None) -> np.ndarray:
    length = np.maximum(np.linalg.norm(rows, axis=-1), 1e-300)
    if bend is None:
        return np.ones(length.shape)
    return np.minimum(1.0, np.minimum(1.0 / length, bend / length**2))


def terms(loss: Any, state: State, bend: float | None, power: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """What each record's rows have in common: slopes (states, 2, rows, outputs) to a power, and v, with the record's share."""
    scores = np.einsum("sod,srmd->srmo", state["theta"], state["rows"])
    slopes = loss.slope_at(scores, state["labels"]) ** power
    v = weights(state["rows"], bend) ** power * state["share"][:, :, None]
    return slopes, v


def gradients(loss: Any, bend: float | None) -> Callable[[State], np.ndarray]:
    def distance(state: State) -> np.ndarray:
        slopes, v = terms(loss, state, bend)
        each = np.einsum("srm,srmo,srmd->srod", v, slopes, state["rows"]) / ROWS
        return np.linalg.norm((each[:, 0] - each[:, 1]).reshape(len(each), -1), axis=1)

    return distance


def curvatures(loss: Any, bend: float) -> Callable[[State], np.ndarray]:
    def distance(state: State) -> np.ndarray:
        scores = np.einsum("sod,srmd->srm", state["theta"], state["rows"])
        v = weights(state["rows"], bend) * state["share"][:, :, None] * loss.curvature(scores, state["labels"])
        each = np.einsum("srm,srmd,srme->srde", v, state["rows"], state["rows"]) / ROWS
        return np.linalg.norm((each[:, 0] - each[:, 1]).reshape(len(each), -1), axis=1)

    return distance


def scores(loss: Any, bend: float) -> Callable[[State], np.ndarray]:
    """The scale of the scores: the mean square of a person's rows."""

    def distance(state: State) -> np.ndarray:
        slopes, v = terms(loss, state, bend, 2)
        each = (v * slopes[..., 0] * np.square(state["rows"]).sum(axis=-1)).mean(axis=2)
        return np.abs(each[:, 0] - each[:, 1])

    return distance


@pytest.mark.planted
@pytest.mark.parametrize("name", LOSSES)
def test_no_plain_gradients_are_farther_apart_than_the_declared_difference(name):
    loss = LOSSES[name]
    for d in (1,) if loss.record == "label" else (1, 2, 5):
        model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), d * loss.outputs)
        found, allowed = largest(loss, d, True, gradients(loss, None)), model.constants.difference
        assert found <= allowed * (1 + 1e-12)
        tight = name not in ("softmax", "clipped-probit", "clipped-cloglog", "narrow") or d > 1
        assert found >= (0.85 if tight else 0.5) * allowed


@pytest.mark.planted
@pytest.mark.parametrize("name", SERVED)
def test_no_weighted_gradients_are_farther_apart_than_the_factor(name):
    loss = LOSSES[name]
    for d in (1, 2, 5):
        factor = weighted.difference_factor(
            slope=loss.largest_slope(), zero_slope=loss.zero_slope(), convex=loss.constants().convex, dimension=d
        )
        for bend in (1.0, 3.0, math.inf):
            found = largest(loss, d, False, gradients(loss, bend)) / loss.largest_slope()
            assert found <= factor * (1 + 1e-12)
            if d > 1 or name in ("steeper", "huber", "quantile", "hinge"):
                assert found >= 0.75 * factor
    assert factor == 2.0


@pytest.mark.parametrize("name", [name for name in SERVED if LOSSES[name].constants().smooth])
def test_no_curvatures_or_scores_are_farther_apart_than_they_are_priced(name):
    loss = LOSSES[name]
    for d, bend in ((1, 3.0), (2, 1.0), (5, 3.0)):
        most = math.sqrt(2) * bend * loss.largest_curvature()
        assert largest(loss, d, False, curvatures(loss, bend)) <= most * (1 + 1e-12)
        assert largest(loss, d, False, scores(loss, bend)) <= loss.largest_slope() ** 2 * (1 + 1e-12)


def test_the_slope_at_zero_is_what_the_factor_needs_and_it_is_attained():
    """Half of it is exceeded."""
    for name in ("steeper", "narrow"):
        loss = LOSSES[name]
        s, h = loss.largest_slope(), loss.zero_slope()
        found = largest(loss, 1, False, gradients(loss, math.inf))
        assert s + h / 2 < found <= s + h
