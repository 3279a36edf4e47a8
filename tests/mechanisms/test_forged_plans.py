"""Plans and records that were edited after planning: whatever the draw depends on is priced again, or refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.draws import Draws
from sfumato.errors import FormatError, SfumatoError
from sfumato.mechanisms import repriced

BITS = sf.Schema({"x": sf.Boolean(missing=False)}, name="s")


def bits(n: int) -> sf.Dataset:
    return sf.Dataset.from_table({"x": np.arange(n) % 2 == 0}, schema=BITS)


def forged(plan: sf.Plan, **changes) -> sf.Plan:
    numbers = {key: changes.pop(key, value) for key, value in plan.parameters}
    return dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, **numbers), **changes)


def priced_again(plan: sf.Plan) -> sf.Guarantee:
    return repriced(plan.mechanism, plan.procedure, plan.goal, plan.task)[1]


STRONG = sf.families.BetaBernoulli(10.0, 10.0)
TRUNCATED = sf.families.BetaBernoulli(5.0, 5.0, floor=0.01)
FORGERIES = {
    "an unbounded family under the name of a pure mechanism": lambda: forged(
        sf.plan(STRONG, 10, 1.0, 1e-6, mechanism="diffused"), mechanism="exponential", strength=1e-3
    ),
    "a truncated prior weakened": lambda: forged(sf.plan(TRUNCATED, 10, mechanism="exact"), strength=1e-4),
    "a truncated prior weakened, exponential": lambda: forged(
        sf.plan(TRUNCATED, 10, 1.0, 1e-6, mechanism="exponential"), strength=1e-4
    ),
    "a power raised": lambda: forged(sf.plan(STRONG, 10, 1.0, 1e-6, mechanism="diffused"), power=1.0),
    "noise lowered": lambda: forged(sf.plan(STRONG, 10, 1.0, 1e-6, mechanism="noisy-statistics"), noise=0.1),
    "more draws": lambda: dataclasses.replace(sf.plan(STRONG, 10, 1.0, 1e-6, mechanism="diffused"), draws=5),
    "a parameter added": lambda: dataclasses.replace(
        sf.plan(STRONG, 10, 1.0, 1e-6, mechanism="noisy-statistics"), parameters=(("noise", 9.0), ("power", 1.0))
    ),
}


@pytest.mark.parametrize("name", list(FORGERIES))
def test_a_forged_plan_is_not_published(name):
    with pytest.raises(SfumatoError):
        sf.publish(FORGERIES[name](), bits(10))


ROWS = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0))
REGRESSION = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(5.0), dimension=2)
CHAINS = {
    "a longer step": lambda: forged(sf.plan(REGRESSION, 40, 1.0, 1e-6), step=0.3),
    "more steps": lambda: forged(sf.plan(REGRESSION, 40, 1.0, 1e-6, steps=3), steps=500),
    "a higher power": lambda: forged(sf.plan(REGRESSION, 40, 0.5, 1e-6), power=1.0),
    "less noise on the path": lambda: forged(
        sf.plan(REGRESSION, 40, 1.0, 1e-6, mechanism="langevin-path", goal="estimate"), noise=1e-3
    ),
    "a longer path": lambda: forged(
        sf.plan(REGRESSION, 40, 1.0, 1e-6, mechanism="langevin-path", goal="estimate"), steps=4000
    ),
}


@pytest.mark.parametrize("name", list(CHAINS))
def test_a_forged_chain_is_not_run(name):
    rng = np.random.default_rng(1)
    data = sf.Dataset.from_arrays(rng.uniform(-0.5, 0.5, (40, 2)), rng.integers(0, 2, 40), schema=ROWS)
    with pytest.raises(SfumatoError):
        sf.publish(CHAINS[name](), data)


def rewritten(release: sf.Release, model: sf.families.GammaPoisson, draws: Draws | None = None) -> sf.Release:
    """A release whose model was edited and everything that follows from it recomputed."""
    plan = sf.plan(model, release.plan["n"], mechanism="exact")
    document = {**release.plan, "model": model.to_json(), "guarantee": plan.guarantee.to_json()}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    guarantee = dataclasses.replace(plan.guarantee, unit="row")
    return dataclasses.replace(
        release,
        plan=document,
        plan_digest=hashlib.sha256(text.encode()).hexdigest(),
        guarantee=guarantee,
        draws=release.draws if draws is None else draws,
    )


def test_a_model_that_does_not_fit_its_schema_is_no_release():
    model = sf.families.GammaPoisson(20, 1, 100)
    data = sf.Dataset.from_table({"x": np.arange(50.0)}, schema=sf.Schema({"x": sf.Number(0, 100)}, name="s"))
    release = sf.publish(sf.plan(model, 50, mechanism="exact"), data)
    assert rewritten(release, model).verify()
    with pytest.raises(SfumatoError, match="must contain"):
        rewritten(release, sf.families.GammaPoisson(20, 1, 1)).verify()
    wide = Draws(np.ones((1, 1, 7)), tuple("abcdefg"))
    with pytest.raises(SfumatoError, match="shape"):
        rewritten(release, model, wide).verify()


def test_a_plan_that_could_never_be_drawn_is_not_made():
    with pytest.raises(SfumatoError):
        sf.plan(sf.families.GammaPoisson(1, 1, 10**8), 1000, 1.0, 1e-6, mechanism="noisy-statistics")
    with pytest.raises(SfumatoError):
        sf.plan(sf.families.BetaBinomial(1 << 46), 1 << 20, 1.0, 1e-9, mechanism="noisy-statistics")
    for family in (lambda b: sf.families.GammaPoisson(1, 1, b), sf.families.BetaBinomial):
        with pytest.raises(SfumatoError, match="at most 2\\^46"):
            family(1 << 47)


def path_plan():
    model = sf.Gibbs(sf.losses.Huber(1.0, clip=1.0), sf.priors.Gaussian(1.0), 2)
    return sf.plan(model, 100, 1.0, 1e-6, mechanism="langevin-path", goal="estimate")


def test_a_learning_rate_so_small_that_squares_vanish_does_not_make_a_path_free():
    """Noise of 0.0355 over 2,000 steps costs mu 25; in subnormal numbers it once cost nothing."""
    plan, sigma, steps = path_plan(), 0.0355, 2000
    eta = 2.74e-162 / sigma
    h = 0.5 * (eta * sigma) ** 2
    edited = forged(
        plan, noise=sigma, learning_rate=eta, steps=steps, tail=1, step=h, power=eta / (100 * h), momentum=0.0
    )
    with pytest.raises(SfumatoError):
        priced_again(edited)
    step = 0.5 * (plan["learning_rate"] * sigma) ** 2
    honest = forged(plan, noise=sigma, steps=steps, step=step, power=plan["learning_rate"] / (100 * step))
    found = priced_again(honest)
    assert found.curve.mu == pytest.approx(np.sqrt(steps) * 2 / (100 * sigma), rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"power": 1.0},
        {"step": 1.0},
        {"tail": 0},
        {"tail": 10**6},
        {"momentum": 1.5},
        {"noise": float("nan")},
        {"noise": "0.1"},
    ],
    ids=str,
)
def test_numbers_of_a_path_that_contradict_each_other_are_refused(change):
    edited = forged(path_plan(), **change)
    with pytest.raises(SfumatoError):
        priced_again(edited)


@pytest.mark.parametrize("strength", ["x", 0.0, -1.0, float("inf"), True])
def test_a_strength_that_is_no_number_is_refused(strength):
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2)
    edited = forged(sf.plan(model, 100, 1.0, 1e-6, mechanism="diffused"), strength=strength)
    with pytest.raises(SfumatoError):
        priced_again(edited)


def test_a_proof_that_was_not_given_is_no_proof():
    """A stripped assumption or another theorem changes no number, and is still a forgery."""
    schema = sf.Schema({"x": sf.Number(-1, 1), "y": sf.Boolean(missing=False)}, target="y", name="points")
    rng = np.random.default_rng(1)
    data = sf.Dataset.from_table({"x": rng.uniform(-1, 1, 200), "y": rng.random(200) < 0.5}, schema=schema)
    model = sf.Gibbs(sf.losses.Logistic(schema.design().radius), sf.priors.Gaussian(10.0), 1)
    release = sf.publish(sf.plan(model, 200, 1.0, 1e-6, mechanism="langevin"), data)
    assert release.verify() is release
    stripped = tuple(a for a in release.guarantee.assumptions if a.origin != "assumed")
    for change in ({"assumptions": stripped}, {"theorem": "one-time pad"}, {"source": "hearsay"}):
        claimed = dataclasses.replace(release.guarantee, **change)
        forged = dataclasses.replace(release, guarantee=claimed)
        with pytest.raises(FormatError, match="theorem"):
            forged.verify()


@pytest.mark.parametrize(
    "schema", [{}, {"document": "x", "digest": "", "unit": "row"}, {"document": "{}", "unit": "row"}, None]
)
def test_a_record_that_lacks_a_part_is_refused_in_a_sentence(schema):
    data = sf.Dataset.from_table(
        {"x": np.arange(50) < 20}, schema=sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")
    )
    release = sf.publish(sf.plan(sf.families.BetaBernoulli(1, 1), 50, 1.0, 1e-6), data)
    with pytest.raises(FormatError):
        dataclasses.replace(release, schema=schema).verify()
