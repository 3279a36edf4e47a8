"""The command `sfumato`, run in this process as a user would type it."""

from __future__ import annotations

import functools
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import typer.main

from sfumato._private_files import checks_of, notes_of, remember
from sfumato.schema import Schema
from sfumato.shells.cli import main

# Typer builds all commands anew whenever one is run, since a process runs one; here they are built once.
typer.main.get_command = functools.cache(typer.main.get_command)

# A small hospital's schema, of which several tests of commands make a table.
CLINIC = """\
sfumato = "schema"
version = 1
name = "clinic"
unit = "patient"

[columns.ward]
type = "category"
levels = ["a", "b", "c"]
missing = "a"

[columns.stay]
type = "number"
lower = 0.0
upper = 60.0
integer = true

[columns.cured]
type = "boolean"
missing = false
"""


def note_check(spec: str | Path) -> None:
    """Note that the table of a spec was checked under its schema, as `sfumato schema check` does; a wrong spec is left alone."""
    with suppress(Exception):
        facts = tomllib.loads(Path(spec).read_text())["data"]
        schema = Schema.load(Path(spec).parent / facts["schema"])
        remember(checks_of(schema.digest, notes_of(Path(spec).parent / facts["file"])))


def typed(monkeypatch, capsys, *words, checked: bool = True) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command line; `checked`: the table of a release was checked before."""
    if checked and words[:1] == ("release",):
        note_check(str(words[1]))
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
    code = 0
    try:
        main()
    except SystemExit as left:
        code = int(left.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err
