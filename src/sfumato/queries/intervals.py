"""Intervals that include the privacy noise: quantiles of the posterior given the released draws.

One draw is enough, because the law of a draw given the hidden statistic is public. `include` says of what the interval is:
"privacy and sampling" of the true parameter, "privacy" of what the rows themselves say (the posterior mean that they would
give without privacy).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.families import _cells as _grids
from sfumato.models.families._family import Family
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families._rate import Rate
from sfumato.models.families._vectors import Vectors
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.models.families.logit_normal import LogitNormal
from sfumato.models.families.normal_mean import NormalMean
from sfumato.models.grouped import Grouped
from sfumato.models.reading import model_from_json
from sfumato.queries import _cells, _coordinates, _groups, _shares, _sums, _vectors
from sfumato.queries.hidden import Statistic, parameter_belief, statistic_belief

BOTH, PRIVACY = "privacy and sampling", "privacy"
INCLUDED = (BOTH, PRIVACY)
Numbers = tuple[float, float, float]

_HIDDEN_ROWS = "the rows of a group of hidden size have no interval of their own; use include='privacy and sampling'."
# Families of one coordinate, each with the statistic behind its draws.
_SCALAR: tuple[tuple[type, Callable[..., Statistic]], ...] = (
    (Rate, _coordinates.rate_statistic),
    (GammaPoisson, _sums.poisson_statistic),
    (GammaRate, _sums.duration_statistic),
    (NormalMean, _sums.mean_statistic),
    (LogitNormal, _vectors.log_odds_statistic),
)


def interval(
    draws: Draws, plan: Mapping[str, Any], level: float = 0.9, include: str = BOTH, prior: Any = None
) -> Array:
    """Equal-tailed intervals of every released coordinate: lower ends and upper ends, shaped (2, *shape of a draw).

    `prior` is the reader's own, a family of the same kind whose prior numbers replace the model's.
    """
    share = _validate.between("level", level, 0.0, 1.0)
    sampling = _validate.one_of("include", include, INCLUDED) == BOTH
    model = model_from_json(plan["model"])
    held = _checked_prior(model, prior)
    pooled = draws.pooled().reshape(draws.shape[0] * draws.shape[1], -1)
    n, numbers = int(plan["n"]), _coordinates.chosen(plan)
    if isinstance(model, BoundedMean):
        ends = _vectors.bounded_mean(
            float(pooled[0, 0]), n, (model.lower, model.upper), numbers[2] * model.reach, share, sampling
        )
        found = np.array(ends)
    elif isinstance(model, Vectors):
        mean, deviation = _vectors.vector_law(model, held, n, numbers, pooled, sampling)
        found = _vectors.normal_ends(mean, deviation, share)
    elif isinstance(model, Grouped) and model._cells is not None and numbers[2] > 0:
        found = _noisy_groups(model, held, n, numbers[2], draws.totals, share, sampling)
    else:
        each = mixtures(model, held, n, numbers, pooled)
        found = np.array([_ends(statistics, share, sampling) for statistics in each]).T
    return np.asarray(found, dtype=np.float64).reshape(2, *draws.shape[2:])


def mixtures(model: Any, prior: Any, n: int, numbers: Numbers, draws: Array) -> list[list[tuple[float, Statistic]]]:
    """For each coordinate of draws (N, d) the statistic behind it, with the log weights of what else is unknown."""
    for kind, build in _SCALAR:
        if isinstance(model, kind):
            return [[(0.0, build(model, prior, n, numbers, draws[:, 0]))]]
    if isinstance(model, DirichletCategorical):
        return [[(0.0, found)] for found in _shares.share_statistics(model, prior, n, numbers, draws)]
    if isinstance(model, Grouped):
        return _grouped(model, prior, n, numbers, draws)
    raise ArgumentError(_why_not(model))


def _grouped(
    model: Grouped, prior: Grouped, n: int, numbers: Numbers, draws: Array
) -> list[list[tuple[float, Statistic]]]:
    """Each group by itself, from its own columns of the draws."""
    each = draws.reshape(len(draws), len(model.levels), -1)
    return [
        found for group in range(len(model.levels)) for found in one_group(model, prior, n, numbers, each[:, group])
    ]


def one_group(
    model: Grouped, prior: Grouped, n: int, numbers: Numbers, draws: Array
) -> list[list[tuple[float, Statistic]]]:
    """The shares of one group; its size is hidden too, and every division of n among the groups is held equally likely.

    The size then has the law of one of G cells of a uniform Dirichlet-multinomial; the sum over it runs over sizes at equal
    steps of probability.
    """
    cells, held, (power, strength, _) = model._cells, prior._cells, numbers
    if cells is None or held is None:
        raise ArgumentError(
            "intervals by group are known for bits and categories; release the groups of this family one by one."
        )
    grid, floor = _grids.grid_for(power * n + strength * sum(cells)), _floor(model)
    single = isinstance(model.model, BetaBernoulli)
    known = [_cells.rate_cells(draws[:, 0], floor, grid)] if single else _shares.share_cells(draws, grid)
    sizes = _sizes(n, len(model.levels), len(draws))
    found = []
    for level, ends in enumerate(known):
        own_law = (strength * cells[level], strength * (sum(cells) - cells[level]))
        own_prior = (held[level], sum(held) - held[level])
        found.append(
            [(0.0, _coordinates.count_statistic(size, own_prior, own_law, power, ends, floor)) for size in sizes]
        )
    return found


def _noisy_groups(
    model: Grouped, prior: Grouped, n: int, noise: float, totals: Array | None, level: float, sampling: bool
) -> Array:
    """Shares by group, each from its own noisy counts."""
    if totals is None:
        raise ArgumentError(
            "this release by group holds no noisy counts: it was edited, or made before they were kept."
        )
    rows = totals.reshape(len(model.levels), -1)
    laws = [law for row in rows for law in noisy_group(model, prior, n, noise, row)]
    return np.array([law.share_ends(level) if sampling else law.rows_ends(level) for law in laws]).T


def noisy_group(model: Grouped, prior: Grouped, n: int, noise: float, counts: Array) -> list[_groups.CountLaw]:
    """What the noisy counts of one group say about its shares."""
    deviation = noise * model.reach
    return _groups.count_laws(counts, n, len(model.levels), prior._cells or (), deviation, _floor(model))


def _floor(model: Grouped) -> float:
    return model.model.floor if isinstance(model.model, BetaBernoulli) else 0.0


def _sizes(n: int, groups: int, draws: int) -> list[int]:
    """Sizes of one group at equal steps of probability, where every division of n among the groups is equally likely.

    P(size >= s) = C(n - s + G - 1, G - 1)/C(n + G - 1, G - 1) is close to (1 - s/n)^(G - 1), which is inverted.
    """
    count = min(96, max(24, math.ceil(12 * math.sqrt(draws))))
    levels = (np.arange(count) + 0.5) / count
    shares = 1 - (1 - levels) ** (1 / (groups - 1))
    return [max(1, int(value)) for value in np.rint(n * shares)]


def _ends(statistics: list[tuple[float, Statistic]], level: float, sampling: bool) -> tuple[float, float]:
    tail = 0.5 * (1 - level)
    if sampling:
        belief = parameter_belief(statistics)
        return belief.quantile(tail), belief.quantile(1 - tail)
    if len(statistics) > 1:
        raise ArgumentError(_HIDDEN_ROWS)
    statistic = statistics[0][1]
    low, high, masses = statistic_belief(statistic)
    # To the far side of the cell in which a quantile falls: the rows' own number is inside at least as often as it says.
    cumulative = np.cumsum(masses)
    first = int(np.searchsorted(cumulative, tail, side="right"))
    last = min(int(np.searchsorted(cumulative, 1 - tail)), len(low) - 1)
    said = statistic.said(np.array([low[first], high[last]]))
    return float(said.min()), float(said.max())


def _checked_prior(model: Any, prior: Any) -> Any:
    if not isinstance(model, Family) or model.utility:
        raise ArgumentError(_why_not(model))
    if prior is None:
        return model
    if type(prior) is not type(model) or prior.labels != model.labels:
        raise ArgumentError(
            f"prior must be a {model.name} with the same labels, as the released model is; got {prior!r}."
        )
    return prior


def _why_not(model: Any) -> str:
    """What to use where no law of a draw given a hidden statistic is worked out."""
    name = getattr(model, "name", type(model).__name__)
    if name == "Quantile":
        return "a drawn quantile is one of public candidates, with its rank error in plan.expected: no interval goes with it."
    if name == "Finite":
        return "a finite family has points, not intervals: count the draws of each point, or use respond(...)."
    if hasattr(model, "unshrunk"):
        return "a network has tables, not one parameter: ask marginal(...) or conditional(...) of each draw."
    return f"no noise-aware interval is worked out for {name}; quantile(...) gives the quantiles of the draws alone."
