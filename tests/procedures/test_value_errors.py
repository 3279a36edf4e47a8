"""Values of a loss far larger than their differences: what rounding adds to a draw's range is charged, whoever shares a batch."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.engines.opening import open_engine
from sfumato.procedures import envelope, loss_values

FAR = 1e16
SCHEMA = sf.Schema.vector(3, data_norm=1.0, target=sf.Number(-10 * FAR, 10 * FAR))


def huber(clip: float) -> sf.Gibbs:
    """On the unit ball, with a precision that puts the points +-1 of each axis on the lattice."""
    return sf.Gibbs(sf.losses.Huber(1.0, clip), sf.priors.Ball(sf.priors.Gaussian(4.08), radius=1.0), 3)


def potential(model: sf.Gibbs, power: float, labels) -> envelope._Potential:
    """U of records whose rows are all the first unit vector."""
    rows = np.tile([1.0, 0.0, 0.0], (len(labels), 1))
    data = sf.Dataset.from_arrays(rows, np.array(labels), schema=SCHEMA)
    shape = envelope.envelope(model, len(labels), power)
    return envelope._Potential(model, len(labels), power, open_engine(data, model, ("values",)), shape)


def axis(places: envelope._Potential, steps: int) -> np.ndarray:
    """The lattice points of the first axis, end to end."""
    assert steps % 2 == 0
    numbers = np.full((steps + 1, 3), steps // 2)
    numbers[:, 0] = np.arange(steps + 1)
    return places.points(numbers)


@pytest.mark.planted
@pytest.mark.parametrize("clip", [2784480.2, 28543338.7, 23551561976.0, 1848893555312.0])
def test_values_that_cancel_are_charged_for_the_size_they_had(clip):
    """Labels beyond every score on either side: 2 power Delta apart at the ends, but each value is clip^2/2 before it cancels."""
    model, power = huber(clip), 0.2 / clip
    steps = envelope.envelope(model, 1, power).steps[0]
    values = [potential(model, power, [label]) for label in (FAR, -FAR)]
    ends = axis(values[0], steps)
    assert abs(ends[[0, -1], 0]).min() == 1.0
    gap = values[0](ends) - values[1](ends)
    price = envelope.exact_range(model, 1, 1, power).curve.epsilon_value
    assert 0.799 < gap.max() - gap.min() <= price
    assert price == pytest.approx(0.8, rel=1e-2)


@pytest.mark.parametrize("clip", [1.0, 20.0, 150.0])
def test_usual_clips_are_priced_as_before(clip):
    """Plans on record state these numbers: (1 + label)(1 + score) + bound + log 2 where the values themselves are small."""
    model = huber(clip)
    assert loss_values.magnitude(model) == pytest.approx((2 + clip) * 2 + clip + np.log(2), rel=1e-8)


def test_a_point_has_one_value_whatever_else_is_proposed():
    """Trials are independent only if the value at a point does not depend on the other proposals of its batch."""
    clip = 1e6
    model, power = huber(clip), 1e-3 / clip
    values = potential(model, power, [FAR, FAR, -FAR])
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.5, 0.5, (300, 3))
    together = values(points)
    for norm in (1.0, 1.3, 1.7):
        beside = values(np.concatenate([points, [[norm, 0.0, 0.0]]]))[:-1]
        assert np.array_equal(beside, together)
    assert len(set(together.tolist())) > 290
