"""Survey weights: a column that says how many members of the population a row stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema.columns import Column
from sfumato.schema.number import Number
from sfumato.schema.texts import DECLARE, public_text

# A weight is kept as a whole number of these parts of the largest one, rounded down: sums are exact.
STEPS = 1 << 16
# The keys of [weight] in a document.
FACTS = ("column", "upper", "fixed")


@dataclass(frozen=True)
class Weight:
    """Rows count by a weight w in [0, upper]: with v = w/upper in [0, 1], each contribution is multiplied by v.

    The weighted number of rows is a private total. A cell that is missing or no number counts as 0, one above `upper` as `upper`.
    `fixed` declares that each weight follows from its own row and from the public design of the sample. Weights that were raked,
    calibrated or post-stratified on these very rows depend on everybody: one record would then move all of them, and nothing
    could be promised.
    """

    column: str
    upper: float = None  # type: ignore[assignment]  # refused below, with what to do
    fixed: bool = False

    def __post_init__(self) -> None:
        public_text("Weight: column, the name of the column of weights,", self.column)
        if self.upper is None:
            raise ArgumentError(f"Weight needs upper: {DECLARE.format('the largest weight')}")
        object.__setattr__(self, "upper", _validate.positive("Weight: upper", self.upper))
        if self.fixed is not True:
            raise ArgumentError(
                "Weight: state fixed=True if every weight follows from its own row and the public design of the sample. Weights "
                "that were raked, calibrated or post-stratified on these rows depend on all of them and are refused: use the "
                "design weights, from before the calibration."
            )

    @property
    def cells(self) -> Number:
        """How the cells of the column are read."""
        return Number(0.0, self.upper, missing=0.0)

    def check(self, columns: Mapping[str, Column]) -> None:
        """Refuse a weight that is a column of the schema too."""
        if self.column in columns:
            raise ArgumentError(f"column {self.column!r} is the weight of the rows; leave it out of the columns.")

    def to_json(self) -> dict[str, Any]:
        """Every fact."""
        return {"column": self.column, "upper": self.upper, "fixed": self.fixed}
