"""Laws of normal means against the conditioning of one large normal vector, written out with matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.draws import Draws
from sfumato.queries.intervals import interval
from sfumato.queries.statistics import vectors
from sfumato.queries.statistics.protocol import Numbers

KNOWN = np.array([[3.0, 1.0], [1.0, 0.5]])
N = 12


def conditioned(model, prior, n, power, strength, draws, sampling):
    """Mean and deviations of theta, or of the posterior mean that the rows lead to, given the mean of the draws."""
    own = strength * (model.precision * np.eye(2) + model.public * KNOWN) + power * n * KNOWN
    held = prior.precision * np.eye(2) + prior.public * KNOWN
    # theta ~ N(centre, held^-1); the sum s = n theta + noise; the draws' mean = start + own^-1 power A (s - n start) + noise.
    spread = np.linalg.inv(held)
    sums = n**2 * spread + n * np.linalg.inv(KNOWN)
    lead = power * np.linalg.inv(own) @ KNOWN
    seen = lead @ sums @ lead.T + np.linalg.inv(own) / len(draws)
    centre, start = np.array(prior.mean), np.array(model.mean)
    gap = draws.mean(axis=0) - (start + lead @ (n * centre - n * start))
    wanted = n * spread if sampling else np.linalg.inv(held + n * KNOWN) @ KNOWN @ sums
    variance = spread if sampling else wanted @ np.linalg.inv(sums) @ wanted.T
    gain = wanted @ lead.T @ np.linalg.inv(seen)
    return centre + gain @ gap, np.sqrt(np.diag(variance - gain @ lead @ wanted.T))


@pytest.mark.parametrize("sampling", [True, False])
@pytest.mark.parametrize(("power", "strength"), [(1.0, 1.0), (0.3, 2.0)])
@pytest.mark.parametrize("count", [1, 5])
def test_the_law_of_a_mean_vector_is_that_of_conditioning(sampling, power, strength, count):
    model = sf.families.MultivariateNormal(KNOWN.tolist(), radius=4.0, precision=2.0, mean=[0.5, -1.0], public=3.0)
    reader = sf.families.MultivariateNormal(KNOWN.tolist(), radius=4.0, precision=0.7, mean=[-0.2, 0.3])
    draws = np.random.default_rng(8).normal(size=(count, 2))
    for prior in (model, reader):
        found = vectors.vector_law(model, prior, N, Numbers(power, strength, 0.0), draws, sampling)
        wanted = conditioned(model, prior, N, power, strength, draws, sampling)
        assert found[0] == pytest.approx(wanted[0], rel=1e-9)
        assert found[1] == pytest.approx(wanted[1], rel=1e-9)


@pytest.mark.parametrize("include", ["privacy and sampling", "privacy"])
@pytest.mark.parametrize(("power", "strength", "count"), [(1.0, 1.0, 1), (0.4, 3.0, 6)])
@pytest.mark.parametrize("place", [1.0, 14.0])  # near the reader's prior, and five of its deviations away
def test_a_mean_far_from_its_bounds_is_that_of_conditioning(include, power, strength, count, place):
    """A variance of 2, bounds a thousand away: the total and the draws are normal, and the ends are quantiles."""
    model = sf.families.NormalMean(2.0, -1000.0, 1000.0, mean=1.0, precision=0.5)
    reader = sf.families.NormalMean(2.0, -1000.0, 1000.0, mean=-1.0, precision=0.1)
    values = np.random.default_rng(9).normal(place, 0.5, count)
    plan = {"model": model.to_json(), "n": N, "parameters": {"power": power, "strength": strength}}
    low, high = interval(Draws(values[None], ("mean",)), plan, 0.9, include, prior=reader)
    own, lead = strength * 0.5 + power * N / 2, power / 2
    # The rows' mean x: prior N(-1, 10 + 2/N); a drawn mean is N(1 + lead N (x - 1)/own, 1/(count own)).
    before, slope = 10 + 2 / N, lead * N / own
    precision = 1 / before + slope**2 * count * own
    rows = (-1 / before + slope * count * own * (values.mean() - 1 + slope)) / precision
    share = (N / 2) / (0.1 + N / 2)
    mean, variance = -1 + share * (rows + 1), share**2 / precision
    if include != "privacy":
        variance += 1 / (0.1 + N / 2)
    half = stats.norm.ppf(0.95) * math.sqrt(variance)
    room = 0.05 * half  # the total is summed over in cells, and an end goes to the far side of its cell
    assert float(low) == pytest.approx(mean - half, abs=room)
    assert float(high) == pytest.approx(mean + half, abs=room)
