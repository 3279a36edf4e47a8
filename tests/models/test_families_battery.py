"""Every family through the same tests: what it counts, what it costs, what it draws and what it leads a reader to expect."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from family_cases import CASES, Case

import sfumato as sf
from effort import LONG, sized
from sfumato import procedures
from sfumato.dataset import rows_of
from sfumato.engines.codes import CodesEngine
from sfumato.mechanisms import serving
from sfumato.models import families
from sfumato.samplers.laws import log_error

MECHANISMS = ("exact", "diffused", "concentrated", "exponential", "noisy-statistics")
SERVED = [
    (name, mechanism)
    for name, case in CASES.items()
    for mechanism in MECHANISMS
    if not isinstance(serving(mechanism, case.model, "draws", "proved"), str)
]


def totals(case: Case, data: sf.Dataset) -> np.ndarray:
    counts = CodesEngine(data, case.model.columns(case.schema)).totals(case.model.tally)
    return np.array([float(count * unit) for count, unit in zip(counts, case.model.units, strict=True)])


def permuted(table, order):
    return {key: np.asarray(value)[order] for key, value in table.items()} if isinstance(table, dict) else table[order]


def test_every_family_is_in_the_battery():
    known = {name for name in families.TABLE if families.TABLE[name].drawn and not families.TABLE[name].utility}
    assert known <= {case.model.name for case in CASES.values()}


@pytest.mark.parametrize("name", list(CASES))
def test_totals_add_up_and_no_order_changes_them(name):
    case = CASES[name]
    rng = np.random.default_rng(3)
    table = case.records(rng, case.truth(rng), 60)
    whole = totals(case, case.made(table))
    np.testing.assert_array_equal(whole, totals(case, case.made(permuted(table, rng.permutation(60)))))
    halves = [totals(case, case.made(permuted(table, part))) for part in (np.arange(23), np.arange(23, 60))]
    np.testing.assert_allclose(whole, halves[0] + halves[1], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("name", list(CASES))
def test_one_replaced_record_moves_the_totals_by_no_more_than_the_reach(name):
    """And the reach is not idle: some pair of records moves them by most of it."""
    case = CASES[name]
    rng = np.random.default_rng(4)
    tables = [case.records(rng, case.truth(rng), 40) for _ in range(6)]
    singles = np.array([
        totals(case, case.made(permuted(table, np.array([i])))) for table in tables for i in range(40)
    ])  # fmt: skip
    moves = np.linalg.norm(singles[:, None, :] - singles[None, :, :], axis=-1)
    assert moves.max() <= case.model.sensitivity
    assert moves.max() >= 0.3 * case.model.sensitivity
    assert np.linalg.norm(singles, axis=-1).max() <= case.model.sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("name", list(CASES))
def test_documents_read_back(name):
    model = CASES[name].model
    again = families.from_json(json.loads(json.dumps(model.to_json())))
    assert again == model
    assert hash(again) == hash(model)
    assert model.name in repr(model) or model.name == "Grouped"


# BetaBinomial is priced and drawn as BetaBernoulli, and "concentrated" calibrates a strength as "diffused" does a power:
# the quick form takes each of these searches, which are the slow ones, for fewer families.
SLOW = [
    *(
        (name, "concentrated")
        for name in ("BetaBernoulli", "BetaBinomial", "GammaPoisson", "NormalPrecision", "LogitNormal")
    ),
    ("BetaBinomial", "diffused"),
]
PLANNED = sized([pair for pair in SERVED if pair not in SLOW], SERVED)


def released_draws(mechanism: str) -> int:
    """A power or strength for several draws is searched among compositions, which takes long; other plans are for two."""
    return sized(1, 2) if mechanism in ("diffused", "concentrated") else 2


@cache
def small_plan(name: str, mechanism: str, draws: int) -> sf.Plan:
    """A plan for 40 records at (1, 1e-6)."""
    target = {} if mechanism == "exact" else {"epsilon": 1.0, "delta": 1e-6}
    return sf.plan(CASES[name].model, 40, mechanism=mechanism, draws=draws, **target)


@pytest.mark.parametrize(("name", "mechanism"), PLANNED)
@pytest.mark.planted
def test_a_calibrated_plan_is_just_within_its_target(name, mechanism):
    case = CASES[name]
    # The quick form takes the plan that is released below.
    size, epsilon, draws = sized((40, 1.0, released_draws(mechanism)), (case.n, 0.5, 1))
    target = {} if mechanism == "exact" else {"epsilon": epsilon, "delta": 1e-6}
    if LONG:
        plan = sf.plan(case.model, size, mechanism=mechanism, **target)
    else:
        plan = small_plan(name, mechanism, draws)
    if mechanism == "exact":
        assert plan.guarantee.epsilon(1e-6) > 0
        return
    assert plan.guarantee.epsilon(1e-6) <= epsilon
    key, factor = next(
        (key, f) for key, f in (("noise", 1 - 1e-6), ("power", 1 + 1e-6), ("strength", 1 - 1e-6))
        if key in dict(plan.parameters) and dict(plan.parameters)[key] != 1.0
    )  # fmt: skip
    beyond = dict(plan.parameters) | {key: plan[key] * factor}
    procedure = procedures.named(plan.procedure)
    assert procedure.price(case.model, size, draws, procedure.Parameters(**beyond)).epsilon(1e-6) > epsilon


@pytest.mark.parametrize(("name", "mechanism"), PLANNED)
def test_a_release_has_the_familys_shape_and_verifies(name, mechanism, tmp_path):
    case = CASES[name]
    draws = released_draws(mechanism)
    plan = small_plan(name, mechanism, draws)
    release = sf.publish(plan, case.dataset(np.random.default_rng(5), 40))
    assert release.draws.shape == (1, draws, *case.model.draw_shape)
    assert release.draws.labels == case.model.labels
    release.save(tmp_path / "x.sfumato")
    again = sf.load(tmp_path / "x.sfumato").verify()
    np.testing.assert_array_equal(again.draws.values, release.draws.values)


# The quick form takes one mechanism of every family; the long one all of them. Releases of these families take longest, and
# test_gamma_expectations.py and test_logit_normal.py compare the same expectation with releases on a coarser grid.
ELSEWHERE = ("GammaPoisson", "ExponentialRate", "LaplaceScale", "NormalPrecision", "LogitNormal")
EXPECTED = sized(
    [
        (name, next(m for m in ("diffused", "exponential", "noisy-statistics") if (name, m) in SERVED))
        for name in CASES
        if name.partition(",")[0] not in (*ELSEWHERE, "BetaBinomial")
    ],
    SERVED,
)


@pytest.mark.parametrize(("name", "mechanism"), EXPECTED)
def test_what_is_expected_is_what_200_releases_give(name, mechanism):
    case = CASES[name]
    target = {} if mechanism == "exact" else {"epsilon": 1.0, "delta": 1e-6}
    plan = sf.plan(case.model, case.n, mechanism=mechanism, **target)
    # Several draws of each release, all at the price of one: only the quantile's own noise gets smaller.
    count = sized(3, 8)
    many = replace(plan, draws=count)
    rng, stream = np.random.default_rng(7), sf.seeded(7)
    errors: list[float] = []
    for _ in range(200):
        truth = case.truth(rng)
        engine = CodesEngine(case.dataset(rng, truth=truth), case.model.columns(case.schema))
        drawn = (
            procedures.named(many.procedure).carry_out(many.task, engine, stream.spawn()).values[0].reshape(count, -1)
        )
        centre = np.broadcast_to(np.ravel(truth), drawn.shape)
        if case.model.name == "Grouped":
            errors += list(np.abs(drawn - centre).ravel())
        else:
            errors += list(case.model.distance(drawn, centre))
    assert plan.expected.value == pytest.approx(np.quantile(errors, 0.9), rel=0.15)


@pytest.mark.parametrize("name", [name for name in CASES if name != "Grouped"])
def test_public_records_become_part_of_the_prior(name):
    case = CASES[name]
    rng = np.random.default_rng(7)
    truth = case.truth(rng)
    public, private = (case.records(rng, truth, size) for size in (25, 40))
    seen = case.model.with_public(public, schema=case.schema)
    both = {key: np.concatenate([public[key], private[key]]) for key in public} if isinstance(public, dict) else (
        np.concatenate([public, private])
    )  # fmt: skip
    first = seen.natural(totals(case, case.made(private))[None, :], 40)
    second = case.model.natural(totals(case, case.made(both))[None, :], 65)
    # Natural parameters may be written relative to the prior: what must agree are the posteriors' draws.
    draws = [
        model.sketch(np.random.default_rng(1), np.repeat(natural, 50, axis=0))
        for model, natural in ((seen, first), (case.model, second))
    ]
    np.testing.assert_allclose(draws[0], draws[1], rtol=1e-6)
    with pytest.raises(sf.errors.ArgumentError, match="private rows"):
        case.model.with_public(case.made(private), schema=case.schema)


@pytest.mark.parametrize("name", list(CASES))
def test_divergence_is_zero_at_itself_and_positive_elsewhere(name):
    model, n = CASES[name].model, CASES[name].n
    _, invented = model.simulate(np.random.default_rng(8), 20, n)
    same = model.divergence(model.natural(invented, n), model.natural(invented, n))
    other = model.divergence(model.natural(invented, n), model.natural(invented, n, 0.3))
    assert np.abs(same).max() < 1e-7
    assert other.min() > 0


@pytest.mark.parametrize("name", list(CASES))
def test_no_public_choice_depends_on_the_records(name):
    """The error that is charged, and so grid and quadrature, is that of the law of any data set."""
    from sfumato.samplers import laws

    case = CASES[name]
    rng = np.random.default_rng(9)
    charged = log_error(case.model.public_law(40, 0.7, 1.0))
    for _ in range(4):
        counts = CodesEngine(case.dataset(rng, 40), case.model.columns(case.schema)).totals(case.model.tally)
        exact = [Fraction(count) * unit for count, unit in zip(counts, case.model.units, strict=True)]
        assert laws.log_error(case.model.law(exact, 40, 0.7, 1.0)) == charged
    assert math.isfinite(charged)
    assert rows_of(case.dataset(rng, 40)).n == 40
