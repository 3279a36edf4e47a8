"""The terms of a regression: columns, their powers and products of columns, read from texts such as "age^2" and "age:sex".

"age*sex" stands for age, sex and age:sex. A power needs the lower powers beside it and a product its parts, so that the model
does not depend on where a number has its zero or which level is the reference.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.schema import coding
from sfumato.schema.number import Number

if TYPE_CHECKING:
    from sfumato.schema.coding import Array
    from sfumato.schema.schema import Schema

# Most columns in a product: one of three is hard enough to read.
_MOST_FACTORS = 3
# Numbers with powers have bounds at least this far apart, and at most its inverse: products of three fifth powers are floats.
_LEAST_WIDTH = 1e-20


@dataclass(frozen=True)
class Term:
    """A product of powers of columns: ((column, power), ...), in the order of the schema."""

    factors: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return ":".join(name if power == 1 else f"{name}^{power}" for name, power in self.factors)

    def margins(self) -> list[Term]:
        """The terms that must stand beside this one: each factor with its power lowered by one, or left out."""
        lower = []
        for place, (name, power) in enumerate(self.factors):
            kept = ((name, power - 1),) if power > 1 else ()
            rest = self.factors[:place] + kept + self.factors[place + 1 :]
            lower += [Term(rest)] if rest else []
        return lower

    def names(self, schema: Schema) -> list[str]:
        """Names of the coded values: every combination of those of the factors."""
        return _joined([coding.names(name, schema.columns[name], power) for name, power in self.factors])

    def own_names(self, schema: Schema) -> list[str]:
        """What a reader may call the coefficients of this term in the columns' own units."""
        return _joined([coding.own_names(name, schema.columns[name], power) for name, power in self.factors])

    def largest_square(self, schema: Schema) -> Fraction:
        """Bound on the sum of squares of the coded values in a row."""
        square = Fraction(4) ** (len(self.factors) - 1)
        for name, _ in self.factors:
            square *= coding.largest_square(schema.columns[name])
        # A product of floats is rounded twice at most: (1 + 2^-53)^4 is below 1 + 2^-50.
        return square if len(self.factors) == 1 else square * (1 + Fraction(1, 2**50))

    def write(self, schema: Schema, block: Any, out: Array) -> int:
        """Write the coded values to the first columns of `out`, which holds zeros; how many they are."""
        (name, power), *others = self.factors
        column = schema.columns[name]
        if not others and power == 1 and column.levels is None:
            column.write_features(block[name], out[:, :1])  # as most columns are: without a copy
            return 1
        values = self.coded(schema, block)
        out[:, : values.shape[1]] = values
        return int(values.shape[1])

    def coded(self, schema: Schema, block: Any) -> Array:
        """The coded values (rows, width): those of the factors multiplied, times 2 for each factor after the first.

        So the product of two numbers, or of two yes-or-no columns, runs from -1/2 to 1/2 like each of them.
        """
        values = [coding.coded(schema.columns[name], block[name], power) for name, power in self.factors]
        whole = values[0]
        for more in values[1:]:
            whole = 2.0 * (whole[:, :, None] * more[:, None, :]).reshape(len(whole), -1)
        return np.asarray(whole)


def _joined(parts: list[list[str]]) -> list[str]:
    return [":".join(each) for each in itertools.product(*parts)]


def read_terms(texts: Sequence[str], schema: Schema) -> tuple[Term, ...]:
    """The terms that the texts name, in their order; an unknown column or a missing part is an error that says what to write."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ArgumentError(f'features must be a list of texts such as ["age", "sex", "age:sex"]; got {texts!r}.')
    terms: dict[Term, None] = {}  # a file may list very many: looked up, not searched
    for text in texts:
        for term in _expanded(text, schema):
            if term in terms and "*" not in text:
                raise ArgumentError(f"features must be distinct; {term} is there twice.")
            terms[term] = None
    for term in terms:
        if not _reads_back(term, schema):
            raise ArgumentError(
                f"features: the text {str(term)!r} may mean two terms, since a column has ':', '*' or '^' in its name. Rename the "
                "column in the table and in the schema."
            )
        missing = [str(each) for each in term.margins() if each not in terms]
        if missing:
            raise ArgumentError(
                f"the term {term} needs {' and '.join(missing)} beside it in features: without, the model would depend on where "
                f"a number has its zero and which level is the reference. Add {'it' if len(missing) == 1 else 'them'}."
            )
    return tuple(terms)


def _reads_back(term: Term, schema: Schema) -> bool:
    """Whether the text of a term, which plans and files keep, means this term."""
    try:
        return _expanded(str(term), schema) == [term]
    except ArgumentError:
        return False


def _expanded(text: str, schema: Schema) -> list[Term]:
    """One term, or for "a*b" every product of some of its factors."""
    if text in schema.columns:
        return [_term(text, [_factor(text, text, schema)], schema)]
    if "*" not in text:
        return [_term(text, [_factor(part.strip(), text, schema) for part in text.split(":")], schema)]
    factors = [_factor(part.strip(), text, schema) for part in text.split("*")]
    sizes = range(1, len(factors) + 1)
    return [_term(text, list(some), schema) for size in sizes for some in itertools.combinations(factors, size)]


def _factor(part: str, text: str, schema: Schema) -> tuple[str, int]:
    """(column, power) of a text such as "age" or "age^2"."""
    name, exponent = (part, "1") if part in schema.columns else part.partition("^")[::2]
    name = name.strip()
    known = [each for each in schema.columns if each != schema.target]
    if name not in known:
        raise _no_column(name, text, known, schema)
    power = int(exponent) if exponent.strip().isdecimal() else 0
    if not 1 <= power <= coding.HIGHEST_POWER:
        raise ArgumentError(
            f"features: the power in {text!r} must be a whole number from 1 to {coding.HIGHEST_POWER}; got {exponent!r}."
        )
    column = schema.columns[name]
    if power == 1:
        return name, power
    if not isinstance(column, Number):
        raise ArgumentError(f"features: {text!r} is a power of {name!r}, which is no Number.")
    if not _LEAST_WIDTH <= (column.upper - column.lower) <= 1 / _LEAST_WIDTH:
        raise ArgumentError(
            f"features: {text!r} is a power of {name!r}, whose bounds are {column.upper - column.lower:g} apart: no float holds "
            "its coefficient per unit. Declare the column in other units."
        )
    return name, power


def _no_column(name: str, text: str, known: list[str], schema: Schema) -> ArgumentError:
    """The refusal of a name that is no column; of a formula such as log(x) or x**2 the whole text is shown."""
    if name == schema.target:
        return ArgumentError(
            f"features: {name!r} is the target, which is no feature; the columns are {', '.join(known)}."
        )
    shown = text if not name or "**" in text or "(" in text else name
    return ArgumentError(
        f"features: there is no column {shown!r}; the columns are {', '.join(known)}. Terms are columns, powers of numbers "
        "(age^2) and products (age:sex, age*sex)."
    )


def _term(text: str, factors: list[tuple[str, int]], schema: Schema) -> Term:
    """The factors in the order of the schema; a column may stand in a product once."""
    listed = [name for name, _ in factors]
    if len(set(listed)) < len(listed):
        raise ArgumentError(f"features: {text!r} has a column twice; write its power, such as {listed[0]}^2.")
    if len(factors) > _MOST_FACTORS:
        raise ArgumentError(f"features: {text!r} is a product of more than {_MOST_FACTORS} columns.")
    for name in listed:
        column = schema.columns[name]
        if not isinstance(column, Number) and not column.levels:
            raise ArgumentError(f"features: {name!r} is neither a number nor a list of levels.")
        if column.levels is not None and len(column.levels) < 2:
            raise ArgumentError(f"features: {name!r} has one level only, so it has no effect; leave it out.")
    order = list(schema.columns)
    return Term(tuple(sorted(factors, key=lambda factor: order.index(factor[0]))))
