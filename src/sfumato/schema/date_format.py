"""Formats of dates: from a format such as %d.%m.%Y to the function that reads one text.

Texts are read by a regular expression made from the format, with the meaning that Python's `strptime` gives to each
directive. `strptime` itself is not used: it takes names of months from the machine's language, and needs several
microseconds for each text.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from sfumato.errors import ArgumentError

# Names of months, by their first three letters.
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november")
# What each directive stands for in a text; digits are ASCII digits, leading zeros may be left out as in strptime.
_DIRECTIVES = {
    "Y": "(?P<Y>[0-9]{4})",
    "y": "(?P<y>[0-9]{2})",
    "m": "(?P<m>1[0-2]|0[1-9]|[1-9])",
    "d": "(?P<d>3[01]|[12][0-9]|0[1-9]|[1-9])",
    "j": "(?P<j>36[0-6]|3[0-5][0-9]|[12][0-9]{2}|0[1-9][0-9]|00[1-9]|[1-9][0-9]|0[1-9]|[1-9])",
    "b": f"(?P<b>{'|'.join(_MONTHS)})",
    "B": f"(?P<b>{'|'.join((*_LONG, 'december'))})",
    "H": "(?:2[0-3]|[01][0-9]|[0-9])",
    "I": "(?:1[0-2]|0[1-9]|[1-9])",
    "M": "(?:[0-5][0-9]|[0-9])",
    "S": "(?:6[01]|[0-5][0-9]|[0-9])",
    "f": "[0-9]{1,9}",
    "p": "(?:am|pm)",
    "z": "(?:z|[+-][0-9]{2}:?[0-9]{2})",
    "%": "%",
}
# The default format; a time of day and a zone after such a date are dropped too.
ISO = "%Y-%m-%d"
_TIME = "(?:2[0-3]|[01][0-9]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)? ?(?:z|[+-][0-9]{2}:?(?:[0-9]{2})?)?"
# Formats whose numbers, of seven or eight digits, are read by their digits.
DIGITS = ("%Y%m%d", "%d%m%Y", "%m%d%Y")
# Letters of the longest date that is read: formats are short, and a cell longer than this is no date.
LETTERS = 100
_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")


def iso_day(text: str) -> int | None:
    """The ordinal of a date written 2020-01-31; None for everything else."""
    match = _ISO.fullmatch(text)
    return None if match is None else _ordinal(int(match[1]), int(match[2]), int(match[3]))


@lru_cache(maxsize=256)
def day_reader(format: str) -> Callable[[str], int | None]:
    """Return the function from a text to the ordinal of its date, None where it is no date in this format."""
    pattern, names = _compiled(format)
    match = re.compile(pattern, re.IGNORECASE | re.ASCII).fullmatch
    if names == {"Y", "m", "d"}:  # the usual formats, without the detour of the general case

        def plain(text: str) -> int | None:
            parts = match(text)
            return None if parts is None else _ordinal(int(parts["Y"]), int(parts["m"]), int(parts["d"]))

        return plain

    def general(text: str) -> int | None:
        parts = match(text)
        return None if parts is None else _from_parts(parts.groupdict())

    return general


def _compiled(format: object) -> tuple[str, set[str]]:
    """The regular expression of a format and the names of its parts; a format that gives no date is refused."""
    if not isinstance(format, str) or not format or len(format) > LETTERS or not format.isprintable():
        raise ArgumentError(f'Date: format must be a text such as "%Y-%m-%d" or "%d.%m.%Y"; got {format!r}.')
    # Several spaces are as one: with one pattern each, a cell of many spaces would take minutes.
    pattern, names, letters = "", [], iter(" ".join(format.split()))
    for letter in letters:
        if letter != "%":
            pattern += r"\s+" if letter.isspace() else re.escape(letter)
            continue
        directive = next(letters, "")
        if directive not in _DIRECTIVES:
            raise ArgumentError(
                f"Date: format has the directive %{directive}; those that are read are "
                f"{' '.join('%' + known for known in _DIRECTIVES)}."
            )
        pattern += _DIRECTIVES[directive]
        names += [{"B": "b"}.get(directive, directive)] if directive != "%" else []
    repeated = {name for name in names if names.count(name) > 1}
    known = {name for name in names if name in "Yymdjb"}
    months = len(known & {"m", "b"})
    whole = not repeated and len(known & {"Y", "y"}) == 1 and months + len(known & {"j"}) <= 1
    if not whole or ("d" in known and not months):
        known_as = " %Y is the year, %m the month, %d the day: 31.01.2020 is %d.%m.%Y." if "%" not in format else ""
        raise ArgumentError(
            "Date: format must state the year (%Y or %y) once, and the month, the day and each part of the time at most once; "
            f"got {format!r}.{known_as}"
        )
    if format == ISO:
        pattern += f"(?:[T ]{_TIME})?"
    if format.strip().replace("%", "").isalpha() and format not in DIGITS and not known & {"b"} and len(format) < 10:
        raise ArgumentError(
            f"Date: {format!r} spells numbers that cannot be distinguished from days; of the formats without marks between the "
            f'parts {", ".join(DIGITS)} are read. A column of years is a number (type = "number").'
        )
    return pattern, known


def _from_parts(parts: dict[str, str]) -> int | None:
    # Two digits of a year are 1969 to 2068, as in POSIX.
    year = int(parts["Y"]) if "Y" in parts else (int(parts["y"]) + 1900 + 100 * (int(parts["y"]) < 69))
    if "j" in parts:
        start, last = _ordinal(year, 1, 1), _ordinal(year, 12, 31)
        if start is None or last is None:
            return None
        day = start + int(parts["j"]) - 1
        return day if day <= last else None
    month = _MONTHS.index(parts["b"][:3].casefold()) + 1 if "b" in parts else int(parts.get("m", 1))
    return _ordinal(year, month, int(parts.get("d", 1)))


def _ordinal(year: int, month: int, day: int) -> int | None:
    try:
        return datetime.date(year, month, day).toordinal()
    except ValueError:  # 30 February, year 0
        return None
