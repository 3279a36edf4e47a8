"""What a plan says a reader will get, against what releases of simulated data sets give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from gamma_models import ALL, TRIMMED, F, dataset, records
from sfumato.models.families._gamma_rate import GammaRate


@pytest.fixture
def coarse(monkeypatch):
    """A grid of 2^11 cells, on which a release takes milliseconds; the deviation is many cells wide even so."""
    for family in (GammaRate, F.GammaPoisson):
        original = family.law
        monkeypatch.setattr(
            family,
            "law",
            lambda self, *rest, original=original, **more: replace(original(self, *rest, **more), grid=2048),
        )


def simulated(name: str, plan: sf.Plan, n: int) -> float:
    """The 90 % quantile of the distance of a draw from the truth, over 200 releases."""
    levels = (np.random.default_rng(3).permutation(200) + 0.5) / 200
    truths = stats.gamma.ppf(levels, 40, scale=1 / 20) if name == "counts" else ALL[name]._prior_quantiles(levels)
    stream, rng, errors = sf.seeded(21), np.random.default_rng(23), []
    for theta in truths:
        data = dataset(name, records(name, float(theta), n, rng))
        errors.append(abs(sf.publish(plan, data, randomness=stream.spawn()).mean().item() - theta))
    return float(np.quantile(errors, 0.9))


@pytest.mark.parametrize("name", list(ALL))
def test_expected_half_width_is_what_releases_give(name, coarse):
    model, n = ALL[name], 150
    for mechanism in ("exponential" if name in TRIMMED else "diffused", "noisy-statistics"):
        plan = sf.plan(model, n, 3.0, 1e-5, mechanism=mechanism)
        found = simulated(name, plan, n)
        assert plan.expected.value == pytest.approx(found, rel=0.15), mechanism
        assert plan.expected.value != pytest.approx(0.7 * found, rel=0.15)
        assert plan.expected.value != pytest.approx(1.4 * found, rel=0.15)
