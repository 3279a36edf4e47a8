"""Opening the ledger that a command or a spec names. Only `sfumato ledger create` makes a new one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato._private_files import refuse_private
from sfumato.errors import ArgumentError, FormatError
from sfumato.shells.file_kinds import expect, kind_of

# A scheme has two letters or more; one letter is a Windows drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
# The forms that `ledger.url_and_witness.Location` accepts.
_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql", "postgres")
_FORMS = "Write a file such as budget.db, sqlite:///folder/budget.db or postgresql://user@host/database."


def ledger_file(place: str) -> Path | None:
    """The path of a SQLite ledger, or None for a PostgreSQL URL; anything else is refused without quoting a password."""
    if not place.strip() or "\x00" in place:
        raise ArgumentError(f"a ledger needs a place; got {place!r}. {_FORMS}")
    scheme = _SCHEME.match(place)
    if scheme is None:
        return Path(place).expanduser()
    if place.startswith(_SQLITE) and len(place) > len(_SQLITE):
        return Path(place.removeprefix(_SQLITE)).expanduser()
    if scheme[1] in _POSTGRES and place.startswith(f"{scheme[1]}://"):
        return None
    raise ArgumentError(f"a ledger cannot be at a place that begins with {scheme[0]!r}. {_FORMS}")


def open_existing(place: str, witness: Path | None = None, moved: bool = False) -> Any:
    """Open the ledger at this place; where there is none, the error names the command that makes one. No file is made.

    One that `moved` to another folder is not opened yet, so that `accept_folder` can be called.
    """
    from sfumato.ledger import Ledger

    file = ledger_file(place)
    if file is None:
        return Ledger(place, witness) if moved else Ledger.open(place, witness, create=False)
    if file.is_dir():
        raise ArgumentError(f"{place!r} is a folder; a ledger is a file in one, such as budget.db.")
    if not file.exists():
        raise ArgumentError(f"there is no ledger {place!r}. Make it with: sfumato ledger create {place}")
    if kind_of(file) not in ("", "ledger", "empty"):
        expect(file, "ledger")
    if file.stat().st_size == 0:
        raise ArgumentError(
            f"{place!r} is an empty file and holds no ledger. Remove it, then: sfumato ledger create {place}"
        )
    return Ledger(file, witness) if moved else Ledger.open(file, witness, create=False)


def expect_public(rows: Path, ledger: str | None, witness: Path | None) -> None:
    """Refuse rows that are no table, or that something was released from by the notes of the user or of this ledger."""
    from sfumato.ledger.url_and_witness import Location

    expect(rows, "table")
    file = None if ledger is None else ledger_file(ledger)
    if file is not None and not file.exists():
        raise ArgumentError(f"there is no ledger {ledger!r}.")
    refuse_private(rows, witness if ledger is None else Location.of(ledger, witness).witness)


def place_in(spec: Path, ledger: Mapping[str, Any]) -> tuple[str, Path | None]:
    """Where the ledger of a spec is, by its table [ledger], and its witness if that is stated."""
    if ("url" in ledger) == ("file" in ledger):
        raise FormatError(f'{spec.name}: [ledger] needs one of file = "budget.db" and url = "postgresql://...".')
    place = str(ledger["url"]) if "url" in ledger else str(spec.parent / ledger["file"])
    return place, spec.parent / ledger["witness"] if "witness" in ledger else None


def create_new(place: str, witness: Path | None = None) -> Any:
    """Make the ledger; a file that is there already is left alone."""
    from sfumato.ledger import Ledger

    file = ledger_file(place)
    if file is None:
        return Ledger.open(place, witness)
    if file.exists():
        raise ArgumentError(f"{place!r} is there already. Look at it with: sfumato ledger show {place}")
    return Ledger.open(file, witness)
