"""The draws of a release: an array shaped (chain, draw, ...) with a label for every coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Draws:
    """Values shaped (chain, draw, *shape), read-only; `labels` name the coordinates of the flattened shape.

    `transcript` holds every noisy gradient behind the values, shaped (chain, step, coordinate), where a plan keeps it;
    `totals` the noisy totals from which the values were drawn, where there are any;
    `published` other noisy numbers that were released, by name, as vectors (the moments of a regression's rows).
    """

    values: NDArray[np.float64]
    labels: tuple[str, ...]
    transcript: NDArray[np.float64] | None = None
    totals: NDArray[np.float64] | None = None
    published: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = self._freeze("values", self.values)
        if values.ndim < 2:
            raise ArgumentError(f"draws must be shaped (chain, draw, ...); got {values.shape}.")
        if len(self.labels) != int(np.prod(values.shape[2:], dtype=int)):
            raise ArgumentError(f"labels must name the {values.shape[2:]} coordinates; got {len(self.labels)}.")
        if self.transcript is not None:
            shape = self._freeze("transcript", self.transcript).shape
            if len(shape) != 3 or shape[::2] != (values.shape[0], len(self.labels)):
                raise ArgumentError(
                    f"the transcript must be shaped (chain, step, coordinate) beside {values.shape}; got {shape}."
                )
        if self.totals is not None:
            self._freeze("totals", np.ravel(self.totals))
        held = {name: _frozen(np.ravel(vector)) for name, vector in self.published.items()}
        object.__setattr__(self, "published", held)

    def _freeze(self, name: str, given: Any) -> NDArray[np.float64]:
        """Store a read-only copy of an array in the field `name`, and return it."""
        array = _frozen(given)
        object.__setattr__(self, name, array)
        return array

    @property
    def shape(self) -> tuple[int, ...]:
        """(chain, draw, ...)."""
        return self.values.shape

    @property
    def bare(self) -> bool:
        """Whether nothing is kept beside the values."""
        return self.transcript is None and self.totals is None and not self.published

    def pooled(self) -> NDArray[np.float64]:
        """All draws of all chains along the first axis."""
        return self.values.reshape(-1, *self.values.shape[2:])

    def flat(self) -> NDArray[np.float64]:
        """All draws of all chains, shaped (draw, coordinate)."""
        return self.values.reshape(self.shape[0] * self.shape[1], -1)

    def mean(self) -> NDArray[np.float64]:
        """Mean over chains and draws."""
        return np.asarray(self.pooled().mean(axis=0), dtype=np.float64)

    def quantile(self, q: Any) -> NDArray[np.float64]:
        """Quantiles over chains and draws; `q` in [0, 1], one or several (then along the first axis)."""
        levels = np.asarray(q, dtype=np.float64)
        if levels.size == 0 or not ((levels >= 0) & (levels <= 1)).all():
            raise ArgumentError(f"q must lie in [0, 1]; got {q!r}.")
        return np.asarray(np.quantile(self.pooled(), levels, axis=0), dtype=np.float64)


def _frozen(given: Any) -> NDArray[np.float64]:
    """A read-only copy."""
    array = np.array(given, dtype=np.float64)
    array.setflags(write=False)
    return array
