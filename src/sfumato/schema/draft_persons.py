"""The part of a draft on persons with several rows: the table [persons] or, for a name that looks like an id, a comment on it.

Names alone are looked at, of columns that a header or a code book lists; never a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.errors import ArgumentError
from sfumato.schema.columns import REQUIRED
from sfumato.schema.documents import toml_value
from sfumato.schema.draft_entries import Entry
from sfumato.schema.texts import public_text

# Names that ids of persons often have, without capitals and with single underscores; those that may be ids of rows come last.
_IDS = (
    "patient_id", "patientid", "patient", "patient_nr", "pat_id", "patnr", "mrn", "person_id", "personid", "person", "person_nr",
    "pid", "subject_id", "subject", "subjid", "usubjid", "participant_id", "participant", "respondent_id", "respondent",
    "member_id", "client_id", "customer_id", "user_id", "userid", "user", "employee_id", "pupil_id", "student_id", "household_id",
    "hhid", "record_id", "case_id", "caseid", "id", "idnr", "id_nr",
)  # fmt: skip
_TABLE = """
[persons]              # one person may have several {rows}, and is protected with all of them
id = {id}
rule = "average"       # a person counts with the mean over their {rows}; "first": with the first of them; "reduce": with one row,
                       # by rules such as stay = "mean" for every column under [persons.reduce]
most = "{required}"      # at most so many {rows} of one person count; more do not cost more noise and are left out
count = "{required}"     # the public number of persons, with {rows} or without; never counted in the table
# roster = "file.csv"  # may stand instead of count: a file with the ids of all of them, in a column of the same name
{named}"""
_HINT = """
# Does {id} say whose row it is, and may one person have several rows? Then draft again with --persons {id}, or
# delete its column below and write
#   [persons]
#   id = {id}
#   rule = "average"   # a person counts with the mean over their rows
#   most = 12          # at most so many rows of one person count; more do not cost more noise and are left out
#   count = 2000       # the public number of persons; or roster = "file.csv", a file with the ids of all of them
# If no person has two rows, delete the column: an id is never released.
"""


def with_persons(entries: Sequence[Entry], persons: str | None, rows: str | None) -> tuple[list[Entry], str]:
    """The variables that stay columns, and the text that goes before them.

    `persons` names the id column, `rows` what its rows are called. Without `persons` the text is a comment on a name that looks
    like an id, or nothing.
    """
    if persons is None:
        if rows is not None:
            raise ArgumentError(
                "rows says what the rows of persons are called: give persons too, the id column (--persons)."
            )
        return list(entries), _hint([entry.name for entry in entries])
    if rows is not None:
        public_text("rows, what one person's rows are called,", rows)
    if sum(entry.name == persons for entry in entries) != 1:
        # The names are not listed: of a file without a header they would be a record.
        raise ArgumentError(
            f"persons must name one column, which says whose row it is; got {persons!r}, which is there not at all or twice."
        )
    called = "rows" if rows is None else rows
    named = "" if rows is None else f"rows = {toml_value(rows)}\n"
    text = _TABLE.format(id=toml_value(persons), rows=called, required=REQUIRED, named=named)
    return [entry for entry in entries if entry.name != persons], text


def _hint(names: Sequence[str]) -> str:
    """A comment on the first name of the list that looks like a person's id; "" where none does."""
    plain = {re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_"): name for name in reversed(names)}
    looking = next((plain[known] for known in _IDS if known in plain), None)
    return "" if looking is None else _HINT.format(id=toml_value(looking))
