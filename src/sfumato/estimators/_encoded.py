"""What a checked pipeline knows about the rows that it hands to a private estimator, from declarations alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sfumato.schema import Persons
from sfumato.schema.columns import Column

# Where an estimator keeps the facts during one fit. It is no parameter: a clone, or a later fit by itself, does not have it.
_PLACE = "_encoded_rows"


@dataclass(frozen=True)
class EncodedRows:
    """Public facts about coded rows.

    norm: the largest Euclidean norm of a row; None without a step that codes it. The estimator shortens longer rows to it, so
        that its promise does not rest on this number being right.
    names: the names of the columns, if they have any. target: the declared column of the labels, if there is one.
    digest: of every declaration behind the coding; a ledger refuses a repeated request under another one.
    persons: whose rows they are, where the schema of a step declares that one person may have several.
    steps: the classes of the steps, as the release records them.
    """

    norm: float | None
    names: tuple[str, ...] | None
    target: Column | None
    digest: str
    persons: Persons | None = None
    steps: tuple[str, ...] = ()


@contextmanager
def handed_to(estimator: Any, rows: EncodedRows) -> Iterator[None]:
    """Give the facts to an estimator for one fit."""
    vars(estimator)[_PLACE] = rows
    try:
        yield
    finally:
        vars(estimator).pop(_PLACE, None)


def encoded_rows(estimator: Any) -> EncodedRows | None:
    """The facts that a pipeline gave for this fit, if any."""
    given = vars(estimator).get(_PLACE)
    return given if isinstance(given, EncodedRows) else None


def encoded_norm(estimator: Any) -> float | None:
    """The norm of a pipeline's rows, for an estimator that declares neither data_norm nor bounds itself."""
    rows = encoded_rows(estimator)
    own = estimator.data_norm is not None or estimator.bounds is not None
    return None if rows is None or own else rows.norm
