"""Coefficients of which no price tells much, and why a release will tell little, where the public sketch of the rows shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.gibbs import Gibbs
from sfumato.schema import Schema
from sfumato.schema.design import Design

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# A level with a smaller share of the rows is called rare.
_RARE = 0.02
# Columns with a larger correlation are told apart by a tenth of their variance at most.
_ALIKE = 0.95
# Most columns that are looked at for such reasons: all pairs of them are compared.
_WIDEST = 500
# Moments below this share of the largest are 0 but for rounding.
_NOTHING = 1e-10
# Half of the share of the prior's width above which a release says that it tells little.
_UNTOLD = 0.3


def features_of(schema: Schema, columns: Mapping[str, Any], model: Gibbs) -> Array | None:
    """Features of rows in stored form, the constant of an intercept last; None where they are sparse or very wide."""
    rows = Design.of(schema).encode({name: columns[name] for name in columns if name != schema.target})
    if not isinstance(rows, np.ndarray) or rows.shape[1] > _WIDEST:
        return None
    return np.column_stack([rows, np.full(len(rows), model.intercept)]) if model.intercept else rows


def not_identified(features: Array | None, matrix: Array) -> Mask:
    """Which rows of `matrix` times the parameter keep a good part of their prior's width however many rows there are.

    The rows tell nothing along directions in which they do not vary: the levels of a category add up to the constant.
    """
    if features is None:
        return np.zeros(len(matrix), dtype=bool)
    values, vectors = np.linalg.eigh(features.T @ features)
    silent = vectors[:, values <= _NOTHING * values[-1]]
    shares = np.linalg.norm(matrix @ silent, axis=1) / np.maximum(np.linalg.norm(matrix, axis=1), 1e-300)
    return np.asarray(shares > _UNTOLD)


def reasons_of(
    features: Array | None, labels: Sequence[str], names: Sequence[str], matrix: Array, marked: Mask
) -> tuple[str, ...]:
    """Why little will be told of the numbers that are marked: what can be seen in the features, and how many they are.

    Row j of `matrix` says of which features, called `labels`, the number `names[j]` is made.
    """
    said: list[str] = []
    if features is not None and marked.any():
        used = (matrix != 0) & marked[:, None]
        said = _rare(features, names, used) + _alike(features, labels, used.any(axis=0))
        if (not_identified(features, matrix) & marked).any():
            said.append(
                "some columns add up to a constant or to another column: leave out the intercept, or one of them"
            )
    if marked.sum() > len(marked) / 2:
        said.append("too many coefficients for this price: ask for fewer or pay more")
    return tuple(said)


def _rare(features: Array, names: Sequence[str], used: Mask) -> list[str]:
    """Marked numbers that are made of a feature with two values, one of them rare."""
    said = []
    for name, own in zip(names, used, strict=True):
        for place in np.flatnonzero(own):
            values, times = np.unique(features[:, place], return_counts=True)
            if len(values) == 2 and times.min() < _RARE * len(features):
                said.append(f"{name} is rare: {100 * times.min() / len(features):.2g} % of the rows")
                break
    return said


def _alike(features: Array, labels: Sequence[str], used: Mask) -> list[str]:
    """Pairs of features of different columns that go together, one of them part of a marked number."""
    spread = features.std(axis=0)
    varied = np.flatnonzero(spread > 0)
    scaled = (features[:, varied] - features[:, varied].mean(axis=0)) / spread[varied]
    alike = np.abs(scaled.T @ scaled) / len(features)
    columns = [labels[int(place)].partition("=")[0] for place in varied]
    said = []
    for i, j in np.argwhere(np.triu(alike > _ALIKE, 1)):
        first, second = int(varied[i]), int(varied[j])
        if columns[i] != columns[j] and (used[first] or used[second]):
            said.append(f"{labels[first]} and {labels[second]} go together, correlation {alike[i, j]:.2f}")
    return said
