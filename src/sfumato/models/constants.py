"""The constants of one record's loss: the only facts about a loss that the theorems use."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from sfumato.errors import ArgumentError


@dataclass(frozen=True)
class Constants:
    """Constants of theta -> l(theta, x) at power 1, valid for every record x and every theta of the prior's domain.

    - `lipschitz` L: |grad l(theta, x)| <= L.
    - `difference` G/power: Lipschitz constant of l(., x) - l(., x') over all pairs of records (replace one), <= 2 L.
    - `smoothness` M_l: Lipschitz constant of grad l(., x); `math.inf` where there is none.
    - `strong_convexity` m_l.
    - `bound` Delta: |l(theta, x) - l(theta, x')| <= Delta once every l(., x) is shifted by its own constant so that
      l(0, x) is the same for all records. Such shifts do not change the posterior; they keep Delta finite for residual
      losses with unbounded labels. `math.inf` on an unbounded domain.
    - `convex`, `smooth`: declared properties, which theorems check before anything runs.
    """

    lipschitz: float
    difference: float
    smoothness: float
    strong_convexity: float
    bound: float
    convex: bool
    smooth: bool

    def __post_init__(self) -> None:
        """Refuse constants that contradict each other."""
        for field in fields(self)[:5]:
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value) or value < 0:
                raise ArgumentError(f"{field.name} must be a number of 0 or more (math.inf allowed); got {value!r}.")
            object.__setattr__(self, field.name, float(value))
        for name in ("convex", "smooth"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        self._agree()

    def _agree(self) -> None:
        if self.difference > 2 * self.lipschitz:
            raise ArgumentError(
                f"difference must be at most 2 * lipschitz = {2 * self.lipschitz!r} (triangle inequality); "
                f"got {self.difference!r}."
            )
        if not math.isfinite(self.strong_convexity) or self.strong_convexity > self.smoothness:
            raise ArgumentError(
                f"strong_convexity must be finite and at most smoothness = {self.smoothness!r}; "
                f"got {self.strong_convexity!r}."
            )
        if self.strong_convexity > 0 and not self.convex:
            raise ArgumentError(f"strong_convexity must be 0 for a non-convex loss; got {self.strong_convexity!r}.")
        if self.smooth != math.isfinite(self.smoothness):
            raise ArgumentError(
                f"smooth must be {not self.smooth} for smoothness = {self.smoothness!r}; got {self.smooth}."
            )
