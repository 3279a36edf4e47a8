"""How many records each group of a release by group holds: noisy counts, which are part of its price, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.grouped import Grouped
from sfumato.models.reading import model_from_json
from sfumato.queries.shares_by_level import Shares
from sfumato.queries.statistics.protocol import numbers_of


def group_sizes(draws: Draws, plan: Mapping[str, Any], level: float = 0.9) -> Shares:
    """The number of records of each group in the data; the intervals are for these numbers, so sampling plays no part."""
    share, model = _validate.between("level", level, 0.0, 1.0), model_from_json(plan["model"])
    if not isinstance(model, Grouped):
        raise ArgumentError(
            f"group_sizes is for releases by group; this one is of a {getattr(model, 'name', 'model')}."
        )
    if draws.totals is None:
        raise ArgumentError(
            "the sizes of these groups were not released: plan with mechanism='noisy-statistics', which counts them."
        )
    n, rows = int(plan["n"]), draws.totals.reshape(len(model.levels), -1)
    sizes, noise = noisy_sizes(model, rows, n), size_noise(model, numbers_of(plan).noise)
    half = _normal(share) * noise
    ends = (np.clip(np.floor(sizes - half), 0, n), np.clip(np.ceil(sizes + half), 0, n))
    return Shares((model.by,), (tuple(model.levels),), np.clip(np.rint(sizes), 0, n), *ends, share, "records", n)


def noisy_sizes(model: Grouped, rows: Array, n: int) -> Array:
    """The noisy sizes from rows of noisy totals, each moved by the same amount so that they sum to n."""
    noisy = rows.sum(axis=1) if model.counted else rows[:, 0] / float(model.presence)
    return np.asarray(noisy if model.weighted else noisy + (n - noisy.sum()) / len(noisy))


def size_noise(model: Grouped, noise: float) -> float:
    """The deviation of a noisy size after the sizes were made to sum to n; `noise` is that of the plan."""
    cells = len(model.units) // len(model.levels)
    each = math.sqrt(cells) if model.counted else 1 / float(model.presence)
    known = 1.0 if model.weighted else math.sqrt(1 - 1 / len(model.levels))  # sizes without weights sum to n
    return noise * model.sensitivity * each * known


def _normal(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.5 * level))
