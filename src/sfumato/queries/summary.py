"""A release in a few lines: estimates and intervals that include the privacy noise, means, and the promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato._validate import visible
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.schema import Date

WHY_ONE_DRAW = "One draw suffices for an interval: the law of a draw given the records is public, noise included."
WHY_FROM_NOISE = "The interval includes the noise of what was released; the law of that noise is public."
# Rows of a summary that are printed: about a screen.
_SHOWN = 40
# Numbers between these are printed with all digits before the point, as incomes are read.
_LARGE, _LARGEST = 1e5, 1e12


@dataclass(frozen=True, eq=False)
class Summary:
    """Labels with estimates, intervals and means of the draws; prints as a table.

    Estimates and intervals are None where no method exists, with the reason.
    """

    labels: tuple[str, ...]
    kind: str
    means: Array
    estimates: Array | None
    intervals: Array | None
    level: float
    reason: str
    promise: str
    clipping: str = ""
    date: Date | None = None
    counting: Sequence[tuple[str, str]] = ()
    first: str = ""

    def __str__(self) -> str:
        columns = {"": [visible(label) for label in self.labels[:_SHOWN]]}
        if self.intervals is not None and self.estimates is not None:
            columns["estimate"] = [shown(value, self.date) for value in self.estimates[:_SHOWN]]
            ends = self.intervals[:, :_SHOWN].T
            columns[f"{100 * self.level:g} % interval"] = [
                f"{shown(low, self.date)} to {shown(high, self.date)}" for low, high in ends
            ]
        # The average of a path is not centred on the posterior, so it is not shown beside the estimate.
        if self.kind == "draws" or self.intervals is None:
            means = [shown(value, self.date) for value in self.means[:_SHOWN]]
            columns["mean of draws" if self.kind == "draws" else "mean"] = means
        cells = [[name, *values] for name, values in columns.items()]
        widths = [max(len(cell) for cell in column) for column in cells]
        rows = zip(*cells, strict=True)
        lines = [
            "  ".join(
                cell.rjust(w) if place else cell.ljust(w)
                for place, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        if len(self.labels) > _SHOWN:
            lines.append(f"... and {len(self.labels) - _SHOWN} more (release.estimate(), release.interval())")
        why = WHY_ONE_DRAW if self.kind == "draws" else WHY_FROM_NOISE
        reason = why if self.intervals is not None else f"No interval: {self.reason}"
        notes = [("Clipping", self.clipping), *self.counting]
        said = [visible(f"{name}: {note}") for name, note in notes if note]
        head = [self.first] if self.first else []
        return "\n".join([*head, *lines, "", *said, visible(reason), visible(self.promise)])


def summarise(
    draws: Draws,
    kind: str,
    promise: str,
    intervals_of: Callable[[], tuple[Array, Array]],
    level: float = 0.9,
    must: bool = False,
    clipping: str = "",
    date: Date | None = None,
    counting: Sequence[tuple[str, str]] = (),
    first: str = "",
) -> Summary:
    """Means of the draws, with the intervals and the estimates that `intervals_of` computes.

    If `intervals_of` refuses, its reason is kept; with `must` it is raised. `clipping` is the sentence of `models.clipping`,
    `counting` those on how records count, with their headings; `first` is the first line, if any.
    `date` is the column where the numbers are days.
    """
    _validate.between("level", level, 0.0, 1.0)  # a wrong level is an error of the question, no reason for no interval
    means = np.asarray(draws.mean(), dtype=np.float64).ravel()
    reason, ends, middles = "", None, None
    try:
        intervals, estimate = intervals_of()
        ends, middles = intervals.reshape(2, -1), estimate.ravel()
    except ArgumentError as error:
        if must:
            raise
        reason = str(error)
    return Summary(
        draws.labels, kind, means, middles, ends, float(level), reason, promise, clipping, date, counting, first
    )


def shown(value: float, date: Date | None = None) -> str:
    """A number with five digits, or all digits before the point where there are more; days as a date."""
    if date is not None:
        return date.shown(float(value))
    return f"{value:.0f}" if _LARGE <= abs(value) < _LARGEST else f"{value:.5g}"
