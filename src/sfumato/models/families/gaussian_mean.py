"""The mean of vectors of unit covariance and bounded norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato import _validate
from sfumato.models.families._normal import moderate
from sfumato.models.families._vectors import Vectors


@dataclass(frozen=True, repr=False)
class GaussianMean(Vectors):
    """theta ~ N(mean, I/precision) in `dimension` dimensions; each record x ~ N(theta, I), shortened to |x| <= radius.

    A draw is mu-GDP with mu = 2 r radius/sqrt(n r + s precision): an equality. Source: Minami et al. 2016, Theorem 15,
    made exact.
    """

    dimension: int
    radius: float
    precision: float
    mean: tuple[float, ...]
    name = "GaussianMean"

    def __init__(self, dimension: int, radius: float, precision: float, mean: Sequence[float] | None = None) -> None:
        object.__setattr__(self, "dimension", _validate.whole("dimension", dimension))
        object.__setattr__(self, "radius", moderate("radius", radius))
        object.__setattr__(self, "precision", moderate("precision", precision))
        object.__setattr__(self, "mean", self._read_mean(mean))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.dimension

    @property
    def curvatures(self) -> tuple[float, ...]:
        """Unit covariance."""
        return (1.0,) * self.dimension

    @property
    def precisions(self) -> tuple[float, ...]:
        """The same in every coordinate."""
        return (self.precision,) * self.dimension

    def updated(self, totals: Sequence[Fraction], n: int) -> GaussianMean:
        """The posterior of the public records as the prior."""
        return replace(self, mean=tuple(map(float, self.law(totals, n).mean)), precision=self.precision + n)
