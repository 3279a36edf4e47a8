"""Parameters of groups whose sizes are hidden, from noisy totals: mixtures over the sizes that are possible.

A group's noisy totals are those of its size N and of its statistic counted from the middle of a record's span,

    a = N + N(0, e^2),     y = S - c N + N(0, d^2).

Given N the statistic S is known through y + c N, as that of N public records would be (`released_totals`). Every division of n
among the groups is held equally likely, as in `groups`; the posterior is the mixture over sizes at equal steps of probability
given `a`, each weighted by the probability of y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.models import _centred
from sfumato.models.families.family import Family
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.queries.statistics import rates
from sfumato.queries.statistics.bounded_means import noisy_sizes, rows_by_group
from sfumato.queries.statistics.groups import log_size
from sfumato.queries.statistics.posterior import Posterior, Statistic, parameter_posterior, statistic_posterior
from sfumato.queries.statistics.protocol import DECLARED, Ends, Released, Tails, moved, noisy_tails
from sfumato.queries.statistics.released_totals import behind_total

# Sizes of a group that are tried: three where the size is known to within 2 %, which moves an interval of a mean by less than
# that, and more where it is not; and deviations of the noise to each side of its noisy size among which they lie.
_SIZES, _WINDOW = ((0.02, 3), (0.2, 7), (math.inf, 13)), 7.0
# Sizes that are weighed one by one; of more, as many at equal steps.
_WEIGHED = 4_000


def read(build: Callable[..., Statistic], model: HiddenSizes, prior: HiddenSizes, released: Released) -> Ends:
    """Intervals of every group's parameter."""
    rows = rows_by_group(model, released)
    noisy, noise = noisy_sizes(model, released, rows)
    groups = [
        _hidden(build, model, prior.model, released, row, likely(float(size), noise, released.n, model.shared_by))
        for row, size in zip(rows, noisy, strict=True)
    ]

    tails = [_tails(model, prior, row, float(size), noise, released) for row, size in zip(rows, noisy, strict=True)]

    @cache
    def laws(sampling: bool) -> list[Posterior]:
        return [_mixture([(parameter_posterior if sampling else _rows)(each) for each in group]) for group in groups]

    def ends(level: float, sampling: bool) -> Array:
        edges = tails if sampling else [DECLARED] * len(tails)
        return np.array([moved(law.quantile, level, edge) for law, edge in zip(laws(sampling), edges, strict=True)]).T

    return ends


def _tails(model: HiddenSizes, prior: HiddenSizes, row: Array, size: float, noise: float, released: Released) -> Tails:
    """Tails of a rate with the reference prior: of the noisy successes y + c a, and of the failures, whatever the size."""
    own = model.model
    if not rates.undeclared(own, prior.model):
        return DECLARED
    ones = float(_centred.plain(own, row[None, :], np.array([size]))[0, 0])
    every, middle = own.sensitivity * size, float(_centred.middles(own)[0])
    deviation = math.hypot(released.numbers.noise * model.sensitivity, middle * noise)
    return noisy_tails(ones, every - ones, (deviation, deviation))


def likely(noisy: float, noise: float, n: int, groups: int) -> Array:
    """Sizes of a group at equal steps of their probability given its noisy size: whole numbers, at least 1."""
    low, high = max(1.0, math.floor(noisy - _WINDOW * noise)), min(float(n), math.ceil(noisy + _WINDOW * noise))
    if high <= low:
        return np.array([min(max(1.0, round(noisy)), float(n))])
    sizes = np.unique(np.rint(np.linspace(low, high, min(_WEIGHED, int(high - low) + 1))))
    logs = log_size(sizes, n, groups) - 0.5 * ((sizes - noisy) / noise) ** 2
    cumulative = np.cumsum(np.exp(logs - logs.max()))
    count = next(count for share, count in _SIZES if noise <= share * max(noisy, 1.0) or share == math.inf)
    steps = (np.arange(count) + 0.5) / count * cumulative[-1]
    return np.asarray(sizes[np.searchsorted(cumulative, steps)])


def _hidden(
    build: Callable[..., Statistic], model: HiddenSizes, prior: Family, released: Released, row: Array, sizes: Array
) -> list[Statistic]:
    """The statistic behind a group's noisy total, for each of the sizes that it may have."""
    own = model.model
    made: dict[float, Statistic] = {}
    # The noise is that of the groups' totals, which is counted in units of their sensitivity.
    noise = released.numbers.noise * model.sensitivity / own.sensitivity
    for size in np.unique(sizes).tolist():
        total = _centred.plain(own, row[None, :], np.array([size]))[0]
        alone = Released(int(size), released.numbers._replace(noise=noise), np.empty((0, 0)), total)
        made[size] = behind_total(build, own, prior, alone)
    return [made[size] for size in sizes.tolist()]


def _rows(statistic: Statistic) -> Posterior:
    """The posterior of the mean that the rows of the group would give without privacy."""
    low, high, masses = statistic_posterior(statistic)
    evidence = parameter_posterior(statistic).log_evidence
    means = statistic.rows_mean(np.concatenate([low[:1], high]))
    order = slice(None, None, 1 if means[-1] >= means[0] else -1)
    cumulative = np.concatenate([[0.0], np.cumsum(masses[order])])
    return Posterior(means[order], cumulative / cumulative[-1], evidence)


def _mixture(laws: list[Posterior]) -> Posterior:
    """The mixture of laws, each weighted by its evidence."""
    logs = np.array([law.log_evidence for law in laws])
    weights = np.exp(logs - logs.max())
    points = np.unique(np.concatenate([law.points for law in laws]))
    shares = [np.interp(points, law.points, law.cumulative, left=0.0, right=1.0) for law in laws]
    return Posterior(points, weights @ np.array(shares) / weights.sum())
