"""`sfumato audit`: attack a spec's plan on made-up data."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.shells.planning_commands import Records, SpecFile
from sfumato.shells.printing import Force, Json, check_new, emit

# Exit status of an audit that refutes its claim.
_BROKEN = 5
# Pictures that matplotlib writes and browsers and papers read.
_PICTURES = (".png", ".svg", ".pdf")


def audit(
    file: SpecFile,
    runs: Annotated[
        int | None,
        typer.Option(help="Runs on each of two made-up data sets, 20 or more; more see smaller faults."),
    ] = None,
    n: Records = None,
    seed: Annotated[int, typer.Option(help="The audit can be repeated with the same seed.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the audit here (.json), for sfumato report --audit.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the attack beside the claim (.png, .svg or .pdf).")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Attack the plan of a spec on made-up data sets that differ in one record, and print what the attack proves.

    Printed are the claim, a lower bound on what the plan gives away, and how large a fault would have been seen. No record is read,
    except to count them if --n is left out, and nothing is spent. The exit status is 5 where the claim is refuted. An audit takes
    up to about a minute; --runs sets how many releases are drawn.

    Example: sfumato audit smokers.toml --runs 20000 -o smokers-audit.json
    """
    from sfumato.auditing.audit import audit as attacked
    from sfumato.auditing.audit import default_runs, expected_seconds
    from sfumato.shells.spec import Spec

    _check_paths(output, plot, force, file)
    if runs is not None:
        _validate.whole("--runs", runs, minimum=20)
    spec = Spec.load(file)
    plan = spec.plan(n)
    if not as_json:
        number = default_runs(plan) if runs is None else runs
        minutes = expected_seconds(plan, number) / 60
        typer.echo(
            f"attacking a plan for {plan.n:,} records (procedure {plan.procedure}): {number:,} releases on each of two "
            "made-up data sets" + (f", about {minutes:,.0f} minutes of one core" if minutes >= 1.5 else ""),
            err=True,
        )
    result = attacked(plan, spec.schema, runs=runs, seed=seed, progress=not as_json)
    emit(as_json, result.to_json(), str(result))
    if plot is not None:
        result.plot().savefig(plot)
        if not as_json:
            typer.echo(f"wrote {plot}")
    if output is not None:
        text = json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n"
        output.write_text(text, encoding="utf-8")
        if not as_json:
            typer.echo(f"wrote {output}; next: sfumato report RELEASE -o page.html --audit {output}")
    if result.broken:
        raise typer.Exit(_BROKEN)


def _check_paths(output: Path | None, plot: Path | None, force: bool, spec: Path) -> None:
    """Refuse files that could not be written, before anything is run."""
    for option, path in (("--output", output), ("--plot", plot)):
        check_new(path, force, spec, option=option)
    if plot is None:
        return
    if plot.suffix.lower() not in _PICTURES:
        raise ArgumentError(f"--plot must end in {', '.join(_PICTURES)}; got {plot}.")
    if find_spec("matplotlib") is None:
        raise ArgumentError("--plot needs matplotlib, which is not installed: pip install 'sfumato[plots]'.")
