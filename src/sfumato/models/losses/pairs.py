"""The attack on the constants of a loss in its dimension: a search for two records, or two parameters, that contradict one.

Random parameters in the prior's domain and rows within their radius; then the worst are perturbed at shrinking scales. What
follows from the numbers of a link, which are attacked by themselves, is not searched again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from sfumato.errors import LossRejected
from sfumato.models.constants import Constants
from sfumato.models.losses.labels import LabelSet
from sfumato.models.losses.protocol import LABEL, ROW, FloatArray, Loss, ScalarLinkLoss

# Random states, those that are perturbed in each round, perturbations of each, and rounds; scales shrink by a quarter.
_STATES, _WORST, _EACH, _ROUNDS = 2000, 40, 20, 24
# The largest parameter that is tried on all of R^d, in units of one over the radius, and the largest label.
_LONGEST, _LARGEST_LABEL = 1e3, 1e3
# Relative room for the rounding of a constant, and for that of a quotient over a short way.
_ROOM, _QUOTIENT_ROOM = 1e-9, 1e-6
State = dict[str, FloatArray]
Measure = Callable[[State], FloatArray]


def named(loss: Loss) -> str:
    """What an error calls a loss."""
    return f"declared loss {getattr(loss, 'name', type(loss).__name__)!r}"


def labels_of(loss: Loss) -> FloatArray:
    """Labels that are tried: all of a set; of an interval its ends, points between, and large ones where it has no end."""
    domain = loss.label_domain
    if isinstance(domain, LabelSet):
        return np.array(domain.values)
    if not domain.bounded:
        sizes = np.append(0.0, np.geomspace(0.1, _LARGEST_LABEL, 12))
        return np.unique(np.clip([-sizes, sizes], domain.lower, domain.upper))
    rng = np.random.Generator(np.random.PCG64(20240229))
    return np.append(np.linspace(domain.lower, domain.upper, 17), rng.uniform(domain.lower, domain.upper, 8))


def attack(loss: Loss, dimension: int | None, domain_radius: float) -> None:
    """Raise `LossRejected` with the records that contradict a constant of a loss in a dimension and domain."""
    if loss.record == ROW:
        required = "GaussianMean itself: its sums are not those of slopes"
        raise LossRejected(
            named(loss), "loss of rows", "record", required, f"{type(loss).__name__}", "Use GaussianMean."
        )
    constants, search = loss.constants(dimension, domain_radius), _Search(loss, dimension, domain_radius)
    with np.errstate(all="ignore"):
        for name, symbol, limit, measure in search.claims(constants):
            try:
                found, given = search.largest(measure)
            except Exception as error:
                raise LossRejected(named(loss), "function of arrays", symbol, "arrays", repr(error), "") from error
            if found > limit:
                hypothesis = name if math.isfinite(found) else "finiteness"
                remedy = "Declare the larger number in every method that states it."
                raise LossRejected(named(loss), hypothesis, symbol, f"at most {limit:.9g}", given, remedy)


class _Search:
    """States are two parameters, `theta` and `to`, two rows, `x` and `z`, and their labels, `y` and `w`."""

    def __init__(self, loss: Loss, dimension: int | None, domain_radius: float) -> None:
        """At most three features, of which the others are 0: more directions make no pair worse."""
        self.loss, self.labels, self.length = loss, labels_of(loss), 1.0 if loss.record == LABEL else loss.radius
        features = 1 if loss.record == LABEL else 2 if dimension is None else dimension // loss.outputs
        self.shape = loss.outputs, max(1, min(features, 3))
        self.domain = min(domain_radius, _LONGEST / self.length)
        self.rng = np.random.Generator(np.random.PCG64(20240301))

    def largest(self, measure: Measure) -> tuple[float, str]:
        """The largest value that is found, and this value with the records where."""
        rng, (outputs, features) = self.rng, self.shape
        sizes = {"theta": outputs * features, "to": outputs * features, "x": features, "z": features}
        state = {
            name: rng.normal(size=(_STATES, n)) * 10 ** rng.uniform(-3, 3, (_STATES, 1)) for name, n in sizes.items()
        }
        state["to"] = state["theta"] + state["to"] * rng.choice([0.01, 1.0], (_STATES, 1))
        state |= {name: rng.choice(self.labels, _STATES) for name in ("y", "w")}
        for each in range(_ROUNDS + 1):
            state = self._inside(state)
            found = np.nan_to_num(measure(state), nan=np.inf)
            best = np.argsort(found)[: -_WORST - 1 : -1]
            state = {name: part[best] for name, part in state.items()}
            if each == _ROUNDS or not np.isfinite(found[best[0]]):
                break
            again = {name: np.repeat(part, _EACH, axis=0) for name, part in state.items()}
            count = len(again["y"])
            for name in sizes:
                size = np.abs(again[name]) + 0.1 * np.linalg.norm(again[name], axis=1, keepdims=True)
                some = rng.random(size.shape) < 0.5  # so that a good part of a state is kept while another changes
                again[name] = again[name] + 0.75**each * size * some * rng.normal(size=size.shape)
            for name in ("y", "w"):
                again[name] = np.where(rng.random(count) < 0.2, rng.choice(self.labels, count), again[name])
            state = {name: np.concatenate([part, again[name]]) for name, part in state.items()}
        scores = {row: np.array2string(self._scores(state, "theta", row)[0], precision=9) for row in ("x", "z")}
        where = f"scores {scores['x']}, y = {state['y'][0]:.9g} and scores {scores['z']}, y = {state['w'][0]:.9g}"
        return float(found[best[0]]), f"{found[best[0]]:.9g} at {where}"

    def _inside(self, state: State) -> State:
        """The same with rows and parameters shortened to their bounds."""
        held = dict(state)
        for name, most in (("theta", self.domain), ("to", self.domain), ("x", self.length), ("z", self.length)):
            lengths = np.linalg.norm(state[name], axis=1, keepdims=True)
            held[name] = state[name] * np.minimum(1.0, most / np.maximum(lengths, 1e-300))
            if self.loss.record == LABEL and name in ("x", "z"):
                held[name] = np.ones_like(state[name])
        return held

    def _scores(self, state: State, theta: str, x: str) -> FloatArray:
        return np.asarray(np.einsum("nkp,np->nk", state[theta].reshape(-1, *self.shape), state[x]))

    def gradient(self, state: State, theta: str = "theta", x: str = "x", y: str = "y") -> FloatArray:
        """Gradients as an engine forms them."""
        slopes = np.asarray(self.loss.slope_at(self._scores(state, theta, x), state[y]), dtype=np.float64)
        return (slopes[:, :, None] * state[x][:, None, :]).reshape(len(slopes), -1)

    def value(self, state: State, theta: str = "theta", x: str = "x", y: str = "y") -> FloatArray:
        """Values less those at 0."""
        scores = self._scores(state, theta, x)
        return np.asarray(self.loss.value_at(scores, state[y]) - self.loss.value_at(0 * scores, state[y]))

    def along(self, state: State) -> tuple[FloatArray, ...]:
        """The way from one parameter to the other, its length, the gradients at both, and the error of a quotient."""
        way = state["to"] - state["theta"]
        length = np.maximum(np.linalg.norm(way, axis=1), 1e-4 * np.linalg.norm(state["theta"], axis=1) + 1e-300)
        ends = self.gradient(state), self.gradient(state, "to")
        return way, length, *ends, 1e-12 * (np.abs(ends[0]) + np.abs(ends[1])).max(axis=1) / length

    def steepness(self, state: State) -> FloatArray:
        """|g' - g| over the length of the way."""
        _, length, first, last, error = self.along(state)
        return np.asarray(np.linalg.norm(last - first, axis=1) / length - error)

    def fall(self, state: State) -> FloatArray:
        """How far the gradient falls along the way, over its length."""
        way, length, first, last, error = self.along(state)
        return np.asarray(((first - last) * way).sum(axis=1) / length**2 - error)

    def disagreement(self, state: State, bent: float) -> FloatArray:
        """How far the change of the value leaves what the slopes at both ends allow, over the length of the way."""
        way, length, first, last, _ = self.along(state)
        ends = np.stack([(first * way).sum(axis=1), (last * way).sum(axis=1)])
        change = self.value(state, "to") - self.value(state)
        error = bent * length**2 + 1e-12 * (1.0 + np.abs(self.value(state)) + np.abs(change))
        return np.asarray((np.maximum(change - ends.max(axis=0), ends.min(axis=0) - change) - error) / length)

    def claims(self, c: Constants) -> Iterator[tuple[str, str, float, Measure]]:
        """(name, symbol, limit with room for rounding, what must not exceed it) of each constant that may be contradicted."""
        loss, r, room = self.loss, self.length, 1.0 + _ROOM
        steep, bent, convex = math.inf, math.inf, False
        if known := isinstance(loss, ScalarLinkLoss):  # what the attack on its link has found
            steep, bent, convex = loss.largest_slope() * r, loss.largest_curvature() * r * r, loss.constants().convex
        if c.lipschitz * room < steep:
            yield "Lipschitz constant", "|g|", c.lipschitz * room, lambda s: np.linalg.norm(self.gradient(s), axis=1)
        if c.difference * room < 2 * c.lipschitz:
            yield (
                "difference of two gradients",
                "|g - g'|",
                c.difference * room,
                lambda s: np.linalg.norm(self.gradient(s) - self.gradient(s, x="z", y="w"), axis=1),
            )
        if c.smooth and c.smoothness * room < bent:
            yield "smoothness", "|g(t) - g(t')|/|t - t'|", c.smoothness * (1 + _QUOTIENT_ROOM), self.steepness
        if c.convex and (c.strong_convexity > 0 or not convex):
            limit = _QUOTIENT_ROOM * (c.smoothness if c.smooth else 1.0) - c.strong_convexity
            yield "convexity", "-(g(t) - g(t')).(t - t')/|t - t'|^2", limit, self.fall
        if not known:
            slack, limit = 0.0 if c.convex else c.smoothness, _ROOM * max(1.0, min(c.lipschitz, _LONGEST))
            yield "derivative of the value", "change of l beyond slopes", limit, lambda s: self.disagreement(s, slack)
        if c.bound * room < 2 * c.lipschitz * self.domain:
            limit = c.bound * room + 1e-12
            yield (
                "bound on differences",
                "|l(t) - l(0) - l'(t) + l'(0)|",
                limit,
                lambda s: np.abs(self.value(s) - self.value(s, x="z", y="w")),
            )
