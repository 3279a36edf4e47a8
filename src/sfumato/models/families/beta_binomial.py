"""A rate from several trials per record: counts of successes with a Beta prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families._columns import number_within
from sfumato.models.families._fixed_point import whole_bound, whole_total
from sfumato.models.families._rate import Rate
from sfumato.schema import Schema


@dataclass(frozen=True, repr=False)
class BetaBinomial(Rate):
    """theta ~ Beta(alpha, beta); each record is a count of successes among `trials`, x ~ Binomial(trials, theta).

    Replacing a record moves the successes by at most `trials`. Source: Dimitrakakis et al. 2017, Lemma 21, whose binomial
    coefficient cancels in the posterior.
    """

    trials: int = 1
    alpha: float = 1.0
    beta: float = 1.0
    floor: float = 0.0
    name = "BetaBinomial"

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", whole_bound("trials", self.trials))
        self._check()

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of successes; each record counts as a whole number from 0 to `trials`, whatever it holds."""
        return whole_total(block[columns[0]], self.trials)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column of counts, declared within [0, trials]."""
        return (number_within(schema, 0.0, float(self.trials), self.name, f"trials={self.trials}"),)
