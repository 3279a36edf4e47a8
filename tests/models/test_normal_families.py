"""Normal families: draws follow the closed form, the price is met exactly, totals are exact, expectations hold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

import sfumato as sf
from goodness import LEVEL, uniform_p
from grid_oracle import hockey_stick, normalised
from pricing import family_price
from sfumato.engines.codes import CodesEngine
from sfumato.errors import ArgumentError
from sfumato.models.families import _eigenbasis, from_json
from sfumato.models.families.normal_mean import _clipped_moments
from sfumato.models.laws import Normal
from sfumato.samplers.normal_vectors import draw_normal

GaussianMean = sf.families.GaussianMean
MultivariateNormal = sf.families.MultivariateNormal
NormalMean = sf.families.NormalMean

A3 = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]]
N = 120
FAMILIES = {
    "normal mean": NormalMean(4.0, -3.0, 9.0),
    "one coordinate": GaussianMean(1, 4.0, 0.5),
    "Gaussian mean": GaussianMean(3, 4.0, 0.5, mean=[0.5, 0.0, -0.25]),
    "known precision": MultivariateNormal(A3, 4.0, 0.5, mean=[0.5, 0.0, -0.25]),
}


def size(model) -> int:
    return len(model.labels)


def schema(model) -> sf.Schema:
    if isinstance(model, NormalMean):
        return sf.Schema({"x": sf.Number(model.lower, model.upper)})
    return sf.Schema.vector(size(model), data_norm=model.radius)


def dataset(model, rows: np.ndarray) -> sf.Dataset:
    if isinstance(model, NormalMean):
        return sf.Dataset.from_table({"x": rows[:, 0]}, schema=schema(model))
    return sf.Dataset.from_arrays(rows, schema=schema(model))


def record_precision(model) -> np.ndarray:
    if isinstance(model, NormalMean):
        return np.array([[1 / model.variance]])
    return np.array(model.known_precision) if isinstance(model, MultivariateNormal) else np.eye(size(model))


def clipped(model, rows: np.ndarray) -> np.ndarray:
    if isinstance(model, NormalMean):
        return np.clip(rows, model.lower, model.upper)
    return rows * np.minimum(1, model.radius / np.linalg.norm(rows, axis=1, keepdims=True))


def records(model, rng, n: int, centre=None) -> np.ndarray:
    root = np.linalg.cholesky(np.linalg.inv(record_precision(model)))
    middle = np.atleast_1d(model.mean) if centre is None else centre
    return middle + rng.standard_normal((n, size(model))) @ root.T


def closed_form(model, rows: np.ndarray, power: float, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the posterior, by the textbook."""
    a, prior = record_precision(model), strength * model.precision * np.eye(size(model))
    precision = prior + power * len(rows) * a
    pulled = prior @ np.atleast_1d(model.mean) + power * a @ clipped(model, rows).sum(axis=0)
    return np.linalg.solve(precision, pulled), np.linalg.inv(precision)


@pytest.mark.planted
@pytest.mark.parametrize("mechanism", ["exact", "diffused", "concentrated"])
@pytest.mark.parametrize("name", list(FAMILIES))
def test_published_draws_follow_the_posterior(name, mechanism):
    model = FAMILIES[name]
    rows = records(model, np.random.default_rng(3), N)
    target = {} if mechanism == "exact" else {"epsilon": 60.0, "delta": 1e-3, "allow_weak": True}
    plan = sf.plan(model, N, mechanism=mechanism, draws=3000, **target)
    draws = sf.publish(plan, dataset(model, rows), randomness=sf.seeded(5)).draws
    assert draws.shape == ((1, 3000) if size(model) == 1 else (1, 3000, size(model)))
    mean, covariance = closed_form(model, rows, plan["power"], plan["strength"])
    gaps = draws.values.reshape(3000, -1) - mean
    inverse = np.linalg.inv(covariance)
    for scale, fits in ((1.0, True), (0.7, False), (1.3, False)):
        squares = np.einsum("ij,jk,ik->i", gaps, inverse, gaps) / scale**2
        assert (uniform_p(stats.chi2.cdf(squares, size(model))) > LEVEL) is fits
        for i in range(size(model)):
            assert (uniform_p(stats.norm.cdf(gaps[:, i] / scale / math.sqrt(covariance[i, i]))) > LEVEL) is fits


@pytest.mark.planted
def test_noisy_statistics_add_the_noise_that_they_say():
    model = FAMILIES["Gaussian mean"]
    rows = records(model, np.random.default_rng(4), N)
    plan = sf.plan(model, N, 1.0, 1e-4, mechanism="noisy-statistics", allow_weak=True)
    data = dataset(model, rows)
    found = np.array([sf.publish(plan, data, randomness=sf.seeded(i)).draws.values[0, 0] for i in range(900)])
    mean, covariance = closed_form(model, rows, 1.0, 1.0)
    noise = plan["noise"] * 2 * model.radius / (N + model.precision)
    for scale, fits in ((1.0, True), (0.7, False), (1.3, False)):
        deviation = scale * math.sqrt(covariance[0, 0] + noise**2)
        values = stats.norm.cdf((found - mean) / deviation)
        assert (uniform_p(values.ravel()) > LEVEL) is fits


# --- the price -------------------------------------------------------------------------------------------------------


def totals(model, rows: np.ndarray) -> list[Fraction]:
    block = {"matrix": rows} if not isinstance(model, NormalMean) else {"x": rows[:, 0]}
    counts = model.tally(block, list(block))
    return [int(count) * unit for count, unit in zip(counts, model.units, strict=True)]


def shift(model, first: np.ndarray, second: np.ndarray, power: float, strength: float) -> float:
    """Distance of two posterior means in standard deviations, from the laws that are drawn."""
    n = len(first)
    one, two = (model.law(totals(model, rows), n, power, strength) for rows in (first, second))
    assert (one.deviation, one.grid, one.basis) == (two.deviation, two.grid, two.basis)
    gaps = [float((a - b) / Fraction(d)) for a, b, d in zip(one.mean, two.mean, one.deviation, strict=True)]
    return math.hypot(*gaps)


def random_model(rng):
    kind, d = rng.integers(3), int(rng.integers(1, 4))
    if kind == 0:
        low = rng.normal() * 10
        return NormalMean(float(rng.gamma(1) + 0.05), low, low + float(rng.gamma(2)) + 0.1)
    if kind == 1:
        return GaussianMean(d, float(rng.gamma(2)) + 0.1, float(rng.gamma(1)) + 0.01, mean=rng.normal(size=d))
    root = rng.normal(size=(d, d))
    matrix = root @ root.T + 0.05 * np.eye(d)
    return MultivariateNormal((matrix + matrix.T) / 2, float(rng.gamma(2)) + 0.1, float(rng.gamma(1)) + 0.01)


def worst_pair(model, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = rows.copy(), rows.copy()
    if isinstance(model, NormalMean):
        first[0], second[0] = model.lower, model.upper
        return first, second
    values, vectors = np.linalg.eigh(record_precision(model))
    edge = model.radius * vectors[:, values.argmax()] * (1 - 1e-15)
    first[0], second[0] = edge, -edge
    return first, second


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_no_neighbours_exceed_mu_and_the_worst_attain_it(seed):
    rng = np.random.default_rng(seed)
    model, n = random_model(rng), int(rng.integers(1, 12))
    power, strength = float(10 ** rng.uniform(-3, 0)), float(10 ** rng.uniform(0, 3))
    mu = family_price(model, n, 1, power, strength).curve.mu
    first = clipped(model, 3 * rng.normal(size=(n, size(model))))
    second = first.copy()
    second[rng.integers(n)] = clipped(model, 100 * rng.normal(size=(1, size(model))))[0]
    assert shift(model, first, second, power, strength) <= mu
    attained = shift(model, *worst_pair(model, first), power, strength)
    assert mu * (1 - 1e-9) <= attained <= mu


@pytest.mark.planted
def test_a_price_for_half_the_diameter_would_be_seen():
    model = FAMILIES["known precision"]
    rows = clipped(model, np.random.default_rng(1).normal(size=(10, 3)))
    mu = family_price(model, 10, 1).curve.mu
    assert shift(model, *worst_pair(model, rows), 1.0, 1.0) > 0.75 * mu


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.5, 3.0])
def test_the_curve_is_the_hockey_stick_of_the_two_posteriors(epsilon):
    model, n, power = NormalMean(2.0, 0.0, 5.0), 25, 0.6
    rows = np.full((n, 1), 2.0)
    laws = [model.law(totals(model, pair), n, power) for pair in worst_pair(model, rows)]
    means, deviation = [float(law.mean[0]) for law in laws], laws[0].deviation[0]
    x = np.linspace(min(means) - 12 * deviation, max(means) + 12 * deviation, 20_001)
    densities = [normalised(-0.5 * ((x - mean) / deviation) ** 2, x) for mean in means]
    exact = hockey_stick(densities[0], densities[1], x, epsilon)
    assert family_price(model, n, 1, power).delta(epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("mechanism", ["diffused", "concentrated", "noisy-statistics"])
@pytest.mark.parametrize("name", list(FAMILIES))
@pytest.mark.parametrize(("epsilon", "delta", "draws"), [(0.1, 1e-3, 1), (1.0, 1e-6, 1), (3.0, 1e-9, 5)])
def test_calibrated_numbers_are_within_a_millionth_and_never_over(name, mechanism, epsilon, delta, draws):
    model = FAMILIES[name]
    plan = sf.plan(model, N, epsilon, delta, mechanism=mechanism, draws=draws, allow_weak=True)
    assert plan.guarantee.delta(epsilon) <= delta
    if mechanism == "noisy-statistics":
        mu = 1 / (plan["noise"] * (1 - 1e-6))
        assert sf.Gaussian(mu).delta(epsilon) > delta
        return
    power, strength = plan["power"], plan["strength"]
    assert (power, strength) != (1.0, 1.0)
    bolder = (min(1.0, power * (1 + 2e-6)), max(1.0, strength * (1 - 2e-6)))
    assert family_price(model, N, draws, *bolder).delta(epsilon) > delta


# --- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.planted
@pytest.mark.parametrize("name", list(FAMILIES))
def test_no_order_of_the_rows_changes_a_total(name):
    model = FAMILIES[name]
    rng = np.random.default_rng(2)
    rows = clipped(model, 1e3 * rng.normal(size=(1000, size(model))) * 10.0 ** rng.uniform(-12, 0, (1000, 1)))
    found = {tuple(totals(model, rng.permutation(rows))) for _ in range(20)}
    assert len(found) == 1
    parts = [totals(model, rows[:300]), totals(model, rows[300:])]
    assert found == {tuple(a + b for a, b in zip(*parts, strict=True))}
    # The same sums in floats do depend on the order: the planted fault.
    assert len({tuple(np.add.reduce(rng.permutation(rows), axis=0)) for _ in range(20)}) > 1


def test_sparse_rows_give_the_totals_of_dense_ones():
    model = GaussianMean(40, 2.0, 1.0)
    rng = np.random.default_rng(6)
    rows = np.where(rng.random((500, 40)) < 0.1, rng.normal(size=(500, 40)), 0.0)
    rows *= 0.9 * np.minimum(1, 2.0 / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
    block = sparse.csr_array(rows)
    assert model.tally({"matrix": block}, ["matrix"]).tolist() == model.tally({"matrix": rows}, ["matrix"]).tolist()
    plan = sf.plan(model, 500, mechanism="exact")
    both = [
        sf.publish(plan, sf.Dataset.from_arrays(x, schema=schema(model)), randomness=sf.seeded(1)).draws.values
        for x in (rows, block)
    ]
    assert np.array_equal(*both)
    assert not np.array_equal(both[0][0], both[0][0] * 0)


def test_many_rows_do_not_overflow():
    model = GaussianMean(1, 2.0 * (1 - 1e-16), 1.0)
    count = (1 << 22) + 8
    rows = np.full((count, 1), -model.radius)
    assert totals(model, rows)[0] == pytest.approx(-model.radius * count, rel=1e-12)
    sums = (np.trunc(rows * 2.0**40).astype(np.int64)).sum()
    assert sums != int(totals(model, rows)[0] / model.units[0])  # one whole-number sum of them has no room


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324])
@pytest.mark.parametrize("name", list(FAMILIES))
def test_one_bad_record_moves_the_totals_by_no_more_than_its_reach(name, bad):
    model = FAMILIES[name]
    rows = clipped(model, np.random.default_rng(8).normal(size=(20, size(model))))

    def found(table):
        data = dataset(model, table)
        counts = CodesEngine(data, model.columns(data.schema)).totals(model.tally)
        return [count * unit for count, unit in zip(counts, model.units, strict=True)]

    clean = found(rows)
    for broken in (np.full(size(model), bad), np.r_[bad, rows[3, 1:]]):
        table = rows.copy()
        table[3] = broken
        gap = math.sqrt(sum(float(a - b) ** 2 for a, b in zip(found(table), clean, strict=True)))
        assert gap <= model.sensitivity
        # Even rows that no data set would hold stay within the bounds, coordinate by coordinate.
        raw = totals(model, table)
        assert all(abs(float(a - b)) <= model.sensitivity for a, b in zip(raw, clean, strict=True))


@pytest.mark.planted
def test_cutting_to_steps_never_lengthens_a_record():
    model = GaussianMean(3, 1.0, 1.0)
    rng = np.random.default_rng(10)
    rows = clipped(model, 5 * rng.normal(size=(2000, 3))) * (1 - 1e-15)
    for row in rows:
        assert sum(total**2 for total in totals(model, row[None])) <= 1
    rounded = np.rint(rows * 2.0**40) / 2.0**40
    exact = [sum(Fraction(x) ** 2 for x in row) for row in rounded.tolist()]
    assert max(exact) > 1  # rounding to the nearest step would


# --- the grid --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["normal mean", "one coordinate", "Gaussian mean"])
def test_every_output_is_a_multiple_of_the_public_grid(name):
    model = FAMILIES[name]
    rows = records(model, np.random.default_rng(3), N)
    plan = sf.plan(model, N, 1.0, 1e-6, mechanism="diffused", draws=500)
    draws = sf.publish(plan, dataset(model, rows), randomness=sf.seeded(2)).draws.values.reshape(500, -1)
    grid = model.law([Fraction(0)] * size(model), N, plan["power"]).grid
    deviation = model.law([Fraction(0)] * size(model), N, plan["power"]).deviation
    for i, (step, width) in enumerate(zip(grid, deviation, strict=True)):
        assert 2**-21 <= step / Fraction(width) <= 2**-20
        assert np.array_equal(np.rint(draws[:, i] / float(step)) * float(step), draws[:, i])


def test_turned_outputs_come_from_the_grid_of_the_eigenbasis():
    model = FAMILIES["known precision"]
    law = model.law(totals(model, np.zeros((N, 3))), N)
    values = draw_normal(law, 200, sf.seeded(3))
    places = np.linalg.solve(np.array(law.basis), values.T).T / np.array([float(g) for g in law.grid])
    assert np.abs(places - np.rint(places)).max() < 1e-6


def low_bits(values: np.ndarray) -> float:
    """How often a value is no multiple of 2^-53: a float near 0 is, a float that was added to 1 is not."""
    return float(np.mean(np.rint(values * 2.0**53) != values * 2.0**53))


@pytest.mark.planted
def test_low_bits_tell_a_float_variant_and_nothing_here():
    laws = [Normal((Fraction(c),), (1.0,), (Fraction(1, 1 << 20),)) for c in (0, 1)]
    ours = [low_bits(draw_normal(law, 3000, sf.seeded(4))[:, 0]) for law in laws]
    assert ours == [0.0, 0.0]
    rng = np.random.default_rng(4)
    naive = [low_bits(float(law.mean[0]) + law.deviation[0] * rng.standard_normal(3000)) for law in laws]
    assert naive[0] > 0.15
    assert naive[1] == 0.0


# --- what a reader may expect ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "n", "epsilon", "mechanism"),
    [
        (NormalMean(100.0, 0.0, 100.0), 400, 1.0, "diffused"),
        (NormalMean(100.0, 0.0, 100.0), 60, 1.0, "noisy-statistics"),
        (GaussianMean(3, 2.5, 1.0), 300, 2.0, "diffused"),
        (GaussianMean(2, 5.0, 0.6), 900, 1.0, "noisy-statistics"),
        (MultivariateNormal(A3, 3.0, 1.0), 700, 3.0, "concentrated"),
        (MultivariateNormal(A3, 3.0, 1.0), 200, 3.0, "diffused"),
    ],
)
def test_expectations_are_met_by_simulated_releases(model, n, epsilon, mechanism):
    plan = sf.plan(model, n, epsilon, 1e-6, mechanism=mechanism)
    rng = np.random.default_rng(31)
    misses = []
    for run in range(200):
        truth = np.atleast_1d(model.mean) + rng.standard_normal(size(model)) / math.sqrt(model.precision)
        data = dataset(model, records(model, rng, n, truth))
        draw = sf.publish(plan, data, randomness=sf.seeded(run)).draws.values.reshape(-1)
        misses.append(np.abs(draw - truth).max())
    assert np.quantile(misses, 0.9) == pytest.approx(plan.expected.value, rel=0.15)


@pytest.mark.parametrize("name", list(FAMILIES))
def test_invented_totals_have_the_moments_of_clipped_records(name):
    """The moments by which larger n are invented, against records that are drawn one by one."""
    model = FAMILIES[name]
    truth, sums = model.simulate(np.random.default_rng(1), 400, 4000)
    rng = np.random.default_rng(2)
    offset = model.lower if isinstance(model, NormalMean) else 0.0
    for i in range(0, 400, 20):
        mean = clipped(model, records(model, rng, 40_000, truth[i])).mean(axis=0) - offset
        gap = sums[i] / 4000 - mean
        assert np.abs(gap).max() < 6 * math.sqrt(np.linalg.inv(record_precision(model)).max() / 512)
    spread = np.linalg.norm(sums / 4000 + offset - truth, axis=1).mean()
    assert spread > 1e-3


def test_moments_of_a_clipped_normal_match_quadrature():
    x = np.linspace(-12, 12, 200_001)
    density = stats.norm.pdf(x)
    for centre in (-3.0, 0.0, 1.3, 7.0):
        y = np.clip(centre + 1.7 * x, 0.0, 4.0)
        mean = np.trapezoid(y * density, x)
        found = _clipped_moments(np.array([centre]), 1.7, 4.0)
        assert found[0][0] == pytest.approx(mean, rel=1e-6, abs=1e-9)
        assert found[1][0] == pytest.approx(np.trapezoid((y - mean) ** 2 * density, x), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", list(FAMILIES))
def test_divergence_is_that_of_two_normals(name):
    model = FAMILIES[name]
    rows = records(model, np.random.default_rng(3), N)
    sums = np.array([[float(t) for t in totals(model, clipped(model, rows))]])
    (m1, c1), (m2, c2) = closed_form(model, rows, 1.0, 1.0), closed_form(model, rows, 0.3, 2.0)
    inverse = np.linalg.inv(c2)
    gap = m2 - m1
    exact = np.trace(inverse @ c1) + gap @ inverse @ gap - len(gap) + math.log(np.linalg.det(c2) / np.linalg.det(c1))
    found = model.divergence(model.natural(sums, N), model.natural(sums, N, 0.3, 2.0))
    assert found[0] == pytest.approx(0.5 * exact, rel=1e-7)
    assert model.divergence(model.natural(sums, N), model.natural(sums, N))[0] == 0


def test_the_closest_law_is_chosen():
    plan = sf.plan(NormalMean(4.0, 0.0, 10.0), 100, 1.0, 1e-6)
    assert plan.mechanism in ("diffused", "noisy-statistics")
    assert sf.plan(NormalMean(100.0, 0.0, 10.0), 10_000, 1.0, 1e-6).mechanism == "exact"


# --- public records, documents, refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(FAMILIES))
def test_public_records_give_the_posterior_of_all_records(name):
    model = FAMILIES[name]
    rows = records(model, np.random.default_rng(12), 90)
    public, private = rows[:40], rows[40:]
    table = {"x": public[:, 0]} if isinstance(model, NormalMean) else public
    updated = model.with_public(table, schema=schema(model))
    together = model.law(totals(model, clipped(model, rows)), 90)
    after = updated.law(totals(updated, clipped(model, private)), 50)

    def released(law):
        mean = np.array([float(m) for m in law.mean])
        return mean if law.basis is None else np.array(law.basis) @ mean

    assert released(after) == pytest.approx(released(together), rel=1e-9, abs=1e-9)
    assert after.deviation == pytest.approx(together.deviation, rel=1e-12)
    if not isinstance(model, NormalMean):
        assert model.with_public(sparse.csr_array(public), schema=schema(model)) == updated


def test_private_rows_are_no_public_records():
    model = FAMILIES["Gaussian mean"]
    with pytest.raises(ArgumentError, match="private rows"):
        model.with_public(dataset(model, np.zeros((5, 3))), schema=schema(model))


@pytest.mark.parametrize("name", list(FAMILIES))
def test_a_stored_model_is_read_back(name):
    model = FAMILIES[name]
    assert from_json(model.to_json()) == model
    assert hash(from_json(model.to_json())) == hash(model)
    plan = sf.plan(model, N, mechanism="exact", draws=2)
    release = sf.publish(plan, dataset(model, records(model, np.random.default_rng(1), N)), randomness=sf.seeded(1))
    release.verify()


def test_the_default_prior_has_the_bounds_at_two_deviations():
    model = NormalMean(4.0, -3.0, 9.0)
    assert model.mean == 3.0
    assert 2 / math.sqrt(model.precision) == pytest.approx(6.0)


REFUSED = [
    (lambda: NormalMean(0.0, 0, 1), "variance"),
    (lambda: NormalMean(1.0, 1, 1), "upper must be greater"),
    (lambda: NormalMean(1e-200, 0, 1), "another unit"),
    (lambda: NormalMean(1.0, 0, math.inf), "upper"),
    (lambda: GaussianMean(0, 1.0, 1.0), "dimension"),
    (lambda: GaussianMean(2, 0.0, 1.0), "radius"),
    (lambda: GaussianMean(2, 1.0, 0.0), "precision"),
    (lambda: GaussianMean(2, 1.0, 1.0, mean=[1.0]), "one number per coordinate"),
    (lambda: MultivariateNormal([[1.0, 2.0]], 1.0, 1.0), "square"),
    (lambda: MultivariateNormal(3.0, 1.0, 1.0), "square"),
    (lambda: MultivariateNormal([[1.0, 0.5], [0.4, 1.0]], 1.0, 1.0), "symmetric"),
    (lambda: MultivariateNormal([[1.0, 1.0], [1.0, 1.0]], 1.0, 1.0), "positive definite"),
    (lambda: FAMILIES["Gaussian mean"].columns(sf.Schema({"x": sf.Number(0, 1)})), "vectors of 3"),
    (lambda: FAMILIES["Gaussian mean"].columns(sf.Schema.vector(2, data_norm=1.0)), "vectors of 3"),
    (lambda: FAMILIES["Gaussian mean"].columns(sf.Schema.vector(3, data_norm=5.0)), "radius must"),
    (lambda: FAMILIES["normal mean"].columns(sf.Schema({"x": sf.Number(-4, 9)})), "must contain"),
]


@pytest.mark.parametrize(("make", "said"), REFUSED)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(ArgumentError, match=said):
        make()


def test_a_normal_posterior_is_never_pure():
    with pytest.raises(sf.errors.MechanismRefused, match="never pure"):
        sf.plan(FAMILIES["normal mean"], N, 1.0, 0.0)


# --- the eigenbasis --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7, 30])
def test_the_eigenbasis_rebuilds_the_matrix_and_its_norm_is_bounded(d):
    root = np.random.default_rng(d).normal(size=(d, d))
    matrix = root @ root.T + 0.1 * np.eye(d)
    matrix = (matrix + matrix.T) / 2
    found = _eigenbasis.eigenbasis(tuple(map(tuple, matrix.tolist())))
    vectors = np.array(found.rows)
    assert vectors @ np.diag(found.values) @ vectors.T == pytest.approx(matrix, rel=1e-11, abs=1e-11)
    exact = max(
        sum(abs(sum(Fraction(row[i]) * Fraction(row[j]) for row in found.rows)) for j in range(d)) for i in range(d)
    )
    assert exact <= Fraction(found.stretch) ** 2 <= 1 + Fraction(1, 10**9)
    assert np.linalg.norm(vectors, 2) <= found.stretch * (1 + 1e-15)


def test_the_norm_of_a_matrix_that_is_not_orthogonal_is_bounded():
    skewed = np.array([[1.0, 0.3], [0.0, 1.0]])
    assert _eigenbasis.norm_bound(skewed) >= np.linalg.norm(skewed, 2) > 1.1


def test_a_diagonal_matrix_keeps_its_coordinates():
    found = _eigenbasis.eigenbasis(((3.0, 0.0), (0.0, 5.0)))
    assert found.values == (3.0, 5.0)
    assert found.rows == ((1.0, 0.0), (0.0, 1.0))
