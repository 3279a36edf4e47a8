"""`sf.plots.theta_mass`: how much of a prior lies on parameters whose likelihood is smooth (Figure 1 of Dimitrakakis).

For bits with parameters on a grid of step Delta, l(theta) = |log(theta/(1-theta))|, and xi(Theta_L) is the prior mass of
{theta : l(theta) <= L}. Assumption 2 asks for c and L0 with xi(Theta_L) >= 1 - exp(-c (L - L0)) for every L >= L0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.pictures import axes
from sfumato.pictures.description import Chart, Dots, Line, Mark, Panels
from sfumato.plots import _render
from sfumato.theorems import metric_finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours of grids and panels of priors that fit one picture.
_MOST_STEPS, _MOST_RATES = 3, 2
# Finer grids look like a curve and only take longer.
_FINEST = 5e-4
# Widths of the mass and of its bound.
_THICK, _THIN = 2.6, 1.2
_MASS = "prior mass of l(theta) ≤ L"


def theta_mass(steps: Sequence[float] = (0.2, 0.05), *, rates: Sequence[float] = (0.0, 1.0)) -> Figure:
    """Draw Figure 1: thick, the mass xi(Theta_L); thin, its bound of Assumption 2; a mark at the uniform constant L.

    One colour for each `steps`, the Delta of a grid of Bernoulli parameters; one panel for each `rates`, the prior being
    proportional to exp(-rate l(theta)): 0 is the uniform one (Figure 1a), 1 the one that shuns sensitive parameters (1b). L0
    is the smallest l of the grid, and c the largest that goes with it.
    """
    grids = [_validate.between("steps", step, _FINEST, 0.5) for step in _several("steps", steps, _MOST_STEPS)]
    speeds = [_validate.non_negative("rates", rate) for rate in _several("rates", rates, _MOST_RATES)]
    return _render.figure(_picture(grids, speeds))


def _picture(steps: list[float], rates: list[float]) -> Panels:
    """A panel for each prior, with three marks for each grid."""
    constants = [_constants(step) for step in steps]
    right = 1.1 * max(float(grid.max()) for grid in constants)
    charts = []
    for rate in rates:
        marks = [m for k, grid in enumerate(constants) for m in _family(k, steps[k], grid, rate, right)]
        prior = "uniform prior" if rate == 0 else f"prior ∝ exp(-{'' if rate == 1 else axes.number(rate) + ' '}l)"
        x, y = axes.linear("L (nats per bit changed)", 0.0, right), axes.linear(_MASS, 0.0, 1.05)
        charts.append(Chart(prior, x, y, tuple(marks), f"Steps that rise to 1, and their bound below them, {prior}."))
    largest = ", ".join(
        f"{axes.number(float(g.max()))} for step {axes.number(s)}" for s, g in zip(steps, constants, strict=True)
    )
    alt = f"The prior mass of parameters with l(theta) at most L rises to 1 at the largest l: {largest}."
    return Panels("Prior mass of parameters with a smooth likelihood", tuple(charts), alt)


def _several(name: str, given: Any, most: int) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not 1 <= len(given) <= most:
        raise ArgumentError(f"{name} must be a list of 1 to {most} numbers; got {given!r}.")
    return list(given)


def _constants(step: float) -> Any:
    """l(theta) on the grid, by enumeration of the two values of a bit."""
    theta = metric_finite.bernoulli_grid(step=step)
    table = np.log(np.stack([1 - theta, theta], axis=1))
    return metric_finite.lipschitz_constants(log_likelihood=table, distances=[[0, 1], [1, 0]])


def _family(place: int, step: float, constants: Any, rate: float, right: float) -> list[Mark]:
    """The mass as a step function, its bound, and a mark where all of the mass is reached."""
    prior = metric_finite.smooth_prior(constants=constants, rate=rate)
    stairs = [(0.0, metric_finite.smooth_mass(constants=constants, lipschitz=0.0, prior=prior))]
    for level in np.unique(constants).tolist():
        reached = metric_finite.smooth_mass(constants=constants, lipschitz=level, prior=prior)
        stairs += [(level, stairs[-1][1]), (level, reached)]
    stairs.append((right, stairs[-1][1]))
    c, start = metric_finite.best_concentration(constants=constants, prior=prior, offset=float(constants.min()))
    beyond = np.linspace(start, right, 200)
    bound = tuple(zip(beyond.tolist(), (-np.expm1(-c * (beyond - start))).tolist(), strict=True))
    grid = f"Δ = {axes.number(step)}"
    return [
        Line(tuple(stairs), place, f"mass, {grid}", _THICK),
        Line(bound, place, f"bound, {grid}", _THIN),
        Dots(((float(constants.max()), 1.0),), place, f"largest l, {grid}"),
    ]
