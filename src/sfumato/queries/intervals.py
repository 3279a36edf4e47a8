"""Intervals that include the privacy noise: quantiles of the posterior given the released draws.

One draw is enough, because the law of a draw given the hidden statistic is public. `include` says of what the interval is:
"privacy and sampling" of the true parameter, "privacy" of what the rows themselves say (the posterior mean that they would
give without privacy).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.grids.sticks import StickGrid
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families._rate import Rate
from sfumato.models.families._vectors import Vectors
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.models.families.family import Family
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.models.families.logit_normal import LogitNormal
from sfumato.models.families.normal_mean import NormalMean
from sfumato.models.grouped import Grouped
from sfumato.models.reading import model_from_json
from sfumato.queries import _coordinates, _groups, _shares, _sums, _vectors
from sfumato.queries.hidden import Statistic, parameter_belief, statistic_belief

BOTH, PRIVACY = "privacy and sampling", "privacy"
INCLUDED = (BOTH, PRIVACY)
Numbers = tuple[float, float, float]
# Draws that are looked at. Each one costs a sum over all values of the hidden statistic, so a file of millions would take
# hours. N draws place the statistic within 1/sqrt(N) of their spread: more than these narrow an interval by 0.01 %.
MOST_DRAWS = 4096

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

    `prior` is the reader's own, a family of the same kind whose prior numbers replace the model's. Of more than MOST_DRAWS
    draws the first are taken: draws are exchangeable, and how many are taken depends on their public number alone.
    """
    share = _validate.between("level", level, 0.0, 1.0)
    sampling = _validate.one_of("include", include, INCLUDED) == BOTH
    model = model_from_json(plan["model"])
    held = _checked_prior(model, prior)
    refuse_without(model)
    pooled = draws.pooled().reshape(draws.shape[0] * draws.shape[1], -1)
    n, numbers = int(plan["n"]), _coordinates.chosen(plan)
    if isinstance(model, BoundedMean):
        ends = _vectors.bounded_mean(
            float(pooled[0, 0]), n, (model.lower, model.upper), numbers[2] * model.sensitivity, share, sampling
        )
        found = np.array(ends)
    elif isinstance(model, Vectors):
        mean, deviation = _vectors.vector_law(model, held, n, numbers, pooled, sampling)
        found = _vectors.normal_ends(mean, deviation, share)
    elif isinstance(model, Grouped):
        laws = _grouped(model, held, n, numbers, draws)
        found = np.array([law.share_ends(share) if sampling else law.rows_ends(share) for law in laws]).T
    else:
        found = np.array(
            [_ends(each, share, sampling) for each in statistics(model, held, n, numbers, pooled[:MOST_DRAWS])]
        ).T
    return np.asarray(found, dtype=np.float64).reshape(2, *draws.shape[2:])


def statistics(model: Any, prior: Any, n: int, numbers: Numbers, draws: Array) -> list[Statistic]:
    """For each coordinate of draws (N, d) the statistic behind it."""
    for kind, build in _SCALAR:
        if isinstance(model, kind):
            return [build(model, prior, n, numbers, draws[:, 0])]
    if isinstance(model, DirichletCategorical):
        return list(_shares.share_statistics(model, prior, n, numbers, draws))
    raise ArgumentError(_why_not(model))


def refuse_without(model: Any) -> None:
    """Refuse a model for which no interval is worked out, saying what to use."""
    if isinstance(model, Grouped) and model._cells is None:
        raise ArgumentError(
            "intervals by group are known for bits and categories; release the groups of this family one by one."
        )
    if not isinstance(model, (Grouped, DirichletCategorical, BoundedMean, Vectors, *(kind for kind, _ in _SCALAR))):
        raise ArgumentError(_why_not(model))


def _grouped(model: Grouped, prior: Grouped, n: int, numbers: Numbers, draws: Draws) -> list[_groups.CountLaw]:
    """Each group by itself: from its noisy counts, or from its own columns of the draws."""
    groups = len(model.levels)
    if numbers[2] > 0:
        if draws.totals is None:
            raise ArgumentError(
                "this release by group holds no noisy counts: it was edited, or made before they were kept."
            )
        rows = draws.totals.reshape(groups, -1)
        return [law for row in rows for law in noisy_group(model, prior, n, numbers[2], row)]
    own = draws.pooled().reshape(draws.shape[0] * draws.shape[1], groups, -1)
    seen = own[:MOST_DRAWS]
    return [law for group in range(groups) for law in tempered_group(model, prior, n, numbers, seen[:, group])]


def noisy_group(model: Grouped, prior: Grouped, n: int, noise: float, counts: Array) -> list[_groups.CountLaw]:
    """What the noisy counts of one group say about its shares."""
    deviation = noise * model.sensitivity
    return _groups.noisy_laws(counts, n, len(model.levels), prior._cells or (), deviation, _floor(model))


def tempered_group(model: Grouped, prior: Grouped, n: int, numbers: Numbers, draws: Array) -> list[_groups.CountLaw]:
    """What tempered draws (N, shares) of one group say about its shares; its size is hidden."""
    cells, held, (power, strength, _) = model._cells or (), prior._cells or (), numbers
    drawn, floor = model.law([Fraction(0)] * len(model.units), n, power, strength), _floor(model)
    grid: StickGrid = drawn.parts[0].geometry  # type: ignore[assignment]  # groups with `_cells` are Dirichlets
    known = [grid.rates.ends(draws[:, 0])] if grid.single else grid.ends(draws)
    sizes = _groups.likely_sizes(n, len(model.levels), len(draws))
    found = []
    for level, ends in enumerate(known):
        law = (strength * cells[level], strength * (sum(cells) - cells[level]))
        own_prior = (held[level], sum(held) - held[level])
        counts = [(size, _coordinates.count_statistic(size, own_prior, law, power, ends, floor)) for size in sizes]
        found.append(_groups.tempered_law(counts, own_prior, floor))
    return found


def _floor(model: Grouped) -> float:
    return model.model.floor if isinstance(model.model, BetaBernoulli) else 0.0


def _ends(statistic: Statistic, level: float, sampling: bool) -> tuple[float, float]:
    tail = 0.5 * (1 - level)
    if sampling:
        belief = parameter_belief(statistic)
        return belief.quantile(tail), belief.quantile(1 - tail)
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
    same = type(prior) is type(model) and prior.labels == model.labels
    if isinstance(model, Grouped) and isinstance(prior, Grouped):
        same = same and type(prior.model) is type(model.model)
    inner = [getattr(each, "model", each) for each in (model, prior)]
    if not same or len({getattr(each, "floor", 0.0) for each in inner}) > 1:
        raise ArgumentError(
            f"prior must be a {model.name} with the same labels and floor, as the released model is; got {prior!r}."
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
