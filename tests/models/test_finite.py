"""A user's own finite family: what follows from its table, what is refused, and the whole path to a release."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from goodness import LEVEL, chi_square_p
from sfumato.errors import ArgumentError, FormatError, MechanismRefused
from sfumato.models import families
from sfumato.procedures import law
from sfumato.theorems import metric_finite

DISCRETE = [[0.0, 1.0], [1.0, 0.0]]
LEVELS = ["a", "b", "c"]
# A Category family over vectors: theta = (p_a, p_b).
VECTORS = [(a / 8, b / 8) for a, b in itertools.product(range(1, 7), repeat=2) if a + b < 8]


def category_table():
    return [[math.log(a), math.log(b), math.log1p(-a - b)] for a, b in VECTORS]


def bits(ones: int, n: int) -> sf.Dataset:
    schema = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")
    return sf.Dataset.from_table({"x": np.random.default_rng(ones).permutation(np.arange(n) < ones)}, schema=schema)


def letters(counts, seed=1) -> sf.Dataset:
    schema = sf.Schema({"x": sf.Category(LEVELS, missing=LEVELS[0])}, name="letters")
    cells = np.random.default_rng(seed).permutation(np.repeat(LEVELS, counts))
    return sf.Dataset.from_table({"x": cells}, schema=schema)


# --- what follows from the table -------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.2, 0.1, 0.3, 0.05])
def test_the_bernoulli_grid_and_its_constants_are_those_of_example_1(step):
    model = sf.families.Finite.bernoulli(step)
    grid = metric_finite.bernoulli_grid(step=step)
    assert [point[0] for point in model.grid] == pytest.approx(list(grid))
    exact = metric_finite.lipschitz_constants(log_likelihood=model.log_likelihood, distances=DISCRETE)
    np.testing.assert_allclose(model.lipschitz_constants, exact, rtol=0, atol=1e-15)
    assert max(model.lipschitz_constants) == pytest.approx(math.log(max(grid) / (1 - max(grid))))


@pytest.mark.parametrize("bound", [0.0, 0.41, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("weight", [None, 0.5, 2.0])
def test_the_mass_of_theta_l_and_the_weighted_prior_are_those_of_the_paper(bound, weight):
    whole = sf.families.Finite.bernoulli(0.1, weighted=weight)
    constants = np.array(whole.lipschitz_constants)
    prior = None if weight is None else metric_finite.smooth_prior(constants=constants, rate=weight)
    chances = np.exp(whole.log_prior) / np.exp(whole.log_prior).sum()
    if prior is not None:
        np.testing.assert_allclose(chances, prior, rtol=1e-12)
    restricted = sf.families.Finite.bernoulli(0.1, weighted=weight, lipschitz=bound)
    mass = math.fsum(chances[j] for j in restricted.kept)
    assert mass == pytest.approx(metric_finite.smooth_mass(constants=constants, lipschitz=bound, prior=prior))
    assert all(constants[j] <= bound for j in restricted.kept)


def test_a_bound_of_exactly_l_keeps_its_point():
    """The table is kept in multiples of 2^-48, which must not push a constant over the bound it was named by."""
    for step in (0.1, 0.2, 0.01):
        kept = sf.families.Finite.bernoulli(step, lipschitz=math.log((1 - step) / step)).kept
        assert len(kept) == round(1 / step) - 1


def test_a_function_and_its_table_are_the_same_family():
    rates = [0.1, 0.4, 0.7]
    table = [[math.log1p(-rate), math.log(rate)] for rate in rates]
    asked = sf.families.Finite(lambda theta, x: math.log(theta) if x else math.log1p(-theta), rates)
    assert asked == sf.families.Finite(table, rates)
    assert hash(asked) == hash(sf.families.Finite(table, rates))
    vectors = sf.families.Finite(
        lambda theta, x: math.log([*theta, 1 - sum(theta)][LEVELS.index(x)]), VECTORS, levels=LEVELS
    )
    np.testing.assert_allclose(vectors.log_likelihood, category_table(), atol=1e-14)
    assert vectors.labels == ("theta[0]", "theta[1]")


def test_every_entry_is_a_multiple_of_the_unit_and_the_posterior_is_exact():
    model = sf.families.Finite.bernoulli(0.1, weighted=0.3)
    assert all((log * 2.0**48).is_integer() for row in model.log_likelihood for log in row)
    assert all((log * 2.0**48).is_integer() for log in model.log_prior)
    power, counts = 0.37, (Fraction(123_456_789), Fraction(10**12 + 1))
    law = model.law(counts, 10**13, power)
    for log, prior, row in zip(law.logs, model.log_prior, model.log_likelihood, strict=True):
        exact = Fraction(prior) + Fraction(power) * sum(c * Fraction(v) for c, v in zip(counts, row, strict=True))
        assert abs(Fraction(log, 2**48) - exact) <= Fraction(1, 2**49)


# --- documents -------------------------------------------------------------------------------------------------------

STORED = [
    sf.families.Finite.bernoulli(0.2),
    sf.families.Finite.bernoulli(0.05, lipschitz=2.0, weighted=0.5, name="rate"),
    sf.families.Finite(category_table(), VECTORS, levels=LEVELS, name=["p(a)", "p(b)"]),
    sf.families.Finite([[0.0, -math.inf], [math.log(0.5)] * 2, [-math.inf, 0.0]], [0.0, 0.5, 1.0], lipschitz=3.0),
    sf.families.Finite([[0.0, -math.inf], [math.log(0.5)] * 2], [0, 1], prior=[0.0, 1.0]),
]


@pytest.mark.parametrize("model", STORED)
def test_a_document_is_read_back_to_the_same_family_and_price(model):
    document = json.loads(json.dumps(model.to_json(), allow_nan=False))
    again = families.from_json(document)
    assert again == model
    assert again.kept == model.kept
    assert again.log_prior == model.log_prior
    plans = [sf.plan(m, 50, mechanism="exact") for m in (model, again)]
    assert plans[0].digest == plans[1].digest
    assert str(len(model.kept)) in repr(model)


def test_an_unknown_key_is_refused():
    with pytest.raises(FormatError, match="Finite"):
        families.from_json({**STORED[0].to_json(), "powers": 2})


# --- refusals --------------------------------------------------------------------------------------------------------

HALF = [math.log(0.5)] * 2
SURE = [0.0, -math.inf]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"log_likelihood": [HALF, SURE]}, r"lipschitz=.*weighted=.*prior of 0"),
        ({"log_likelihood": [HALF, SURE], "lipschitz": None, "weighted": 0.0}, "minus infinity"),
        ({"log_likelihood": [[math.log(0.2), math.log(0.8)]] * 2, "lipschitz": 1.0}, "smallest Lipschitz constant is 1.38629"),
        ({"log_likelihood": [HALF]}, "2 rows"),
        ({"log_likelihood": [HALF, [0.0]]}, "columns"),
        ({"log_likelihood": [[0.5, 0.5], [0.2, 0.8]]}, "logarithms"),
        ({"log_likelihood": [HALF, [-1.0, -1.0]]}, "sum to"),
        ({"log_likelihood": [HALF, [math.nan, 0.0]]}, "NaN"),
        ({"prior": [0.5, 0.6]}, "summing to 1"),
        ({"prior": [1.0]}, "one probability per point"),
        ({"prior": [-0.5, 1.5]}, "prior"),
        ({"grid": [1.0, 1.0]}, "once"),
        ({"grid": []}, "at least one point"),
        ({"grid": [(1.0, 2.0), (1.0,)]}, "same length"),
        ({"grid": [1.0, math.inf]}, "finite"),
        ({"levels": ["a", "a"]}, "different"),
        ({"levels": ["a", "b", "c"]}, "columns"),
        ({"lipschitz": -1.0}, "lipschitz"),
        ({"weighted": math.inf}, "weighted"),
        ({"name": ["a", "b"]}, "name"),
    ],
)  # fmt: skip
def test_what_has_no_price_or_no_meaning_is_refused(given, said):
    good = {"log_likelihood": [HALF, [math.log(0.2), math.log(0.8)]], "grid": [0.5, 0.8]}
    with pytest.raises(ArgumentError, match=said):
        sf.families.Finite(**{**good, **given})


def test_what_is_excluded_may_be_impossible():
    for options in ({"lipschitz": 0.1}, {"weighted": 1.0}, {"prior": [1.0, 0.0]}):
        model = sf.families.Finite([HALF, SURE], [0.5, 0.0], **options)
        assert model.kept == (0,)
        assert sf.plan(model, 10, mechanism="exact").guarantee.curve.epsilon_value < 1e-10


def test_schemas_that_do_not_fit_are_refused():
    plan = sf.plan(sf.families.Finite(category_table(), VECTORS, levels=LEVELS), 6, mechanism="exact")
    with pytest.raises(ArgumentError, match="Category column"):
        sf.publish(plan, bits(1, 6))
    other = sf.Schema({"x": sf.Category(["b", "a", "c"], missing="b")}, name="letters")
    with pytest.raises(ArgumentError, match="same order"):
        sf.publish(plan, sf.Dataset.from_table({"x": ["a"] * 6}, schema=other))
    for mechanism in ("diffused", "concentrated"):
        with pytest.raises(MechanismRefused, match="exponential"):
            sf.plan(sf.families.Finite.bernoulli(0.1), 10, 1.0, 1e-6, mechanism=mechanism)


# --- plans and releases ----------------------------------------------------------------------------------------------


def posterior(model, counts, power) -> np.ndarray:
    """Prior times likelihood, from what the user gave and nothing that the library made of it."""
    logs = np.log(np.array(model.prior)) + power * np.array(model.log_likelihood) @ np.array(counts)
    slope = 0.0 if model.weighted is None else model.weighted
    logs = logs - slope * np.array(model.lipschitz_constants)
    if model.lipschitz is not None:
        logs[np.array(model.lipschitz_constants) > model.lipschitz] = -np.inf
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


CASES = {
    "exact": (sf.families.Finite.bernoulli(0.1, weighted=0.5), bits(9, 24), (15, 9)),
    "restricted": (sf.families.Finite.bernoulli(0.05, lipschitz=1.5), bits(9, 24), (15, 9)),
    "category": (sf.families.Finite(category_table(), VECTORS, levels=LEVELS), letters((9, 6, 15)), (9, 6, 15)),
}


@pytest.mark.planted
@pytest.mark.parametrize("case", list(CASES))
def test_draws_follow_the_posterior_and_no_other_power(case):
    model, data, counts = CASES[case]
    n, draws = sum(counts), 6000
    plan = sf.plan(model, n, mechanism="exact", draws=draws)
    values = sf.publish(plan, data, randomness=sf.seeded(11)).draws.values.reshape(draws, -1)
    place = {point: k for k, point in enumerate(model.grid)}
    observed = np.bincount([place[tuple(row)] for row in values.tolist()], minlength=len(model.grid))
    judge = lambda power: chi_square_p(*_possible(observed, draws * posterior(model, counts, power)))
    assert judge(1.0) > LEVEL
    assert judge(0.7) < LEVEL
    assert judge(1.3) < LEVEL


def _possible(observed, expected):
    assert observed[expected == 0].sum() == 0
    return observed[expected > 0], expected[expected > 0]


@pytest.mark.planted
def test_single_tempered_draws_follow_the_planned_power():
    """One draw a release, pure: many releases together, and other powers are rejected."""
    model, data, counts = sf.families.Finite.bernoulli(0.05), bits(30, 60), (30, 30)
    plan = sf.plan(model, 60, 1.0, 0.0)
    assert plan.mechanism == "exponential"
    stream = sf.seeded(2)
    values = [sf.publish(plan, data, randomness=stream.spawn()).mean().item() for _ in range(1800)]
    place = {point[0]: k for k, point in enumerate(model.grid)}
    observed = np.bincount([place[value] for value in values], minlength=len(model.grid))
    judge = lambda power: chi_square_p(observed, 1800 * posterior(model, counts, power))
    assert judge(plan["power"]) > LEVEL
    assert judge(0.7 * plan["power"]) < LEVEL
    assert judge(1.3 * plan["power"]) < LEVEL


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("model", [STORED[0], STORED[2]])
def test_a_calibrated_power_is_at_the_limit_and_never_over_it(model, epsilon):
    plan = sf.plan(model, 200, epsilon, 0.0, mechanism="exponential")
    assert plan.guarantee.curve.epsilon_value <= epsilon
    assert plan.guarantee.curve.epsilon_value == pytest.approx(epsilon, rel=1e-6)
    drawn = sf.plan(model, 200, epsilon, 1e-6, mechanism="exponential", draws=5)
    assert drawn.guarantee.delta(epsilon) <= 1e-6
    assert drawn["power"] < plan["power"]


def test_the_price_of_a_plan_is_the_supremum_for_what_is_drawn():
    model = sf.families.Finite.bernoulli(0.2)
    plan = sf.plan(model, 12, mechanism="exact")
    laws = [np.log(posterior(model, (12 - k, k), 1.0)) for k in range(13)]
    worst = max(np.abs(p - q).max() for p, q in itertools.pairwise(laws))
    assert worst <= plan.guarantee.curve.epsilon_value <= worst + 1e-9
    assert plan.guarantee.curve.epsilon_value < 2 * max(model.lipschitz_constants)


def test_noisy_statistics_and_auto_serve_it():
    model = sf.families.Finite(category_table(), VECTORS, levels=LEVELS)
    plan = sf.plan(model, 30, 2.0, 1e-6, mechanism="noisy-statistics", draws=3)
    release = sf.publish(plan, letters((9, 6, 15)), randomness=sf.seeded(1))
    assert release.draws.shape == (1, 3, 2)
    assert all(tuple(row) in model.grid for row in release.draws.values[0].tolist())
    assert release.verify() is not None
    assert sf.plan(model, 30, 2.0, 1e-6).mechanism in {"exponential", "noisy-statistics"}
    assert sf.plan(model, 30, 50.0, 1e-6).mechanism == "exact"


def test_the_order_of_rows_changes_nothing():
    plan = sf.plan(sf.families.Finite(category_table(), VECTORS, levels=LEVELS), 30, mechanism="exact", draws=4)
    releases = [sf.publish(plan, letters((9, 6, 15), seed), randomness=sf.seeded(3)).to_bytes() for seed in range(4)]
    assert len(set(releases)) == 1


def test_public_records_become_the_prior():
    schema = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")
    model = sf.families.Finite.bernoulli(0.1, weighted=0.5)
    seen = model.with_public({"x": [True] * 3 + [False] * 5}, schema=schema)
    np.testing.assert_allclose(seen.prior, posterior(sf.families.Finite.bernoulli(0.1), (5, 3), 1.0), rtol=1e-12)
    np.testing.assert_allclose(posterior(seen, (2, 2), 1.0), posterior(model, (7, 5), 1.0), rtol=1e-12)
    impossible = sf.families.Finite([HALF, SURE], [0.5, 0.0], lipschitz=1.0)
    assert impossible.with_public({"x": [True]}, schema=schema).prior == (1.0, 0.0)


def test_what_is_expected_is_what_releases_give():
    model, n = sf.families.Finite.bernoulli(0.01), 60
    plan = sf.plan(model, n, 2.0, 0.0, mechanism="exponential")
    rng, stream = np.random.default_rng(8), sf.seeded(8)
    errors = []
    for truth in rng.choice([point[0] for point in model.grid], 1500):
        ones = int(rng.binomial(n, truth))
        counts = [Fraction(n - ones), Fraction(ones)]
        value = law.drawn(model, counts, n, plan.parameters, 1, stream).values.item()
        errors.append(abs(value - truth))
    assert plan.expected.value == pytest.approx(np.quantile(errors, 0.9), rel=0.15)
    assert plan.expected.without_privacy < plan.expected.value
