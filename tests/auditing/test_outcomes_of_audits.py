"""The auditor: schemas, pairs, separations, enumerated laws, replays, tests and bounds of fixed seeds are on record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from audit_cases import CASES, AuditCase

import sfumato as sf
from effort import sized
from outcomes import Record, outcome, varied
from sfumato.auditing import (
    audit,
    claims,
    error_rates,
    exact,
    guesses,
    loss_pairs,
    neighbours,
    one_run,
    person_pairs,
    power,
    records,
    replay,
    result,
    schemas,
    scores,
    searching,
    shaped_parts,
)  # fmt: skip
from sfumato.dataset import rows_of
from sfumato.privacy.curves import BoundedRange, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.schema.structure import BLOCK_ROWS

# Of the cases those whose pairs, laws or replays take a way of their own.
NAMES = (
    "rate, diffused", "rate of trials, exact", "shares, noisy-statistics", "histogram, exact", "cross table, diffused", "events, diffused", "durations, exact",
    "precision, diffused", "mean, diffused", "vector mean, noisy-statistics", "correlated mean, exact", "rate by group, diffused", "network, exact", "network of entries, diffused",
    "network of bins, noisy-statistics", "transitions, exact", "trajectories, diffused", "ended trajectories, exact", "rate above a floor, exponential", "scale, exponential",
    "finite, exponential", "finite of levels, exact", "network above a floor, exponential", "bounded mean, noisy-statistics", "learnt table, noisy-statistics",
    "quantiles, noisy-statistics", "bounded mean by group, noisy-statistics", "quantile, exponential", "logistic of 2 everywhere, langevin", "softmax of 2 in a ball, langevin",
    "huber of 2 everywhere, langevin-path", "logistic of 2 and an intercept everywhere, langevin-path", "hinge of 1 everywhere, diffused", "hinge of 2 in a box, diffused",
    "logistic of 2 in a ball, exponential", "huber of 3 in a box, exponential", "logistic of 2 everywhere, shaped-path", "huber of 2 and an intercept everywhere, shaped-path",
    "logistic of 2 everywhere, shaped-langevin", "log odds loss, langevin", "log odds loss in a ball, exponential",
)  # fmt: skip
KNOWN = {name: CASES[name] for name in NAMES}


def sums(data: sf.Dataset) -> Any:
    """What a data set holds, as sums over its columns."""
    totals: dict[str, Any] = {}
    for block in rows_of(data).blocks(None, BLOCK_ROWS):
        for name in block:
            column = np.asarray(block[name])
            if column.dtype.kind in "fiub":
                totals[name] = totals.get(name, 0.0) + np.nansum(
                    column.astype(float).reshape(len(column), -1) * (1 + np.arange(len(column)) % 5)[:, None], axis=0
                )
    return totals


def paired(case: AuditCase) -> dict[str, Any]:
    """The pairs that an audit looks at, how far apart they are, and what enumeration and replay say of the worst."""
    plan = replace(case.plan, n=case.n)
    listed = neighbours.candidates_of(plan, case.schema)
    measure = neighbours.separation_of(plan)
    worst = neighbours.worst_cases(plan, case.schema, 2)
    pair = worst[0]
    law = exact.exact(plan, pair)
    return {
        "schema": outcome(lambda: schemas.public_schema(plan.model, plan.n).to_json()),
        "candidates": [(each.name, each.first, each.second, each.others[:3]) for each in listed[:: max(1, len(listed) // 8)]], "number": len(listed),
        "worst": [(each.name, measure(each), sums(each.first), sums(each.second)) for each in worst],
        "random": [(each.name, measure(each), sums(each.second)) for each in neighbours.random_pairs(plan, case.schema, 3, 1)],
        "searched": outcome(lambda: measure(searching.searched(plan, case.schema, seed=2, tries=4))),
        "exact": None if law is None else [law.mu, law.largest, law.joined, law.deltas(np.array([0.0, 0.3, 1.0, 3.0])), law.epsilon(1e-5), law.epsilon(0.0), law.kinks(5), law.breaks(plan.guarantee),
                                           law.breaks(replace(plan.guarantee, curve=Gaussian(1e-3))), law.breaks(claims.Claim.of(plan.guarantee)), law.share(plan.guarantee, 1e-5)],
        "replayed": outcome(lambda: _replayed(replay.replay(plan, pair, 3))),
        "others": [audit.default_runs(plan), audit.expected_seconds(plan, 400), audit.delta_of(plan), audit._replayed_pairs(plan)],
    }  # fmt: skip


def _replayed(seen: replay.Replayed) -> Any:
    return [
        [(part.name, part.shift, part.allowed, part.ratio) for part in seen.parts],
        seen.spent,
        seen.price,
        seen.differences,
        seen.holds,
        seen.ended,
        str(seen),
    ]


AUDITED = ("rate, diffused", "logistic of 2 everywhere, langevin", "huber of 2 everywhere, langevin-path")


def audited(case: AuditCase) -> dict[str, Any]:
    """A small audit, of the claim and of one that is too small."""
    plan = case.plan
    small = replace(plan, guarantee=replace(plan.guarantee, curve=Gaussian(0.05)))
    pair = neighbours.worst_cases(plan, case.schema, 1)
    made = [audit.audit(each, case.schema, runs=60, pairs=pair, seed=4, level=0.9) for each in (plan, small)]
    documents = [each.to_json() for each in made]
    for each in documents:
        each.pop("made_by")
        each.pop("plan")
    return {
        "results": documents,
        "texts": [each.lines()[:4] for each in made],
        "shares": [each.share for each in made],
        "read": outcome(lambda: result.Audit.from_json({**documents[0], "plan": "x"}, plan.guarantee).mu),
    }


CLAIMS = {name: claims.Claim.of(Guarantee(curve, "replace-one", "a", "b", **more)) for name, curve, more in (
    ("gaussian", Gaussian(0.9), {}), ("pure", Pure(0.7), {}), ("range", BoundedRange(1.3), {}), ("slack", Pure(0.7), {"slack": 1e-3, "trust": "proved with slack"}))}  # fmt: skip
FIRST, SECOND = np.random.default_rng(1).standard_normal(400), np.random.default_rng(2).standard_normal(400) + 1.0
P, Q = np.log(np.array([0.1, 0.2, 0.3, 0.4])), np.log(np.array([0.3, 0.25, 0.3, 0.15]))
LEVELS = np.array([1e-5, 0.01, 0.1, 0.5, 0.9])


def allowed(name: str, factor: float) -> Any:
    claim = CLAIMS[name].enlarged(factor)
    return claim.least_missed(LEVELS), [
        claim.broken_by(error_rates.error_rates(FIRST, SECOND + shift, np.array([0.0, 0.5, 1.0])))
        for shift in (0.0, 2.0)
    ]


def rated(first: Any, second: Any, level: float) -> Any:
    rates = error_rates.error_rates(first, second, error_rates.pilot_thresholds(first, second), level)
    return rates, rates.mu, [rates.epsilon(delta) for delta in (0.0, 1e-3, 0.4)]


def guess(records: int, guesses_: int, right: int) -> Any:
    made = guesses.Guesses(records, guesses_, right)
    return (
        made.probability(0.7, 1e-3),
        made.mu(),
        made.epsilon(1e-3),
        [made.contradict(claim) for claim in CLAIMS.values()],
    )


def lost(first: Any, second: Any, draws: int) -> Any:
    law = loss_pairs.Exact.of(loss_pairs.repeated(loss_pairs.Losses.of(np.asarray(first), np.asarray(second)), draws))
    return (
        law.mu,
        law.deltas(np.array([0.0, 0.2, 1.0, 4.0])),
        [law.epsilon(d) for d in (0.0, 1e-3, 0.3, 0.99)],
        law.largest,
        law.joined,
        law.kinks(3),
        law.trade_off(),
        [law.breaks(claim) for claim in CLAIMS.values()],
        [law.breaks(claim.guarantee) for claim in CLAIMS.values()],
    )


MADE = result.Audit(
    CLAIMS["gaussian"].guarantee,
    "d",
    "law",
    "a pair",
    3,
    "test",
    100,
    0.95,
    1e-6,
    1e-6,
    0.4,
    0.9,
    None,
    "replayed",
    2.0,
    (),
    ((0.1, 0.2),),
    1000,
    3,
)
SCHEMA = sf.Schema(
    {
        "a": sf.Boolean(missing=False),
        "b": sf.Category(["u", "v", "w"], missing="u"),
        "x": sf.Number(-1, 6),
        "k": sf.Number(0, 9, integer=True),
        "d": sf.Date("2020-01-01", "2020-03-01"),
    }
)
VECTORS = sf.Schema.vector(3, data_norm=2.0, target=sf.Number(-1, 4))
PEOPLE = SCHEMA.with_persons(sf.Persons("who", most=3, count=6))
CALLS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    **{f"claim {name}": (allowed, {"name": name, "factor": 1.0}, {"factor": [0.5, 2.0]}) for name in CLAIMS},
    "rates": (rated, {"first": FIRST, "second": SECOND, "level": 0.95}, {"first": [FIRST[:30]], "second": [SECOND + 9, SECOND[:0]]}), "upper": (error_rates.upper_bound, {"counts": np.array([0, 3, 40]), "runs": 40, "share": 0.01}, {}),
    "guesses": (guess, {"records": 100, "guesses_": 60, "right": 45}, {"right": [0, 61, 60], "guesses_": [101]}), "best": (guesses.best_number, {"records": 100, "mu": 1.3, "level": 0.95}, {}),
    "guessed": (guesses.guessed, {"scores": FIRST[:9], "coins": np.array([1, -1, 1, 1, -1, -1, 1, 1, -1]), "guesses": 4}, {"guesses": [9, 10, 0], "scores": [FIRST[:8]]}),
    "largest": (guesses._largest, {"rejected": lambda x: x < 0.37}, {"rejected": [lambda x: False, lambda x: True]}),
    "losses": (lambda first, second: lost(first, second, 1), {"first": P, "second": Q}, {"first": [P[:3], np.stack([P, P])]}), "five losses": (lambda second: lost(P, second, 5), {"second": Q}, {}), "detected": (lambda name, runs: power.detectable_factor(CLAIMS[name], runs, 5, 0.95), {"name": "gaussian", "runs": 400}, {"runs": [5]}),
    "enough": (lambda name: power.enough_runs(CLAIMS[name], 4.0, 5, 0.95), {"name": "gaussian"}, {}),
    "chance": (lambda name, factor, runs, share: power.chance_of_detection(CLAIMS[name], factor, runs, share), {"name": "pure", "factor": 1.5, "runs": 400, "share": 0.01}, {}),
    "trained": (lambda shift: scores.trained(np.stack([FIRST, SECOND], axis=1), np.stack([FIRST + shift, SECOND], axis=1)).of(np.stack([FIRST, SECOND], axis=1)), {"shift": 0.7}, {}),
    "separation": (scores.separation, {"first": FIRST, "second": SECOND}, {"second": [np.zeros(3)], "first": [np.zeros(3)]}),
    "shared": (records.shared, {"total": 10, "weights": [1.0, 2.0, 4.0]}, {"total": [3, 97]}), "plain": (records.plain, {"schema": SCHEMA}, {"schema": [VECTORS]}), "extremes": (records.extremes, {"schema": SCHEMA}, {"schema": [VECTORS]}),
    "cells": (lambda name, style, size: records.random_cells(SCHEMA.columns[name], style, size, np.random.default_rng(3)).tolist(), {"name": "x", "style": "extreme", "size": 6}, {"name": list("abkd"), "style": list(records.STYLES)}),
    "rows": (lambda style, size: records.random_rows(VECTORS, style, size, np.random.default_rng(3)), {"style": "extreme", "size": 5}, {"style": list(records.STYLES)}),
    "middles": (lambda name: [records.middle(SCHEMA.columns[name]), records.ends(SCHEMA.columns[name]), records.levels_of(SCHEMA.columns[name])], {"name": "x"}, {"name": list("abkd")}),
    "people": (lambda style, seed: [(row[0], str(row[1]), row[2]) for row in person_pairs.random_people(PEOPLE, style, np.random.default_rng(seed)).rows], {"style": "extreme", "seed": 3}, {"style": list(records.STYLES)}),
    "one person": (lambda seed: person_pairs.random_rows_for_one(PEOPLE, np.random.default_rng(seed)), {"seed": 3}, {"seed": [4, 5, 6, 7, 8, 9, 10]}),
    "groups": (lambda style, size: [sums(each) for each in person_pairs.person_groups(PEOPLE, size, np.random.default_rng(3), style)], {"style": "extreme", "size": 6}, {}),
    "compared": (lambda shift, most: (lambda part: [part.ratio])(replay.Compared("x", shift, most)), {"shift": 0.3, "most": 0.5}, {}),
    "result": (lambda **changed: (lambda each: [each.bounds(), each.seen(), each.verdict(), each.share, each.broken, each.lines(), each.claimed_trade_off([0.1])])(replace(MADE, **changed)), {
        "mu": 0.4, "epsilon": 0.9, "power": 2.0, "enough": 1000, "runs": 100, "pairs": 3, "exact_epsilon": 0.7, "replayed": "so", "refuted_by": ()}, {"refuted_by": [("sampling",), ("replay", "sampling")]}),
    "read": (lambda **changed: result.Audit.from_json({**MADE.to_json(), **changed}, MADE.guarantee).to_json()["shown"], {key: value for key, value in MADE.to_json().items() if key not in ("made_by",)}, {"refuted_by": [["sampling"], ["other"]], "points": [[[0.1, 2.0]], [[0.1]]], "broken": [True]}),
}  # fmt: skip


def called(name: str) -> Any:
    function, given, more = CALLS[name]
    kept = varied(function, given, more)
    kept.pop("seed=None", None)  # seeded by the machine
    return kept


def once(name: str) -> Any:
    """One release of made-up records, and what the guesses prove."""
    plan = KNOWN[name].plan
    made = one_run.one_run(plan, guesses=min(20, one_run.canaries(plan).records), seed=3, randomness=sf.seeded(2))
    return made.guesses, made.mu, made.epsilon(1e-3), made.most, made.broken


def parted(name: str) -> Any:
    """The attack on the parts of a path that learns the shape of its rows."""
    plan = CASES[name].plan
    pair = neighbours.worst_cases(plan, CASES[name].schema, 1)[0]
    made = {}
    for part, price in shaped_parts.part_prices(plan).items():
        seen = shaped_parts.attack_part(plan, pair, part, 12, sf.seeded(3), 8)
        made[part] = [
            price.curve,
            seen.first,
            seen.second,
            seen.thresholds,
            shaped_parts.part_shift(plan, pair, part, sf.seeded(4), 6),
        ]
    return made


# Those that are cheap, or look at pairs in a way of their own; the long form takes all.
QUICK = {
    name: case for name, case in KNOWN.items()
    if not name.startswith(sized((
        "learnt", "hinge of 2", "huber of 2 and", "softmax", "precision", "events", "rate of trials", "network, exact", "cross table", "network above", "ended", "correlated",
        "logistic of 2 and", "huber of 3", "finite of levels", "rate above", "logistic of 2 everywhere, shaped-langevin",
    ), ("none",)))
}  # fmt: skip
LISTED = {
    "pairs": Record("audit_pairs", QUICK, paired, 1e-8), "audits": Record("audits", {name: KNOWN[name] for name in AUDITED}, audited, 1e-8), "calls": Record("audit_calls", {name: name for name in CALLS}, called, 1e-10),
    "one run": Record("audit_one_run", {name: name for name in ("vector mean, noisy-statistics", "huber of 2 everywhere, langevin-path")}, once, 1e-9),
    "parts": Record("audit_parts", {name: name for name in ("logistic of 2 everywhere, shaped-path",)}, parted, 1e-7),
}  # fmt: skip
RECORDS = list(LISTED.values())


@pytest.mark.planted
@pytest.mark.parametrize("record", LISTED)
def test_what_an_audit_looks_at_is_what_is_recorded(record):
    assert LISTED[record].all_differences() == []
