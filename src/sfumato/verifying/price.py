"""Checks of guarantee, target and expected accuracy, which are recomputed from the plan's own numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, target_of
from sfumato.errors import FormatError
from sfumato.mechanisms import check_implied
from sfumato.mechanisms.noisy_statistics import LEAST_NOISE
from sfumato.mechanisms.tempering import STRONGEST
from sfumato.models.model import TOTALS
from sfumato.privacy import weakness
from sfumato.privacy.codec import curve_from_json, refuse_unknown
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.statements import same_reasons
from sfumato.procedures import noisy_totals
from sfumato.verifying.record import Record, require

# The search for the least noise ends within 1e-9 of the target, on a log scale. It never goes below LEAST_NOISE, so a plan
# with that noise may cost less than its target.
_CALIBRATED = 1e-3
# Expectations averaged over simulated data use a fixed seed, from which another version of NumPy may draw other numbers. A
# tenth is several times their Monte Carlo error.
_SIMULATED, _SIMULATED_ERROR, _ROUNDING = ("half-width", "pair-error"), 0.1, 1e-6
# Totals by group once had twice the noise, and their sizes were not made to sum to n: what was expected then is between what is
# expected now and this many times as much.
_NOISIER = 2.5


def check_price(record: Record) -> None:
    """Both guarantees, the release's and its plan's, follow from the recorded numbers by the recorded theorem."""
    price, planned = record.price, Guarantee.from_json(record.plan["guarantee"])
    for written, where in ((record.release.guarantee, "recorded"), (planned, "planned")):
        if (written.curve, written.slack) != (price.curve, price.slack):
            raise FormatError(f"the {where} guarantee {written.curve!r} is not what the plan costs, {price.curve!r}.")
        target = None if record.plan["target"] is None else _read_target(record.plan["target"])
        if written.weak != weakness.needed(target, price, record.plan["n"]):
            raise FormatError(f"whether the {where} promise is marked as weak does not follow from its target and n.")
        same = (written.adjacency, written.id_column, written.rows) == (price.adjacency, price.id_column, price.rows)
        if not same or written.draws != price.draws:
            raise FormatError(f"the {where} neighbours or number of draws are not those of the plan.")
        # The trust of a seeded release is "not private", whatever its plan's; the plan's own never is.
        allowed = (price.trust, "not private") if where == "recorded" else (price.trust,)
        if written.trust not in allowed:
            raise FormatError(f"the {where} guarantee says {written.trust!r}; the plan is {price.trust!r}.")
        if not same_reasons(written, price):
            raise FormatError(
                f"the {where} theorem or its hypotheses are not those that price the plan: the record was edited."
            )
    require(planned.unit == price.unit, "unit of the plan's guarantee")


def check_target(record: Record) -> None:
    """The price is within the plan's target and uses it up where noise was searched; what follows from the target is as it says."""
    document = record.plan["target"]
    if document is None:
        require(record.plan["mechanism"] == "exact", "target")
        return
    target = _read_target(document)
    if not target.admits(record.price):
        raise FormatError(f"the plan's target {target} does not admit what the plan costs: the record was edited.")
    check_implied(record.plan["mechanism"], record.task, target)
    totals = record.procedure.NAME in ("noisy-totals", "noisy-tables")
    noisy = totals and record.task.parameters.noise > 1.001 * LEAST_NOISE
    if (noisy or record.procedure.NAME == "shaped-path") and target.excess(record.price) < -_CALIBRATED:
        raise FormatError(
            f"the plan's target {target} is larger than what its noise was made for: the record was edited."
        )


def _read_target(document: Mapping[str, Any]) -> Target:
    refuse_unknown(document, ("epsilon", "delta", "curve"), "a target")
    curve = None if document["curve"] is None else curve_from_json(document["curve"])
    return target_of(document["epsilon"], document["delta"], curve)


def check_strength(record: Record) -> None:
    """The factor by which a regression's prior was strengthened; the prior before that is not recorded, so a range is checked."""
    name, numbers = record.plan["mechanism"], record.plan["parameters"]
    if record.model.summed == TOTALS or "strength" not in numbers:
        return
    most = 1.0 if name == "diffused" else STRONGEST
    require(1.0 <= numbers["strength"] <= most, "strength of the prior")


def check_expected(record: Record) -> None:
    """The recorded expectation and cost are those of the procedure; the words in plans of version 1 are not compared."""
    plan, task = record.plan, record.task
    cost = record.procedure.cost(task.model, task.n, task.draws, task.parameters)
    require(plan["cost"] == cost.to_json(), "cost")
    again = record.procedure.expected(task.model, task.n, task.parameters)
    words = ("quantity", "unit", "how") if plan["version"] == 1 else ("id",)
    written = refuse_unknown(plan["expected"], (*words, "value", "without_privacy"), "an expectation")
    same = plan["version"] == 1 or written["id"] == again.id
    room = _SIMULATED_ERROR if again.id in _SIMULATED else _ROUNDING
    value, bare = written["value"], written["without_privacy"]
    wider = _NOISIER if record.procedure.NAME == noisy_totals.NAME and noisy_totals.noisier_before(task) else 1.0
    accurate = _near(value, again.value, room) or (
        isinstance(value, float) and again.value <= value <= wider * again.value
    )
    numbers = accurate and _near(bare, again.without_privacy, room)
    require(same and numbers, "expected accuracy")


def _near(written: Any, again: float | None, room: float) -> bool:
    if written is None or again is None:
        return written is again
    return (
        isinstance(written, int | float)
        and not isinstance(written, bool)
        and math.isclose(written, again, rel_tol=room)
    )
