"""How a theorem checks its hypotheses: in order, naming the first that fails, and recording the value of each.

A theorem that ends in a guarantee is declared once, above its function, and its hypotheses are checked by their ids:

    theorem("sharp.gibbs_draw", "sharp theorem", SOURCE, Hypothesis("convex", ...), DRAWS)

    h = Hypotheses("sharp.gibbs_draw")
    h.flag(convex, "convex")
    m, g = h.numbers(strong_convexity=strong_convexity, difference=difference)
    return h.guarantee(curve)

Files hold the ids; the words may be changed (`sfumato.privacy.statements`). A calculation that gives a number and no
guarantee may write the words of its conditions into the checks instead. A condition that fails raises `AssumptionError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from sfumato.errors import ArgumentError, AssumptionError
from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.statements import THEOREMS, Assumption, Theorem, stated
from sfumato.privacy.statements import Hypothesis as Hypothesis
from sfumato.privacy.statements import theorem as theorem
from sfumato.theorems._common import (
    AT_LEAST_ONE,
    AT_LEAST_ONE_OR_INFINITE,
    NOT_NEGATIVE,
    ONE_TO_TWO,
    POSITIVE,
)  # fmt: skip

_RULES: dict[str, Callable[[float], bool]] = {
    "finite": math.isfinite,
    NOT_NEGATIVE: lambda x: 0 <= x < math.inf,
    POSITIVE: lambda x: 0 < x < math.inf,
    AT_LEAST_ONE: lambda x: 1 <= x < math.inf,
    AT_LEAST_ONE_OR_INFINITE: lambda x: x >= 1,
    ONE_TO_TWO: lambda x: 1 <= x <= 2,
    "in (0, 1)": lambda x: 0 < x < 1,
    "in (0, 1]": lambda x: 0 < x <= 1,
    "in [0, 1]": lambda x: 0 <= x <= 1,
}


class Hypotheses:
    """The conditions of one theorem, checked one after the other.

    Each check names its condition by the id of a hypothesis that the theorem declares, by a `Hypothesis`, or in words.
    """

    def __init__(self, theorem: str, source: str | None = None) -> None:
        """Start with nothing checked: `theorem` is the id of a declared theorem or, with a `source`, a name in words."""
        if source is None and theorem not in THEOREMS:
            raise ArgumentError(f"theorem must be the id of a declared theorem, or have a source; got {theorem!r}.")
        self.entry = THEOREMS[theorem] if source is None else Theorem("", theorem, source)
        self.checked: list[tuple[str, ...]] = []  # the fields of an `Assumption` each

    def holds(
        self,
        condition: bool,
        name: str | Hypothesis,
        symbol: str = "",
        required: str = "",
        given: object = None,
        remedy: str = "",
        origin: str = "argument",
        bound: str = "",
    ) -> None:
        """Record a condition that is true, or raise AssumptionError with all its parts.

        `bound` is the number that a requirement such as "at most {}" depends on.
        """
        self._record(condition, self._about(name, symbol, required, remedy, origin), given, bound)

    def _about(self, name: str | Hypothesis, symbol: str, required: str, remedy: str, origin: str) -> Hypothesis:
        """The hypothesis that a check names; without a symbol `name` is the id of one that the theorem declares."""
        if isinstance(name, Hypothesis):
            return replace(name, id="")  # it is not among those that the theorem declares
        if symbol:
            return Hypothesis("", name, symbol, required, remedy, origin)
        for about in self.entry.hypotheses:
            if about.id == name:
                return about
        raise ArgumentError(f"name must be the id of a hypothesis that {self.entry.id!r} declares; got {name!r}.")

    def _record(self, condition: bool, about: Hypothesis, given: object, bound: str = "") -> None:
        shown = f"{given:.6g}" if isinstance(given, float) else str(given)
        needed = about.required.replace("{}", bound)
        if not condition:
            raise AssumptionError(self.entry.name, about.name, about.symbol, needed, shown, about.remedy)
        id = f"{self.entry.id}/{about.id}" if about.id else ""
        self.checked.append((about.name, about.symbol, needed, shown, about.origin, id, bound))

    def number(
        self,
        value: object,
        name: str | Hypothesis,
        symbol: str = "",
        rule: str = "",
        remedy: str = "",
        origin: str = "argument",
    ) -> float:
        """Check a real number against one of the named rules ("finite and greater than 0", ...) and return it."""
        about = self._about(name, symbol, rule, remedy, origin)
        real = isinstance(value, (int, float)) or hasattr(value, "__float__")
        number = float(value) if real and not isinstance(value, bool) and value is not None else math.nan  # type: ignore[arg-type]
        self._record(_RULES[about.required](number), about, value if math.isnan(number) else number)
        return number

    def count(self, value: object, name: str | Hypothesis, symbol: str = "", minimum: int = 1, remedy: str = "") -> int:
        """Check a whole number of at least the number that ends its requirement and return it."""
        about = self._about(name, symbol, f"a whole number of at least {minimum}", remedy, "argument")
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        least = int(about.required.rpartition(" ")[2])
        self._record(whole and int(value) >= least, about, value)  # type: ignore[call-overload]
        return int(value)  # type: ignore[call-overload, no-any-return]

    def flag(self, value: object, name: str | Hypothesis) -> None:
        """Check a declared property: it must be exactly True."""
        self.holds(value is True, name, given=value)

    def numbers(self, **values: object) -> list[float]:
        """Check several numbers by the ids of their hypotheses, written with "_" for "-", and return them."""
        return [self.number(value, id.replace("_", "-")) for id, value in values.items()]

    def counts(self, **values: object) -> list[int]:
        """The same for whole numbers."""
        return [self.count(value, id.replace("_", "-")) for id, value in values.items()]

    def flags(self, **values: object) -> None:
        """The same for declared properties."""
        for id, value in values.items():
            self.flag(value, id.replace("_", "-"))

    def tempering(self, power: float, strength: float, draws: int) -> tuple[float, float, int]:
        """Check TEMPERING: how a posterior is tempered and strengthened, and how often it is drawn."""
        return self.number(power, "power"), self.number(strength, "strength"), self.count(draws, "draws")

    def distance(self, name: str) -> str:
        """Check DISTANCE: the distance between data sets has a name."""
        self.holds(isinstance(name, str) and bool(name.strip()), "distance", given=name)
        return name

    def float_error(self, bound: float) -> float:
        """Check FLOAT_ERROR: the bound on the rounding error of one step, and that float64 normals are taken for exact ones.

        A bound of 0 is about the chain in exact arithmetic, for which nothing is assumed.
        """
        error = self.number(bound, "float-error")
        if error > 0:
            self.holds(True, "float-noise", given="float64 normals (53 bits)")
        return error

    def inherit(self, *claims: Guarantee) -> None:
        """Record what other guarantees, on which this one rests, have checked."""
        self.checked += [tuple(vars(each).values()) for claim in claims for each in claim.assumptions]

    def stated(self) -> tuple[str, str, tuple[Assumption, ...]]:
        """Name and source of the theorem, and what was checked, in order."""
        return stated(self.entry, self.checked)

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
        name, source, assumptions = stated(self.entry, self.checked)
        return Guarantee(curve, adjacency, name, source, unit, assumptions, trust, draws, slack)
