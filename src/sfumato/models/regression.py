"""How the rows of a schema become the records of a Gibbs model: radius, labels, coordinates and scores.

A record is a row with a label; for the quadratic loss of a mean it is the row alone, and for the log odds of a rate the
label alone (`record` of the loss).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.models._rounding import norm_up
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import LABEL, LABELLED_ROW
from sfumato.models.row_products import row_products
from sfumato.schema import Boolean, Number, Schema
from sfumato.schema.design import Design

Array = NDArray[np.float64]


def check_rows(model: Gibbs, schema: Schema) -> int:
    """Refuse rows outside the bounds of the loss; return the dimension of the parameter."""
    record = model.loss.record
    if model.intercept and record != LABELLED_ROW:
        raise ArgumentError(f"{model.loss.name} has no features beside which an intercept could stand; leave it 0.")
    if record == LABEL:
        label_values(model, schema, None)
        return 1
    design = Design.of(schema, model.terms)
    _check_intercept(model, design)
    radius = model.loss.radius
    if not _longest_row_fits(design.radius, model.intercept, radius):
        with_one = f" and the intercept feature {model.intercept:g}" if model.intercept else ""
        needed = norm_up(design.radius, model.intercept) if math.isfinite(design.radius) else math.inf
        raise ArgumentError(
            f"the loss was made for rows of norm at most {radius!r}, and schema {schema.name!r} allows {needed!r} "
            f"(data_norm{with_one}). Give the loss radius={needed!r} or declare a smaller data_norm."
        )
    wanted = model.loss.outputs * (design.dimension + (1 if model.intercept else 0))
    if model.dimension is not None and model.dimension != wanted:
        raise ArgumentError(f"the model has dimension {model.dimension} and schema {schema.name!r} gives {wanted}.")
    if record == LABELLED_ROW:
        label_values(model, schema, None)
    return wanted


def _check_intercept(model: Gibbs, design: Design) -> None:
    """Refuse terms whose meaning depends on an intercept where there is none: levels, powers and products."""
    if model.intercept or not design.terms:
        return
    for term in design.terms:
        column = design.schema.columns[term.factors[0][0]]
        if len(term.factors) > 1 or term.factors[0][1] > 1 or not isinstance(column, Number | Boolean):
            raise ArgumentError(
                f"the term {term} needs an intercept: levels are compared with a reference, and powers and products are shifted. "
                "Leave intercept = false out."
            )


def columns_read(model: Gibbs, schema: Schema) -> tuple[str, ...]:
    """The columns that the model reads: all, or those of its terms and the target."""
    if model.terms is None:
        return tuple(schema.columns)
    terms = Design.of(schema, model.terms).terms or ()
    used = {name for term in terms for name, _ in term.factors} | {schema.target}
    return tuple(name for name in schema.columns if name in used)


def _longest_row_fits(longest: float, intercept: float, radius: float) -> bool:
    """Whether longest^2 + intercept^2 <= radius^2, compared exactly: the price does not cover longer rows."""
    if not math.isfinite(longest):
        return False
    return Fraction(longest) ** 2 + Fraction(intercept) ** 2 <= Fraction(radius) ** 2


def label_values(model: Gibbs, schema: Schema, block: Mapping[str, Any] | None) -> Array:
    """Labels of a block as numbers that the loss takes; without a block only the declarations are checked."""
    target = schema.target
    if target is None:
        raise ArgumentError(
            f"{model.loss.name} needs labels: declare target='...' in schema {schema.name!r}, or choose a column by "
            "schema.with_target('...')."
        )
    column = schema.columns[target]
    domain = model.loss.label_domain
    if isinstance(domain, LabelInterval):
        number = isinstance(column, Number) or (isinstance(column, Boolean) and model.loss.record == LABEL)
        if not number:
            raise ArgumentError(
                f"{model.loss.name} needs a Number as its target; {target!r} is {type(column).__name__}."
            )
        if isinstance(column, Number) and not (domain.lower <= column.lower and column.upper <= domain.upper):
            raise ArgumentError(
                f"the bounds of the target {target!r} are [{column.lower:g}, {column.upper:g}] and the loss takes labels in "
                f"[{domain.lower:g}, {domain.upper:g}]."
            )
        return np.empty(0) if block is None else np.asarray(block[target], dtype=np.float64)
    values = np.array(domain.values)
    levels = len(column.levels or ())
    if levels != len(values):
        others = "For numbers there are linear, poisson and quantile regressions."
        if levels:
            others = "For more classes there is the multinomial regression." if levels > 2 else ""
        raise ArgumentError(
            f"{model.loss.regression_name} needs a target with {len(values)} classes; {target!r} declares "
            f"{levels or 'a number'}. {others}".strip()
        )
    return np.empty(0) if block is None else values[np.asarray(block[target], dtype=np.int64)]


def coordinates(model: Gibbs, schema: Schema) -> tuple[str, ...]:
    """A public name for every coordinate of the parameter; with several scores, one run of names per class."""
    if model.loss.record == LABEL:
        return (f"{model.loss.score_name} of {schema.target}",)
    names = list(Design.of(schema, model.terms).features)
    if model.intercept:
        # The coefficient of a constant feature c is the intercept divided by c.
        names.append("intercept" if model.intercept == 1 else f"intercept / {model.intercept:.6g}")
    outputs = model.loss.outputs
    return tuple([f"class {k}: {name}" for k in range(outputs) for name in names] if outputs > 1 else names)


def scores_of(model: Gibbs, rows: Any, points: Array, steady: bool = False) -> Array:
    """Scores (rows, points, outputs) of features (rows, width) at parameters (points, d), the intercept's included.

    `steady` is that of `row_products`.
    """
    matrix = points.reshape(len(points) * model.loss.outputs, -1)
    width = rows.shape[1]
    scores = row_products(rows, matrix[:, :width], steady)
    if model.intercept:
        scores = scores + matrix[:, width] * model.intercept
    return scores.reshape(rows.shape[0], len(points), model.loss.outputs)
