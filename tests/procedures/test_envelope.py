"""OPS beyond two dimensions: the law on the lattice, success on hostile data, the slack in the plan, and refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import sfumato as sf
from goodness import LEVEL, chi_square_p
from pricing import carried_out, trials_price
from sfumato.engines.opening import open_engine
from sfumato.errors import MechanismRefused, SfumatoError
from sfumato.procedures import envelope, lattice
from trial_models import D, ball, box, labelled, marginal, rows_of


@pytest.mark.parametrize(
    ("model", "pull"),
    [(box(), 0.0), (box(half=0.4), 3.0), (ball(), 0.0)],
    ids=["a box", "a box whose mode is at a corner", "a ball"],
)
def test_draws_follow_the_posterior_and_no_other_power(model, pull):
    n, power, draws = 40, 0.3, 3_000
    rows, labels = rows_of(n, pull)
    engine = open_engine(labelled(rows, labels), model, ("values",))
    values = carried_out(envelope, model, n, draws, envelope.Parameters(power, 60), engine, sf.seeded(3))
    half = model.prior.radius if isinstance(model.prior, sf.priors.Ball) else model.prior.upper[0]
    edges = np.linspace(-half, half, 13)
    observed = np.histogram(values[:, 0], edges)[0]
    for scale in (0.5, 1.0, 2.0):
        p = chi_square_p(observed, draws * marginal(model, rows, labels, power * scale, edges))
        assert (p > LEVEL) == (scale == 1.0), scale


HOSTILE = {
    "all alike": lambda rng, n: (np.tile([1.0, 0, 0], (n, 1)), np.ones(n)),
    "alike and contradicting": lambda rng, n: (np.tile([0.6, 0.8, 0], (n, 1)), np.where(np.arange(n) % 2, 1, -1)),
    "a corner": lambda rng, n: (np.full((n, 3), 0.577), np.ones(n)),
    "nothing": lambda rng, n: (np.zeros((n, 3)), np.ones(n)),
    "every axis, contradicting": lambda rng, n: (np.eye(3)[np.arange(n) // 2 % 3], np.where(np.arange(n) % 2, 1, -1)),
}


@pytest.mark.parametrize("name", list(HOSTILE))
@pytest.mark.parametrize("model", [box(half=1.0), ball(radius=4.0)], ids=["box", "ball"])
def test_a_trial_succeeds_at_least_as_often_as_promised_and_its_exponent_is_never_negative(model, name):
    n, power = 60, 0.3
    shape = envelope.envelope(model, n, power)
    rows, labels = HOSTILE[name](np.random.default_rng(0), n)
    engine = open_engine(labelled(rows, labels), model, ("values",))
    seen: list[np.ndarray] = []

    original = envelope.rejection.first_kept

    def watch(propose, exponent, trials, draws, otherwise, source, report):
        seen.append(exponent(propose(4_000)))
        return original(propose, exponent, 1, 1, otherwise, source, report)

    envelope.rejection.first_kept = watch
    try:
        carried_out(envelope, model, n, 1, envelope.Parameters(power, 1), engine, sf.seeded(1))
    finally:
        envelope.rejection.first_kept = original
    exponents = seen[0]
    assert exponents.min() >= 0
    chance = np.exp(-exponents)
    assert shape.best_acceptance >= shape.acceptance
    assert chance.mean() + 5 * chance.std() / math.sqrt(len(chance)) >= shape.best_acceptance


def test_the_plan_says_its_trials_and_slack_and_meets_the_target():
    model = box()
    plan = sf.plan(model, 300, 1.0, 1e-6, mechanism="exponential")
    assert set(dict(plan.parameters)) == {"power", "trials"}
    assert plan.guarantee.trust == "proved with slack"
    assert 0 < plan.guarantee.slack <= 1e-9
    assert plan.guarantee.delta(1.0) <= 1e-6
    assert plan.guarantee.delta(1.0) >= 1e-6 * (1 - 5e-3)
    assert "trials" in str(plan)
    assert "slack" in str(plan.guarantee)
    more = price_at(model, 300, float(plan["power"]) * (1 + 1e-3), int(plan["trials"]))
    assert more.delta(1.0) > 1e-6


def price_at(model, n, power, trials):
    return trials_price(model, n, power, 1, trials)


def test_a_release_verifies_and_fewer_trials_are_another_price():
    model = box()
    rows, labels = rows_of(50, 0.0)
    plan = sf.plan(model, 50, 1.0, 1e-6, mechanism="exponential", draws=2)
    release = sf.publish(plan, labelled(rows, labels))
    assert release.verify().draws.shape == (1, 2, 3)
    assert np.abs(release.draws.values).max() <= 1.5
    fewer = dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, trials=3))
    points = dataclasses.replace(plan, parameters=lattice.Parameters(plan["power"], 33))
    for forged in (fewer, points):
        with pytest.raises(SfumatoError):
            sf.publish(forged, labelled(rows, labels))


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        (ball(radius=0.5), {}, "must hold the mode"),
        (box(precision=0.02, half=4.0, d=8), {"epsilon": 3.0, "n": 3000}, "trials at power.*Proposition 13"),
        (box(loss=sf.losses.Hinge(1.0)), {}, "smooth convex loss"),
        (box(precision=0.02, half=4.0, d=8), {"delta": 0.0, "epsilon": 3.0, "n": 3000}, "pure draw.*trials at power"),
        (
            # A few records: then the proposals themselves take the time.
            box(precision=0.02, half=2.0, d=12),
            {"delta": 0.0, "epsilon": 5.0, "n": 20},
            r"3\.11e\+09 trials.*more than 833,333,333 for 20 records",
        ),
        (ball(precision=30.0, d=40), {"delta": 0.0, "epsilon": 0.1}, "10.* points.*err.*delta above 0"),
        (
            sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Box(sf.priors.Flat(), [-1.0] * 3, [1.0] * 3)),
            {},
            "strong convexity",
        ),
    ],
)
def test_what_is_out_of_reach_is_refused_with_what_it_would_take(model, options, said):
    with pytest.raises(MechanismRefused, match=said):
        sf.plan(model, **{"n": 300, "epsilon": 1.0, "delta": 1e-6, "mechanism": "exponential", **options})


@pytest.mark.planted
def test_no_exponent_is_negative_where_the_mode_lies_on_the_sphere():
    """Records that all pull one way and saturate: the lattice point next to the mode lies outside the ball.

    Values clipped there at what they reach inside would lift the level, and the kept law would no longer be the exact one.
    """

    def on_sphere(precision):
        loss = sf.losses.Huber(1.0, clip=1.0)
        return sf.Gibbs(loss, sf.priors.Ball(sf.priors.Gaussian(precision), radius=1.0), D)

    n = 100_000
    first = sf.plan(on_sphere(n * 0.0275), n, 0.1, 1e-7, mechanism="exponential")
    model = on_sphere(n * first["power"] * (1 + 1e-6))
    plan = sf.plan(model, n, 0.1, 1e-7, mechanism="exponential")
    shape = envelope.envelope(model, n, plan["power"])
    # The mode's first coordinate is just beyond the last half cell: it rounds to the cube's side, outside the ball.
    angle = math.acos(1 - 0.49 * shape.spacing[0])
    row = np.array([math.cos(angle), math.sin(angle) / math.sqrt(2), math.sin(angle) / math.sqrt(2)])
    schema = sf.Schema.vector(D, data_norm=1.0, target=sf.Number(-10, 10))
    data = sf.Dataset.from_arrays(np.tile(row, (n, 1)), np.full(n, 5.0), schema=schema)
    potential = envelope._Potential(model, n, plan["power"], open_engine(data, model, ("values",)), shape)
    centre, _ = envelope._centre(potential, shape)
    assert np.linalg.norm(potential.points(centre)) > 1
    level = potential(potential.points(centre)[None])[0]
    away = np.random.default_rng(0).normal(size=(400, D)) / math.sqrt(shape.curvature)
    places = np.rint((potential.points(centre) + away - potential.lower) / potential.spacing).astype(int)
    places = places[envelope._in_domain(model, potential.points(places))]
    offset = (places - centre) * potential.spacing
    base = 0.5 * shape.curvature * (offset**2).sum(axis=1)

    def least(found):
        return float(
            (found(potential.points(places)) - found(potential.points(centre)[None])[0] - base + shape.gap).min()
        )

    assert least(potential) >= 0
    # The planted fault is what was once done: values clipped at what they reach inside the ball.
    potential.bound /= shape.stretch
    assert potential(potential.points(centre)[None])[0] > level
    assert least(potential) < 0
