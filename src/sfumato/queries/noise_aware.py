"""Draws of the true parameter given a release: what a reader believes, the privacy noise and the sampling of the records included.

The released draws follow the law that was priced, a tempered posterior or one that follows noisy totals; their spread is not
the uncertainty about the parameter. Draws from the quantiles of the noise-aware posterior (`intervals`) are, and they cost
nothing: they are computed from the release. Where a model has several coordinates that depend on each other their joint law is
not worked out, and they are refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sfumato import _validate
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.models.reading import model_from_json
from sfumato.queries.intervals import ends_of_release
from sfumato.queries.statistics import rates
from sfumato.queries.statistics.protocol import REFERENCE

# Levels of the intervals whose ends are joined by straight lines into a quantile function; beyond 0.999 it is cut off.
_LEVELS = np.concatenate([np.linspace(0.02, 0.98, 33), [0.99, 0.995, 0.998]])
LAW = "what this release tells of the parameter, noise and sampling included"
# As many draws as ArviZ's summaries of tails ask for.
DRAWS = 2_000


def refusal(plan: Mapping[str, Any]) -> str | None:
    """Why no noise-aware draws can be made from releases of this plan, or None."""
    model = model_from_json(plan["model"])
    inner = model.model if isinstance(model, HiddenSizes) else model
    if len(getattr(inner, "labels", ())) == 1:
        return None
    name = "regression" if isinstance(inner, Gibbs) else getattr(inner, "name", type(inner).__name__)
    return f"the joint law of the coordinates of a {name} is not worked out; interval() and summary() have that of each"


def known(draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any]) -> Draws | None:
    """The noise-aware draws of a release, always the same ones; None where there are none."""
    if refusal(plan) is not None:
        return None
    try:
        return drawn(draws, plan, schema, DRAWS, 0)
    except ArgumentError:  # no interval is worked out for the model
        return None


def is_posterior(plan: Mapping[str, Any]) -> bool:
    """Whether the released draws are of the posterior itself, with nothing added for privacy."""
    return bool(plan["mechanism"] == "exact")


def warn(name: str, plan: Mapping[str, Any]) -> None:
    """Say that released draws are handed on as they are, where their spread leaves the privacy noise out."""
    if is_posterior(plan) or plan["goal"] == "estimate":  # an estimate is one number, and has no spread
        return
    instead = (
        f"{name}(noise_aware=True) gives draws that include it" if refusal(plan) is None else "interval() includes it"
    )
    warnings.warn(
        f"{name}() gives the draws as they were released: their spread leaves the privacy noise out. {instead}; "
        f"{name}(noise_aware=False) gives these without this warning.",
        stacklevel=4,
    )


def _written_out(model: Any) -> Any:
    """The reference prior of a rate where none was declared: a prior that is given moves no end, and quantiles are wanted."""
    if isinstance(model, HiddenSizes):
        inner: Any = _written_out(model.model)
        return inner and replace(cast(Any, model), model=inner)
    return replace(model, alpha=REFERENCE[0], beta=REFERENCE[1]) if rates.undeclared(model, model) else None


def drawn(draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any], count: int, seed: int) -> Draws:
    """Noise-aware draws, shaped (1, count, *shape of a draw); `seed` is public, and the same seed gives the same draws."""
    reason = refusal(plan)
    if reason is not None:
        raise ArgumentError(f"noise_aware: {reason}.")
    size = _validate.whole("draws", count)
    ends = ends_of_release(draws, plan, prior=_written_out(model_from_json(plan["model"])), schema=schema)
    low, high = np.stack([ends(float(level), True) for level in _LEVELS], axis=1)
    levels = np.concatenate([0.5 * (1 - _LEVELS[::-1]), [0.5], 0.5 * (1 + _LEVELS)])
    middle = 0.5 * (low[:1] + high[:1])
    values = np.concatenate([low[::-1], middle, high])
    at = np.random.default_rng(seed).random((size, values.shape[1]))
    sampled = np.column_stack([np.interp(column, levels, known) for column, known in zip(at.T, values.T, strict=True)])
    return replace(draws, values=sampled.reshape(1, size, *draws.shape[2:]), transcript=None, totals=None)
