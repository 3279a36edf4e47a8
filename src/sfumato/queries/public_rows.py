"""Public rows for a released regression, encoded like the private ones, with a sentence on cells that were replaced.

A cell that is no declared level, or a text among numbers, is an error (`schema.public_cells`). An empty cell counts as the
declared missing value and a number outside its bounds as the nearest bound; both are counted. Rows of an estimator's release
are given in the user's units: number j of the model's row is (x_j - centre_j)/span_j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.regression import columns_read
from sfumato.schema import Number, Schema
from sfumato.schema.design import Design
from sfumato.schema.missing_cells import without_masks
from sfumato.schema.norms import bound_rows
from sfumato.schema.public_cells import UNBOUNDED, PublicTally
from sfumato.schema.read_arrays import is_matrix
from sfumato.schema.reading import open_source
from sfumato.schema.vector_units import VectorUnits, default_names

# Name of the constant that an estimator appends to rows before it normalises them (`estimators._rows`).
_CONSTANT = "constant"


@dataclass(frozen=True, eq=False)
class PublicRows:
    """Encoded columns by name ("matrix" for vectors), and how many cells were clipped or empty; "" where none were."""

    columns: dict[str, Any]
    note: str


def design_of(model: Gibbs, schema: Schema) -> Design:
    """The recipe for public rows, which need no target and, of a table, only the columns of the terms."""
    if model.terms is None:
        return Design.of(schema.without_target())
    used = [name for name in columns_read(model, schema) if name != schema.target]
    return Design.of(schema.only(used), model.terms)


def read_rows(model: Gibbs, schema: Schema, X: Any) -> PublicRows:
    """Read and encode public rows; none at all, and cells that no declaration allows, are refused."""
    wanted = design_of(model, schema).schema
    return _table(wanted, X) if wanted.dimension is None else read_vectors(wanted, X, wanted.dimension)


def read_vectors(wanted: Schema, X: Any, dimension: int) -> PublicRows:
    """Read public vectors of a schema without a target: a matrix, sparse or not, or a list of rows."""
    if wanted.units is not None and not _is_sparse(X):
        return _scaled(wanted, wanted.units, X)
    if (
        isinstance(X, list | tuple) or getattr(getattr(X, "dtype", None), "kind", "") == "O"
    ):  # cells may be texts: each is looked at
        return _scaled(wanted, VectorUnits(default_names(dimension)), X)
    if wanted.units is not None and is_scaled(wanted.units):
        raise ArgumentError("rows of this release are scaled by bounds, which fills a sparse X: give X.toarray().")
    tally = PublicTally()
    columns = _joined(wanted, X, tally)
    counts = tally.result().columns["matrix"]
    parts = [_unusable(counts.missing), _shortened(counts.clipped if wanted.rows == "clip" else 0, wanted)]
    return PublicRows(columns, "; ".join(part for part in parts if part))


def is_scaled(units: VectorUnits) -> bool:
    """Whether numbers were scaled by bounds, outside of which they count as the nearest bound."""
    return any(units.centre) or any(each != 1.0 for each in units.span)


def _table(schema: Schema, X: Any) -> PublicRows:
    tally = PublicTally()
    columns = _joined(schema, X, tally)
    tally.refuse(schema.columns)
    return PublicRows(columns, tally.sentence(schema.columns))


def _scaled(schema: Schema, units: VectorUnits, X: Any) -> PublicRows:
    """Vectors from a table with the units' names, or from a matrix; numbers in the units that they had before scaling."""
    _refuse_appended(schema, units)
    centre, span = np.array(units.centre), np.array(units.span)
    bounded = is_scaled(units)
    numbers = Schema({name: _number(units, place, bounded) for place, name in enumerate(units.names)})
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] != len(units.names):
        raise ArgumentError(f"X must have {len(units.names)} columns, {', '.join(units.names[:12])}; got {X.shape[1]}.")
    read = _table(numbers, X)
    matrix = np.column_stack([(read.columns[name] - centre[j]) / span[j] for j, name in enumerate(units.names)])
    if bounded:
        matrix = matrix.clip(-0.5, 0.5)  # rounding may pass the end by one part in 2^53
    long = bound_rows(matrix, float(schema.data_norm or np.inf), schema.rows)
    shortened = int(long.sum()) if schema.rows == "clip" else 0
    parts = [read.note, _shortened(shortened, schema)]
    return PublicRows({"matrix": matrix}, "; ".join(part for part in parts if part))


def _number(units: VectorUnits, place: int, bounded: bool) -> Number:
    """The column of one number in its own units; an empty cell counts as the centre, which is 0 after scaling."""
    middle, half = units.centre[place], units.span[place] / 2
    return Number(middle - half, middle + half, middle) if bounded else Number(-UNBOUNDED, UNBOUNDED, 0.0)


def _refuse_appended(schema: Schema, units: VectorUnits) -> None:
    """Refuse rows to which an estimator appended a constant before it normalised them: the release does not say which."""
    if schema.rows == "normalise" and units.names[-1] == _CONSTANT:
        raise ArgumentError(
            'an estimator with rows="normalise" and an intercept appended a constant to every row before scaling it, and this '
            "release does not hold that constant: use the estimator's own predict."
        )


def _unusable(count: int) -> str:
    if not count:
        return ""
    return f"{count:,} number{'s are' if count > 1 else ' is'} not finite and count{'s' * (count == 1)} as 0"


def _shortened(count: int, schema: Schema) -> str:
    if not count:
        return ""
    plural = count > 1
    return (
        f"{count:,} row{'s' * plural} {'are' if plural else 'is'} longer than data_norm {schema.data_norm:g} and "
        f"{'were' if plural else 'was'} shortened"
    )


def _joined(schema: Schema, X: Any, tally: PublicTally) -> dict[str, Any]:
    """All chunks of a source, column by column."""
    chunks: dict[str, list[Any]] = {}
    for chunk in open_source(X, None, schema, tally):
        for name, values in without_masks(chunk).items():
            chunks.setdefault(name, []).append(values)
    if not chunks:
        raise ArgumentError("X must hold at least one row; got none.")
    return {name: _stacked(parts) for name, parts in chunks.items()}


def _stacked(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def _is_sparse(X: object) -> bool:
    return is_matrix(X) and not isinstance(X, np.ndarray | list | tuple)


def features_of(model: Gibbs, schema: Schema, columns: Mapping[str, Any]) -> Array:
    """The feature matrix of encoded columns, with the intercept's constant as last column."""
    matrix = design_of(model, schema).encode(columns)
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    constant = model.intercept
    return np.column_stack([dense, np.full(len(dense), constant)]) if constant else dense
