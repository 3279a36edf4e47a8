"""How a user's row becomes a row of the model, and the model's parameter becomes coefficients in the user's units.

With bounds a feature becomes (x - centre)/span, in [-1/2, 1/2]; a cell that is no finite number becomes 0. The intercept is
a constant feature c, and its norm is part of the price: under rows="clip" the other features are clipped to data_norm and
the radius of the loss is sqrt(data_norm^2 + c^2); under rows="normalise" c is appended BEFORE the row is scaled to data_norm,
so the radius is data_norm and the sign of a score is that of an affine function of the user's row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.estimators._encoded import encoded_norm
from sfumato.models.losses import radius_with_intercept
from sfumato.schema import Persons, Schema
from sfumato.schema.columns import Column
from sfumato.schema.norms import bound_rows, bound_sparse_rows
from sfumato.schema.read_arrays import sparse_rows
from sfumato.schema.read_rows import Entries
from sfumato.schema.units import INTERCEPT
from sfumato.schema.vector_units import VectorUnits, usable_names

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recipe:
    """`width` features, the norm and the treatment of rows, the constant c (0 for none), and the declared bounds.

    coded: whether the public steps of a pipeline have scaled the features already.
    """

    width: int
    data_norm: float
    rows: str
    constant: float
    lower: Array | None = None
    upper: Array | None = None
    centred: bool = True
    coded: bool = False

    @classmethod
    def of(cls, estimator: Any, width: int) -> Recipe:
        """The recipe that an estimator's arguments declare, for rows of `width` features."""
        lower = upper = None
        longest = math.nextafter(math.sqrt(width) / 2, math.inf)  # of a row of numbers in [-1/2, 1/2]
        # Normalised rows all have the same norm, so its value is arbitrary: 1.
        norm = 1.0 if estimator.rows == "normalise" else longest
        coded = encoded_norm(estimator)
        if coded is not None:
            norm = coded
        if estimator.data_norm is not None:
            norm = _validate.positive("data_norm", estimator.data_norm)
        if estimator.bounds is not None:
            lower, upper = feature_bounds(estimator.bounds, width)
        # The intercept's feature is half the largest norm of a row before the row is bounded.
        constant = (longest if estimator.bounds is not None and estimator.rows == "normalise" else norm) / 2
        fitted = estimator.fit_intercept
        return cls(width, norm, estimator.rows, constant if fitted else 0.0, lower, upper, fitted, coded is not None)

    @property
    def centre(self) -> Array:
        """The number subtracted from each feature; 0 without an intercept, since the shift would need one."""
        if self.lower is None or self.upper is None or not self.centred:
            return np.zeros(self.width)
        return self.lower / 2 + self.upper / 2

    @property
    def span(self) -> Array:
        """The divisor that brings each feature into [-1/2, 1/2]."""
        if self.lower is None or self.upper is None:
            return np.ones(self.width)
        if self.centred:
            return self.upper - self.lower
        return 2 * np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def appended(self) -> bool:
        """Whether the constant is appended to the rows here and normalised with them."""
        return self.rows == "normalise" and self.constant > 0

    @property
    def size(self) -> int:
        """Length of one parameter vector: a coefficient for every feature, and for the constant."""
        return self.width + (1 if self.constant > 0 else 0)

    @property
    def radius(self) -> float:
        """Bound on the norm of the model's rows, intercept included."""
        if self.constant == 0 or self.appended:
            return self.data_norm
        return radius_with_intercept(self.data_norm, self.constant)

    @property
    def intercept(self) -> float:
        """The constant feature that the model appends; 0 where the rows already have it."""
        return 0.0 if self.appended else self.constant

    def schema(
        self,
        target: Column,
        name: str,
        names: Any = None,
        shift: float = 0.0,
        factor: float = 1.0,
        persons: Persons | None = None,
        unit: str | None = None,
        steps: tuple[str, ...] = (),
    ) -> Schema:
        """The schema of the model's rows: a score s of the model means shift + factor s in the user's units."""
        width = self.width + (1 if self.appended else 0)
        more = ("constant",) if self.appended else ()
        known = _told_apart(usable_names(names, self.width), (INTERCEPT, *more))
        centre, span = (*self.centre.tolist(), *(0.0 for _ in more)), (*self.span.tolist(), *(1.0 for _ in more))
        units = VectorUnits((*known, *more), centre, span, shift, factor, steps)
        return Schema.vector(
            width,
            data_norm=self.data_norm,
            target=target,
            name=name,
            rows=self.rows,
            units=units,
            persons=persons,
            unit="row" if unit is None else unit,
        )

    def prepare(self, matrix: Any) -> Any:
        """Return the rows for a data set, scaled when they are read: the matrix is never held twice."""
        if not isinstance(matrix, Entries):
            return self._sparse(matrix)
        width = self.width + (1 if self.appended else 0)
        return Entries((matrix.shape[0], width), lambda start, stop: self._encode(matrix.read(start, stop)))

    def _encode(self, values: Array) -> Array:
        if self.lower is not None:
            unusable = ~np.isfinite(values)
            # Clipped before they are scaled: a number outside its bounds counts as the nearest bound.
            values = np.clip(values, self.lower, self.upper)
            values = np.clip((values - self.centre) / self.span, -0.5, 0.5)
            values[unusable] = 0.0
        if self.appended:
            values = np.column_stack([values, np.full(len(values), self.constant)])
        return values

    def _sparse(self, matrix: Any) -> Any:
        from scipy.sparse import csr_array, hstack

        if self.lower is not None:
            raise ArgumentError(
                "a sparse X cannot be scaled by bounds without filling it: give data_norm, or X.toarray()."
            )
        if not self.appended:
            return matrix
        # Entries outside the matrix, which a data set maps to 0, would make hstack fail for all rows.
        clean, _ = sparse_rows(matrix, 0, matrix.shape[0])
        return hstack([clean, csr_array(np.full((matrix.shape[0], 1), self.constant))], format="csr")

    def scores(self, matrix: Any, parameter: Array, coefficients: Array, intercepts: Array) -> Array:
        """Scores (rows, outputs) of public rows: affine under "clip"; under "normalise" of the row brought to its norm."""
        dense = isinstance(matrix, Entries)
        values = matrix.read(0, matrix.shape[0]) if dense else sparse_rows(matrix, 0, matrix.shape[0])[0]
        if self.rows == "clip":
            values = np.where(np.isfinite(values), values, self.centre) if dense else values
            return np.asarray(values @ coefficients.T) + intercepts
        prepared = self._encode(values) if dense else self._sparse(values)
        if dense:
            prepared[~np.isfinite(prepared)] = 0.0
            bound_rows(prepared, self.data_norm, self.rows)
        else:
            bound_sparse_rows(prepared, self.data_norm, self.rows)
        return np.asarray(prepared @ parameter.T)

    def to_user(self, parameter: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts with parameter . (scaled row, c) = coefficients . x + intercept."""
        coefficients = parameter[:, : self.width] / self.span
        constant = parameter[:, self.width] * self.constant if self.constant > 0 else np.zeros(len(parameter))
        return coefficients, constant - coefficients @ self.centre

    def from_user(self, coefficients: Array, intercepts: Array) -> Array:
        """The parameter of an affine function of the user's row."""
        inner = coefficients * self.span
        if self.constant == 0:
            return inner
        return np.column_stack([inner, (intercepts + coefficients @ self.centre) / self.constant])


def _told_apart(names: tuple[str, ...], taken: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a table's columns, those that the model itself uses marked as names of columns."""
    own = list(names)
    for name in set(names).intersection(taken):
        free = name
        while free in names or free in taken:
            free += " (column)"
        own[names.index(name)] = free
    return tuple(own)


def declared_width(bounds: Any) -> int | None:
    """Number of features for which `bounds` gives separate bounds; None if the same bounds hold for all features."""
    try:
        ends = bounds if isinstance(bounds, tuple) else list(np.asarray(bounds, dtype=np.float64).reshape(-1, 2).T)
        widths = {np.size(end) for end in ends if np.ndim(end) == 1}
    except (TypeError, ValueError):  # None, or what feature_bounds refuses in words
        return None
    return widths.pop() if len(widths) == 1 else None


def feature_bounds(bounds: Any, width: int) -> tuple[Array, Array]:
    """Read (lower, upper), a tuple of two numbers or arrays, or a list or array of one pair per feature."""
    try:
        if isinstance(bounds, tuple):
            lower, upper = bounds
        else:
            lower, upper = np.asarray(bounds, dtype=np.float64).reshape(-1, 2).T
        ends = [np.array(np.broadcast_to(np.asarray(end, dtype=np.float64), (width,))) for end in (lower, upper)]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"bounds must be a tuple (lower, upper) of numbers or arrays of length {width}, or a list of {width} pairs; "
            f"got {bounds!r}."
        ) from None
    with np.errstate(over="ignore", invalid="ignore"):
        spans = ends[1] - ends[0]
    if not ((spans > 0) & (spans < np.inf)).all():
        raise ArgumentError(f"bounds must be finite, every lower one below its upper one; got {bounds!r}.")
    return ends[0], ends[1]
