"""Draws in coordinates in which the rows are round: the price of every power, what one record moves, and the law of the draws."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from shape_replay import LOSSES, NORM, engine_of, hostile_rows, model_of, replayed

import sfumato as sf
from sfumato import storage
from sfumato.auditing.replay_noise import live
from sfumato.errors import AssumptionError, FormatError, MechanismRefused, SfumatoError
from sfumato.grids.line import spacing
from sfumato.procedures import shape_first, shaped_chain
from sfumato.procedures.protocol import Task
from sfumato.procedures.shaped_chain import MappedChain, Parameters
from sfumato.samplers import langevin
from sfumato.shapes import symmetric
from sfumato.theorems import weighted

N, D = 3000, 3
TERMS = {"epsilon": 4.0, "delta": 1e-6, "mechanism": "shaped-langevin"}


def data(n: int = N) -> sf.Dataset:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (n, D)) * [1.5, 1.0, 0.5]
    labels = rng.random(n) < 1 / (1 + np.exp(rows[:, 1] - 1.5 * rows[:, 0]))
    schema = sf.Schema.vector(D, data_norm=NORM, target=LOSSES["logistic"][2], name="survey")
    return sf.Dataset.from_arrays(rows, labels.astype(float), schema=schema)


def planned(**options) -> sf.Plan:
    return sf.plan(
        model_of("logistic", D, prior=sf.priors.Gaussian(0.5, mean=[0.1, 0.0, -0.2])), N, **{**TERMS, **options}
    )


@pytest.fixture(scope="module")
def released() -> sf.Release:
    return sf.publish(planned(draws=2), data(), randomness=sf.seeded(4))


# --- price ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("name", LOSSES)
def test_the_price_is_that_of_the_moments_and_the_mu_of_the_chain(name, draws):
    """mu^2 = (sqrt2 r^2/(n sigma))^2 + draws chain_mu^2, a tenth of it for the moments; labels are no part of them."""
    plan = sf.plan(model_of(name, 4, 1.0), N, **TERMS, draws=draws)
    moments = math.sqrt(2) * plan.model.loss.radius**2 / N / plan["moments_noise"]
    mu = plan.guarantee.curve.mu
    whole = math.hypot(moments, plan["chain_mu"] * math.sqrt(draws))
    assert whole < mu < whole * (1 + 1e-7)
    assert moments**2 == pytest.approx(0.1 * mu**2, rel=1e-6)
    assert 3.999 < plan.guarantee.epsilon(1e-6) <= 4
    assert plan.guarantee.draws == draws


REFUSED = {
    "a ball": (
        model_of("logistic", 3, prior=sf.priors.Ball(sf.priors.Gaussian(1.0), 2.0)),
        {},
        "Gaussian prior on all",
    ),
    "flat": (model_of("logistic", 3, prior=sf.priors.Ball(sf.priors.Flat(), 2.0)), {}, "Gaussian prior on all"),
    "softmax": (sf.Gibbs(sf.losses.Softmax(1.0, 3), sf.priors.Gaussian(1.0), 6), {}, "one score per labelled row"),
    "kinked": (sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Gaussian(1.0), 3), {}, "not bounded"),
    "goal": (model_of("logistic", 3), {"goal": "estimate"}, "for an estimate use 'shaped-path'"),
    "hidden": (model_of("logistic", 200), {"epsilon": 0.1}, "tell no direction of 200 columns"),
    "keep": (model_of("logistic", 3), {"keep": ("transcript",)}, "no transcript to keep"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_it_does_not_serve_is_refused_with_the_reason(what):
    model, options, reason = REFUSED[what]
    with pytest.raises(MechanismRefused, match=reason):
        sf.plan(model, N, **{**TERMS, **options})


def test_a_mu_that_was_fixed_beforehand_is_the_price_of_the_chains():
    said = {
        "convex": True, "priced_before_it_runs": True, "public_map": True, "weights_of_rows_alone": True,
        "public_start": True, "full_batch": True,
    }  # fmt: skip
    claim = weighted.budgeted_chain(mu=0.3, chains=4, **said)
    assert claim.curve == sf.Gaussian(0.3)
    assert claim.draws == 4
    for flag, wrong in itertools.product(said, (False, 1, None)):
        with pytest.raises(AssumptionError):
            weighted.budgeted_chain(mu=0.3, **{**said, flag: wrong})
    for wrong in (0.0, -1.0, math.nan, math.inf, None):
        with pytest.raises(AssumptionError):
            weighted.budgeted_chain(mu=wrong, **said)
    with pytest.raises(AssumptionError, match="number of chains"):
        weighted.budgeted_chain(mu=0.3, chains=0, **said)


def hostile_moments(rng: np.random.Generator, d: int, noise: float) -> list[np.ndarray]:
    """Published moments of any kind: usual ones, none resolved, one huge eigenvalue, all negative, nothing but noise."""
    rows = rng.normal(size=(50, d)) * 10.0 ** rng.uniform(-2, 0, d)
    usual = rows.T @ rows / 50 + symmetric.unpacked(noise * rng.normal(size=symmetric.length(d)), d)
    lone = np.diag([1e6] + [0.0] * (d - 1))
    found = [
        usual,
        np.zeros((d, d)),
        lone,
        -np.eye(d),
        symmetric.unpacked(noise * rng.normal(size=symmetric.length(d)), d),
    ]
    return [symmetric.packed(each) for each in found]


def test_the_power_is_the_largest_whose_price_is_within_the_mu():
    """Whatever the moments are: the chain costs no more than was fixed, and the power is at most 1."""
    rng = np.random.default_rng(7)
    ones = below = 0
    for name, d, mu in itertools.product(LOSSES, (1, 3, 20), (1e-3, 0.3, 30.0)):
        noise = 10.0 ** rng.uniform(-5, 0)
        n, draws, steps = int(10 ** rng.uniform(1, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 300))
        prior = sf.priors.Gaussian(10.0 ** rng.uniform(-3, 2))
        task = Task(model_of(name, d, prior=prior), n, draws, Parameters(noise, mu, steps))
        for moments in hostile_moments(rng, d, noise):
            chain = MappedChain.of(task, moments)
            power = chain.power(mu)
            assert 0 < power <= 1
            assert chain.price(power).curve.mu <= mu * math.sqrt(draws) * (1 + 1e-14)
            assert chain.price(power).draws == draws
            ones, below = ones + (power == 1), below + (power < 1)
            if power < 1:
                assert chain.price(power * 1.001).curve.mu > mu * math.sqrt(draws)
    assert ones > 20
    assert below > 20


def test_the_price_of_a_power_is_the_finite_step_formula():
    """mu_t = (h G + 2 e)/sqrt(2 h) sqrt(factor draws), with G = 2 s power, m and M of BPB and h = 1/M."""
    model = model_of("huber", 2, prior=sf.priors.Gaussian([[2.0, 0.3], [0.3, 1.0]]))
    task = Task(model, 200, 3, Parameters(0.01, 1.0, 40))
    chain = MappedChain.of(task, symmetric.packed(np.diag([2.0, 0.2])))
    pull = np.linalg.eigvalsh(chain.matrix @ np.array([[2.0, 0.3], [0.3, 1.0]]) @ chain.matrix)
    power = 0.4
    big = 200 * power * 3.0 * 1.0 + pull[1]
    c = 1 - pull[0] / big
    factor = (1 - c**40) / (1 + c**40) * (1 + c) / (1 - c)
    shift = 2 * 2.0 * power / big + 2 * chain.step_error(power)
    assert chain.price(power).curve.mu == pytest.approx(shift / math.sqrt(2 / big) * math.sqrt(3 * factor), rel=1e-9)
    assert chain.step_error(power) > 0


# --- what one record moves -----------------------------------------------------------------------------------------------------


@pytest.fixture
def lasts(monkeypatch) -> list[float]:
    """The means of the last normals, which are released rounded to their grid and here without noise."""
    found: list[float] = []

    def bare(bits, value, scale, grid):
        found.append(value)
        return round(Fraction(value) / grid)

    monkeypatch.setattr(langevin, "rounded_normal", bare)
    return found


@pytest.mark.parametrize("name", LOSSES)
def test_no_record_moves_a_step_by_more_than_is_priced(name, lasts):
    """At the same states and moments: |h grad U - h grad U'| <= h G + 2 e, and the noise of a step is sqrt(2 h)."""
    n, steps, worst = 24, 4, 0.0
    for place, (d, intercept, csr, mu, size) in enumerate(
        [(1, 0.0, False, 50.0, 1.0), (2, 1.0, True, 0.1, 1.0), (2, 0.0, False, 50.0, 0.0), (6, 1.0, False, 3.0, 100.0)]
    ):
        rng = np.random.default_rng([place, 5])
        model, width = model_of(name, d, intercept, sf.priors.Gaussian(0.1)), d - (intercept > 0)
        numbers = Parameters(math.sqrt(2) * model.loss.radius**2 / n / 5.0, mu, steps)
        task = Task(model, n, 2, numbers)
        rows, labels = rng.normal(size=(n, width)), rng.choice(LOSSES[name][1], n).astype(float)
        chosen = hostile_rows(rng, width)[rng.permutation(13)[:4]]
        # Weighted rows are longest where their mapped length is from 1 to the bend: that of about half a deviation to one.
        chosen = np.vstack([chosen, 0.75 * np.eye(width)[:1]])
        engines = [
            engine_of(model, name, np.vstack([row, rows[1:]]), np.append(y, labels[1:]), csr)
            for row, y in itertools.product(chosen, (min(LOSSES[name][1]), max(LOSSES[name][1])))
        ]
        lasts.clear()
        runs = replayed(task, engines, live(place, size), shaped_chain)
        ends = np.array(lasts).reshape(len(engines), 2, d)
        grid = float(spacing(numbers.moments_noise))
        chain = MappedChain.of(task, np.rint(runs[0][0].published / grid) * grid)
        power = chain.power(mu)
        h = chain.step(power)
        most = h * 2 * model.loss.largest_slope() * power + 2 * chain.step_error(power)
        for (one, end), (other, also) in itertools.combinations(zip(runs, ends, strict=True), 2):
            assert np.linalg.norm(one[0].values - other[0].values) / numbers.moments_noise <= 5.0 * (1 + 1e-12)
            shifts = [
                np.linalg.norm(a.values - b.values, axis=1).max() for a, b in zip(one[1:], other[1:], strict=True)
            ]
            shifts.append(np.linalg.norm(end - also, axis=1).max())
            assert len(shifts) == steps
            assert max(shifts) <= most
            worst = max(worst, max(shifts) / most)
        assert all(part.noise == math.sqrt(2 * h) for run in runs for part in run[1:])
    if name in ("huber", "smoothed hinge"):
        assert worst > 0.95


def test_the_potential_is_as_convex_and_as_smooth_as_is_priced():
    """A step of size 1/M brings two states together by 1 - h m, for every pair and at every distance."""
    rng = np.random.default_rng(9)
    for name in LOSSES:
        model = model_of(name, 3, prior=sf.priors.Gaussian(0.2))
        rows, labels = rng.normal(size=(24, 3)) * [1.5, 0.5, 0.02], rng.choice(LOSSES[name][1], 24).astype(float)
        task = Task(model, 24, 1, Parameters(1e-3, 5.0, 10))
        chain = MappedChain.of(task, symmetric.packed(rows.T @ rows / 24))
        power = chain.power(5.0)
        weighed, h = (
            engine_of(model, name, rows, labels).weighed(chain.matrix, shaped_chain.RULE.bend),
            chain.step(power),
        )
        states = rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-1, 2, (200, 1))
        moved = states - h * (power * weighed.gradient(states @ chain.matrix) @ chain.matrix + states @ chain.pull)
        apart, left = (np.linalg.norm(each[::2] - each[1::2], axis=1) for each in (states, moved))
        assert (left <= apart * (1 - h * chain.curvatures[0]) * (1 + 1e-9)).all()


# --- the law of the draws --------------------------------------------------------------------------------------------------------


def test_draws_of_a_long_chain_have_the_law_of_the_weighted_posterior():
    """1,500 chains of 400 steps in two dimensions, at a power below 1, against sums over a fine grid of states.

    A mean is within 4.5 standard errors and a bias of h L/2 deviations; the variance of a chain with step h lies between that
    of the law and 1/(1 - h L/2) of it, L being the largest curvature, up to 4.5 standard errors of sqrt(2/1500) of it.
    """
    rng, n, draws = np.random.default_rng(3), 40, 1500
    model = model_of("logistic", 2, prior=sf.priors.Gaussian(0.2, mean=[0.3, -0.1]))
    rows = rng.normal(size=(n, 2)) * [1.2, 0.4]
    labels = (rng.random(n) < 1 / (1 + np.exp(-2 * rows[:, 0]))).astype(float)
    engine = engine_of(model, "logistic", rows, labels)
    task = Task(model, n, draws, Parameters(0.02, 90.0 / math.sqrt(draws), 400))
    found = shaped_chain.carry_out(task, engine, sf.seeded(8))
    chain = MappedChain.of(task, found.published["moments"])
    power = chain.power(task.parameters.chain_mu)
    assert 0.2 < power < 0.9
    # The law on a grid of mapped states, by the loss itself.
    side = np.linspace(-12, 12, 241)
    states = np.array(np.meshgrid(side, side)).reshape(2, -1).T
    lengths = np.linalg.norm(rows @ chain.matrix, axis=1)
    v = np.minimum(np.minimum(1, 1 / lengths), shaped_chain.RULE.bend / lengths**2)
    theta = np.array([0.3, -0.1]) + states @ chain.matrix
    losses = np.logaddexp(0, -(2 * labels - 1) * (theta @ rows.T)) @ v
    energy = power * losses + 0.5 * np.einsum("ij,jk,ik->i", states, chain.pull, states)
    mass = np.exp(energy.min() - energy)
    mass /= mass.sum()
    assert mass.reshape(241, 241)[[0, -1]].sum() + mass.reshape(241, 241)[:, [0, -1]].sum() < 1e-6
    mean = mass @ states
    variance = mass @ (states - mean) ** 2
    z = np.linalg.solve(chain.matrix, (found.flat() - [0.3, -0.1]).T).T
    sharp = np.linalg.eigvalsh(power * 0.25 * (chain.matrix @ (rows.T * v) @ rows @ chain.matrix) + chain.pull)[-1]
    bias = chain.step(power) * sharp / 2
    assert bias < 0.25
    error = 4.5 / math.sqrt(draws)
    assert (np.abs(z.mean(axis=0) - mean) <= (error + bias) * np.sqrt(variance)).all()
    ratio = z.var(axis=0) / variance
    assert (ratio >= 1 - error * math.sqrt(2)).all()
    assert (ratio <= (1 + error * math.sqrt(2)) / (1 - bias)).all()


# --- release, file, verification --------------------------------------------------------------------------------------------------


def edited(release: sf.Release, arrays=None, numbers=None) -> sf.Release:
    """The release read from a file in which arrays (None: left out) and numbers of the plan were replaced."""
    documents, held = storage.unpack(release.to_bytes())
    document = copy.deepcopy(documents["release"])
    held = {name: array for name, array in {**held, **(arrays or {})}.items() if array is not None}
    document["plan"]["parameters"] |= numbers or {}
    text = json.dumps(document["plan"], sort_keys=True, separators=(",", ":"))
    document["plan_digest"] = hashlib.sha256(text.encode()).hexdigest()
    return sf.Release.from_bytes(storage.pack({"release": document}, held))


def test_a_release_is_verified_saved_and_read_back(released, tmp_path):
    released.verify().save(tmp_path / "x.sfumato")
    again = sf.load(tmp_path / "x.sfumato").verify()
    assert again.to_bytes() == released.to_bytes() == edited(released).to_bytes()
    assert sf.publish(planned(draws=2), data(), randomness=sf.seeded(4)).to_bytes() == released.to_bytes()
    assert set(released.draws.published) == {"moments"}
    assert released.draws.shape == (2, 1, D)


def forged_arrays(release: sf.Release) -> dict[str, dict]:
    moments, draws = release.draws.published["moments"].copy(), release.draws.values.copy()
    grid = float(spacing(release.plan["parameters"]["moments_noise"]))
    return {
        "moments off the grid": {"moments": moments + grid / 4},
        "moments moved": {"moments": moments + 2.0**20 * grid},
        "absurd moments": {"moments": moments + 2.0**300},
        "no moments": {"moments": None},
        "too few": {"moments": moments[:-1]},
        "curvature too": {"curvature": moments},
        "a transcript": {"transcript": np.zeros((2, 1, D))},
        "totals": {"totals": np.zeros(2)},
        "a draw moved": {"draws": draws * (1 + 1e-7)},
        "a draw far away": {"draws": draws + 2.0**40},
        "no number": {"draws": draws * math.nan},
    }


@pytest.mark.parametrize(
    "what",
    ["moments off the grid", "moments moved", "absurd moments", "no moments", "too few", "curvature too", "a transcript",
     "totals", "a draw moved", "a draw far away", "no number"],
)  # fmt: skip
def test_a_forged_array_is_refused(released, what):
    with pytest.raises(FormatError):
        edited(released, forged_arrays(released)[what]).verify()


@pytest.mark.parametrize("number", ["moments_noise", "chain_mu"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_an_edited_number_is_refused(released, number, factor):
    with pytest.raises(SfumatoError):
        edited(released, numbers={number: released.plan["parameters"][number] * factor}).verify()


def test_a_chain_without_steps_has_no_price():
    plan = planned()
    with pytest.raises(FormatError, match="contradict"):
        shaped_chain.price(plan.model, N, 1, replace(plan.parameters, steps=0))


def test_a_map_from_the_rows_themselves_is_caught_by_verify(monkeypatch):
    """Threat 23: draws lie on no grid that follows from the published moments."""
    publish, learnt, raw = shape_first.publish_moments, shape_first.learnt, []

    def publish_and_keep(model, engine, noise, label, source):
        raw[:] = [symmetric.packed(engine.moments(model.loss.radius, label) / engine.n)]
        return publish(model, engine, noise, label, source)

    with monkeypatch.context() as planted:
        planted.setattr(shape_first, "publish_moments", publish_and_keep)
        planted.setattr(shape_first, "learnt", lambda model, _, *public: learnt(model, raw[0], *public))
        release = sf.publish(planned(), data(), randomness=sf.seeded(3))
    with pytest.raises(FormatError, match="draws"):
        release.verify()


def test_a_plan_of_more_draws_expects_less_of_each():
    """The price is for all chains, so that each has 1/sqrt(draws) of its mu and a power of 1/draws."""
    one, many = (planned(draws=draws) for draws in (1, 50))
    assert many["chain_mu"] == pytest.approx(one["chain_mu"] / math.sqrt(50), rel=1e-6)
    assert many.guarantee.curve.mu == pytest.approx(one.guarantee.curve.mu, rel=1e-6)
    assert many.expected.value > 2 * one.expected.value


def test_the_price_of_several_chains_is_rounded_up_and_hardly():
    """In fractions: the square of what is charged is at least draws times mu squared."""
    random = np.random.default_rng(5)
    for mu, draws in zip(random.uniform(0.01, 3, 200).tolist(), random.integers(1, 60, 200).tolist(), strict=True):
        charged, exact = Fraction(shaped_chain._together(mu, draws)) ** 2, Fraction(mu) ** 2 * draws
        assert exact <= charged <= exact * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_curvatures_enclose_the_eigenvalues_by_more_than_their_rounding(scale):
    """A symmetric eigenvalue solver is off by a few units of the norm times the dimension."""
    chain = MappedChain.of(Task(model_of("huber", 2), 200, 3, Parameters(0.01, 1.0, 40)), symmetric.packed(np.eye(2)))
    base = np.random.default_rng(8).normal(size=(6, 6))
    pull = scale * (base @ base.T)
    values, unit = np.linalg.eigvalsh(pull), 2.0**-53
    low, high = replace(chain, pull=pull).curvatures
    assert 6 * unit * values[-1] < values[0] - low < 1e4 * unit * values[-1]
    assert 6 * unit * values[-1] < high - values[-1] < 1e4 * unit * values[-1]
