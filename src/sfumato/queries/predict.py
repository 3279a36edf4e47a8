"""Predictions for public rows from a released regression: the average over the draws of what each of them predicts.

Rows are encoded by the release's own schema, like the private ones: numbers outside their bounds are clipped, empty cells
count as the declared missing value, long rows are shortened or normalised. Unlike in private rows, a cell that is no level or no
number is an error (`public_rows`). Averaging probabilities and then taking the
likeliest class is Algorithm 2 of `respond` for the utility 1 for the right class and 0 for another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import LABELLED_ROW
from sfumato.models.model import LOSSES
from sfumato.models.reading import model_from_json
from sfumato.queries import public_rows, shaped_intervals
from sfumato.queries.inverse_links import in_own_units
from sfumato.queries.public_rows import PublicRows
from sfumato.schema import Schema

Array = NDArray[np.float64]
# Scores held at a time: 16 MB.
_BLOCK = 1 << 21
# Part of a data set's name where an estimator scaled its rows.
SCALED = ", scaled by bounds "


@dataclass(frozen=True, eq=False)
class Regression:
    """Model, schema and draws of a released regression."""

    model: Gibbs
    schema: Schema
    draws: Array  # (draw, output, feature)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Levels of the target in the order of their codes; None for a target that is a number."""
        if isinstance(self.model.loss.label_domain, LabelInterval):
            return None
        column = self.schema.columns[self.schema.target or ""]
        return column.levels


def read(draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any]) -> Regression:
    """The regression of a release; any other model is refused."""
    model = model_from_json(plan["model"])
    if model.summed != LOSSES or model.loss.record != LABELLED_ROW:
        what = getattr(model, "name", None) or f"a model with the {model.loss.name} loss"
        raise ArgumentError(
            f"predictions for rows need a released regression; this release is of {what}, which reads no features. "
            "Ask it with release.mean(), release.quantile(q) or release.respond(...)."
        )
    declared = Schema.from_json(schema["document"])
    if SCALED in declared.name and declared.units is None:  # a file of an older version
        raise ArgumentError(
            "an estimator scaled the rows of this release by its bounds, which are not in it: use the estimator's own predict."
        )
    values = shaped_intervals.predictor(draws, plan)[None, :] if shaped_intervals.is_shaped(plan) else draws.pooled()
    return Regression(model, declared, values.reshape(len(values), model.loss.outputs, -1))


def predict(regression: Regression, X: Any) -> NDArray[Any]:
    """One prediction per row: the likeliest class, or the mean over the draws of the predicted number.

    For a loss without probabilities, such as the hinge, each draw votes for its class of least loss; the first at a tie.
    """
    classes = regression.classes
    if classes is None:
        return _averaged(regression, X)[:, 0]
    likeliest = _averaged(regression, X).argmax(axis=1)
    levels = np.empty(len(classes), dtype=object)
    levels[:] = classes
    plain = np.array(classes)
    return np.asarray((plain if plain.dtype.kind in "biu" else levels)[likeliest])


def predict_proba(regression: Regression, X: Any) -> Array:
    """Probabilities (rows, classes), in the order of the target's levels, averaged over the draws."""
    if regression.classes is None:
        raise ArgumentError(
            f"the target {regression.schema.target!r} is a number, so there are no classes: use release.predict(public_rows=X)."
        )
    if not regression.model.loss.probabilistic:
        raise ArgumentError(
            f"the {regression.model.loss.name} loss has no probabilities: use release.predict(public_rows=X)."
        )
    return _averaged(regression, X)


def _averaged(regression: Regression, X: Any) -> Array:
    """Mean over the draws of what the loss predicts at scores (rows, draws, outputs); rows in blocks that bound the memory."""
    features = encoded(regression, X)
    draws, outputs, width = regression.draws.shape
    loss, units = regression.model.loss, regression.schema.units
    flat = regression.draws.reshape(-1, width).T
    block = max(1, _BLOCK // (draws * outputs))
    parts = [
        in_own_units(
            loss, units, loss.predict(np.asarray(features[start : start + block] @ flat).reshape(-1, draws, outputs))
        ).mean(axis=1)
        for start in range(0, features.shape[0], block)
    ]
    if not parts:
        raise ArgumentError("X must hold at least one row; got none.")
    return np.concatenate(parts)


def encoded(regression: Regression, X: Any) -> Any:
    """The feature matrix of public rows, encoded like the private ones, with the intercept's constant as last column."""
    return features_of(regression, columns_of(regression, X))


def read_public(regression: Regression, X: Any) -> PublicRows:
    """Public rows as encoded columns, with a sentence on cells that were clipped or empty."""
    return public_rows.read_rows(regression.model, regression.schema, X)


def columns_of(regression: Regression, X: Any) -> dict[str, Any]:
    """Public rows as encoded columns by name ("matrix" for vectors): numbers inside their bounds, levels as positions."""
    return read_public(regression, X).columns


def features_of(regression: Regression, columns: Mapping[str, Any]) -> Any:
    """The feature matrix of encoded columns, with the intercept's constant as last column."""
    return public_rows.features_of(regression.model, regression.schema, columns)
