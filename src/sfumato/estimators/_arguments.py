"""Checks of the arguments that must be declared before a fit. A missing one is an error that shows the line to add."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.estimators._encoded import encoded_norm, encoded_rows
from sfumato.randomness import Randomness, seeded
from sfumato.schema import Number
from sfumato.schema.schema import ROWS


def missing(estimator: Any, argument: str, what: str, *lines: str) -> ArgumentError:
    """The error for an argument that was left out; it shows the line to add, or several of which one is to be added."""
    shown = "\n".join(f"    {line}" for line in lines)
    remedy = "Add the line" if len(lines) == 1 else "Add one of the lines"
    return ArgumentError(
        f"{type(estimator).__name__} needs {argument}: {what} It is never read from the data. {remedy}\n{shown}"
    )


def check_declared(estimator: Any) -> None:
    """Refuse a fit whose price, scale of the rows or ledger is not declared. Called before any row is read."""
    if estimator.delta is None:
        raise missing(
            estimator,
            "delta",
            "the second number of the promise (epsilon, delta), far below one in the number of records, or of persons.",
            "delta=1e-6,",
        )
    _validate.positive("epsilon", estimator.epsilon)
    _validate.between("delta", estimator.delta, 0.0, 1.0)
    if estimator.data_norm is None and estimator.bounds is None and encoded_norm(estimator) is None:
        raise missing(
            estimator,
            "data_norm or bounds",
            "what a row may be, from what is known without the rows.",
            "data_norm=1.0,          # the largest Euclidean norm of a row; longer rows are shortened to it",
            "bounds=(lower, upper),  # the least and largest value of every feature; values outside are clipped",
        )
    _validate.one_of("rows", estimator.rows, ROWS)
    if not isinstance(estimator.fit_intercept, bool | np.bool_):
        raise ArgumentError(f"fit_intercept must be True or False; got {estimator.fit_intercept!r}.")
    _check_ledger(estimator)


def _check_ledger(estimator: Any) -> None:
    if estimator.ledger is None:
        if estimator.ledger_name is not None or estimator.request_id is not None:
            raise ArgumentError(
                'ledger_name and request_id belong to a ledger: add ledger=sf.Ledger.open("budget.db"),'
            )
    elif estimator.ledger_name is None:
        raise missing(estimator, "ledger_name", "the account of the ledger that pays.", 'ledger_name="survey",')


def stream(estimator: Any) -> Randomness | None:
    """None (the operating system's randomness), or for a whole number a seeded stream, which is not private."""
    if estimator.random_state is None:
        return None
    return seeded(_validate.whole("random_state", estimator.random_state, minimum=0))


def label_bounds(estimator: Any) -> Number:
    """The declared bounds of the target as a column; a label that is no number counts as their middle."""
    if estimator.bounds_y is None:
        rows = encoded_rows(estimator)
        if rows is not None and isinstance(rows.target, Number):
            return Number(rows.target.lower, rows.target.upper, rows.target.missing)
        raise missing(
            estimator,
            "bounds_y",
            "the least and largest value of the target; labels outside are clipped to them.",
            "bounds_y=(0, 100),",
        )
    try:
        lower, upper = estimator.bounds_y
    except (TypeError, ValueError):
        raise ArgumentError(f"bounds_y must be a pair (lower, upper); got {estimator.bounds_y!r}.") from None
    return Number(_validate.finite("bounds_y", lower), _validate.finite("bounds_y", upper))
