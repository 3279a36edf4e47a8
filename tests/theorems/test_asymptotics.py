"""Large-sample variances against power posteriors integrated exactly, summed over every data set."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from sfumato.errors import AssumptionError
from sfumato.privacy.gaussian_tail import gaussian_mu
from sfumato.theorems import asymptotics, sharp

GOOD = {"n": 100, "power": 0.5, "information": 0.21, "well_specified": True}


def logit_posterior(ones: int, n: int, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Grid and density of the Bernoulli power posterior in logit form, prior N(0, 1) (Example 17)."""
    centre = special.logit((ones + 0.5) / (n + 1))
    spread = 12 / math.sqrt(n * power * 0.1)
    grid = np.linspace(centre - spread, centre + spread, 4001)
    log_density = power * (ones * grid - n * np.logaddexp(0, grid)) - 0.5 * grid**2
    density = np.exp(log_density - log_density.max())
    return grid, density / (density.sum() * (grid[1] - grid[0]))


@pytest.mark.planted
@pytest.mark.parametrize("power", [0.2, 1.0])
def test_both_variances_in_a_large_sample(power: float) -> None:
    n, theta = 4000, 0.5
    p = special.expit(theta)
    information = p * (1 - p)
    mass = stats.binom.pmf(np.arange(n + 1), n, p)
    inside, around = 0.0, 0.0
    for ones in np.flatnonzero(mass > 1e-12):
        grid, density = logit_posterior(int(ones), n, power)
        weight = density * (grid[1] - grid[0])
        mean = weight @ grid
        inside += mass[ones] * (weight @ (grid - mean) ** 2)
        around += mass[ones] * (weight @ (grid - theta) ** 2)
    setting = {"n": n, "power": power, "information": information, "well_specified": True}
    given_data, over_data = asymptotics.variance_given_data(**setting), asymptotics.variance_over_data(**setting)
    # The corrections are of relative order 1/(n power information): below 0.7 %.
    assert inside == pytest.approx(given_data, rel=0.01)
    assert around == pytest.approx(over_data, rel=0.01)
    assert over_data == pytest.approx(given_data + 1 / (n * information), rel=1e-12)
    # Taken around the truth, the variance given the data (as (C.3) has it) is off by the estimate's own.
    assert around > 1.15 * given_data


def test_the_limit_is_centred_at_the_estimate_and_not_at_the_truth() -> None:
    n, theta, power = 4000, 0.5, 1.0
    p = special.expit(theta)
    mass = stats.binom.pmf(np.arange(n + 1), n, p)
    information = p * (1 - p)
    spread = math.sqrt(asymptotics.variance_given_data(n=n, power=power, information=information, well_specified=True))
    at_estimate, at_truth = 0.0, 0.0
    for ones in np.flatnonzero(mass > 1e-9):
        grid, density = logit_posterior(int(ones), n, power)
        width = grid[1] - grid[0]
        estimate = special.logit(ones / n)
        for centre in (estimate, theta):
            distance = 0.5 * np.abs(density - stats.norm.pdf(grid, centre, spread)).sum() * width
            if centre == theta:
                at_truth += mass[ones] * distance
            else:
                at_estimate += mass[ones] * distance
    assert at_estimate < 0.03  # vanishes as 1/sqrt(n)
    assert at_truth > 0.25  # tends to E[2 Phi(|Z|/2) - 1] = 0.295 and not to 0


@pytest.mark.planted
def test_example_17() -> None:
    # The difference of the two losses is theta itself, so G = power and mu = power sqrt(v), v = 1.
    power = gaussian_mu(0.1, 1e-3)
    assert power == pytest.approx(0.0575, abs=5e-5)
    assert sharp.gibbs_draw(difference=power, strong_convexity=1.0, convex=True, convex_domain=True).delta(
        0.1
    ) <= 1e-3 * (1 + 1e-11)
    assert asymptotics.inflation(power=power) == pytest.approx(17.4, abs=0.05)
    # Printed: 0.012 and 83, from L = 1 in Corollary 8, which charges 2 for a difference of 1.
    assert asymptotics.inflation(power=0.012) == pytest.approx(83, abs=0.5)
    assert 0.1 / 2 / math.sqrt(1 + 2 * math.log(1e3)) == pytest.approx(0.01299, abs=5e-6)
    assert power > 4 * 0.012


def test_matrices() -> None:
    information = np.array([[2.0, 0.5], [0.5, 1.0]])
    setting = {"n": 50, "power": 0.25, "information": information, "well_specified": True}
    given_data = asymptotics.variance_given_data(**setting)
    over_data = asymptotics.variance_over_data(**setting)
    np.testing.assert_allclose(given_data @ information * 50 * 0.25, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(over_data @ information * 50 / 5, np.eye(2), atol=1e-12)
    scalar = asymptotics.variance_over_data(n=50, power=0.25, information=2.0, well_specified=True)
    one = asymptotics.variance_over_data(n=50, power=0.25, information=[[2.0]], well_specified=True)
    assert one.shape == (1, 1)
    assert one[0, 0] == pytest.approx(scalar, rel=1e-12)


@pytest.mark.parametrize("function", [asymptotics.variance_given_data, asymptotics.variance_over_data])
@pytest.mark.parametrize(
    ("change", "hypothesis"),
    [
        ({"well_specified": False}, "rows from the model"),
        ({"n": 0}, "number of records"),
        ({"power": 0.0}, "power"),
        ({"information": 0.0}, "Fisher information"),
        ({"information": math.nan}, "Fisher information"),
        ({"information": [[1.0, 2.0], [2.0, 1.0]]}, "Fisher information"),
        ({"information": [[1.0, 0.2], [0.1, 1.0]]}, "Fisher information"),
        ({"information": [1.0, 2.0]}, "Fisher information"),
        ({"information": [[math.inf]]}, "Fisher information"),
    ],
)
def test_each_hypothesis_is_checked(function, change: dict, hypothesis: str) -> None:
    function(**GOOD)
    with pytest.raises(AssumptionError, match=hypothesis):
        function(**(GOOD | change))


def test_inflation_needs_a_power() -> None:
    with pytest.raises(AssumptionError, match="power"):
        asymptotics.inflation(power=0.0)
