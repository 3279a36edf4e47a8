"""Persons with several rows in a fit: who declares them, and that the ids of the rows are given exactly where they are."""

from __future__ import annotations

from typing import Any

from sfumato.errors import ArgumentError
from sfumato.estimators._arguments import missing
from sfumato.estimators._encoded import encoded_rows
from sfumato.schema import Persons
from sfumato.schema.persons import REDUCE


def declared_persons(estimator: Any) -> Persons | None:
    """The persons of a fit: the estimator's own, else those that the schema of a pipeline's public steps declares."""
    rows = encoded_rows(estimator)
    given = estimator.persons if estimator.persons is not None or rows is None else rows.persons
    if given is None or isinstance(given, Persons):
        return given
    raise ArgumentError(
        'persons must be an sf.Persons, such as sf.Persons("patient", most=12, count=500), or schema.persons; '
        f"got {type(given).__name__}."
    )


def check_persons(estimator: Any, given: bool) -> None:
    """Refuse ids without persons, persons without ids (`given`), and a rule that a matrix cannot follow. No id is looked at."""
    persons = declared_persons(estimator)
    kind = type(estimator).__name__
    if persons is None:
        if not given:
            return
        raise missing(
            estimator,
            "persons",
            "groups are the ids of rows, and it is not declared whose they are, how many persons there are and how many rows of "
            "one count.",
            'persons=sf.Persons("patient", most=12, count=500),  # 500 persons, of whom at most 12 rows each are averaged',
        )
    if persons.rule == REDUCE:
        who = f"{persons.id!r}, " + (
            f"roster={persons.roster!r}" if persons.count is None else f"count={persons.count}"
        )
        raise ArgumentError(
            f'{kind} reads the rows of a matrix, and rule "reduce" is for the named columns of a table. Declare one of\n'
            f"    persons=sf.Persons({who}, most=12),       # the mean of what their rows contribute counts\n"
            f'    persons=sf.Persons({who}, rule="first"),  # their first row counts\n'
            "or keep the rule and fit sf.regression to sf.Dataset.from_table(table, schema=schema)."
        )
    if not given:
        raise ArgumentError(
            f"{kind} needs groups, the ids of the rows: one person may have several {persons.rows}. Fit with\n"
            "    fit(X, y, groups=ids)\n"
            f"and as the last step of a pipeline with\n    fit(X, y, {kind.lower()}__groups=ids)"
        )


def check_names(persons: Persons | None, names: Any) -> None:
    """Refuse the id column as a feature: its coefficient would be released."""
    if persons is not None and names is not None and persons.id in [str(name) for name in names]:
        raise ArgumentError(
            f"column {persons.id!r} is the id of persons and no feature: leave it out of X and give it as groups."
        )


def check_width(X: Any, declared: int | None) -> None:
    """Refuse rows of which they themselves would decide how long a row is: one person with many rows could decide it alone.

    declared: the number of features that is declared, if it is.
    """
    if declared is None and len(getattr(X, "shape", ())) != 2:
        raise ArgumentError(
            "X must be an array of two dimensions or a data frame where persons are declared: how many features a list has is "
            "read from its rows, and one person may have many of them. Give np.asarray(X), or bounds for each feature."
        )


def averages(persons: Persons | None) -> bool:
    """Whether several rows of a person are averaged."""
    return persons is not None and (persons.averaged or 1) > 1
