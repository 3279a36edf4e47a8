"""Posteriors with kinks under the sharp theorem: masses against quadrature, draws, measured price, and refusals."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import integrate

import sfumato as sf
from goodness import LEVEL, chi_square_p
from pricing import carried_out
from sfumato.engines.opening import open_engine
from sfumato.errors import MechanismRefused, SfumatoError
from sfumato.procedures import kinked_grid
from sfumato.samplers.langevin import silent

SIGNS = sf.Category([-1, 1], missing=-1)
HINGE, QUANTILE = sf.losses.Hinge(1.0), sf.losses.Quantile(1.0, quantile=0.8)
VALUE = {
    "hinge": lambda u, y: np.maximum(0, 1 - y * u),
    "quantile": lambda u, y: (u - y) * ((u >= y) - 0.8),
}


def data(loss, rows, labels) -> sf.Dataset:
    target = SIGNS if loss.name == "hinge" else sf.Number(-1e12, 1e12)
    return sf.Dataset.from_arrays(rows, labels, schema=sf.Schema.vector(rows.shape[1], data_norm=1.0, target=target))


def sample(loss, n: int, d: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, size=(n, d)) / math.sqrt(d)
    labels = rng.choice([-1, 1], n) if loss.name == "hinge" else np.round(rng.normal(size=n), 3)
    return rows, labels


@pytest.mark.parametrize("loss", [HINGE, QUANTILE], ids=["hinge", "quantile"])
def test_masses_of_cells_are_integrals_of_the_interpolated_potential(loss):
    n, power, count = 30, 0.4, 64
    model = sf.Gibbs(loss, sf.priors.Box(sf.priors.Gaussian(2.0, mean=[0.3]), [-2.0], [1.5]), 1)
    rows, labels = sample(loss, n, 1)
    if loss.name == "quantile":
        labels[:3] = [1e11, -1e11, 40.0]
    logs, middle = kinked_grid.log_masses(
        model, power, count, open_engine(data(loss, rows, labels), model, ("values",))
    )
    nodes = np.linspace(-2.0, 1.5, count + 1)
    values = VALUE[loss.name](rows @ nodes[None], labels[:, None]) - VALUE[loss.name](0 * nodes[None], labels[:, None])
    if loss.name == "quantile":  # the two far labels: their difference is linear, written down directly
        values[0], values[1] = -0.8 * rows[0] * nodes, 0.2 * rows[1] * nodes
    summed = power * values.sum(axis=0)
    wanted = [
        integrate.quad(lambda t: math.exp(-np.interp(t, nodes, summed) - (t - 0.3) ** 2), a, b, epsabs=0, epsrel=1e-13)[
            0
        ]
        for a, b in itertools.pairwise(nodes)
    ]
    found = np.exp(np.array(logs) / 2.0**48)
    np.testing.assert_allclose(found / found.sum(), np.array(wanted) / np.sum(wanted), rtol=1e-6)
    off = np.exp(np.array(logs) * 1.001 / 2.0**48)
    assert np.abs(off / off.sum() / (np.array(wanted) / np.sum(wanted)) - 1).max() > 1e-5
    np.testing.assert_allclose(middle, 0.5 * (nodes[1:] + nodes[:-1]))


@pytest.mark.parametrize("loss", [HINGE, QUANTILE], ids=["hinge", "quantile"])
def test_no_pair_of_neighbours_exceeds_the_price_and_the_worst_come_near(loss):
    n, power, count = 3, 0.5, 512
    model = sf.Gibbs(loss, sf.priors.Box(sf.priors.Gaussian(1.0), [-6.0], [6.0]), 1)
    claim = kinked_grid.price(model, n, 1, kinked_grid.Parameters(power, 1.0, count))
    far = 1 if loss.name == "hinge" else 50.0
    worlds = [(np.array([[a], [0.1], [-0.2]]), np.array([y, far, far])) for a in (-1.0, 0.3, 1.0) for y in (-far, far)]
    laws = []
    for rows, labels in worlds:
        logs, _ = kinked_grid.log_masses(model, power, count, open_engine(data(loss, rows, labels), model, ("values",)))
        mass = np.exp((np.array(logs) - max(logs)) / 2.0**48)
        laws.append(mass / mass.sum())
    worst = 0.0
    for p in laws:
        for q in laws:
            for epsilon in (0.0, 0.5, 1.0):
                found = np.maximum(p - math.exp(epsilon) * q, 0).sum()
                assert found <= claim.delta(epsilon)
                worst = max(worst, found / claim.delta(epsilon))
    assert worst > (0.3 if loss.name == "hinge" else 0.9)


@pytest.mark.planted
def test_draws_on_an_interval_follow_the_posterior_and_no_other_power():
    n, draws = 40, 20_000
    model = sf.Gibbs(HINGE, sf.priors.Gaussian(1.0), 1)
    rows, labels = sample(HINGE, n, 1)
    engine = open_engine(data(HINGE, rows, labels), model, ("values",))
    numbers = kinked_grid.at(model, n, draws, 0.3, 1.0)
    values = carried_out(kinked_grid, model, n, draws, numbers, engine, sf.seeded(2))
    edges = np.linspace(-3, 3, 25)
    observed = np.histogram(np.clip(values.ravel(), -2.999, 2.999), edges)[0]
    t = np.linspace(-8, 8, 64_001)
    for scale in (0.7, 1.0, 1.3):
        summed = VALUE["hinge"](rows @ t[None], labels[:, None]).sum(axis=0)
        density = np.exp(-0.3 * scale * (summed - summed.min()) - 0.5 * t * t)
        expected = np.histogram(np.clip(t, -2.999, 2.999), edges, weights=density)[0]
        p = chi_square_p(observed, draws * expected / expected.sum())
        assert (p > LEVEL) == (scale == 1.0), scale


def test_draws_on_a_box_follow_the_posterior_and_no_other_power():
    n, draws, power = 25, 3_000, 0.4
    model = sf.Gibbs(HINGE, sf.priors.Box(sf.priors.Gaussian(1.0), [-2.0, -2.0], [2.0, 2.0]), 2)
    rows, labels = sample(HINGE, n, 2)
    labels = np.where(rows[:, 0] > 0, 1, -1)
    engine = open_engine(data(HINGE, rows, labels), model, ("values",))
    values = kinked_grid._draw_points(model, n, power, 65, 60, draws, engine, sf.seeded(4), silent)
    edges = np.linspace(-2, 2, 11)
    observed = np.histogram(values[:, 0], edges)[0]
    axis = (np.arange(400) + 0.5) / 100 - 2
    theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    summed = np.maximum(0, 1 - labels[:, None, None] * np.einsum("nd,abd->nab", rows, theta)).sum(axis=0)
    for scale in (0.5, 1.0, 2.0):
        mass = np.exp(-power * scale * summed - 0.5 * (theta**2).sum(axis=2)).sum(axis=1).reshape(10, 40).sum(axis=1)
        p = chi_square_p(observed, draws * mass / mass.sum())
        assert (p > LEVEL) == (scale == 1.0), scale


@pytest.mark.parametrize("mechanism", ["diffused", "concentrated", "exact"])
def test_a_plan_with_kinks_meets_its_target_and_its_release_verifies(mechanism):
    n = 200
    model = sf.Gibbs(HINGE, sf.priors.Gaussian(1.0), 1)
    plan = sf.plan(model, n, 1.0, 1e-6, mechanism=mechanism)
    assert plan.guarantee.trust == "proved"
    assert 1e-6 * (1 - 1e-6) <= plan.guarantee.delta(1.0) <= 1e-6
    rows, labels = sample(HINGE, n, 1)
    release = sf.publish(plan, data(HINGE, rows, labels))
    assert release.verify().draws.shape == (1, 1, 1)
    coarser = dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, points=3))
    with pytest.raises(SfumatoError):
        sf.publish(coarser, data(HINGE, rows, labels))


def test_two_dimensions_carry_a_slack_and_their_trials():
    model = sf.Gibbs(QUANTILE, sf.priors.Box(sf.priors.Gaussian(1.0), [-2.0, -2.0], [2.0, 2.0]), 2)
    plan = sf.plan(model, 60, 1.0, 1e-6, mechanism="diffused")
    assert set(dict(plan.parameters)) == {"power", "strength", "points", "trials"}
    assert 0 < plan.guarantee.slack < 1e-13
    assert plan.guarantee.delta(1.0) <= 1e-6
    rows, labels = sample(QUANTILE, 60, 2)
    release = sf.publish(plan, data(QUANTILE, rows, labels)).verify()
    assert np.abs(release.draws.values).max() <= 2.0
    fewer = dataclasses.replace(plan, parameters=dataclasses.replace(plan.parameters, trials=2))
    with pytest.raises(SfumatoError):
        sf.publish(fewer, data(QUANTILE, rows, labels))


@pytest.mark.parametrize(
    ("model", "n", "said"),
    [
        (sf.Gibbs(HINGE, sf.priors.Gaussian(1.0), 3), 100, "one or two dimensions"),
        (sf.Gibbs(HINGE, sf.priors.Gaussian(1.0)), 100, "one or two dimensions"),
        (sf.Gibbs(HINGE, sf.priors.Ball(sf.priors.Gaussian(1.0), radius=1.0), 2), 100, "Box"),
        (sf.Gibbs(HINGE, sf.priors.Gaussian(1.0), 2), 100_000, "cells a side"),
    ],
)
def test_what_is_not_proved_or_too_much_work_is_refused(model, n, said):
    with pytest.raises(MechanismRefused, match=said):
        sf.plan(model, n, 1.0, 1e-7, mechanism="diffused")


def test_auto_serves_a_pure_target_where_only_the_exponential_mechanism_can():
    model = sf.Gibbs(HINGE, sf.priors.Ball(sf.priors.Gaussian(1.0), radius=2.0), 1)
    assert sf.plan(model, 100, 1.0, 0.0).mechanism == "exponential"
    assert sf.plan(model, 100, 1.0, 1e-6).mechanism == "exact"
