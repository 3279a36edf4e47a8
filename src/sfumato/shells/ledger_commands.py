"""`sfumato ledger`: create a ledger, register a data set's budget, show what is spent, verify the rows, write a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.shells.file_kinds import expect
from sfumato.shells.ledger_places import create_new, ledger_file, open_existing
from sfumato.shells.printing import REFUSED, Force, Json, check_new, emit, leave, redacted

app = typer.Typer(
    help="Budgets: what was promised for each data set, what is spent, what is left.", no_args_is_help=True
)
Place = Annotated[str, typer.Argument(help="The ledger: a file such as budget.db, or postgresql://...")]
WitnessFile = Annotated[
    Path | None, typer.Option("--witness", help="The ledger's witness, where it is not beside the ledger.")
]


@app.command("create")
def create(place: Place, witness: WitnessFile = None) -> None:
    """Create an empty ledger.

    Example: sfumato ledger create budget.db
    """
    with create_new(place, witness) as ledger:
        typer.echo(
            f"created {redacted(place)}; keep its witness {ledger.witness} on another disk or account (--witness says where it is)"
        )
    typer.echo(f"next: sfumato ledger register {redacted(place)} NAME --epsilon 2 --delta 1e-6 --unit person")
    typer.echo(
        "      (where one person may have several rows, with --persons and the column that says whose row it is)"
    )


@app.command("register")
def register(
    place: Place,
    name: Annotated[str, typer.Argument(help="The data set, as its schema names it.")],
    epsilon: Annotated[float, typer.Option(help="The whole budget of this data set, for ever.")],
    delta: Annotated[float, typer.Option(help="Far below one in the number of records.")],
    unit: Annotated[str, typer.Option(help="What is protected: what one row stands for, as its schema says.")],
    persons: Annotated[
        str | None,
        typer.Option(
            help="Where one person may have several rows: the column that says whose row it is, as in the schema."
        ),
    ] = None,
    allow_weak: Annotated[
        bool,
        typer.Option("--allow-weak", help="Allow an epsilon above 50 or a delta above 0.001, and say so for ever."),
    ] = False,
    witness: WitnessFile = None,
) -> None:
    """Promise (epsilon, delta) to every unit of a data set; the promise is fixed for ever.

    Example: sfumato ledger register budget.db survey --epsilon 2 --delta 1e-6 --unit person

    Example: sfumato ledger register budget.db visits --epsilon 2 --delta 1e-6 --unit patient --persons patient_id
    """
    with open_existing(place, witness) as ledger:
        ledger.register(name, epsilon, delta, unit=unit, id_column=persons, allow_weak=allow_weak)
        typer.echo(str(ledger.spent(name)))


@app.command("show")
def show(
    place: Place,
    name: Annotated[str | None, typer.Argument(help="One data set; all of them if left out.")] = None,
    witness: WitnessFile = None,
    as_json: Json = False,
) -> None:
    """Show what is spent and left, and every charge.

    Example: sfumato ledger show budget.db survey
    """
    from sfumato.ledger.account import shown_down
    from sfumato.privacy.weakness import NOTE

    with open_existing(place, witness) as ledger:
        names = [name] if name is not None else ledger.names()
        events = [] if name is not None else ledger.events()
        if not names and not events:
            emit(as_json, {}, "the ledger is empty: register a data set with sfumato ledger register")
            return
        document: dict[str, Any] = {}
        text = []
        for each in names:
            spent, history = ledger.spent(each), ledger.history(each)
            left = spent.account.epsilon_left()
            document[each] = {
                "cap": {"epsilon": spent.account.terms.epsilon, "delta": spent.delta},
                "remaining": left,
                "epsilon": spent.epsilon,
                "charges": spent.charges,
                **({"allow_weak": NOTE} if spent.account.terms.allow_weak else {}),
                **({} if spent.account.terms.id_column is None else {"persons": spent.account.terms.id_column}),
                "history": [{"time": row.time, "kind": row.kind, "request": row.request_id} for row in history],
            }
            remaining = (
                f"  left: epsilon {shown_down(left)} at delta {spent.delta:g} for everything to come, which is not the "
                "difference of the two: epsilons do not add up"
            )
            text += [str(spent), remaining, *(f"  {row}" for row in history), ""]
        text += ["the ledger itself:", *(f"  {row}" for row in events)] if events else []
        emit(as_json, document, "\n".join(text).rstrip())


@app.command("accept-clock")
def accept_clock(
    place: Place,
    reason: Annotated[
        str, typer.Option(help="Why the present clock is right and an earlier one was ahead; kept for ever.")
    ],
    witness: WitnessFile = None,
) -> None:
    """Go on from the present clock although earlier rows carry later times; the ledger records it with the reason.

    Example: sfumato ledger accept-clock budget.db --reason "the laptop's clock was a year ahead on 3 May"
    """
    with open_existing(place, witness) as ledger:
        before = len(ledger.events())
        ledger.accept_clock(reason)
        added = ledger.events()[before:]
    typer.echo(str(added[0]) if added else "the clock is not behind the ledger: nothing to accept")


@app.command("accept-folder")
def accept_folder(
    place: Place,
    reason: Annotated[
        str,
        typer.Option(help="Why the database lies in another folder, and that no other copy is in use; kept for ever."),
    ],
    witness: WitnessFile = None,
) -> None:
    """Go on with a database that was moved or restored into another folder; the ledger records it with the reason.

    Example: sfumato ledger accept-folder budget.db --reason "the old disk was replaced on 3 May; it is switched off"
    """
    with open_existing(place, witness, moved=True) as ledger:
        accepted = ledger.accept_folder(reason)
        added = ledger.events()[-1] if accepted else "the ledger knows this folder: nothing to accept"
    typer.echo(str(added))


@app.command("verify")
def verify(place: Place, witness: WitnessFile = None, as_json: Json = False) -> None:
    """Check the whole chain, every sealed release and the witness; for a damaged row the exit code is 3.

    Example: sfumato ledger verify budget.db
    """
    with open_existing(place, witness) as ledger:
        rows = ledger.verify()
    emit(as_json, {"rows": rows, "whole": True}, f"{rows} rows, all as they were written")


@app.command("report")
def report(
    place: Place,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Release files to compare with what the ledger sealed.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="One data set; all of them if left out.")] = None,
    public_key: Annotated[
        Path | None, typer.Option("--public-key", help="The files must be signed with this key's partner.")
    ] = None,
    witness: WitnessFile = None,
    force: Force = False,
) -> None:
    """Write one HTML page about a ledger: budgets, charges, releases, what is left; where a check fails the exit code is 3.

    Example: sfumato ledger report budget.db -o budget.html smokers.sfumato
    """
    from sfumato.shells import ledger_report

    given, book = [expect(file, "release") for file in files or []], ledger_file(place)
    inputs = (*given, *(each for each in (book, public_key) if each is not None))
    check_new(output, force, *inputs)
    failed = ledger_report.write(place, output, given, name, public_key, witness)
    typer.echo(f"wrote {output}")
    if failed:
        first = f"{failed[0].subject}: {failed[0].reason}"
        more = f" ({len(failed) - 1} more)" if len(failed) > 1 else ""
        leave(
            f"{len(failed)} check{'s' * (len(failed) > 1)} FAILED, as {output} shows. {first}{more}",
            "CheckFailed",
            REFUSED,
        )
