"""Intervals that include the privacy noise: quantiles of the posterior given the released draws.

One draw is enough, because the law of a draw given the hidden statistic is public. With `include` "privacy and sampling" an
interval is for the true parameter, with "privacy" for the posterior mean that the rows would give without privacy. The
methods are in `queries.statistics`, one file a family; those of regressions in `queries.shaped_intervals` and, for plain paths,
in `queries.transcript_posterior`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.families.family import Family
from sfumato.models.model import LOSSES
from sfumato.models.reading import FamilyOrGibbs, model_from_json
from sfumato.queries import shaped_intervals
from sfumato.queries.statistics.protocol import BOTH, INCLUDED, ROBUST, Ends, Released, numbers_of
from sfumato.queries.statistics.table import reader_of

_NO_PRIOR = "prior is for families; the prior of a regression is part of its plan."


def interval(
    draws: Draws,
    plan: Mapping[str, Any],
    level: float = 0.9,
    include: str = BOTH,
    prior: Family | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Array:
    """Equal-tailed intervals of every released coordinate: lower ends and upper ends, shaped (2, *shape of a draw).

    `prior` is the reader's own, a family of the same kind whose prior numbers replace the model's. `schema` is the release's
    document, which a regression needs.
    """
    share = _validate.between("level", level, 0.0, 1.0)
    sampling = includes_sampling(plan, include)
    ends = ends_of_release(draws, plan, include, prior, schema)
    return np.asarray(ends(share, sampling), dtype=np.float64).reshape(2, *draws.shape[2:])


def ends_of_release(
    draws: Draws,
    plan: Mapping[str, Any],
    include: str = BOTH,
    prior: Family | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Ends:
    """The function from a level to the ends of the intervals of every coordinate, each a row."""
    model = model_from_json(plan["model"])
    read = reader_of(model)
    held = model if prior is None else _checked_prior(model, prior)
    pooled = draws.pooled().reshape(draws.shape[0] * draws.shape[1], -1)
    record = (draws, plan, schema or {})
    released = Released(int(plan["n"]), numbers_of(plan), pooled, draws.totals, record, include == ROBUST)
    return read(model, held, released)


def includes_sampling(plan: Mapping[str, Any], include: str) -> bool:
    """Whether an interval is for the true parameter; refuse other words, and "robust" where no scores are released."""
    sampling = _validate.one_of("include", include, INCLUDED) in (BOTH, ROBUST)
    if include == ROBUST and not shaped_intervals.is_shaped(plan):
        raise ArgumentError(
            'robust intervals are for regressions with mechanism "shaped-path" that keep their scores: keep=("scores",).'
        )
    return sampling


def estimate(
    draws: Draws, plan: Mapping[str, Any], include: str, prior: Family | None, schema: Mapping[str, Any] | None
) -> Array:
    """The posterior median of every coordinate, which every interval holds: the limit of ever narrower ones."""
    middle = ends_of_release(draws, plan, include, prior, schema)(0.0, includes_sampling(plan, include)).mean(axis=0)
    return np.asarray(middle, dtype=np.float64).reshape(draws.shape[2:])


def no_prior(prior: Any) -> None:
    """Refuse a reader's prior of a regression."""
    if prior is not None:
        raise ArgumentError(_NO_PRIOR)


def _checked_prior(model: FamilyOrGibbs, prior: Family) -> Family:
    """The reader's prior, which must be of the released family: of the same inner family for groups, with the same floor."""
    if model.summed == LOSSES:
        raise ArgumentError(_NO_PRIOR)
    inner = [getattr(each, "model", each) for each in (model, prior)]
    alike = [(type(each), type(within)) for each, within in zip((model, prior), inner, strict=True)]
    floors = {getattr(within, "floor", 0.0) for within in inner}
    if len(set(alike)) > 1 or prior.labels != model.labels or len(floors) > 1:
        raise ArgumentError(
            f"prior must be a {model.name} with the same labels and floor, as the released model is; got {prior!r}."
        )
    return prior
