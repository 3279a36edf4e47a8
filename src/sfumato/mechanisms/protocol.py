"""What a mechanism is: a reason to refuse or a plan; the act; and the price again, from a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sfumato.calibrate import Target
from sfumato.draws import Draws
from sfumato.mechanisms.plan import Plan
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, silent


class Mechanism(Protocol):
    """A mechanism is a module with these functions; the table in `mechanisms` lists them by name."""

    def refuses(self, model: Any, goal: str) -> str | None:
        """Return why this mechanism cannot serve the model and goal, or None if it can."""

    def plan(self, model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
        """Return the plan that meets the target, or raise CalibrationError."""

    def draw(self, plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
        """Carry the plan out: the engine answers sums over the rows, the randomness is used once.

        `report(done, steps)` is told how far a chain has come, in public numbers; what is drawn at once tells nothing.
        """

    def reprice(self, model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
        """Return the price of recorded parameters, computed anew."""
