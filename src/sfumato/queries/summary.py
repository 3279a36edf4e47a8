"""A release in a few lines: estimates with intervals that include the privacy noise, and the promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato._quadrature import Array
from sfumato._validate import visible
from sfumato.queries.at_the_edge import meaning
from sfumato.queries.coefficients import aligned
from sfumato.queries.one_number import Numbers
from sfumato.schema import Date

WHY_ONE_DRAW = "One draw suffices for an interval: the law of a draw given the records is public, noise included."
WHY_FROM_NOISE = "The interval includes the noise of what was released; the law of that noise is public."
# Rows of a summary that are printed: about a screen.
_SHOWN = 40
# Numbers between these are printed with all digits before the point, as incomes are read.
_LARGE, _LARGEST = 1e5, 1e12


@dataclass(frozen=True, eq=False)
class Summary:
    """The numbers of a release with the sentences that belong to them; prints as a table."""

    numbers: Numbers
    kind: str
    promise: str
    clipping: str = ""
    date: Date | None = None
    counting: Sequence[tuple[str, str]] = ()
    first: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the numbers."""
        return self.numbers.labels

    @property
    def estimates(self) -> Array:
        """The estimates; means of the draws where there are no intervals."""
        return self.numbers.estimates

    @property
    def intervals(self) -> Array | None:
        """Lower and upper ends (2, numbers); None where no interval is worked out."""
        return self.numbers.ends

    @property
    def reason(self) -> str:
        """Why there are no intervals."""
        return self.numbers.reason

    def __str__(self) -> str:
        numbers = self.numbers
        lines = [["", numbers.name, *([f"{100 * numbers.level:g} % interval"] if numbers.ends is not None else [])]]
        texts = zip(numbers.labels, numbers.texts(lambda value: shown(value, self.date)), strict=True)
        lines += [[visible(label), *filter(None, each)] for label, each in list(texts)[:_SHOWN]]
        table = aligned(lines)
        if len(self.labels) > _SHOWN:
            table.append(f"... and {len(self.labels) - _SHOWN} more (release.estimate(), release.interval())")
        why = WHY_ONE_DRAW if self.kind == "draws" else WHY_FROM_NOISE
        reason = why if numbers.ends is not None else f"No interval: {self.reason}"
        notes = [("Clipping", self.clipping), *self.counting]
        said = [visible(f"{name}: {note}") for name, note in notes if note]
        head = [self.first] if self.first else []
        means = meaning(numbers.states)
        return "\n".join(
            [*head, *table, "", *([means] if means else []), *said, visible(reason), visible(self.promise)]
        )


def shown(value: float, date: Date | None = None) -> str:
    """A number with five digits, or all digits before the point where there are more; days as a date."""
    if date is not None:
        return date.shown(float(value))
    return f"{value:.0f}" if _LARGE <= abs(value) < _LARGEST else f"{value:.5g}"
