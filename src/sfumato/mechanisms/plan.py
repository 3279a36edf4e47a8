"""The plan: everything that will be done and what it costs, fixed before any record is seen."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any

from sfumato.calibrate import Target
from sfumato.privacy.guarantee import Guarantee

GOALS = ("draws", "estimate")


@dataclass(frozen=True)
class Expected:
    """What the reader will get, from public numbers alone: `without_privacy` is the same quantity at no noise."""

    quantity: str
    value: float
    unit: str
    how: str
    without_privacy: float | None = None

    def __str__(self) -> str:
        bare = "" if self.without_privacy is None else f"; without privacy {self.without_privacy:.4g}"
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.quantity} {self.value:.4g}{unit}{bare} ({self.how})"


@dataclass(frozen=True)
class Cost:
    """Work that the plan asks for: how many times every record is read, and in how many chains."""

    passes: int
    chains: int = 1

    def __str__(self) -> str:
        chains = "" if self.chains == 1 else f" for {self.chains} chains at once"
        return f"{self.passes:,} pass{'es' if self.passes > 1 else ''} over the records{chains}"


@dataclass(frozen=True)
class Plan:
    """A frozen, serialisable plan: no data, no randomness, and the price of all draws together.

    `parameters` are the mechanism's public numbers (power, strength, step, steps, noise, ...); `digest` is a hash of all of
    it, so that a release, a ledger row and a plan can be told to be the same.
    """

    mechanism: str
    model: Any
    n: int
    draws: int
    goal: str
    keep: tuple[str, ...]
    parameters: tuple[tuple[str, float | int], ...]
    guarantee: Guarantee
    expected: Expected
    cost: Cost
    target: Target | None = None

    def __getitem__(self, name: str) -> float | int:
        return dict(self.parameters)[name]

    def to_json(self) -> dict[str, Any]:
        """Return a versioned document of the whole plan."""
        target = None
        if self.target is not None:
            curve = None if self.target.curve is None else self.target.curve.to_json()
            target = {"epsilon": self.target.epsilon, "delta": self.target.delta, "curve": curve}
        return {
            "sfumato": "plan",
            "version": 1,
            "mechanism": self.mechanism,
            "model": self.model.to_json(),
            "n": self.n,
            "draws": self.draws,
            "goal": self.goal,
            "keep": list(self.keep),
            "parameters": dict(self.parameters),
            "guarantee": self.guarantee.to_json(),
            "expected": {f.name: getattr(self.expected, f.name) for f in fields(self.expected)},
            "cost": {f.name: getattr(self.cost, f.name) for f in fields(self.cost)},
            "target": target,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the plan's canonical JSON."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in self.parameters)
        price = str(self.guarantee)
        if self.target is not None and self.target.delta:
            price = self.guarantee.at(self.target.delta)
        one = self.draws == 1 and self.goal == "draws" and self.mechanism == "noisy-statistics"
        # A model that tells its totals has nothing to gain: its intervals are read from them.
        gains = one and not getattr(self.model, "tells_totals", False)
        free = "; more draws cost nothing more, and make intervals narrower" if gains else ""
        rows = [
            ("model", str(self.model)),
            ("records", f"{self.n:,} (public)"),
            ("mechanism", f"{self.mechanism}: {numbers}"),
            ("release", f"{self.draws} draw{'s' if self.draws > 1 else ''}, goal '{self.goal}'{free}"),
            ("target", str(self.target) if self.target else "none (the price is what it is)"),
            ("price", price),
            ("expected", str(self.expected)),
            ("work", str(self.cost)),
            ("digest", self.digest[:16]),
        ]
        return "\n".join(f"{name:<10} {value}" for name, value in rows)
