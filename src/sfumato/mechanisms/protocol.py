"""What a mechanism is: a reason to refuse or a plan. (The act, `draw`, joins the claim in the same file.)"""

from __future__ import annotations

from typing import Any, Protocol

from sfumato.calibrate import Target
from sfumato.mechanisms.plan import Plan


class Mechanism(Protocol):
    """A mechanism is a module with these two functions; the table in `mechanisms` lists them by name."""

    def refuses(self, model: Any, goal: str) -> str | None:
        """Return why this mechanism cannot serve the model and goal, or None if it can."""

    def plan(self, model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
        """Return the plan that meets the target, or raise CalibrationError."""
