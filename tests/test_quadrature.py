"""The logs and panels that prices and samplers integrate with, against 40 digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from sfumato._quadrature import log_concave_panels, log_mean_exp

UNIT = 2.0**-53


@pytest.mark.parametrize("share", [1e-300, 1e-12, 2e-4, 0.3, 0.9])
def test_log_mean_exp_is_the_formula_also_where_the_exponential_overflows(share):
    mp.dps = 40
    d = np.concatenate([np.linspace(-50, 50, 81), [29.9, 30.0, 30.1, 400.0, 709.0, 1200.0]])
    exact = [mp.log1p(mpf(share) * mp.expm1(mpf(x))) for x in d.tolist()]
    errors = [abs(float(a - mpf(b))) for a, b in zip(exact, log_mean_exp(share, d).tolist(), strict=True)]
    # Rounding of the logs that are added, up to 691 + 1200.
    assert max(errors) < 8 * UNIT * 2000


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(-3.0, None), (0.5, None), (6.0, None), (-1.0, 2.0), (3.0, 4.0), (-9.0, -8.0), (20.0, 21.0)],
)
def test_panels_integrate_a_normal_between_any_bounds(lower, upper):
    """Whether the peak is inside, left or right of the interval; e^-45 of the peak is left out."""
    mp.dps = 40
    high = None if upper is None else np.array([upper])
    points, weights = log_concave_panels(lambda x: -0.5 * x * x, np.array([lower]), high, np.zeros(1), np.zeros(1))
    beyond = [mp.sqrt(mp.pi / 2) * mp.erfc(mpf(end) / mp.sqrt(2)) for end in (lower, upper) if end is not None]
    exact = beyond[0] - sum(beyond[1:])
    assert abs(float((np.exp(-0.5 * points**2) * weights).sum()) / float(exact) - 1) < 1e-12
    assert (points >= lower).all()
    assert upper is None or (points <= upper).all()
