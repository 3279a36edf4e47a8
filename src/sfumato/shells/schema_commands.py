"""`sfumato schema`: write and check schema files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import ArgumentError
from sfumato.shells.ledger_commands import WitnessFile
from sfumato.shells.printing import write_new
from sfumato.shells.spec_persons import roster_of

app = typer.Typer(help="Write and check schema files: the public facts about one record.", no_args_is_help=True)


@app.command("draft")
def draft(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A code book (CSV, REDCap, SPSS, Stata, SAS), a Parquet or Arrow file, or with --header a text file of data."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of the terminal.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there already.")] = False,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="SOURCE is a text file of data whose first line names the columns: only that line is read; or has no such line.",
        ),
    ] = None,
    columns: Annotated[
        int | None,
        typer.Option(
            help="With --no-header: how many columns the file has. They are called c1, c2, ...; no file is opened."
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="With --header: what separates the names, if the line itself leaves it open.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="With --header: the encoding of the file.")] = "utf-8",
    persons: Annotated[
        str | None, typer.Option(help="The column that says whose row it is, where one person may have several rows.")
    ] = None,
    rows: Annotated[
        str | None, typer.Option(help="With --persons: what their rows are called, such as visits.")
    ] = None,
) -> None:
    """Draft a schema from a code book, a file's column types or the first line of a text file; values are never read.

    A first line that looks like a record is refused: --no-header --columns 7 drafts a schema for a file without names.

    Example: sfumato schema draft dictionary.csv -o survey.toml

    Example: sfumato schema draft visits.csv --header --persons patient_id --rows visits -o visits.toml
    """
    from sfumato.schema import Schema

    text = Schema.draft(source, header, separator, encoding, persons, rows, columns)
    if output is not None and output.exists() and not force:
        raise ArgumentError(
            f"{output} is there already and may hold bounds you filled in; add --force to write over it."
        )
    write_new(output, text, f'wrote {output}; fill in every "REQUIRED" before use', overwrite=force)


@app.command("check")
def check(
    schema: Annotated[Path, typer.Argument(help="The schema file (.toml or .json).")],
    data: Annotated[Path, typer.Argument(help="The data: .csv, .tsv, .txt, .parquet, .arrow.")],
    counts: Annotated[
        bool, typer.Option("--counts/--no-counts", help="Count mapped cells, for the curator alone; or read no row.")
    ] = True,
    roster: Annotated[
        Path | None,
        typer.Option(help="A file with the ids of all persons, if it is not the one that the schema names."),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(help="Note the check beside this ledger's witness too, where the user's folder is not kept."),
    ] = None,
    witness: WitnessFile = None,
) -> None:
    """Check that a data file has the declared columns, and count the cells that were mapped or clipped, and whose rows count.

    For each column the counts say how many cells are empty, unreadable or undeclared, and what to declare; they are for the
    curator alone. A release asks that this was done with its schema and file, whatever was counted.

    Example: sfumato schema check survey.toml survey.parquet
    """
    from sfumato._private_files import checks_of, notes_of, remember
    from sfumato.ledger.url_and_witness import Location
    from sfumato.schema import Schema

    declared = Schema.load(schema)
    if not counts:
        declared.check(data)
        typer.echo("the structure fits the schema; no row was read")
        return
    listed, files = roster_of(declared, schema.parent, roster), notes_of(data)
    typer.echo(str(declared.check(data, counts=True, roster=listed)))
    typer.echo("These counts depend on the records: they are for the curator alone, never to be published.", err=True)
    remember(checks_of(declared.digest, files), None if ledger is None else Location.of(ledger, witness).witness)
