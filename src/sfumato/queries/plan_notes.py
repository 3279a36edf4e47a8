"""What a plan says before anything is paid about the questions that its release will answer.

No intervals, or of some columns only; cells or groups that are small beside the noise.
"""

from __future__ import annotations

import math

from sfumato.errors import ArgumentError
from sfumato.models.families.cross_table import CrossTable
from sfumato.models.families.histogram import Histogram
from sfumato.models.grouped import Grouped
from sfumato.models.model import LOSSES
from sfumato.models.networks._tables import Tables
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.queries.group_sizes import size_noise
from sfumato.queries.statistics import network_tables
from sfumato.queries.statistics.table import reader_of

# The procedure that releases noisy counts.
_COUNTS = "noisy-totals"
# 90 % of a normal law lie within so many deviations: the usual level of an interval.
_HALF_WIDTH = 1.6448536269514722
# An interval that is half as wide as all possible values says little: a half-width of a quarter of them.
_LITTLE = 0.25
# Of draws of a rate without noisy totals.
_POISSON = (
    "an interval is one for Poisson counts: draws do not show how far counts spread, and where they spread more it holds their "
    "mean less often than it says (mechanism='noisy-statistics' releases the spread)"
)


def notes(model: FamilyOrGibbs, n: int, procedure: str, noise: float | None) -> list[tuple[str, str]]:
    """Lines of a printed plan, each with its heading."""
    if isinstance(model, Tables):
        reason = network_tables.unreadable(model, procedure == _COUNTS)
        return _joint(model) if reason is None else [_none(reason)]
    if isinstance(model, CrossTable | Histogram):
        return _cells(model, n, procedure, noise)
    if model.summed == LOSSES:  # what its intervals will be depends on the rows (`rehearsing`)
        return []
    try:
        reader_of(model)
    except ArgumentError as error:
        return [_none(str(error))]
    if said := of_poisson_counts(model, procedure):
        return [("intervals", said)]
    return _groups(model, n, noise) if isinstance(model, Grouped) and procedure == _COUNTS and noise is not None else []


def of_poisson_counts(model: FamilyOrGibbs, procedure: str) -> str:
    """For whom the intervals are where noisy totals would show how far records spread, and are not released; else ""."""
    return _POISSON if procedure != _COUNTS and getattr(model, "shows_spread", False) else ""


def _groups(model: Grouped, n: int, noise: float) -> list[tuple[str, str]]:
    """How well the size of a group will be known, and below which size little is said of its parameter."""
    half, average = _HALF_WIDTH * size_noise(model, noise), n / len(model.levels)
    # Of a group of this size the noise alone makes an interval half as wide as all possible values, whatever the model: its totals
    # move by the noise times what one record can hold.
    least = math.ceil(_HALF_WIDTH * noise / _LITTLE)
    text = f"{len(model.levels):,} of {_count(average)} records on average"
    text += f"; the number of records of one is known to +/- {half:,.3g} (90 %)"
    text += f". Groups of fewer than about {least:,} records have intervals wider than half of all possible values"
    if average < least:
        text += ": take fewer groups, or a larger epsilon"
    return [("groups", text)]


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


def _none(reason: str) -> tuple[str, str]:
    return "intervals", f"none. {_capital(reason.removeprefix('no interval: '))}"


def _count(records: float) -> str:
    """A number of records, without digits that say nothing."""
    return f"{records:,.0f}" if records >= 10 else f"{records:.2g}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
