"""A release in a few lines: means, intervals that include the privacy noise, and the promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError

WHY_ONE_DRAW = (
    "One draw suffices for an interval: the law of a draw given the hidden statistic is public, so what the noise did can be "
    "reckoned with."
)
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class Summary:
    """Labels with their means and intervals (None where no interval is worked out, with the reason); prints as a table."""

    labels: tuple[str, ...]
    means: Array
    intervals: Array | None
    level: float
    reason: str
    promise: str

    def __str__(self) -> str:
        head = ("", "mean of draws", f"{100 * self.level:g} % interval" if self.intervals is not None else "")
        rows = [head]
        for place, label in enumerate(self.labels[:_SHOWN]):
            ends = "" if self.intervals is None else "{:.5g} to {:.5g}".format(*self.intervals[:, place])
            rows.append((label, f"{self.means[place]:.5g}", ends))
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        lines = [f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]}".rstrip() for row in rows]
        if len(self.labels) > _SHOWN:
            lines.append(f"... and {len(self.labels) - _SHOWN} more (release.mean(), release.interval())")
        told = WHY_ONE_DRAW if self.intervals is not None else f"No interval: {self.reason}"
        return "\n".join([*lines, "", told, self.promise])


def summarise(
    draws: Draws, promise: str, interval: Callable[[], Array], level: float = 0.9, must: bool = False
) -> Summary:
    """Means of the draws beside intervals of the true parameter; where there are none it says why, or raises if it `must`."""
    means = np.asarray(draws.mean(), dtype=np.float64).ravel()
    reason, found = "", None
    try:
        found = interval().reshape(2, -1)
    except ArgumentError as error:
        if must:
            raise
        reason = str(error)
    return Summary(draws.labels, means, found, float(level), reason, promise)
