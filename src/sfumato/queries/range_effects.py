"""Effects that fit one axis: a number from its lower bound to its upper, yes against no, a level against its reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.queries import own_units
from sfumato.schema import Category, Number, Schema
from sfumato.schema.design import Design


def range_effects(
    plan: Mapping[str, Any], schema: Mapping[str, Any], labels: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """Name -> weights of coefficients (`release.contrast`), for columns that enter the regression by themselves only.

    The effect of a column that has a power or a product beside it depends on where it starts, so it is left out. Empty for
    rows without named columns and for several classes.
    """
    model = own_units.regression_of(plan)
    declared = Schema.from_json(schema["document"])
    if model is None or declared.dimension is not None or declared.rows == "normalise" or model.loss.outputs > 1:
        return {}
    effects: dict[str, dict[str, float]] = {}
    for name in _alone(declared, model.terms):
        column = declared.columns[name]
        if isinstance(column, Number):
            ends = f"{column.shown(column.lower)} to {column.shown(column.upper)}"
            effects[f"{name}, {ends}"] = {name: column.upper - column.lower}
        elif isinstance(column, Category):
            levels = {f"{name}={level}" for level in column.levels}
            effects |= {label: {label: 1.0} for label in labels if label in levels}
        else:
            effects[name] = {name: 1.0}
    # A name that two coefficients have tells neither: a column called "intercept" has the intercept's.
    return {text: weights for text, weights in effects.items() if all(labels.count(name) == 1 for name in weights)}


def left_out(plan: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose effect over their range has no single value: they enter through powers or products too."""
    model = own_units.regression_of(plan)
    declared = Schema.from_json(schema["document"])
    if model is None or model.terms is None or declared.rows == "normalise" or model.loss.outputs > 1:
        return ()
    alone = _alone(declared, model.terms)
    return tuple(name for name in Design.of(declared, model.terms).columns if name not in alone)


def _alone(schema: Schema, terms: tuple[str, ...] | None) -> list[str]:
    """The columns that are one term and part of no other."""
    if terms is None:
        return list(schema.features)
    used = [name for term in Design.of(schema, terms).terms or () for name, _ in term.factors]
    return [name for name in schema.features if used.count(name) == 1]
