"""The posterior of a parameter given released draws, the privacy noise included, by summing over a hidden statistic.

The draws t_1, ..., t_N come from a public law f_S of a hidden statistic S (a count, a sum), which itself follows the true
parameter. A reader knows the plan, so f_S is known, and by Bayes

    p(theta | draws)  is proportional to  prior(theta) sum_S P(S | theta) prod_i f_S(t_i).

Where noise was added to S first, f_S is replaced by the average of f over the noise. All of this reads the release alone, so
it is post-processing and costs nothing. Sums run over cells of S and theta inside windows that hold all but e^-32 of the
mass; P(cell | theta) is a difference of distribution functions, so it is exact also where a cell is wider than the law of S.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.queries.statistics.protocol import DECLARED, Ends, Tails, moved, normal_noise

# Cells of the statistic and of the parameter: about ten to a standard deviation, of which a window holds some sixteen.
CELLS, _COARSE = 200, 65
# A window leaves out what is below e^-32 of the largest weight.
_DEPTH = 32.0
# A parameter is ignored if the cells of the statistic have less than this probability under it.
_REMOTE = 1e-14
# Next to an end at which a prior density may be infinite: halvings of the last cell, and cells with exact prior masses.
_HALVINGS, _NEAR = 12, 8


@dataclass(frozen=True)
class Coordinate:
    """A rising change of variable in which a law has about the same width everywhere."""

    forward: Callable[[Array], Array]
    back: Callable[[Array], Array]


@dataclass(frozen=True)
class Parameter:
    """The true parameter theta = value(x), x in [low, high], with its prior log density in x.

    `log_below(x)` and `log_above(x)` are the logs of the prior mass below and above x, for x near that end; None where the
    prior density is bounded there.
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

    `log_law(S)` is sum_i log f_S(t_i) for an array of S; `below(theta, s)` is P(S <= s | theta), broadcasting; `rows_mean(S)`
    is the posterior mean of the parameter that S would give without privacy. `noise` is the standard deviation of normal noise
    that was added to S; the sum S~ was clipped to `span`, and `log_law` takes S~. `noisy_below(S, x)` is P(S~ <= x | S) where
    more was done to S~. `cells` is the number of cells of S that are summed over. `tails()` are the tails of a share that has
    the reference prior (`protocol.moved`).
    """

    span: tuple[float, float]
    whole: bool
    coordinate: Coordinate
    parameter: Parameter
    log_law: Callable[[Array], Array]
    below: Callable[[Array, Array], Array]
    rows_mean: Callable[[Array], Array]
    noise: float = 0.0
    noisy_below: Callable[[Array, Array], Array] | None = None
    cells: int = CELLS
    tails: Callable[[], Tails] | None = None


@dataclass(frozen=True, eq=False)
class Posterior:
    """A law on an interval, by its distribution function at `points`, linear in between.

    `log_evidence` is the log probability of what was released under the prior, up to a constant that two hypotheses about the
    same release share.
    """

    points: Array
    cumulative: Array
    log_evidence: float = 0.0

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


def ends_of(statistics: list[Statistic]) -> Ends:
    """Equal-tailed intervals from the posterior of each parameter, or of each posterior mean without privacy."""

    @cache
    def posteriors() -> list[tuple[Posterior, Tails]]:
        return [(parameter_posterior(each), each.tails() if each.tails else DECLARED) for each in statistics]

    def ends(level: float, sampling: bool) -> Array:
        if sampling:
            return np.array([moved(law.quantile, level, tails) for law, tails in posteriors()]).T
        return np.array([_rows_ends(each, 0.5 * (1 - level)) for each in statistics]).T

    return ends


def _rows_ends(statistic: Statistic, tail: float) -> tuple[float, float]:
    low, high, masses = statistic_posterior(statistic)
    # To the far side of the cell in which a quantile falls, so that the interval holds its level or more.
    cumulative = np.cumsum(masses)
    first = int(np.searchsorted(cumulative, tail, side="right"))
    last = min(int(np.searchsorted(cumulative, 1 - tail)), len(low) - 1)
    means = statistic.rows_mean(np.array([low[first], high[last]]))
    return float(means.min()), float(means.max())


def parameter_posterior(statistic: Statistic) -> Posterior:
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
    edges = _graded(parameter, low, high, CELLS)
    middles = 0.5 * (edges[1:] + edges[:-1])
    logs = log_likelihood(middles) + _log_prior_masses(parameter, edges)
    return _posterior(parameter.value(edges), logs)


def _graded(parameter: Parameter, low: float, high: float, cells: int) -> Array:
    """Edges of equal cells, with smaller and smaller ones towards an end at which the prior density may be infinite."""
    edges, width = np.linspace(low, high, cells + 1), (high - low) / cells
    finer = width * 0.5 ** np.arange(_HALVINGS, 0, -1.0)
    parts = [edges[:1], edges[1:-1], edges[-1:]]
    if parameter.log_below is not None and low == parameter.low:
        parts.insert(1, low + finer)
    if parameter.log_above is not None and high == parameter.high:
        parts.insert(len(parts) - 1, high - finer[::-1])
    return np.concatenate(parts)


def _log_prior_masses(parameter: Parameter, edges: Array) -> Array:
    """Log prior mass of cells: density times width, and next to an end with an infinite density the mass itself."""
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


def statistic_posterior(statistic: Statistic) -> tuple[Array, Array, Array]:
    """The posterior of S: the lowest and the highest value of each cell, and its mass."""
    edges, masses = _statistic_masses(statistic, statistic.span)
    alive = np.flatnonzero(masses > 1e-12)
    half = 0.5 if statistic.whole else 0.0
    # The first pass locates the mass, the second uses finer cells there.
    edges, masses = _statistic_masses(statistic, (float(edges[alive[0]]) + half, float(edges[alive[-1] + 1]) - half))
    return edges[:-1] + half, edges[1:] - half, masses


def _statistic_masses(statistic: Statistic, within: tuple[float, float]) -> tuple[Array, Array]:
    edges, logs = likelihood(statistic, within)
    parameter = statistic.parameter
    x = _graded(parameter, *_reachable(statistic, edges), 4 * CELLS)
    prior = _log_prior_masses(parameter, x)
    theta = parameter.value(0.5 * (x[1:] + x[:-1]))[:, None]
    before = np.exp(prior - prior.max()) @ np.diff(statistic.below(theta, edges), axis=1)
    joint = before * np.exp(logs - logs.max())
    return edges, joint / joint.sum()


def _reachable(statistic: Statistic, edges: Array) -> tuple[float, float]:
    """Range of parameters that give the cells of S a positive probability: P(S <= s | theta) is monotone, so by bisection."""
    parameter, ends = statistic.parameter, edges[[0, -1]]

    def shares(x: float) -> tuple[float, float]:
        low, high = statistic.below(parameter.value(np.array([[x]])), ends)[0].tolist()
        return low, high

    first, last = shares(parameter.low), shares(parameter.high)
    rising = first[1] < last[1] or first[0] < last[0]
    reachable = []
    for upper_end in (False, True):
        # Towards one end of the parameters S falls below its cells, towards the other above them.
        above = upper_end != rising

        def reached(x: float, above: bool = above) -> bool:
            low, high = shares(x)
            return high > _REMOTE if above else low < 1 - _REMOTE

        low, high = parameter.low, parameter.high
        if not reached(high if upper_end else low):
            for _ in range(60):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if reached(middle) == upper_end else (low, middle)
        reachable.append(high if upper_end else low)
    return reachable[0], reachable[1]


def likelihood(statistic: Statistic, within: tuple[float, float] | None = None) -> tuple[Array, Array]:
    """Edges of cells of S, and the log likelihood of the draws in each, noise included."""
    low, high = within or statistic.span
    if statistic.noise == 0:
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
    cumulative = (statistic.noisy_below or normal_noise(statistic.noise))(centres, cells)
    masses = np.diff(cumulative, axis=1)
    if start <= statistic.span[0]:  # noisy values below the span were clipped to its end
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
    # The ends of the span themselves: forward and back would add rounding errors.
    return (low if first <= ends[0] else max(low, start)), (high if last >= ends[1] else min(high, end))


def _edges(statistic: Statistic, low: float, high: float, whole: bool) -> Array:
    """Cells between two values of the statistic, equal in its coordinate; of whole numbers each cell holds a run."""
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
    """The interval in which a weight is within e^-32 of its largest value, by repeated narrowing."""
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


def _posterior(points: Array, logs: Array) -> Posterior:
    top = float(np.max(logs))
    cumulative = np.concatenate([[0.0], np.cumsum(np.exp(logs - top))])
    evidence = top + math.log(float(cumulative[-1]))
    return Posterior(np.asarray(points, dtype=np.float64), cumulative / cumulative[-1], evidence)
