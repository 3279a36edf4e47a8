"""What released draws say about a parameter, the privacy noise included: the posterior over a hidden statistic.

The draws t_1, ..., t_N come from a public law f_S of a hidden statistic S (a count, a sum), which itself follows the true
parameter. A reader knows the plan, so f_S is known, and by Bayes

    p(theta | draws)  is proportional to  prior(theta) sum_S P(S | theta) prod_i f_S(t_i).

Where noise was added to S first, f_S is replaced by the average of f over the noise. All of this reads the release alone:
post-processing, at no cost. Sums run over cells of S and theta inside windows that hold all but e^-32 of the mass; the mass
P(cell | theta) is a difference of distribution functions, so that a cell wider than the law of S loses nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato._quadrature import Array

# Cells of the statistic and of the parameter: about ten to a standard deviation, of which a window holds some sixteen.
_CELLS = 200
_COARSE = 65
# What a window leaves out, in logarithms.
_DEPTH = 32.0
# A parameter under which the cells of the statistic have less than this share is out of reach.
_REMOTE = 1e-14
# Next to an end at which a prior may pile up: halvings of the last cell, and cells whose prior mass is taken exactly.
_HALVINGS, _NEAR = 12, 8


@dataclass(frozen=True)
class Coordinate:
    """A rising change of variable in which a law has about the same width everywhere."""

    forward: Callable[[Array], Array]
    back: Callable[[Array], Array]


@dataclass(frozen=True)
class Parameter:
    """The true parameter theta = value(x), x in [low, high], with its prior log density in x.

    `log_below` and `log_above` are the logs of the prior mass beyond the two ends of a cell next to an end of the line; None
    where that end is closed or holds nothing.
    """

    low: float
    high: float
    value: Callable[[Array], Array]
    log_prior: Callable[[Array], Array]
    log_below: Callable[[float], float] | None = None
    log_above: Callable[[float], float] | None = None


@dataclass(frozen=True)
class Statistic:
    """The hidden statistic behind one released coordinate: S in `span`, whole numbers or not.

    `log_law(S)` is sum_i log f_S(t_i) for an array of S; `below(theta, s)` is P(S <= s | theta), broadcasting;
    `noisy_below(S, x)` is P(S~ <= x | S) where noise was added, clipped to `span` (then `log_law` takes S~), `noise` its
    standard deviation; `said(S)` is what the rows themselves say: the parameter's mean given S without any noise. `cells`
    is how many cells of S are summed over.
    """

    span: tuple[float, float]
    whole: bool
    coordinate: Coordinate
    parameter: Parameter
    log_law: Callable[[Array], Array]
    below: Callable[[Array, Array], Array]
    said: Callable[[Array], Array]
    noisy_below: Callable[[Array, Array], Array] | None = None
    noise: float = 0.0
    cells: int = _CELLS


@dataclass(frozen=True, eq=False)
class Belief:
    """A law on an interval, by its distribution function between `points`: linear in between."""

    points: Array
    cumulative: Array

    def quantile(self, level: float) -> float:
        """The point below which this share of the mass lies."""
        return float(np.interp(level, self.cumulative, self.points))

    def below(self, value: float) -> float:
        """The share of the mass below a value."""
        return float(np.interp(value, self.points, self.cumulative, left=0.0, right=1.0))

    @property
    def mean(self) -> float:
        """Mean of the law."""
        return float(np.sum(np.diff(self.cumulative) * 0.5 * (self.points[1:] + self.points[:-1])))


def parameter_belief(statistic: Statistic) -> Belief:
    """The posterior of theta."""
    parameter = statistic.parameter
    cells, seen = likelihood(statistic)
    top = float(seen.max())

    def log_likelihood(x: Array) -> Array:
        """Log probability of the draws at parameters, the hidden statistic summed over."""
        share = np.diff(statistic.below(parameter.value(x)[:, None], cells), axis=1) @ np.exp(seen - top)
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(share))

    def log_posterior(x: Array) -> Array:
        return np.asarray(log_likelihood(x) + parameter.log_prior(x))

    low, high = _window(log_posterior, *_reachable(statistic, cells))
    edges = _graded(parameter, low, high, _CELLS)
    middles = 0.5 * (edges[1:] + edges[:-1])
    logs = log_likelihood(middles) + _log_prior_masses(parameter, edges)
    return _belief(parameter.value(edges), logs)


def _graded(parameter: Parameter, low: float, high: float, cells: int) -> Array:
    """Edges of equal cells; towards an end of the line at which a prior may pile up, smaller and smaller ones."""
    edges, width = np.linspace(low, high, cells + 1), (high - low) / cells
    finer = width * 0.5 ** np.arange(_HALVINGS, 0, -1.0)
    parts = [edges[:1], edges[1:-1], edges[-1:]]
    if parameter.log_below is not None and low == parameter.low:
        parts.insert(1, low + finer)
    if parameter.log_above is not None and high == parameter.high:
        parts.insert(len(parts) - 1, high - finer[::-1])
    return np.concatenate(parts)


def _log_prior_masses(parameter: Parameter, edges: Array) -> Array:
    """Log prior mass of cells: density times width, and next to an end of the line the mass itself."""
    logs = parameter.log_prior(0.5 * (edges[1:] + edges[:-1])) + np.log(np.diff(edges))
    near = _HALVINGS + _NEAR
    with np.errstate(divide="ignore"):
        if parameter.log_below is not None and edges[0] == parameter.low:
            shares = np.array([0.0, *(math.exp(parameter.log_below(float(x))) for x in edges[1 : near + 1])])
            logs[:near] = np.log(np.diff(shares))
        if parameter.log_above is not None and edges[-1] == parameter.high:
            shares = np.array([*(math.exp(parameter.log_above(float(x))) for x in edges[-near - 1 : -1]), 0.0])
            logs[-near:] = np.log(-np.diff(shares))
    return np.asarray(logs, dtype=np.float64)


def statistic_belief(statistic: Statistic) -> tuple[Array, Array, Array]:
    """The posterior of S: the lowest and the highest value of each cell, and its mass."""
    edges, masses = _statistic_masses(statistic, statistic.span)
    alive = np.flatnonzero(masses > 1e-12)
    half = 0.5 if statistic.whole else 0.0
    # Once to find where it lies, once more in finer cells.
    edges, masses = _statistic_masses(statistic, (float(edges[alive[0]]) + half, float(edges[alive[-1] + 1]) - half))
    return edges[:-1] + half, edges[1:] - half, masses


def _statistic_masses(statistic: Statistic, within: tuple[float, float]) -> tuple[Array, Array]:
    edges, logs = likelihood(statistic, within)
    parameter = statistic.parameter
    x = _graded(parameter, *_reachable(statistic, edges), 4 * _CELLS)
    prior = _log_prior_masses(parameter, x)
    theta = parameter.value(0.5 * (x[1:] + x[:-1]))[:, None]
    before = np.exp(prior - prior.max()) @ np.diff(statistic.below(theta, edges), axis=1)
    joint = before * np.exp(logs - logs.max())
    return edges, joint / joint.sum()


def _reachable(statistic: Statistic, edges: Array) -> tuple[float, float]:
    """Parameters under which the cells of S are not out of reach: P(S <= s | theta) is monotone, so by halving."""
    parameter, ends = statistic.parameter, edges[[0, -1]]

    def shares(x: float) -> tuple[float, float]:
        low, high = statistic.below(parameter.value(np.array([[x]])), ends)[0].tolist()
        return low, high

    first, last = shares(parameter.low), shares(parameter.high)
    rising = first[1] < last[1] or first[0] < last[0]
    found = []
    for upper_end in (False, True):
        # Towards one end of the parameters S runs out of its cells below, towards the other above.
        above = upper_end != rising

        def reached(x: float, above: bool = above) -> bool:
            low, high = shares(x)
            return high > _REMOTE if above else low < 1 - _REMOTE

        low, high = parameter.low, parameter.high
        if not reached(high if upper_end else low):
            for _ in range(60):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if reached(middle) == upper_end else (low, middle)
        found.append(high if upper_end else low)
    return found[0], found[1]


def likelihood(statistic: Statistic, within: tuple[float, float] | None = None) -> tuple[Array, Array]:
    """Edges of cells of S, and the log likelihood of the draws in each, noise included."""
    low, high = within or statistic.span
    if statistic.noisy_below is None:
        start, end = _statistic_window(statistic, low, high)
        edges = _edges(statistic, start, end, statistic.whole)
        return edges, statistic.log_law(0.5 * (edges[1:] + edges[:-1]))
    start, end = _statistic_window(statistic, *statistic.span)
    cells = _edges(statistic, start, end, False)
    values = 0.5 * (cells[1:] + cells[:-1])
    room = 9 * statistic.noise
    edges = _edges(statistic, max(low, start - room), min(high, end + room), statistic.whole)
    if edges[-1] <= edges[0]:
        edges = _edges(statistic, low, high, statistic.whole)
    centres = 0.5 * (edges[1:] + edges[:-1])
    cumulative = statistic.noisy_below(centres, cells)
    masses = np.diff(cumulative, axis=1)
    if start <= statistic.span[0]:  # what the noise took below the span was put at its end
        masses, values = np.column_stack([cumulative[:, 0], masses]), np.concatenate([[start], values])
    if end >= statistic.span[1]:
        masses, values = np.column_stack([masses, 1 - cumulative[:, -1]]), np.concatenate([values, [end]])
    logs = statistic.log_law(values)
    top = float(logs.max())
    with np.errstate(divide="ignore"):
        return edges, np.asarray(top + np.log(np.maximum(masses, 0.0) @ np.exp(logs - top)), dtype=np.float64)


def _statistic_window(statistic: Statistic, low: float, high: float) -> tuple[float, float]:
    place = statistic.coordinate
    ends = place.forward(np.array([low, high]))
    first, last = _window(lambda x: statistic.log_law(place.back(x)), float(ends[0]), float(ends[1]))
    start, end = place.back(np.array([first, last])).tolist()
    # The ends of the span themselves, not what is left of them after the way there and back.
    return (low if first <= ends[0] else max(low, start)), (high if last >= ends[1] else min(high, end))


def _edges(statistic: Statistic, low: float, high: float, whole: bool) -> Array:
    """Cells between two values of the statistic, equal in its coordinate; whole numbers are kept together in runs."""
    place = statistic.coordinate
    ends = place.forward(np.array([low, high]))
    values = place.back(np.linspace(float(ends[0]), float(ends[1]), statistic.cells + 1))
    values[0], values[-1] = low, high
    if not whole:
        return np.asarray(values)
    first, last = math.floor(low), math.ceil(high)
    inner = np.unique(np.rint(values))
    inner = inner[(inner >= first) & (inner < last)]
    return np.concatenate([[first - 0.5], inner[inner > first - 1] + 0.5, [last + 0.5]])


def _window(log_weight: Callable[[Array], Array], low: float, high: float) -> tuple[float, float]:
    """Where a weight is within e^-32 of its largest value: closer and closer about what is left."""
    for _ in range(30):
        edges = np.linspace(low, high, _COARSE + 1)
        logs = log_weight(0.5 * (edges[1:] + edges[:-1]))
        top = float(np.max(logs, initial=-np.inf, where=~np.isnan(logs)))
        if not math.isfinite(top):
            return low, high
        alive = np.flatnonzero(logs > top - _DEPTH)
        first, last = max(0, int(alive[0]) - 1), min(_COARSE, int(alive[-1]) + 2)
        if last - first > 0.75 * _COARSE:
            return low, high
        low, high = float(edges[first]), float(edges[last])
    return low, high


def _belief(points: Array, logs: Array) -> Belief:
    masses = np.exp(logs - np.max(logs))
    cumulative = np.concatenate([[0.0], np.cumsum(masses)])
    return Belief(np.asarray(points, dtype=np.float64), cumulative / cumulative[-1])
