"""A horizontal axis of times in UTC, with dates at round steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from sfumato.pictures.description import Axis

# The most dates that fit under a picture on a phone, which shows about 40 characters.
_MOST = 4
# Space at both ends, as a share of the axis.
_ROOM = 0.03
# Lengths of steps: minutes up to half a day, days up to a fortnight, months up to half a year; then years.
_MINUTES = (1, 2, 5, 10, 30, 60, 120, 360, 720)
_DAYS = (1, 2, 7, 14)
_MONTHS = (1, 2, 3, 6)
_MONTHS_OF_YEARS = tuple(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2500))


def time_axis(first: datetime, last: datetime) -> Axis:
    """An axis from the first time to the last, in seconds since 1970, with at most four dates or times of the day."""
    low, high = first.timestamp(), last.timestamp()
    room = _ROOM * (high - low) or 1.0
    form, ticks = next((form, times) for form, step in _steps() if len(times := step(first, last)) <= _MOST)
    day = f", {first:%Y-%m-%d}" if form == "%H:%M" and first.date() == last.date() else ""
    shown = "%m-%d %H:%M" if form == "%H:%M" and not day else form
    texts = tuple((time.timestamp(), time.strftime(shown)) for time in ticks)
    return Axis(f"time (UTC{day})", low - room, high + room, texts)


def _steps() -> Iterator[tuple[str, Callable[[datetime, datetime], list[datetime]]]]:
    """(form of the texts, function that lists the times) for each length of step, shortest first."""
    for minutes in _MINUTES:
        yield "%H:%M", _every(timedelta(minutes=minutes))
    for days in _DAYS:
        yield "%Y-%m-%d", _every(timedelta(days=days))
    for months in _MONTHS:
        yield "%Y-%m", _monthly(months)
    for months in _MONTHS_OF_YEARS:
        yield "%Y", _monthly(months)


def _every(step: timedelta) -> Callable[[datetime, datetime], list[datetime]]:
    """Times at whole multiples of a step since the first day of 1970; one more than fits is enough."""

    def listed(first: datetime, last: datetime) -> list[datetime]:
        origin = datetime(1970, 1, 1, tzinfo=UTC)
        start = -(-(first - origin) // step)
        count = min((last - origin) // step - start + 1, _MOST + 1)
        return [origin + (start + k) * step for k in range(count)]

    return listed


def _monthly(months: int) -> Callable[[datetime, datetime], list[datetime]]:
    """First days of every so many months, counted from January of year 0; one more than fits is enough."""

    def listed(first: datetime, last: datetime) -> list[datetime]:
        """The first days between two times."""
        start = -(-(12 * first.year + first.month - 1) // months)
        times = []
        for k in range(start, start + _MOST + 2):
            year, month = divmod(k * months, 12)
            if year > last.year:
                break
            times.append(datetime(year, month + 1, 1, tzinfo=UTC))
        return [time for time in times if first <= time <= last]

    return listed
