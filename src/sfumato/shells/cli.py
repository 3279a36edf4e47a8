"""The command `sfumato`. Each command imports what it needs when it runs, so that `--help` is quick.

Errors that the library raises on purpose become one line on standard error: exit code 2 for a wrong use, 3 where a ledger or
an earlier release says no, 4 where no mechanism reaches what was asked. Nothing prints a cell.
"""

from __future__ import annotations

import typer

from sfumato._version import __version__
from sfumato.errors import SfumatoError
from sfumato.shells import key_commands, ledger_commands, release_commands, schema_commands
from sfumato.shells.printing import fail

app = typer.Typer(
    help="Release Bayesian models of sensitive data under differential privacy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(schema_commands.app, name="schema")
app.add_typer(ledger_commands.app, name="ledger")
app.add_typer(key_commands.app, name="keys")
release_commands.add_to(app)


@app.command()
def version() -> None:
    """Print the version.

    Example: sfumato version
    """
    typer.echo(__version__)


def main() -> None:
    """Run the command line; the library's own errors become one line."""
    try:
        app()
    except (SfumatoError, OSError) as error:
        fail(error)
