"""A rate: bits with a Beta prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families._columns import only_column
from sfumato.models.families._rate import Rate
from sfumato.schema import Boolean, Schema


@dataclass(frozen=True, repr=False)
class BetaBernoulli(Rate):
    """theta ~ Beta(alpha, beta); each record is one bit, x ~ Bernoulli(theta).

    With k ones among n the posterior is Beta(alpha + k, beta + n - k); at power r the data count r times. `floor` f > 0
    truncates the prior to [f, 1 - f]: then the log ratio of neighbours is bounded and a draw is pure (Dimitrakakis
    Theorem 8(1), at the exact supremum).
    """

    alpha: float = 1.0
    beta: float = 1.0
    floor: float = 0.0
    name = "BetaBernoulli"

    def __post_init__(self) -> None:
        self._check()

    @property
    def trials(self) -> int:
        """One bit per record."""
        return 1

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of ones, which one replaced record moves by at most 1."""
        return np.array([np.count_nonzero(block[columns[0]])], dtype=np.int64)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Boolean column that holds the bits: the target, or the only one there is."""
        return (only_column(schema, Boolean, self.name),)
