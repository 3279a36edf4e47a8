"""Shares by group, whose sizes are hidden: mixtures over the counts that are possible given the release.

Given the counts k of a level and m of the group's other levels, its share theta is Beta(h1 + k, h2 + m), cut to
[floor, 1 - floor], so the posterior is a mixture of these. Every division of n among the G groups is held equally likely: P(size)
is proportional to C(n - size + G - 2, G - 2).

From noisy counts: with a the noisy count of a level in a group and b that of the group's L - 1 other levels together,

    a = k + N(0, s^2),     b = m + N(0, (L - 1) s^2),     k + m = the size,

and the sum is over runs of whole numbers, short beside the noise and beside the counts. From tempered draws: over sizes at
equal steps of probability, and for each over the counts of this size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.grids.sticks import StickGrid
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.queries.statistics.cell_masses import beta_below_inside, log_beta_inside
from sfumato.queries.statistics.posterior import Statistic, likelihood
from sfumato.queries.statistics.protocol import DECLARED, REFERENCE, Ends, Numbers, Released, Tails, moved, noisy_tails
from sfumato.queries.statistics.rates import count_statistic, drawn_tails, mean_above_floor, undeclared
from sfumato.queries.statistics.whole_runs import whole_runs

# Deviations of the noise to each side of a noisy count; runs to a deviation, and to the count itself.
_WINDOW, _RUNS = 7.0, 6
# Parts of a mixture below this share of the largest are left out; a window is widened until its edges are below the second.
_NOTHING, _EDGE = 1e-10, 1e-9
_WIDENINGS = 40
NO_TOTALS = "this release by group holds no noisy totals: it was edited, or made before they were kept."


@dataclass(frozen=True, eq=False)
class CountLaw:
    """The posterior of one share of one group: weights of the hidden counts `own` and `rest`.

    `prior` are the two cells of the reader's Beta prior, `floor` where the share is cut off; `tails` are those of the
    reference prior (`protocol.moved`).
    """

    own: Array
    rest: Array
    weights: Array
    prior: tuple[float, float]
    floor: float = 0.0
    tails: Tails = DECLARED

    def share_ends(self, level: float) -> tuple[float, float]:
        """Ends of the equal-tailed interval of the true share."""
        return moved(self.share_quantile, level, self.tails)

    def share_quantile(self, level: float) -> float:
        """Quantile of the mixture of Betas, by Brent's method."""
        from scipy.optimize import brentq

        a, b, low, high = self.prior[0] + self.own, self.prior[1] + self.rest, self.floor, 1 - self.floor

        def excess(share: float) -> float:
            return float(self.weights @ beta_below_inside(a, b, self.floor, share)) - level

        if excess(high) <= 0:
            return high
        return low if excess(low) >= 0 else float(brentq(excess, low, high, xtol=1e-12, rtol=1e-9))

    def rows_ends(self, level: float) -> tuple[float, float]:
        """Ends of the interval of the posterior mean that the rows themselves would give, to the far side of a run."""
        a, b = self.prior[0] + self.own, self.prior[1] + self.rest
        means = mean_above_floor(a, b, self.floor)
        order = np.argsort(means)
        reached, tail = np.cumsum(self.weights[order]), 0.5 * (1 - level)
        first = min(int(np.searchsorted(reached, tail, side="right")), len(order) - 1)
        last = min(int(np.searchsorted(reached, 1 - tail)), len(order) - 1)
        return float(means[order[first]]), float(means[order[last]])


def read(model: HiddenSizes, prior: HiddenSizes, released: Released) -> Ends:
    """Intervals of every share of every group whose columns are given."""
    laws = group_laws(model, prior, released)
    return lambda level, sampling: (
        np.array([law.share_ends(level) if sampling else law.rows_ends(level) for law in laws]).T
    )


def group_laws(model: HiddenSizes, prior: HiddenSizes, released: Released) -> list[CountLaw]:
    """Each group by itself: from its noisy counts, or from its own columns of the draws."""
    noise = released.numbers.noise
    if noise == 0:
        draws = released.first.reshape(len(released.first), -1, len(model.model.labels))
        parts = [tempered_group(model, prior, released.n, released.numbers, draws[:, k]) for k in range(draws.shape[1])]
        return [law for part in parts for law in part]
    if released.totals is None:
        raise ArgumentError(NO_TOTALS)
    held, deviation = held_cells(model, prior), noise * model.sensitivity
    rows = released.totals.reshape(-1, len(held))
    parts = [noisy_laws(row, released.n, model, held, deviation) for row in rows]
    return [law for part in parts for law in part]


def held_cells(model: HiddenSizes, prior: HiddenSizes) -> tuple[float, ...]:
    """The reader's prior cells: those declared, or the reference prior of a rate where none are."""
    return REFERENCE if undeclared(model.model, prior.model) else prior._cells or ()


def tempered_group(model: HiddenSizes, prior: HiddenSizes, n: int, numbers: Numbers, draws: Array) -> list[CountLaw]:
    """The laws behind tempered draws (N, shares) of one group, whose size is hidden."""
    cells, held, (power, strength, _, size) = model._cells or (), held_cells(model, prior), numbers
    part = model.public_law(n, power, strength, size).parts[0]
    grid: StickGrid = part.geometry  # groups of bits and categories are Dirichlets
    known = [grid.rates.ends(draws[:, 0])] if grid.single else grid.ends(draws)
    sizes, floor, laws = likely_sizes(n, len(model.levels), len(draws)), _floor(model), []
    for level, ends in enumerate(known):
        law = (strength * cells[level], strength * (sum(cells) - cells[level]))
        own_prior = (held[level], sum(held) - held[level])
        counts = [(size, count_statistic(size, own_prior, law, power, ends, floor)) for size in sizes]
        tails = drawn_tails(law, power, np.array(sizes), ends) if held is REFERENCE else DECLARED
        laws.append(replace(tempered_law(counts, own_prior, floor), tails=tails))
    return laws


def _floor(model: HiddenSizes) -> float:
    return getattr(model.model, "floor", 0.0)


def noisy_laws(noisy: Array, n: int, model: HiddenSizes, prior: Sequence[float], deviation: float) -> list[CountLaw]:
    """The laws behind the noisy counts (L,) of one group, one for each released share: of a rate the first alone."""
    laws, groups, floor = [], model.shared_by, _floor(model)
    for level in range(len(model.model.labels)):
        own, rest = float(noisy[level]), float(noisy.sum() - noisy[level])
        cells = (float(prior[level]), float(sum(prior) - prior[level]))
        law, others = noisy_law((own, rest), n, groups, cells, deviation, len(noisy) - 1, floor), len(noisy) - 1
        tails = noisy_tails(own, rest, (deviation, deviation * math.sqrt(others))) if prior is REFERENCE else DECLARED
        laws.append(replace(law, tails=tails))
    return laws


def noisy_law(
    noisy: tuple[float, float],
    n: int,
    groups: int,
    prior: tuple[float, float],
    deviation: float,
    others: int,
    floor: float,
) -> CountLaw:
    """The law behind the noisy counts of a level and of the group's `others` together."""
    noise = np.array([deviation, deviation * math.sqrt(others)])
    centre = np.clip(noisy, 0.0, n)
    low, high = np.clip(centre - _WINDOW * noise, 0, n), np.clip(noisy + _WINDOW * noise, 1, n)
    for _ in range(_WIDENINGS):
        # A prior that contradicts the counts can hold its mass outside the first window.
        (k, wide_k), (m, wide_m) = (whole_runs(low[i], high[i], noise[i] / _RUNS, _RUNS) for i in (0, 1))
        own, rest = np.meshgrid(k, m, indexing="ij")
        logs = _log_counts(own, rest, prior, floor) + log_size(own + rest, n, groups)
        logs += np.log(wide_k)[:, None] + np.log(wide_m)
        with np.errstate(over="ignore"):
            logs -= 0.5 * (((own - noisy[0]) / noise[0]) ** 2 + ((rest - noisy[1]) / noise[1]) ** 2)
        top = float(logs.max())
        if not math.isfinite(top):
            if not low.any():
                raise ArgumentError(f"no {n:,} records have counts near these noisy ones: the release was edited.")
            low = np.zeros(2)  # every point of the window sums to more than n
            continue
        weights = np.exp(logs - top)
        most = [[weights[0].max(), weights[-1].max()], [weights[:, 0].max(), weights[:, -1].max()]]
        short = (np.array(most) > _EDGE) & np.column_stack([low > 0, high < n])
        if not short.any():
            break
        low = np.where(short[:, 0], np.maximum(low - _WINDOW * noise, 0), low)
        high = np.where(short[:, 1], np.minimum(high + _WINDOW * noise, n), high)
    return _mixture(own, rest, weights, prior, floor)


def tempered_law(statistics: Sequence[tuple[int, Statistic]], prior: tuple[float, float], floor: float) -> CountLaw:
    """The law behind tempered draws, with the statistic of each of the sizes that are equally likely."""
    owns, rests, logs = [], [], []
    for size, statistic in statistics:
        edges, seen = likelihood(statistic)
        own = 0.5 * (edges[1:] + edges[:-1])
        owns.append(own)
        rests.append(size - own)
        logs.append(seen + np.log(np.diff(edges)) + _log_counts(own, size - own, prior, floor))
    joined = np.concatenate(logs)
    weights = np.exp(joined - joined.max())
    return _mixture(np.concatenate(owns), np.concatenate(rests), weights, prior, floor)


def likely_sizes(n: int, groups: int, draws: int) -> list[int]:
    """Sizes of one group at equal steps of probability, more of them for more draws.

    P(size >= s) = C(n - s + G - 1, G - 1)/C(n + G - 1, G - 1) is close to (1 - s/n)^(G - 1), which is inverted.
    """
    count = min(96, max(24, math.ceil(12 * math.sqrt(draws))))
    levels = (np.arange(count) + 0.5) / count
    shares = 1 - (1 - levels) ** (1 / (groups - 1))
    return [max(1, int(value)) for value in np.rint(n * shares)]


def _mixture(own: Array, rest: Array, weights: Array, prior: tuple[float, float], floor: float) -> CountLaw:
    kept = weights > _NOTHING
    return CountLaw(own[kept], rest[kept], weights[kept] / weights[kept].sum(), prior, floor)


def log_size(size: Array, n: int, groups: int) -> Array:
    """Log probability of a group's size, up to a constant; minus infinity above n."""
    from scipy.special import gammaln

    left = np.maximum(n - size, 0.0)
    return np.asarray(np.where(size <= n, gammaln(left + groups - 1) - gammaln(left + 1), -np.inf))


def _log_counts(own: Array, rest: Array, prior: tuple[float, float], floor: float) -> Array:
    """Log probability of the two counts given their sum, before anything was seen, up to a constant."""
    from scipy.special import betaln, gammaln

    a, b = prior[0] + own, prior[1] + rest
    orders = gammaln(own + rest + 1) - gammaln(own + 1) - gammaln(rest + 1)
    return np.asarray(orders + betaln(a, b) + log_beta_inside(a, b, floor))
