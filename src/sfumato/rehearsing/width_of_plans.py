"""The expected width of one coefficient of a regression at many prices, for a search of the cheapest."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.queries.own_units import is_intercept
from sfumato.rehearsing.expected_rows import ExpectedRows
from sfumato.rehearsing.expected_widths import expected_widths
from sfumato.schema import Schema

# Runs behind each width: the same noise at every price, so that a search compares prices and not noise.
_RUNS = 4


def width_of_plans(schema: Schema, rows: object, coefficient: str | None) -> Callable[[Plan, float], float]:
    """A function of a plan and a level: the expected width of this coefficient, or of the widest but for the intercept.

    A plan without intervals counts as infinitely wide once another plan had some: at a very low price a regression is released
    by a plain path, whose intervals are for at most 30 coefficients.
    """
    assumed = ExpectedRows.of(schema, rows)
    widths: list[float] = []

    def width(plan: Plan, level: float) -> float:
        """Twice the expected half-width."""
        try:
            expected = expected_widths(plan, schema, assumed, level, _RUNS)
        except ArgumentError:
            if not widths:
                raise
            return math.inf
        if coefficient is not None and coefficient not in expected.names:
            raise ArgumentError(
                f"coefficient must be one of {', '.join(expected.names)}; got {_validate.shown(coefficient)}."
            )
        named = [name for name in expected.names if not is_intercept(name)] if coefficient is None else [coefficient]
        widths.append(2 * max(expected[name] for name in named or expected.names))
        return widths[-1]

    return width
