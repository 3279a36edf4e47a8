"""What a plan says before anything is paid about the questions that its release will answer.

No intervals, or of some columns only; cells or groups that are small beside the noise.
"""

from __future__ import annotations

import math

from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.families.cross_table import CrossTable
from sfumato.models.families.histogram import Histogram
from sfumato.models.grouped import Grouped
from sfumato.models.networks._tables import Tables
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.queries.statistics import by_group, network_tables

# The procedure that releases noisy counts.
_COUNTS = "noisy-totals"
# 90 % of a normal law lie within so many deviations: the usual level of an interval.
_HALF_WIDTH = 1.6448536269514722


def notes(model: FamilyOrGibbs, n: int, procedure: str, noise: float | None) -> list[tuple[str, str]]:
    """Lines of a printed plan, each with its heading."""
    if isinstance(model, Tables):
        reason = network_tables.unreadable(model, procedure == _COUNTS)
        return _joint(model) if reason is None else [_none(reason)]
    if isinstance(model, Grouped):
        return _groups(model, n, procedure, noise)
    if isinstance(model, CrossTable | Histogram):
        return _cells(model, n, procedure, noise)
    return []


def _cells(model: CrossTable | Histogram, n: int, procedure: str, noise: float | None) -> list[tuple[str, str]]:
    """The half-width of a cell's count beside the average count, or that margins have no intervals."""
    if procedure != _COUNTS or noise is None:
        return [
            ("intervals", "of the cells' shares alone; counts, margins and quantiles need mechanism='noisy-statistics'")
        ]
    half = _HALF_WIDTH * noise * model.sensitivity * math.sqrt(1 - 1 / model.cells)
    word = "cell" if isinstance(model, CrossTable) else "bin"
    text = f"{model.cells:,} {word}s of {_count(n / model.cells)} records on average"
    text += f"; the count of one is known to +/- {_count(half)} (90 %)"
    if half > n / model.cells:
        advice = "fewer columns, levels or bins" if word == "cell" else "fewer bins"
        text += f". That is more than an average {word} holds: take {advice}, or a larger epsilon"
    return [(f"{word}s", text)]


def _joint(model: Tables) -> list[tuple[str, str]]:
    """The columns that one table of a network counts together: of others a share has no interval."""
    if not isinstance(model, BayesianNetwork):
        return []
    held = [frozenset((*model.above[table.node], table.node)) for table in model.tables]
    largest = [each for each in held if not any(each < other for other in held)]
    if len(largest) < 2:
        return []
    listed = "; ".join(", ".join(name for name in model.sizes if name in each) for each in largest)
    return [
        (
            "intervals",
            f"for columns that one table counts together: {listed}. Other combinations get shares without intervals",
        )
    ]


def _groups(model: Grouped, n: int, procedure: str, noise: float | None) -> list[tuple[str, str]]:
    """How small a group may be: the noise in its share or mean grows as 1/size, and reaches from bound to bound at `least`."""
    reason = by_group.refusal(model)
    if reason is not None:
        return [_none(reason)]
    bounded = isinstance(model.model, BoundedMean)
    if procedure != _COUNTS or noise is None or not (bounded or model._cells):
        return []
    half, groups = _HALF_WIDTH * noise * model.sensitivity, len(model.levels)
    width = model.model.upper - model.model.lower if isinstance(model.model, BoundedMean) else 1.0
    average, least, what = n / groups, 2 * half, "mean" if bounded else "share"
    text = (
        f"{groups:,} groups of {_count(average)} records on average; there the noise in a {what} is up to +/- "
        f"{min(half / average, 1) * width:,.3g} (90 %), in a group of half the size twice as much. A group of fewer than about "
        f"{least:,.0f} records is too small: its interval is nearly as wide as with no data"
    )
    if least > average:
        text += ". That is more than an average group holds: take fewer groups, or a larger epsilon"
    return [("groups", text)]


def _none(reason: str) -> tuple[str, str]:
    return "intervals", f"none. {_capital(reason.removeprefix('no interval: '))}"


def _count(records: float) -> str:
    """A number of records: whole from 100 on, else to three digits."""
    return f"{records:,.0f}" if records >= 100 else f"{records:.3g}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
