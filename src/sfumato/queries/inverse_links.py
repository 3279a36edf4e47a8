"""The mean that a score stands for: a probability, a rate, a mean or a quantile, by the inverse link of the loss.

Every inverse link here rises with the score, so that the ends of a score's interval are mapped to the ends of the mean's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.losses import (
    ClippedCloglog,
    ClippedPoisson,
    ClippedProbit,
    Huber,
    Logistic,
    Quantile,
    SmoothedQuantile,
)
from sfumato.models.losses.protocol import Loss
from sfumato.schema.vector_units import VectorUnits

PROBABILITY, RATE, MEAN, QUANTILE = "probability", "rate", "mean", "quantile"
# What the inverse link of each loss gives; a new loss with one is one more line.
MEANS: dict[type[Loss], str] = {
    Logistic: PROBABILITY,
    ClippedProbit: PROBABILITY,
    ClippedCloglog: PROBABILITY,
    ClippedPoisson: RATE,
    Huber: MEAN,
    Quantile: QUANTILE,
    SmoothedQuantile: QUANTILE,
}


def mean_kind(loss: Loss, what: str = "intervals of predictions") -> str:
    """What the inverse link of a loss gives; a loss without one is refused. `what` is the subject of the refusal, in the plural."""
    kind = MEANS.get(type(loss))
    if kind is None:
        able = {name: [each.spec_name for each, own in MEANS.items() if own == name] for name in MEANS.values()}
        listed = [f"a {name} ({', '.join(filter(None, names))})" for name, names in able.items()]
        raise ArgumentError(
            f"{what} need a regression whose score stands for {', '.join(listed[:-1])} or {listed[-1]}; "
            f"{loss.regression_name} is none of these. release.predict(public_rows=X) serves every regression."
        )
    return kind


def mean_at(loss: Any, scores: Array) -> Array:
    """The inverse link, entry by entry: of a target with two levels the probability of the second."""
    return np.asarray(loss.predict(scores[..., None])[..., -1], dtype=np.float64)


def in_own_units(loss: Loss, units: VectorUnits | None, means: Array) -> Array:
    """Means in the user's units, where an estimator scaled the labels so that a score s stands for shift + factor s.

    A mean or quantile m is shift + factor m; a rate exp(s) is exp(shift) exp(s)^factor; shares of classes stay.
    """
    kind = MEANS.get(type(loss))
    if units is None or kind in (PROBABILITY, None):
        return means
    if kind == RATE:
        return np.asarray(np.exp(units.shift) * means**units.factor)
    return np.asarray(units.shift + units.factor * means)
