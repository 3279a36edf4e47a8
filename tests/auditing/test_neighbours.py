"""Neighbours under audit: they differ in one record, fit their model, attain what is declared, and never exceed it."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from audit_cases import CASES, AuditCase

import sfumato as sf
from effort import sized
from sfumato.auditing import neighbours as nb
from sfumato.dataset import rows_of
from sfumato.models.families.family import Family

# Rounding of the sums by which a distance is compared with its declared bound.
ROUNDING = 1e-9
MEASURED = ("noisy-totals", "path", "last-iterate", "kinked-grid", "lattice", "envelope", "reference-chain")
# What stays below 0.95 of the declared sensitivity, with the share that the worst case must reach and the reason.
MARGIN = "its slope is largest only where a long parameter is wrong, and the prior keeps parameters short"
LOOSE: dict[str, tuple[float, str]] = {
    "finite by group": (
        0.85,
        "a group's size and its counts of levels are noised alike, and the price adds their bounds",
    ),
    "shares by group": (0.95, ""),
    "logistic": (0.5, MARGIN),
    "softmax": (0.5, MARGIN),
    "probit": (0.3, MARGIN),
    "cloglog": (0.25, MARGIN),
    "poisson": (0.5, "labels from 0 to 1 reach slopes of -1 and e^u only, and the price covers every clipped slope"),
}


def quick(cases: dict[str, AuditCase]) -> list[AuditCase]:
    """In the quick form one case of every procedure and model, every third of them."""
    seen: dict[tuple[str, str], AuditCase] = {}
    for case in cases.values():
        mechanism = case.options["mechanism"]
        kind = type(case.model).__name__ if isinstance(case.model, Family) else case.model.loss.name
        seen.setdefault((mechanism, kind), case)
    return sized(list(seen.values())[::3], list(cases.values()))


@functools.cache
def worst(name: str) -> list[nb.Neighbours]:
    return nb.worst_cases(CASES[name].plan, CASES[name].schema)


def encoded(data: sf.Dataset) -> dict[str, np.ndarray]:
    """All rows of a data set, column by column."""
    blocks = list(rows_of(data).blocks())
    return {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in blocks[0]}


def changed_cells(pair: nb.Neighbours) -> list[tuple[str, int]]:
    """Column and place of every cell that differs; a row of a matrix counts as one cell."""
    first, second = encoded(pair.first), encoded(pair.second)
    assert list(first) == list(second)
    places = []
    for name, column in first.items():
        differs = column != second[name]
        places += [(name, int(k)) for k in np.flatnonzero(differs.any(axis=1) if differs.ndim == 2 else differs)]
    return places


def all_pairs(case: AuditCase) -> list[nb.Neighbours]:
    plan, schema = case.plan, case.schema
    by_search = nb.searched(plan, schema, seed=3, tries=5, starts=[])
    return [*worst(case.name), *nb.random_pairs(plan, schema, 3, seed=5), by_search, *nb.odd_pairs(plan, schema)]


@pytest.mark.parametrize("case", quick(CASES), ids=lambda case: case.name)
def test_neighbours_fit_the_model_differ_in_one_record_and_keep_what_is_declared(case):
    plan, schema = case.plan, case.schema
    separation = nb.separation_of(plan)
    assert 1 <= len(worst(case.name)) <= 4
    for pair in all_pairs(case):
        assert pair.first.n == pair.second.n == plan.n
        assert pair.first.schema == pair.second.schema == schema
        plan.model.columns(pair.first.schema)
        cells = changed_cells(pair)
        assert {place for _, place in cells} <= {0}
        if plan.guarantee.adjacency == "replace-entry":
            assert len(cells) <= 1
        if plan.procedure in MEASURED or plan.procedure.startswith("shaped"):
            assert separation(pair) <= 1 + ROUNDING, pair.name
    for pair in worst(case.name):
        assert changed_cells(pair), pair.name


def attained(case: AuditCase) -> float:
    return nb.separation_of(case.plan)(worst(case.name)[0])


def needed(case: AuditCase) -> float:
    """The share of the declared sensitivity that the worst case must reach."""
    for start, (share, _) in LOOSE.items():
        if case.name.startswith(start):
            return share
    return 0.95
