"""`sf.compare`: the papers side by side with what is true, for one model, one n and one (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sfumato import _validate
from sfumato._shown import Shown
from sfumato.calibrate import Target, largest, target_of
from sfumato.errors import ArgumentError, AssumptionError, CalibrationError, SfumatoError
from sfumato.mechanisms import exponential
from sfumato.mechanisms.protocol import PROVED
from sfumato.models.families.family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.models.model import LOSSES, TOTALS, Model
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.privacy.convert import minimise_over_orders, renyi_to_epsilon
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.renyi import Renyi
from sfumato.procedures import last_iterate, lattice, law
from sfumato.procedures.chains import sharp_price
from sfumato.schema import Persons
from sfumato.schema.persons import terms_of
from sfumato.theorems import conjugate, log_sobolev
from sfumato.theorems import persons as persons_of

# Powers above 1 are searched too: the table compares theorems, and a plan never takes more than 1.
_LOWEST, _HIGHEST = 1e-12, 1e6
# What the others are measured against: for a Gibbs model the sharp theorem, for a family the exact profile.
_REFERENCE = {LOSSES: "sharp theorem", TOTALS: "exact profile"}


@dataclass(frozen=True)
class Row:
    """One theorem: the largest power it allows, or why it does not apply."""

    name: str
    source: str
    power: float | None
    note: str


@dataclass(frozen=True)
class Comparison(Shown):
    """The rows as data; printed as a table with each power also relative to the sharp one (exact, for a family)."""

    model: Model
    n: int
    epsilon: float
    delta: float
    rows: tuple[Row, ...]

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no row {name!r}; rows: {', '.join(row.name for row in self.rows)}")

    def to_json(self) -> list[dict[str, Any]]:
        """Rows as plain dictionaries."""
        return [{"name": r.name, "source": r.source, "power": r.power, "note": r.note} for r in self.rows]

    def cells(self) -> list[tuple[str, str, str, str, str]]:
        """The table as texts, the headings first; the last column is a note."""
        reference = self[_REFERENCE[self.model.summed]].power or math.nan
        lines = [("theorem", "power", "relative", "source", "")]
        for row in self.rows:
            power = "-" if row.power is None else f"{row.power:.4g}"
            share = "-" if row.power is None else f"{row.power / reference:.3f}"
            lines.append((row.name, power, share, row.source, row.note))
        return lines

    def __str__(self) -> str:
        lines = self.cells()
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        head = f"largest power at (epsilon, delta) = ({self.epsilon:g}, {self.delta:g}), n = {self.n:,}: {self.model}"
        rows = [
            "  ".join([*(c.ljust(w) for c, w in zip(line, widths, strict=False)), line[4]]).rstrip() for line in lines
        ]
        return "\n".join([head, *rows])


def compare(
    model: FamilyOrGibbs,
    n: int,
    epsilon: float,
    delta: float,
    *,
    steps: Iterable[int] = (20, 200),
    persons: Persons | None = None,
) -> Comparison:
    """Return the power that each theorem allows at (epsilon, delta), which apply, and why the others do not.

    For Gibbs models: the exponential mechanism, Minami's Corollary 8 and bound (6), the Renyi curve, the sharp theorem and
    the finite-step theorem at each of `steps`. For conjugate families: Renyi (Geumlek) and the exact profile. `persons` are those
    of the schema: n is then their number, and a family is priced for averages of each person's rows.
    """
    count = _validate.records("n", n)
    terms = terms_of(persons, count)
    target = target_of(epsilon, delta)
    if isinstance(model, LearnedNetwork):
        raise ArgumentError(
            "a learnt table is priced by one theorem, that of its noisy tables: there are no others to compare. sf.price_list "
            "shows what each epsilon buys."
        )
    if getattr(model, "summed", None) not in _REFERENCE or (
        model.summed == TOTALS and (model.bounded or not model.drawn)
    ):
        raise ArgumentError(f"model must be an sf.Gibbs or a conjugate family that is not truncated; got {model!r}.")
    if model.summed == LOSSES:
        rows = _gibbs_rows(model, count, target, [_validate.whole("steps", s) for s in steps])
    else:
        rows = _family_rows(model, count, target, None if terms is None else terms.most)
    return Comparison(model, count, float(epsilon), float(delta), tuple(rows))


def _row(name: str, source: str, find: Callable[[], float], note: str = "") -> Row:
    """Run one search; a hypothesis that fails becomes the row's note instead of an error."""
    try:
        return Row(name, source, find(), note)
    except AssumptionError as error:
        return Row(name, source, None, f"{error.hypothesis} must be {error.required}; got {error.given}")
    except CalibrationError as error:
        return Row(name, source, None, str(error).split(". ")[0])
    except SfumatoError as error:
        return Row(name, source, None, str(error))


def _gibbs_rows(model: Gibbs, n: int, target: Target, steps: list[int]) -> list[Row]:
    at: dict[str, Any] = {
        "epsilon": target.epsilon,
        "delta": target.delta,
        "lipschitz": model.constants.lipschitz,
        "strong_convexity": model.prior.strong_convexity,
        "convex": model.constants.convex,
    }

    def sharp_guarantee(power: float) -> Guarantee:
        """Price of one exact draw at this power."""
        return sharp_price(model, n, power, 1)

    search = partial(largest, target=target, lower=_LOWEST, upper=_HIGHEST, what="power")
    rows = [
        _exponential_row(model, n, target),
        _row("Corollary 8(ii)", "Minami Cor 8", lambda: log_sobolev.corollary_8(**at)),
        _row("bound (6)", "Minami Thm 7", lambda: log_sobolev.largest_power_tail_bound(**at)),
        _row("Renyi curve", "Geumlek Thm 16/17", lambda: _largest_by_renyi(sharp_guarantee, target, _HIGHEST)),
        _row("sharp theorem", "Gopi-Lee-Liu 2022", lambda: search(sharp_guarantee)),
    ]
    for count in steps:

        def chain_price(power: float, count: int = count) -> Guarantee:
            return last_iterate.price(model, n, 1, last_iterate.at(model, n, 1, power, None, count))

        note = f"the chain as it runs: step 1/M, last of {count} iterates, converged or not"
        rows.append(_row(f"finite-step, {count} steps", "Bok-Su-Altschuler 2024", partial(search, chain_price), note))
    return rows


def _exponential_row(model: Gibbs, n: int, target: Target) -> Row:
    name, source = "exponential mechanism", "Minami Thm 4 (pure)"
    reason = exponential.refuses(model, "draws", PROVED)
    if reason is not None:
        return Row(name, source, None, reason)

    def price(power: float) -> Guarantee:
        """The same for every number of points."""
        return lattice.price(model, n, 1, lattice.Parameters(power, 1))

    return _row(name, source, lambda: largest(price, target, _LOWEST, _HIGHEST, "power"))


def _family_rows(model: Family, n: int, target: Target, most: int | None = None) -> list[Row]:
    """The rows of a family; `most` is the most rows of a person that are averaged, None where each record is one row."""
    averaged = most is not None and most > 1
    if averaged and (reason := law.refuses_averages(model, most or 1)):
        return [Row("Renyi curve", "", None, reason), Row("exact profile", "", None, reason)]

    def exact(power: float) -> Guarantee:
        """Price of one draw at this power."""
        return law.price(model, n, 1, law.Parameters(power, 1.0, most=most))

    search = partial(largest, target=target, lower=1e-9, upper=1e3, what="power")
    renyi, profile, note = "Geumlek Alg 2, worst pairs corrected", "certified over all neighbours", ""
    if averaged and isinstance(exact(1e-3).curve, Renyi):
        renyi = profile = persons_of.SOURCE
        note = "no profile is proved for averages of a person's rows: this is the Renyi price"
    rows = [_row("Renyi curve", renyi, lambda: _largest_by_renyi(exact, target, 1e3))]
    claim = model.claim(n)
    if claim.theorem == "beta-bernoulli" and claim.facts["trials"] == 1 and not averaged:
        any_n = partial(conjugate.beta_any_n, alpha=claim.facts["alpha"], beta=claim.facts["beta"])
        rows.append(
            _row("exact profile, any n", "one pair for every n", lambda: search(lambda power: any_n(power=power)))
        )
    return [*rows, _row("exact profile", profile, lambda: search(exact), note)]


def _largest_by_renyi(price: Callable[[float], Guarantee], target: Target, highest: float) -> float:
    """Largest power whose Renyi curve, converted at its best order, stays within epsilon."""
    epsilon, delta = target.epsilon or 0.0, target.delta or 0.0
    low, high = 1e-12, highest

    def fits(power: float) -> bool:
        priced = price(power)
        return minimise_over_orders(lambda a: renyi_to_epsilon(a, priced.renyi(a), delta)) <= epsilon

    if not fits(low):
        raise CalibrationError(f"no power meets the target ({epsilon:g}, {delta:g}) through Renyi orders.")
    while high / low > 1 + 1e-10:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
