"""The column type of dates between declared bounds, stored as days since 1970-01-01."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.schema.date_format import day_reader, iso_day
from sfumato.schema.missing_codes import read_codes
from sfumato.schema.number import Number
from sfumato.schema.texts import DECLARE

if TYPE_CHECKING:
    from sfumato.schema.encoding import Dates, Encoded, Plain

# The ordinal of the date from which days are counted: that of Unix and of numpy.
EPOCH = datetime.date(1970, 1, 1).toordinal()
# Days of 0001-01-01 and 9999-12-31, beyond which Python has no dates.
FIRST, LAST = 1 - EPOCH, datetime.date.max.toordinal() - EPOCH


@dataclass(frozen=True, init=False, repr=False)
class Date(Number):
    """A date in [lower, upper], stored as days since 1970-01-01: a whole Number, for every model.

    lower, upper and missing are dates (`datetime.date`, or texts such as "2020-01-31"); `missing` is by default the middle.
    A text is read by `format`, with the directives %Y %y %m %d %j %b %B %H %I %M %S %f %p %z; months are English names, what the
    format leaves out is the first (the month of %Y-%m is its first day), and after the default format a time may follow.
    Python's dates, numpy's datetime64 and Arrow's dates and timestamps are read as they are. The time of day and the time zone
    are dropped: the date is the one that is written. A number is days since 1970-01-01, or where the format is %Y%m%d, %d%m%Y or
    %m%d%Y and the number has seven or eight digits, the date that its digits spell. Everything else (2020-02-30, an empty cell,
    year 0) is missing, and dates outside the bounds are clipped to the nearer one.
    """

    format: str = "%Y-%m-%d"
    kind = "date"
    facts = ("lower", "upper", "missing", "format", "missing_codes")

    def __init__(
        self,
        lower: datetime.date | str | None = None,
        upper: datetime.date | str | None = None,
        format: str = "%Y-%m-%d",
        missing: datetime.date | str | None = None,
        missing_codes: Any = (),
    ) -> None:
        """Refuse bounds that are absent, no dates, or in the wrong order, and a format that gives no year."""
        for name, bound in (("lower", lower), ("upper", upper)):
            if bound is None:
                raise ArgumentError(f"Date needs {name}: {DECLARE.format('a public date')}")
        low, high = _day("lower", lower), _day("upper", upper)
        if low >= high:
            raise ArgumentError(f"Date: lower must be before upper; got {_shown(low)} and {_shown(high)}.")
        fill = (low + high) // 2 if missing is None else _day("missing", missing)
        if not low <= fill <= high:
            raise ArgumentError(f"Date: missing must lie between {_shown(low)} and {_shown(high)}; got {_shown(fill)}.")
        day_reader(format)  # refuses a format that cannot be read
        vars(self).update(lower=float(low), upper=float(high), missing=float(fill), integer=True)
        vars(self).update(format=format, missing_codes=read_codes("Date", missing_codes))

    def to_json(self) -> dict[str, Any]:
        """Every fact; dates as texts."""
        facts: dict[str, Any] = {"type": self.kind, "lower": self.shown(self.lower), "upper": self.shown(self.upper)}
        facts |= {"missing": self.shown(self.missing), "format": self.format}
        return {**facts, "missing_codes": list(self.missing_codes)} if self.missing_codes else facts

    def __repr__(self) -> str:
        shown = [f"{self.shown(self.lower)!r}, {self.shown(self.upper)!r}"]
        shown += [f"format={self.format!r}"] if self.format != "%Y-%m-%d" else []
        shown += [f"missing={self.shown(self.missing)!r}"]
        shown += [f"missing_codes={list(self.missing_codes)!r}"] if self.missing_codes else []
        return f"Date({', '.join(shown)})"

    def edge(self, given: Any, what: str = "an edge of bins") -> Any:
        """A date as its number of days; days as they are."""
        return float(_day(what, given)) if isinstance(given, (str, datetime.date)) else given

    def shown(self, value: float) -> str:
        """A number of days as the nearest date, 2020-01-31."""
        return _shown(round(min(max(value, FIRST), LAST)))

    def written(self, value: float) -> str:
        """A number of days as the table writes its nearest date."""
        date = datetime.date.fromordinal(round(min(max(value, FIRST), LAST)) + EPOCH)
        # Not every system pads a year of three digits by itself.
        return date.strftime(re.sub(r"(?<!%)((?:%%)*)%Y", rf"\g<1>{date.year:04d}", self.format))

    def days(self, cells: Plain) -> Dates:
        """Return the date of every cell as datetime64[D], NaT where it holds none. Each cell is looked at by itself."""
        from sfumato.schema.date_cells import to_days

        return to_days(cells, self.format)

    @property
    def code_days(self) -> Dates:
        """The dates among the missing codes, written by `format` or as 1900-01-01."""
        import numpy as np

        texts = [code for code in self.missing_codes if isinstance(code, str)]
        read = [day_reader(self.format)(code) or iso_day(code) for code in texts]
        return np.array([day - EPOCH for day in read if day is not None], dtype=np.int64).view("M8[D]")

    def encoded(self, cells: Plain) -> Encoded:
        """Whole float64 values in [lower, upper]."""
        import numpy as np

        days = self.days(cells)
        numbers = days.astype(np.int64).astype(np.float64)
        numbers[np.isnat(days)] = np.nan
        return Number.encoded(self, numbers)


def _day(what: str, given: object) -> int:
    if isinstance(given, datetime.date):
        return datetime.date.toordinal(given) - EPOCH
    day = iso_day(given) if isinstance(given, str) else None
    if day is None:
        raise ArgumentError(
            f'Date: {what} must be a date such as "2020-01-31", year, month and day, or a datetime.date; got {given!r}.'
        )
    return day - EPOCH


def _shown(day: int) -> str:
    return datetime.date.fromordinal(day + EPOCH).isoformat()
