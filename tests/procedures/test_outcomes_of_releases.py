"""Every procedure with every model that it serves: plan, price, seeded draws and their check are on record.

What is drawn from the same rows with the same seed changes with any arithmetic between a row and a release.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "auditing"))
from audit_cases import CASES, AuditCase

import sfumato as sf
from effort import sized
from outcomes import Record, outcome
from sfumato import procedures

# Another machine's linear algebra adds in another order.
ROUNDED = 1e-10


def rows(schema: sf.Schema, n: int) -> sf.Dataset:
    """n invented records; no two are alike, some lie outside their bounds."""
    rng = np.random.default_rng(5)

    def column(name: str) -> Any:
        declared = schema.columns[name]
        if isinstance(declared, sf.Boolean):
            return rng.random(n) < 0.6
        if isinstance(declared, sf.Category):
            return np.array(declared.levels, dtype=object)[
                rng.integers(0, len(declared.levels), n) * (rng.random(n) < 0.7)
            ]
        low, high = max(declared.lower, -3.0), min(declared.upper, 9.0)
        values = low + (high - low) * rng.beta(2, 3, n) * 1.05
        return np.rint(values) if declared.integer else values

    if schema.dimension is None:
        return sf.Dataset.from_table({name: column(name) for name in schema.columns}, schema=schema)
    matrix = rng.standard_normal((n, schema.dimension)) * 0.7
    if schema.target is None:
        return sf.Dataset.from_arrays(matrix, schema=schema)
    target = schema.columns[schema.target]
    slope = matrix @ np.linspace(1.0, -0.5, schema.dimension)
    if isinstance(target, sf.Category):
        labels: Any = np.array(target.levels, dtype=object)[
            (slope + rng.standard_normal(n) > 0) * (len(target.levels) - 1)
        ]
    else:
        labels = 0.5 + 0.6 * slope + 0.3 * rng.standard_normal(n)
    return sf.Dataset.from_arrays(matrix, labels, schema=schema)


def altered(draws: sf.Draws) -> dict[str, sf.Draws]:
    """Draws with one number moved a little, far, or made no number, and with a part left out."""
    made = {}
    parts = {"values": draws.values, "transcript": draws.transcript, "totals": draws.totals, **draws.published}
    for name, array in parts.items():
        if array is None or array.size == 0:
            continue
        for what, change in (
            ("a little", lambda x: np.nextafter(x, np.inf)), ("by a thousandth", lambda x: x * 1.001 + 1e-3), ("far", lambda x: x + 1e6),
            ("to the other side", lambda x: -x - 1.0), ("to nan", lambda x: np.nan), ("to infinity", lambda x: np.inf),
        ):  # fmt: skip
            for place in {0, array.size - 1}:
                moved = np.array(array)
                moved.ravel()[place] = change(moved.ravel()[place])
                made[f"{name}[{place}] {what}"] = _with(draws, name, moved)
        made[f"{name} without its last"] = _with(draws, name, array[..., :-1]) if name != "values" else draws
        if name != "values":
            made[f"no {name}"] = _with(draws, name, None)
    made["more published"] = dataclasses.replace(draws, published={**draws.published, "more": np.array([1.0])})
    made["a transcript"] = dataclasses.replace(draws, transcript=np.zeros((draws.shape[0], 2, len(draws.labels))))
    made["totals"] = dataclasses.replace(draws, totals=np.zeros(3))
    return made


def _with(draws: sf.Draws, name: str, array: Any) -> Any:
    if name in ("values", "transcript", "totals"):
        return lambda: dataclasses.replace(draws, **{name: array})
    rest = {key: value for key, value in draws.published.items() if key != name}
    return lambda: dataclasses.replace(draws, published=rest if array is None else {**rest, name: array})


def checked(check: Any, task: Any, made: Any) -> Any:
    return outcome(lambda: bool(check(task, made() if callable(made) else made)))


def released(case: AuditCase) -> dict[str, Any]:
    """The plan, its price again and with other numbers, and a seeded release with its check."""
    plan = sf.plan(case.model, case.n, **case.options)
    procedure, task = procedures.named(plan.procedure), plan.task
    document = plan.to_json()
    numbers = plan.parameters.to_json()

    def price(**changed: Any) -> Any:
        read = procedure.Parameters.from_json({**numbers, **changed})
        return procedure.price(plan.model, plan.n, plan.draws, read).curve

    release = sf.publish(plan, rows(case.schema, plan.n), randomness=sf.seeded(7))
    draws = release.draws
    return {
        "plan": {key: document[key] for key in ("procedure", "parameters", "guarantee", "expected", "cost")},
        "price": {
            f"{name} {what}": outcome(price, **{name: change(value)})
            for name, value in numbers.items()
            for what, change in (("0", lambda v: 0 * v), ("half", lambda v: v // 2 if isinstance(v, int) else v / 2), ("twice", lambda v: 2 * v),
                                 ("below 0", lambda v: -1), ("text", str))
        },
        "draws": {"values": draws.values, "transcript": draws.transcript, "totals": draws.totals, "published": dict(draws.published)},
        "check": {name: checked(procedure.check, task, made) for name, made in altered(draws).items()},
        "verified": outcome(lambda: release.verify() is release),
    }  # fmt: skip


# Chains that are assumed to have converged are run by JAX, which compiles each for seconds.
CHAINS = ("logistic of 2 in a ball, exponential, assumed converged",)


def quick(name: str, case: AuditCase) -> bool:
    """Cases whose search and draw take another way than others'; the losses that share them are on record by themselves."""
    mechanism = case.options["mechanism"]
    if isinstance(case.model, sf.Gibbs) and mechanism in ("exact", "diffused", "concentrated"):
        return name.startswith(("logistic", "hinge", "log odds loss", "softmax of 2 everywhere, diffused"))
    return name.partition(",")[0] not in (
        "learnt bins",
        "learnt table of chosen pairs",
        "log odds by group",
        "two shares",
        "histogram",
    )


LISTED = {
    name: case for name, case in CASES.items()
    if ("trust" not in case.options and sized(quick(name, case), True)) or name in sized((), CHAINS)
}  # fmt: skip
RELEASES = Record("releases", LISTED, released, ROUNDED)
RECORDS = [RELEASES]


@pytest.mark.planted
@pytest.mark.parametrize("name", RELEASES.cases)
def test_a_release_is_the_one_that_is_recorded(name):
    assert RELEASES.differences(name) == []
