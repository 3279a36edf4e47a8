"""The interface that families and Gibbs posteriors share.

Procedures use more than this: a family's totals and claim, or a Gibbs model's loss, prior and constants. `summed` is the kind
of a model, and each procedure states which kind it serves.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from sfumato.schema import Schema

# What is summed over the records: whole-number totals (families), or a loss and its gradient (Gibbs models).
TOTALS: Final = "totals"
LOSSES: Final = "losses"


class Model(Protocol):
    """A frozen value of public numbers: which columns are read, what is summed over the records, how draws are labelled."""

    @property
    def summed(self) -> str:
        """TOTALS or LOSSES."""

    @property
    def conjugate(self) -> bool:
        """Whether the posterior is a law that can be drawn exactly; released draws can then be compared with it."""

    @property
    def goal(self) -> str:
        """The default goal of a plan: "draws", or "estimate" where there is no posterior to draw from."""

    @property
    def quantity(self) -> str:
        """Name of the quantity that is drawn, as reports show it."""

    @property
    def highest_power(self) -> float:
        """The largest power that is searched: 1, the posterior itself; for a utility more, since 1 is not special."""

    @property
    def size(self) -> int | None:
        """How many numbers one draw has; None where the schema decides."""

    def strengthened(self, strength: float) -> Model:
        """The model with a prior of this strength; a family returns itself, since its law takes the strength as a number."""

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Names of the columns that are read; a schema that does not fit the model is refused."""

    def released(self, schema: Schema) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Labels and shape of one draw from data of this schema, which must fit the model."""

    def to_json(self) -> dict[str, Any]:
        """Name and public numbers; `models.reading.model_from_json` reads it back."""
