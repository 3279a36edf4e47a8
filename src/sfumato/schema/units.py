"""From coded features to the columns' own units: every coefficient a reader expects as a linear function of the parameter.

The score of a row is the sum of its coded features times the parameter. Each coded feature is a linear function of the row's own
terms (1, x, x^2, an indicator of a level, products of these), so the score is one too, and the coefficient of an own term is
the sum over the features of parameter times coefficient: own = matrix @ parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.schema import coding
from sfumato.schema.category import Category
from sfumato.schema.design import Design
from sfumato.schema.schema import Schema
from sfumato.schema.terms import Term

Array = NDArray[np.float64]
INTERCEPT = "intercept"
# An own term: the column and the label of each of its factors; () is the constant 1. Two columns may have labels that read alike
# ("a=b" with a level "c", and "a" with "b=c"), so that a label alone does not tell a term.
OwnTerm = tuple[tuple[str, str], ...]
# Own terms of a feature and their coefficients.
Expansion = dict[OwnTerm, float]


@dataclass(frozen=True, eq=False)
class Units:
    """The names of the coefficients in own units, the intercept first, and own = matrix @ parameter + offset.

    The parameter includes the constant's. `fixed` holds the names of which the coefficient is 0 by definition: reference
    levels, alone and in products. `offset` is not 0 where labels were shifted before the fit.
    """

    names: tuple[str, ...]
    matrix: Array
    fixed: frozenset[str] = frozenset()
    offset: Array | None = None

    def resolved(self, name: str) -> str:
        """The name of a coefficient, or of one that is 0 by definition, whatever the order of a product's parts is."""
        known = (*self.names, *sorted(self.fixed))
        if name in known:
            return name
        alike = [each for each in known if _parts(each) == _parts(name)]
        if len(alike) != 1:
            raise ArgumentError(f"there is no coefficient {name!r}; there are {_listed(self.names)}.")
        return alike[0]

    def weights(self, named: Mapping[str, float]) -> Array:
        """The functional of the parameter that a weighted sum of named coefficients is."""
        total = np.zeros(self.matrix.shape[1])
        for given, weight in named.items():
            name = self.resolved(given)
            if self.names.count(name) > 1:
                raise ArgumentError(f"two coefficients are called {name!r}; a contrast cannot tell which one is meant.")
            if name in self.names:
                total += float(weight) * self.matrix[self.names.index(name)]
        return total

    def refuse_references_alone(self, named: Mapping[str, float]) -> None:
        """Refuse a sum of coefficients that are all 0 by definition."""
        resolved = {given: self.resolved(given) for given in named}
        if not all(name in self.fixed and name not in self.names for name in resolved.values()):
            return
        words = [f"{name} is {'a product with ' * (':' in name)}the reference level" for name in resolved.values()]
        raise ArgumentError(
            f"{' and '.join(words)}: its coefficient is 0 by definition. Compare another level with it; there are "
            f"{_listed(self.names)}."
        )


def _parts(name: str) -> list[str]:
    """The factors of a product, in an order of their own."""
    return sorted(part.strip() for part in name.split(":"))


def units_of(design: Design, constant: float, reference: Mapping[str, Any] | None = None) -> Units:
    """The own units of a design with a constant feature (0 for none); `reference` replaces declared reference levels."""
    schema, chosen = design.schema, dict(reference or {})
    _check_references(schema, chosen)
    if schema.dimension is not None:
        return _vector(schema, design, constant)
    expansions: list[Expansion]
    if design.terms is None:
        expansions = [each for name in schema.features for each in _whole_column(schema, name, chosen.get(name))]
    else:
        expansions = [each for term in design.terms for each in _product(schema, term, chosen)]
    if constant:
        expansions.append({(): float(constant)})
    terms = list(dict.fromkeys(term for each in expansions for term in each))
    # The constant and columns themselves come before powers and products, in the order of the features.
    terms.sort(key=lambda term: term != ())
    matrix = np.zeros((len(terms), len(expansions)))
    places = {term: place for place, term in enumerate(terms)}
    for feature, each in enumerate(expansions):
        for term, value in each.items():
            matrix[places[term], feature] = value
    return Units(tuple(map(_name, terms)), matrix, _fixed(design, chosen, terms))


def _name(term: OwnTerm) -> str:
    return ":".join(label for _, label in term) if term else INTERCEPT


def _vector(schema: Schema, design: Design, constant: float) -> Units:
    """The entries of a vector, in the units that they had before they were scaled, where these are stated."""
    width, units = design.dimension, schema.units
    centre, span = (
        (np.zeros(width), np.ones(width)) if units is None else (np.array(units.centre), np.array(units.span))
    )
    shift, factor = (0.0, 1.0) if units is None else (units.shift, units.factor)
    whole = np.diag(factor / span)
    if not constant and not centre.any() and not shift:
        return Units(design.features, whole)
    first = -factor * centre / span
    matrix = np.vstack([first, whole])
    if constant:
        matrix = np.column_stack([matrix, [factor * constant, *[0.0] * width]])
    return Units((INTERCEPT, *design.features), matrix, offset=np.array([shift, *[0.0] * width]))


def _whole_column(schema: Schema, name: str, reference: Any) -> list[Expansion]:
    """The features of a column in the older coding, with an indicator for each level."""
    column = schema.columns[name]
    if not isinstance(column, Category):
        if column.levels is None and len(column.features(name)) > 1:
            return [{((name, feature),): 1.0} for feature in column.features(name)]
        return _tupled(name, coding.own_terms(name, column, 1))
    base = coding.chosen_reference(name, column, reference)
    own: list[OwnTerm] = [((name, f"{name}={level}"),) for level in column.levels]
    others = [place for place in range(len(own)) if place != base]
    expansions: list[Expansion] = []
    for place, term in enumerate(own):
        if place == base:
            expansions.append({(): 1.0, **{own[k]: -1.0 for k in others}})
        else:
            expansions.append({term: 1.0})
    if base is None:  # sum to zero: each level less the mean of all
        count = len(own)
        expansions = [{(): 1 / count, **{own[k]: float(k == j) - 1 / count for k in others}} for j in range(count)]
    return expansions


def _product(schema: Schema, term: Term, references: Mapping[str, Any]) -> list[Expansion]:
    """The coded features of a term, each multiplied out into own terms."""
    whole: list[Expansion] = []
    for name, power in term.factors:
        part = _tupled(name, coding.own_terms(name, schema.columns[name], power, references.get(name)))
        whole = part if not whole else [_times(left, right) for left in whole for right in part]
    return whole


def _times(left: Expansion, right: Expansion) -> Expansion:
    """Twice the product of two linear functions, as coded products are."""
    total: Expansion = {}
    for one, first in left.items():
        for other, second in right.items():
            total[one + other] = total.get(one + other, 0.0) + 2.0 * first * second
    return total


def _tupled(column: str, linear: list[coding.Linear]) -> list[Expansion]:
    return [{(((column, label),) if label else ()): value for label, value in each.items()} for each in linear]


def _fixed(design: Design, references: Mapping[str, Any], terms: list[OwnTerm]) -> frozenset[str]:
    """The reference levels, whose coefficients are 0 by definition, alone and in products with other terms."""
    schema, bases = design.schema, dict[str, tuple[str, str]]()
    for name in design.columns:
        column = schema.columns[name]
        if isinstance(column, Category):
            base = coding.chosen_reference(name, column, references.get(name))
            bases |= {} if base is None else {name: (name, f"{name}={column.levels[base]}")}
    fixed: set[OwnTerm] = {(base,) for base in bases.values()}
    for term in terms:
        fixed |= set(product(*({factor, bases.get(factor[0], factor)} for factor in term)))
    return frozenset(map(_name, fixed)) - frozenset(map(_name, terms))


def _check_references(schema: Schema, references: Mapping[str, Any]) -> None:
    for name in references:
        if name not in schema.columns or not isinstance(schema.columns[name], Category):
            raise ArgumentError(f"reference names {name!r}, which is no category of the schema.")


def _listed(names: tuple[str, ...], most: int = 30) -> str:
    rest = f", ... and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
