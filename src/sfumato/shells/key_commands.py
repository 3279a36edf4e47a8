"""`sfumato keys`: a pair of keys with which a publisher signs releases and a reader checks them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Keys for signing releases: who published exactly these bytes.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """Keys for signing releases: who published exactly these bytes."""


@app.command("create")
def create(
    path: Annotated[Path, typer.Argument(help="The private key's file; the public key goes to PATH.pub.")],
) -> None:
    """Create a pair of Ed25519 keys: a private one to sign with, and a public one to give to readers.

    Example: sfumato keys create office.key
    """
    from sfumato.signing import create as create_keys

    private, public = create_keys(path)
    typer.echo(f"wrote {private}: keep it secret; whoever has it signs in your name")
    typer.echo(f"wrote {public}: give it to your readers by a way that they trust")
    typer.echo(f"next: sfumato release SPEC -o FILE --sign {private}")
