"""A public schema that a model fits, made from the model alone: an audit then needs no schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.errors import ArgumentError, SfumatoError
from sfumato.models import families
from sfumato.models.families._vectors import Vectors
from sfumato.models.gibbs import Gibbs
from sfumato.models.grouped import Grouped
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import LABEL, LABELLED_ROW
from sfumato.models.networks import BayesianNetwork, MarkovChain
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.schema import Boolean, Category, Column, Number, Schema

# Labels without a declared bound: a million away every residual stays clipped, whatever parameter a chain reaches.
FAR = 1e6
_NAME = "audit"


def public_schema(model: FamilyOrGibbs, n: int) -> Schema:
    """The schema of made-up records for a model of n records: columns of the kinds that it reads, with its own bounds.

    A model that is not of this package, one with terms, and one without a stated dimension need `schema=`.
    """
    try:
        schema = _gibbs(model) if isinstance(model, Gibbs) else _family(model)
        if schema is not None:
            model.columns(schema)  # refuses a schema that the model does not fit
            return schema
        reason = "it has terms, no stated dimension, or is not a model of this package"
    except SfumatoError as error:
        reason = str(error)
    raise ArgumentError(
        f"no schema can be made from the model alone ({reason}). Give schema=, the public schema of the records "
        f"that the plan of n = {n:,} is for."
    )


def _family(model: Any) -> Schema | None:
    if isinstance(model, Vectors):
        return Schema.vector(model.size, data_norm=model.radius, name=_NAME)
    columns = _columns(model)
    return None if columns is None else Schema(columns, name=_NAME)


def _columns(model: Any) -> dict[str, Column] | None:
    """The columns of a family that reads a table."""
    if isinstance(model, Grouped):
        own = _columns(model.model)
        if own is None:
            return None
        return {model.by: _of_levels(model.levels), **{_other(name, model.by): column for name, column in own.items()}}
    if isinstance(model, BayesianNetwork):
        bins = dict(model.bins)
        return {
            node: Number(bins[node][0], bins[node][-1]) if node in bins else _of_levels(levels)
            for node, levels in model.cardinalities
        }
    if isinstance(model, LearnedNetwork):
        edges = {**dict(model.bins), **dict(model.quantiles)}
        return {
            name: Number(edges[name][0], edges[name][-1]) if name in edges else _of_levels(levels)
            for name, levels in model.cardinalities
        }
    if isinstance(model, families.CrossTable):
        bins = dict(model.bins)
        return {
            name: Number(bins[name][0], bins[name][-1], integer=name in model.whole)
            if name in bins
            else _of_levels(levels)
            for name, levels in model.levels_of
        }
    if isinstance(model, MarkovChain):
        states = _level_list(model.states)
        column = _of_levels([*states, *(() if model.end is None else (model.end,))], chain=True)
        length = model.length or 2
        return dict.fromkeys(model.names or [f"step {k + 1}" for k in range(length)], column)
    if isinstance(model, families.Quantile):
        low, high = model.grid[0], model.grid[-1]
        # Records may lie outside the candidates: half a range to each side.
        return {model.column or "x": Number(low - (high - low) / 2, high + (high - low) / 2)}
    if isinstance(model, families.Quantiles):
        return {model.column or "x": Number(model.lower, model.upper, integer=model.integer)}
    single = _column(model)
    return None if single is None else {"x": single}


def _column(model: Any) -> Column | None:
    """The one column of a simple family."""
    if isinstance(model, families.BetaBernoulli | families.LogitNormal):
        return Boolean(missing=False)
    if isinstance(model, families.BetaBinomial):
        return Number(0, model.trials, integer=True)
    if isinstance(model, families.GammaPoisson):
        return Number(0, model.bound, integer=True)
    if isinstance(model, families.Histogram):
        return Number(model.edges[0], model.edges[-1], integer=model.integer)
    if isinstance(model, families.DirichletCategorical):
        return _of_levels(model.levels)
    if isinstance(model, families.Finite):
        return Boolean(missing=False) if model.levels is None else _of_levels(model.levels)
    if isinstance(model, families.ExponentialRate):
        return Number(0, model.bound)
    if isinstance(model, families.LaplaceScale | families.NormalPrecision):
        return Number(model.centre - model.bound, model.centre + model.bound)
    if isinstance(model, families.NormalMean | families.BoundedMean):
        return Number(model.lower, model.upper)
    return None


def _other(name: str, taken: str) -> str:
    """The name, changed where the column of the groups has it."""
    return f"{name} of a record" if name == taken else name


def _level_list(levels: Any) -> Sequence[Any]:
    return list(range(levels)) if isinstance(levels, int) else list(levels)


def _of_levels(levels: Any, chain: bool = False) -> Column:
    """A column with these levels; False and True are a Boolean, except in a chain, which reads categories."""
    listed = _level_list(levels)
    if chain and len({type(level) for level in listed}) > 1:
        listed = [str(level) for level in listed]
    if listed == [False, True] and isinstance(listed[0], bool):
        return Boolean(missing=False)
    return Category(listed, missing=listed[0])


# --- regressions -------------------------------------------------------------------------------------------------------------


def _gibbs(model: Gibbs) -> Schema | None:
    loss = model.loss
    if loss.record == LABEL:
        return Schema({"y": _labels(model)}, target="y", name=_NAME)
    if model.terms is not None or model.dimension is None:
        return None
    features = model.dimension // loss.outputs - (1 if model.intercept else 0)
    if features < 1:
        return None
    target = _labels(model) if loss.record == LABELLED_ROW else None
    return Schema.vector(features, data_norm=_data_norm(loss.radius, model.intercept), target=target, name=_NAME)


def _data_norm(radius: float, intercept: float) -> float:
    """The largest norm of a row whose norm with the intercept is within the radius: sqrt(radius^2 - intercept^2), rounded down."""
    square = Fraction(radius) ** 2 - Fraction(intercept) ** 2
    if square <= 0:
        raise ArgumentError(f"the intercept {intercept!r} leaves no room for a row within the radius {radius!r}")
    norm = math.sqrt(square)
    while Fraction(norm) ** 2 > square:
        norm = math.nextafter(norm, 0.0)
    return norm


def _labels(model: Gibbs) -> Column:
    """The target that the loss takes: one level per class, or numbers in its interval."""
    domain = model.loss.label_domain
    if not isinstance(domain, LabelInterval):
        return Category(list(range(len(domain.values))), missing=0)
    return Number(max(domain.lower, -FAR), min(domain.upper, FAR))
