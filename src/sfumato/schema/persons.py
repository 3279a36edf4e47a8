"""Whose rows these are, where one person may have several: the id column, the public roster, and how rows become one contribution.

The promise is then about one person with all of their rows. Neighbouring tables have the same roster: the rows of one person are
replaced by any others under the same id. Who is on the roster, and their number N, are public; how many rows there are is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema.boolean import Boolean
from sfumato.schema.columns import Column
from sfumato.schema.date import Date
from sfumato.schema.number import Number
from sfumato.schema.texts import DECLARE, public_text

FIRST, REDUCE, AVERAGE = "first", "reduce", "average"
RULES = (FIRST, REDUCE, AVERAGE)
# Most rows of one person that are averaged. The mean of so many hardly changes with one more, and prices assume that the sums
# over a part of the table take no more additions than this allows (`engines.parts`).
MOST_ROWS = 1000
# How several cells of one person become one, by the kind of the column. `count` reads no cell: it is the number of rows.
_OF_NUMBERS = ("first", "last", "mean", "min", "max", "sum", "count")
_OF_DATES = ("first", "last", "mean", "min", "max")
_OF_BOOLEANS = ("first", "last", "any", "all")
_OF_LEVELS = ("first", "last")
# The keys of [persons] in a document.
FACTS = ("id", "rule", "most", "count", "roster", "rows", "reduce")


@dataclass(frozen=True)
class Persons:
    """One person may have several rows, and is protected with all of them.

    id: the column of the source that says whose row it is. It is read, never kept, and never a column of a release.
    count, roster: N, the public number of persons, or a file with the ids of all of them (one row each, in a column called as
        `id`); at least one of the two. N is never counted from the ids that are found.
    rule: "average" (a person's contribution is the mean of those of at most `most` of their rows), "first" (their first row
        counts), or "reduce" (their rows become one by the rules in `reduce`).
    most: for "average", at most so many rows of a person count; of more, that many are taken at random by a public rule.
    rows: what the rows are called, in the plural: "visits".
    reduce: for "reduce", column -> first, last, any, all, mean, min, max, sum or count; a column's bounds are of the result.
    """

    id: str
    most: int | None = None
    rule: str = AVERAGE
    count: int | None = None
    roster: str | None = None
    rows: str = "rows"
    reduce: tuple[tuple[str, str], ...] = ()

    def __init__(
        self,
        id: str,
        most: int | None = None,
        rule: str = AVERAGE,
        count: int | None = None,
        roster: str | None = None,
        rows: str = "rows",
        reduce: Mapping[str, str] | tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Refuse a rule without its numbers, and a table without a public number of persons."""
        public_text("Persons: id, the name of the id column,", id)
        _validate.one_of("Persons: rule", rule, RULES)
        public_text("Persons: rows, what one person's rows are called,", rows)
        if count is None and roster is None:
            raise ArgumentError(
                "Persons needs count, the public number of persons, or roster, a file with all of their ids: "
                + DECLARE.format("it")
                + " The number of ids in the table is a fact about the people in it."
            )
        number = None if count is None else _validate.records("Persons: count", count)
        if roster is not None:
            public_text("Persons: roster, the name of a file,", roster)
        steps = tuple(reduce.items()) if isinstance(reduce, Mapping) else tuple(reduce)
        vars(self).update(id=id, rule=rule, most=_most(rule, most), count=number, roster=roster, rows=rows)
        vars(self).update(reduce=_steps(rule, steps))

    @property
    def averaged(self) -> int | None:
        """The most rows of a person that are averaged; None where a person is one row."""
        return self.most if self.rule == AVERAGE else None

    @property
    def terms(self) -> PersonTerms:
        """The facts that a plan and a guarantee depend on."""
        return PersonTerms(self.id, self.rule, self.averaged, self.rows)

    def of_columns(self, names: Any) -> Persons:
        """The same facts for some of the columns."""
        kept = set(names)
        return replace(self, reduce=tuple((name, step) for name, step in self.reduce if name in kept))

    def check(self, columns: Mapping[str, Column], vector: bool) -> None:
        """Refuse columns that contradict these facts."""
        if self.id in columns:
            raise ArgumentError(
                f"column {self.id!r} is the id of persons and no column of the schema: ids are never released. Leave one of the "
                "two out."
            )
        if self.rule != REDUCE:
            return
        if vector:
            raise ArgumentError(
                'Persons: rule "reduce" is for the columns of a table; vectors are served by "average".'
            )
        steps = dict(self.reduce)
        absent = [name for name in columns if name not in steps]
        strange = [name for name in steps if name not in columns]
        if absent or strange:
            what = f"{absent[0]!r} has none" if absent else f"{strange[0]!r} is no column"
            raise ArgumentError(
                'Persons: rule "reduce" needs one of first, last, any, all, mean, min, max, sum, count for every column, such as '
                f'reduce={{"{next(iter(columns))}": "{_steps_of(next(iter(columns.values())))[0]}"}}; {what}.'
            )
        for name, step in steps.items():
            allowed = _steps_of(columns[name])
            if step not in allowed:
                raise ArgumentError(
                    f"Persons: the rows of column {name!r} (a {columns[name].kind}) are reduced by one of {', '.join(allowed)}; "
                    f"got {_validate.shown(step)}."
                )

    def to_json(self) -> dict[str, Any]:
        """The facts that are declared."""
        facts: dict[str, Any] = {
            "id": self.id,
            "rule": self.rule,
            "most": self.most,
            "count": self.count,
            "roster": self.roster,
        }
        facts |= {"rows": None if self.rows == "rows" else self.rows, "reduce": dict(self.reduce) or None}
        return {name: value for name, value in facts.items() if value is not None}


@dataclass(frozen=True)
class PersonTerms:
    """What a plan must know of the persons: the id column, the rule, the most rows averaged, and what rows are called."""

    id: str
    rule: str
    most: int | None
    rows: str

    def to_json(self) -> dict[str, Any]:
        """The facts; `most` where rows are averaged."""
        facts: dict[str, Any] = {"id": self.id, "rule": self.rule, "rows": self.rows}
        return facts if self.most is None else {**facts, "most": self.most}

    @classmethod
    def from_json(cls, document: Any) -> PersonTerms:
        """Read the facts of a recorded plan; they must be ones that `Persons` accepts."""
        if not isinstance(document, Mapping) or not {"id", "rule", "rows"} <= set(document) <= {
            "id",
            "rule",
            "rows",
            "most",
        }:
            raise ArgumentError("persons of a plan must state id, rule and rows, and most where rows are averaged.")
        return Persons(**document, count=1).terms


def terms_of(persons: Persons | None, people: int) -> PersonTerms | None:
    """What a plan for so many persons must know of those of its schema; their declared number must be the plan's."""
    if persons is None:
        return None
    if not isinstance(persons, Persons):
        raise ArgumentError(f"persons must be an sf.Persons, those of the schema: schema.persons; got {persons!r}.")
    if persons.count is not None and persons.count != people:
        raise ArgumentError(
            f"n is the number of persons, and the schema declares {persons.count:,} of them; got another number. It is not the "
            f"number of {persons.rows}, which is private."
        )
    return persons.terms


def _most(rule: str, most: int | None) -> int | None:
    if rule != AVERAGE:
        if most is not None:
            raise ArgumentError(
                f'Persons: most belongs to rule "average"; leave it out for rule {rule!r}, which reads all rows.'
            )
        return None
    if most is None:
        raise ArgumentError(
            "Persons needs most: the most rows of one person that count, such as most=12. "
            "More rows of a person do not cost more; those beyond are left out."
        )
    why = "the mean of so many rows of one person hardly changes with one more"
    return _validate.whole("Persons: most", most, 1, MOST_ROWS, why)


def _steps(rule: str, steps: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    if steps and rule != REDUCE:
        raise ArgumentError(f'Persons: reduce belongs to rule "reduce"; got rule {rule!r}.')
    return steps


def _steps_of(column: Column) -> tuple[str, ...]:
    """The ways in which several cells of a column may become one."""
    if isinstance(column, Date):
        return _OF_DATES
    if isinstance(column, Number):
        return _OF_NUMBERS
    return _OF_BOOLEANS if isinstance(column, Boolean) else _OF_LEVELS
