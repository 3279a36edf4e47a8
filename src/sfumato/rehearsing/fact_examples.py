"""Example facts about a column, with numbers inside its bounds, as Python and as TOML: for errors and for first spec files."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema import Column, Number, Schema
from sfumato.schema.documents import toml_key, toml_value

# Examples of the share of a yes and of the most common level; any shares would do.
_YES, _COMMON = 0.3, 0.6
# The example deviation of a number: a normal law whose six deviations fill the bounds has nearly all its values within them.
_DEVIATIONS = 6.0
# The example of an effect moves the score by this much over the width of a number.
_MOVES = 1.0
# Characters of a given fact that an error shows: about a line.
_LONGEST = 120


class FactError(ArgumentError):
    """A declared fact is not of the kind that its column needs; `toml` is the message with the facts written as in a spec file."""

    toml: str = ""


def refused(what: str, example: object, given: object) -> FactError:
    """The error for a fact: what is needed, an example, and what was given."""
    error = FactError(f"rows: {what}, such as {in_python(example)}. Got {_validate.shown(given)}.")
    text = in_toml(given)
    # A long text, or one that a terminal would act on, is shown as other errors show it.
    plain = len(text) <= _LONGEST and text.isprintable()
    error.toml = f"{what}, such as {in_toml(example)}. Got {text if plain else _validate.shown(given)}."
    return error


def example_of(column: Column) -> object:
    """A fact that could be declared of this column: the middle and a sixth of the width of a number, a share, shares of levels."""
    if isinstance(column, Number):
        width = column.upper - column.lower
        return {
            "mean": _round(column.lower / 2 + column.upper / 2, width),
            "sd": _round(width / _DEVIATIONS, width),
        }
    levels = column.levels or ()
    return _YES if len(levels) == 2 else {levels[0]: _COMMON}


def example_of_effects(schema: Schema) -> dict[str, object]:
    """An effect of the first column that has one."""
    for name in schema.features:
        column = schema.columns[name]
        if isinstance(column, Number):
            return {name: float(f"{_MOVES / (column.upper - column.lower):.2g}")}
        others = [level for level in column.levels or () if level != getattr(column, "reference", None)]
        if others:
            return {f"{name}={others[0]}" if hasattr(column, "reference") else name: _YES}
    return {"x0": _YES}


def in_python(fact: object) -> str:
    """A fact as Python writes it, with double quotes."""
    if isinstance(fact, Mapping):
        return "{" + ", ".join(f"{_text(key)}: {in_python(value)}" for key, value in fact.items()) + "}"
    return _text(fact)


def in_toml(fact: object) -> str:
    """A fact as TOML writes it."""
    if isinstance(fact, Mapping):
        inside = ", ".join(f"{toml_key(str(key))} = {in_toml(value)}" for key, value in fact.items())
        return f"{{ {inside} }}" if inside else "{}"
    return toml_value(fact) if isinstance(fact, str | bool) else _text(fact)


def _text(value: object) -> str:
    return toml_value(value) if isinstance(value, str) else repr(value)


def _round(value: float, width: float) -> float | int:
    """The value to a hundredth of the width, or as it is where that is no finite number; whole numbers without a point."""
    digits = 2 - math.floor(math.log10(width)) if 0 < width < math.inf else 0
    rounded = round(value, digits)
    return int(rounded) if float(rounded).is_integer() else rounded
