"""`sf.regression`: a regression of a table from a kind, terms and prior deviations in the user's units.

The prior is normal and independent from feature to feature. Its deviation is that of the effect on the score (log odds, log
rate or the target itself) of going from one end of a column to the other: from the lower bound of a number to the upper, from no to
yes, from one level to another. It is the same for every column and for the intercept unless declared otherwise, whatever the
columns' units are. A power or product of columns is coded to run over a range of 1 too. The intercept is the score in the
middle of all columns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.models import losses, priors
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import Loss, Target
from sfumato.models.regression import label_values
from sfumato.schema import Number, Schema
from sfumato.schema.design import Design

# Keys of a table of prior deviations beside the terms: the default, and the intercept's.
_DEFAULT, _INTERCEPT = "sd", "intercept"
_PER_UNIT = "per_unit"
# Prior deviation of an effect in ranges of the target, where the score is in its units. The path weighs the prior as if labels
# scattered by about half their range, so that a deviation of one range would shrink effects where they scatter far less.
RANGES = 2.5
# The least range of a linear regression's target. Measured with 6,000 records at epsilon 1: intervals are as wide as at range 1
# down to 0.2, twice as wide at 0.1, 8 times at 0.05, about 30 to 50 times at 0.01, and not finite at 0.001.
_LEAST_RANGE = 0.1


# Kinds that are asked for and not offered, with the reason and what to use instead (docs/regressions.md, "Ordered levels").
_NOT_OFFERED = {
    "ordinal": (
        "an ordinal regression is not offered: the gradient of its likelihood in the cut points has no bound, so that no noise "
        'would protect a record. Use regression "logistic" on a yes-or-no column that says whether the answer is above one '
        'public cut, or "multinomial".'
    ),
}


def refused_kind(name: str, kind: object) -> str | None:
    """Why a kind of regression, given as the argument `name`, is refused; None for the kinds that are offered."""
    known = kinds()
    if isinstance(kind, str) and kind in known:
        return None
    if isinstance(kind, str) and kind in _NOT_OFFERED:
        return _NOT_OFFERED[kind]
    return f"{name} must be one of {', '.join(known)}; got {_validate.shown(kind)}."


def kinds() -> dict[str, type[Loss]]:
    """The kinds of regressions by name."""
    return {str(loss.spec_name): loss for loss in losses.LOSSES.values() if loss.spec_name}


def regression(
    kind: str,
    schema: Schema,
    features: Sequence[str] | None = None,
    *,
    intercept: bool = True,
    prior: Any = None,
    **numbers: float,
) -> Gibbs:
    """A regression of the schema's target on terms such as "age", "age^2", "age:sex" and "age*sex"; by default on every column.

    kind: "logistic", "linear", "poisson", "multinomial", "quantile", "svm", "probit" or "cloglog".
    intercept: without one the score is 0 in the middle of all columns, not where they are 0.
    prior: the prior deviation of an effect over a column's whole range, on the scale of the score: a number, or a table such
        as {"sd": 2, "age": 0.5, "income": {"per_unit": 0.001}, "intercept": 10}; or one of `sf.priors` for the coded
        features. By default 5 (3 for a probit), or 2.5 ranges of the target where the score is in its units.
    numbers: those that the kind takes, such as quantile=0.9 or clip=20.
    """
    known = kinds()
    fault = refused_kind("kind", kind)
    if fault is not None:
        raise ArgumentError(fault)
    if not isinstance(schema, Schema):
        raise ArgumentError(f"schema must be a sf.Schema; got {type(schema).__name__}.")
    if schema.dimension is not None:
        raise ArgumentError("sf.regression is for tables with named columns; for vectors use sf.Gibbs or an estimator.")
    if schema.target is None:
        raise ArgumentError(
            f"a regression needs labels: declare target='...' in schema {schema.name!r}, or choose a column by "
            "schema.with_target('...')."
        )
    strange = [key for key in numbers if key not in known[kind].spec_keys]
    if strange:
        takes = f"takes {', '.join(known[kind].spec_keys)}" if known[kind].spec_keys else "takes no further number"
        raise ArgumentError(f"a {kind} regression {takes}; got {', '.join(strange)}.")
    if isinstance(features, str):
        raise ArgumentError(
            f'features must be a list of texts such as ["age", "sex", "age:sex"]; got the text {features!r}.'
        )
    terms = tuple(schema.features if features is None else features)
    if not terms:
        raise ArgumentError("features must name at least one term; got none. Of the target alone release a family.")
    design = Design.of(schema, terms)
    _refuse_names_alike(design)
    # The constant has half the longest row's norm, about that of a typical row.
    constant = design.radius / 2 if intercept else 0.0
    radius = losses.radius_with_intercept(design.radius, constant) if constant else design.radius
    target = Target(schema.target, schema.columns[schema.target], {**numbers, "regression": kind})
    try:
        loss = known[kind].from_spec(radius, target)
    except FormatError as error:
        raise ArgumentError(str(error)) from error
    if prior is None and kind == "linear":
        _refuse_small_units(target)
    chosen = prior if isinstance(prior, priors.Prior) else _prior(prior, loss, target, design, constant)
    dimension = loss.outputs * (design.dimension + (1 if constant else 0))
    model = Gibbs(loss, chosen, dimension, constant, tuple(str(term) for term in design.terms or ()))
    label_values(model, schema, None)  # refuses a target that the kind cannot take
    return model


def _refuse_small_units(target: Target) -> None:
    """Refuse a target whose range is far below 1: the squared loss counts its noise as 1, so the prior would hide the records."""
    wide = target.number.upper - target.number.lower
    if wide < _LEAST_RANGE:
        raise ArgumentError(
            f"the bounds of the target {target.name!r} are only {wide:g} apart, and a regression in its units needs at least "
            f"{_LEAST_RANGE:g} (below, the prior outweighs the records): give it in smaller units, for example multiplied by "
            f"{10 ** math.ceil(-math.log10(wide)):,}."
        )


def _refuse_names_alike(design: Design) -> None:
    """Refuse coefficients that would be called alike, such as that of a column "intercept" and the intercept."""
    names = [_INTERCEPT, *(name for term in design.terms or () for name in term.own_names(design.schema))]
    alike = [name for name, count in Counter(names).items() if count > 1]
    if alike:
        raise ArgumentError(
            f"two coefficients would be called {alike[0]!r}: rename a column or a level in the table and in the schema."
        )


def default_deviation(loss: Loss, target: Target) -> float:
    """The prior deviation of an effect where none is declared."""
    if loss.effect_deviation is not None:
        return loss.effect_deviation
    return RANGES * (target.number.upper - target.number.lower)


def _prior(given: Any, loss: Loss, target: Target, design: Design, constant: float) -> priors.Gaussian:
    """The normal prior of the coded features and, last, of the constant; repeated for each class."""
    table = given if isinstance(given, Mapping) else {} if given is None else {_DEFAULT: given}
    terms = {str(term): term for term in design.terms or ()}
    for key in table:
        if key not in (_DEFAULT, _INTERCEPT, *terms):
            raise ArgumentError(
                f"prior has the keys {_DEFAULT}, {_INTERCEPT} and the terms {', '.join(terms)}; got {key!r}."
            )
    if not (given is None or isinstance(given, Mapping) or hasattr(given, "__float__")):
        raise ArgumentError(
            'prior must be a deviation such as 2.0, a table such as {"sd": 2, "age": 0.5}, or one of sf.priors; '
            f"got {given!r}."
        )
    named = f"prior of {_DEFAULT}" if isinstance(given, Mapping) else "prior"
    usual = _deviation(_DEFAULT, table.get(_DEFAULT, default_deviation(loss, target)), design, named)
    deviations: list[float] = []
    for name, term in terms.items():
        deviations += [_deviation(name, table.get(name, usual), design)] * len(term.names(design.schema))
    middle = 0.0
    if constant:
        deviations.append(_deviation(_INTERCEPT, table.get(_INTERCEPT, usual), design) / constant)
        if loss.effect_deviation is None:  # the score is in the target's units: its middle is a better guess than 0
            middle = (target.number.lower / 2 + target.number.upper / 2) / constant
    precision = np.tile(np.array(deviations) ** -2.0, loss.outputs)
    mean = np.tile([0.0] * (len(deviations) - 1) + [middle], loss.outputs) if middle else None
    return priors.Gaussian(precision, mean)


def _deviation(name: str, value: Any, design: Design, argument: str = "") -> float:
    """A declared deviation over the whole range; {"per_unit": s} is s times the range of a number.

    `argument` is what an error calls it, by default the prior of its term.
    """
    if not isinstance(value, Mapping):
        return _validate.positive(argument or f"prior of {name}", value)
    column = design.schema.columns.get(name)
    if set(value) != {_PER_UNIT} or not isinstance(column, Number):
        raise ArgumentError(
            f"the prior of {name} must be a deviation such as 2.0 or, for a number, {{ per_unit = 0.05 }}; got {dict(value)!r}."
        )
    return _validate.positive(f"prior of {name}", value[_PER_UNIT]) * (column.upper - column.lower)
