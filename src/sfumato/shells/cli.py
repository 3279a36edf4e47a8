"""The command `sfumato`. Each command imports what it needs when it runs, so that `--help` is quick.

Errors that the library raises on purpose become one line on standard error and exit code 2; nothing prints a cell.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato._version import __version__
from sfumato.errors import ArgumentError, SfumatoError

app = typer.Typer(help="Release Bayesian models of sensitive data under differential privacy.", no_args_is_help=True)
schema_app = typer.Typer(help="Write and check schema files: the public facts about one record.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


@schema_app.command("draft")
def schema_draft(
    source: Annotated[Path, typer.Argument(help="A data dictionary (CSV) or a Parquet or Arrow file.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of the terminal.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there already.")] = False,
) -> None:
    """Draft a schema from a data dictionary or from a file's column types; values are never read.

    Example: sfumato schema draft dictionary.csv -o survey.toml
    """
    from sfumato.schema import Schema

    text = Schema.draft(source)
    if output is not None and output.exists() and not force:
        raise ArgumentError(
            f"{output} is there already and may hold bounds you filled in; add --force to write over it."
        )
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text)
        typer.echo(f'wrote {output}; fill in every "REQUIRED" before use')


@schema_app.command("check")
def schema_check(
    schema: Annotated[Path, typer.Argument(help="The schema file (.toml or .json).")],
    data: Annotated[Path, typer.Argument(help="The data: .csv, .parquet, .arrow.")],
    counts: Annotated[bool, typer.Option("--counts", help="Also count mapped cells; for the curator alone.")] = False,
) -> None:
    """Check that a data file has the declared columns; with --counts, how many cells were mapped or clipped.

    Example: sfumato schema check survey.toml survey.parquet --counts
    """
    from sfumato.schema import Schema

    found = Schema.load(schema)
    if not counts:
        found.check(data)
        typer.echo("the structure fits the schema; no row was read")
        return
    typer.echo(str(found.check(data, counts=True)))
    typer.echo("These counts depend on the records: they are for the curator alone, never to be published.", err=True)


def main() -> None:
    """Run the command line; the library's own errors become one line."""
    try:
        app()
    except SfumatoError as error:
        typer.echo(f"sfumato: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        typer.echo(f"sfumato: {error.strerror or error}: {error.filename or ''}".rstrip(": "), err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
