"""The mean of normal vectors with a known precision matrix and bounded norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._eigenbasis import Eigenbasis, eigenbasis
from sfumato.models.families._normal import Basis, moderate, moderate_or_zero
from sfumato.models.families._vectors import Vectors


@dataclass(frozen=True, repr=False)
class MultivariateNormal(Vectors):
    """theta ~ N(mean, I/precision); each record x ~ N(theta, A^-1), A = known_precision, shortened to |x| <= radius.

    In the eigenbasis of A, with values a_i, a draw is mu-GDP with mu = 2 r radius max_i a_i/sqrt(s precision + r n a_i): an
    equality, but for the rounding error of the basis. Source: the setting of Dimitrakakis et al. 2017, Lemma 23.

    `public` records that were folded into the prior give it the precision precision I + public A.
    """

    known_precision: tuple[tuple[float, ...], ...]
    radius: float
    precision: float
    mean: tuple[float, ...]
    public: float
    name = "MultivariateNormal"

    def __init__(
        self,
        known_precision: Any,
        radius: float,
        precision: float,
        mean: Sequence[float] | None = None,
        public: float = 0.0,
    ) -> None:
        object.__setattr__(self, "known_precision", _matrix(known_precision))
        object.__setattr__(self, "radius", moderate("radius", radius))
        object.__setattr__(self, "precision", moderate("precision", precision))
        object.__setattr__(self, "mean", self._read_mean(mean))
        object.__setattr__(self, "public", _validate.non_negative("public", public))
        for value in self._eigen.values:
            moderate("an eigenvalue of known_precision", value)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.known_precision)

    @property
    def _eigen(self) -> Eigenbasis:
        return eigenbasis(self.known_precision)

    @property
    def curvatures(self) -> tuple[float, ...]:
        """The eigenvalues of the known precision."""
        return self._eigen.values

    @property
    def precisions(self) -> tuple[float, ...]:
        """Of the prior, public records included."""
        return tuple(self.precision + self.public * value for value in self._eigen.values)

    @property
    def basis(self) -> Basis:
        """The eigenvectors."""
        return self._eigen.rows

    @property
    def stretch(self) -> float:
        """Of the computed eigenvectors."""
        return self._eigen.stretch

    def updated(self, totals: Sequence[Fraction], n: int) -> MultivariateNormal:
        """The posterior of the public records as the prior."""
        mean = np.array(self.basis) @ np.array([float(value) for value in self.law(totals, n).mean])
        return replace(self, mean=tuple(mean.tolist()), public=self.public + n)


def _matrix(given: Any) -> tuple[tuple[float, ...], ...]:
    try:
        rows = [list(row) for row in given]
    except TypeError:
        raise ArgumentError("known_precision must be a square matrix, a list of rows.") from None
    if not rows or any(len(row) != len(rows) for row in rows):
        raise ArgumentError(f"known_precision must be a square matrix; got {len(rows)} row(s) of other lengths.")
    return tuple(
        tuple(moderate_or_zero(f"known_precision[{i}][{j}]", value) for j, value in enumerate(row))
        for i, row in enumerate(rows)
    )
