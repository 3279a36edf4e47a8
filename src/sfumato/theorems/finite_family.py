"""Finite families: what a posterior draw of one of m parameters costs, when a record is one of v levels.

With d_xy(theta) = log p_theta(x) - log p_theta(y) and power r, replacing x by y among the records E + x moves the log
posterior at theta by

    r d_xy(theta) - [A(E + x) - A(E + y)],      A(D) = log sum_theta xi(theta) prod_{z in D} p_theta(z)^r.

Bounded range: r max_{x,y} (max_theta d_xy - min_theta d_xy), at most 2 r L and often less. Pure: A is convex along the
exchange of y for x, so the increment is smallest when x does not occur in E,

    eps = max_{x != y} { r max_theta d_xy - min_{E without x} [A(E + x) - A(E + y)] },

which is one E for two levels and C(n+v-3, v-2) for each x beyond. Proofs: docs/proofs/finite_family.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.privacy.curves import BoundedRange, Curve, Pure
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.theorems import metric_finite
from sfumato.theorems._common import DRAWS, LIKELIHOOD_POWER, LOG_ERROR, RECORDS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

Array = NDArray[np.float64]
SOURCE = "Dimitrakakis et al. 2017, Theorem 8(1), at the exact supremum"
# Beyond so many count vectors, or entries of work, the pure form is left out.
MOST_COUNTS, MOST_WORK = 20_000, 4_000_000


_TABLE = (
    Hypothesis("log-likelihood", "log likelihood of every level", "log p",
               "a table (parameter, level) of finite numbers",
               "Restrict the prior to Theta_L: a parameter under which a level is impossible has no finite price.",
               "likelihood"),
)  # fmt: skip
_PRIOR = (
    Hypothesis("log-prior", "log prior", "log xi", "one finite number per parameter",
               "Leave out parameters without prior mass.", "prior"),
)  # fmt: skip


theorem(
    "finite_family.posterior_draws", "posterior of a finite family", SOURCE,
    *_TABLE, *_PRIOR, RECORDS, LIKELIHOOD_POWER, DRAWS,
    Hypothesis("form", "form", "form", "'best', 'pure' or 'bounded range'", "Name one."),
    LOG_ERROR,
    Hypothesis("enumerable", "data sets few enough to enumerate", "n, v, m", "enumerable",
               "Use form='bounded range': it needs no enumeration."),
)  # fmt: skip


def posterior_draws(
    *,
    log_likelihood: Sequence[Sequence[float]],
    log_prior: Sequence[float],
    n: int,
    power: float = 1.0,
    draws: int = 1,
    form: str = "best",
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """N draws of the posterior of n records at power r: pure at the exact supremum, or bounded range.

    `log_likelihood` is the table log p_theta(x) of the parameters that have prior mass, `log_prior` the logarithm of that
    mass up to a constant. `form` "pure" claims the supremum over all data sets of n records, "bounded range" the interval,
    "best" the pure form for one draw where it can be computed and is smaller. `log_error` bounds how far the log of a drawn
    point's mass is from the exact one.
    """
    h = Hypotheses("finite_family.posterior_draws")
    table = _table(h, log_likelihood)
    prior = _prior(h, log_prior, len(table))
    count = h.count(n, "records")
    r = h.number(power, "power")
    k = h.count(draws, "draws")
    h.holds(form in ("best", "pure", "bounded range"), "form", given=form)
    off = h.number(log_error, "log-error")
    interval = r * largest_range(log_likelihood=table) * (1 + 4 * UNIT)
    possible = enumerable(levels=table.shape[1], parameters=len(table), n=count)
    if form == "pure":
        h.holds(possible, "enumerable", given=f"n = {count}")
    if form == "pure" or (form == "best" and k == 1 and possible):
        epsilon = min(interval, _supremum(table, prior, count, r))
        if form == "pure" or epsilon < interval:
            return h.guarantee(k * Pure(epsilon + 2 * off), unit=unit, draws=k)
    curve: Curve = BoundedRange(interval + 4 * off)
    return h.guarantee(k * curve, unit=unit, draws=k)


theorem("finite_family.largest_range", "range of a finite family", SOURCE, *_TABLE)


def largest_range(*, log_likelihood: ArrayLike) -> float:
    """Largest, over pairs of levels, of max_theta d_xy - min_theta d_xy: twice L or less; rounded up.

    `log_likelihood` is the table log p_theta(x), one row per parameter and one column per level; d_xy(theta) is the
    difference of two of its columns. At power r this range times r is the bounded range of one draw.
    Source: Dimitrakakis et al. 2017, Theorem 8(1).
    """
    table = _table(Hypotheses("finite_family.largest_range"), log_likelihood)
    return max((_range(table, x, y) for x, y in itertools.combinations(range(table.shape[1]), 2)), default=0.0)


def enumerable(*, levels: int, parameters: int, n: int) -> bool:
    """Whether the pure form may be computed: few enough count vectors without a level, and little enough work.

    The supremum is taken over the count vectors of n - 1 records on all `levels` but one. Their number and the number of
    table entries that are summed (`parameters` times `levels` each) must be at most MOST_COUNTS and MOST_WORK.
    All arguments are public, so the choice of form is.
    """
    vectors = levels * math.comb(n + levels - 3, levels - 2) if levels > 1 else 0
    return vectors <= MOST_COUNTS and vectors * levels * parameters <= MOST_WORK


theorem(
    "finite_family.finite_metric", "finite family under a distance between records",
    "Dimitrakakis et al. 2017, section 2.2.2, Lemma 5",
    *_TABLE,
    Hypothesis("sufficiency", "sufficiency of the statistic behind rho", "rho(x, y) = 0",
               "equal likelihoods at distance 0", "Give these levels a positive distance, or the same column.",
               "likelihood"),
    Hypothesis("distances", "distances", "rho", "finite", "Give finite distances."),
    Hypothesis("distance", "distance between records", "rho", "a name such as '|t(x) - t(y)|'", "Say which is meant."),
    LIKELIHOOD_POWER, DRAWS, LOG_ERROR,
)  # fmt: skip


def finite_metric(
    *,
    log_likelihood: Sequence[Sequence[float]],
    distances: ArrayLike,
    distance: str,
    power: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """(N r K, 0)-privacy under rho(x_1..x_n, y_1..y_n) = sum_i rho(x_i, y_i), K = max range(d_xy)/rho(x, y) (section 2.2.2).

    `distances` is the table rho(x, y) between levels, often that of a statistic of theirs; `distance` names it. Levels at
    distance 0 must have the SAME likelihood under every parameter (the statistic is sufficient), or nothing is claimed.
    K is at most 2 L and often less. The error of drawn masses is charged at the smallest positive distance.
    """
    h = Hypotheses("finite_family.finite_metric")
    table = _table(h, log_likelihood)
    rho = np.asarray(distances, dtype=np.float64)
    apart = metric_finite.insufficient_pairs(log_likelihood=table, distances=rho)
    pairs = list(itertools.combinations(range(table.shape[1]), 2))
    apart += [(x, y) for x, y in pairs if rho[x, y] == 0 and (table[:, x] != table[:, y]).any() and (x, y) not in apart]
    h.holds(not apart, "sufficiency", given=f"{len(apart)} pair(s) that differ, the first being {apart[:1]}")
    h.holds(bool(np.isfinite(rho).all()), "distances", given="an infinite one")
    named = isinstance(distance, str) and bool(distance.strip())
    h.holds(named, "distance", given=distance)
    r = h.number(power, "power")
    k = h.count(draws, "draws")
    off = h.number(log_error, "log-error")
    far = [(x, y) for x, y in pairs if rho[x, y] > 0]
    slope = max((_range(table, x, y) / rho[x, y] for x, y in far), default=0.0)
    nearest = min((rho[x, y] for x, y in far), default=1.0)
    epsilon = k * (r * slope + 2 * off / nearest) * (1 + 8 * UNIT)
    return h.guarantee(Metric(float(epsilon), 0.0, distance), "metric", unit, draws=k)


def _range(table: Array, x: int, y: int) -> float:
    """max_theta d_xy - min_theta d_xy, rounded up."""
    gaps = table[:, x] - table[:, y]
    return float(gaps.max() - gaps.min()) + 4 * UNIT * float(np.abs(gaps).max())


def _supremum(table: Array, prior: Array, n: int, r: float) -> float:
    """Largest log ratio of neighbouring posteriors at power r over all data sets of n records; rounded up."""
    size, levels = table.shape
    best = 0.0
    for x in range(levels):
        others = [z for z in range(levels) if z != x]
        counts = np.zeros((math.comb(n + levels - 3, levels - 2), levels)) if levels > 1 else np.zeros((0, 1))
        if others:
            counts[:, others] = _count_vectors(n - 1, levels - 1)
        after = _log_normalisers(table, prior, r, counts)
        for y in others:
            steepest = float((table[:, x] - table[:, y]).max())
            best = max(best, r * steepest - float((after[:, x] - after[:, y]).min()))
    # Two logarithms of sums whose terms were taken relative to the largest: see the note for what they may have lost.
    spread = float(np.ptp(prior)) + r * float(np.abs(table).max())
    lost = 1e-13 * (1 + spread) + 2.5e-16 * size
    if levels > 2:
        lost += 5e-16 * (levels + 2) * r * n * float(np.ptp(table, axis=0).max())
    return float(best + lost)


def _log_normalisers(table: Array, prior: Array, r: float, counts: Array) -> Array:
    """A(E + z) for every count vector E and level z, up to a constant for each E."""
    top = (prior + r * (counts @ table.T)).argmax(axis=1)
    # Relative to the most probable parameter: differences first, so that what is large cancels before it is rounded.
    logs = prior - prior[top][:, None]
    for z in range(table.shape[1]):
        logs = logs + (r * counts[:, z, None]) * (table[:, z] - table[top, z][:, None])
    return np.stack([_log_sum(logs + r * table[:, z]) for z in range(table.shape[1])], axis=1)


def _log_sum(logs: Array) -> Array:
    peak = logs.max(axis=1, keepdims=True)
    return np.asarray(peak[:, 0] + np.log(np.exp(logs - peak).sum(axis=1)))


@lru_cache(maxsize=4)
def _count_vectors(total: int, parts: int) -> Array:
    """All vectors of `parts` counts that sum to `total`, by placing the bars between the stars."""
    if parts == 1:
        return np.array([[float(total)]])
    places = itertools.combinations(range(total + parts - 1), parts - 1)
    bars = np.array(list(places), dtype=np.int64)
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    vectors: Array = np.diff(edges, axis=1).astype(np.float64) - 1
    vectors.setflags(write=False)
    return vectors


def _table(h: Hypotheses, log_likelihood: ArrayLike) -> Array:
    table = np.asarray(log_likelihood, dtype=np.float64)
    h.holds(table.ndim == 2 and table.size > 0 and bool(np.isfinite(table).all()), "log-likelihood", given=table.shape)
    return table


def _prior(h: Hypotheses, log_prior: ArrayLike, size: int) -> Array:
    prior = np.asarray(log_prior, dtype=np.float64)
    h.holds(prior.shape == (size,) and bool(np.isfinite(prior).all()), "log-prior", given=prior.shape)
    return prior
