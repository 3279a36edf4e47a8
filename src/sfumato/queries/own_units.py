"""What a reader sees of a regression: coefficients in the columns' own units, as linear functions of the released coordinates.

Released coordinates belong to coded features (`schema.coding`). A view holds names and a matrix with
own = matrix @ coordinates + offset. Models that are no regression of columns are seen as they were released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.draws import Draws
from sfumato.errors import ArgumentError, FormatError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import LABELLED_ROW
from sfumato.models.model import LOSSES
from sfumato.models.reading import FamilyOrGibbs, model_from_json
from sfumato.schema import Schema
from sfumato.schema.design import Design
from sfumato.schema.units import INTERCEPT, Units, units_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """Names of what is shown, own = matrix @ coordinates + offset, and the names whose value is 0 by definition.

    `matrix` is None where the coordinates are shown as they were released.
    """

    labels: tuple[str, ...]
    matrix: Array | None = None
    offset: Array | None = None
    fixed: frozenset[str] = frozenset()

    def of(self, values: Array) -> Array:
        """Values (..., coordinates) as they are shown, (..., labels)."""
        return values if self.matrix is None else np.asarray(values @ self.matrix.T + self.shift)

    @property
    def shift(self) -> Array:
        """The offset, 0 where there is none."""
        return np.zeros(len(self.labels)) if self.offset is None else self.offset

    @property
    def functionals(self) -> Array:
        """The matrix, the identity where coordinates are shown as they are."""
        return np.eye(len(self.labels)) if self.matrix is None else self.matrix

    def draws(self, draws: Draws) -> Draws:
        """The draws in own units, without what was published beside them."""
        return draws if self.matrix is None else Draws(self.of(draws.values), self.labels)

    def weighted(self, named: Mapping[str, float]) -> tuple[Array, float]:
        """The functional, and the constant added to it, that a weighted sum of named coefficients is."""
        if not isinstance(named, Mapping) or not named:
            raise ArgumentError(
                f'a contrast must be a table of names and weights such as {{"{self.labels[-1]}": 1}}; got {named!r}.'
            )
        numbers = {name: _validate.finite(f"the weight of {name!r}", weight) for name, weight in named.items()}
        units = Units(self.labels, self.functionals, self.fixed)
        units.refuse_references_alone(numbers)
        known = [(units.resolved(name), weight) for name, weight in numbers.items()]
        constant = sum(weight * self.shift[self.labels.index(name)] for name, weight in known if name in self.labels)
        return units.weights(numbers), constant


def regression_of(plan: Mapping[str, Any]) -> Gibbs | None:
    """The model of a plan where it is a regression of labelled rows, else None; a loss made of functions cannot be read."""
    if plan["model"].get("model") != "gibbs":
        return None
    try:
        model: FamilyOrGibbs = model_from_json(plan["model"])
    except FormatError:
        return None
    return model if model.summed == LOSSES and model.loss.record == LABELLED_ROW else None


def view(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    scaled: bool = False,
    reference: Mapping[str, Any] | None = None,
) -> View:
    """The view of a release; `scaled` shows the coordinates as they were released, `reference` replaces reference levels."""
    model = regression_of(plan)
    if model is None or scaled:
        if reference:
            raise ArgumentError("reference is for the coefficients of a regression in own units.")
        return View(draws.labels)
    return view_of(model, Schema.from_json(schema["document"]), draws.labels, reference)


def view_of(
    model: Gibbs, declared: Schema, labels: tuple[str, ...], reference: Mapping[str, Any] | None = None
) -> View:
    """The view of a regression whose released coordinates are called `labels`, in the columns' own units."""
    if declared.rows == "normalise":  # a row is divided by its own norm: there is no coefficient of a column
        return View(labels)
    if reference is not None and not isinstance(reference, Mapping):
        raise ArgumentError(f'reference must be a table such as {{"region": "south"}}; got {reference!r}.')
    units = _units(declared, model.terms, model.intercept, tuple((reference or {}).items()))
    if model.loss.outputs == 1:
        return View(units.names, units.matrix, units.offset, units.fixed)
    return _against_first(units, declared, model.loss.outputs)


@lru_cache(maxsize=16)
def _units(
    schema: Schema, terms: tuple[str, ...] | None, constant: float, reference: tuple[tuple[str, Any], ...]
) -> Units:
    """The own units of a design, held because every question to a release needs them."""
    return units_of(Design.of(schema, terms), constant, dict(reference))


def _against_first(units: Units, schema: Schema, classes: int) -> View:
    """Coefficients of each class less those of the first: only differences of the scores change the probabilities."""
    target = schema.target or ""
    levels = schema.columns[target].levels or ()
    width = units.matrix.shape[1]
    labels, rows, fixed = [], [], set()
    for k in range(1, classes):
        block = np.zeros((len(units.names), classes * width))
        block[:, k * width : (k + 1) * width] = units.matrix
        block[:, :width] = -units.matrix
        labels += [f"{target}={levels[k]}: {name}" for name in units.names]
        fixed |= {f"{target}={levels[k]}: {name}" for name in units.fixed}
        rows.append(block)
    return View(tuple(labels), np.concatenate(rows), None, frozenset(fixed))


def is_intercept(label: str) -> bool:
    """Whether a coefficient is an intercept, which has no ratio."""
    return label == INTERCEPT or label.endswith(f": {INTERCEPT}")
