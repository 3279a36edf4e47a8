"""What every model says about itself: the part of a family or a Gibbs posterior that no caller has to tell apart.

What a procedure needs beyond this (a family's totals and claim, a Gibbs model's loss, prior and constants) it asks of the
models that it serves; `summed` says which of the two kinds a model is.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from sfumato.schema import Schema

# What is summed over the records: whole-number totals (families), or a loss and its gradient (Gibbs models).
TOTALS: Final = "totals"
LOSSES: Final = "losses"


class Model(Protocol):
    """A frozen value of public numbers that says what is read, what is summed and what a draw is called."""

    @property
    def summed(self) -> str:
        """TOTALS or LOSSES."""

    @property
    def conjugate(self) -> bool:
        """Whether the posterior is a law that can be drawn exactly, so that released laws can be compared with it."""

    @property
    def goal(self) -> str:
        """The goal that serves every use of the model: "draws", or "estimate" where there is no posterior to draw from."""

    @property
    def quantity(self) -> str:
        """What a draw is a draw of, in a reader's word."""

    @property
    def highest_power(self) -> float:
        """The largest power that is searched; 1 is the posterior itself, and a utility has no such power."""

    @property
    def size(self) -> int | None:
        """How many numbers one draw has; None where the data decide."""

    def strengthened(self, strength: float) -> Model:
        """The model with a prior of this strength; a family returns itself, since its law takes the strength as a number."""

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Names of the columns that are read; a schema that does not fit the model is refused."""

    def released(self, schema: Schema) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Labels and shape of one draw from data of this schema, which must fit the model."""

    def to_json(self) -> dict[str, Any]:
        """Name and public numbers; `models.reading.model_from_json` reads it back."""
