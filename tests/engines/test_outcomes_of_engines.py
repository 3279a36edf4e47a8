"""Every engine with every loss: gradients, moments, weighted sums and values of small tables, beside a naive sum and on record."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "auditing"))
import audit_cases as known

import sfumato as sf
from outcomes import Record, outcome, varied
from sfumato.engines import dense, design, kernels, parts, passes, protocol, reference, shapes, shares, threads, values
from sfumato.engines import sparse as sparse_engine
from sfumato.engines.opening import check_engine, open_engine
from sfumato.models.losses.labels import LabelInterval, LabelSet

N, WIDTH, INTERCEPT, MOST = 11, 2, 0.5, 3
STORED = {"dense": np.asarray, "sparse": sparse.csr_array, "reference": np.asarray, "values": np.asarray}
KINDS = {
    "rows": (None, None), "persons": (sf.Persons("who", most=MOST, count=N), None), "weights": (None, sf.Weight("w", 8.0, fixed=True)),
    "both": (sf.Persons("who", most=MOST, count=N), sf.Weight("w", 8.0, fixed=True)),
}  # fmt: skip
LOSSES = {name: pair for name, pair in known.LOSSES.items() if pair[1] is not None}


@cache
def table(name: str, kind: str) -> dict[str, Any]:
    """Rows with labels that the loss takes, their owners, and the share with which each counts."""
    rng = np.random.default_rng(5)
    persons, weight = KINDS[kind]
    counts = rng.integers(1, MOST + 1, N) if persons else np.ones(N, dtype=int)
    owner = np.repeat(np.arange(N), counts)
    rows = rng.uniform(-0.6, 0.6, (len(owner), WIDTH))
    rows[0] *= 1e-9
    steps = rng.integers(0, 2**16 + 1, len(owner)) if weight else np.full(len(owner), 2**16)
    target = LOSSES[name][1]
    loss = model(name).loss
    if isinstance(loss.label_domain, LabelSet):
        places = rng.integers(0, len(loss.label_domain.values), len(owner))
        labels, numbers = np.array(target.levels, dtype=object)[places], np.array(loss.label_domain.values)[places]
    else:
        assert isinstance(loss.label_domain, LabelInterval)
        labels = numbers = rng.uniform(max(target.lower, -2.0), min(target.upper, 3.0), len(owner))
    return {
        "rows": rows,
        "labels": labels,
        "numbers": numbers,
        "owner": owner,
        "weights": 8.0 * steps / 2**16,
        "shares": steps / 2**16 / counts[owner],
        "target": target,
    }


@cache
def model(name: str, where: str = known.GAUSSIAN) -> sf.Gibbs:
    return known.gibbs(name, WIDTH, where, INTERCEPT)[0]


def engine(name: str, kind: str, place: str, needs: tuple[str, ...], where: str = known.GAUSSIAN) -> Any:
    given, (persons, weight) = table(name, kind), KINDS[kind]
    schema = sf.Schema.vector(WIDTH, 1.0, given["target"], persons=persons, weight=weight)
    counted = {"groups": given["owner"] if persons else None, "sample_weight": given["weights"] if weight else None}
    data = sf.Dataset.from_arrays(STORED[place](given["rows"]), given["labels"], schema=schema, **counted)
    check_engine(data, model(name, where), needs)
    return open_engine(data, model(name, where), needs, place)


def points(name: str) -> np.ndarray:
    d = model(name).dimension
    return np.stack([np.zeros(d), np.linspace(-3.0, 4.0, d), np.linspace(0.7, -0.2, d)])


def naive(name: str, kind: str, theta: np.ndarray) -> np.ndarray:
    """Sum over the rows, one by one."""
    given, loss = table(name, kind), model(name).loss
    total = np.zeros_like(theta)
    for row, label, share in zip(given["rows"], given["numbers"], given["shares"], strict=True):
        z = np.append(row, INTERCEPT)
        for chain, own in enumerate(theta.reshape(len(theta), loss.outputs, -1)):
            slopes = loss.slope_at(own @ z, np.asarray(label))
            total[chain] += share * np.outer(slopes, z).ravel()
    return total


def summed(case: tuple[str, str, str]) -> dict[str, Any]:
    """All sums of one engine, with parts of five records, so that there are several."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dense, "part_rows", lambda dimension: 5)
        patched.setattr(sparse_engine, "_PART", 5)
        patched.setattr(reference, "_ROWS", 5)
        patched.setattr(values, "_ROWS", 5)
        patched.setattr(parts, "piece_rows", lambda records, most: records if most == 1 else 7)
        return _summed(*case)


def _summed(name: str, kind: str, place: str) -> dict[str, Any]:
    at, d = points(name), model(name).dimension
    made: dict[str, Any] = {}
    gradients = engine(name, kind, place, ("gradients",))
    made["gradient"], made["one"], made["many"] = (
        gradients.gradient(at),
        gradients.gradient(at[1:2]),
        gradients.gradient(np.tile(at, (3, 1))),
    )
    made["overflow"] = outcome(gradients.gradient, np.full((1, d), 1e308))
    assert np.allclose(made["gradient"], naive(name, kind, at), rtol=0, atol=1e-12), (
        "the sum is that of the rows one by one"
    )
    made["labels"], made["additions"] = gradients.labels, gradients.additions
    shaped = outcome(engine, name, kind, place, ("shapes",))
    if not (isinstance(shaped, str) and "Error" in shaped):
        moments = engine(name, kind, place, ("shapes",))
        label = protocol.LabelScale(0.3, 0.9, 0.7)
        matrix = np.array([[1.1, 0.2, 0.0], [0.2, 0.8, -0.1], [0.0, -0.1, 1.3]])
        made["moments"] = [moments.moments(1.2), moments.moments(0.4), outcome(moments.moments, 1.2, label)]
        for bend in (1.0, 1.7, np.inf):
            weighed = moments.weighed(matrix, bend)
            made[f"weighed {bend:g}"] = [
                weighed.gradient(at),
                outcome(weighed.second_sums, at[2], True),
                outcome(weighed.second_sums, at[2], False),
            ]
        made["refused"] = [
            outcome(moments.weighed, matrix[:2], 1.0),
            outcome(moments.weighed, matrix * np.nan, 1.0),
            outcome(moments.weighed, matrix, 0.5),
        ]
    if place == "values":
        whole = engine(name, kind, place, ("values",), known.BALL)
        made["values"] = [
            outcome(whole.values, at, unit, bound, reach)
            for unit, bound, reach in ((1e-6, 40.0, None), (1e-3, 0.5, 9.0), (1e-6, 40.0, 0.1))
        ]
    return made


def slopes(code: int, first: float, second: float) -> Any:
    """Compiled slopes over scores and labels."""
    scores = (
        -800.0,
        -700.5,
        -39.0,
        -36.9,
        -5.0,
        -1.0,
        -0.3,
        0.0,
        0.3,
        0.5,
        1.0,
        5.0,
        36.9,
        39.0,
        699.0,
        701.0,
        np.nan,
        np.inf,
        -np.inf,
    )
    return [[kernels.slope(code, u, y, first, second) for u in scores] for y in (-1.0, 0.0, 0.4, 1.0)]


def cut(rows: int, counts: Any, records: int, most: Any) -> Any:
    return list(parts.ranges(rows, None if counts is None else np.array(counts), records, most))


CALLS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "slopes": (slopes, {"code": 0, "first": 0.3, "second": 0.7}, {"code": list(range(2, 9))}),
    "ranges": (cut, {"rows": 23, "counts": None, "records": 5, "most": None}, {}),
    "persons": (cut, {"rows": 23, "counts": [3, 1, 3, 3, 2, 1, 3, 3, 1, 3], "records": 4, "most": 3}, {"records": [1, 9, 40]}),
    "piece": (parts.piece_rows, {"records": 40, "most": 3}, {"most": [1, 50, 3000], "records": [9000]}), "in a part": (parts.part_additions, {"records": 40, "most": 3}, {"most": [None, 1, 50]}),
    "runs": (passes.run_of, {"records": 40, "dimension": 7}, {"dimension": [10**6]}), "count": (passes.part_count, {"n": 1000, "records": 40}, {}), "additions": (threads.additions, {"rows": 40, "parts": 7}, {"parts": [1, 5000]}),
    "most": (protocol.most_additions, {"n": 170}, {"n": [10**7]}), "error": (protocol.gradient_error, {"n": 170, "largest": 1.3}, {}), "scale": (protocol.LabelScale, {"centre": 0.3, "half": 0.9, "scale": 0.7}, {}),
    "column": (lambda centre, half, scale: protocol.LabelScale(centre, half, scale).column(np.array([-4.0, 0.5, 9.0])), {"centre": 0.3, "half": 0.9, "scale": 0.7}, {}),
    "shares": (shares.one_over, {"counts": np.arange(1, 60)}, {}), "sums": (threads.add_up, {"sums": [np.arange(3.0)]}, {"sums": [[np.arange(3.0)] * k for k in (2, 3, 5)]}),
    "in runs": (lambda count: threads.added_in_runs((np.full(2, 0.1) for _ in range(count)), np.zeros(2)), {"count": 3}, {"count": [40, 300]}), "symmetric": (shapes.symmetric, {"sums": np.arange(9.0).reshape(3, 3)}, {}),
    "kernel": (design.kernel_arguments, {"loss": sf.losses.Logistic(1.0)}, {"loss": [made(1.3) for made, _ in known.LOSSES.values()]}),
}  # fmt: skip


def called(name: str) -> Any:
    function, given, more = CALLS[name]
    return varied(function, given, more)


SUMS = {
    f"{name}, {kind}, {place}": (name, kind, place) for name in LOSSES for kind in KINDS for place in STORED
    if place == "reference" or (kind in ("rows", "both") and (place != "values" or kind == "both"))
    if outcome(design.kernel_arguments, model(name).loss) is not None or place not in ("dense", "sparse")
}  # fmt: skip
SUMMED = Record("engine_sums", SUMS, summed, 1e-11)
CALLED = Record("engines", {name: name for name in CALLS}, called)
RECORDS = [SUMMED, CALLED]


@pytest.mark.planted
@pytest.mark.parametrize("record", RECORDS, ids=[record.path.stem for record in RECORDS])
def test_sums_are_those_that_are_recorded(record):
    assert record.all_differences() == []
