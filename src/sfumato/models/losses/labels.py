"""Label domains: the public set that a loss's labels come from. Every label is mapped into it when a data set is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError


@dataclass(frozen=True)
class LabelSet:
    """A finite list of numbers, such as -1 and +1."""

    values: tuple[float, ...]

    def __init__(self, values: Iterable[float]) -> None:
        """Keep the distinct values in increasing order."""
        labels = [_validate.finite("a label", value) for value in values]
        if not labels or len(set(labels)) < len(labels):
            raise ArgumentError(f"labels must be a list of distinct numbers, at least one; got {labels!r}.")
        object.__setattr__(self, "values", tuple(sorted(labels)))

    def contains(self, labels: ArrayLike) -> NDArray[np.bool_]:
        """Return which labels belong to the set; NaN never does."""
        return np.isin(np.asarray(labels, dtype=np.float64), self.values)

    def to_json(self) -> dict[str, Any]:
        """{"values": [...]}."""
        return {"values": list(self.values)}

    def __str__(self) -> str:
        return "{" + ", ".join(f"{value:g}" for value in self.values) + "}"


@dataclass(frozen=True)
class LabelInterval:
    """All numbers from `lower` to `upper`, both included where finite."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        """Refuse an empty interval."""
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _validate.real(name, getattr(self, name)))
        if not self.lower < self.upper:
            raise ArgumentError(f"lower must be below upper; got {self.lower!r} and {self.upper!r}.")

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)

    def contains(self, labels: ArrayLike) -> NDArray[np.bool_]:
        """Return which labels are finite and lie in the interval."""
        array = np.asarray(labels, dtype=np.float64)
        return np.isfinite(array) & (array >= self.lower) & (array <= self.upper)

    def to_json(self) -> dict[str, Any]:
        """{"lower": ..., "upper": ...}, null for an end at infinity."""
        ends = {"lower": self.lower, "upper": self.upper}
        return {name: end if math.isfinite(end) else None for name, end in ends.items()}

    def __str__(self) -> str:
        left = f"[{self.lower:g}" if math.isfinite(self.lower) else "(-inf"
        right = f"{self.upper:g}]" if math.isfinite(self.upper) else "inf)"
        return f"{left}, {right}"


# The domains of the losses in this package: two classes as signs or as bits, and residuals of any number.
Labels = LabelSet | LabelInterval
# Labels of two classes: signs for the losses of a margin, bits for those of a probability.
SIGNS = LabelSet((-1.0, 1.0))
BITS = LabelSet((0.0, 1.0))
REALS = LabelInterval(-math.inf, math.inf)
