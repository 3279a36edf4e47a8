"""The sharp theorem against quadrature: never exceeded, and reached by linear losses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from effort import sized
from grid_oracle import hockey_stick, normalised
from sfumato.errors import AssumptionError
from sfumato.privacy.curves import Gaussian
from sfumato.theorems import sharp

# loss(u, y), bound on |d loss/du|; |x| <= r, so the difference of two records' gradients is at most 2 bound r.
LOSSES = {
    "logistic": (lambda u, y: np.logaddexp(0, -y * u), 1.0),
    "hinge": (lambda u, y: np.maximum(0, 1 - y * u), 1.0),
    "huber": (lambda u, y: np.where(np.abs(u - y) <= 0.7, 0.5 * (u - y) ** 2, 0.7 * (np.abs(u - y) - 0.35)), 0.7),
    "quantile": (lambda u, y: np.where(u > y, 0.8 * (u - y), -0.2 * (u - y)), 0.8),
    "linear": (lambda u, y: -y * u, 1.0),
}


def random_case(rng: np.random.Generator):
    """A random one-dimensional Gibbs posterior and a neighbour that is as different as the bounds allow, or random."""
    name = rng.choice(list(LOSSES))
    loss, bound = LOSSES[name]
    n, power, radius = int(rng.integers(1, 12)), 10 ** rng.uniform(-1.5, 0.5), 10 ** rng.uniform(-0.5, 0.5)
    precision, centre = 10 ** rng.uniform(-0.7, 1.0), rng.normal()
    rows = rng.uniform(-radius, radius, n)
    labels = rng.choice([-1.0, 1.0], n)
    rows2, labels2 = rows.copy(), labels.copy()
    if rng.random() < 0.7:
        rows[0], rows2[0] = radius, rng.choice([-radius, radius])
        labels[0], labels2[0] = 1.0, -1.0
    else:
        rows2[0], labels2[0] = rng.uniform(-radius, radius), rng.choice([-1.0, 1.0])
    width = 9 / math.sqrt(precision) + 2 * power * bound * radius * n / precision
    x = np.linspace(centre - width, centre + width, 20001)
    if rng.random() < 0.3:  # a convex domain keeps the price
        x = x[(x >= centre - 0.3 * width * rng.random()) & (x <= centre + 0.5 * width)]

    def posterior(r, y):
        total = sum(loss(x * row, label) for row, label in zip(r, y, strict=True))
        return normalised(-power * total - 0.5 * precision * (x - centre) ** 2, x)

    return x, posterior(rows, labels), posterior(rows2, labels2), 2 * power * bound * radius, precision


def excess_over_claim(scale: float, seed: int, cases: int) -> float:
    """Largest ratio of true delta to the claim at `scale` times mu, over random posteriors and epsilons."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(cases):
        x, p, q, difference, precision = random_case(rng)
        mu = (
            sharp.gibbs_draw(
                difference=difference, strong_convexity=precision, convex=True, convex_domain=True
            ).curve.mu
            * scale
        )
        for epsilon in (0.0, 0.3 * mu, mu, 2 * mu + mu * mu / 2):
            claim = Gaussian(mu).delta(epsilon)
            worst = max(worst, (hockey_stick(p, q, x, epsilon) - 1e-9) / claim)
    return worst


def test_true_delta_never_exceeds_the_claim_for_300_posteriors():
    assert excess_over_claim(1.0, seed=1, cases=sized(80, 300)) <= 1.0


@pytest.mark.planted
def test_the_same_check_catches_a_claim_without_the_factor_two():
    assert excess_over_claim(0.5, seed=1, cases=60) > 1.2


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0])
def test_linear_losses_reach_the_claim(epsilon):
    precision, power, radius = 3.0, 0.8, 1.2
    x = np.linspace(-12, 12, 400001)
    prior = -0.5 * precision * x**2
    p, q = normalised(prior - power * radius * x, x), normalised(prior + power * radius * x, x)
    claim = sharp.gibbs_draw(difference=2 * power * radius, strong_convexity=precision, convex=True, convex_domain=True)
    assert claim.delta(epsilon) == pytest.approx(hockey_stick(p, q, x, epsilon), abs=1e-6)
    assert claim.delta(epsilon) >= hockey_stick(p, q, x, epsilon) - 1e-9


def test_draws_compose():
    one = sharp.gibbs_draw(difference=1.0, strong_convexity=4.0, convex=True, convex_domain=True)
    nine = sharp.gibbs_draw(difference=1.0, strong_convexity=4.0, convex=True, draws=9, convex_domain=True)
    assert nine.curve.mu == pytest.approx(3 * one.curve.mu, rel=1e-12)
    assert nine.draws == 9


def test_gaussian_mean_is_the_shift_in_standard_deviations():
    guarantee = sharp.gaussian_mean(power=0.3, radius=2.0, n=50, precision=1.5)
    variance = 1 / (50 * 0.3 + 1.5)
    shift = 0.3 * 2 * 2.0 * variance  # two means differ by power |x - x'| / (n power + lambda)
    assert guarantee.curve.mu == pytest.approx(shift / math.sqrt(variance), rel=1e-12)


def test_gaussian_mean_golden_power():
    # beta <= 8.2532e-4 n at (0.1, 1e-3), r = 1, lambda = 0, and beta = 1 from n = 1212 on (printed: 5600).
    n = 10_000
    at = lambda beta, count: sharp.gaussian_mean(power=beta, radius=1.0, n=count, precision=0.0).delta(0.1)
    assert at(8.2531e-4 * n, n) <= 1e-3 < at(8.2533e-4 * n, n)
    assert at(1.0, 1212) <= 1e-3 < at(1.0, 1211)


DROPPED = [
    ({"convex": False}, "convexity"),
    ({"convex": "yes"}, "convexity"),
    ({"convex_domain": False}, "domain"),
    ({"strong_convexity": 0.0}, "strong convexity"),
    ({"strong_convexity": float("nan")}, "strong convexity"),
    ({"difference": float("inf")}, "gradient difference"),
    ({"difference": -1.0}, "gradient difference"),
    ({"draws": 0}, "number of draws"),
]


@pytest.mark.parametrize(("change", "named"), DROPPED)
def test_each_hypothesis_is_asked_for(change, named):
    good = {"difference": 1.0, "strong_convexity": 1.0, "convex": True, "convex_domain": True}
    with pytest.raises(AssumptionError, match=named):
        sharp.gibbs_draw(**{**good, **change})


@pytest.mark.parametrize(
    ("change", "named"),
    [({"power": 0}, "power"), ({"radius": math.inf}, "rows"), ({"n": 0}, "records"), ({"precision": -1}, "precision")],
)
def test_each_hypothesis_of_the_gaussian_mean_is_asked_for(change, named):
    good = {"power": 0.5, "radius": 1.0, "n": 10, "precision": 1.0}
    with pytest.raises(AssumptionError, match=named):
        sharp.gaussian_mean(**{**good, **change})
