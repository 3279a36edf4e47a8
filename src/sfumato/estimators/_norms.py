"""The largest norm of a row behind fitted public steps, and a digest of their declarations. Nothing here reads a row.

Steps side by side add the squares of their norms. Of a row x with |x| <= R all products of k entries together have a sum of
squares of at most R^(2k), since the expansion of (sum x_i^2)^k has each of their squares at least once.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]
from sklearn.pipeline import FeatureUnion, Pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import (  # type: ignore[import-untyped]
    Binarizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
)

from sfumato.estimators._steps import PUBLIC, is_identity
from sfumato.schema import Schema
from sfumato.schema.columns import Column

# Relative room for the rounding of a few thousand operations of a step, so that rounding shortens no row.
_ROOM = 1 + 2.0**-40


def norm_after(step: Any, norm: float = math.inf) -> float:
    """The largest norm behind a fitted step, of rows of this norm."""
    if is_identity(step):
        return norm
    if isinstance(step, str):  # "drop"
        return 0.0
    if isinstance(step, Pipeline):
        for _, each in step.steps:
            norm = norm_after(each, norm)
        return norm
    if isinstance(step, ColumnTransformer):
        used = {name: each for name, each, columns in step.transformers_ if len(_places(columns))}
        given = {name: each for name, each, _ in step.transformers} | {"remainder": step.remainder}
        # A fitted ColumnTransformer replaces "passthrough" by a step of its own; what was asked for is in `given`.
        kept = [(name, given[name] if isinstance(given[name], str) else each) for name, each in used.items()]
        return _together(kept, step.transformer_weights, norm)
    if isinstance(step, FeatureUnion):
        return _together(step.transformer_list, step.transformer_weights, norm)
    if isinstance(step, PUBLIC):
        return step.data_norm_
    return _stateless(step, norm) * _ROOM


def _places(columns: Any) -> Any:
    """Columns of a branch as a list; a slice, a name or a number stands for at least one."""
    return [columns] if isinstance(columns, str | int | slice) else columns


def _together(steps: Any, weights: Any, norm: float) -> float:
    square = 0.0
    for name, step in steps:
        square += (norm_after(step, norm) * abs((weights or {}).get(name, 1.0))) ** 2
    return math.sqrt(square) * _ROOM


def _stateless(step: Any, norm: float) -> float:
    """The norm behind a step of scikit-learn, whose input is coded."""
    if isinstance(step, Normalizer):
        return math.sqrt(step.n_features_in_) if step.norm == "max" else 1.0
    if isinstance(step, Binarizer | OneHotEncoder):  # at most one 1 for each column
        return math.sqrt(step.n_features_in_)
    if isinstance(step, PolynomialFeatures):
        least, most = step.degree if isinstance(step.degree, tuple) else (0, step.degree)
        powers = [k for k in range(least, most + 1) if k > 0] + ([0] if step.include_bias else [])
        return math.sqrt(sum(norm ** (2 * k) for k in powers))
    return math.inf


def schemas(step: Any) -> list[Schema]:
    """The schemas of all public steps."""
    given = (getattr(each, "schema", None) for each in leaves(step))
    return [schema for schema in given if isinstance(schema, Schema)]


def targets(step: Any) -> list[Column]:
    """The declared targets of the schemas of all public steps."""
    return [schema.columns[schema.target] for schema in schemas(step) if schema.target is not None]


def steps_of(step: Any) -> tuple[str, ...]:
    """The classes of the steps that read or change a cell, each once, in their order."""
    kept = [leaf for leaf in leaves(step) if not isinstance(leaf, str) and not is_identity(leaf)]
    return tuple(dict.fromkeys(type(leaf).__name__ for leaf in kept))


def digest(step: Any) -> str:
    """SHA-256 of the parameters of all steps, schemas by their own digests."""
    return hashlib.sha256(repr(_described(step)).encode()).hexdigest()


def leaves(step: Any) -> list[Any]:
    """The steps that are not made of others."""
    if isinstance(step, Pipeline):
        return [leaf for _, each in step.steps for leaf in leaves(each)]
    if isinstance(step, ColumnTransformer):
        listed = [each for _, each, _ in step.transformers] + [step.remainder]
        return [leaf for each in listed for leaf in leaves(each)]
    if isinstance(step, FeatureUnion):
        return [leaf for _, each in step.transformer_list for leaf in leaves(each)]
    return [step]


def _described(value: Any) -> Any:
    if isinstance(value, Schema):
        return value.digest
    if hasattr(value, "get_params"):
        shown = sorted(value.get_params(deep=False).items())
        return type(value).__name__, [(name, _described(each)) for name, each in shown]
    if isinstance(value, list | tuple):
        return [_described(each) for each in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return repr(value)
