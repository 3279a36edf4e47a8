"""The price that buys an interval of a given width, by simulation from the prior before any record is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import CalibrationError
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.models.model import LOSSES
from sfumato.models.networks._tables import Tables
from sfumato.models.reading import FamilyOrGibbs
from sfumato.queries.statistics.protocol import Numbers, Released, numbers_of
from sfumato.queries.statistics.table import reader_of

# Any fixed public number: the same plan then has the same expected width.
_SEED = 20_260_101
# Simulated releases behind one expected width; most families take their parameters at equal steps of probability.
_RELEASES = 16
# Of tables: the shares over all simulated releases together, and the fewest releases. A share takes some milliseconds.
_SHARES, _FEWEST = 256, 4
# Ratio of the returned epsilon to one that is too small.
_CLOSE = 1.03
# An epsilon and the expected width at it.
Point = tuple[float, float]


def expected_width(plan: Any, level: float, releases: int | None = None) -> float:
    """Mean width of the intervals that releases of this plan will have, over coordinates and over data from the prior.

    Draws are simulated in floats from the planned law; no record is read. A release with many coordinates is itself an average:
    by default about as many intervals are read for every model.
    """
    releases = releases or max(1, round(_RELEASES / max(1, len(getattr(plan.model, "labels", ())))))
    read, numbers = reader_of(plan.model), numbers_of({"parameters": dict(plan.parameters)})
    model = plan.model
    if isinstance(model, DirichletCategorical | Tables):  # many shares of one release say as much as one of many
        releases = min(releases, max(_FEWEST, _SHARES // len(model.units)))
    simulated = _simulated(model, plan.n, numbers, plan.draws, releases)
    ends = (read(plan.model, plan.model, each)(level, True) for each in simulated)
    return float(np.mean([np.mean(high - low) for low, high in ends]))


def _simulated(model: FamilyOrGibbs, n: int, numbers: Numbers, draws: int, releases: int) -> Iterator[Released]:
    """Releases of data from the prior; of a model by group, one group of average size."""
    power, strength, noise, _ = numbers
    if model.summed == LOSSES:  # no rows, no gradients: the reader refuses
        yield Released(n, numbers, np.empty((0, 0)))
        return
    if not model.drawn:  # an estimate has no prior
        yield Released(n, numbers, np.empty((0, 0)), model.widest(n))
        return
    rng = np.random.default_rng(_SEED)
    _, totals = model.simulate(rng, releases, n)
    if noise > 0:
        totals = totals + noise * model.sensitivity * rng.standard_normal(totals.shape)
        yield from (Released(n, numbers, np.empty((0, 0)), row) for row in totals)
        return
    for row in totals:
        natural = model.natural(np.tile(row, (draws, 1)), n, power, strength)
        yield Released(n, numbers, model.sketch(rng, natural))


@dataclass(frozen=True)
class WidthPlan:
    """The cheapest plan whose expected interval is narrow enough, with the prices and widths that were tried."""

    plan: Any
    epsilon: float
    delta: float
    draws: int
    level: float
    width: float
    wanted: float
    tried: tuple[tuple[float, int, float], ...]
    basis: str = "averaged over the prior"

    def __str__(self) -> str:
        lines = [
            f"epsilon {self.epsilon:.4g} at delta {self.delta:g} with {self.draws} draw{'s' * (self.draws > 1)}: "
            f"{100 * self.level:g} % intervals of expected width {self.width:.4g} (asked for {self.wanted:g}), "
            f"{self.basis}",
            f"mechanism {self.plan.mechanism}",
            "tried: " + ", ".join(f"epsilon {e:.3g} x {d}: {w:.3g}" for e, d, w in self.tried),
        ]
        return "\n".join(lines)


def cheapest(
    plan_at: Callable[[float, int], Any],
    width: float,
    level: float,
    delta: float,
    draws: int,
    limits: tuple[float, float],
    width_of: Callable[[Any, float], float] = expected_width,
    basis: str = WidthPlan.basis,
) -> WidthPlan:
    """The smallest epsilon between the limits, to about 3 %, whose expected width is at most `width`.

    The width is simulated with one seed for every price, so it falls with epsilon except for small jumps where the mechanism
    changes; the expected width of the returned plan is itself at most `width`. `width_of(plan, level)` is the expected width,
    and `basis` says in the printed answer what it was computed from.
    """
    tried: list[tuple[float, int, float]] = []

    def at(epsilon: float) -> tuple[Any, float]:
        plan = plan_at(epsilon, draws)
        expected = width_of(plan, level)
        tried.append((epsilon, draws, expected))
        return plan, expected

    low, high = limits
    best, narrow = at(high)
    if narrow > width:
        raise CalibrationError(
            f"at epsilon {high:g} the expected width is still {narrow:.4g}, above {width:g}. Ask for a wider interval, or "
            "plan with more records: part of the width is sampling error, which no price buys off."
        )
    ends = [
        (high, narrow),
        (low, math.nan),
    ]  # the lowest price is tried only where half of the range is more than enough
    replaced: tuple[float, float] | None = None
    probe = math.sqrt(low * high)
    while True:
        plan, seen = at(probe)
        side = 0 if seen <= width else 1
        best, replaced, ends[side] = (best if side else plan), ends[side], (probe, seen)
        (high, narrow), (low, wide) = ends
        if high / low <= _CLOSE:
            break
        probe = low if math.isnan(wide) else _probe(ends[side], ends[1 - side], replaced, width)
    return WidthPlan(best, high, delta, draws, level, narrow, width, tuple(tried), basis)


def _probe(newest: Point, opposite: Point, replaced: Point, width: float) -> float:
    """The next epsilon to try: inverse quadratic interpolation of log widths where it can be trusted, else the middle.

    Chandrupatla (1997) trusts it where three points lie on a curve that is close to straight: the two ends of the bracket and the
    point that the newest of them replaced. A probe keeps a distance from either end, so that both close in.
    """
    (x1, y1), (x2, y2), (x3, y3) = ((math.log(e), _excess(w, width)) for e, w in (newest, opposite, replaced))
    share = 0.5
    if all(map(math.isfinite, (y1, y2, y3))) and len({y1, y2, y3}) == 3:
        place, ratio = (x1 - x2) / (x3 - x2), (y1 - y2) / (y3 - y2)
        if ratio**2 < place and (1 - ratio) ** 2 < 1 - place:
            share = y1 / (y2 - y1) * y3 / (y2 - y3) + (x3 - x1) / (x2 - x1) * y1 / (y3 - y1) * y2 / (y3 - y2)
    apart = 0.3 * math.log(_CLOSE) / abs(x2 - x1)
    share = share + apart if share < 0.5 else share - apart
    return math.exp(x1 + min(max(share, apart), 1 - apart) * (x2 - x1))


def _excess(width: float, wanted: float) -> float:
    """Log of a width over the wanted one; NaN where it is 0, infinite or not known."""
    return math.log(width / wanted) if 0 < width < math.inf else math.nan


def fewest_draws(
    plan_at: Callable[[float, int], Any], width: float, level: float, delta: float, epsilon: float, most: int = 1024
) -> WidthPlan:
    """The fewest draws, among powers of two, whose expected width is at most `width` at one price.

    More draws share the price, so each is noisier: of a tempered posterior a few are best. Intervals of noisy statistics are
    read from the noisy totals, whatever the number of draws.
    """
    tried: list[tuple[float, int, float]] = []
    best: tuple[float, int, Any] | None = None
    draws = 1
    while draws <= most:
        plan = plan_at(epsilon, draws)
        expected = expected_width(plan, level)
        tried.append((epsilon, draws, expected))
        if expected <= width:
            return WidthPlan(plan, epsilon, delta, draws, level, expected, width, tuple(tried))
        if best is None or expected < best[0]:
            best = (expected, draws, plan)
        elif draws >= 4 * best[1]:
            break
        draws *= 2
    narrowest = "none" if best is None else f"{best[0]:.4g} with {best[1]} draws"
    raise CalibrationError(
        f"no number of draws gives a width of {width:g} at epsilon {epsilon:g}; narrowest: {narrowest}."
    )
