"""The plan: everything that will be done and what it costs, fixed before any record is seen."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sfumato._shown import Shown
from sfumato.calibrate import Target
from sfumato.models.clipping import clipping_of
from sfumato.models.reading import FamilyOrGibbs
from sfumato.models.whose_rows import a_record, by_weight, whose_rows
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import law_of
from sfumato.procedures.chain_law import ChainLaw
from sfumato.procedures.outlook import OF_A_DRAW, Cost, Expected
from sfumato.procedures.plain_numbers import made_by
from sfumato.procedures.protocol import Parameters, Task
from sfumato.queries import learned_notes, plan_notes, regression_notes
from sfumato.schema.persons import PersonTerms
from sfumato.schema.weight import Weight

GOALS = ("draws", "estimate")
# Version 1 named no procedure and held the words of the expectation.
VERSION = 2


@dataclass(frozen=True)
class Plan(Shown):
    """A frozen, serialisable plan: no data, no randomness, and the price of all draws together.

    `mechanism` names what was chosen, `procedure` how it is drawn, and `parameters` are the procedure's public numbers
    (power, strength, step, steps, noise, ...); `plan["noise"]` is one of them. `digest` is a hash of the whole plan, by which
    a release, a ledger row and a plan are known to be the same. `note` says why "auto" passed over a better mechanism; it is
    printed and is no part of the document.
    """

    mechanism: str
    procedure: str
    model: FamilyOrGibbs
    n: int
    draws: int
    goal: str
    keep: tuple[str, ...]
    parameters: Parameters
    guarantee: Guarantee
    expected: Expected
    cost: Cost
    target: Target | None = None
    note: str = field(default="", compare=False)
    persons: PersonTerms | None = None
    weight: Weight | None = None

    def __getitem__(self, name: str) -> float | int:
        return dict(self.parameters)[name]

    @cached_property
    def law(self) -> ChainLaw | None:
        """The law of a draw of a Gibbs posterior on made-up rows, computed when it is asked for; None where there is none."""
        return law_of(self.procedure, self.task) if self.expected.id == OF_A_DRAW else None

    @property
    def outlook(self) -> Expected:
        """The expected accuracy that is printed: by the law of a draw where there is one, else `expected`."""
        return self.expected if self.law is None else self.law.expected

    @property
    def task(self) -> Task[Any, Any]:
        """The arguments of the procedure."""
        return Task(self.model, self.n, self.draws, self.parameters, self.keep, self.persons, self.weight)

    def to_json(self) -> dict[str, Any]:
        """Return a versioned document of the whole plan."""
        target = None
        if self.target is not None:
            curve = None if self.target.curve is None else self.target.curve.to_json()
            target = {"epsilon": self.target.epsilon, "delta": self.target.delta, "curve": curve}
        return {
            "sfumato": "plan",
            "version": VERSION,
            "mechanism": self.mechanism,
            "procedure": self.procedure,
            "model": self.model.to_json(),
            "n": self.n,
            "draws": self.draws,
            "goal": self.goal,
            "keep": list(self.keep),
            "parameters": self.parameters.to_json(),
            "expected": self.expected.to_json(),
            "cost": self.cost.to_json(),
            "guarantee": self.guarantee.to_json(),
            "target": target,
            **({} if self.persons is None else {"persons": self.persons.to_json()}),
            **({} if self.weight is None else {"weight": self.weight.to_json()}),
        }

    def recorded(self) -> tuple[dict[str, Any], str]:
        """The document, and the SHA-256 of its canonical JSON."""
        document = self.to_json()
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return document, hashlib.sha256(text.encode()).hexdigest()

    @property
    def digest(self) -> str:
        """SHA-256 of the plan's canonical JSON."""
        return self.recorded()[1]

    def _raised(self) -> str:
        """By how much the target made the prior stronger than the one that was given; "" where it did not."""
        strength = dict(self.parameters).get("strength", 1.0)
        if strength == 1:
            return ""
        precision = getattr(getattr(self.model, "prior", None), "precision", None)
        if isinstance(precision, float):
            return f"; prior precision raised from {precision / strength:.3g} to {precision:.3g} to meet the target"
        return f"; prior made {strength:.3g} times as strong to meet the target"

    def lines(self) -> list[tuple[str, str]]:
        """The plan as named sentences, for the terminal and for notebooks."""
        # The numbers of a grid's cells and of the totals serve verification and are not printed.
        hidden = ("grid", "totals")
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in self.parameters if name not in hidden)
        price = str(self.guarantee)
        if self.target is not None and self.target.delta:
            price = self.guarantee.at(self.target.delta)
        noisy = self.draws == 1 and self.goal == "draws" and self.procedure == "noisy-totals"
        free = "; any number of draws costs the same" if noisy else ""
        made, hint = f"{self.draws} draw{'s' if self.draws > 1 else ''}", ""
        if self.goal == "estimate":
            price, made = self.guarantee.of_estimate(price), "one estimate"
        if self.procedure == "noisy-tables":
            free = "; any number of synthetic rows costs nothing more"
        if self.procedure == "shaped-path":
            # The noise of a gradient says little to a user; what it means for a coefficient depends on the rows.
            hint = "; sf.expected_widths(plan, schema) has the half-width of each coefficient"
        rows = [
            ("model", f"{self.model}{self._raised()}"),
            ("records", f"{self.n:,} (public)" + ("" if self.persons is None else f": {a_record(self.persons)}")),
            ("mechanism", made_by(self.mechanism, self.procedure, dict(self.parameters), numbers)),
            ("release", f"{made}{free}"),
            ("target", str(self.target) if self.target else "none (the price is what it is)"),
            ("price", price),
            ("expected", f"{self.outlook}{hint}"),
            ("work", str(self.cost)),
            ("digest", self.digest[:16]),
        ]
        # After what is expected: what a reader of this release will be refused, and how large a cell should be.
        rows[7:7] = plan_notes.notes(self.model, self.n, self.procedure, dict(self.parameters).get("noise"))
        rows[7:7] = regression_notes.notes(self.model, self.procedure, self.keep)
        rows[7:7] = learned_notes.notes(self.model, self.n, self.parameters, self.guarantee.curve.mu)
        if self.law is not None:
            rows.insert(7, ("law", str(self.law)))
        if self.note:
            rows.insert(3, ("note", self.note))
        if self.weight is not None:
            expected = (
                "What is expected below is for records of the largest weight; smaller ones count less beside the noise."
            )
            rows.insert(1, ("weights", f"{by_weight(self.weight)} {expected}"))
        if self.persons is not None:
            rows.insert(1, ("persons", whose_rows(self.model, self.persons, None, self.weight is not None)))
        if clipping := clipping_of(self.model):
            rows.insert(1, ("clipping", clipping))
        return rows

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {value}" for name, value in self.lines())
