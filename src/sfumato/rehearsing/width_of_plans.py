"""The expected width of one coefficient of a regression at many prices, for a search of the cheapest."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato import _validate
from sfumato.errors import ArgumentError, CalibrationError
from sfumato.mechanisms.plan import Plan
from sfumato.queries.interval_widths import WidthPlan, cheapest
from sfumato.queries.own_units import is_intercept
from sfumato.rehearsing.expected_rows import ExpectedRows
from sfumato.rehearsing.expected_widths import expected_widths
from sfumato.schema import Schema

# Runs behind each width: the same noise at every price, so that a search compares prices and not noise.
_RUNS = 4
# Epsilon from which on a higher price hardly narrows an interval (from 20 to 80 by 1 % at most); by default none higher is tried.
_HIGH = 20.0


def cheapest_regression(
    at: Callable[[float, int], Plan],
    width: float,
    level: float,
    delta: float,
    epsilons: tuple[float, float],
    schema: Schema,
    rows: object,
    coefficient: str | None,
) -> WidthPlan:
    """The cheapest of the plans `at(epsilon, 1)` with an interval at most `width` wide on the expected rows."""
    widths = width_of_plans(schema, rows, coefficient, width, epsilons[1])
    what = f"of {'the widest coefficient' if coefficient is None else coefficient} on the expected rows, of a range the wide end"
    return cheapest(at, width, level, delta, 1, epsilons, widths, what)


def width_of_plans(
    schema: Schema, rows: object, coefficient: str | None, wanted: float = math.inf, highest: float = math.inf
) -> Callable[[Plan, float], float]:
    """A function of a plan and a level: the expected width of this coefficient, or of the widest but for the intercept.

    The first plan that it is asked about has the `highest` epsilon: a width above `wanted` there is an error that says what would
    narrow it. Where the widths are a range it is the wide end: strongly related
    columns of a linear regression, labels of 2 % of a classification.
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
        widest = max(named or expected.names, key=expected.widest)
        widths.append(2 * expected.widest(widest))
        if len(widths) == 1 and widths[0] > wanted:
            raise CalibrationError(_too_wide(widest, widths[0], wanted, highest))
        return widths[-1]

    return width


def _too_wide(name: str, width: float, wanted: float, epsilon: float) -> str:
    """The message where the highest price does not buy the width; which of the remedies serves depends on the rows."""
    price = (
        "a higher price hardly does" if epsilon >= _HIGH else "so may a higher price: raise the upper end of epsilons"
    )
    return (
        f"at epsilon {epsilon:g} the expected width of {name} is still {width:.4g}, above {wanted:g}. More records narrow it, and "
        "for a level of a category a less rare level or another reference, for a linear regression a declared correlation, and for "
        "two classes a declared share of the target (2 % are taken where none is); "
        f"{price}. Or ask for a wider interval."
    )
