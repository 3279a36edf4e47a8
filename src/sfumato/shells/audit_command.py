"""`sfumato audit`: attack a spec's plan on made-up data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import ArgumentError
from sfumato.shells.planning_commands import Records, SpecFile
from sfumato.shells.printing import Json, emit, write_new

# Exit status of an audit that refutes its claim.
_BROKEN = 5


def audit(
    file: SpecFile,
    runs: Annotated[int, typer.Option(help="Runs on each of two made-up data sets; more see smaller faults.")] = 1000,
    n: Records = None,
    seed: Annotated[int, typer.Option(help="The audit can be repeated with the same seed.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the audit here (.json), for sfumato report --audit.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the attack beside the claim (.png, .svg or .pdf).")] = None,
    as_json: Json = False,
) -> None:
    """Attack the plan of a spec on made-up neighbouring data sets: what is claimed, what an attack shows, what it would have seen.

    No record is read, except to count them if --n is left out, and nothing is spent. The exit status is 5 where the claim is
    refuted.

    Example: sfumato audit smokers.toml --runs 2000 -o smokers-audit.json
    """
    from sfumato.auditing.audit import audit as attacked
    from sfumato.shells.spec import Spec

    for path in (output, plot):
        if path is not None and path.exists():
            raise ArgumentError(f"{path} is there already; choose another name.")
    spec = Spec.load(file)
    result = attacked(spec.plan(n), spec.schema, runs=runs, seed=seed, progress=not as_json)
    if plot is not None:
        result.plot().savefig(plot)
    emit(as_json, result.to_json(), str(result))
    if output is not None:
        text = json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n"
        write_new(output, text, f"wrote {output}; next: sfumato report RELEASE -o page.html --audit {output}")
    if result.broken:
        raise typer.Exit(_BROKEN)
