"""`sf.plots.schedule`: the schedule of a Langevin plan, and its price had it stopped at any earlier step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.pictures import axes
from sfumato.pictures.description import Axis, Band, Chart, Dots, Line, Mark
from sfumato.plots import _render
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, last_iterate, path
from sfumato.theorems.path import whole_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Numbers of steps at which prices are computed; more would not show on the page.
_POINTS = 120
Price = Callable[[int], Guarantee]


def schedule(plan: Any) -> Figure:
    """Draw mu after t steps of the plan's chain, by both accounts, with step size, momentum and averaged steps.

        whole path:     sqrt(t) G sqrt(h/2), every iterate may leave (and momentum is free)
        last iterate:   the finite-step theorem, at most the price of an exact draw, G/sqrt(m), up to roundings

    A "langevin-path" plan releases an average of iterates, so only the whole path's account is drawn for it. Prices are of all
    draws together; roundings of the steps are charged.
    """
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must come from sf.plan(...); got {type(plan).__name__}.")
    if plan.procedure not in (last_iterate.NAME, path.NAME):
        raise ArgumentError(
            f"this plan ({plan.mechanism}) runs no Langevin chain; plan an sf.Gibbs model with mechanism='langevin' or "
            "'langevin-path'."
        )
    return _render.figure(_picture(plan))


def _picture(plan: Plan) -> Chart:
    """The price after each number of steps by each account, and the plan's own."""
    steps = int(plan["steps"])
    counts = sorted({1 + round((steps - 1) * k / (_POINTS - 1)) for k in range(_POINTS)})
    price = highest = _mu(plan.guarantee)
    marks: list[Mark] = []
    for place, (name, account) in enumerate(_accounts(plan)):
        points = tuple((float(count), _mu(account(count))) for count in counts)
        highest = max(highest, *(value for _, value in points))
        marks.append(Line(points, place if place < 2 else None, name))
    marks += _marks(plan)
    many = "" if plan.draws == 1 else f" of {plan.draws} chains"
    x = _whole(f"steps (passes over {plan.n:,} records)", steps * 1.04 + 0.5)
    y = axes.linear(f"price{many}, mu (Gaussian privacy)", 0.0, 1.4 * highest)
    said = [f"{mark.name} {axes.number(mark.points[-1][1])}" for mark in marks if isinstance(mark, Line)]
    alt = f"Price in mu after {steps:,} steps: {', '.join(said)}; this plan {axes.number(price)}."
    return Chart(_title(dict(plan.parameters)), x, y, tuple(marks), alt, "upper left")


def _whole(name: str, high: float) -> Axis:
    """An axis from 0 with whole numbers."""
    values = [value for value in axes.ticks(0.0, high, 7) if value.is_integer()]
    return Axis(name, 0.0, high, tuple((value, f"{value:,.0f}") for value in values))


def _marks(plan: Plan) -> list[Mark]:
    """The plan's own price, and the steps that are averaged where some are."""
    numbers, price = dict(plan.parameters), _mu(plan.guarantee)
    steps = int(numbers["steps"])
    marks: list[Mark] = [Dots(((float(steps), price),), None, f"this plan: mu = {axes.number(price)}", hollow=True)]
    if "tail" in numbers:
        tail = int(numbers["tail"])
        marks.append(Band(steps - tail + 0.5, steps + 0.5, f"averaged: the last {tail} steps"))
    return marks


def _title(numbers: dict[str, Any]) -> str:
    """The schedule in one line, in the units of the chain."""
    key = "learning_rate" if "learning_rate" in numbers else "step"
    size = f"{key.replace('_', ' ')} {axes.number(numbers[key])}"
    momentum = f"momentum {axes.number(numbers.get('momentum', 0.0))}"
    return f"Schedule: {int(numbers['steps']):,} steps, {size}, {momentum}"


def _accounts(plan: Plan) -> list[tuple[str, Price]]:
    """The accounts that apply to the plan; for an average of iterates only that of the whole path."""
    whole = ("every step counted (whole path)", _path_price(plan))
    if plan.procedure == path.NAME:
        return [whole]
    exact = chains.sharp_price(plan.task.model, plan.n, float(plan["power"]), plan.draws)
    return [whole, ("last iterate alone (finite-step)", _last_price(plan)), ("an exact draw", lambda _: exact)]


def _path_price(plan: Plan) -> Price:
    numbers, model = dict(plan.parameters), plan.task.model
    if plan.procedure == path.NAME:
        noise, momentum = float(numbers["noise"]), float(numbers["momentum"])
        return lambda t: path.price_of_noise(model, plan.n, noise, t, plan.draws, momentum)
    power, step = float(numbers["power"]), float(numbers["step"])
    return lambda t: whole_path(
        difference=model.difference(power),
        step=step,
        steps=t,
        # The run that is drawn here is that of mechanism 'langevin'.
        public_start=True,
        public_schedule=True,
        full_batch=True,
        chains=plan.draws,
        float_error=chains.step_error(model, plan.n, power, step),
    )


def _last_price(plan: Plan) -> Price:
    chain = plan.task

    def price(count: int) -> Guarantee:
        numbers = replace(chain.parameters, steps=count, strength=None)
        return last_iterate.price(chain.model, chain.n, chain.draws, numbers)

    return price


def _mu(guarantee: Guarantee) -> float:
    mu = guarantee.curve.mu
    if mu is None:
        raise ArgumentError(f"the price of this plan is no Gaussian one: {guarantee.curve!r}.")
    return float(mu)
