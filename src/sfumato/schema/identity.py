"""Ids of persons: spellings that mean the same id are joined, and what is kept of an id is a keyed digest.

With the ids of the neighbours kept, taking two people for one is safe (together they contribute no more than one person) and
taking one person for two is not. So spellings are joined generously: space around a text, capitals, composed and decomposed
letters, signs that are not shown, kinds of dashes and quotation marks, digits of other alphabets, and the ways to write a number
("7", "7.0", 7, "007"), a truth value, a UUID or a date (as it is written or shown, its time of day and its zone left out) make no
difference. No cell raises or takes long: one
that is no id, or that has more than `LONGEST` bytes before anything is done to it, belongs to nobody. To cut a long text, or to
digest it before its spellings are joined, would make two persons of one.

The digest is BLAKE2b of 128 bits under a key that is drawn for one reading and forgotten afterwards, so that digests which were
left in memory lead back to no id. Two people of N share a digest with a probability below N^2/2^129; they are then taken for
one, which costs accuracy and no privacy. A second digest under a fixed key decides which rows of a person are taken where there
are too many; it is the same in every reading.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import unicodedata
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

import numpy as np

from sfumato.schema import cells as rules
from sfumato.schema.date_cells import from_numpy
from sfumato.schema.encoding import Array, Encoded, Plain
from sfumato.schema.missing_codes import Code

# Key of the second digest. Any fixed bytes: it separates this use of BLAKE2b from others.
_SAMPLING = b"sfumato rows of one person"
# Bytes of the longest id, as UTF-8, and digits of the longest number. To normalise 300 kB of combining marks takes 13 s.
LONGEST = 1024
_TOO_LARGE = 10**LONGEST
# Exponents beyond this are kept as exponents: no number is written out with a million digits.
_DIGITS = 400
# Whole numbers of 16 to 309 digits: smaller ones are floats exactly, and larger ones are none.
_FEWEST, _MOST = 15, 308
_SMALL = 10**_FEWEST
# Bytes of the two digests.
_WHO, _SAMPLE = 16, 8
# What the columns of an encoded id hold: the digest in two words, and the digest that decides which rows are taken.
WORDS = 3


@dataclass(frozen=True, repr=False, eq=False)
class Identity:
    """The id column while a table is read: cells become three words of 64 bits each. It is no column of a schema.

    `codes` are the missing codes of the table: a row with such an id belongs to nobody who could be protected.
    """

    codes: tuple[Code, ...] = ()
    key: bytes = field(default_factory=lambda: os.urandom(32))
    kind = "id"
    needed: ClassVar[tuple[str, ...]] = ()
    facts: ClassVar[tuple[str, ...]] = ()
    levels = None
    largest_square = 0.0

    def __repr__(self) -> str:
        return "Identity()"

    def encoded(self, cells: Plain) -> Encoded:
        """Digests of ids, shaped (rows, 3); a cell that is no id is missing."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
            cells = _days(cells)
        listed: Sequence[object] = cells.tolist() if isinstance(cells, np.ndarray) else cells
        blank = {canonical(code) for code in self.codes}
        known: dict[str, tuple[int, int, int]] = {}
        words = np.zeros((len(listed), WORDS), dtype=np.uint64)
        missing = np.zeros(len(listed), dtype=bool)
        for place, cell in enumerate(listed):
            name = canonical(cell)
            if name is None or name in blank:
                missing[place] = True
                continue
            found = known.get(name)
            if found is None:
                found = known[name] = self._digests(name)
            words[place] = found
        return Encoded(words, missing, np.zeros(len(listed), dtype=bool))

    def _digests(self, name: str) -> tuple[int, int, int]:
        text = name.encode("utf-8", "surrogatepass")
        who = hashlib.blake2b(text, digest_size=_WHO, key=self.key).digest()
        sample = hashlib.blake2b(text, digest_size=_SAMPLE, key=_SAMPLING).digest()
        return int.from_bytes(who[:8], "little"), int.from_bytes(who[8:], "little"), int.from_bytes(sample, "little")

    def to_json(self) -> dict[str, Any]:
        """Nothing: it is never written."""
        return {}

    def features(self, name: str) -> list[str]:
        """None: an id is no feature."""
        return []

    def write_features(self, values: Array, out: Array) -> None:
        """Write nothing."""


def canonical(cell: object) -> str | None:
    """The one spelling of an id; None for a cell that is no id: empty, NaN, too long, or no text, number or date."""
    try:
        return _canonical(cell)
    except Exception:  # an object of a class of its own may raise anything
        return None


def _canonical(cell: object) -> str | None:
    kind = type(cell)
    if kind is int and -_SMALL < cell < _SMALL:
        return str(cell)
    if issubclass(kind, bool | np.bool_):
        return "1" if cell else "0"
    if issubclass(kind, int | np.integer):
        whole = int(cell)  # type: ignore[call-overload]
        return _of_decimal(Decimal(whole)) if abs(whole) < _TOO_LARGE else None
    if issubclass(kind, float | np.floating):
        value = float(cell)  # type: ignore[arg-type]
        # The shortest spelling is that of the cell's own type: 0.1 as a float of 32 bits is 0.1 too.
        return _of_decimal(Decimal(value) if value.is_integer() else Decimal(str(cell)))
    if issubclass(kind, Decimal):
        return _of_decimal(cell)  # type: ignore[arg-type]
    if issubclass(kind, datetime.date):
        # By its parts: a datetime of pandas may have any year, and numpy would move one with a zone to another day.
        return f"{int(cell.year):04d}-{int(cell.month):02d}-{int(cell.day):02d}"  # type: ignore[attr-defined]
    if issubclass(kind, np.datetime64):
        return _of_text(str(_days(np.asarray(cell).reshape(1))[0]))
    if issubclass(kind, uuid.UUID):
        return _of_text(cell.hex)  # type: ignore[attr-defined]
    if is_long(cell):
        return None
    if issubclass(kind, bytes):
        return _of_bytes(cell)  # type: ignore[arg-type]
    word = rules.text(cell)
    return None if word is None else _of_text(word)


def is_long(cell: object) -> bool:
    """Whether a text has more than `LONGEST` bytes, as it is: no space around it is dropped, and nothing is normalised."""
    if isinstance(cell, bytes):
        return bytes.__len__(cell) > LONGEST
    if not isinstance(cell, str):
        return False
    return str.__len__(cell) > LONGEST or len(str.encode(cell, "utf-8", "surrogatepass")) > LONGEST


def _days(dates: Array) -> Array:
    """The dates of a datetime64 array as texts, of any year; those that cannot be counted in days are "NaT"."""
    return np.datetime_as_string(from_numpy(dates), unit="D")


def _of_bytes(raw: bytes) -> str | None:
    """Bytes that are a text as that text; others, such as those of a UUID, by their hexadecimal digits."""
    word = rules.text(raw)
    return _of_text(raw.hex() if word is None or not word.isprintable() else word)


def _of_text(word: str) -> str | None:
    if len(word) <= _FEWEST and word.isascii() and word.isdigit():
        return word.lstrip("0") or "0"
    small = word.lower() if word.isascii() and word.isprintable() else _folded(word)
    joined = " ".join(small.split())
    if not joined or joined in _NOTHING:
        return None
    if joined in _TRUTH:
        return _TRUTH[joined]
    if day := _DAY.fullmatch(joined):
        return day[1]
    if _UUID.fullmatch(joined):
        joined = joined.replace("-", "")
    number = _of_number(joined)
    return joined if number is None else number


def _folded(word: str) -> str:
    """Letters without capitals, in one of the forms that Unicode calls equivalent, and without those that are not shown."""
    visible = "".join(letter for letter in word if letter.isspace() or not _unseen(letter))
    small = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
    # In Turkish the capital of "i" has a dot and the small letter of "I" has none.
    marked = small.replace("i\u0307", "i").translate(_ALIKE)
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in marked)


def _unseen(letter: str) -> bool:
    return unicodedata.category(letter) in _UNSEEN or letter in _IGNORED


# Texts by which programs write that there is no value.
_NOTHING = frozenset(("nan", "none", "null", "nat", "<na>"))
_TRUTH = {"true": "1", "false": "0"}
# Categories of signs that are not shown: formats and controls.
_UNSEEN = ("Cf", "Cc")
# Those of other categories: joiners, fillers, selectors of variants (Unicode's Default_Ignorable_Code_Point), a blank of Braille.
_IGNORED = frozenset(map(chr, (
    0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, *range(0xFE00, 0xFE10), 0xFFA0,
    *range(0xE0100, 0xE01F0),
)))  # fmt: skip
_DASHES, _QUOTES = (*range(0x2010, 0x2016), 0x2212, 0x2E3A, 0x2E3B), range(0x201C, 0x2020)
_APOSTROPHES = (0x02B9, 0x02BB, 0x02BC, 0x2018, 0x2019, 0x201B, 0x2032)
_ALIKE = dict.fromkeys(_DASHES, "-") | dict.fromkeys(_QUOTES, '"') | dict.fromkeys(_APOSTROPHES, "'") | {0x131: "i"}
# A date with a time of day, as programs write it.
_DAY = re.compile(r"(-?\d{3,}-\d\d-\d\d)[ t]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(z|utc|[+-]\d\d(:?\d\d){0,2}))?")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _of_number(text: str) -> str | None:
    """The one spelling of a number, "7" for "7.0" and "+7"; None for a text that spells none, and for one that is not finite."""
    last = text[-1:]
    if not ((last.isdigit() or last == ".") and text.isascii()):
        return None
    try:
        return _of_decimal(Decimal(text))
    except InvalidOperation:
        return None


def _of_decimal(value: Decimal) -> str | None:
    """A finite number without needless zeros.

    A whole number beyond 2^53 that is the shortest spelling of a float counts as the exact value of that float, since a program
    that reads ids as floats may have written it.
    """
    if not value.is_finite():
        return None
    value = _as_float(value)
    sign, digits, exponent = value.as_tuple()
    if len(digits) > LONGEST:
        return None
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    if not stripped:
        return "0"
    places, minus = int(exponent) + len(text) - len(stripped), "-" if sign else ""
    if abs(places) > _DIGITS:
        return f"{minus}{stripped}e{places}"
    if places >= 0:
        return minus + stripped + "0" * places
    padded = stripped.rjust(1 - places, "0")
    return f"{minus}{padded[:places]}.{padded[places:]}"


def _as_float(value: Decimal) -> Decimal:
    """The exact value of the float of which a large whole number is the shortest spelling; any other number as it is."""
    if not _FEWEST <= value.adjusted() <= _MOST or int(value.as_tuple().exponent) < 0:
        return value
    near = float(value)
    return Decimal(near) if Decimal(repr(near)).compare(value) == 0 else value
