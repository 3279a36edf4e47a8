"""Checks that draws, transcripts and totals are possible outputs of the procedure: on its grid, in the model's domain."""

from __future__ import annotations

import numpy as np

from sfumato.verifying.record import Record, require


def check_draws(record: Record) -> None:
    """Every draw, and what is kept beside it, is one that the procedure could have released."""
    draws = record.release.draws
    require(bool(np.isfinite(draws.values).all()), "draws (finite numbers)")
    fits = record.procedure.check(record.task, draws)
    require(fits, "draws (on their public grid, in their domain, with what is kept)")
