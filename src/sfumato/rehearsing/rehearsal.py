"""`sf.rehearse`: a plan carried out on invented rows; with a schema on rows as they are expected, else on rows of any direction."""

from __future__ import annotations

from sfumato import _validate
from sfumato.mechanisms.plan import Plan
from sfumato.rehearsing.expected_widths import ExpectedWidths, expected_widths
from sfumato.rehearsing.parameter_errors import Rehearsal, parameter_errors
from sfumato.schema import Schema


def rehearse(
    plan: Plan,
    runs: int = 20,
    *,
    dimension: int | None = None,
    seed: int = 0,
    schema: Schema | None = None,
    rows: object = None,
) -> Rehearsal | ExpectedWidths:
    """Carry out the plan `runs` times on invented rows; nothing is spent and no private row is read.

    With `schema`, n rows are invented as `rows` describe them (`sf.expected_widths`), and the answer has the half-width of every
    coefficient. Without, rows point in any direction and the parameter is drawn from the prior: the answer is how far a
    released parameter lies from it; `dimension` is the parameter's, if the model does not fix it.
    """
    if schema is None:
        return parameter_errors(plan, runs, dimension=dimension, seed=seed)
    return expected_widths(plan, schema, rows, runs=_validate.whole("runs", runs), whole=True)
