"""The command `sfumato`, run in this process as a user would type it."""

from __future__ import annotations

import functools
import sys

import typer.main

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


def typed(monkeypatch, capsys, *words) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command line."""
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
    code = 0
    try:
        main()
    except SystemExit as left:
        code = int(left.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err
