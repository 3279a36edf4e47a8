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
from sfumato.plots import _drawing
from sfumato.theorems import metric_finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours of grids and panels of priors that fit one picture.
_MOST_STEPS, _MOST_RATES = 3, 2
# Finer grids look like a curve and only take longer.
_FINEST = 5e-4


def theta_mass(steps: Sequence[float] = (0.2, 0.05), *, rates: Sequence[float] = (0.0, 1.0)) -> Figure:
    """Draw Figure 1: thick, the mass xi(Theta_L); thin, its bound of Assumption 2; a mark at the uniform constant L.

    One colour for each `steps`, the Delta of a grid of Bernoulli parameters; one panel for each `rates`, the prior being
    proportional to exp(-rate l(theta)): 0 is the uniform one (Figure 1a), 1 the one that shuns sensitive parameters (1b). L0
    is the smallest l of the grid, and c the largest that goes with it.
    """
    grids = [_validate.between("steps", step, _FINEST, 0.5) for step in _several("steps", steps, _MOST_STEPS)]
    speeds = [_validate.non_negative("rates", rate) for rate in _several("rates", rates, _MOST_RATES)]
    made, axes = _drawing.figure("Prior mass of parameters with a smooth likelihood", panels=len(speeds))
    constants = [_constants(step) for step in grids]
    right = 1.1 * max(float(grid.max()) for grid in constants)
    lines: list[Any] = []
    for axis, rate in zip(axes, speeds, strict=True):
        lines = [line for k, grid in enumerate(constants) for line in _family(axis, k, grid, rate, right)]
        axis.set_xlim(0, right)
        axis.set_ylim(0, 1.05)
        prior = "uniform prior" if rate == 0 else f"prior ∝ exp(-{'' if rate == 1 else _drawing.number(rate) + ' '}l)"
        _drawing.plain(axis.set_title(prior, fontsize=_drawing.PLAIN))
        _drawing.name_axes(axis, "L (nats per bit changed)", "")
    _drawing.plain(axes[0].set_ylabel("prior mass of l(theta) ≤ L", fontsize=_drawing.PLAIN))
    names = [f"{what}, Δ = {_drawing.number(step)}" for step in grids for what in ("mass", "bound", "largest l")]
    style = {"fontsize": _drawing.SMALL, "handlelength": 2.4, "frameon": False}
    for text in made.legend(lines, names, loc="outside lower center", ncols=len(grids), **style).get_texts():
        _drawing.plain(text)
    return made


def _several(name: str, given: Any, most: int) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not 1 <= len(given) <= most:
        raise ArgumentError(f"{name} must be a list of 1 to {most} numbers; got {given!r}.")
    return list(given)


def _constants(step: float) -> Any:
    """l(theta) on the grid, by enumeration of the two values of a bit."""
    theta = metric_finite.bernoulli_grid(step=step)
    table = np.log(np.stack([1 - theta, theta], axis=1))
    return metric_finite.lipschitz_constants(log_likelihood=table, distances=[[0, 1], [1, 0]])


def _family(axis: Any, place: int, constants: Any, rate: float, right: float) -> list[Any]:
    """The mass as a step function, its bound, and a mark where all of the mass is reached."""
    prior = metric_finite.smooth_prior(constants=constants, rate=rate)
    jumps = np.unique(constants)
    levels = np.concatenate([[0.0], jumps, [right]])
    mass = [metric_finite.smooth_mass(constants=constants, lipschitz=float(level), prior=prior) for level in levels]
    style = _drawing.line_style(place)
    (steps,) = axis.step(levels, mass, where="post", **{**style, "linewidth": 2.6})
    c, start = metric_finite.best_concentration(constants=constants, prior=prior, offset=float(constants.min()))
    beyond = np.linspace(start, right, 200)
    (bound,) = axis.plot(beyond, -np.expm1(-c * (beyond - start)), **{**style, "linewidth": 1.2})
    marker = {"color": style["color"], "markersize": 7, "clip_on": False, "zorder": 3}
    (mark,) = axis.plot([float(constants.max())], [1.0], _drawing.MARKERS[place], **marker)
    return [steps, bound, mark]
