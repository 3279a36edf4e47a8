"""The claim under test as a trade-off: at least how often a test misses that accuses wrongly with a given probability."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.auditing.error_rates import Array, ErrorRates
from sfumato.privacy.guarantee import Guarantee

# Slopes e^eps of the lines that support the trade-off of a claim without closed form. Any set of lines gives a valid, smaller
# bound; these leave less than 1e-3 of it.
_SLOPES = np.concatenate([np.linspace(0, 4, 161), np.linspace(4.1, 12, 80)])
# The exponential of a larger slope is no float.
_STEEPEST = 700.0
# Room for the roundings of the two normal functions: a claim is never called broken by a rounding.
_ROOM = 1e-9


@dataclass(frozen=True, eq=False)
class Claim:
    """A guarantee, and its trade-off: mu of a Gaussian one, else lines 1 - delta(eps) - e^eps a and their mirror images."""

    guarantee: Guarantee
    mu: float | None
    slopes: Array
    heights: Array
    factor: float = 1.0

    @classmethod
    def of(cls, guarantee: Guarantee) -> Claim:
        """The trade-off of a guarantee between neighbours; one about a distance has none."""
        if guarantee.slack == 0 and guarantee.curve.kind == "gaussian":
            return cls(guarantee, guarantee.curve.mu, np.empty(0), np.empty(0))
        end = guarantee.curve.epsilon(0.0)
        slopes = _SLOPES if end > _STEEPEST else np.append(_SLOPES[end > _SLOPES], end)
        deltas = np.array([guarantee.delta(float(eps)) for eps in slopes])
        return cls(guarantee, None, np.exp(slopes), 1 - deltas)

    def least_missed(self, false: Array) -> Array:
        """The smallest rate of misses that the claim allows at rates of false accusations, rounded down."""
        from scipy.special import ndtr, ndtri

        rates = np.asarray(false, dtype=np.float64)
        if self.mu is not None:
            with np.errstate(invalid="ignore"):
                return np.asarray(np.maximum(0.0, ndtr(-ndtri(rates) - self.factor * self.mu) * (1 - _ROOM) - 1e-300))
        direct = self.heights - self.slopes * rates[..., None]
        mirrored = (self.heights - rates[..., None]) / self.slopes
        least = np.maximum(0.0, np.maximum(direct, mirrored).max(axis=-1) * (1 - _ROOM))
        if self.factor == 1:
            return np.asarray(least)
        # mu of the Gaussian trade-off through the point (rate, least) is -z(rate) - z(least).
        z, beyond = ndtri(rates), ndtri(least)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nan_to_num(ndtr(-z - self.factor * (-z - beyond)), nan=0.0))

    def broken_by(self, rates: ErrorRates) -> bool:
        """Whether some threshold has fewer errors than the claim allows: false at a true claim with probability `level`."""
        return bool((rates.missed < self.least_missed(rates.false)).any())

    def enlarged(self, factor: float) -> Claim:
        """The claim times a factor: the mu of a Gaussian trade-off through each of its points is so many times as large."""
        return replace(self, factor=self.factor * factor)
