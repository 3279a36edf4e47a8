"""`sfumato ledger`: create a ledger, register a data set's budget, show what is spent, and verify the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.shells.ledger_places import create_new, open_existing
from sfumato.shells.printing import Json, emit, redacted

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


@app.command("register")
def register(
    place: Place,
    name: Annotated[str, typer.Argument(help="The data set, as its schema names it.")],
    epsilon: Annotated[float, typer.Option(help="The whole budget of this data set, for ever.")],
    delta: Annotated[float, typer.Option(help="Far below one in the number of records.")],
    unit: Annotated[str, typer.Option(help="What is protected: what one row stands for, as its schema says.")],
    witness: WitnessFile = None,
) -> None:
    """Promise (epsilon, delta) to every unit of a data set; the promise is fixed for ever.

    Example: sfumato ledger register budget.db survey --epsilon 2 --delta 1e-6 --unit person
    """
    with open_existing(place, witness) as ledger:
        ledger.register(name, epsilon, delta, unit=unit)
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


@app.command("verify")
def verify(place: Place, witness: WitnessFile = None, as_json: Json = False) -> None:
    """Check the whole chain, every sealed release and the witness; for a damaged row the exit code is 3.

    Example: sfumato ledger verify budget.db
    """
    with open_existing(place, witness) as ledger:
        rows = ledger.verify()
    emit(as_json, {"rows": rows, "whole": True}, f"{rows} rows, all as they were written")
