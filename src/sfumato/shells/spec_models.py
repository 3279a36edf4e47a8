"""The [model] table of a spec file: a family, a regression, a network or a cross table of the schema's columns."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError, SfumatoError
from sfumato.models.model import LOSSES
from sfumato.schema import Boolean, Category, Number, Schema
from sfumato.shells.spec_keys import are_names, known_keys, nearest
from sfumato.shells.spec_learnt import read_learnt

if TYPE_CHECKING:
    from sfumato.models.reading import FamilyOrGibbs

# The key that decides which model [model] describes.
_KINDS = ("family", "regression", "network", "cross")
# Keys of a family that may list edges of bins.
_EDGES = ("bins", "edges")

# Stands in a new spec for a column that is still to be chosen.
UNNAMED = "column"
# The usual families of a column, by its type; the first is what a new spec starts with, and the last what it releases.
FAMILIES: dict[type, tuple[str, tuple[str, ...], str]] = {
    Boolean: ("a yes-or-no column", ("BetaBernoulli",), "a share"),
    Category: ("a category", ("DirichletCategorical",), "the shares of a category's levels"),
    Number: ("a number", ("BoundedMean", "Quantiles", "Histogram"), "a mean, of values clipped to the schema's bounds"),
}


def first_family(schema: Schema | None, column: str) -> tuple[str, str]:
    """The family that a new spec of this column starts with, and what it releases; a share where no schema is there yet."""
    if schema is None or (column == UNNAMED and column not in schema.columns):
        return "BetaBernoulli", "a share"
    if column not in schema.columns:
        raise ArgumentError(
            f"--column must be one of the schema's columns {', '.join(map(repr, schema.columns))}; got {column!r}."
            f"{nearest(column, tuple(schema.columns))}"
        )
    _, families, released = next(each for kind, each in FAMILIES.items() if isinstance(schema.columns[column], kind))
    return families[0], released


def read_model(file: str, facts: dict[str, Any], schema: Schema) -> tuple[FamilyOrGibbs, Schema]:
    """The model and the schema of the columns that it reads."""
    kinds = [kind for kind in _KINDS if kind in facts]
    if len(kinds) != 1:
        raise FormatError(
            f"{file}: [model] needs exactly one of {', '.join(_KINDS)}; got {', '.join(kinds) or 'none'}."
        )
    _check_types(file, facts)
    build = {"family": _family, "regression": _regression, "network": _network, "cross": _cross}[kinds[0]]
    return build(file, facts, schema)


def _check_types(file: str, facts: Mapping[str, Any]) -> None:
    """Refuse values of the wrong type: column names must be texts, `intercept` a boolean."""
    for key in ("family", "regression", "column", "by", "target"):
        if key in facts and not isinstance(facts[key], str):
            raise FormatError(f"{file}: {key} in [model] must be a text in quotes; got {_validate.shown(facts[key])}.")
    if "features" in facts and not are_names(facts["features"]):
        raise FormatError(
            f'{file}: features must be a list of columns such as ["age", "sex"]; got {_validate.shown(facts["features"])}.'
        )
    if not isinstance(facts.get("intercept", True), bool):
        raise FormatError(f"{file}: intercept must be true or false; got {_validate.shown(facts['intercept'])}.")


def check_columns(file: str, model: FamilyOrGibbs, schema: Schema) -> None:
    """Refuse a model that cannot read its columns before anything is planned."""
    if model.summed == LOSSES:
        from sfumato.models.regression import check_rows

        check_rows(model, schema)
        return
    try:
        model.columns(schema)
    except ArgumentError as error:
        raise FormatError(f"{file}: {_misfit(model, schema, str(error))}") from error


def _misfit(model: FamilyOrGibbs, schema: Schema, reason: str) -> str:
    """What kind of column the model was given, and which families are of that kind."""
    own: Any = getattr(model, "model", model)  # of a model by group, that of one group
    name = schema.target or list(schema.columns)[-1]
    called, fitting, _ = next(each for kind, each in FAMILIES.items() if isinstance(schema.columns[name], kind))
    if len(schema.columns) > 2 or own.name in fitting:
        return reason
    listed = " or ".join(f'family = "{each}"' for each in fitting)
    return f"{own.name} cannot be of {name!r}, which the schema declares as {called}. For {called} write {listed}."


def _family(file: str, facts: dict[str, Any], schema: Schema) -> tuple[FamilyOrGibbs, Schema]:
    from sfumato.models import families
    from sfumato.models.grouped import grouped

    name = facts.pop("family")
    known = tuple(families.TABLE)
    if name not in known:
        hint = nearest(name, known, 0.4)
        raise FormatError(f"{file}: family must be one of {', '.join(known)}; got {name!r}.{hint}")
    if name == families.CrossTable.name:
        raise FormatError(f'{file}: a cross table is written cross = ["region", "smoker"], without family.')
    by, column = facts.pop("by", None), facts.pop("column", None)
    family = getattr(families, name)
    parameters = inspect.signature(family).parameters
    if name == families.DirichletCategorical.name and isinstance(schema.columns.get(column or ""), Number):
        raise FormatError(
            f'{file}: {column!r} is a Number: write family = "Histogram" with bins = 10, bins = [edges] or width = 5.'
        )
    known_keys(file, facts, ("column", "by", *parameters), f"the family {name}")
    if by is not None and by in schema.columns and schema.columns[by].levels is None:
        raise FormatError(f"{file}: by = {by!r} is a Number; groups are the levels of a Category or a Boolean.")
    if by is not None and not getattr(family, "groupable", True):
        raise FormatError(f"{file}: the family {name} has no form by group: leave out by = {by!r}.")
    columns = [column] if column is not None else [each for each in schema.columns if each != by]
    if column is None and len(columns) > 1:
        raise FormatError(
            f'{file}: [model] needs column = "...", one of {", ".join(columns)}: the schema has more than one.'
        )
    part = schema.only([*columns, *([by] if by else [])])
    declared = part.columns[columns[0]]
    facts = {**{key: value for key, value in _declared(declared).items() if key in parameters}, **facts}
    if name == "Quantile" and "grid" not in facts and isinstance(declared, Number):
        # The candidates follow from the column's declared bounds; records are rounded to them.
        facts = {"grid": family.grid_of(declared), "rounding": "nearest", **facts}
    if name == "Quantiles" and "cells" not in facts and isinstance(declared, Number):
        facts["cells"] = family.cells_of(declared)
    numeric = {"lower", "upper", "bound"} & set(parameters)
    if numeric and (
        isinstance(declared, Category) or (name == families.Histogram.name and declared.levels is not None)
    ):
        other = "DirichletCategorical" if isinstance(declared, Category) else "BetaBernoulli"
        advice = f' Write family = "{other}" for the shares of its levels.' if name == families.Histogram.name else ""
        raise FormatError(
            f"{file}: the family {name} is of a Number; {columns[0]!r} is a {type(declared).__name__}.{advice}"
        )
    missing = [key for key, each in parameters.items() if each.default is each.empty and key not in facts]
    if missing:
        raise FormatError(f"{file}: the family {name} needs {', '.join(missing)} in [model].")
    try:
        model = family(**_in_days(declared, facts))
    except ArgumentError as error:
        raise FormatError(f"{file}: {error}") from error
    except (TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, SfumatoError):
            raise
        given = ", ".join(f"{key} = {_validate.shown(value)}" for key, value in facts.items())
        raise FormatError(f"{file}: the family {name} cannot take these numbers: {given}.") from error
    return (grouped(model, by=by, levels=part.columns[by].levels or ()) if by else model), part


def _in_days(column: Any, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts, with dates among the edges of a Date column as numbers of days."""
    from sfumato.models.families._bins import in_numbers

    edges = _EDGES if isinstance(column, Number) else ()
    return {key: in_numbers(column, each) if key in edges else each for key, each in facts.items()}


def _declared(column: Any) -> dict[str, Any]:
    """Parameters of a family that the schema already declares."""
    if isinstance(column, Category):
        return {"levels": column.levels}
    if isinstance(column, Number):
        bound = int(column.upper) if column.integer else column.upper
        return {
            "lower": column.lower,
            "upper": column.upper,
            "bound": bound,
            "integer": column.integer,
        }
    return {}


def _cross(file: str, facts: dict[str, Any], schema: Schema) -> tuple[FamilyOrGibbs, Schema]:
    from sfumato.models.families import CrossTable

    columns = facts.pop("cross")
    if not are_names(columns):
        raise FormatError(
            f'{file}: cross must be a list of columns such as cross = ["region", "smoker"]; got {_validate.shown(columns)}.'
        )
    known_keys(file, facts, ("bins", "alpha"), "[model] of a cross table")
    bins = facts.get("bins", {})
    if not isinstance(bins, Mapping):
        raise FormatError(
            f"{file}: bins of a cross table must be a table column = number of bins, = [edges] or = {{ width = 5 }}, such as "
            f"bins = {{ age = 10 }}; got {_validate.shown(bins)}."
        )
    try:
        model = CrossTable.from_schema(schema, columns, **facts)
    except ArgumentError as error:
        raise FormatError(f"{file}: {error}") from error
    return model, schema.only(columns)


def _network(file: str, facts: dict[str, Any], schema: Schema) -> tuple[FamilyOrGibbs, Schema]:
    from sfumato.models.networks import BayesianNetwork

    if isinstance(facts["network"], str):
        return read_learnt(file, facts, schema)
    parents = facts.pop("network")
    if not isinstance(parents, Mapping) or not all(are_names(above) for above in parents.values()):
        raise FormatError(
            f"{file}: network must be a table column = [parents], such as network = {{ a = [], b = ['a'] }}, "
            'or "learn", which needs no parents.'
        )
    known_keys(file, facts, ("bins", "alpha", "floor", "adjacency"), "[model] of a network")
    bins = facts.get("bins", {})
    wrong = bins if not isinstance(bins, Mapping) else [b for b in bins.values() if not isinstance(b, int | list)]
    if not isinstance(bins, Mapping) or wrong:
        shown = _validate.shown(wrong[0] if isinstance(bins, Mapping) else bins)
        raise FormatError(
            f"{file}: bins must be a table column = number of bins, or = [edges], such as bins = {{ age = 10 }}; got {shown}."
        )
    part = schema.only(list(dict.fromkeys([*parents, *(above for each in parents.values() for above in each)])))
    return BayesianNetwork.from_schema(part, parents, **facts), part


def _regression(file: str, facts: dict[str, Any], schema: Schema) -> tuple[FamilyOrGibbs, Schema]:
    from sfumato.models.building import kinds, refused_kind, regression
    from sfumato.schema.terms import read_terms

    kind = facts.pop("regression")
    known = kinds()
    fault = refused_kind("regression", kind)
    if fault is not None:
        raise FormatError(f"{file}: {fault}")
    numbers = dict.fromkeys(key for loss in known.values() for key in loss.spec_keys)
    known_keys(file, facts, ("target", "features", "intercept", "prior", *numbers), "[model] of a regression")
    target = facts.pop("target", schema.target)
    if target is None:
        raise FormatError(f'{file}: [model] needs target = "...", the column to be predicted.')
    features = facts.pop("features", [each for each in schema.columns if each != target])
    if target in features:
        raise FormatError(f"{file}: the target {target!r} cannot be one of the features.")
    try:
        terms = read_terms(features, schema.only(schema.columns, target))
        used = dict.fromkeys(name for term in terms for name, _ in term.factors)
        part = schema.only([*used, target], target)
        return regression(kind, part, [str(term) for term in terms], **facts), part
    except (ArgumentError, FormatError) as error:
        raise FormatError(f"{file}: {error}") from error
