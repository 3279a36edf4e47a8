"""The sufficient statistic with Gaussian noise: one charge for any number of draws made from it.

Totals are exact sums; each gets an exact sample of normal noise rounded to a public grid. What follows (totals moved to
where some data set could have them, draws of the posterior that they give, or an estimate) is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import Array, TotalsEngine
from sfumato.errors import FormatError
from sfumato.models.families._normal import Location
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.families.family import Family
from sfumato.models.grouped import Grouped
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import expectations, law, protocol
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.procedures.ranges import within_range
from sfumato.randomness import Randomness
from sfumato.samplers import support
from sfumato.samplers.langevin import Report, silent
from sfumato.samplers.normal import rounded_normals
from sfumato.theorems.gaussian import gaussian_mechanism

NAME = "noisy-totals"
NEEDS = ("totals",)
KEEPS: tuple[str, ...] = ()
# Steps of the public grid per standard deviation of the noise, rounded to a power of two: rounding adds a
# millionth of the noise.
_STEPS = 1 << 20


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """The standard deviation of the noise, in units of the model's sensitivity; where draws are made, their grid's cells.

    `totals` is how many noisy totals are released beside what is computed from them: all of them. Older plans have none, and
    release totals only where the model says so.
    """

    noise: float
    grid: int | None = None
    totals: int | None = None
    positive: ClassVar[tuple[str, ...]] = ("noise",)


def refuses(model: Family) -> str | None:
    """Serve families with a bounded sufficient statistic; a utility has none."""
    if isinstance(model, LearnedNetwork):
        return "which of its tables are counted, and with which noise, is decided by 'noisy-tables'"
    return "it has no posterior that noisy statistics could stand for; use 'exponential'" if model.utility else None


def refuses_averages(model: Family, most: int) -> str | None:
    """Serve averages of a person's rows: the sensitivity bounds a norm of a difference, largest at two single rows."""
    return None


def refuses_weights(model: Family) -> str | None:
    """Serve weighted records where the model counts their weighted size too: then 0 is in the hull that its sensitivity spans."""
    if isinstance(model, HiddenSizes) and model.weighted:
        return None
    return "its totals take every record for a whole one; plan with weight=schema.weight"


def price(model: Family, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """The Gaussian mechanism: mu = 1/noise, since the noise is counted in units of the model's sensitivity.

    The totals are noised once; every draw is computed from them, so `draws` does not change the price.
    """
    if parameters.grid is not None:
        if not (model.drawn and model.priced):
            raise FormatError("a grid is recorded for draws of a posterior whose grid is public; this model has none.")
        model.public_law(n, grid=parameters.grid)  # refuses a size that no grid has
    if parameters.totals is not None and parameters.totals != len(model.units):
        raise FormatError(f"this model has {len(model.units)} totals; the record has {parameters.totals}.")
    return gaussian_mechanism(noise=parameters.noise, draws=draws)


def expected(model: Family, n: int, parameters: Parameters) -> Expected:
    """Width of the draws made from noisy totals; without a posterior, the noise of the estimate itself."""
    deviation = parameters.noise * model.sensitivity
    if model.drawn:
        return expectations.expected(model, n, 1.0, 1.0, deviation)
    own = model.estimate_expectation(n, deviation)
    if own is not None:
        return Expected(**own)
    return Expected("estimate-noise", model.estimate_error(n, deviation), 0.0, model.quantity)


def cost(model: Family, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass: all draws are made from the same noisy totals."""
    return Cost(1)


def spacing(deviation: float) -> Fraction:
    """The public grid of a noisy total: a power of two, about a millionth of the noise."""
    return Fraction(2) ** (math.frexp(deviation / _STEPS)[1] - 1)


def deviation_of(task: Task[Family, Parameters]) -> Fraction:
    """The standard deviation of the noise, in the totals' own units."""
    return Fraction(float(task.parameters.noise)) * Fraction(task.model.sensitivity)


def noisy_totals(task: Task[Family, Parameters], engine: TotalsEngine, randomness: Randomness) -> list[Fraction]:
    """The exact totals with exact rounded normal noise: all that the rest of the procedure sees of the data."""
    deviation = deviation_of(task)
    return rounded_normals(randomness, law.exact_totals(task.model, engine), deviation, spacing(float(deviation)))


def carry_out(
    task: Task[Family, Parameters], engine: TotalsEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Add exact rounded normal noise to the exact totals; what follows is post-processing."""
    model, n = task.model, task.n
    noisy = noisy_totals(task, engine, randomness)
    released = np.array(noisy, dtype=np.float64)
    if not model.drawn:
        # From the totals as they are released, so that a reader computes the same.
        estimates = np.array(model.estimate(list(map(Fraction, released.tolist())), n)).reshape(model.draw_shape)
        draws = Draws(np.broadcast_to(estimates, (1, task.draws, *model.draw_shape)), model.labels)
    else:
        possible = list(map(Fraction, model.feasible(released, n).tolist()))
        draws = law.drawn(model, possible, n, _posterior(task), task.draws, randomness)
    return replace(draws, totals=released) if keeps_totals(task) else draws


def keeps_totals(task: Task[Family, Parameters]) -> bool:
    """Whether the noisy totals are released beside what is computed from them."""
    return task.parameters.totals is not None or task.model.releases_totals


def _posterior(task: Task[Family, Parameters]) -> law.Parameters:
    """The posterior itself, on the recorded grid."""
    return law.Parameters(1.0, 1.0, task.parameters.grid)


# --- verification ----------------------------------------------------------------------------------------------------


def check(task: Task[Family, Parameters], draws: Draws) -> bool:
    """Whether totals lie on their grid where the model releases them, and draws on the grid of the posterior."""
    if draws.transcript is not None or not _totals_fit(task, draws.totals):
        return False
    model, n = task.model, task.n
    if not model.drawn:
        return _estimates_fit(model, n, task.parameters.noise, draws)
    if isinstance(model, HiddenSizes) and not model.priced:
        return _groups_fit(model, n, draws.flat())
    return law.possible(model, n, _posterior(task), draws)


def noisier_before(task: Task[Family, Parameters]) -> bool:
    """Whether the record is of an older version, in which totals by group were noised as if each could move by twice as much."""
    return task.parameters.totals is None and isinstance(task.model, Grouped) and not task.model.priced


def _totals_fit(task: Task[Family, Parameters], totals: Array | None) -> bool:
    """Whether there are noisy totals exactly where they are released, as many as the model has and on their grid."""
    model, kept = task.model, keeps_totals(task)
    if totals is None or not kept:
        return totals is None and not kept
    grid = float(spacing(float(task.parameters.noise) * model.sensitivity))
    return totals.shape == (len(model.units),) and bool(np.isfinite(totals).all()) and support.multiples(totals, grid)


def _groups_fit(model: HiddenSizes, n: int, values: Array) -> bool:
    """Whether each group's draws are possible; its grid follows from its noisy size, which is not released."""
    own = model.model
    parts = np.split(values, len(model.levels), axis=1)
    if isinstance(own, Location) and not all(within_range(own, n, 1.0, 1.0, part, False) for part in parts):
        return False
    inner = own.public_law(n)
    return all(support.in_support(inner, part) for part in parts)


def _estimates_fit(model: Family, n: int, noise: float, draws: Draws) -> bool:
    """Whether estimates come from one set of noisy totals: all draws are the same, and those of the released totals."""
    values = draws.flat()
    if not (values == values[0]).all():
        return False
    if draws.totals is not None:
        return bool((values[0] == model.estimate(list(map(Fraction, draws.totals.tolist())), n)).all())
    # Releases of older versions hold no totals.
    if isinstance(model, BoundedMean):
        return _from_total(model, n, noise, float(values[0, 0]))
    own = model.model if isinstance(model, HiddenSizes) else None
    if isinstance(own, BoundedMean):  # totals are clipped to what a group can have
        return bool(((values >= own.lower) & (values <= own.upper)).all())
    return False


def _from_total(model: BoundedMean, n: int, noise: float, value: float) -> bool:
    """Whether some total on its grid, put through the same exact arithmetic, gives this mean."""
    grid = spacing(float(Fraction(float(noise)) * Fraction(model.sensitivity)))
    low, width = Fraction(model.lower), Fraction(model.upper) - Fraction(model.lower)
    place = round((Fraction(value) - low) * n / width / grid)
    return any(model.estimate([(place + shift) * grid], n) == [value] for shift in (-1, 0, 1))
