"""`sfumato release`, `show`, `report` and `demo`: the charge, the draw, and what a saved release holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import ArgumentError
from sfumato.shells import query_commands, regression_commands, table_commands
from sfumato.shells.file_kinds import expect
from sfumato.shells.forged_files import blames_a_forged_file
from sfumato.shells.interrupting import says_what_was_charged
from sfumato.shells.ledger_commands import WitnessFile
from sfumato.shells.ledger_places import expect_public, open_existing
from sfumato.shells.planning_commands import SpecFile, compare, plan, price_list, rehearse, spec
from sfumato.shells.plot_command import plot
from sfumato.shells.printing import Force, Json, check_new, emit
from sfumato.shells.query_commands import ReleaseFile


def release(
    file: SpecFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the release is saved.")],
    request: Annotated[
        str | None, typer.Option("--request", help="A name for this request: repeated, it is not charged again.")
    ] = None,
    sign: Annotated[
        Path | None, typer.Option("--sign", help="Sign the file with this private key (sfumato keys create).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Charge the ledger, draw and save. The same spec or request again returns the same release at no further cost.

    The table must have been checked before: sfumato schema check survey.toml survey.csv

    Example: sfumato release smokers.toml -o smokers.sfumato --request "smokers 2026"
    """
    from sfumato._private_files import notes_of, refuse_unchecked, remember
    from sfumato.dataset import files_of
    from sfumato.publishing import publish
    from sfumato.shells.spec import Spec
    from sfumato.storage import check_writable

    spec = Spec.load(file)
    if output.exists() and not output.is_dir():
        raise ArgumentError(
            f"{output} is there already: a release is never written over. Choose another name: {_again(spec)}."
        )
    check_new(output, False)
    check_writable(output)  # before anything is charged, like the key below
    if sign is not None:
        from sfumato.signing import check_private_key

        check_private_key(sign)  # before anything is charged: a release that cannot be signed is not made
    data = spec.dataset()
    planned = spec.plan(data.n)
    ledger = spec.open_ledger()
    # Files that only the workers of a cluster can read have no note here.
    refuse_unchecked(spec.whole.digest, notes_of(spec.data), None if ledger is None else ledger.witness)
    asked = request or spec.request(planned)
    named = spec.ledger.get("name") if ledger is not None else None
    # Without a ledger nothing remembers a request.
    if ledger is None and request is not None:
        raise ArgumentError("--request belongs to a ledger: add [ledger] to the spec.")
    account = named or data.schema.name
    with says_what_was_charged(ledger, account, asked, output):
        made = publish(
            planned, data, ledger, named, asked if ledger is not None else None, progress=sys.stderr.isatty()
        )
        made.save(output, sign_with=sign)
        if ledger is None:
            remember(files_of(data))
            typer.echo(
                "sfumato: charged to no ledger: nothing stops the same data from being released again.", err=True
            )
        emit(as_json, {"saved": str(output), **_document(made)}, f"{made}\nsaved    {output}")


def _again(spec: Any) -> str:
    """What it costs to carry out the spec once more."""
    if spec.ledger:
        return "the same spec again is saved there at no further cost; a changed one is charged"
    return "the spec names no ledger, so that each run is a new release, which nothing counts"


def _document(release: Any) -> dict[str, Any]:
    """The release as `--json` prints it."""
    return {
        "kind": release.kind,
        "promise": release.promise,
        "trust": release.guarantee.trust,
        "private": release.private,
        "signed": release.signature is not None,
        "labels": list(release.labels),
        **release.numbers().document(),
        "plan": dict(release.plan),
        "receipt": release.receipt,
    }


@blames_a_forged_file
def show(
    file: ReleaseFile,
    csv: Annotated[bool, typer.Option("--csv", help="Print the draws as CSV.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every part of the record against the others.")
    ] = False,
    public_key: Annotated[
        Path | None,
        typer.Option("--public-key", help="With --verify: the file must be signed with this key's partner."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="With --verify: the file must be what this ledger sealed.")
    ] = None,
    witness: WitnessFile = None,
    as_json: Json = False,
) -> None:
    """Print what a release holds, what it promises and how it was made.

    Example: sfumato show smokers.sfumato --verify --public-key office.key.pub --ledger budget.db
    """
    from sfumato.release import load
    from sfumato.shells import csv_output
    from sfumato.wording import notice

    if not verify and (public_key is not None or ledger is not None):
        raise ArgumentError("--public-key and --ledger say what to verify with; add --verify.")
    release = load(expect(file, "release"))
    checked = _verified(release, file, public_key, ledger, witness) if verify else []
    if csv:
        draws, count = release.in_units(), release.draws.shape[1]
        rows = [[*divmod(k, count), *each] for k, each in enumerate(draws.flat().tolist())]
        typer.echo(csv_output.table([["chain", "draw", *draws.labels], *rows], notice(release)), nl=False)
        return
    document = {**_document(release), **({"verified": checked} if verify else {})} if as_json else {}
    emit(as_json, document, "\n".join([str(release), *(f"verified {each}" for each in checked)]))


def _verified(release: Any, file: Path, public_key: Path | None, ledger: str | None, witness: Path | None) -> list[str]:
    """Verify the release and return a sentence for each check; one that fails raises FormatError."""
    release.verify(public_key=public_key)
    checked = ["every part of the record agrees with the others; the price was computed again and is the same"]
    if public_key is not None:
        checked.append(f"the signature was made with the private key that belongs to {public_key}")
    if ledger is not None:
        from sfumato.release_file import sealed_part
        from sfumato.verifying.sealed import compare

        with open_existing(ledger, witness) as book:
            compare(sealed_part(file.read_bytes()), release.receipt, book)
        signed = ", and was signed afterwards" if release.signature is not None else ""
        checked.append(f"the file is byte for byte what {ledger} sealed{signed}")
    return checked


@blames_a_forged_file
def report(
    file: ReleaseFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")],
    ledger: Annotated[str | None, typer.Option(help="Also show the state of this ledger.")] = None,
    witness: WitnessFile = None,
    public_rows: Annotated[
        Path | None, typer.Option(help="PUBLIC rows with their target: show how well a regression does on them.")
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(help="Also show this audit of the release's plan (sfumato audit -o writes one).")
    ] = None,
    force: Force = False,
) -> None:
    """Write one self-contained HTML page about a release: the promise in plain words, intervals, pictures, how to cite it.

    Example: sfumato report smokers.sfumato -o smokers.html
    """
    from sfumato.release import load
    from sfumato.shells.report import write_report

    check_new(output, force, *(each for each in (file, public_rows, audit) if each is not None))
    if public_rows is not None:
        expect_public(public_rows, ledger, witness)
    write_report(load(expect(file, "release")), output, ledger, public_rows, witness, audit)
    typer.echo(f"wrote {output}")


def demo(folder: Annotated[Path | None, typer.Option(help="Where to work; a new folder if left out.")] = None) -> None:
    """Publish three things about a made-up table under one budget, ask them questions, overspend, and write a report.

    Example: sfumato demo --folder tour
    """
    from sfumato.shells.demo import run

    run(folder)


def add_to(app: typer.Typer) -> None:
    """Add the commands in the order in which they are used; each is named after its function."""
    for command in (demo, spec, plan, rehearse, price_list, compare, release, show, plot, report):
        app.command(command.__name__.replace("_", "-"))(command)
    regression_commands.add_to(query_commands.app)
    table_commands.add_to(query_commands.app)
    app.add_typer(query_commands.app, name="query")
