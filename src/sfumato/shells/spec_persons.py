"""The persons of a spec's schema: where their roster is, how many they are, and what is wrong with the numbers of a spec."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import Schema
from sfumato.shells.file_kinds import expect


def roster_of(schema: Schema, folder: Path, given: Path | None = None) -> Path | None:
    """The file with the ids of all persons: `given`, or the one that the schema names, in the folder of the schema's own file."""
    persons = schema.persons
    if persons is None:
        if given is not None:
            raise FormatError(
                "a roster lists persons, and the schema declares none: write [persons] into the schema, with its id column."
            )
        return None
    named = given if given is not None or persons.roster is None else folder / persons.roster
    return None if named is None else expect(named, "table")


def number_of(schema: Schema, roster: Path | None) -> int:
    """The public number of persons: the declared one, or the length of the roster. No row of the data is read."""
    persons: Any = schema.persons
    if roster is None:
        return int(persons.count)
    from sfumato.gathering.roster import read_roster
    from sfumato.schema.as_read import identity_of

    count = len(read_roster(roster, schema, identity_of(schema)))
    if count == 0:
        raise ArgumentError(f"{roster.name} is empty: it lists nobody.")
    return count


def check_number(schema: Schema, n: int, where: str) -> None:
    """Refuse a number of records that is not the declared one; it is not repeated, since it may be the number of rows."""
    persons = schema.persons
    if persons is not None and persons.count is not None and n != persons.count:
        raise ArgumentError(
            f"{where} is the number of persons, and the schema declares count = {persons.count:,} of them; got another number. It "
            f"is not the number of {persons.rows}, which is private."
        )


def other_number(schema: Schema, spec: str, roster: Path) -> str:
    """The refusal of an n that is not the length of the roster; it is not repeated, since it may be the number of rows."""
    persons: Any = schema.persons
    return (
        f"{spec}: n in [data] is the number of persons, and {roster.name} lists another number of them. It is not the number of "
        f"{persons.rows}, which is private."
    )


def register_options(schema: Schema) -> str:
    """The options with which a name is registered for the persons of this schema."""
    persons: Any = schema.persons
    return f"--unit {shlex.quote(schema.unit)} --persons {shlex.quote(persons.id)}"
