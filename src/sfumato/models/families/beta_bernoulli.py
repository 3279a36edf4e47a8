"""A rate: bits with a Beta prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.models.families._columns import only_column
from sfumato.schema import Boolean, Schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class BetaBernoulli:
    """theta ~ Beta(alpha, beta); each record is one bit, x ~ Bernoulli(theta).

    With k ones among n the posterior is Beta(alpha + k, beta + n - k); at power r the data count r times.
    """

    alpha: float
    beta: float
    name = "BetaBernoulli"

    def __init__(self, alpha: float = 1.0, beta: float = 1.0) -> None:
        object.__setattr__(self, "alpha", _validate.positive("alpha", alpha))
        object.__setattr__(self, "beta", _validate.positive("beta", beta))

    def natural(self, ones: Any, n: int, power: float = 1.0, strength: float = 1.0) -> tuple[Any, Any]:
        """Cells of the posterior after `ones` ones among `n`, the data tempered and the prior strengthened."""
        return strength * self.alpha + power * ones, strength * self.beta + power * (n - ones)

    def statistic(self, values: NDArray[np.uint8]) -> NDArray[np.int64]:
        """0 or 1 per record: the sum is the number of ones, which one replaced record moves by at most 1."""
        import numpy as np

        return np.asarray(np.asarray(values) != 0, dtype=np.int64)

    def column(self, schema: Schema) -> str:
        """Name of the Boolean column that holds the bits: the target, or the only one there is."""
        return only_column(schema, Boolean, self.name)

    @property
    def prior_mean(self) -> float:
        """alpha/(alpha + beta): what is expected before any data, and so a public number."""
        return self.alpha / (self.alpha + self.beta)

    def to_json(self) -> dict[str, Any]:
        """Name and public numbers."""
        return {"family": self.name, "alpha": self.alpha, "beta": self.beta}

    def __repr__(self) -> str:
        return f"BetaBernoulli(alpha={self.alpha:g}, beta={self.beta:g})"
