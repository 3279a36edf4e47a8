"""Geumlek's GLM theorems against posteriors integrated by quadrature, and the links for which they are false."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from sfumato.errors import AssumptionError
from sfumato.privacy.curves import Gaussian
from sfumato.theorems import canonical_glm, sharp

SETTINGS = settings(max_examples=100, deadline=None)
MODEL = {"radius": 1.3, "bound": 1.0, "n": 7, "precision_per_record": 0.2, "canonical": True}


def renyi(log_p, log_q, order: float, limit: float) -> float:
    """D_order(P || Q) of two unnormalised log densities on [-limit, limit], by the trapezoid rule on a fine grid."""
    grid = np.linspace(-limit, limit, 10_001)
    p, q = log_p(grid), log_q(grid)
    log_zp = special.logsumexp(p)
    log_zq = special.logsumexp(q)
    mixed = order * (p - log_zp) + (1 - order) * (q - log_zq)
    return float(special.logsumexp(mixed) / (order - 1))


def logistic_posterior(rows: list[tuple[float, int]], power: float, n: int, b: float):
    """Unnormalised log density of w given rows (x, y) with y in {0, 1}, prior N(0, 1/(n b)), in one dimension."""

    def log_density(w: np.ndarray) -> np.ndarray:
        likelihood = sum(y * x * w - np.logaddexp(0, x * w) for x, y in rows)
        return power * likelihood - 0.5 * n * b * w**2

    return log_density


@pytest.mark.parametrize("power", [0.3, 1.0])
@pytest.mark.parametrize("order", [1.5, 4.0])
def test_theorem_16_holds_for_every_small_data_set(power: float, order: float) -> None:
    c, n, b = 1.5, 2, 0.4
    claim = canonical_glm.posterior_draw(radius=c, bound=1.0, n=n, precision_per_record=b, canonical=True, power=power)
    assert claim.renyi(order) == pytest.approx(2 * c**2 * power**2 * order / (n * b), rel=1e-12)
    records = list(itertools.product([-c, 0.5 * c, c], [0, 1]))
    worst = 0.0
    for kept in records:
        for one, two in itertools.permutations(records, 2):
            p = logistic_posterior([kept, one], power, n, b)
            q = logistic_posterior([kept, two], power, n, b)
            worst = max(worst, renyi(p, q, order, 14.0))
    assert 0 < worst <= claim.renyi(order)


def test_theorem_16_is_attained_in_two_dimensions_at_the_limit() -> None:
    c = 1.3
    # theta large along e2; rows nearly along e1, opposite, both misclassified: G = 2 c B, no constant can be saved.
    tilt = 1e-3
    one = c * np.array([math.sqrt(1 - tilt**2), tilt])
    two = c * np.array([-math.sqrt(1 - tilt**2), tilt])
    theta = np.array([0.0, -4e4])
    difference = -one * special.expit(-theta @ one) + two * special.expit(-theta @ two)
    assert np.linalg.norm(difference) == pytest.approx(2 * c, rel=1e-5)


@pytest.mark.planted
@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_non_canonical_links_break_theorem_16(link: str) -> None:
    # One record, labels 1 and 0 at x = c. Where n b < c^2 the tails of the probit posteriors have Renyi(2) = infinity.
    c, b = 3.0, 1.0

    def log_likelihood(u: np.ndarray, y: int) -> np.ndarray:
        if link == "probit":
            return special.log_ndtr(u if y else -u)
        rate = np.exp(np.minimum(u, 600))
        return np.log(-np.expm1(-rate)) if y else -rate

    def posterior(y: int):
        return lambda w: log_likelihood(c * w, y) - 0.5 * b * w**2

    printed = 2 * (2 * c) ** 2 / b / 2  # Renyi(2) <= 2 mu^2/2 with mu = 2 c B/sqrt(n b), B = 1
    narrow, wide = (renyi(posterior(1), posterior(0), 2.0, limit) for limit in (3.0, 8.0))
    assert wide > 2 * narrow  # the integral does not converge
    assert wide > printed
    # The same check passes for the canonical link.
    logit = renyi(logistic_posterior([(c, 1)], 1.0, 1, b), logistic_posterior([(c, 0)], 1.0, 1, b), 2.0, 14.0)
    assert logit <= printed
    # And the slope is unbounded, against Assumption 1's B = 1.
    u = np.array([-10.0, -9.999]) if link == "probit" else np.array([5.0, 5.001])
    slope = np.diff(log_likelihood(u, 1 if link == "probit" else 0)) / 0.001
    assert abs(slope[0]) > 5
    with pytest.raises(AssumptionError, match="canonical link"):
        canonical_glm.posterior_draw(radius=c, bound=1.0, n=1, precision_per_record=b, canonical=False)


def test_it_is_the_sharp_theorem() -> None:
    claim = canonical_glm.posterior_draw(**MODEL, power=0.4, draws=3)
    exact = sharp.gibbs_draw(
        difference=2 * 0.4 * 1.3, strong_convexity=7 * 0.2, convex=True, draws=3, convex_domain=True
    )
    assert claim.curve.mu == pytest.approx(exact.curve.mu, rel=1e-13)
    assert claim.draws == 3
    assert (3 * canonical_glm.posterior_draw(**MODEL, power=0.4)).curve.mu == pytest.approx(claim.curve.mu, rel=1e-13)


TARGETS = {
    "order": st.floats(1, 200),
    "epsilon": st.floats(1e-3, 20),
    "radius": st.floats(0.1, 10),
    "bound": st.floats(0.1, 5),
    "n": st.integers(1, 10**6),
    "b": st.floats(1e-5, 10),
}


@SETTINGS
@given(**TARGETS)
def test_algorithms_4_and_5_meet_their_target(order, epsilon, radius, bound, n, b) -> None:
    model = {"radius": radius, "bound": bound, "n": n, "canonical": True}
    target = {"order": order, "epsilon": epsilon}
    precision = canonical_glm.concentrated_precision(**target, **model, precision_per_record=b)
    claim = canonical_glm.posterior_draw(**model, precision_per_record=precision)
    assert claim.renyi(order) <= epsilon
    if precision > b:
        assert claim.renyi(order) >= epsilon * (1 - 1e-12)
        assert precision == pytest.approx(2 * radius**2 * bound**2 * order / (n * epsilon), rel=1e-12)
    else:
        assert precision == b
    power = canonical_glm.diffused_power(**target, **model, precision_per_record=b)
    claim = canonical_glm.posterior_draw(**model, precision_per_record=b, power=power)
    assert claim.renyi(order) <= epsilon
    if power < 1:
        assert claim.renyi(order) >= epsilon * (1 - 1e-12)


@pytest.mark.planted
def test_last_line_of_theorem_17_corrected() -> None:
    # Calibrated at order 4, the cost at order 20 is 5 times as much; printed: 20 times less.
    model = {"radius": 1.0, "bound": 1.0, "n": 1, "precision_per_record": 0.05, "canonical": True}
    power = canonical_glm.diffused_power(order=4.0, epsilon=0.5, **model)
    assert power < 1
    claim = canonical_glm.posterior_draw(**model, power=power)
    assert claim.renyi(20.0) == pytest.approx(0.5 * 20 / 4, rel=1e-12)
    # A real posterior pair that costs more than the printed eps/lambda~ at that order, and less than the corrected one.
    p, q = (logistic_posterior([(1.0, y)], power, 1, 0.05) for y in (1, 0))
    cost = renyi(p, q, 20.0, 60.0)
    assert 0.5 / 20 < cost <= claim.renyi(20.0)


def test_response_bound() -> None:
    assert canonical_glm.response_bound(y_min=0, y_max=1, mean_min=0, mean_max=1) == pytest.approx(1.0)
    assert canonical_glm.response_bound(y_min=0, y_max=5, mean_min=1, mean_max=3) == pytest.approx(4.0)
    assert canonical_glm.response_bound(y_min=-2, y_max=1, mean_min=0, mean_max=1) == pytest.approx(3.0)


@SETTINGS
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=2), st.lists(st.floats(-10, 10), min_size=2, max_size=2))
def test_response_bound_covers_every_residual(responses: list[float], means: list[float]) -> None:
    (a, b), (c, d) = sorted(responses), sorted(means)
    bound = canonical_glm.response_bound(y_min=a, y_max=b, mean_min=c, mean_max=d)
    grid = np.linspace(0, 1, 11)
    residuals = np.abs((a + (b - a) * grid)[:, None] - (c + (d - c) * grid)[None, :])
    assert residuals.max() <= bound * (1 + 1e-12) + 1e-15


def test_gaussian_baseline_is_half_of_what_is_printed() -> None:
    # Sensitivity 0.7, noise 1.9, order 3: printed lambda Delta^2/sigma^2, true lambda Delta^2/(2 sigma^2).
    delta, sigma, order = 0.7, 1.9, 3.0

    def integrand(x: float) -> float:
        return math.exp(-order * x**2 / (2 * sigma**2) - (1 - order) * (x - delta) ** 2 / (2 * sigma**2))

    value = integrate.quad(integrand, -60, 60, points=[0, delta])[0] / (sigma * math.sqrt(2 * math.pi))
    exact = math.log(value) / (order - 1)
    assert exact == pytest.approx(order * delta**2 / (2 * sigma**2), rel=1e-9)
    assert Gaussian(delta / sigma).renyi(order) == pytest.approx(exact, rel=1e-9)
    assert Gaussian(delta / sigma).renyi(order) < 0.51 * order * delta**2 / sigma**2


ALGORITHM = MODEL | {"order": 2.0, "epsilon": 0.5}
RESPONSES = {"y_min": 0, "y_max": 1, "mean_min": 0, "mean_max": 1}


@pytest.mark.parametrize(
    ("function", "arguments", "change", "hypothesis"),
    [
        ("posterior_draw", MODEL, {"canonical": False}, "canonical link"),
        ("posterior_draw", MODEL, {"canonical": None}, "canonical link"),
        ("posterior_draw", MODEL, {"radius": math.inf}, "bound on the features"),
        ("posterior_draw", MODEL, {"bound": math.inf}, "bound on response minus mean"),
        ("posterior_draw", MODEL, {"n": 0}, "number of records"),
        ("posterior_draw", MODEL, {"precision_per_record": 0.0}, "prior precision per record"),
        ("posterior_draw", MODEL, {"power": 0.0}, "power"),
        ("posterior_draw", MODEL, {"draws": 0}, "number of draws"),
        ("concentrated_precision", ALGORITHM, {"canonical": False}, "canonical link"),
        ("concentrated_precision", ALGORITHM, {"order": 0.5}, "Renyi order of at least 1"),
        ("concentrated_precision", ALGORITHM, {"order": math.inf}, "Renyi order"),
        ("concentrated_precision", ALGORITHM, {"epsilon": 0.0}, "Renyi bound"),
        ("diffused_power", ALGORITHM, {"canonical": False}, "canonical link"),
        ("diffused_power", ALGORITHM, {"precision_per_record": -1.0}, "prior precision per record"),
        ("diffused_power", ALGORITHM, {"order": 0.9}, "Renyi order of at least 1"),
        ("response_bound", RESPONSES, {"mean_max": math.inf}, "largest mean"),
        ("response_bound", RESPONSES, {"mean_min": -math.inf}, "smallest mean"),
        ("response_bound", RESPONSES, {"y_max": math.inf}, "largest response"),
        ("response_bound", RESPONSES, {"y_min": math.nan}, "smallest response"),
        ("response_bound", RESPONSES, {"y_min": 2}, "ordered responses"),
        ("response_bound", RESPONSES, {"mean_min": 2}, "ordered means"),
    ],
)
def test_each_hypothesis_is_checked(function: str, arguments: dict, change: dict, hypothesis: str) -> None:
    call = getattr(canonical_glm, function)
    call(**arguments)
    with pytest.raises(AssumptionError, match=hypothesis):
        call(**(arguments | change))
