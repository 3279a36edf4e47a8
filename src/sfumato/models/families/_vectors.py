"""Base class of the normal families whose records are vectors of bounded norm: their exact sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.models.families._normal import Location, exact_sums, halves, joined, moderate_or_zero
from sfumato.models.families.family import Array, Family
from sfumato.schema import Schema

# A coordinate is cut to whole steps of a power of two, between 2^40 and 2^41 of them to the radius.
_DIGITS = 41
# Records simulated for each parameter; where n is larger, the sum is drawn with their moments.
_RECORDS = 512
# Numbers simulated at a time, 32 MB, to bound memory.
_AT_ONCE = 1 << 22


class Vectors(Location):
    """Records are vectors with |x| <= radius; their coordinates are cut towards 0, so that no norm grows."""

    radius: float
    mean: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of coordinates."""
        raise NotImplementedError

    def _read_mean(self, mean: Sequence[float] | None) -> tuple[float, ...]:
        if mean is None:
            return (0.0,) * self.size
        entries = tuple(moderate_or_zero(f"mean[{i}]", value) for i, value in enumerate(mean))
        if len(entries) != self.size:
            raise ArgumentError(f"mean must have one number per coordinate ({self.size}); got {len(entries)}.")
        return entries

    @property
    def labels(self) -> tuple[str, ...]:
        """mean[0], mean[1], ..."""
        return tuple(f"mean[{i}]" for i in range(self.size))

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The vectors of a vector schema of the same length, whose declared norm is within the radius."""
        if schema.dimension != self.size or schema.data_norm is None:
            given = "a table" if schema.dimension is None else f"vectors of {schema.dimension}"
            raise ArgumentError(
                f"{self.name} needs vectors of {self.size}: sf.Schema.vector({self.size}, data_norm=...); "
                f"schema {schema.name!r} describes {given}."
            )
        if not schema.data_norm <= self.radius:
            raise ArgumentError(
                f"data_norm is {schema.data_norm:g} in the schema and the model's radius {self.radius:g}: the radius must "
                "be at least as large. Change one of the two."
            )
        return ("matrix",)

    @property
    def _step(self) -> Fraction:
        return Fraction(2) ** (math.frexp(self.radius)[1] - _DIGITS)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Sum of the records in whole steps per coordinate, the same for sparse rows and for dense ones."""
        matrix = block[columns[0]]
        if isinstance(matrix, np.ndarray):
            return exact_sums(self._cut(matrix))
        sums = np.zeros((2, self.size), dtype=np.int64)
        for total, digits in zip(sums, halves(self._cut(matrix.data)), strict=True):
            np.add.at(total, matrix.indices, digits)
        return joined(sums[0], sums[1])

    def _cut(self, values: Any) -> NDArray[np.int64]:
        """Whole steps towards 0; whatever is not a number is 0, and no coordinate is beyond the radius."""
        inside = np.clip(np.nan_to_num(values, nan=0.0), -self.radius, self.radius)
        steps: NDArray[np.int64] = np.trunc(np.ldexp(inside, _DIGITS - math.frexp(self.radius)[1])).astype(np.int64)
        return steps

    @property
    def units(self) -> tuple[Fraction, ...]:
        """One step: a power of two, about 2^-40 of the radius."""
        return (self._step,) * self.size

    @property
    def sensitivity(self) -> float:
        """Two vectors of norm at most the radius are at most a diameter apart."""
        return 2.0 * self.radius

    def feasible(self, totals: Array, n: int) -> Array:
        """The nearest sum of n vectors within the radius."""
        norms = np.linalg.norm(totals, axis=-1, keepdims=True)
        return np.asarray(totals * np.minimum(1.0, n * self.radius / np.maximum(norms, 1e-300)), dtype=np.float64)

    @property
    def start(self) -> tuple[float, ...]:
        """The prior mean."""
        return self.mean

    def sums(self, totals: Sequence[Fraction], n: int) -> list[Fraction]:
        """Sum of x less n times the prior mean."""
        return [total - n * Fraction(value) for total, value in zip(totals, self.mean, strict=True)]

    def _float_sums(self, totals: Array, n: int) -> Array:
        return np.asarray(totals - n * np.array(self.mean), dtype=np.float64)

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Means from the prior; sums of clipped records: of all n, or with the moments of some hundreds.

        Those come in pairs about the mean, so that their own sum has no error where nothing is clipped.
        """
        truth = self._outward(rng.standard_normal((size, self.size)) / np.sqrt(np.array(self.precisions)))
        kept, totals = min(n, _RECORDS), np.empty((size, self.size))
        step = max(1, _AT_ONCE // (kept * self.size))
        for at in range(0, size, step):
            part = truth[at : at + step]
            noise = rng.standard_normal((len(part), kept, self.size)) / np.sqrt(np.array(self.curvatures))
            if n > kept:
                noise[:, kept // 2 :] = -noise[:, : kept // 2]
            if self.basis is not None:
                noise = noise @ np.array(self.basis).T
            records = self.feasible(part[:, None, :] + noise, 1)
            means = records.mean(axis=1)
            totals[at : at + step] = n * means
            if n > kept:
                weights = rng.standard_normal((len(part), kept)) * math.sqrt(n / kept)
                totals[at : at + step] += np.einsum("ik,ikj->ij", weights, records - means[:, None, :])
        return truth, self.feasible(totals, n)

    def with_public(self, data: object, *, schema: Schema) -> Any:
        """The family with its prior updated by PUBLIC rows: an array, a list of rows or a CSR matrix, and its schema."""
        dense = data.toarray() if hasattr(data, "toarray") else data
        return Family.with_public(self, dense, schema=schema)
