"""The part of a release that questions use: its pooled draws, whether they are independent, and the name of their law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato._quadrature import Array
from sfumato.draws import Draws

# Values of `trust` under which draws are independent; draws of a chain that is only assumed to have converged may not be.
_INDEPENDENT = ("proved", "proved with slack")


@dataclass(frozen=True, eq=False)
class Sample:
    """`values` (draw, ...) with their `labels`; `law` names the law that they are draws of.

    `independent`: given the data they are independent with one law, as Hoeffding's inequality requires. All bounds are under
    that law, which is the posterior itself only where `law` is that.
    """

    values: Array
    labels: tuple[str, ...]
    law: str
    independent: bool
    plan: Mapping[str, Any]

    @property
    def size(self) -> int:
        """How many draws there are."""
        return len(self.values)


def read(draws: Draws, plan: Mapping[str, Any], kind: str) -> Sample:
    """The draws of all chains as one sample."""
    independent = kind == "draws" and plan["guarantee"]["trust"] in _INDEPENDENT
    return Sample(draws.pooled(), draws.labels, law_in_words(plan, kind), independent, plan)


def law_in_words(plan: Mapping[str, Any], kind: str) -> str:
    """The law of one draw of a plan, in words."""
    if kind != "draws":
        return "an estimate with its noise"
    mechanism, numbers = plan["mechanism"], plan["parameters"]
    if mechanism == "noisy-statistics":
        return "the posterior that follows from the noisy totals"
    power, strength = numbers.get("power", 1.0), numbers.get("strength", 1.0)
    changes = [f"power {power:.4g}"] if power != 1 else []
    changes += [f"its prior {strength:.4g} times as strong"] if strength != 1 else []
    what = "the posterior's chain at its last step" if "steps" in numbers else "the posterior"
    if "points" in numbers:
        what = f"the posterior on its public lattice of {int(numbers['points']):,} points a side"
    elif "trials" in numbers:
        what = "the posterior on its public lattice"
    law = what + (f" ({', '.join(changes)})" if changes else "")
    return f"{law}, if its chain has converged" if plan["guarantee"]["trust"] == "assumes converged" else law
