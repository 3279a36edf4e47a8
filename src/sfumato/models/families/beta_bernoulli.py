"""A rate: bits with a Beta prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato import _validate


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

    def natural(self, ones: float, n: int, power: float = 1.0, strength: float = 1.0) -> tuple[float, float]:
        """Cells of the posterior after `ones` ones among `n`, the data tempered and the prior strengthened."""
        return strength * self.alpha + power * ones, strength * self.beta + power * (n - ones)

    @property
    def prior_mean(self) -> float:
        """alpha/(alpha + beta): what is expected before any data, and so a public number."""
        return self.alpha / (self.alpha + self.beta)

    def to_json(self) -> dict[str, Any]:
        """Name and public numbers."""
        return {"family": self.name, "alpha": self.alpha, "beta": self.beta}

    def __repr__(self) -> str:
        return f"BetaBernoulli(alpha={self.alpha:g}, beta={self.beta:g})"
