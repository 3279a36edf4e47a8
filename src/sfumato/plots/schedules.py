"""`sf.plots.schedule`: the schedule of a Langevin plan, and its price had it stopped at any earlier step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.plots import _drawing
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
    numbers, steps = dict(plan.parameters), int(plan["steps"])
    counts = sorted({1 + round((steps - 1) * k / (_POINTS - 1)) for k in range(_POINTS)})
    made, (axis,) = _drawing.figure(_title(numbers))
    drawn: list[tuple[Any, str]] = []
    highest = _mu(plan.guarantee)
    for place, (name, account) in enumerate(_accounts(plan)):
        style = _drawing.line_style(place) if place < 2 else _drawing.DOTTED
        prices = [_mu(account(count)) for count in counts]
        highest = max(highest, *prices)
        drawn += [(line, name) for line in axis.plot(counts, prices, **style)]
    drawn += _marks(axis, plan)
    axis.set_xlim(0, steps * 1.04 + 0.5)
    axis.set_ylim(0, 1.4 * highest)
    axis.locator_params(axis="x", integer=True, nbins=7)
    many = "" if plan.draws == 1 else f" of {plan.draws} chains"
    _drawing.name_axes(axis, f"steps (passes over {plan.n:,} records)", f"price{many}, mu (Gaussian privacy)")
    lines, names = zip(*drawn, strict=True)
    _drawing.legend(axis, lines, names, "upper left")
    return made


def _marks(axis: Any, plan: Plan) -> list[tuple[Any, str]]:
    """The plan's own price, and the steps that are averaged where some are."""
    numbers, price = dict(plan.parameters), _mu(plan.guarantee)
    steps = int(numbers["steps"])
    hollow = {"color": "black", "markerfacecolor": "white", "markersize": 8, "clip_on": False, "zorder": 4}
    (point,) = axis.plot([steps], [price], "o", **hollow)
    marks = [(point, f"this plan: mu = {_drawing.number(price)}")]
    if "tail" in numbers:
        tail = int(numbers["tail"])
        span = axis.axvspan(steps - tail + 0.5, steps + 0.5, color="#E8E8E8", zorder=0)
        marks.append((span, f"averaged: the last {tail} steps"))
    return marks


def _title(numbers: dict[str, Any]) -> str:
    """The schedule in one line, in the units of the chain."""
    key = "learning_rate" if "learning_rate" in numbers else "step"
    size = f"{key.replace('_', ' ')} {_drawing.number(numbers[key])}"
    momentum = f"momentum {_drawing.number(numbers.get('momentum', 0.0))}"
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
