"""Posterior sampling under a distance, by brute force over finite families: claims hold, printed faults are seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from finite_oracle import (
    Family,
    hockey_stick,
    independent,
    kl,
    random_family,
    renyi,
    smallest_concentration,
    total_variation,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import AssumptionError
from sfumato.privacy.curves import BoundedRange
from sfumato.privacy.metric import Metric
from sfumato.privacy.renyi import Renyi
from sfumato.theorems import metric

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)
ROUNDING = 1e-9  # absolute, against sums of a few dozen float terms


def families(count: int, seed: int):
    """Random families, each with the power that its likelihood is raised to."""
    rng = np.random.default_rng(seed)
    return [(random_family(rng), float(rng.choice([0.5, 1.0, 2.0]))) for _ in range(count)]


def skewed_coin(lipschitz: float, rare: float, rho: float = 1.0) -> Family:
    """Two data sets, two opposite parameters of log ratio +-L rho, the second rare: the whole range 2 L rho is cost."""
    odds = math.exp(lipschitz * rho)
    p = np.array([[odds / (1 + odds), 1 / (1 + odds)], [1 / (1 + odds), odds / (1 + odds)]])
    return Family(p, np.array([1 - rare, rare]), np.array([[0.0, rho], [rho, 0.0]]))


# --- Assumption 1 ---------------------------------------------------------------------------------------------------


def uniform_excess(scale: float) -> float:
    """Largest true log ratio minus `scale` times the claimed 2 r L rho, over families, pairs and events."""
    worst = -math.inf
    cases = [*families(150, 1), (skewed_coin(1.5, 1e-4), 1.0)]
    for family, power in cases:
        curve = metric.posterior_draws(lipschitz=family.lipschitz.max(), distance="rho", power=power).curve
        log_posterior = np.log(family.posteriors(power))
        for x, y in family.pairs():
            worst = max(
                worst,
                np.max(log_posterior[:, x] - log_posterior[:, y]) - scale * curve.epsilon_value * family.rho[x, y],
            )
    return worst


@pytest.mark.planted
def test_metric_claim_holds_for_every_event_and_its_constant_is_needed():
    # A pure claim over all events is a bound on the log ratio at every parameter.
    assert uniform_excess(1.0) <= ROUNDING
    assert uniform_excess(0.99) > 0.01
    assert uniform_excess(0.5) > 0.5  # (L, 0) instead of (2L, 0)


def test_bounded_range_curve_covers_one_and_several_draws():
    for family, power in families(60, 2):
        lipschitz = family.lipschitz.max()
        posterior = family.posteriors(power)
        for x, y in family.pairs()[:4]:
            for draws in (1, 2, 3):
                promise = metric.posterior_draws_within(
                    lipschitz=lipschitz, rho=family.rho[x, y], draws=draws, power=power
                )
                p, q = independent(posterior[:, x], draws), independent(posterior[:, y], draws)
                for epsilon in EPSILONS if draws == 1 else ():  # profiles of several draws have their own test below
                    assert hockey_stick(p, q, epsilon) <= promise.delta(epsilon) + ROUNDING
                zcdp = draws * (power * lipschitz * family.rho[x, y]) ** 2 / 2
                for order in (1.5, 3.0, 9.0):
                    assert renyi(p, q, order) <= min(promise.renyi(order), order * zcdp) * (1 + 1e-9) + ROUNDING


def test_composed_curve_covers_several_draws():
    family = skewed_coin(0.4, 0.2)
    posterior = family.posteriors()
    promise = metric.posterior_draws_within(lipschitz=0.4, rho=1.0, draws=4)
    assert promise.draws == 4
    for x, y in family.pairs():
        p, q = independent(posterior[:, x], 4), independent(posterior[:, y], 4)
        for epsilon in EPSILONS:
            assert hockey_stick(p, q, epsilon) <= promise.delta(epsilon) + ROUNDING
    assert promise.delta(1.0) < 4 * BoundedRange(0.8).delta(0.25)  # better than adding four (eps/4, delta/4)


@pytest.mark.planted
def test_divergence_bound_holds_and_its_constant_is_needed():
    def excess(scale):
        worst = -math.inf
        cases = [*families(150, 3), *((skewed_coin(level, 0.5), 1.0) for level in (0.01, 0.1, 1.0))]
        for family, power in cases:
            posterior = family.posteriors(power)
            for x, y in family.pairs():
                bound = metric.divergence(lipschitz=family.lipschitz.max(), rho=family.rho[x, y], power=power)
                worst = max(worst, kl(posterior[:, x], posterior[:, y]) / (scale * bound))
        return worst

    assert excess(1.0) <= 1 + 1e-9
    assert excess(0.99) > 1  # the quadratic term is attained as rho -> 0
    assert metric.divergence(lipschitz=1.0, rho=0.1) == pytest.approx(0.005, rel=1e-9)
    assert metric.divergence(lipschitz=1.0, rho=10.0) == pytest.approx(20.0, rel=1e-9)


def test_draws_are_the_composition_of_theorem_4():
    one = metric.posterior_draws(lipschitz=0.7, distance="|x - y|").curve
    many = metric.posterior_draws(lipschitz=0.7, distance="|x - y|", draws=5).curve
    total = one + one + one + one + one
    assert isinstance(total, Metric)
    assert many.epsilon_value == pytest.approx(total.epsilon_value, rel=1e-11)
    assert many.epsilon_value == pytest.approx(7.0, rel=1e-11)


# --- Corollary 9 ----------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_corollary_9_is_false_and_restriction_repairs_it():
    theta = np.arange(1, 20) / 20
    p = np.stack([1 - theta, theta], axis=1)
    family = Family(p, np.full(19, 1 / 19), np.array([[0.0, 1.0], [1.0, 0.0]]))
    level = 1.0
    smooth = family.lipschitz <= level
    assert 0.4 < family.prior[smooth].sum() < 1  # the claim has positive "probability", so it would have to be true
    claim = metric.posterior_draws(lipschitz=level, distance="Hamming").curve.epsilon_value

    def worst_ratio(f):
        log_posterior = np.log(f.posteriors())
        return max(np.max(log_posterior[:, x] - log_posterior[:, y]) for x, y in f.pairs())

    assert worst_ratio(family) > claim + 0.9  # ln 19 = 2.94 against 2
    restricted = Family(p[smooth], family.prior[smooth] / family.prior[smooth].sum(), family.rho)
    promise = metric.restricted_prior_draws(lipschitz=level, prior_restricted=True, distance="Hamming")
    assert worst_ratio(restricted) <= promise.curve.epsilon_value
    with pytest.raises(AssumptionError, match="prior restricted to Theta_L"):
        metric.restricted_prior_draws(lipschitz=level, prior_restricted=False, distance="Hamming")


# --- Assumption 2 ---------------------------------------------------------------------------------------------------


def stochastic_cases(count: int, seed: int):
    """Families with the constants (c, L0, ln C) of Assumption 2, taken from the definition."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        family = random_family(rng)
        levels = np.sort(family.lipschitz)
        offset = float(levels[int(rng.integers(0, len(levels) - 1))])
        c = smallest_concentration(family.lipschitz, family.prior, offset)
        if math.isfinite(c):
            constants = {"concentration": c, "offset": offset, "log_ratio": math.log(family.ratio)}
            found.append((family, constants))
    return found


def printed(constants, rho: float) -> float:
    """Theorem 7(2) as printed: C (1 + 2 L0 + 1/c) rho."""
    return math.exp(constants["log_ratio"]) * (1 + 2 * constants["offset"] + 1 / constants["concentration"]) * rho


def test_stochastic_divergence_holds_and_is_below_every_earlier_bound():
    for family, constants in stochastic_cases(400, 4):
        posterior = family.posteriors()
        c, ratio = constants["concentration"], math.exp(constants["log_ratio"])
        for x, y in family.pairs():
            rho = family.rho[x, y]
            bound = metric.stochastic_divergence(**constants, rho=rho)
            both = kl(posterior[:, x], posterior[:, y]) + kl(posterior[:, y], posterior[:, x])
            assert both <= bound * (1 + 1e-9) + ROUNDING
            assert bound <= ratio * (constants["offset"] + 1 / c) * rho * (1 + 1e-9)
            assert bound <= printed(constants, rho)
            if rho < c:
                repaired = ratio * (2 * constants["offset"] * rho + rho / c - math.log1p(-rho / c))
                assert bound <= repaired * (1 + 1e-9)


def test_the_constant_c_is_needed():
    # Nearly all prior mass on a parameter that ignores the data and makes both data sets rare; the posterior leaves it.
    p = np.array([[1e-6, 1e-6, 1 - 2e-6], [0.9, 0.05, 0.05], [0.05, 0.9, 0.05]])
    family = Family(p[:, :2], np.array([0.98, 0.01, 0.01]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    c = smallest_concentration(family.lipschitz, family.prior, 0.0)
    posterior = family.posteriors()
    true = kl(posterior[:, 0], posterior[:, 1])
    without = {"concentration": c, "offset": 0.0, "log_ratio": 0.0}
    honest = {**without, "log_ratio": math.log(family.ratio)}
    assert true > metric.stochastic_divergence(**without, rho=1.0)
    assert true > 2 * (0.0 + 1 / c)  # the prior mean of l in both terms, as if a posterior were the prior
    assert true <= metric.stochastic_divergence(**honest, rho=1.0)


@pytest.mark.planted
def test_a_step_of_the_printed_proof_of_theorem_7_fails_for_c_below_1_582():
    # E exp(l rho) <= exp((1 + L0) rho), for l = L0 + Exponential(c), rho = 1: the moment is exp(L0) c/(c - 1).
    def moment(c):
        return c / (c - 1)

    assert moment(1.59) < math.e
    assert moment(1.57) > math.e
    draws = np.random.default_rng(5).exponential(1 / 4.0, 400_000)  # c = 4, where the moment has small variance
    standard_error = np.exp(draws).std() / math.sqrt(len(draws))
    assert abs(np.exp(draws).mean() - moment(4.0)) < 5 * standard_error


@pytest.mark.planted
@pytest.mark.parametrize("draws", [1, 2, 3])
def test_total_variation_of_draws_and_the_square_root_metric(draws):
    nearest = 0.0
    for family, constants in stochastic_cases(120, 6):
        posterior = family.posteriors()
        claim = metric.stochastic_draws(**constants, distance="rho", draws=draws)
        assert claim.curve.distance == "sqrt(rho)"
        assert claim.vacuous == (claim.curve.delta_value >= 1)
        for x, y in family.pairs():
            rho = family.rho[x, y]
            near = metric.stochastic_draws_within(**constants, rho=rho, draws=draws)
            true = total_variation(independent(posterior[:, x], draws), independent(posterior[:, y], draws))
            assert true <= near.delta(0.0) + ROUNDING
            assert true <= claim.curve.delta_value * math.sqrt(rho) + ROUNDING
            assert near.delta(0.0) <= claim.curve.delta_value * math.sqrt(rho) * (1 + 1e-9)
            nearest = max(nearest, true / near.delta(0.0))
    assert nearest > 0.85  # the bound is nearly attained, so a constant 15 % smaller would fail here


def test_uniform_families_attain_the_stochastic_bound():
    family = skewed_coin(1.3, 0.5)
    posterior = family.posteriors()
    near = metric.stochastic_draws_within(concentration=1e12, offset=1.3, log_ratio=math.log(family.ratio), rho=1.0)
    assert near.delta(0.0) == pytest.approx(math.tanh(0.65), rel=1e-9)
    assert total_variation(posterior[:, 0], posterior[:, 1]) == pytest.approx(math.tanh(0.65), rel=1e-9)


def test_renyi_claim_and_the_tail_that_corollary_9_was_after():
    for family, constants in stochastic_cases(150, 7):
        posterior = family.posteriors()
        c, shift, log_ratio = (constants[key] for key in ("concentration", "offset", "log_ratio"))
        for x, y in family.pairs()[:3]:
            rho, p, q = family.rho[x, y], posterior[:, x], posterior[:, y]
            promise = metric.stochastic_renyi_within(**constants, rho=rho, draws=2)
            assert isinstance(promise.curve, Renyi)
            assert max(promise.curve.orders) < 1 + c / rho
            for order, value in zip(promise.curve.orders[::6], promise.curve.values[::6], strict=True):
                assert 2 * renyi(p, q, order) <= value * (1 + 1e-9) + ROUNDING
            for level in (shift, shift + 1 / c, shift + 4 / c):
                epsilon = rho * (level + shift + (1 + log_ratio) / c)
                assert hockey_stick(p, q, epsilon) <= math.exp(log_ratio - c * (level - shift)) + ROUNDING


@pytest.mark.planted
def test_renyi_claim_without_c_is_broken():
    # The parameters that tell x from y have prior mass 2 eta; both posteriors are made of them.
    eta, rho = 1e-6, 0.05
    p = np.array([[1e-12, 1e-12], [0.6, 1e-3], [1e-3, 0.6]])
    family = Family(p, np.array([1 - 2 * eta, eta, eta]), np.array([[0.0, rho], [rho, 0.0]]))
    posterior = family.posteriors()
    c = smallest_concentration(family.lipschitz, family.prior, 0.0)
    honest = metric.stochastic_renyi_within(concentration=c, offset=0.0, log_ratio=math.log(family.ratio), rho=rho)
    order = honest.curve.orders[8]
    careless = metric.stochastic_renyi_within(concentration=c, offset=0.0, log_ratio=0.0, rho=rho)
    true = renyi(posterior[:, 0], posterior[:, 1], order)
    assert true <= honest.renyi(order)
    assert true > careless.renyi(order)


def test_power_of_the_likelihood_changes_the_constants_as_stated():
    for family, constants in stochastic_cases(150, 8):
        for power in (0.3, 2.5):
            posterior = family.posteriors(power)
            for x, y in family.pairs()[:3]:
                near = metric.stochastic_draws_within(**constants, rho=family.rho[x, y], power=power)
                p, q = posterior[:, x], posterior[:, y]
                assert total_variation(p, q) <= near.delta(0.0) + ROUNDING
                bound = metric.stochastic_divergence(**constants, rho=family.rho[x, y], power=power)
                assert kl(p, q) + kl(q, p) <= bound * (1 + 1e-9) + ROUNDING


@given(jeffreys=st.floats(1e-6, 60.0))  # below, the two-point divergence itself loses its digits
@settings(max_examples=100, deadline=None)
def test_total_variation_is_the_root_and_is_attained(jeffreys):
    v = metric.total_variation(jeffreys=jeffreys)
    assert v <= 0.5 * math.sqrt(jeffreys) * (1 + 1e-11)
    if v < 1 - 1e-12:
        assert 4 * v * math.atanh(v) >= jeffreys * (1 - 1e-14)
        smaller = v * (1 - 1e-9)
        p = np.array([(1 + smaller) / 2, (1 - smaller) / 2])
        if v < 0.99:  # the two-point laws with a smaller v have a smaller divergence, so v is the largest
            assert kl(p, p[::-1]) + kl(p[::-1], p) <= jeffreys * (1 + 1e-6)


def test_nothing_is_claimed_at_distance_zero_and_vacuous_claims_are_marked():
    constants = {"concentration": 0.5, "offset": 3.0, "log_ratio": 4.0}
    assert metric.stochastic_divergence(**constants, rho=0.0) == 0.0
    assert metric.stochastic_draws_within(**constants, rho=0.0).delta(0.0) == 0.0
    assert metric.stochastic_renyi_within(**constants, rho=0.0).epsilon(0.0) == 0.0
    claim = metric.stochastic_draws(**constants, distance="rho")
    assert claim.vacuous
    assert "Vacuous" in str(claim)


# --- Hypotheses -----------------------------------------------------------------------------------------------------

UNIFORM = {"lipschitz": 1.0, "distance": "rho"}
WITHIN = {"lipschitz": 1.0, "rho": 1.0}
STOCHASTIC = {"concentration": 2.0, "offset": 0.5, "log_ratio": 1.0}


@pytest.mark.parametrize(
    ("function", "arguments", "change", "name"),
    [
        (metric.posterior_draws, UNIFORM, {"lipschitz": math.inf}, "uniform Lipschitz constant"),
        (metric.posterior_draws, UNIFORM, {"lipschitz": -1.0}, "uniform Lipschitz constant"),
        (metric.posterior_draws, UNIFORM, {"power": 0.0}, "power"),
        (metric.posterior_draws, UNIFORM, {"distance": " "}, "distance between data sets"),
        (metric.posterior_draws, UNIFORM, {"draws": 0}, "number of draws"),
        (metric.posterior_draws_within, WITHIN, {"lipschitz": math.nan}, "uniform Lipschitz constant"),
        (metric.posterior_draws_within, WITHIN, {"rho": math.inf}, "largest distance between neighbours"),
        (metric.posterior_draws_within, WITHIN, {"draws": 1.5}, "number of draws"),
        (metric.divergence, WITHIN, {"rho": -1.0}, "largest distance between neighbours"),
        (metric.restricted_prior_draws, UNIFORM, {"prior_restricted": False}, "prior restricted to Theta_L"),
        (metric.stochastic_divergence, STOCHASTIC | {"rho": 1.0}, {"concentration": 0.0}, "concentration of the prior"),
        (metric.stochastic_divergence, STOCHASTIC | {"rho": 1.0}, {"offset": -0.1}, "Lipschitz offset"),
        (metric.stochastic_divergence, STOCHASTIC | {"rho": 1.0}, {"log_ratio": -0.1}, "maximal and marginal"),
        (metric.stochastic_divergence, STOCHASTIC | {"rho": 1.0}, {"rho": None}, "largest distance between neighbours"),
        (metric.stochastic_draws, STOCHASTIC | {"distance": "rho"}, {"distance": ""}, "distance between data sets"),
        (metric.stochastic_draws, STOCHASTIC | {"distance": "rho"}, {"draws": 0}, "number of draws"),
        (metric.stochastic_draws_within, STOCHASTIC | {"rho": 1.0}, {"log_ratio": math.inf}, "maximal and marginal"),
        (metric.stochastic_draws_within, STOCHASTIC | {"rho": 1.0}, {"power": -1.0}, "power"),
        (metric.stochastic_renyi_within, STOCHASTIC | {"rho": 1.0}, {"rho": 1e20}, "distance small against"),
        (metric.total_variation, {}, {"jeffreys": -1.0}, "symmetrised divergence"),
    ],
)
def test_each_hypothesis_is_checked_by_name(function, arguments, change, name):
    with pytest.raises(AssumptionError, match=name):
        function(**(arguments | change))


def test_a_checked_hypothesis_travels_with_the_claim():
    promise = metric.posterior_draws_within(lipschitz=0.25, rho=2.0, draws=3, unit="person")
    assert [a.symbol for a in promise.assumptions] == ["L", "r", "rho", "N"]
    assert promise.unit == "person"
    assert type(promise).from_json(promise.to_json()) == promise
