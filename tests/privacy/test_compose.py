"""Composition: one algebra for every curve, and each route to an answer at or above the exact one."""

from __future__ import annotations

import itertools
import json
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import oracles
import sfumato as sf
from sfumato.privacy.compose import Composed, compose
from sfumato.privacy.convert import minimise_over_orders, renyi_to_epsilon
from sfumato.privacy.curves import Curve
from sfumato.privacy.loss_distribution import ComposedLoss, from_profile

# Every implementation of Curve; a new one is added here and goes through the whole battery.
CURVES: dict[str, Curve] = {
    "gaussian": sf.Gaussian(0.3),
    "pure": sf.Pure(0.4),
    "bounded range": sf.BoundedRange(0.7),
    "renyi": sf.Renyi([2.0, 8.0, 32.0], [0.02, 0.09, math.inf]),
    "approximate": sf.Profile("approximate", {"epsilon": 0.5, "delta": 1e-7}),
    "revealing gaussian": sf.Profile("revealing-gaussian", {"mu": 0.4, "delta": 1e-7}),
    "table": sf.Profile.from_function(sf.Gaussian(0.5).delta, np.linspace(0, 5, 101)),
    "beta pair": sf.Profile("beta-pair", {"a": 40.0, "b": 70.0, "power": 1.0, "draws": 1}),
    "beta-bernoulli": sf.Profile("beta-bernoulli", {"alpha": 40.0, "beta": 70.0, "n": 5, "power": 1.0, "draws": 1}),
    "gamma shape": sf.Profile("gamma-shape", {"shape": 50.0, "shift": 1.0, "draws": 1}),
    "gamma rate": sf.Profile("gamma-rate", {"shape": 50.0, "rate": 60.0, "shift": 2.0, "draws": 1}),
    "metric": sf.Metric(0.3, 1e-4, "|x - y|"),
    "composed": sf.Pure(0.1) + sf.BoundedRange(0.2),
}
ORDINARY = {name: curve for name, curve in CURVES.items() if name != "metric"}
ROUNDING = 1e-14


def same(first: object, second: object) -> bool:
    """True for documents that agree but for the last digits of their numbers."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=ROUNDING)
    return first == second


def kinds() -> set[str]:
    """Names of all concrete curves that the library defines."""
    found, waiting = set(), [Curve]
    while waiting:
        waiting += (children := waiting.pop().__subclasses__())
        found |= {child.__name__ for child in children if child.__module__.startswith("sfumato")}
    return found


# --- the algebra, for every curve ------------------------------------------------------------------------------------


def test_the_table_is_complete():
    assert {type(curve).__name__ for curve in CURVES.values()} == kinds()


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("count", [2, 3, 7])
def test_k_fold_is_k_singles(name, count):
    curve = CURVES[name]
    singles = curve
    for _ in range(count - 1):
        singles = singles + curve
    assert same((count * curve).to_json(), singles.to_json())
    assert same((curve * count).to_json(), singles.to_json())
    assert same((2 * (count * curve)).to_json(), (2 * count * curve).to_json())


@pytest.mark.parametrize("name", CURVES)
def test_once_is_the_curve_itself(name):
    curve = CURVES[name]
    assert 1 * curve == curve
    assert compose([(curve, 1)]) == curve


@pytest.mark.parametrize("name", ORDINARY)
def test_nothing_costs_nothing(name):
    curve = ORDINARY[name]
    never = 0 * curve
    assert (never.delta(0.0), never.epsilon(0.0), never.renyi(100.0)) == (0.0, 0.0, 0.0)
    assert curve + never == never + curve == curve
    assert curve + sf.Pure(0.0) == curve + sf.BoundedRange(0.0) == curve + sf.Gaussian(0.0) == curve


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(ORDINARY, 2)))
def test_sums_commute_and_associate(first, second):
    a, b, c = ORDINARY[first], ORDINARY[second], sf.Pure(0.05)
    assert same((a + b).to_json(), (b + a).to_json())
    assert same(((a + b) + c).to_json(), (a + (b + c)).to_json())
    assert same((2 * (a + b)).to_json(), (2 * b + 2 * a).to_json())


@pytest.mark.parametrize("name", CURVES)
def test_json_both_ways(name):
    for curve in (CURVES[name], 3 * CURVES[name], *([] if name == "metric" else [CURVES[name] + sf.Gaussian(0.7)])):
        assert Curve.from_json(json.loads(json.dumps(curve.to_json(), allow_nan=False))) == curve


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_values(name):
    curve = CURVES[name]
    assert hash(curve) == hash(Curve.from_json(curve.to_json()))
    with pytest.raises(AttributeError):
        curve.kind = "free"  # type: ignore[misc]
    assert eval(repr(curve), {name: getattr(sf, name) for name in ("Gaussian", "Pure", "BoundedRange", "Renyi", "Metric", "Profile")} | {"inf": math.inf}) == curve  # fmt: skip  # noqa: E501


@pytest.mark.parametrize("count", [-1, -1000])
def test_negative_counts_are_refused(count):
    with pytest.raises(sf.errors.ArgumentError):
        sf.Pure(1.0) * count
    with pytest.raises(sf.errors.ArgumentError):
        compose([(sf.Pure(1.0), count)])


@pytest.mark.parametrize("count", [1.5, "2", True, None])
def test_counts_that_are_no_counts_are_refused(count):
    with pytest.raises(TypeError):
        sf.Pure(1.0) * count


@pytest.mark.parametrize("count", [-3, 0.5, "2", True, None])
def test_documents_with_impossible_counts_are_refused(count):
    document = {"curve": "composed", "parts": [{"count": count, "part": {"curve": "pure", "epsilon": 1.0}}]}
    with pytest.raises(sf.errors.FormatError):
        Curve.from_json(document)


@pytest.mark.parametrize(
    "document",
    [
        3,
        {"curve": "laplace"},
        {"curve": ["pure"], "epsilon": 1.0},
        {"curve": "pure"},
        {"curve": "pure", "epsilon": "1"},
        {"curve": "pure", "epsilon": 1.0, "delta": 0.0},
        {"curve": "gaussian", "mu": -1.0},
        {"curve": "metric", "epsilon": 1.0, "delta": 0.0, "distance": ""},
        {"curve": "profile", "name": "beta-pair", "parameters": [1.0]},
        {"curve": "profile", "name": "beta-pair", "parameters": {"a": 1.0}},
        {"curve": "profile", "name": "unheard of", "parameters": {}},
        {"curve": "profile", "name": "tabulated", "parameters": {"epsilons": ["a"], "deltas": [0.0]}},
        {"curve": "composed", "parts": 3},
        {"curve": "composed", "parts": [{"count": 1}]},
    ],
)
def test_broken_documents_are_refused(document):
    with pytest.raises(sf.errors.FormatError):
        Curve.from_json(document)


def test_only_curves_can_be_added():
    with pytest.raises(TypeError):
        sf.Pure(1.0) + 1.0  # type: ignore[operator]


# --- metric curves ---------------------------------------------------------------------------------------------------


def test_metric_curves_add_both_numbers():
    total = sf.Metric(0.5, 0.01, "d") + 3 * sf.Metric(0.25, 0.02, "d")
    assert isinstance(total, sf.Metric)
    assert total.epsilon_value == pytest.approx(1.25, rel=1e-14)
    assert total.epsilon_value >= 1.25
    assert total.delta_value == pytest.approx(0.07, rel=1e-14)


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(1, 9)), min_size=1, max_size=5))
def test_metric_sums_are_never_below(parts):
    total = compose([(sf.Metric(e, e / 100, "d"), count) for e, count in parts])
    with mp.workdps(40):
        assert total.epsilon_value >= mp.fsum(mp.mpf(e) * count for e, count in parts)
        assert total.delta_value >= mp.fsum(mp.mpf(e / 100) * count for e, count in parts)


@pytest.mark.parametrize(
    "other", [sf.Metric(1.0, 0.0, "hamming"), sf.Gaussian(1.0), sf.Pure(0.5) + sf.BoundedRange(1.0)]
)
def test_metric_curves_refuse_other_company(other):
    for pair in ((sf.Metric(1.0, 0.0, "d"), other), (other, sf.Metric(1.0, 0.0, "d"))):
        with pytest.raises(sf.errors.CompositionError, match="same distance"):
            pair[0] + pair[1]


def test_metric_within_a_distance():
    curve = sf.Metric(0.5, 0.01, "d")
    assert sf.Metric(0.5, 0.0, "d").within(2.0).renyi(math.inf) == pytest.approx(1.0)
    assert curve.within(2.0).delta(1.0 + 1e-9) == pytest.approx(0.02)
    assert curve.within(2.0).delta(1.0 + 1e-9) >= 0.02
    assert curve.delta(0.5 + 1e-9) == pytest.approx(0.01)
    assert curve.within(0.0).epsilon(0.0) == 0.0
    assert sf.Metric(0.5, 1.0, "d").vacuous
    with pytest.raises(sf.errors.ArgumentError, match="rho"):
        curve.within(-1.0)


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_golden_ten_gaussians():
    total = 10 * sf.Gaussian(0.3)
    assert f"{total.mu:.6f}" == "0.948683"
    assert f"{total.epsilon(1e-5):.6f}" == "4.118635"


@given(st.lists(st.tuples(st.floats(1e-6, 1e3), st.integers(1, 1000)), min_size=1, max_size=6))
def test_gaussians_add_in_squares_and_never_below(parts):
    total = compose([(sf.Gaussian(mu), count) for mu, count in parts])
    with mp.workdps(40):
        truth = mp.sqrt(mp.fsum(count * mp.mpf(mu) ** 2 for mu, count in parts))
        assert truth <= total.mu <= truth * (1 + mp.mpf(ROUNDING))


@pytest.mark.parametrize("mu", [1e-200, 1e-310, 1e160])
def test_gaussians_that_under_and_overflow_when_squared(mu):
    assert (1 * sf.Gaussian(mu)).mu == mu
    assert mu <= (sf.Gaussian(mu) + sf.Gaussian(mu * 1e-3)).mu <= 1.01 * mu
    assert 1.4 * mu < (2 * sf.Gaussian(mu)).mu < 1.5 * mu


@given(st.floats(0.001, 3), st.integers(2, 60), st.floats(0, 1))
def test_equal_pure_curves_are_the_binomial_formula(bound, count, share):
    curve, epsilon = count * sf.Pure(bound), share * count * bound
    with mp.workdps(40):
        truth = oracles.equal_responses(count, bound, epsilon)
        assert truth <= curve.delta(epsilon) <= truth * (1 + mp.mpf(1e-9)) + mp.mpf(1e-13)


@pytest.mark.parametrize(("count", "bound"), [(2, 0.7), (3, 0.1), (3, 0.3), (7, 0.35), (1000, 0.013), (2000, 0.05)])
def test_equal_pure_curves_at_and_beside_the_lattice_of_losses(count, bound):
    curve = count * sf.Pure(bound)
    with mp.workdps(60):
        for lies in {0, 1, count // 4, count // 3}:
            at = (count - 2 * lies) * bound
            for epsilon in (math.nextafter(at, 0), at, math.nextafter(at, math.inf)):
                assert curve.delta(epsilon) >= oracles.equal_responses(count, bound, epsilon)


def test_heterogeneous_pure_curves_against_every_answer():
    bounds = [0.05, 0.3, 0.3, 0.7, 1.1, 2.0]
    curve = compose([(sf.Pure(b), 1) for b in bounds])
    with mp.workdps(40):
        for epsilon in (0.0, 0.3, 1.0, 2.5, 4.0, 4.4, 4.45):
            truth = oracles.composed_responses(bounds, epsilon)
            assert truth <= curve.delta(epsilon) <= truth * (1 + mp.mpf(0.02)) + mp.mpf(1e-5)
        for delta in (0.1, 1e-3, 1e-6):
            assert oracles.composed_responses(bounds, curve.epsilon(delta)) <= delta
    assert curve.delta(sum(bounds) + 1e-9) == 0


@pytest.mark.parametrize("narrow", [1e-6, 1e-3])
def test_very_different_widths(narrow):
    curve = sf.Pure(narrow) + sf.Pure(10.0)
    with mp.workdps(40):
        for epsilon in (0.0, 5.0, 9.9, 10.0):
            assert curve.delta(epsilon) >= oracles.composed_responses([narrow, 10.0], epsilon)
        for delta in (0.3, 1e-6):
            assert oracles.composed_responses([narrow, 10.0], curve.epsilon(delta)) <= delta


# --- Renyi route >= loss distribution >= exact -----------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "count"), [(0.5, 2), (0.3, 10), (0.05, 1000), (1.0, 1)])
def test_tabulated_gaussians_against_the_closed_form(mu, count):
    reach = sf.Gaussian(mu).epsilon(1e-17)
    curve = count * sf.Profile.from_function(sf.Gaussian(mu).delta, np.linspace(0, reach, 1501))
    exact = sf.Gaussian(mu * math.sqrt(count))
    for delta in (0.1, 1e-3, 1e-6, 1e-9):
        by_renyi = minimise_over_orders(lambda a, d=delta: renyi_to_epsilon(a, exact.renyi(a), d))
        assert exact.epsilon(delta) <= curve.epsilon(delta) <= 1.001 * exact.epsilon(delta)
        assert curve.epsilon(delta) <= by_renyi
        at = exact.epsilon(delta)
        assert oracles.gaussian_delta(at, mu * math.sqrt(count)) <= curve.delta(at) <= 1.01 * delta


@pytest.mark.parametrize("name", ["bounded range", "beta pair", "gamma rate", "composed"])
def test_every_route_is_at_least_the_answer(name):
    curve = 4 * CURVES[name]
    assert isinstance(curve, Composed)
    for delta in (1e-3, 1e-6):
        by_renyi = minimise_over_orders(lambda a, d=delta: renyi_to_epsilon(a, curve.renyi(a), d))
        by_cover = math.inf if curve.mu is None else sf.Gaussian(curve.mu).epsilon(delta)
        epsilon = curve.epsilon(delta)
        assert epsilon <= min(by_renyi, by_cover, curve.pure_total)
        assert epsilon > CURVES[name].epsilon(delta)
        assert curve.delta(epsilon) <= delta * (1 + 1e-6)


def two_point_delta(bound: float, top: float, count: int, epsilon: float) -> float:
    """Exact delta of `count` releases of the two-point law with log ratios `top` and `top` - `bound`."""
    p = (math.exp(bound) - math.exp(top)) / math.expm1(bound)
    low = np.arange(count + 1)
    log_weight = (
        special.gammaln(count + 1) - special.gammaln(low + 1) - special.gammaln(count - low + 1)
        + (count - low) * math.log(p) + low * math.log1p(-p)
    )  # fmt: skip
    loss = count * top - low * bound
    return float(np.sum(np.exp(log_weight) * np.maximum(0, -np.expm1(epsilon - loss))))


@pytest.mark.parametrize("count", [2, 10, 1000])
def test_bounded_range_composed_is_above_mechanisms_that_exist(count):
    bound = 1.0 / math.sqrt(count)
    curve = count * sf.BoundedRange(bound)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        reached = max(two_point_delta(bound, share * bound, count, epsilon) for share in np.linspace(0.3, 0.9, 61))
        assert curve.delta(epsilon) >= reached * (1 - 1e-9)
        # The pointwise maximum over laws is itself wider: for small eps its loss is uniform (deviation eps/sqrt(3)),
        # that of the worst law two-valued (eps/2).
        assert epsilon < 1 or curve.delta(1.25 * epsilon) <= reached
    assert curve.epsilon(1e-6) < (count * sf.Pure(bound)).epsilon(1e-6)


def test_a_thousand_beta_draws():
    curve = CURVES["beta pair"]
    total = 1000 * curve
    exact = 1000 * curve.renyi(2.0)
    assert exact <= total.renyi(2.0) <= exact * (1 + ROUNDING)
    assert total.epsilon(1e-6) <= minimise_over_orders(lambda a: renyi_to_epsilon(a, total.renyi(a), 1e-6))
    # A lower bound: no pair is harder to tell than its mean loss says, 1000 KL at least.
    assert total.epsilon(0.1) > 0.5 * 1000 * curve.renyi(1.0)


def test_more_than_two_thousand_pure_curves_leave_the_closed_form():
    curve = 2500 * sf.Pure(0.02)
    with mp.workdps(40):
        for epsilon in (0.5, 2.0, 5.0):
            truth = oracles.equal_responses(2500, 0.02, epsilon)
            assert truth <= curve.delta(epsilon) <= truth * (1 + mp.mpf(0.01)) + mp.mpf(1e-12)


def binomial_delta(bound: float, count: int, epsilon: float) -> float:
    """`oracles.equal_responses` in floats, to a relative 1e-8: enough to see an absolute 1e-12."""
    lies = np.arange(count // 2 + 1, dtype=float)
    log_weight = (
        special.gammaln(count + 1) - special.gammaln(lies + 1) - special.gammaln(count - lies + 1)
        - count * math.log1p(math.exp(-bound)) - lies * bound
    )  # fmt: skip
    return float(np.sum(np.exp(log_weight) * np.maximum(0, -np.expm1(epsilon - (count - 2 * lies) * bound))))


def test_the_sums_of_the_library_are_given_an_allowance_both_ways():
    """A single distribution has no convolution error: what is left is the rounding of the sum over its dots, 1e-9 of it."""
    deltas = sf.Pure(0.7).deltas(0.07 * np.arange(13))
    part = from_profile(deltas, deltas, 0.07)
    loss = ComposedLoss([(part, 1)])
    for epsilon in (0.0, 0.1, 0.33, 0.6):
        summed = part.get_delta_for_epsilon(epsilon)
        assert summed * (1 + 5e-10) < loss.delta(epsilon) < summed * (1 + 5e-9)
        assert part.get_delta_for_epsilon(loss.epsilon(summed)) < summed * (1 - 5e-10)


@pytest.mark.parametrize(("bound", "dots", "count"), [(0.1, 10, 1000), (0.01, 7, 10_000), (0.003, 50, 100_000)])
def test_the_charge_covers_the_error_of_the_convolution(bound, dots, count):
    # Losses that lie on the grid: the discretisation adds nothing, so what the transform loses would show.
    deltas = sf.Pure(bound).deltas(bound / dots * np.arange(dots + 3))
    loss = ComposedLoss([(from_profile(deltas, deltas, bound / dots), count)])
    for deviations in (1.0, 3.0, 5.0, 6.0):
        epsilon = count * bound * math.tanh(bound / 2) + deviations * bound * math.sqrt(count)
        truth = binomial_delta(bound, count, epsilon)
        assert loss.delta(epsilon) >= truth * (1 - 1e-8)
        assert binomial_delta(bound, count, loss.epsilon(truth)) <= truth * (1 + 1e-8)


def test_the_float_reference_agrees_with_the_exact_one():
    with mp.workdps(30):
        assert binomial_delta(0.1, 1000, 6.0) == pytest.approx(float(oracles.equal_responses(1000, 0.1, 6.0)), rel=1e-9)


# --- mixtures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orders", [(1.5, 2.0, 4.0, 8.0, 16.0, 64.0), (3.0,)])
def test_a_renyi_part_with_a_gaussian(orders):
    listed = sf.Renyi(orders, [sf.Gaussian(0.6).renyi(a) for a in orders])
    curve = listed + sf.Gaussian(0.8)
    exact = sf.Gaussian(1.0)
    assert not curve.composable_as_profile
    assert curve.mu is None
    for delta in (0.01, 1e-6):
        assert curve.epsilon(delta) >= exact.epsilon(delta) * (1 - 1e-12)
        assert curve.epsilon(delta) == min(renyi_to_epsilon(a, curve.renyi(a), delta) for a in orders)
    for order in (*orders, 2.5, 3.5):
        if order <= orders[-1]:
            assert curve.renyi(order) >= exact.renyi(order) * (1 - 1e-14)
    assert curve.renyi(orders[-1] * 1.01) == math.inf


def test_renyi_parts_with_different_orders_are_kept_apart():
    first, second = sf.Renyi([2.0, 4.0], [0.1, 0.3]), sf.Renyi([3.0], [0.2])
    curve = first + second
    assert curve.renyi(3.0) == pytest.approx(first.renyi(3.0) + 0.2)
    assert curve.renyi(4.0) == math.inf
    assert curve.epsilon(1e-5) == min(renyi_to_epsilon(a, curve.renyi(a), 1e-5) for a in (2.0, 3.0, 4.0))
    assert (first + first).renyi(2.0) == pytest.approx(0.2)


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 9)), min_size=2, max_size=5))
def test_renyi_sums_are_never_below(parts):
    total = compose([(sf.Renyi([2.0], [value]), count) for value, count in parts] + [(sf.Pure(0.1), 1)])
    with mp.workdps(40):
        truth = mp.fsum(count * mp.mpf(value) for value, count in parts)
        assert total.renyi(2.0) >= truth + oracles.finite_renyi(*oracles.randomised_response(0.1), 2.0)


def test_revealed_mass_adds_up():
    curve = 3 * sf.Profile("approximate", {"epsilon": 0.5, "delta": 1e-6})
    with mp.workdps(40):
        revealed = 1 - (1 - mp.mpf(1e-6)) ** 3
        for epsilon in (0.0, 0.6, 1.4, 1.6, 50.0):
            truth = revealed + (1 - revealed) * oracles.equal_responses(3, 0.5, epsilon)
            assert truth <= curve.delta(epsilon) <= truth * (1 + mp.mpf(0.01))
    assert 2.9999e-6 < curve.floor <= 3.0001e-6
    assert curve.epsilon(2e-6) == math.inf
    assert curve.epsilon(3.5e-6) <= 1.5 * (1 + 1e-9)


def test_gaussian_with_pure_by_direct_integration():
    # delta of the sum is the expectation of the Gaussian profile over the loss of the randomised response.
    curve = sf.Gaussian(0.8) + sf.Pure(0.6)

    def two_sided(epsilon: float) -> float:
        return sf.Gaussian(0.8).delta(epsilon)

    yes = 1 / (1 + math.exp(-0.6))
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        truth = yes * two_sided(epsilon - 0.6) + (1 - yes) * two_sided(epsilon + 0.6)
        assert truth * (1 - 1e-10) <= curve.delta(epsilon) <= truth * (1 + 1e-3)


@pytest.mark.parametrize(
    "curve", [3 * sf.Pure(800.0), 2 * sf.BoundedRange(300.0), sf.Pure(800.0) + sf.Gaussian(0.1), 2 * sf.Pure(1e-9)]
)
def test_extreme_parts_raise_nothing(curve):
    assert 0 <= curve.delta(1e-3) <= 1
    assert 0 <= curve.delta(100.0) <= 1
    assert 0 <= curve.epsilon(1e-6) <= curve.pure_total
    assert curve.epsilon(0.0) == curve.pure_total


@settings(max_examples=25)
@given(
    st.lists(
        st.sampled_from([sf.Pure(0.3), sf.Pure(0.8), sf.BoundedRange(0.5), sf.Gaussian(0.4)]), min_size=2, max_size=4
    )
)
def test_delta_and_epsilon_agree(parts):
    curve = compose([(part, 1) for part in parts])
    for delta in (0.05, 1e-4, 1e-8):
        epsilon = curve.epsilon(delta)
        assert curve.delta(epsilon) <= delta * (1 + 1e-6)
        assert epsilon == 0 or curve.delta(0.98 * epsilon) > delta


# --- planted faults --------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_an_accountant_that_ignores_the_count_is_rejected():
    for name, curve in ORDINARY.items():
        assert not same(curve.to_json(), (2 * curve).to_json()), name


@pytest.mark.planted
def test_a_linear_sum_of_mus_is_rejected():
    with pytest.raises(AssertionError):
        assert same(sf.Gaussian(0.6).to_json(), (sf.Gaussian(0.3) + sf.Gaussian(0.3)).to_json())


@pytest.mark.planted
def test_an_optimistic_grid_is_rejected():
    # Rounding losses down to the grid falls below the exact composition; connecting the dots does not.
    bound, interval, count = 0.7, 0.13, 5
    epsilon = 1.5
    down = math.floor(bound / interval) * interval
    assert binomial_delta(down, count, epsilon) < binomial_delta(bound, count, epsilon)
    deltas = sf.Pure(bound).deltas(interval * np.arange(7))
    loss = ComposedLoss([(from_profile(deltas, deltas, interval), count)])
    assert loss.delta(epsilon) >= binomial_delta(bound, count, epsilon)
