"""Intervals by group: of shares, of means of bounded values, and of the families of one parameter."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families._rate import Rate
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.queries.statistics import (
    bounded_means,
    durations,
    events,
    group_totals,
    groups,
    log_odds,
    normal_means,
    rates,
)
from sfumato.queries.statistics.posterior import Statistic
from sfumato.queries.statistics.protocol import Ends, Released

# The families of one parameter, each with the function that makes the statistic behind its draws or its noisy total.
STATISTICS: dict[type, Callable[..., Statistic]] = {
    Rate: rates.rate_statistic,
    families.GammaPoisson: events.event_statistic,
    GammaRate: durations.duration_statistic,
    families.NormalMean: normal_means.mean_statistic,
    families.LogitNormal: log_odds.log_odds_statistic,
}


def refusal(model: HiddenSizes) -> str | None:
    """A sentence for the groups of families that have no intervals by group."""
    if model._cells is not None or isinstance(model.model, (families.BoundedMean, *STATISTICS)):
        return None
    return f"no interval by group is worked out for {model.model.name}; release the groups of this family one by one."


def read(model: HiddenSizes, prior: HiddenSizes, released: Released) -> Ends:
    """Intervals of every group: from noisy totals, or of shares also from tempered draws."""
    if model._cells is not None:
        return groups.read(model, prior, released)
    if released.totals is None:
        raise ArgumentError(groups.NO_TOTALS)
    if isinstance(model.model, families.BoundedMean):
        return bounded_means.read_groups(model, released)
    build = next(STATISTICS[kind] for kind in type(model.model).__mro__ if kind in STATISTICS)
    return group_totals.read(build, model, prior, released)
