"""Endings on a grid against exact sums: chains whose last mean is rounded and met by an exact discrete Gaussian."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from sfumato.errors import AssumptionError
from sfumato.privacy.curves import Gaussian
from sfumato.theorems import ending, finite_step, path

# What whoever runs the chain declares, for the last iterate and for the whole path, and what the sampler does.
LAST = {"public_start": True, "full_batch": True, "momentum": 0.0}
WHOLE = {"public_start": True, "public_schedule": True, "full_batch": True}
EXACT = {"exact_sampler": True}
CHAIN = {"difference": 1.3, "strong_convexity": 2.0, "smoothness": 6.0, "step": 0.1, "steps": 5, "convex": True, **LAST}
GRID = {"spacing": 0.01, "dimension": 3, **EXACT}
PATH = {"difference": 1.3, "step": 0.1, "steps": 5, **WHOLE}


def discrete_gaussian(parameter: float, spacing: float, reach: int) -> np.ndarray:
    """Mass of the discrete Gaussian on spacing * {-reach..reach}."""
    points = spacing * np.arange(-reach, reach + 1)
    log_mass = -0.5 * (points / parameter) ** 2
    return np.exp(log_mass - special.logsumexp(log_mass))


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """D_order(P || Q) of two mass functions; what has underflowed is left out, which loses less than 1e-200 here."""
    seen = (p > 1e-250) & (q > 1e-250)
    p, q = p[seen], q[seen]
    return float(special.logsumexp(order * np.log(p) + (1 - order) * np.log(q)) / (order - 1))


def ended_chain(curvature: float, push: float, step: float, steps: int, spacing: float, reach: int) -> np.ndarray:
    """Exact law of the released grid point for U = curvature theta^2/2 + push theta, start 0: cell masses."""
    c = 1 - step * curvature
    mean = -step * push * sum(c**k for k in range(steps))
    variance = 2 * step * sum(c ** (2 * k) for k in range(1, steps))  # of the mean of the last step
    points = spacing * np.arange(-reach, reach + 1)
    if variance == 0:
        centre = (np.abs(points - mean) == np.abs(points - mean).min()).astype(float)
        centre /= centre.sum()
    else:
        # Each cell from the tail on its own side, so that none is lost to cancellation.
        low, high = ((points + side * spacing / 2 - mean) / math.sqrt(variance) for side in (-1, 1))
        centre = np.where(low > 0, stats.norm.sf(low) - stats.norm.sf(high), stats.norm.cdf(high) - stats.norm.cdf(low))
    noise = discrete_gaussian(math.sqrt(2 * step), spacing, 2 * reach)  # wide enough for every pair of points
    law = np.convolve(centre, noise)[2 * reach : 4 * reach + 1]
    return law / law.sum()


# --- the discrete Gaussian itself ----------------------------------------------------------------------------------


def test_a_discrete_gaussian_is_not_gdp_but_has_its_renyi_curve() -> None:
    mass = discrete_gaussian(1.0, 1.0, 30)
    p, q = mass[1:], mass[:-1]  # the same law, one apart
    total_variation = np.maximum(p - q, 0).sum()
    assert total_variation == pytest.approx(0.3989, abs=5e-5)
    assert Gaussian(1.0).delta(0.0) == pytest.approx(0.3829, abs=5e-5)
    assert total_variation > Gaussian(1.0).delta(0.0)  # so no Gaussian curve may be claimed
    for order in (1.5, 2.0, 3.0, 7.5):
        assert renyi(p, q, order) <= order / 2 * (1 + 1e-9)
    assert renyi(p, q, 2.0) == pytest.approx(1.0, rel=1e-9)  # attained at whole orders


# --- last iterate --------------------------------------------------------------------------------------------------


def cheapest_split(shift: float, width: float, c: float, noise: float, steps: int) -> float:
    """mu'^2 by brute force: the cheapest handing of the accumulated shift to the noises, never more than there is."""
    added = np.full(steps, shift)
    added[-1] += width
    decay = np.array([[c ** (k - j) if j <= k else 0.0 for j in range(steps)] for k in range(steps)])
    scale = added.max()
    constraints = [
        {"type": "ineq", "fun": lambda a: (decay @ (added / scale - a))[:-1]},
        {"type": "eq", "fun": lambda a: (decay @ (added / scale - a))[-1]},
    ]
    found = optimize.minimize(
        lambda a: a @ a, added / scale, constraints=constraints, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500}
    )
    assert found.success
    return float(found.fun) * scale**2 / noise


@pytest.mark.parametrize("width", [0.0005, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("m", [0.0, 0.5, 2.0, 6.0])
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_the_closed_form_is_the_cheapest_split(width: float, m: float, steps: int) -> None:
    chain = CHAIN | {"strong_convexity": m, "steps": steps}
    claim = ending.discrete_last_iterate(**chain, spacing=width, dimension=1, **EXACT)
    step, shift = 0.1, 0.1 * 1.3
    best = cheapest_split(shift, width, 1 - step * m, 2 * step, steps)
    assert claim.renyi(2.0) >= best * (1 - 1e-9)
    assert claim.renyi(2.0) == pytest.approx(best, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    m=st.floats(0.05, 4), stretch=st.floats(1, 4), share=st.floats(0.05, 1), steps=st.integers(1, 12),
    difference=st.floats(0.01, 3), coarse=st.floats(0.02, 0.8), order=st.sampled_from([1.5, 2.0, 4.0]),
)  # fmt: skip
def test_quadratic_chains_cost_no_more_than_claimed(m, stretch, share, steps, difference, coarse, order) -> None:
    smoothness = m * stretch
    step = share * 2 / (m + smoothness)
    spacing = coarse * math.sqrt(2 * step)
    claim = ending.discrete_last_iterate(
        difference=difference, strong_convexity=m, smoothness=smoothness, step=step, steps=steps, convex=True,
        spacing=spacing, dimension=1, **LAST, **EXACT,
    )  # fmt: skip
    # Wide enough for P^a Q^(1-a), which is centred a shifts away; terms are computed as products of logs, so the window
    # may not be so wide that the laws underflow.
    sigmas = 10 + order * math.sqrt(claim.renyi(2.0))
    reach = min(math.ceil(sigmas * math.sqrt(2 * step * steps) / spacing) + 2, 2000)
    for curvature in (m, min(smoothness, 1 / step), smoothness):
        offset = 0.5 * spacing / step  # the two means straddle the edge of a cell
        p = ended_chain(curvature, 0.5 * difference - offset, step, steps, spacing, reach)
        q = ended_chain(curvature, -0.5 * difference - offset, step, steps, spacing, reach)
        assert renyi(p, q, order) <= claim.renyi(order) * (1 + 1e-6) + 1e-9


@pytest.mark.planted
def test_the_claim_is_nearly_attained_on_a_fine_grid() -> None:
    # Curvature m, the equality case of the finite-step theorem: a constant a few percent smaller would be rejected.
    step, steps, difference, spacing = 0.1, 5, 1.3, 0.01
    claim = ending.discrete_last_iterate(**CHAIN, spacing=spacing, dimension=1, **EXACT)
    p = ended_chain(2.0, 0.5 * difference, step, steps, spacing, 800)
    q = ended_chain(2.0, -0.5 * difference, step, steps, spacing, 800)
    assert 0.95 * claim.renyi(2.0) < renyi(p, q, 2.0) <= claim.renyi(2.0)


@pytest.mark.planted
@pytest.mark.parametrize("m", [0.0, 0.4])
def test_the_unconditional_formula_is_false_on_coarse_grids(m: float) -> None:
    # Curvature 1/h: every step forgets where it was, so only the last rounding counts, and its whole width g.
    step, steps, difference, spacing = 0.5, 10, 1e-3, 0.5
    c = 1 - step * m
    noise = 2 * step * sum(c ** (2 * k) for k in range(steps))
    mu_t = step * difference * sum(c**k for k in range(steps)) / math.sqrt(noise)
    unconditional = (mu_t + spacing / math.sqrt(noise)) ** 2
    offset = 0.5 * spacing / step
    p = ended_chain(1 / step, 0.5 * difference - offset, step, steps, spacing, 60)
    q = ended_chain(1 / step, -0.5 * difference - offset, step, steps, spacing, 60)
    true = renyi(p, q, 2.0)
    assert true == pytest.approx(spacing**2 / (2 * step), rel=1e-6)
    assert true > 1.5 * unconditional  # mu_t + g/sqrt(V_t) does not cover it
    claim = ending.discrete_last_iterate(
        difference=difference, strong_convexity=m, smoothness=2.0, step=step, steps=steps, convex=True,
        spacing=spacing, dimension=1, **LAST, **EXACT,
    )  # fmt: skip
    assert true <= claim.renyi(2.0)


def test_fine_grids_cost_nothing_to_speak_of() -> None:
    # g = 2^-20 sqrt(2h): at most 1e-6 sqrt(d) is added to mu.
    spacing, dimension = 2.0**-20 * math.sqrt(0.2), 100
    base = finite_step.last_iterate(**CHAIN).curve.mu
    claim = ending.discrete_last_iterate(**CHAIN, spacing=spacing, dimension=dimension, **EXACT)
    mu = math.sqrt(claim.renyi(2.0))
    assert 0 < mu - base <= 1e-6 * math.sqrt(dimension)
    c, steps = 1 - 0.1 * 2.0, 5
    noise = 0.2 * (1 - c ** (2 * steps)) / (1 - c**2)
    assert mu - base == pytest.approx(spacing * math.sqrt(dimension) / math.sqrt(noise), rel=1e-6)


def test_many_coordinates_straddle_at_once() -> None:
    # d coordinates at the edges of their cells: the law is a product, each factor one cell apart.
    step, spacing, dimension = 0.5, 0.4, 7
    mass = discrete_gaussian(1.0, spacing, 200)
    one = renyi(mass[1:], mass[:-1], 3.0)
    claim = ending.discrete_last_iterate(
        difference=1e-9, strong_convexity=0.0, smoothness=2.0, step=step, steps=4, convex=True,
        spacing=spacing, dimension=dimension, **LAST, **EXACT,
    )  # fmt: skip
    assert dimension * one <= claim.renyi(3.0)
    assert dimension * one == pytest.approx(claim.renyi(3.0), rel=1e-6)


def test_chains_states_and_rounding_multiply_as_in_the_continuous_theorem() -> None:
    one = ending.discrete_last_iterate(**CHAIN, **GRID)
    six = ending.discrete_last_iterate(**CHAIN, **GRID, chains=2, states=3)
    assert six.draws == 6
    assert six.renyi(4.0) == pytest.approx(6 * one.renyi(4.0), rel=1e-12)
    assert six.renyi(4.0) == pytest.approx((6 * one).renyi(4.0), rel=1e-12)
    e = 1e-3
    rough = ending.discrete_last_iterate(**CHAIN, **GRID, float_error=e)
    widened = CHAIN | {"difference": 1.3 + 2 * e / 0.1}
    assert rough.renyi(4.0) == pytest.approx(ending.discrete_last_iterate(**widened, **GRID).renyi(4.0), rel=1e-12)


# --- path ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[0.1] * 5, [0.3, 0.1, 0.05, 0.2]])
def test_path_formula(sizes: list[float]) -> None:
    g, width, e = 1.3, 0.01 * math.sqrt(3), 1e-4
    claim = ending.discrete_path(difference=g, step=sizes, steps=len(sizes), **GRID, float_error=e, **WHOLE)
    rho = sum((h * g + 2 * e) ** 2 / (2 * h) for h in sizes[:-1])
    rho = 0.5 * (rho + (sizes[-1] * g + 2 * e + width) ** 2 / (2 * sizes[-1]))
    for order in (1.5, 2.0, 64.0):
        assert claim.renyi(order) == pytest.approx(order * rho, rel=2e-3 if order == 1.5 else 1e-12)
        assert claim.renyi(order) >= order * rho
    if len(set(sizes)) == 1:
        same = ending.discrete_path(difference=g, step=sizes[0], steps=len(sizes), **GRID, float_error=e, **WHOLE)
        assert same.renyi(2.0) == pytest.approx(claim.renyi(2.0), rel=1e-12)
    four = ending.discrete_path(difference=g, step=sizes, steps=len(sizes), **GRID, float_error=e, chains=4, **WHOLE)
    assert four.renyi(2.0) == pytest.approx(4 * claim.renyi(2.0), rel=1e-12)


@pytest.mark.planted
def test_path_of_two_steps_against_the_exact_joint_law() -> None:
    # Step 1: x ~ N(-h g, 2h), released. Step 2: round(x - h g) + discrete Gaussian. Renyi integrates over both.
    step, g, spacing, order = 0.5, 0.8, 0.3, 2.0
    grid = np.linspace(-9, 9, 18_001)
    log_p = -0.5 * (grid + step * g / 2) ** 2 / (2 * step)
    log_q = -0.5 * (grid - step * g / 2) ** 2 / (2 * step)
    apart = np.abs(np.round((grid + step * g / 2) / spacing) - np.round((grid - step * g / 2) / spacing)).astype(int)
    mass = discrete_gaussian(math.sqrt(2 * step), spacing, 200)
    second = np.array([renyi(mass[k:], mass[: len(mass) - k], order) if k else 0.0 for k in range(apart.max() + 1)])
    log_norm = special.logsumexp(log_p)
    joint = special.logsumexp(order * log_p + (1 - order) * log_q + (order - 1) * second[apart]) - log_norm
    claim = ending.discrete_path(difference=g, step=step, steps=2, spacing=spacing, dimension=1, **WHOLE, **EXACT)
    assert joint / (order - 1) <= claim.renyi(order)
    # Without the width of the grid the claim would be too small.
    assert joint / (order - 1) > Gaussian(path.whole_path(difference=g, step=step, steps=2, **WHOLE).curve.mu).renyi(
        order
    )


# --- the curve, ending (b), hypotheses -----------------------------------------------------------------------------


def test_only_a_renyi_curve_is_claimed() -> None:
    for claim in (ending.discrete_last_iterate(**CHAIN, **GRID), ending.discrete_path(**PATH, **GRID)):
        assert claim.curve.kind == "renyi"
        assert claim.curve.mu is None  # a ledger that counts in mu refuses it
        assert claim.trust == "proved"


@pytest.mark.parametrize("difference", [0.003, 0.1, 1.3, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_listed_orders_are_dense_enough(difference: float, delta: float) -> None:
    claim = ending.discrete_path(difference=difference, step=0.1, steps=5, spacing=1e-9, dimension=1, **WHOLE, **EXACT)
    rho = claim.renyi(2.0) / 2
    best = optimize.minimize_scalar(
        lambda x: rho * (1 + math.exp(x)) + math.log1p(-1 / (1 + math.exp(x)))
        - math.log(delta * (1 + math.exp(x))) / math.exp(x),
        bounds=(-4, 14), method="bounded", options={"xatol": 1e-9},
    ).fun  # fmt: skip
    assert claim.epsilon(delta) <= max(best, 0.0) * 1.006
    assert claim.epsilon(delta) >= best * (1 - 1e-9)


def test_rounding_a_normal_is_free() -> None:
    base = finite_step.last_iterate(**CHAIN)
    claim = ending.rounded_normal(base, spacing=0.3, exact_sampler=True)
    assert claim.curve == base.curve
    assert claim.assumptions[: len(base.assumptions)] == base.assumptions
    assert [a.name for a in claim.assumptions[len(base.assumptions) :]] == ["grid spacing", "exact rounded normal"]
    # The rounded laws themselves: cells of width 0.3 of N(0,1) and N(1,1) stay below the Gaussian curve.
    edges = np.arange(-12, 13, 0.3)
    p, q = np.diff(stats.norm.cdf(edges)), np.diff(stats.norm.cdf(edges, 1.0))
    for epsilon in (0.0, 0.5, 2.0):
        assert np.maximum(q - math.exp(epsilon) * p, 0).sum() <= Gaussian(1.0).delta(epsilon)


@pytest.mark.parametrize(
    ("function", "arguments", "change", "hypothesis"),
    [
        (ending.discrete_last_iterate, CHAIN | GRID, {"convex": False}, "convexity of every loss"),
        (ending.discrete_last_iterate, CHAIN | GRID, {"public_start": False}, "public start"),
        (ending.discrete_last_iterate, CHAIN | GRID, {"full_batch": False}, "full batch"),
        (ending.discrete_last_iterate, CHAIN | GRID, {"momentum": 0.5}, "no momentum"),
        (ending.discrete_last_iterate, CHAIN | GRID, {"step": 0.3}, "contracting step"),
        (ending.discrete_last_iterate, CHAIN | GRID, {"spacing": 0.0}, "grid spacing"),
        (ending.discrete_last_iterate, CHAIN | GRID, {"dimension": 0}, "dimension"),
        (ending.discrete_last_iterate, CHAIN | GRID, {"exact_sampler": False}, "exact discrete Gaussian"),
        (ending.discrete_path, PATH | GRID, {"public_start": False}, "public start"),
        (ending.discrete_path, PATH | GRID, {"public_schedule": False}, "public step sizes"),
        (ending.discrete_path, PATH | GRID, {"difference": math.inf}, "gradient difference"),
        (ending.discrete_path, PATH | GRID, {"spacing": math.inf}, "grid spacing"),
        (ending.discrete_path, PATH | GRID, {"exact_sampler": None}, "exact discrete Gaussian"),
    ],
)
def test_each_hypothesis_is_checked(function, arguments: dict, change: dict, hypothesis: str) -> None:
    function(**arguments)
    with pytest.raises(AssumptionError, match=hypothesis):
        function(**(arguments | change))


@pytest.mark.parametrize(
    ("change", "hypothesis"), [({"spacing": -1.0}, "grid spacing"), ({"exact_sampler": False}, "exact rounded normal")]
)
def test_each_hypothesis_of_the_rounded_normal_is_checked(change: dict, hypothesis: str) -> None:
    with pytest.raises(AssumptionError, match=hypothesis):
        ending.rounded_normal(finite_step.last_iterate(**CHAIN), **({"spacing": 0.1, "exact_sampler": True} | change))
