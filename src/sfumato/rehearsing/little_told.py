"""Coefficients of which no price tells much, and why a release will tell little, where the public sketch of the rows shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.gibbs import Gibbs
from sfumato.schema import Boolean, Schema
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
    rows = Design.of(schema, model.terms).encode({name: columns[name] for name in columns if name != schema.target})
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
    schema: Schema,
    sketch: Mapping[str, Any],
    features: Array | None,
    labels: Sequence[str],
    little: Sequence[str],
    count: int,
) -> tuple[str, ...]:
    """Why little will be told of the coefficients in `little`, of `count` in all: what the sketch of the rows shows."""
    said: list[str] = []
    if little:
        said += _rare(schema, sketch, little)
        said += _alike(features, labels, little) if features is not None else []
    if len(little) > count / 2:
        said.append("too many coefficients for this price: ask for fewer or pay more")
    return tuple(said)


def _rare(schema: Schema, sketch: Mapping[str, Any], little: Sequence[str]) -> list[str]:
    """Levels of the named coefficients, and reference levels of their columns, that few rows have."""
    parts = {part for name in little for part in name.split(":")}
    said = []
    for name in schema.features:
        column = schema.columns[name]
        if column.levels is None:
            continue
        codes = np.asarray(sketch[name]).astype(np.intp)
        shares = np.bincount(codes, minlength=len(column.levels)) / len(codes)
        named = [name if isinstance(column, Boolean) else f"{name}={level}" for level in column.levels]
        for place in np.flatnonzero(shares < _RARE):
            share = f"{100 * shares[place]:.2g} % of the rows"
            if isinstance(column, Boolean):
                said += [f"{name} is {('no', 'yes')[place]} for {share} only"] if name in parts else []
            elif named[place] in parts:
                said.append(f"{named[place]} is rare: {share}")
            elif getattr(column, "reference", None) == column.levels[place] and parts & set(named):
                said.append(
                    f"{named[place]} is rare, {share}, and the others are compared with it: choose another reference"
                )
    return said


def _alike(features: Array, labels: Sequence[str], little: Sequence[str]) -> list[str]:
    """Pairs of features of different columns that go together, one of them part of a named coefficient."""
    spread = features.std(axis=0)
    varied = np.flatnonzero(spread > 0)
    scaled = (features[:, varied] - features[:, varied].mean(axis=0)) / spread[varied]
    alike = np.abs(scaled.T @ scaled) / len(features)
    columns = [_columns_of(labels[int(place)]) for place in varied]
    named = set().union(*map(_columns_of, little))
    said = []
    for i, j in np.argwhere(np.triu(alike > _ALIKE, 1)):
        first, second = columns[int(i)], columns[int(j)]
        if not first & second and (first | second) & named:
            pair = (labels[int(varied[i])], labels[int(varied[j])])
            said.append(f"{pair[0]} and {pair[1]} go together, correlation {alike[i, j]:.2f}")
    return said


def _columns_of(label: str) -> set[str]:
    """The columns that a feature or coefficient is made of: "age^2:region[1]" of age and region."""
    return {re.split(r"[\^=\[]", part)[0] for part in label.split(":")}
