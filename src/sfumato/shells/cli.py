"""The command `sfumato`. Each command imports what it needs when it runs, so that `--help` is quick.

Every error is one line on standard error. Exit code 2 is a wrong use; 3 a refusal by a ledger or because of an earlier release;
4 a target that no mechanism meets; 5 an audit that refutes its claim; 130 Ctrl-C; 1 a fault of Sfumato itself. No message quotes a
cell of the data.
"""

from __future__ import annotations

import sys
import warnings

import typer

from sfumato._version import __version__
from sfumato.errors import SfumatoError
from sfumato.shells import (
    audit_command,
    bounds_command,
    key_commands,
    ledger_commands,
    papers_command,
    release_commands,
    schema_commands,
)
from sfumato.shells.printing import INTERRUPTED, WRONG_USE, Interrupted, fail, fault, leave

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
app.command()(bounds_command.bounds)
app.command()(audit_command.audit)
app.command()(papers_command.papers)

# The base class of every usage error. typer >= 0.25 contains its own click, so the class is taken from typer.
_WrongWords = typer.BadParameter.__mro__[2]


@app.command()
def version() -> None:
    """Print the version.

    Example: sfumato version
    """
    typer.echo(__version__)


def main() -> None:
    """Run the command line; every error becomes one line and an exit code."""
    try:
        with warnings.catch_warnings():
            # Warnings of libraries are no output of a command, and one about rows might quote them.
            warnings.simplefilter("ignore")
            code = app(prog_name="sfumato", standalone_mode=False)
    except (SfumatoError, OSError) as error:
        fail(error)
    except Interrupted as error:
        leave(str(error), "Interrupted", INTERRUPTED)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except MemoryError:
        leave(f"'{_command()}' needs more memory than this machine has free.", "MemoryError", WRONG_USE)
    except UnicodeEncodeError:
        leave("the output holds a character that cannot be written here. Set PYTHONUTF8=1.", "Unicode", WRONG_USE)
    except Exception as error:
        if not isinstance(error, _WrongWords):
            fault(error, _command())
        _print_usage(error)
    if code == INTERRUPTED:
        leave(_interrupted(), "Interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _print_usage(error: Exception) -> None:
    """Print a usage error on one line, with the command whose help has the right usage, and exit."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        typer.echo(context.get_help())
        leave(f"{context.command_path} needs one of the commands above.", "Usage", WRONG_USE)
    where = f" See: {context.command_path} --help" if context is not None else ""
    message = error.format_message().strip().rstrip(".")  # type: ignore[attr-defined]
    leave(f"{message}{'' if message.endswith('?') else '.'}{where}", "Usage", WRONG_USE)


def _command() -> str:
    """The command that was typed, without its arguments, which may hold a password."""
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    words = [word for word in sys.argv[1:2] if word in groups or word in _names(app)]
    if words and (inner := groups.get(words[0])) is not None:
        words += [word for word in sys.argv[2:3] if word in _names(inner)]
    return " ".join(["sfumato", *words])


def _names(commands: typer.Typer) -> set[str]:
    """The names of its commands: where none was given, typer takes the function's."""
    return {str(each.name or getattr(each.callback, "__name__", "")) for each in commands.registered_commands}


def _interrupted() -> str:
    """The message for Ctrl-C; `release` raises its own once it may have charged something."""
    return (
        "interrupted."
        if _command() in ("sfumato demo", "sfumato papers", "sfumato audit")
        else "interrupted; nothing was charged."
    )
