"""Errors keep their parts on the way through a process pool."""

from __future__ import annotations

import pickle

from sfumato.errors import AssumptionError, LossRejected


def test_assumption_errors_survive_a_pickle():
    for kind in (AssumptionError, LossRejected):
        error = kind("sharp theorem", "strong convexity", "m", "positive", "0", "Give the prior a precision.")
        twin = pickle.loads(pickle.dumps(error))
        assert type(twin) is kind
        assert str(twin) == str(error)
        assert twin.remedy == error.remedy
