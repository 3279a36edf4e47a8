"""`sfumato papers`: the figures, tables and claims of the three papers, computed by the scripts of a clone."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import ArgumentError

# src/sfumato/shells/papers_command.py is three folders below the clone's root.
CLONE = Path(__file__).resolve().parents[3]


def papers(
    name: Annotated[
        str | None, typer.Argument(help="A paper (minami2016, dimitrakakis2017, geumlek2017) or one script of it.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Simulate less: minutes in place of an hour.")] = False,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, help="Repetitions of experiments on data; 10, or 2 with --quick.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the scripts and run none.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the results.")] = Path("build/papers"),
) -> None:
    """Reproduce the three papers: a figure, a CSV and lines "paper / here / verdict" for each script.

    Example: sfumato papers geumlek2017/figure_1
    """
    running = _scripts()
    known = running.chosen(name)
    if not known:
        scripts = running.names()
        near = [each for each in scripts if name in each] or get_close_matches(str(name), scripts, 3, 0.5)
        meant = f" Did you mean {' or '.join(near[:3])}?" if near else ""
        raise ArgumentError(f"there is no script {name!r}.{meant} 'sfumato papers --list' names all {len(scripts)}.")
    if listed:
        for each in known:
            typer.echo(f"{each}  {running.module(each).PLACE}. {running.title(each)}")
        return
    if running.run_all(name, quick=quick, runs=runs, folder=output):
        raise typer.Exit(1)


def _scripts() -> Any:
    """The module that runs the scripts, from the clone that this package is installed from."""
    if not (CLONE / "papers" / "running.py").is_file():
        raise ArgumentError(
            "the scripts that reproduce the papers are in the source repository, not in the installed package: clone it and "
            "run 'make papers' there."
        )
    sys.path.insert(0, str(CLONE))
    try:
        return import_module("papers.running")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ArgumentError(
            "the figures need matplotlib: pip install 'sfumato[plots]', or run 'make papers'."
        ) from error
