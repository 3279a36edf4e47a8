"""Intervals by group after noise on all counts: coverage under the law that they assume, by the mechanism's own steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import goodness
import sfumato as sf
from sfumato.models.families._cells import nearest_counts
from sfumato.queries import _groups


def invented(rng, n, deviation, draws, groups, cells):
    """True shares and released draws of one survey: sizes, counts, noise, projection and posterior draws."""
    sizes = np.diff(np.concatenate([[0], np.sort(rng.integers(0, n + 1, groups - 1)), [n]]))
    truth = rng.dirichlet(np.ones(cells), groups)
    counts = np.stack([rng.multinomial(size, shares) for size, shares in zip(sizes, truth, strict=True)])
    noisy = nearest_counts((counts + deviation * rng.standard_normal(counts.shape)).ravel(), n).reshape(counts.shape)
    found = np.stack([[rng.dirichlet(1 + row) for row in noisy] for _ in range(draws)])
    return truth, found


def covered(case, assumed, runs=40, seed=3):
    """How many of how many true shares lie in their 90 % intervals, when the noise is held to be `assumed` times its size."""
    n, deviation, draws, groups, cells = case
    rng = np.random.default_rng(seed)
    inside = total = 0
    width = cells if cells > 2 else 1
    for _ in range(runs):
        truth, found = invented(rng, n, deviation, draws, groups, cells)
        prior = (1.0,) * cells
        lower, upper = _groups.noisy_ends(found[:, :, :width], n, prior, prior, assumed * deviation, 0.9)
        inside += int(((lower <= truth[:, :width]) & (truth[:, :width] <= upper)).sum())
        total += width * groups
    return inside, total


CASES = [
    (1000, 60.0, 1, 4, 2),
    (300, 20.0, 5, 3, 2),
    (50_000, 20.0, 1, 3, 2),
    (2000, 15.0, 2, 2, 3),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_intervals_by_group_cover_as_often_as_they_say(case):
    inside, total = covered(case, 1.0)
    # The shares of one survey share its noise: at worst they are all inside or outside together.
    independent = total / (case[3] * (case[4] if case[4] > 2 else 1))
    assert stats.binomtest(round(inside / total * independent), round(independent), 0.9).pvalue > goodness.LEVEL


def test_noise_that_is_left_out_is_seen():
    inside, total = covered((1000, 60.0, 1, 4, 2), 0.05)
    assert inside / total < 0.75


def test_a_release_by_group_has_the_same_interval_every_time():
    schema = sf.Schema({"g": sf.Category(["n", "s"]), "x": sf.Boolean()}, target="x", name="groups")
    table = {"g": ["n", "s"] * 200, "x": [True, False, False, False] * 100}
    plan = sf.plan(
        sf.grouped(sf.families.BetaBernoulli(1, 1), "g", ["n", "s"]), 400, 1.0, 1e-6, mechanism="noisy-statistics"
    )
    release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema))
    first, again = release.interval(0.9), release.interval(0.9)
    assert (first == again).all()
    assert (release.interval(0.5)[0] > first[0]).all()
    with pytest.raises(sf.errors.ArgumentError, match="hidden size"):
        release.interval(include="privacy")
