"""Parameters that overflowed: no record may show by a score that is no number, whatever the loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.engines.opening import open_engine

NUMBERS = sf.Number(-5, 5)
LOSSES = {
    "logistic": (sf.losses.Logistic(1.0), sf.Category([-1, 1], missing=-1)),
    "huber": (sf.losses.Huber(1.0, clip=1.0), NUMBERS),
    "smoothed hinge": (sf.losses.SmoothedHinge(1.0, width=0.5), sf.Category([-1, 1], missing=-1)),
    "hinge": (sf.losses.Hinge(1.0), sf.Category([-1, 1], missing=-1)),
    "quantile": (sf.losses.Quantile(1.0, quantile=0.3), NUMBERS),
    "smoothed quantile": (sf.losses.SmoothedQuantile(1.0, quantile=0.3, width=0.2), NUMBERS),
    "poisson": (sf.losses.ClippedPoisson(1.0, clip=3.0, label_bound=5.0), sf.Number(0, 5)),
    "cloglog": (sf.losses.ClippedCloglog(1.0, clip=3.0), sf.Category([0, 1], missing=0)),
    "probit": (sf.losses.ClippedProbit(1.0, clip=3.0), sf.Category([-1, 1], missing=-1)),
    "softmax": (sf.losses.Softmax(1.0, classes=3), sf.Category([0, 1, 2], missing=0)),
}
FAR = (0.0, 1.5e308, -1.5e308, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", list(LOSSES))
def test_a_replaced_record_moves_the_sum_by_no_more_than_is_charged_at_any_parameter(name, sparse):
    from scipy.sparse import csr_array

    loss, column = LOSSES[name]
    classes = getattr(loss, "classes", 1)
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), 2 * classes)
    schema = sf.Schema.vector(2, data_norm=1.0, target=column)
    labels = np.full(6, column.levels[0] if isinstance(column, sf.Category) else 1.0)
    allowed = model.constants.difference * (1 + 1e-9)
    tables = []
    for last in ((1.0, 0.0), (0.0, 1.0), (0.6, -0.8), (0.0, 0.0)):
        rows = np.tile([1.0, 0.0], (6, 1))
        rows[-1] = last
        matrix = csr_array(rows) if sparse else rows
        tables.append(open_engine(sf.Dataset.from_arrays(matrix, labels, schema=schema), model, ("gradients",)))
    rng = np.random.default_rng(4)
    for _ in range(60):
        theta = rng.choice(FAR, (2, 2 * classes))
        sums = [engine.gradient(theta) for engine in tables]
        for found in sums:
            assert np.isfinite(found).all()
            assert np.linalg.norm(found - sums[0], axis=1).max() <= allowed


def test_a_steep_prior_shortens_the_steps_and_what_is_released_stays_finite():
    prior = sf.priors.Gaussian([[1e4 * 200, 0.0], [0.0, 0.01]], mean=[1.0, 0.0])
    model = sf.Gibbs(sf.losses.Huber(1.0, clip=1.0), prior, 2)
    plan = sf.plan(model, 200, 1.0, 1e-6, mechanism="langevin-path", goal="estimate", keep=("transcript",))
    assert plan["learning_rate"] * (1 + 1e4) <= 2
    schema = sf.Schema.vector(2, data_norm=1.0, target=NUMBERS)
    data = sf.Dataset.from_arrays(np.tile([1.0, 0.0], (200, 1)), np.ones(200), schema=schema)
    release = sf.publish(plan, data)
    assert np.isfinite(release.draws.values).all()
    assert np.abs(release.mean()[0] - 1) < 0.01
    release.verify()
