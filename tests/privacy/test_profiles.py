"""Exact profiles of posterior draws against many digits and brute force over neighbours; tables and (eps, delta)."""

from __future__ import annotations

import itertools
import json
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special

import oracles
import sfumato as sf
from effort import sized
from sfumato.privacy import posterior_profiles
from sfumato.privacy.convert import minimise_over_orders, renyi_to_epsilon
from sfumato.privacy.curves import Curve
from sfumato.privacy.gamma_profiles import gamma_rate_renyi, gamma_shape_renyi
from sfumato.privacy.inflation import inflated
from sfumato.privacy.pair_losses import safe_order
from sfumato.privacy.pairs import beta_delta, gamma_rate_delta, gamma_shape_delta
from sfumato.privacy.posterior_profiles import beta_bernoulli_delta, beta_renyi

TIGHT = 1e-9
SEEN = 1e-300
Array = NDArray[np.float64]


def bernoulli(alpha: float, beta: float, n: int, power: float, draws: int = 1) -> sf.Profile:
    return sf.Profile("beta-bernoulli", {"alpha": alpha, "beta": beta, "n": n, "power": power, "draws": draws})


def beta_pair(a: float, b: float, power: float, draws: int = 1) -> sf.Profile:
    return sf.Profile("beta-pair", {"a": a, "b": b, "power": power, "draws": draws})


def gamma_shape(shape: float, shift: float, draws: int = 1) -> sf.Profile:
    return sf.Profile("gamma-shape", {"shape": shape, "shift": shift, "draws": draws})


def gamma_rate(shape: float, rate: float, shift: float, draws: int = 1) -> sf.Profile:
    return sf.Profile("gamma-rate", {"shape": shape, "rate": rate, "shift": shift, "draws": draws})


def wrong(values: Array, reference, cases: Array) -> list[tuple[str, list[float]]]:
    """Cases (eps last) whose value lies below the reference, or above it by more than 1e-9 and the charge on epsilon.

    The charge pays for the rounding of the log ratio, at most a few thousand units of it; where the profile is steep it
    shows as a relative excess, so the reference is asked again that much to the left.
    """
    found = []
    for value, case in zip(values.tolist(), cases.tolist(), strict=True):
        truth = reference(*case)
        if value < truth:
            found.append(("below", case))
        elif truth > SEEN and value > truth * (1 + mp.mpf(TIGHT)):
            charge = 2.0**-47 * (1 + case[-1] + sum(abs(math.log(x)) for x in case[:-1]))
            if value > reference(*case[:-1], case[-1] - charge) * (1 + mp.mpf(TIGHT)):
                found.append(("loose", case))
    return found


def spread(a: Array, power: Array) -> Array:
    """Order of magnitude of the loss's standard deviation when a cell with parameter `a` moves by `power`."""
    return power * np.sqrt(1 / a + np.where(a < 1, 1 / (a * a), 0))


def depths(count: int, draw: np.random.Generator, deepest: float = 9.0) -> Array:
    """How many standard deviations out to ask: 0, tiny, usual and far."""
    kinds = [
        np.zeros(count),
        10.0 ** draw.uniform(-6, 0, count),
        draw.uniform(0, 3, count),
        draw.uniform(3, deepest, count),
    ]
    return np.choose(draw.integers(0, 4, count), kinds)


def beta_cases(count: int, seed: int, low: tuple[float, float], high: tuple[float, float]) -> Array:
    """(a, b, power, eps) with one cell between 10^low and the other between 10^high, in either order."""
    draw = np.random.default_rng(seed)
    a, b = 10.0 ** draw.uniform(*low, count), 10.0 ** draw.uniform(*high, count)
    a, b = np.where(draw.random(count) < 0.5, [a, b], [b, a])
    power = 10.0 ** draw.uniform(-2, math.log10(2), count)
    return np.stack([a, b, power, depths(count, draw) * np.hypot(spread(a, power), spread(b, power))], axis=1)


# --- one pair of Beta laws against many digits -----------------------------------------------------------------------

SMALL, ANY, LARGE = (math.log10(0.05), 2.0), (math.log10(0.05), 6.0), (4.0, 6.0)


@pytest.mark.parametrize(
    ("low", "high", "count"),
    [(SMALL, SMALL, 400), (ANY, ANY, 250), (LARGE, LARGE, 60), ((math.log10(0.05), 1.0), LARGE, 400)],
)
def test_beta_pair_is_never_below_and_tight(low, high, count):
    cases = beta_cases(sized(count // 2, count), 1, low, high)
    assert wrong(beta_delta(*cases.T), oracles.beta_pair_delta, cases) == []


def test_beta_pair_where_log_gamma_differences_cancel():
    # Cells between 10 and 16 with small powers: two log-Gammas of about 25 differ by about 0.03.
    draw = np.random.default_rng(5)
    a, b = draw.uniform(10, 16, 400), 10.0 ** draw.uniform(1, 4.5, 400)
    power = draw.uniform(0.01, 0.02, 400)
    cases = np.stack([a, b, power, draw.uniform(0, 14, 400) * np.hypot(spread(a, power), spread(b, power))], axis=1)
    assert wrong(beta_delta(*cases.T), oracles.beta_pair_delta, cases) == []


def test_beta_pair_that_underflows():
    found = []
    for a, b, power in ((0.063, 10.26, 0.015), (15.04, 46528.0, 0.0129), (2.0, 3.0, 0.5)):
        edge = beta_pair(a, b, power).epsilon(1e-306)
        for epsilon in edge * np.linspace(1.0, 1.1, 21):
            both = max(oracles.beta_pair_delta(a, b, power, epsilon), oracles.beta_pair_delta(b, a, power, epsilon))
            value = beta_pair(a, b, power).delta(float(epsilon))
            if not (value > 0 and value >= both):
                found.append((a, b, power, epsilon, value, both))
    assert found == []


def test_large_epsilon_never_fails():
    curve = beta_pair(0.05, 0.05, 2.0)
    values = [curve.delta(e) for e in (1.0, 10.0, 100.0, 700.0, 710.0, 1e3, 1e4, 1e6, math.inf)]
    assert all(a >= b for a, b in itertools.pairwise(values))
    assert values[-2] > 0
    assert values[-1] == 0


def test_the_references_against_quadrature():
    def integrate(log_p, log_q, epsilon, points):
        with mp.workdps(30):
            scale = mp.exp(mp.mpf(epsilon))
            return mp.quad(lambda x: max(mp.mpf(0), mp.exp(log_p(x)) - scale * mp.exp(log_q(x))), points)

    def log_beta(a, b):
        norm = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
        return lambda x: a * x - (a + b) * mp.log1p(mp.exp(x)) - norm  # in x = logit(theta)

    def log_gamma(a, rate):
        return lambda y: a * (y + mp.log(rate)) - rate * mp.exp(y) - mp.loggamma(a)  # in y = log(theta)

    with mp.workdps(30):
        # The kink, where the log ratio is eps, ends the first panel.
        cut = (mp.mpf(1) + mp.log(mp.beta(3.5, 5)) - mp.log(mp.beta(3, 5.5))) / mp.mpf("0.5")
        direct = integrate(log_beta(3.5, 5), log_beta(3, 5.5), 1.0, [cut, cut + 2, cut + 6, cut + 20])
        assert abs(oracles.beta_pair_delta(3, 5, 0.5, 1.0) / direct - 1) < 1e-15
        cut = (mp.mpf("0.3") + mp.loggamma(5) - mp.loggamma(4)) / 1
        direct = integrate(log_gamma(mp.mpf(5), 1), log_gamma(mp.mpf(4), 1), 0.3, [cut, cut + 1, cut + 3, cut + 6])
        assert abs(oracles.gamma_shape_delta(4, 1, 0.3, True) / direct - 1) < 1e-15
        cut = mp.log((4 * mp.log(mp.mpf("1.25")) - mp.mpf("0.3")) / mp.mpf("0.5"))
        direct = integrate(
            log_gamma(mp.mpf(4), mp.mpf("2.5")), log_gamma(mp.mpf(4), 2), 0.3, [cut - 30, cut - 5, cut - 1, cut]
        )
        assert abs(oracles.gamma_rate_delta(4, 2, 0.5, 0.3, False) / direct - 1) < 1e-15


# --- Gamma laws ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("upward", [True, False])
@pytest.mark.parametrize(("low", "high", "count"), [(math.log10(0.05), 2.0, 150), (2.0, 5.0, 25)])
def test_gamma_shape_is_never_below_and_tight(upward, low, high, count):
    draw = np.random.default_rng(21)
    shape, shift = 10.0 ** draw.uniform(low, high, count), 10.0 ** draw.uniform(-2, 1.3, count)
    cases = np.stack([shape, shift, depths(count, draw, 6.0) * spread(shape, shift)], axis=1)
    values = gamma_shape_delta(*cases.T, upward=upward)
    assert wrong(values, lambda a, s, e: oracles.gamma_shape_delta(a, s, e, upward), cases) == []


@pytest.mark.parametrize("slower", [True, False])
@pytest.mark.parametrize(("low", "high", "count"), [(math.log10(0.05), 2.0, 150), (2.0, 5.0, 25)])
def test_gamma_rate_is_never_below_and_tight(slower, low, high, count):
    draw = np.random.default_rng(22)
    shape, rate = 10.0 ** draw.uniform(low, high, count), 10.0 ** draw.uniform(-2, 4, count)
    shift = rate * 10.0 ** draw.uniform(-5, 0.5, count)
    # In the fast direction the loss ends at shape log(1 + shift/rate); stay a millionth away from the end.
    epsilon = depths(count, draw, 6.0) * shift / rate * np.sqrt(shape)
    epsilon = epsilon if slower else np.minimum(epsilon, shape * np.log1p(shift / rate) * (1 - 1e-6))
    cases = np.stack([shape, rate, shift, epsilon], axis=1)
    values = gamma_rate_delta(*cases.T, slower=slower)
    assert wrong(values, lambda k, b, s, e: oracles.gamma_rate_delta(k, b, s, e, slower), cases) == []


def test_the_fast_direction_ends():
    reach = 3.0 * math.log1p(0.25)
    fast = [
        float(gamma_rate_delta(*(np.array([x]) for x in (3.0, 2.0, 0.5, e)), slower=False)[0])
        for e in (0.9 * reach, 1.1 * reach)
    ]
    assert fast[0] > 0
    assert fast[1] == 0


def test_before_the_end_a_tiny_delta_is_not_zero():
    reach = 56.0 * math.log1p(0.1)
    value = gamma_rate_delta(*(np.array([x]) for x in (56.0, 1.0, 0.1, reach * (1 - 1e-8))), slower=False)
    assert float(value[0]) > 0  # about 1e-430


# --- golden values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [(0.1, "0.128338786"), (0.5, "0.037396229"), (1.0, "0.005116727"), (2.0, "3.61917e-05"), (3.0, "1.33941e-07")],
)
def test_golden_delta_of_beta_bernoulli(epsilon, printed):
    digits = printed.split("e")[0].replace(".", "").lstrip("0")
    shown = f"{bernoulli(6.0, 12.0, 100, 1.0).delta(epsilon):.{len(digits) - 1}e}"
    assert shown == f"{float(printed):.{len(digits) - 1}e}"


def test_golden_epsilon_of_beta_bernoulli():
    curve = bernoulli(6.0, 12.0, 100, 1.0)
    assert f"{curve.epsilon(1e-6):.5f}" == "2.64844"
    assert f"{minimise_over_orders(lambda a: renyi_to_epsilon(a, curve.renyi(a), 1e-6)):.5f}" == "3.05134"


def test_golden_small_priors():
    assert f"{bernoulli(0.1, 0.1, 1, 0.05).delta(2.0):.10f}" == "0.0037405183"
    sixteen = bernoulli(1.0457634638708717, 0.10015326206084994, 50, 0.016363569981723083)
    assert f"{sixteen.delta(0.5039667245830856):.11f}" == "0.00257726597"


@pytest.mark.parametrize(("power", "epsilon"), [(0.20998, 0.5), (0.40310, 1.0)])
def test_golden_diffused_power(power, epsilon):
    # The printed powers are rounded down: they meet the target and the next digit does not.
    assert bernoulli(6.0, 12.0, 100, power).epsilon(1e-6) <= epsilon
    assert bernoulli(6.0, 12.0, 100, power + 1e-5).epsilon(1e-6) > epsilon


@pytest.mark.parametrize(("power", "epsilon"), [(0.18288, 0.5), (0.35187, 1.0)])
def test_golden_diffused_power_by_renyi(power, epsilon):
    def best(r: float) -> float:
        curve = bernoulli(6.0, 12.0, 100, r)
        return minimise_over_orders(lambda a: renyi_to_epsilon(a, curve.renyi(a), 1e-6))

    assert best(power) <= epsilon < best(power + 1e-5)


def test_golden_dirichlet_renyi():
    # Dir(2,2,2), one record: the pair Beta(3,2) against Beta(2,3) in the two cells that change.
    curve = beta_pair(2.0, 2.0, 1.0)
    assert f"{curve.renyi(2.0):.10f}" == "1.0986122887"
    assert f"{curve.renyi(1.5):.10f}" == "0.7740883683"
    assert curve.renyi(2.0) >= mp.log(3)
    assert curve.renyi(3.0) == math.inf  # from order 1 + 2/1 on


# --- Renyi of the families -------------------------------------------------------------------------------------------


def renyi_orders(limit: float, draw: np.random.Generator) -> list[float]:
    """Orders from 1 to just below `limit`, where the divergence becomes infinite."""
    inside = 1 + (limit - 1) * draw.random(2)
    edge = 1 + (limit - 1) * (1 - 10.0 ** draw.uniform(-9, -1, 2))
    return [1.0, 1 + 10.0 ** draw.uniform(-6, -1), *inside, *edge]


def renyi_too_low(renyi, reference, parameters) -> list[tuple[float, ...]]:
    draw = np.random.default_rng(31)
    found = []
    for limit, values in parameters:
        for order in map(float, renyi_orders(limit, draw)):
            truth, value = reference(*values, order), renyi(*values, order)
            if value < truth or (value == math.inf and truth < mp.inf and order < 1 + (limit - 1) * (1 - 1e-12)):
                found.append((*values, order))
    return found


def test_beta_renyi_is_never_below():
    draw = np.random.default_rng(32)
    cells = 10.0 ** draw.uniform(-1.3, 5, (120, 2))
    powers = 10.0 ** draw.uniform(-2, 0.3, 120)
    cases = [(1 + b / r, (a, b, r)) for (a, b), r in zip(cells.tolist(), powers.tolist(), strict=True)]
    assert renyi_too_low(beta_renyi, oracles.beta_pair_renyi, cases) == []


def test_gamma_shape_renyi_is_never_below():
    draw = np.random.default_rng(33)
    cases = [(1 + a / s, (a, s)) for a, s in (10.0 ** draw.uniform((-1.3, -2), (5, 1), (120, 2))).tolist()]
    assert renyi_too_low(gamma_shape_renyi, oracles.gamma_shape_renyi, cases) == []


def test_gamma_rate_renyi_is_never_below():
    draw = np.random.default_rng(34)
    drawn = 10.0 ** draw.uniform((-1.3, -2, -6), (5, 4, 0.5), (120, 3))
    cases = [(1 + 1 / x, (k, b, b * x)) for k, b, x in drawn.tolist()]
    assert renyi_too_low(gamma_rate_renyi, oracles.gamma_rate_renyi, cases) == []


def tiny_shifts(seed: int, count: int) -> list[tuple[float, float, float, float]]:
    """Two cells, a shift far below them, and an order so high that 1/(order - 1) covers no error either."""
    draw = np.random.default_rng(seed)
    cells = 10.0 ** draw.uniform(-3, 2, (count, 2))
    shifts = 10.0 ** draw.uniform(-14, -9, count)
    orders = 1 + 10.0 ** draw.uniform(-6, -0.3, count) * cells[:, 1] / shifts
    return [(a, b, t, o) for (a, b), t, o in zip(cells.tolist(), shifts.tolist(), orders.tolist(), strict=True)]


def test_renyi_of_a_tiny_shift_keeps_an_absolute_allowance():
    """Divergences of 1e-20 to 1e-10 are differences of remainders that are off by 1e-18 whatever the shift."""
    cases = tiny_shifts(35, 400)
    assert [case for case in cases if beta_renyi(*case) < oracles.beta_pair_renyi(*case)] == []
    at_one = [(a, b, t, 1.0) for a, b, t, _ in cases]
    assert [case for case in at_one if beta_renyi(*case) < oracles.beta_pair_renyi(*case)] == []
    shapes = [(b, t, o) for _, b, t, order in cases for o in (order, 1.0)]
    assert [case for case in shapes if gamma_shape_renyi(*case) < oracles.gamma_shape_renyi(*case)] == []


def test_the_absolute_allowance_is_small():
    assert 0 <= beta_renyi(1.0, 1.0, 1e-13, 1e6) - float(oracles.beta_pair_renyi(1.0, 1.0, 1e-13, 1e6)) < 1e-16


@given(st.floats(0.5, 50), st.floats(0.5, 50), st.floats(0.05, 2), st.floats(0.05, 0.9))
def test_renyi_is_tight_away_from_the_edges(a, b, power, share):
    order = 1 + share * b / power
    truth = oracles.beta_pair_renyi(a, b, power, order)
    assert truth * (1 - mp.mpf(1e-13)) <= beta_renyi(a, b, power, order) <= truth + mp.mpf(1e-10)


@pytest.mark.parametrize(("order", "power", "room"), [(2.0, 1e-6, 1.0), (1.5, 1e-9, 3.0), (40.0, 0.5, 25.0)])
def test_an_order_is_raised_by_the_roundings_of_itself_and_of_its_limit(order, power, room):
    """Both are known to half a unit in the last place: several such units are added, and not many more."""
    unit = mp.mpf(2) ** -53 * (mp.mpf(order) + mp.mpf(room) / mp.mpf(power))
    assert 4 * unit <= mp.mpf(safe_order(order, power, room)) - mp.mpf(order) <= 16 * unit
    assert safe_order(1 + room / power, power, room) == math.inf


def test_renyi_is_infinite_from_the_exclusive_order_on():
    assert beta_pair(3.0, 5.0, 0.5).renyi(7.0) == math.inf  # the smaller cell decides: 1 + 3/0.5
    assert beta_pair(3.0, 5.0, 0.5).renyi(6.99) < math.inf
    assert gamma_shape(3.0, 0.5).renyi(7.0) == math.inf
    assert gamma_rate(3.0, 2.0, 0.5).renyi(5.0) == math.inf
    for curve in (
        beta_pair(3.0, 5.0, 0.5),
        gamma_shape(3.0, 0.5),
        gamma_rate(3.0, 2.0, 0.5),
        bernoulli(3.0, 5.0, 9, 0.5),
    ):
        assert curve.renyi(math.inf) == math.inf
        assert curve.mu is None


# --- every neighbour, by brute force ---------------------------------------------------------------------------------


def every_neighbour(alpha: float, beta: float, n: int, power: float, epsilon: float) -> float:
    """Largest delta over the others' counts k = 0..n-1 and both directions."""
    k = np.arange(n)
    a, b = alpha + power * k, beta + power * (n - 1 - k)
    return float(max(beta_delta(x, y, np.array([power]), np.array([epsilon])).max() for x, y in ((a, b), (b, a))))


def bernoulli_cases(count: int, seed: int) -> list[tuple[float, float, int, float, float]]:
    """Priors 0.05 to 100, powers 0.01 to 2, n to 2,000, and an eps at which delta is between 1e-9 and 0.3."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        alpha, beta = (10.0 ** draw.uniform(math.log10(0.05), 2, 2)).tolist()
        power = float(10.0 ** draw.uniform(-2, math.log10(2)))
        n = int(
            draw.choice([1, 2, 3, draw.integers(4, 100), draw.integers(100, 2001)], p=[0.05, 0.05, 0.05, 0.65, 0.2])
        )
        hidden = power * (n - 1)
        a, b = np.array([[alpha], [alpha + hidden]]), np.array([[beta + hidden], [beta]])
        grid = power * np.geomspace(1e-3, 300, 40)
        ends = np.maximum(beta_delta(a, b, np.array([[power]]), grid), beta_delta(b, a, np.array([[power]]), grid)).max(
            axis=0
        )
        wanted = draw.uniform(-9, -0.5)
        found.append((alpha, beta, n, power, float(grid[np.argmin(abs(np.log10(ends) - wanted))])))
    return found


def wrong_claims(claim, cases) -> list[tuple[str, tuple[float, ...]]]:
    """Cases in which a claimed delta is below some neighbouring pair's, or above all of them."""
    found = []
    for case in cases:
        value, truth = claim(*case), every_neighbour(*case)
        if value < truth:
            found.append(("below", case))
        elif value > truth * (1 + TIGHT):
            found.append(("loose", case))
    return found


def test_no_neighbour_exceeds_the_certified_value():
    cases = bernoulli_cases(sized(100, 500), seed=41)
    assert wrong_claims(lambda a, b, n, r, e: bernoulli(a, b, n, r).delta(e), cases) == []


def test_the_pair_free_of_n_bounds_everything():
    for alpha, beta, n, power, epsilon in bernoulli_cases(40, seed=42):
        assert bernoulli(alpha, beta, n, power).delta(epsilon) <= beta_pair(alpha, beta, power).delta(epsilon) * (
            1 + TIGHT
        )


def test_renyi_of_every_neighbour():
    for alpha, beta, n, power, _ in bernoulli_cases(40, seed=43):
        curve = bernoulli(alpha, beta, min(n, 200), power)
        order = 1 + 0.5 * min(alpha, beta) / power
        cells = [(alpha + power * k, beta + power * (min(n, 200) - 1 - k)) for k in range(min(n, 200))]
        largest = max(max(beta_renyi(a, b, power, order), beta_renyi(b, a, power, order)) for a, b in cells)
        assert curve.renyi(order) >= largest * (1 - 1e-12)


def test_a_million_records():
    curve = bernoulli(1.0, 1.0, 10**6, 1.0)
    ends = max(oracles.beta_pair_delta(1, 10**6, 1, 1.0), oracles.beta_pair_delta(10**6, 1, 1, 1.0))
    assert ends <= curve.delta(1.0) <= ends * (1 + mp.mpf(TIGHT))


# --- planted faults --------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_the_count_in_place_of_the_tempered_count_is_rejected():
    # Geumlek et al., Corollary 2 prints n where Algorithm 2 needs r n.
    def untempered(alpha: float, beta: float, n: int, power: float, epsilon: float) -> float:
        hidden = float(n - 1)
        cells = ((alpha, beta + hidden), (alpha + hidden, beta))
        return max(beta_pair(a, b, power).delta(epsilon) for a, b in cells)

    found = wrong_claims(untempered, [c for c in bernoulli_cases(60, seed=44) if c[2] > 3 and c[3] < 0.5])
    assert found
    assert {kind for kind, _ in found} == {"below"}


@pytest.mark.planted
def test_vertices_only_are_rejected_for_three_cells():
    # Dir(2,2,2), 8 records, order 2: all other 7 records in a cell of the pair (the vertices) against in the third cell.
    vertices = max(beta_pair(2.0 + k, 9.0 - k, 1.0).renyi(2.0) for k in (0, 7))
    assert f"{vertices:.4f}" == "0.7985"
    inside = max(beta_pair(2.0 + i, 2.0 + j, 1.0).renyi(2.0) for i in range(8) for j in range(8 - i))
    assert inside == beta_pair(2.0, 2.0, 1.0).renyi(2.0) > vertices


@pytest.mark.planted
def test_complements_of_a_rounded_threshold_are_rejected():
    def complement(a: float, b: float, power: float, epsilon: float, tail) -> float:
        ratio = special.betaln(a, b + power) - special.betaln(a + power, b)
        t = special.expit((epsilon - ratio) / power)  # rounds to 1
        return tail(a + power, b, t) - math.exp(epsilon) * tail(a, b + power, t)

    case = np.array([[0.1, 0.1, 0.05, 2.0]])
    for tail in (lambda a, b, t: 1 - special.betainc(a, b, t), special.betaincc):
        planted = np.array([complement(*case[0], tail)])
        assert [kind for kind, _ in wrong(planted, oracles.beta_pair_delta, case)] == ["below"]
    assert wrong(beta_delta(*case.T), oracles.beta_pair_delta, case) == []


@pytest.mark.planted
def test_a_certificate_without_its_blocks_is_rejected(monkeypatch):
    # Start the claim at the middle pair, which is the smallest: with its blocks the certificate still covers every
    # interior neighbour, without them it falls below.
    def middle(alpha: float, beta: float, n: int, power: float, trials: int) -> tuple[tuple[float, float], ...]:
        half = (n - 1) // 2 if trials == 1 else 0
        return ((alpha + power * half, beta + power * (n - 1 - half)),)

    monkeypatch.setattr(posterior_profiles, "beta_endpoints", middle)
    for alpha, beta, n, power, epsilon in [c for c in bernoulli_cases(30, seed=45) if c[2] > 8]:
        k = np.arange(1, n - 1)
        a, b = alpha + power * k, beta + power * (n - 1 - k)
        inside = max(beta_delta(x, y, np.array([power]), np.array([epsilon])).max() for x, y in ((a, b), (b, a)))
        assert beta_bernoulli_delta(alpha, beta, n, power, 1, epsilon) >= inside
        assert beta_bernoulli_delta(alpha, beta, n, power, 1, epsilon, certified=False) < inside


@pytest.mark.planted
@pytest.mark.parametrize("factor", [1 - 1e-9, 1 + 3e-9])
def test_a_hair_off_is_rejected(factor):
    cases = beta_cases(30, 46, SMALL, SMALL)
    kinds = {kind for kind, _ in wrong(beta_delta(*cases.T) * factor, oracles.beta_pair_delta, cases)}
    assert kinds == ({"below"} if factor < 1 else {"loose"})


# --- masses known up to a factor -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [1e-6, 0.01, 0.3])
def test_masses_off_by_a_factor_are_paid_for(error):
    # Three points; every mass moved by its own factor within exp(+-error), then normalised to within the same factor.
    draw = np.random.default_rng(51)
    exact = [[mp.mpf(x) for x in row] for row in draw.dirichlet([1, 1, 1], 2).tolist()]

    def delta(epsilon: float) -> float:
        return float(max(oracles.hockey_stick(*exact, epsilon), oracles.hockey_stick(*exact[::-1], epsilon))) * (
            1 + 1e-15
        )

    for _ in range(200):
        moved = [
            [x * mp.exp(error / 2 * s) for x, s in zip(row, draw.choice([-1, 1], 3), strict=True)] for row in exact
        ]
        moved = [[x / mp.fsum(row) for x in row] for row in moved]
        for epsilon in (0.0, 0.05, 0.4, 1.0):
            assert oracles.hockey_stick(*moved, epsilon) <= inflated(delta, error, epsilon)
    assert inflated(delta, 0.0, 0.4) == delta(0.4)


@pytest.mark.parametrize("error", [1e-9, 1e-3])
def test_a_stated_error_of_the_masses_only_adds(error):
    exact = bernoulli(6.0, 12.0, 20, 1.0)
    off = sf.Profile("beta-bernoulli", exact.parameters | {"error": error})
    for epsilon in (0.0, 0.5 * error, 0.5, 2.0):
        assert exact.delta(epsilon) <= off.delta(epsilon) <= exact.delta(epsilon) + 6 * error
    assert off.delta(0.5) >= exact.delta(0.5 - 2 * min(error, 0.25))
    assert exact.renyi(2.0) + 3 * error <= off.renyi(2.0) * (1 + 1e-14)


# --- epsilon from a profile ------------------------------------------------------------------------------------------

FAMILIES = [beta_pair(0.3, 7.0, 0.4), bernoulli(2.0, 3.0, 40, 0.5), gamma_shape(3.0, 0.5), gamma_rate(3.0, 2.0, 0.5)]


@pytest.mark.parametrize("curve", FAMILIES)
def test_epsilon_inverts_delta_on_the_safe_side(curve):
    for delta in (0.05, 1e-6, 1e-20, 1e-200):
        epsilon = curve.epsilon(delta)
        assert curve.delta(epsilon) <= delta
        assert curve.delta(epsilon * (1 - 1e-9)) > delta
    assert curve.epsilon(curve.delta(0.0)) == 0.0


@pytest.mark.parametrize("curve", FAMILIES)
def test_no_epsilon_covers_delta_zero(curve):
    assert curve.epsilon(0.0) == math.inf


@pytest.mark.parametrize("curve", FAMILIES)
def test_many_deltas_at_once_are_the_same(curve):
    epsilons = np.array([0.0, 0.3, 1.7, 12.0])
    assert curve.deltas(epsilons).tolist() == [curve.delta(float(e)) for e in epsilons]


@pytest.mark.parametrize("curve", FAMILIES)
def test_json_both_ways(curve):
    assert Curve.from_json(json.loads(json.dumps(curve.to_json(), allow_nan=False))) == curve


# --- several draws ---------------------------------------------------------------------------------------------------


def two_draws(a: float, b: float, power: float, epsilon: float) -> float:
    """delta of two independent draws from the pair: the expectation of delta(eps - loss of the first draw)."""

    def one_draw(e: Array) -> Array:
        up = beta_delta(np.array([a]), np.array([b]), np.array([power]), np.maximum(e, 0))
        down = beta_delta(np.array([b]), np.array([a]), np.array([power]), np.maximum(-e, 0))
        low = np.minimum(e, 0)
        return np.where(e >= 0, up, -np.expm1(low) + np.exp(low) * down)

    nodes, weights = np.polynomial.legendre.leggauss(24)
    mode = math.log((a + power) / b)
    reach_down, reach_up = 45 / min(a + power, 1.0), 45 / min(b, 1.0)
    edges = mode + np.concatenate(
        [-np.geomspace(reach_down, 8, 9), np.linspace(-8, 8, 33)[1:-1], np.geomspace(8, reach_up, 9)]
    )
    half = 0.5 * np.diff(edges)
    x = ((edges[:-1] + half)[:, None] + half[:, None] * nodes).ravel()
    density = np.exp((a + power) * x - (a + b + power) * np.logaddexp(0, x) - special.betaln(a + power, b))
    loss = power * x + special.betaln(a, b + power) - special.betaln(a + power, b)
    return float(np.sum((half[:, None] * weights).ravel() * density * one_draw(epsilon - loss)))


@pytest.mark.planted
@pytest.mark.parametrize(
    ("a", "b", "power"), [(6.0, 12.0, 1.0), (0.5, 5.0, 0.2), *sized([], [(2.0, 2.0, 0.5), (30.0, 40.0, 1.5)])]
)
def test_two_draws_against_direct_convolution(a, b, power):
    curve = beta_pair(a, b, power, draws=2)
    for epsilon in (0.0, 0.5, 2.0):
        truth = max(two_draws(a, b, power, epsilon), two_draws(b, a, power, epsilon))
        assert truth * (1 - 1e-7) <= curve.delta(epsilon) <= min(truth + 1e-4, truth * (1 + 1e-3))
    # Composing only one direction's curve, or one draw, would be seen.
    truth = max(two_draws(a, b, power, 0.5), two_draws(b, a, power, 0.5))
    assert beta_pair(a, b, power).delta(0.5) < 0.9 * truth


@pytest.mark.parametrize(("curve", "many"), [
    (bernoulli(0.5, 5.0, 50, 0.3), bernoulli(0.5, 5.0, 50, 0.3, draws=3)),
    *sized([], [
        (beta_pair(0.5, 5.0, 0.2), beta_pair(0.5, 5.0, 0.2, draws=3)),
        (gamma_shape(3.0, 0.5), gamma_shape(3.0, 0.5, draws=3)),
    ]),
    (gamma_rate(3.0, 2.0, 0.5), gamma_rate(3.0, 2.0, 0.5, draws=3)),
])  # fmt: skip
def test_the_maximum_after_composing_is_no_larger_than_composing_the_maximum(curve, many):
    thrice = 3 * curve
    for epsilon in (0.1, 0.7, 2.0):
        assert many.delta(epsilon) <= thrice.delta(epsilon) * (1 + 2e-3)  # both carry their own grid
        assert many.delta(epsilon) > curve.delta(epsilon)
    assert many.renyi(1.5) == pytest.approx(3 * curve.renyi(1.5), rel=1e-12)
    assert many.delta(0.1) < 0.99 * thrice.delta(0.1)  # these pairs are lopsided, so it pays


# --- (eps, delta), tables --------------------------------------------------------------------------------------------


@given(st.floats(0, 20), st.floats(0, 1), st.floats(0, 25))
def test_approximate_is_reveal_or_randomised_response(bound, reveal, epsilon):
    curve = sf.Profile("approximate", {"epsilon": bound, "delta": reveal})
    with mp.workdps(40):
        truth = mp.mpf(reveal) + (1 - mp.mpf(reveal)) * oracles.composed_responses([bound], epsilon)
        assert truth <= curve.delta(epsilon) <= truth * (1 + mp.mpf(1e-13)) + mp.mpf(5e-324)
    assert curve.floor == reveal


def test_approximate_answers():
    curve = sf.Profile("approximate", {"epsilon": 0.5, "delta": 1e-6})
    assert curve.epsilon(1e-6) == pytest.approx(0.5, rel=1e-12)
    assert curve.epsilon(1e-6) >= 0.5
    assert curve.epsilon(9.9e-7) == curve.renyi(2.0) == math.inf
    assert sf.Profile("approximate", {"epsilon": 0.5, "delta": 0.0}).renyi(2.0) == sf.Pure(0.5).renyi(2.0)
    assert curve.delta(math.inf) == 1e-6


@given(st.floats(1e-3, 10), st.floats(0, 1), st.floats(0, 25))
def test_revealing_gaussian_is_reveal_or_gaussian(mu, reveal, epsilon):
    curve = sf.Profile("revealing-gaussian", {"mu": mu, "delta": reveal})
    with mp.workdps(40):
        truth = mp.mpf(reveal) + (1 - mp.mpf(reveal)) * oracles.gaussian_delta(epsilon, mu)
        assert truth <= curve.delta(epsilon) <= truth * (1 + mp.mpf(1e-11)) + mp.mpf(1e-323)
    assert curve.floor == reveal
    assert curve.renyi(2.0) == (math.inf if reveal else pytest.approx(mu * mu))


def gaussian_table(points: Array) -> sf.Profile:
    return sf.Profile.from_function(sf.Gaussian(1.0).delta, points)


def test_a_table_lies_above_its_function_and_touches_it():
    curve = gaussian_table(np.linspace(0, 8, 161))
    for epsilon in np.linspace(0, 8, 321):
        value, truth = curve.delta(float(epsilon)), sf.Gaussian(1.0).delta(float(epsilon))
        assert truth <= value <= truth * 1.03
    assert curve.delta(9.0) == curve.floor == sf.Gaussian(1.0).delta(8.0)
    assert curve.renyi(2.0) == math.inf
    assert curve.epsilon(curve.floor / 2) == math.inf
    assert curve.epsilon(1e-5) >= sf.Gaussian(1.0).epsilon(1e-5)


def test_a_table_that_starts_late_is_joined_to_certainty():
    curve = gaussian_table(np.array([1.0, 2.0]))
    for epsilon in (0.0, 0.5, 1.0):
        assert curve.delta(epsilon) >= sf.Gaussian(1.0).delta(epsilon)


def test_a_table_that_ends_at_zero_is_pure():
    curve = sf.Profile.from_function(sf.Pure(1.0).delta, [0.0, 0.25, 0.5, 0.75, 1.0])
    assert curve.renyi(math.inf) == 1.0
    assert curve.epsilon(0.0) == 1.0
    assert curve.renyi(3.0) >= sf.Pure(1.0).renyi(3.0) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [
        ([0.0, 1.0, 2.0], [0.1, 0.2, 0.05]),  # rises
        ([0.0, 1.0, 2.0], [0.4, 0.39, 0.01]),  # not convex in exp(eps)
        ([20.0, 21.0], [1e-6, 5e-4]),  # rises where exp(eps) is large
        ([30.0, 31.0, 32.0], [1e-3, 0.9e-3, 1e-9]),  # not convex where exp(eps) is large
        ([0.0, 1.0], [0.4, -0.1]),
        ([0.0, 1.0], [1.4, 0.1]),
        ([0.0, 1.0], [math.nan, 0.1]),
        ([1.0, 0.0], [0.1, 0.4]),
        ([0.0, 0.0], [0.4, 0.4]),
        ([-1.0, 0.0], [0.9, 0.4]),
        ([math.nan], [0.4]),
        ([0.0, math.inf], [0.4, 0.1]),
        ([0.0], [0.4, 0.1]),
        ([], []),
    ],
)
def test_tables_that_no_mechanism_has_are_refused(epsilons, deltas):
    with pytest.raises(sf.errors.ArgumentError):
        sf.Profile("tabulated", {"epsilons": epsilons, "deltas": deltas})


def test_a_table_may_reach_beyond_the_largest_exponential():
    curve = sf.Profile.from_function(sf.Pure(1000.0).delta, [0.0, 500.0, 900.0, 1000.0])
    assert curve.delta(1000.0) == 0
    assert curve.delta(950.0) >= sf.Pure(1000.0).delta(950.0)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("beta-pair", {"a": 1.0, "b": 1.0, "power": 1.0}),
        ("beta-pair", {"a": 1.0, "b": 1.0, "power": 0.0, "draws": 1}),
        ("beta-pair", {"a": -1.0, "b": 1.0, "power": 1.0, "draws": 1}),
        ("beta-pair", {"a": math.inf, "b": 1.0, "power": 1.0, "draws": 1}),
        ("beta-pair", {"a": 1.0, "b": 1.0, "power": 1.0, "draws": 0}),
        ("beta-pair", {"a": 1.0, "b": 1.0, "power": 1.0, "draws": 1.0}),
        ("beta-pair", {"a": (1.0,), "b": 1.0, "power": 1.0, "draws": 1}),
        ("beta-bernoulli", {"alpha": 1.0, "beta": 1.0, "n": 0, "power": 1.0, "draws": 1}),
        ("beta-bernoulli", {"alpha": 1.0, "beta": 1.0, "n": 2.5, "power": 1.0, "draws": 1}),
        ("gamma-shape", {"shape": 0.0, "shift": 1.0, "draws": 1}),
        ("gamma-rate", {"shape": 1.0, "shift": 1.0, "draws": 1}),
        ("gamma-rate", {"shape": 1.0, "rate": math.nan, "shift": 1.0, "draws": 1}),
        ("approximate", {"epsilon": -1.0, "delta": 0.1}),
        ("approximate", {"epsilon": 1.0, "delta": 1.1}),
        ("approximate", {"epsilon": 1.0, "delta": 0.1, "gamma": 0.1}),
    ],
)
def test_impossible_parameters_are_refused(name, parameters):
    with pytest.raises(sf.errors.ArgumentError):
        sf.Profile(name, parameters)


def test_unknown_profiles_are_refused():
    with pytest.raises(sf.errors.FormatError, match="beta-bernoulli"):
        sf.Profile("beta-binomial", {})


@pytest.mark.parametrize("curve", [*FAMILIES, sf.Profile("approximate", {"epsilon": 1.0, "delta": 0.1})])
def test_each_profile_says_what_it_is(curve):
    words = str(curve)
    assert words
    assert "Profile(" not in words
