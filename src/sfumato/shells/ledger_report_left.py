"""What is left of a budget, and what it would buy: public numbers alone, by the arithmetic that admits the charges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.ledger.account import Account, Price
from sfumato.ledger.units import UNITS
from sfumato.models.families import BetaBernoulli, DirichletCategorical
from sfumato.planning import plan
from sfumato.privacy.curves import Curve
from sfumato.privacy.sharing import share
from sfumato.queries.interval_widths import expected_width
from sfumato.schema import Persons
from sfumato.schema.persons import FIRST
from sfumato.shells.ledger_report_state import Charge

# Records of the examples where the ledger holds no release, and so no number of records.
USUAL = 1_000
# Cells of the histogram in the examples: an age in decades, say.
CELLS = 10
# The smaller of the two amounts that the examples spend is this part of what is left.
PART = 10
# The level of the intervals, that of `Release.interval` by default.
LEVEL = 0.9
# An interval whose half-width is this part of an average share, or more, is worth no charge.
USELESS = 0.5
# Plans whose repetitions are counted: the newest ones.
PLANS = 5


@dataclass(frozen=True)
class Example:
    """One possible release, and the half-width of its intervals with all that is left and with a part; "" where none fits."""

    what: str
    whole: str
    part: str


def examples(account: Account, n: int) -> list[Example]:
    """A rate and a histogram of n records, planned for what is left; none where nothing that is left would pay for one."""
    if account.units >= UNITS:
        return []
    models = (
        ("one rate, such as the share of a yes", BetaBernoulli(alpha=1.0, beta=1.0), 2),
        (
            f"a histogram of {CELLS} cells: each share",
            DirichletCategorical([str(cell) for cell in range(CELLS)]),
            CELLS,
        ),
    )
    whole = account.remaining()
    part = share(whole, PART)[0]
    made = [
        Example(what, *(_half_width(model, n, cells, curve, account) for curve in (whole, part)))
        for what, model, cells in models
    ]
    return [each for each in made if each.whole]


def _half_width(model: Any, n: int, cells: int, target: Curve, account: Account) -> str:
    """The expected half-width of the intervals of a plan for this target; "" where it is useless or not admitted."""
    try:
        # Of persons with several rows any rule has the same noise.
        persons = None if account.terms.id_column is None else Persons(account.terms.id_column, rule=FIRST, count=n)
        weak = account.terms.allow_weak
        planned = plan(model, n, target=target, mechanism="noisy-statistics", persons=persons, allow_weak=weak)
        price = account.price(replace(planned.guarantee, unit=account.terms.unit))
    except SfumatoError:
        return ""
    if not account.admits(price):
        return ""
    # Rounded up: no release is advertised as more accurate than it is expected to be.
    half = expected_width(planned, LEVEL) / 2
    if half >= USELESS / cells:
        return ""
    return f"± {float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(half))):g}"


def times_left(account: Account, price: Price) -> int:
    """The largest k such that k more charges of this price are admitted one after another.

    The account admits a charge while three sums of whole numbers stay within UNITS, so k is the smallest of three quotients.
    """
    sums = (
        (account.units, price.units),
        (account.delta0_units, price.delta0_units),
        (account.tv_units, price.tv_units),
    )
    return min((UNITS - spent) // each for spent, each in sums if each)


def newest_plans(charges: Sequence[Charge]) -> list[Charge]:
    """The newest charge of each plan, at most PLANS of them, newest first."""
    kept: dict[str, Charge] = {}
    for charge in reversed(charges):
        kept.setdefault(charge.receipt.plan_digest or f"request {charge.entry.request_id}", charge)
    return list(kept.values())[:PLANS]
