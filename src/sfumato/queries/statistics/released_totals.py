"""Statistics that are known through their noisy total, which was released, or else through draws that were made from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families.family import Family
from sfumato.queries.statistics.posterior import CELLS, Statistic, ends_of
from sfumato.queries.statistics.protocol import Ends, Reader, Released, Tails, noisy_tails

# Draws that show where a parameter may be, and their fixed public seed.
_NEARBY, _SEED = 16, 20_260_119


def one_statistic(build: Callable[..., Statistic]) -> Reader:
    """The reader of a family with one coordinate: `build(model, prior, n, numbers, values)` gives its statistic.

    Where the noisy total was released the statistic is read from it, and the draws, which were made from it, say no more.
    """

    def read(model: Family, prior: Family, released: Released) -> Ends:
        if released.totals is None:
            return ends_of([build(model, prior, released.n, released.numbers, released.first[:, 0])])
        return ends_of([behind_total(build, model, prior, released)])

    return read


def behind_total(build: Callable[..., Statistic], model: Family, prior: Family, released: Released) -> Statistic:
    """The statistic of a family whose noisy total was released; of counts also with the total of their squares."""
    total, numbers = np.asarray(released.totals, dtype=np.float64), released.numbers
    natural = model.natural(model.feasible(total, released.n)[None, :], released.n)
    # `build` takes the range of the parameter from draws; these follow from the noisy total alone.
    nearby = model.sketch(np.random.default_rng(_SEED), np.tile(natural, (_NEARBY, 1)))[:, 0]
    squares = {"squares": float(total[1]), "events": float(total[0])} if len(total) > 1 else {}
    statistic = build(model, prior, released.n, numbers, nearby, **squares)
    return noisy(statistic, float(total[0]), numbers.noise * model.sensitivity)


def noisy(statistic: Statistic, value: float, deviation: float) -> Statistic:
    """The same statistic S, known through one value of S + deviation Z with standard normal Z."""

    def log_law(held: Array) -> Array:
        return np.asarray(-0.5 * ((value - held) / deviation) ** 2)

    def tails() -> Tails:
        return noisy_tails(value, statistic.span[1] - value, (deviation, deviation))

    seen = replace(statistic, log_law=log_law, noise=0.0, noisy_below=None, cells=CELLS)
    return replace(seen, tails=tails) if statistic.tails else seen
