"""`sfumato spec`, `plan`, `rehearse`, `price-list`, `compare`, `release`, `show`, `report`, `demo`: from a spec to a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import ArgumentError
from sfumato.shells import query_commands, regression_commands
from sfumato.shells.forged_files import blames_a_forged_file
from sfumato.shells.interrupting import says_what_was_charged
from sfumato.shells.ledger_commands import WitnessFile
from sfumato.shells.ledger_places import open_existing
from sfumato.shells.printing import Json, emit, write_new
from sfumato.shells.query_commands import ReleaseFile

SpecFile = Annotated[Path, typer.Argument(help="The spec file (.toml); sfumato spec writes one.")]
Records = Annotated[int | None, typer.Option("--n", help="The number of records; read from the data if left out.")]


def spec(
    data: Annotated[str, typer.Option(help="The data file.")] = "data.csv",
    schema: Annotated[str, typer.Option(help="The schema file.")] = "schema.toml",
    column: Annotated[str, typer.Option(help="The column to release.")] = "column",
    name: Annotated[
        str | None, typer.Option(help="The data set, as the ledger names it; the schema's name if left out.")
    ] = None,
    ledger: Annotated[str, typer.Option(help="The ledger's file.")] = "budget.db",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of the terminal.")] = None,
) -> None:
    """Write a first spec file to edit: the share of a yes-or-no column.

    Example: sfumato spec --data survey.csv --schema survey.toml --column smoker -o smokers.toml
    """
    from sfumato.schema.documents import toml_value
    from sfumato.shells.spec import TEMPLATE

    if name is None and Path(schema).is_file():
        from sfumato.schema import Schema

        name = Schema.load(schema).name
    facts = {"data": data, "schema": schema, "column": column, "name": name or "data", "ledger": ledger}
    text = TEMPLATE.format(**{key: toml_value(fact) for key, fact in facts.items()})
    write_new(output, text, f"wrote {output}; next: sfumato plan {output}")


def plan(file: SpecFile, n: Records = None, as_json: Json = False) -> None:
    """Say what a release will do, what it will cost and what accuracy to expect; nothing is spent.

    Example: sfumato plan smokers.toml
    """
    from sfumato.shells.spec import Spec

    spec = Spec.load(file)
    planned = spec.plan(n)
    # A plan has no schema; the unit that it protects is known here.
    text = str(planned).replace("one row replaced", f"one {spec.schema.unit} replaced")
    try:
        widths = spec.expected_widths(planned)
    except ArgumentError as error:
        # The release would refuse intervals with the same sentence: said here, before anything is spent.
        emit(as_json, {**planned.to_json(), "no_intervals": str(error)}, f"{text}\nintervals  none: {error}")
        return
    if widths is None:
        emit(as_json, planned.to_json(), text)
    else:
        # The widths say what the noise of a gradient means.
        lines = [line for line in text.split("\n") if not line.startswith("expected ")]
        emit(as_json, {**planned.to_json(), "expected_widths": widths.to_json()}, "\n".join([*lines, "", str(widths)]))


def rehearse(
    file: SpecFile,
    runs: Annotated[int, typer.Option(help="How many times the plan is carried out.")] = 20,
    n: Records = None,
    as_json: Json = False,
) -> None:
    """Carry out a regression's plan on invented rows, as many as there are records: the half-widths to expect. Nothing is spent.

    Example: sfumato rehearse income.toml --runs 10
    """
    from sfumato.shells.spec import Spec

    spec = Spec.load(file)
    widths = spec.expected_widths(spec.plan(n), runs, whole=True)
    if widths is None:
        raise ArgumentError("rehearse is for regressions; sfumato plan says what to expect of other models.")
    emit(as_json, widths.to_json(), str(widths))


def price_list(
    file: SpecFile,
    epsilons: Annotated[str, typer.Option(help="Prices to try, separated by commas.")] = "0.1,0.3,1,3",
    n: Records = None,
    as_json: Json = False,
) -> None:
    """Show what each epsilon buys; nothing is spent.

    Example: sfumato price-list smokers.toml --epsilons 0.1,0.5,1,2
    """
    from sfumato.planning import priced
    from sfumato.shells.spec import Spec

    try:
        levels = tuple(float(each) for each in epsilons.split(","))
    except ValueError:
        raise ArgumentError(f"epsilons must be numbers separated by commas; got {epsilons!r}.") from None
    spec = Spec.load(file)
    count = spec.records() if n is None else n
    prices = priced(lambda epsilon: spec.plan(count, epsilon=epsilon), levels, spec.price["delta"])
    document = [
        {"epsilon": level, "plan": None if each is None else each.to_json(), "reason": reason}
        for level, each, reason in zip(prices.epsilons, prices.plans, prices.reasons, strict=True)
    ]
    emit(as_json, document, str(prices))


def compare(file: SpecFile, n: Records = None, as_json: Json = False) -> None:
    """Show how much each theorem allows for the spec's model at its price.

    Example: sfumato compare income.toml
    """
    from sfumato.comparing import compare as comparison
    from sfumato.shells.spec import Spec

    spec = Spec.load(file)
    count = spec.records() if n is None else n
    allowed = comparison(spec.model, count, spec.price["epsilon"], spec.price["delta"])
    emit(as_json, allowed.to_json(), str(allowed))


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

    Example: sfumato release smokers.toml -o smokers.sfumato --request "smokers 2026"
    """
    from sfumato.publishing import publish
    from sfumato.shells.spec import Spec
    from sfumato.storage import check_writable

    spec = Spec.load(file)
    if output.exists():
        raise ArgumentError(f"{output} is there already: a release is never written over. Choose another name.")
    if not output.parent.is_dir():
        raise ArgumentError(f"there is no folder {str(output.parent)!r} to save the release in.")
    check_writable(output)  # before anything is charged, like the key below
    if sign is not None:
        from sfumato.signing import check_private_key

        check_private_key(sign)  # before anything is charged: a release that cannot be signed is not made
    data = spec.dataset()
    planned = spec.plan(data.n)
    ledger = spec.open_ledger()
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
            typer.echo(
                "sfumato: charged to no ledger: nothing stops the same data from being released again.", err=True
            )
        emit(as_json, {"saved": str(output), **_document(made)}, f"{made}\nsaved    {output}")


def _document(release: Any) -> dict[str, Any]:
    """The release as `--json` prints it."""
    return {
        "kind": release.kind,
        "promise": release.promise,
        "trust": release.guarantee.trust,
        "private": release.private,
        "signed": release.signature is not None,
        "labels": list(release.labels),
        "mean": release.mean().ravel(),
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
    release = load(file)
    checked = _verified(release, file, public_key, ledger, witness) if verify else []
    if csv:
        draws, count = release.in_units(), release.draws.shape[1]
        rows = [[*divmod(k, count), *each] for k, each in enumerate(draws.flat().tolist())]
        typer.echo(csv_output.table([["chain", "draw", *draws.labels], *rows], notice(release)), nl=False)
        return
    document = {**_document(release), **({"verified": checked} if verify else {})}
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
    test: Annotated[
        Path | None, typer.Option(help="PUBLIC rows with their target: show how well a regression does on them.")
    ] = None,
) -> None:
    """Write one self-contained HTML page about a release: the promise in plain words, intervals, pictures, how to cite it.

    Example: sfumato report smokers.sfumato -o smokers.html
    """
    from sfumato.release import load
    from sfumato.shells.report import write_report

    write_report(load(file), output, ledger, test, witness)
    typer.echo(f"wrote {output}")


def demo(folder: Annotated[Path | None, typer.Option(help="Where to work; a new folder if left out.")] = None) -> None:
    """Publish three things about a made-up table under one budget, ask them questions, overspend, and write a report.

    Example: sfumato demo --folder tour
    """
    from sfumato.shells.demo import run

    run(folder)


def add_to(app: typer.Typer) -> None:
    """Add the commands in the order in which they are used; each is named after its function."""
    for command in (demo, spec, plan, rehearse, price_list, compare, release, show, report):
        app.command(command.__name__.replace("_", "-"))(command)
    regression_commands.add_to(query_commands.app)
    app.add_typer(query_commands.app, name="query")
