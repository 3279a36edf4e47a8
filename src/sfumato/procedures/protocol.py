"""What a procedure is: one way to draw, with its price, its act and the check of what it released.

A mechanism chooses numbers (a power, a strength, a noise); a procedure says what is done with them. Each procedure is a
module with the functions of `Procedure`; the table in `procedures` lists them by name. A plan names its procedure, so that
a release is priced, checked and described again by the code that drew it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from sfumato.draws import Draws
from sfumato.errors import FormatError
from sfumato.models.model import Model
from sfumato.models.reading import FamilyOrGibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures.outlook import Cost, Expected
from sfumato.randomness import Randomness
from sfumato.samplers.langevin import Report, silent
from sfumato.schema.persons import PersonTerms
from sfumato.schema.weight import Weight


@dataclass(frozen=True)
class Parameters:
    """The public numbers of a procedure: with the model, n and the number of draws, all that price and draws depend on.

    Subclasses are frozen dataclasses of numbers; a number that is None does not apply and is not written. `dict(parameters)`
    gives names and values.
    """

    positive: ClassVar[tuple[str, ...]] = ()  # numbers that must not be 0

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read the numbers of a recorded plan; missing, unknown, negative and infinite ones are refused."""
        names = [field.name for field in fields(cls)]
        needed = {field.name for field in fields(cls) if field.default is MISSING}
        if not needed <= set(document) <= set(names):
            raise FormatError(f"this procedure plans with {', '.join(names)}; the record has {', '.join(document)}.")
        for field in fields(cls):
            if field.name not in document:
                continue
            value = document[field.name]
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or value < 0 or (value == 0 and field.name in cls.positive):
                least = "greater than 0" if field.name in cls.positive else "of 0 or more"
                raise FormatError(f"{field.name} of a plan must be a finite number {least}; the record has {value!r}.")
            if field.type in ("int", "int | None") and not isinstance(value, int):
                raise FormatError(f"{field.name} of a plan must be a whole number; the record has {value!r}.")
        return cls(**document)

    def to_json(self) -> dict[str, float | int]:
        """The numbers by name."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}

    def averaging(self, most: int | None) -> Parameters:
        """The numbers where contributions are averages of up to `most` rows of a person: others if the price depends on it."""
        return self

    def __iter__(self) -> Iterator[tuple[str, float | int]]:
        return iter(self.to_json().items())


M = TypeVar("M", bound=FamilyOrGibbs)
P = TypeVar("P", bound=Parameters)
M_contra = TypeVar("M_contra", bound=Model, contravariant=True)
P_contra = TypeVar("P_contra", bound=Parameters, contravariant=True)


@dataclass(frozen=True)
class Task(Generic[M, P]):
    """What is to be drawn: `draws` draws of `model` given n records, with these numbers; `keep` names what else is released.

    `persons` says whose rows they are, where a record is a person who may have several; n is then the number of persons.
    `weight` is the survey weight of the records, where they have one.
    """

    model: M
    n: int
    draws: int
    parameters: P
    keep: tuple[str, ...] = ()
    persons: PersonTerms | None = None
    weight: Weight | None = None


class Procedure(Protocol[M_contra, P_contra]):
    """A procedure is a module with these names."""

    NAME: str
    NEEDS: tuple[str, ...]  # the sums that its engine must answer: "totals", "gradients", ... (engines.protocol)
    KEEPS: tuple[str, ...]  # what it can release beside its draws
    Parameters: type[Parameters]

    def refuses(self, model: M_contra) -> str | None:
        """Return why this model cannot be drawn this way, or None."""

    def refuses_averages(self, model: M_contra, most: int) -> str | None:
        """Return why the price does not hold where a record is the average over at most `most` rows of a person, or None.

        None declares that the price follows from bounds that the convex hull of single rows' contributions keeps
        (`theorems.persons`). A procedure without this function serves one row a person alone.
        """

    def refuses_weights(self, model: M_contra) -> str | None:
        """Return why the price does not hold for records with survey weights, or None.

        None declares that it follows from bounds that the convex hull of 0 and of the records' contributions keeps. A procedure
        without this function serves records without weights alone.
        """

    def price(self, model: M_contra, n: int, draws: int, parameters: P_contra) -> Guarantee:
        """Return the guarantee of all draws together, by a theorem whose hypotheses are checked."""

    def expected(self, model: M_contra, n: int, parameters: P_contra) -> Expected:
        """Return what the reader will get, from public numbers alone."""

    def cost(self, model: M_contra, n: int, draws: int, parameters: P_contra) -> Cost:
        """Return the work that the draws ask for, or refuse more than is ever done."""

    def carry_out(self, task: Task[Any, Any], engine: Any, randomness: Randomness, report: Report = silent) -> Draws:
        """Draw. The engine answers sums over the rows; each random number is used once.

        `report(done, steps)` is called after every step of a chain, with public numbers.
        """

    def check(self, task: Task[Any, Any], draws: Draws) -> bool:
        """Return whether the procedure could have released these draws: on their grid, in the domain, with what is kept."""


class PoweredProcedure(Procedure[M_contra, P_contra], Protocol[M_contra, P_contra]):
    """A procedure all of whose numbers follow from a power and a strength, so that a mechanism can search either."""

    def at(
        self, model: M_contra, n: int, draws: int, power: float, strength: float | None, steps: int | None = None
    ) -> Parameters:
        """The numbers at this power. `strength` is that of the model's prior, None where the mechanism does not change it."""
