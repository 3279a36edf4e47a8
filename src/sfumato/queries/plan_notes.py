"""What a plan says before anything is paid about the questions that its release will answer: no intervals, or small cells."""

from __future__ import annotations

import math

from sfumato.models.families.cross_table import CrossTable
from sfumato.models.families.histogram import Histogram
from sfumato.models.networks._tables import Tables
from sfumato.models.reading import FamilyOrGibbs
from sfumato.queries.statistics import network_tables

# The procedure that releases noisy counts.
_COUNTS = "noisy-totals"
# 90 % of a normal law lie within so many deviations: the usual level of an interval.
_HALF_WIDTH = 1.6448536269514722


def notes(model: FamilyOrGibbs, n: int, procedure: str, noise: float | None) -> list[tuple[str, str]]:
    """Lines of a printed plan, each with its heading."""
    if isinstance(model, Tables):
        reason = network_tables.unreadable(model, procedure == _COUNTS)
        return [] if reason is None else [("intervals", f"none. {_capital(reason.removeprefix('no interval: '))}")]
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
    text = f"{model.cells:,} {word}s of {n / model.cells:,.3g} records on average"
    text += f"; the count of one is known to +/- {half:,.3g} (90 %)"
    if half > n / model.cells:
        advice = "fewer columns, levels or bins" if word == "cell" else "fewer bins"
        text += f". That is more than an average {word} holds: take {advice}, or a larger epsilon"
    return [(f"{word}s", text)]


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
