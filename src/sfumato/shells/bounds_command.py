"""`sfumato bounds`: private quantiles of the spec's Number columns, proposed as bounds for its schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import ArgumentError, PublishError, SfumatoError
from sfumato.shells.planning_commands import Records, SpecFile
from sfumato.shells.printing import Interrupted, Json, emit


def bounds(
    file: SpecFile,
    yes: Annotated[
        bool, typer.Option("--yes", help="Charge the ledger and release the bounds; without it nothing is spent.")
    ] = False,
    epsilon: Annotated[float, typer.Option(help="The price of all bounds together.")] = 0.2,
    levels: Annotated[
        str, typer.Option(help="The two quantiles that become the bounds, as shares separated by a comma.")
    ] = "0.01,0.99",
    columns: Annotated[
        str | None, typer.Option(help="Number columns, separated by commas; those of the spec's model if left out.")
    ] = None,
    request: Annotated[
        str | None, typer.Option("--request", help='The requests are named after this in the ledger, not "bounds".')
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --yes: write the schema with the new bounds here.")
    ] = None,
    n: Records = None,
    as_json: Json = False,
) -> None:
    """Propose bounds of a number from the rows, privately: the price first, and with --yes the charge and the bounds.

    Declare bounds that are far too wide, -1e12 to 1e12 if nothing is known. The same command again costs nothing.

    Example: sfumato bounds income.toml --epsilon 0.2

    Example: sfumato bounds income.toml --epsilon 0.2 --yes -o survey_bounded.toml
    """
    from sfumato.bounds_plan import plan_bounds
    from sfumato.shells.spec import Spec

    spec = Spec.load(file)
    named = None if columns is None else [each.strip() for each in columns.split(",")]
    options: dict[str, Any] = {"levels": _levels(levels), "request_id": request}
    if not yes:
        if output is not None:
            raise ArgumentError("--output takes the schema with the bounds, which are paid for: add --yes.")
        planned = plan_bounds(spec.schema, spec.records() if n is None else n, named, epsilon, **options)
        again = f"Nothing was spent. To charge epsilon {epsilon:g} and get the bounds: sfumato bounds {file} --yes"
        changed = {"--epsilon": (epsilon, 0.2), "--levels": (levels, "0.01,0.99"), "--columns": (columns, None)}
        again += "".join(f" {name} {value}" for name, (value, usual) in changed.items() if value != usual)
        emit(as_json, _planned(planned), "\n".join([str(planned), *_left(spec, planned), again]))
        return
    if n is not None:
        raise ArgumentError("--n is for a plan; with --yes the records are counted in the data.")
    if output is not None and output.exists():
        raise ArgumentError(f"{output} is there already; choose another name.")
    _charge(spec, named, epsilon, options, output, as_json)


def _left(spec: Any, planned: Any) -> list[str]:
    """What the spec's ledger would have left, or why it would refuse; nothing where the spec names none."""
    from sfumato.bounds_proposal import after_charges

    name = spec.ledger.get("name") or spec.schema.name
    try:
        ledger = spec.open_ledger()
        if ledger is None:
            return []
        before, after = after_charges(planned, ledger, name)
    except SfumatoError as error:  # a plan is shown also where the ledger is not there yet, or cannot pay
        return [f"ledger     {error}"]
    if after is before:
        return ["ledger     these bounds were charged before: they cost nothing more"]
    left = f"of {name!r} epsilon {before.epsilon_left():.4g} is left at delta {before.terms.delta:g}"
    return [f"ledger     {left}; {after.epsilon_left():.4g} would be left after these charges"]


def _charge(
    spec: Any, columns: list[str] | None, epsilon: float, options: dict[str, Any], output: Path | None, as_json: bool
) -> None:
    """Charge the ledger, release the quantiles, and print or write what they give."""
    from sfumato import _validate
    from sfumato.bounds_proposal import private_bounds
    from sfumato.schema import Schema
    from sfumato.shells.toml_files import read_toml
    from sfumato.storage import check_writable

    ledger = spec.open_ledger()
    if ledger is None:
        raise ArgumentError(
            f"{spec.path.name} names no ledger, and bounds are charged to one: add [ledger] with its file and name."
        )
    # What could fail afterwards is tried before anything is charged.
    whole = Schema.load(spec.path.parent / read_toml(spec.path)["data"]["schema"])
    if output is not None:
        _validate.one_of("the ending of --output", output.suffix.lower(), (".toml", ".json"))
        check_writable(output)
    data = replace(spec, schema=spec.schema.without_weight()).dataset()  # a bound is one of all records alike
    account = spec.ledger.get("name") or data.schema.name
    try:
        made = private_bounds(data, columns, epsilon, ledger=ledger, name=account, **options)
    except PublishError as error:
        if "already used" not in str(error):
            raise
        raise PublishError(
            f"{str(error).removesuffix(' Use a new request_id for a new release.')} Other bounds are new releases with a price of "
            'their own: name them with --request, such as --request "bounds 2".'
        ) from error
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; some of the bounds may be charged (sfumato ledger show lists them). Repeat the same command: what was "
            "charged is not charged again."
        ) from None
    text = f"{made}\n\ncharged to {account!r}: {', '.join(repr(each.request) for each in made.plan.requests)}"
    if all(release.stored for release in made.releases):
        text += "\nThese requests were charged before: nothing was spent now."
    if output is not None:
        made.applied_to(whole).save(output)
        text += f"\nwrote {output}; next: name it as schema in [data] of {spec.path.name}"
    facts = {name: {"lower": low, "upper": high} for name, (low, high) in made.bounds.items()}
    emit(as_json, {**_planned(made.plan), "bounds": facts, "schema_lines": made.lines()}, text)


def _planned(planned: Any) -> dict[str, Any]:
    """The plan as `--json` prints it."""
    return {
        "epsilon": planned.epsilon,
        "n": planned.n,
        "levels": planned.levels,
        "requests": [each.request for each in planned.requests],
        "largest_share_outside": {name: planned.outside(name) for name in planned.columns},
    }


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ArgumentError(f"levels must be two shares such as 0.01,0.99; got {text!r}.") from None
