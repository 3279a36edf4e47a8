"""The pictures of a budget: how much is spent and left, and how the spent epsilon grew with each charge."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from sfumato.ledger.account import Account, shown
from sfumato.ledger.units import UNITS
from sfumato.pictures import axes
from sfumato.pictures.description import Axis, Chart, Dots, Line, Mark, Point, Rule
from sfumato.pictures.svg import NARROW, WIDE
from sfumato.shells.ledger_report_state import Budget, minute
from sfumato.shells.ledger_report_times import time_axis

# Two charges closer than this share of the time axis would be drawn as one: four pixels of a picture on a phone.
_CLOSEST = 4 / NARROW
# Dots of more charges than this would hide the line.
_MOST_DOTS = 60
# Pixels of a bar's height.
_HIGH = 22


def timeline(budget: Budget) -> Chart:
    """The spent epsilon after every charge as a step line, and the registered budget as a rule."""
    terms, places, axis = budget.account.terms, positions(budget), _axis(budget)
    points: list[Point] = [(axis.low, 0.0)]
    for place, charge in zip(places, budget.charges, strict=True):
        points += [(place, points[-1][1]), (place, charge.total)]
    points.append((axis.high, points[-1][1]))
    marks: list[Mark] = [Line(tuple(points), 0, "epsilon spent, all charges composed")]
    if len(places) <= _MOST_DOTS:
        marks += _dots(budget, places)
    marks.append(Rule(terms.epsilon, "y", f"the whole budget: epsilon {axes.given(terms.epsilon)}"))
    return Chart(
        f"{budget.name}: epsilon spent over time",
        axis,
        axes.linear(f"epsilon at delta {axes.given(terms.delta)}", 0.0, 1.06 * max(terms.epsilon, budget.spent)),
        tuple(marks),
        _alt(budget),
    )


def _dots(budget: Budget, places: list[float]) -> list[Mark]:
    """A dot for each charge, in another colour where nothing was sealed."""
    pairs = list(zip(places, budget.charges, strict=True))
    sealed = tuple((place, charge.total) for place, charge in pairs if charge.sealed)
    bare = tuple((place, charge.total) for place, charge in pairs if not charge.sealed)
    made: list[Mark] = [Dots(sealed, 0, "a charge with its sealed release")] if sealed else []
    return made + ([Dots(bare, 1, "a charge without a release")] if bare else [])


def by_time(budget: Budget) -> bool:
    """Whether the times can be drawn apart: at least half of the charges are clear of the one before."""
    times = [charge.time.timestamp() for charge in budget.charges]
    if len(times) < 2 or times != sorted(times) or times[0] == times[-1]:
        return False
    length = times[-1] - times[0]
    close = sum(after - before < _CLOSEST * length for before, after in pairwise(times))
    # An hour or less is one sitting: dates would all be the same.
    return length > 3600 and 2 * close <= len(times) - 1


def positions(budget: Budget) -> list[float]:
    """The place of every charge on the horizontal axis: its time, or its number."""
    if by_time(budget):
        return [charge.time.timestamp() for charge in budget.charges]
    return [float(charge.number) for charge in budget.charges]


def _axis(budget: Budget) -> Axis:
    first, last = budget.charges[0].time, budget.charges[-1].time
    if by_time(budget):
        return time_axis(first, last)
    count = len(budget.charges)
    ticks = tuple((value, f"{value:.0f}") for value in axes.ticks(1.0, count + 0.5) if value.is_integer())
    start, end = minute(first), minute(last)
    span = start if start == end else f"{start} to {end}"
    return Axis(f"number of the charge (UTC {span})", 0.0, count + 0.5, ticks)


def _alt(budget: Budget) -> str:
    terms, count = budget.account.terms, len(budget.charges)
    return (
        f"A line that rises with each of {count} charge{'s' * (count != 1)}, from 0 to epsilon {shown(budget.spent)} of "
        f"{axes.given(terms.epsilon)} at delta {axes.given(terms.delta)}. The table of charges has the numbers."
    )


def limits(account: Account) -> list[tuple[str, float]]:
    """(what, spent share) of every sum that the budget limits: the currency's own, and the others where they are in use."""
    listed = [(account.currency.word, account.units)]
    listed += [("reveal probability", account.delta0_units)] if account.delta0_units else []
    listed += [("total variation", account.tv_units)] if account.tv_units else []
    return [(what, units / UNITS) for what, units in listed]


def bar(label: str, spent: float) -> str:
    """A bar whose filled part is the spent share, for wide and for narrow screens; the numbers stand beside it as text."""
    forms = []
    for name, across in (("wide-form", WIDE), ("narrow-form", NARROW)):
        filled = min(max(spent, 0.0), 1.0) * (across - 2)
        forms.append(
            f'<svg class="{name}" viewBox="0 0 {across} {_HIGH}" role="img" aria-label="{escape(label)}">'
            f'<rect class="wash" x="1" y="1" width="{across - 2}" height="{_HIGH - 2}"/>'
            f'<rect class="d0" x="1" y="1" width="{filled:.1f}" height="{_HIGH - 2}"/></svg>'
        )
    return f"<figure>{''.join(forms)}</figure>"
