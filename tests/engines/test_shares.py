"""The float shares of a person's rows sum to at most 1, exactly, and are within a rounding of 1/c."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.engines.shares import one_over
from sfumato.schema.persons import MOST_ROWS


@pytest.mark.planted
def test_shares_are_rounded_down():
    """c of them are at most 1 in exact arithmetic, for every number of rows that a person may have; some are not 1/c rounded."""
    counts = np.arange(1, MOST_ROWS + 1)
    shares = one_over(counts)
    for count, share in zip(counts.tolist(), shares.tolist(), strict=True):
        exact = Fraction(share) * count
        assert 1 - Fraction(1, 1 << 51) <= exact <= 1
    assert (shares < 1 / counts).any()
