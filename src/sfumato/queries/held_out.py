"""Log-likelihood of public held-out records under released draws: how well a release predicts records that it has not seen.

    log p(records | draw) = sum over the records of the log density of the model at the draw,

one number for each draw. For a family the records are a table like the private one; for a regression the rows come with the
target. Records are read like other public rows: a cell that no declaration allows is an error, an empty one counts as
the declared missing value, a number outside its bounds as the nearest bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models import losses
from sfumato.models.families.densities import log_density
from sfumato.models.losses.protocol import Loss
from sfumato.models.model import LOSSES
from sfumato.models.reading import model_from_json
from sfumato.queries import predict, public_rows
from sfumato.queries.predict import Regression
from sfumato.schema import Number, Schema
from sfumato.schema.public_cells import PublicTally
from sfumato.schema.reading import open_source
from sfumato.schema.vector_units import VectorUnits

# Log densities held at a time: 16 MB.
_BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Log-likelihood of `records` public records under each draw, in nats; `note` counts cells that were clipped or empty."""

    values: Array
    records: int
    note: str = ""

    @property
    def mean(self) -> float:
        """Mean over the draws."""
        return float(self.values.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation over the draws; 0 for one draw."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def per_record(self) -> float:
        """The mean divided by the number of records."""
        return self.mean / self.records

    def __str__(self) -> str:
        spread = (
            f" (standard deviation {self.deviation:.4g} over {len(self.values):,} draws)"
            if len(self.values) > 1
            else ""
        )
        note = f" {self.note}." if self.note else ""
        return (
            f"log-likelihood of {self.records:,} held-out record{'s' * (self.records > 1)}: {self.mean:.6g} nats{spread}, "
            f"{self.per_record:.4g} a record.{note}"
        )


def log_likelihood(
    draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any], records: Any, target: Any = None
) -> HeldOut:
    """The held-out log-likelihood of a release's draws; a model without a likelihood is refused."""
    model = model_from_json(plan["model"])
    if model.summed == LOSSES:
        return _of_regression(_likelihood_of(model.loss), predict.read(draws, plan, schema), records, target)
    if target is not None:
        raise ArgumentError("target is for regressions on vectors; this model reads a table of records alone.")
    declared = Schema.from_json(schema["document"])
    if declared.dimension is not None:
        rows = public_rows.read_vectors(declared.without_target(), records, declared.dimension)
        matrix, note = rows.columns["matrix"], rows.note
        values = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    else:
        (name,) = model.columns(declared)[:1]
        values, note = _column(records, declared.with_columns({name: declared.columns[name]}))
    theta = draws.pooled().reshape(len(draws.pooled()), -1)
    return HeldOut(_summed(model, theta, values), len(values), note)


def _summed(model: Any, theta: Array, records: Array) -> Array:
    """Sums over the records of log densities, a few draws at a time to bound memory."""
    size = max(1, _BLOCK // records.size)
    given = records if records.ndim == 1 else records[None]
    parts = [
        log_density(model, theta[start : start + size, None, :], given).sum(axis=1)
        for start in range(0, len(theta), size)
    ]
    return np.concatenate(parts)


def _column(records: Any, declared: Schema) -> tuple[Array, str]:
    """The one declared column of a public table, encoded, and a sentence on its cells that were clipped or empty."""
    tally, (name,) = PublicTally(), declared.columns
    chunks = [chunk[name] for chunk in open_source(records, None, declared, tally)]
    if not sum(map(len, chunks)):
        raise ArgumentError("held-out records must hold at least one row; got none.")
    tally.refuse(declared.columns)
    return np.concatenate(chunks), tally.sentence(declared.columns)


# --- regressions -----------------------------------------------------------------------------------------------------

# (scores (rows, draws, outputs), labels (rows, 1), units of an estimator's labels) -> log probabilities (rows, draws).
Likelihood = Callable[[Array, Array, VectorUnits | None], Array]


def _logistic(scores: Array, labels: Array, units: VectorUnits | None) -> Array:
    return np.asarray(labels * scores[..., 0] - np.logaddexp(0.0, scores[..., 0]))


def _softmax(scores: Array, labels: Array, units: VectorUnits | None) -> Array:
    own = np.take_along_axis(scores, labels.astype(np.int64)[..., None], axis=-1)[..., 0]
    return np.asarray(own - np.logaddexp.reduce(scores, axis=-1))


def _probit(scores: Array, labels: Array, units: VectorUnits | None) -> Array:
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr((2 * labels - 1) * scores[..., 0]))


def _cloglog(scores: Array, labels: Array, units: VectorUnits | None) -> Array:
    hazard = np.exp(np.clip(scores[..., 0], -40.0, 700.0))  # e^709 overflows
    # log(1 - exp(-h)) = log h - h/2 + ..., and below h = e^-40 all but log h, the score, is lost in rounding.
    yes = np.where(scores[..., 0] < -40.0, scores[..., 0], np.log(-np.expm1(-hazard)))
    return np.where(labels == 1, yes, -hazard)


def _poisson(scores: Array, labels: Array, units: VectorUnits | None) -> Array:
    """Poisson, y s - e^s - log y!, the score of an estimator in the units of its labels; y! is Gamma(y + 1) for every y."""
    from scipy.special import gammaln

    log_rate = scores[..., 0] if units is None else units.shift + units.factor * scores[..., 0]
    return np.asarray(labels * log_rate - np.exp(np.minimum(log_rate, 700.0)) - gammaln(labels + 1))


# A loss that is minus a log-likelihood, or such a one with clipped slopes, is one more line.
LIKELIHOODS: dict[type[Loss], Likelihood] = {
    losses.Logistic: _logistic,
    losses.Softmax: _softmax,
    losses.ClippedProbit: _probit,
    losses.ClippedCloglog: _cloglog,
    losses.ClippedPoisson: _poisson,
}


def _likelihood_of(loss: Loss) -> Likelihood:
    likelihood = LIKELIHOODS.get(type(loss))
    if likelihood is None:
        able = ", ".join(each.name for each in LIKELIHOODS)
        raise ArgumentError(
            f"a held-out likelihood needs a loss with a likelihood ({able}); the {loss.name} loss has none. "
            "Compare release.predict(public_rows=X) with the answers instead."
        )
    return likelihood


def _of_regression(likelihood: Likelihood, regression: Regression, records: Any, target: Any) -> HeldOut:
    source = _readable_twice(records) if target is None else records
    rows = predict.read_public(regression, source)
    features = predict.features_of(regression, rows.columns)
    labels, note = _labels(regression, source if target is None else target, target is not None)
    if len(labels) != len(features):
        raise ArgumentError(f"target must have one answer for each of the {len(features):,} rows; got {len(labels):,}.")
    draws, outputs, width = regression.draws.shape
    flat, units = regression.draws.reshape(-1, width).T, regression.schema.units
    total = np.zeros(draws)
    size = max(1, _BLOCK // (draws * outputs))
    for start in range(0, len(features), size):
        part = slice(start, start + size)
        scores = np.asarray(features[part] @ flat).reshape(-1, draws, outputs)
        total += likelihood(scores, np.broadcast_to(labels[part, None], scores.shape[:2]), units).sum(axis=0)
    return HeldOut(total, len(features), "; ".join(filter(None, (rows.note, note))))


def _readable_twice(records: Any) -> Any:
    """The table itself; a stream, which is empty once it was read, as a table in memory."""
    if not hasattr(records, "__arrow_c_stream__") or hasattr(records, "columns"):
        return records
    import pyarrow as pa

    stream = records if isinstance(records, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(records)
    return stream.read_all()


def _labels(regression: Regression, given: Any, apart: bool) -> tuple[Array, str]:
    """Answers as numbers, positions of levels or counts, and what was clipped or empty. Of a table they are its target column."""
    schema = regression.schema
    name = schema.target or ""
    if not apart and schema.dimension is not None:
        raise ArgumentError(
            "rows that are vectors need their answers: release.log_likelihood(public_rows=X, target=y)."
        )
    column = schema.columns[name]
    if schema.units is not None and isinstance(column, Number):
        # An estimator's release declares counts divided by e^shift; 12 digits undo the rounding of that product.
        unit = math.exp(schema.units.shift)
        low, high = (float(f"{unit * bound:.12g}") for bound in (column.lower, column.upper))
        column = Number(low, high)
    # A vector's labels are given by themselves; those of a table may come in a file of its form.
    vector = schema.dimension is not None
    declared = Schema({name: column}, name=schema.name) if vector else schema.with_columns({name: column})
    values, note = _column({name: given} if apart else given, declared)
    return np.asarray(values, dtype=np.float64), note
