"""How a theorem checks its hypotheses: in order, naming the one that fails, and remembering what it saw.

Every theorem function makes one `Hypotheses`, asks for each of its conditions, and ends with `guarantee(curve)`, which
carries the checked conditions along. A condition that fails raises `AssumptionError`; nothing is claimed by warning.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.errors import AssumptionError
from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import Assumption, Guarantee

_RULES: dict[str, Callable[[float], bool]] = {
    "finite": math.isfinite,
    "finite and 0 or greater": lambda x: 0 <= x < math.inf,
    "finite and greater than 0": lambda x: 0 < x < math.inf,
    "in (0, 1)": lambda x: 0 < x < 1,
    "in (0, 1]": lambda x: 0 < x <= 1,
    "in [0, 1]": lambda x: 0 <= x <= 1,
}


class Hypotheses:
    """The conditions of one theorem, checked one after the other."""

    def __init__(self, theorem: str, source: str) -> None:
        """Start with nothing checked; `theorem` and `source` are printed on the guarantee and in errors."""
        self.theorem = theorem
        self.source = source
        self.checked: list[Assumption] = []

    def holds(
        self,
        condition: bool,
        name: str,
        symbol: str,
        required: str,
        given: object,
        remedy: str,
        origin: str = "argument",
    ) -> None:
        """Record a condition that is true, or raise AssumptionError with all its parts."""
        shown = f"{given:.6g}" if isinstance(given, float) else str(given)
        if not condition:
            raise AssumptionError(self.theorem, name, symbol, required, shown, remedy)
        self.checked.append(Assumption(name, symbol, required, shown, origin))

    def number(
        self, value: object, name: str, symbol: str, required: str, remedy: str, origin: str = "argument"
    ) -> float:
        """Check a real number against one of the named rules ("finite and greater than 0", ...) and return it."""
        real = isinstance(value, (int, float)) or hasattr(value, "__float__")
        found = float(value) if real and not isinstance(value, bool) and value is not None else math.nan  # type: ignore[arg-type]
        self.holds(
            _RULES[required](found), name, symbol, required, value if math.isnan(found) else found, remedy, origin
        )
        return found

    def count(self, value: object, name: str, symbol: str, minimum: int, remedy: str, origin: str = "argument") -> int:
        """Check a whole number of at least `minimum` and return it."""
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        ok = whole and int(value) >= minimum  # type: ignore[call-overload]
        self.holds(ok, name, symbol, f"a whole number of at least {minimum}", value, remedy, origin)
        return int(value)  # type: ignore[call-overload, no-any-return]

    def flag(self, value: object, name: str, symbol: str, required: str, remedy: str, origin: str = "declared") -> None:
        """Check a declared property: it must be exactly True."""
        self.holds(value is True, name, symbol, required, value, remedy, origin)

    def tempering(self, power: float, strength: float, draws: int) -> tuple[float, float, int]:
        """Check how a posterior is tempered and strengthened, and how often it is drawn."""
        positive = "finite and greater than 0"
        r = self.number(
            power, "power of the likelihood", "r", positive, "Choose a positive power; 1 is the true posterior."
        )
        s = self.number(
            strength, "strength of the prior", "1/m", positive, "Choose a positive strength; 1 is the true posterior."
        )
        return r, s, self.count(draws, "number of draws", "N", 1, "Ask for at least one draw.")

    def drawing_error(self, log_error: float) -> float:
        """Check the bound on how far the log of a drawn point's mass is from the exact one."""
        rule = "finite and 0 or greater"
        return self.number(log_error, "error of a drawn log mass", "e", rule, "Give a finite bound.")

    def float_error(self, bound: float) -> float:
        """Check the bound on the rounding error of one step, and name what a step in floats takes for granted.

        A bound of 0 speaks of the chain in exact arithmetic, about which nothing is assumed.
        """
        found = self.number(
            bound, "rounding error of one step", "e", "finite and 0 or greater", "Give a bound of 0 or more."
        )
        if found > 0:
            self.checked.append(
                Assumption("noise inside the chain", "xi", "exact normals", "float64 normals (53 bits)", "assumed")
            )
        return found

    def guarantee(
        self,
        curve: Curve,
        adjacency: str = "replace-one",
        unit: str = "row",
        trust: str = "proved",
        draws: int = 1,
        slack: float = 0.0,
    ) -> Guarantee:
        """Return the guarantee that carries what was checked."""
        return Guarantee(
            curve=curve,
            adjacency=adjacency,
            theorem=self.theorem,
            source=self.source,
            unit=unit,
            assumptions=tuple(self.checked),
            trust=trust,
            draws=draws,
            slack=slack,
        )
