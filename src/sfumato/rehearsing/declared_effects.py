"""Declared effects on the label: of columns, levels, powers and products, in the columns' own units and without a constant.

The names are those of the coefficients: "age" per unit, "smoker" for yes, "region=west" against the reference level, "age^2", and
products of these such as "age:region=west", in any order. They need not be terms of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.rehearsing.fact_examples import example_of_effects, refused
from sfumato.schema import Category, Number, Schema
from sfumato.schema.coding import HIGHEST_POWER

Array = NDArray[np.float64]
# A factor of an effect: the column, the power of a number, and the place of the level of a category.
Factor = tuple[str, int, int | None]


def checked_effects(schema: Schema, effects: object) -> dict[str, float]:
    """Declared effects by name; names that are no effects of the columns are refused, and so are two names of one effect."""
    if not isinstance(effects, Mapping):
        raise refused("effects must be declared by name", example_of_effects(schema), effects)
    if schema.dimension is not None:
        known: list[str] = [f"x{i}" for i in range(schema.dimension)]
        strange = [name for name in effects if name not in known]
        if strange:
            raise ArgumentError(f"rows: effects are of {_listed(known)}; got {_validate.shown(strange[0])}.")
    else:
        seen: dict[frozenset[Factor], str] = {}
        for name in effects:
            factors = frozenset(factors_of(schema, name))
            if factors in seen:
                raise ArgumentError(f"rows: {seen[factors]!r} and {name!r} are the same effect; declare it once.")
            seen[factors] = name
    return {name: _validate.finite(f"rows: the effect of {name}", value) for name, value in effects.items()}


def own_scores(schema: Schema, columns: Mapping[str, Any], effects: Mapping[str, float], m: int) -> Array:
    """The sum of the effects of each of m rows, without a constant."""
    if schema.dimension is not None:
        theta = np.array([effects.get(f"x{i}", 0.0) for i in range(schema.dimension)])
        return np.asarray(columns["matrix"] @ theta)
    scores = np.zeros(m)
    for name, effect in effects.items():
        product = np.full(m, float(effect))
        for column, power, level in factors_of(schema, name):
            values = np.asarray(columns[column]).astype(np.float64)
            product *= values**power if level is None else values == level
        scores += product
    return scores


def factors_of(schema: Schema, name: object) -> tuple[Factor, ...]:
    """The factors of an effect's name; each column once."""
    single = _single(schema)
    factors = _read(name, single) if isinstance(name, str) else None
    if factors is None:
        raise ArgumentError(
            f"rows: effects are of {_listed([each for each in single if single[each][1] == 1])}{_more(single)}; got "
            f"{_validate.shown(name)}. Write a level as column=level; the reference level of a category has the effect 0."
        )
    listed = [column for column, _, _ in factors]
    if len(set(listed)) < len(listed):
        raise ArgumentError(
            f"rows: the effect {name!r} has a column twice; write a power of a number, such as {listed[0]}^2."
        )
    return factors


def _single(schema: Schema) -> dict[str, Factor]:
    """What may stand in a product: a number and its powers, a yes or no, a level other than the reference."""
    single: dict[str, Factor] = {}
    for name in schema.features:
        column = schema.columns[name]
        if isinstance(column, Category):
            for place, level in enumerate(column.levels):
                if level != column.reference:
                    single[f"{name}={level}"] = (name, 1, place)
            continue
        single[name] = (name, 1, None)
        if isinstance(column, Number):
            single |= {f"{name}^{power}": (name, power, None) for power in range(2, HIGHEST_POWER + 1)}
    return single


def _more(single: Mapping[str, Factor]) -> str:
    """Powers and products that could be declared too, by example."""
    powers = [f"of powers such as {name}" for name, (_, power, _) in single.items() if power == 2][:1]
    firsts: dict[str, str] = {}
    for name, (column, _, _) in single.items():
        firsts.setdefault(column, name)
    two = list(firsts.values())[:2]
    products = [f"of products such as {':'.join(two)}"] if len(two) == 2 else []
    return "".join(f", {each}" for each in powers + products)


def _read(text: str, single: Mapping[str, Factor]) -> tuple[Factor, ...] | None:
    """The factors of a text; names of columns and levels may themselves contain a colon."""
    if text in single:
        return (single[text],)
    for place in (i for i, letter in enumerate(text) if letter == ":"):
        first = single.get(text[:place].strip())
        rest = None if first is None else _read(text[place + 1 :].strip(), single)
        if first is not None and rest is not None:
            return (first, *rest)
    return None


def _listed(names: list[str], most: int = 30) -> str:
    rest = f", ... and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
