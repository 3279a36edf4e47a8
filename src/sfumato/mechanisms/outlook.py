"""What a recorded plan leads a reader to expect, and the work that it asks for: computed again from its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.mechanisms import _converged, _envelope, _family, _gibbs, langevin_path, noisy_statistics
from sfumato.mechanisms.plan import Cost, Expected
from sfumato.models.families.family import Family


def expected_of(plan: Mapping[str, Any], model: Any) -> Expected:
    """The expectation that a plan of this model with these numbers states."""
    name, n, numbers = plan["mechanism"], plan["n"], plan["parameters"]
    if name == noisy_statistics.NAME:
        return noisy_statistics.expected(model, n, numbers["noise"])
    if name == langevin_path.NAME:
        return langevin_path.expected(numbers["noise"])
    if isinstance(model, Family):
        return _family.expected(model, n, numbers["power"], numbers["strength"])
    return _gibbs.expected_of_power(numbers["power"])


def cost_of(plan: Mapping[str, Any], model: Any) -> Cost:
    """Passes over the records, and chains."""
    numbers, draws = plan["parameters"], plan["draws"]
    if _converged.LENGTH in numbers:
        return _converged.cost(numbers["warmup"], numbers[_converged.LENGTH], draws)
    if "steps" in numbers:
        return Cost(numbers["steps"], draws)
    if "points" in numbers and "trials" in numbers:
        return Cost(1 + numbers["trials"] * draws)
    if "trials" in numbers:
        return Cost(numbers["trials"] * draws + _envelope.envelope(model, plan["n"], numbers["power"]).descent)
    return Cost(1)
