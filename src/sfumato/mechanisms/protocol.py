"""What a mechanism is: which number is searched, and by which procedures its plans may be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from sfumato.calibrate import Target
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Plan
from sfumato.models.model import Model
from sfumato.models.reading import FamilyOrGibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import for_contributions
from sfumato.procedures.protocol import M, Parameters, PoweredProcedure, Procedure
from sfumato.schema.persons import PersonTerms
from sfumato.schema.weight import Weight

# Accepted values of `trust`: what a theorem proves, or draws by a chain that is assumed to have converged.
PROVED, CONVERGED = "proved", "assumes converged"


@dataclass(frozen=True)
class Request(Generic[M]):
    """The arguments of `sf.plan`, checked: the model, the public number of records, the target, and what is released."""

    model: M
    n: int
    target: Target | None = None
    draws: int = 1
    goal: str = "draws"
    keep: tuple[str, ...] = ()
    steps: int | None = None
    trust: str = PROVED
    persons: PersonTerms | None = None
    weight: Weight | None = None

    @property
    def clustered(self) -> bool:
        """Whether the variance of a record's contribution is not that of one row: averages over persons, or weights."""
        return self.weight is not None or (self.most or 1) > 1

    @property
    def most(self) -> int | None:
        """The most rows of a person whose contributions are averaged; None where each record is one row."""
        return None if self.persons is None else self.persons.most

    def needed_target(self, mechanism: str) -> Target:
        """Return the target, or refuse: a calibrated mechanism cannot be planned without one."""
        if self.target is None:
            raise MechanismRefused(
                f"mechanism {mechanism!r} is calibrated to a target: give epsilon and delta, or target=<a curve>."
            )
        return self.target

    def numbers_at(
        self, procedure: PoweredProcedure[Any, Any], model: Model, power: float, strength: float | None
    ) -> Parameters:
        """The procedure's numbers for this request at a power and strength."""
        return procedure.at(model, self.n, self.draws, power, strength, self.steps).averaging(self.most)

    def price_of_power(
        self, procedure: PoweredProcedure[Any, Any], model: Model, strength: float | None
    ) -> Callable[[float], Guarantee]:
        """The price of this request as a function of the power."""
        return lambda power: procedure.price(
            model, self.n, self.draws, self.numbers_at(procedure, model, power, strength)
        )

    def planned(
        self, mechanism: str, procedure: Procedure[Any, Any], numbers: Parameters, model: FamilyOrGibbs | None = None
    ) -> Plan:
        """The plan that draws this request with these numbers; `model` is the one with a strengthened prior, where it differs."""
        drawn = self.model if model is None else model
        return Plan(
            mechanism,
            procedure.NAME,
            drawn,
            self.n,
            self.draws,
            self.goal,
            self.keep,
            numbers,
            for_contributions(procedure.price(drawn, self.n, self.draws, numbers), self.persons, self.weight, self.n),
            procedure.expected(drawn, self.n, numbers),
            procedure.cost(drawn, self.n, self.draws, numbers),
            self.target,
            persons=self.persons,
            weight=self.weight,
        )


class Mechanism(Protocol):
    """A mechanism is a module with these names; the table in `mechanisms` lists them."""

    NAME: str
    PROCEDURES: tuple[str, ...]  # the first that serves a model draws it
    MAY_ASSUME: bool  # whether trust="assumes converged" may replace its draws by those of a reference chain

    STRENGTH: bool  # whether plans of Gibbs models record the prior's strength: then they are priced as exact draws too

    def refuses(self, model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
        """Return why this mechanism cannot serve the model and goal, whatever the procedure, or None."""

    def plan(self, request: Request[Any], procedure: Any) -> Plan:
        """Return the plan that meets the request's target, or raise CalibrationError."""

    def implied(self, model: Any, n: int, target: Target) -> dict[str, float]:
        """Return numbers of the plan that follow from model, n and target alone; a mechanism without this function has none.

        A release with others is refused: where a plan's price allows any value of a number, one chosen by looking at rows could not
        be told from a public one.
        """
