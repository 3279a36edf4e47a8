"""`sf.plan`, `sf.price_list` and `sf.plan_for_width`: from a model, n and a price to a plan. Pure: no data, no randomness."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

from sfumato import _validate
from sfumato._shown import Shown
from sfumato.calibrate import target_of
from sfumato.errors import ArgumentError, CalibrationError, SfumatoError
from sfumato.mechanisms import divergence_of, plan_with
from sfumato.mechanisms.plan import GOALS, Plan
from sfumato.mechanisms.protocol import CONVERGED, PROVED, Request
from sfumato.models.clipping import clipping_of
from sfumato.models.families.family import Family
from sfumato.models.model import LOSSES, TOTALS, Model
from sfumato.models.reading import FamilyOrGibbs
from sfumato.models.weighted import weighted_form
from sfumato.models.whose_rows import many_records
from sfumato.privacy import weakness
from sfumato.privacy.curves import Curve
from sfumato.progress import while_waiting
from sfumato.queries.interval_widths import WidthPlan, cheapest, fewest_draws
from sfumato.schema import Persons, Schema, Weight
from sfumato.schema.persons import terms_of

KEEPABLE = ("transcript", "scores")
# Accepted values of `trust`.
TRUSTED = (PROVED, CONVERGED)
# One GiB of float64. A release, and the transcript it may keep, are held in memory and in one file.
MOST_NUMBERS = 2**27
# A step is a pass over the records; usual paths have 128 to 1,000 of them.
MOST_STEPS = 1_000_000
# Each price of a list is planned anew, which can take seconds.
MOST_PRICES = 100
# The mechanism whose price and law do not depend on the number of draws.
_ANY_NUMBER = "noisy-statistics"
_HELD = "a release is held in memory and in one file of at most 1 GiB"


def plan(
    model: FamilyOrGibbs,
    n: int,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    target: Curve | None = None,
    mechanism: str = "auto",
    draws: int = 1,
    goal: str | None = None,
    keep: Sequence[str] = (),
    steps: int | None = None,
    trust: str = "proved",
    persons: Persons | None = None,
    weight: Weight | None = None,
    allow_weak: bool = False,
) -> Plan:
    """Plan a release of `model` fitted to `n` records at a price fixed beforehand.

    Give exactly one of (epsilon, delta) and `target`, a curve: `sf.Renyi([2], [0.5])` is Geumlek's (2, 0.5)-RDP. For
    mechanism "exact" the target may be left out: then the plan holds the price of the true posterior. The price is for all
    draws together; `goal` is "draws" or "estimate", by default what the model releases; `steps` fixes the length of a
    Langevin chain. `trust` is "proved", slack included; "assumes converged" plans "exponential" or "exact" draws of a Gibbs model
    at their exact price by a chain that no theorem certifies; every printed form includes that. `persons` are those of the
    schema (schema.persons): n is then their public number, and the price is that of one person with all of their rows. `weight` is
    the schema's survey weight (schema.weight). A delta of 1/(10 n) or more and an epsilon above 50 are refused without
    `allow_weak`, which every printed form of the promise then states.
    """
    records = _validate.records("n", n)
    terms = terms_of(persons, records)
    number = _validate.whole("draws", draws, maximum=MOST_NUMBERS, why=_HELD)
    if not isinstance(mechanism, str):
        raise ArgumentError(f"mechanism must be a name such as 'auto'; got {_validate.shown(mechanism)}.")
    if goal is not None:
        _validate.one_of("goal", goal, GOALS)
    _validate.one_of("trust", trust, TRUSTED)
    for name in keep:
        _validate.one_of("keep", name, KEEPABLE)
    if getattr(model, "summed", None) not in (TOTALS, LOSSES):
        raise ArgumentError(
            f"model must be a model such as sf.Gibbs(...) or sf.families.BetaBernoulli(...); got {model!r}."
        )
    if weight is not None:
        if not isinstance(weight, Weight):
            raise ArgumentError(f"weight must be an sf.Weight, that of the schema: schema.weight; got {weight!r}.")
        model = weighted_form(model)
    wanted = model.goal if goal is None else goal
    if mechanism == "exact" and epsilon is None and delta is None and target is None:
        limit, weak = None, False
    else:
        limit = target_of(epsilon, delta, target)
        weak = weakness.allowed(limit.weakness(records, many_records(terms)), allow_weak)
    length = None
    if steps is not None:
        length = _validate.whole("steps", steps, maximum=MOST_STEPS, why="each is a pass over all records")
    _check_size(model, number, (length or 1) if keep else 1)
    try:
        with while_waiting("planning"):
            request = Request(model, records, limit, number, wanted, tuple(keep), length, trust, terms, weight)
            planned = plan_with(mechanism, request)
            if limit is None:  # whatever the posterior costs was asked for, and is marked
                weak = weakness.needed(None, planned.guarantee, records)
            planned = replace(planned, guarantee=replace(planned.guarantee, weak=weak))
        json.dumps(planned.to_json(), allow_nan=False)  # a plan whose numbers overflowed has no digest
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, SfumatoError):
            raise
        raise CalibrationError(
            f"the numbers of {model} with n = {records:,} and {number:,} draws are too large or too small to be priced in float64. "
            "Declare bounds and prior numbers of a usual size."
        ) from error
    return planned


def _check_size(model: Model, draws: int, steps: int) -> None:
    """Refuse a release of more numbers than are ever held, before any of them is allocated."""
    each = model.size or 1
    if each * draws * steps > MOST_NUMBERS:
        kept = f" and {steps:,} steps kept" if steps > 1 else ""
        raise ArgumentError(
            f"{draws:,} draws of {each:,} numbers each{kept} make more than {MOST_NUMBERS:,} numbers: {_HELD}. Ask for fewer "
            "draws, or for a model with fewer levels, bins or coefficients."
        )


@dataclass(frozen=True)
class PriceList(Shown):
    """One plan per epsilon, or None and the reason; prints as a table and iterates as plans."""

    epsilons: tuple[float, ...]
    delta: float
    plans: tuple[Plan | None, ...]
    reasons: tuple[str, ...]

    def __iter__(self) -> Any:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def cells(self) -> list[tuple[str, str, str, str, str]]:
        """The table as texts, the headings first."""
        rows = [("epsilon", "mechanism", "power", "mu", "expected")]
        for epsilon, planned, reason in zip(self.epsilons, self.plans, self.reasons, strict=True):
            if planned is None:
                rows.append((f"{epsilon:g}", "none", "", "", reason))
                continue
            names = dict(planned.parameters)
            mu = planned.guarantee.curve.mu
            shown = "-" if mu is None else f"{mu:.4g}"
            power = f"{names['power']:.4g}" if "power" in names else "-"
            rows.append((f"{epsilon:g}", planned.mechanism, power, shown, str(planned.outlook)))
        return rows

    def __str__(self) -> str:
        rows = self.cells()
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [
            "  ".join([c.rjust(w) for c, w in zip(row[:4], widths, strict=True)] + [row[4]]).rstrip() for row in rows
        ]
        clipping = next((clipping_of(planned.model) for planned in self.plans if planned is not None), "")
        return "\n".join([f"price list at delta = {self.delta:g}", *lines, *([clipping] if clipping else [])])


def price_list(
    model: FamilyOrGibbs,
    n: int,
    epsilons: Iterable[float],
    delta: float,
    *,
    mechanism: str = "auto",
    draws: int = 1,
    goal: str | None = None,
    persons: Persons | None = None,
    weight: Weight | None = None,
    allow_weak: bool = False,
) -> PriceList:
    """Return what each epsilon buys: one plan per epsilon at the same delta."""

    def at(epsilon: float) -> Plan:
        whose = {"persons": persons, "weight": weight, "allow_weak": allow_weak}
        return plan(model, n, epsilon, delta, mechanism=mechanism, draws=draws, goal=goal, **whose)  # type: ignore[arg-type]

    return priced(at, epsilons, delta)


def priced(at: Callable[[float], Plan], epsilons: Iterable[float], delta: float) -> PriceList:
    """The price list of `at(epsilon)`, with the reason beside each epsilon that cannot be planned."""
    levels = tuple(_validate.positive("epsilons", e) for e in islice(epsilons, MOST_PRICES + 1))
    if len(levels) > MOST_PRICES:
        raise ArgumentError(f"epsilons must be at most {MOST_PRICES}: each is planned anew, which can take seconds.")
    _validate.probability("delta", delta)
    plans: list[Plan | None] = []
    reasons: list[str] = []
    with while_waiting("planning", "price") as report:
        for place, epsilon in enumerate(levels, 1):
            report(place, len(levels))
            try:
                plans.append(at(epsilon))
                reasons.append("")
            except CalibrationError as error:
                plans.append(None)
                reasons.append(str(error))
    return PriceList(levels, float(delta), tuple(plans), tuple(reasons))


def plan_for_width(
    model: FamilyOrGibbs,
    n: int,
    width: float,
    level: float = 0.9,
    *,
    epsilon: float | None = None,
    delta: float = 1e-6,
    draws: int | None = 1,
    mechanism: str = "auto",
    epsilons: tuple[float, float] = (0.01, 20.0),
    schema: Schema | None = None,
    rows: object = None,
    coefficient: str | None = None,
    persons: Persons | None = None,
) -> WidthPlan:
    """The cheapest release whose intervals (privacy and sampling) are expected to be at most `width` wide, from the prior.

    Without `epsilon` the smallest epsilon in the range `epsilons` is searched for this number of `draws`; with `epsilon` and
    `draws=None` the fewest draws that do, among powers of two. The answer holds the plan as `.plan`. No record is read.

    A regression needs its `schema`; `rows` are facts or public rows (`rehearsing.expected_rows`), and the width is that of
    `coefficient`, or of the widest. `persons` are those of the schema, as for `sf.plan`; a regression's come with its schema.
    """
    wanted, share = _validate.positive("width", width), _validate.between("level", level, 0.0, 1.0)
    if model.summed == LOSSES:
        from sfumato.rehearsing.width_of_plans import cheapest_regression

        if schema is None:
            raise ArgumentError(
                "the widths of a regression depend on its rows: give schema=, and rows= if more is known."
            )
        if epsilon is not None or draws != 1:
            raise ArgumentError("a regression is released as one estimate: leave epsilon out and draws at 1.")
        low, high = (_validate.positive("epsilons", value) for value in epsilons)
        keep = ("transcript",) if mechanism == "langevin-path" else ()
        whose = schema.persons if persons is None else persons

        def estimate(price: float, _: int) -> Plan:
            return plan(model, n, price, delta, mechanism=mechanism, goal="estimate", keep=keep, persons=whose)

        with _counted(estimate) as counted:
            return cheapest_regression(counted, wanted, share, delta, (low, high), schema, rows, coefficient)
    if not (schema is None and rows is None and coefficient is None):
        raise ArgumentError("schema, rows and coefficient are for regressions (sf.Gibbs); leave them out.")

    kept = [mechanism]

    def at(price: float, number: int) -> Plan:
        """The plan at this price. Where more and more draws are tried, noisy totals stay the best once they are.

        Their law is the same for any number of draws, while draws that share a price are each farther from the posterior.
        """
        planned = plan(model, n, price, delta, mechanism=kept[-1], draws=number, goal=model.goal, persons=persons)
        if draws is None and getattr(planned, "mechanism", "") == _ANY_NUMBER:
            kept.append(_ANY_NUMBER)
        return planned

    if (epsilon is None) == (draws is None):
        raise ArgumentError(
            "give draws to find the smallest epsilon, or epsilon and draws=None to find how many draws."
        )
    with _counted(at) as counted:
        if draws is None:
            return fewest_draws(counted, wanted, share, delta, _validate.positive("epsilon", epsilon))
        low, high = (_validate.positive("epsilons", value) for value in epsilons)
        return cheapest(counted, wanted, share, delta, _validate.whole("draws", draws), (low, high))


@contextmanager
def _counted(at: Callable[[float, int], Plan]) -> Iterator[Callable[[float, int], Plan]]:
    """The function with a line of progress that says how many plans it has made."""
    with while_waiting("searching for the width", "plan") as report:
        calls = count(1)

        def counted(price: float, draws: int) -> Plan:
            """The same plan, counted."""
            report(next(calls), 0)
            return at(price, draws)

        yield counted


def divergence_curve(
    model: Family, n: int, epsilons: Iterable[float], delta: float, **options: Any
) -> list[tuple[float, float]]:
    """Expected KL of the posterior without privacy from what is released, for each epsilon that can be planned."""
    prices = price_list(model, n, epsilons, delta, **options)
    planned = zip(prices.epsilons, prices.plans, strict=True)
    return [(epsilon, divergence_of(model, plan)) for epsilon, plan in planned if plan is not None]
