"""Ids of persons: spellings that mean the same id are joined, and what is kept of an id is a keyed digest.

With the ids of the neighbours kept, taking two people for one is safe (together they contribute no more than one person) and
taking one person for two is not. So spellings are joined generously: space around a text, capitals, composed and decomposed
letters, and the ways to write a number ("7", "7.0", 7, "007") make no difference.

The digest is BLAKE2b of 128 bits under a key that is drawn for one reading and forgotten afterwards, so that digests which were
left in memory lead back to no id. Two people of N share a digest with a probability below N^2/2^129; they are then taken for
one, which costs accuracy and no privacy. A second digest under a fixed key decides which rows of a person are taken where there
are too many; it is the same in every reading.
"""

from __future__ import annotations

import hashlib
import math
import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

import numpy as np

from sfumato.schema import cells as rules
from sfumato.schema.encoding import Array, Encoded, Plain
from sfumato.schema.missing_codes import Code

# Key of the second digest. Any fixed bytes: it separates this use of BLAKE2b from others.
_SAMPLING = b"sfumato rows of one person"
# A text that is longer is replaced by its digest at once, so that a chunk of long ids takes no memory.
_LETTERS = 200
# A number of more digits is taken for a text.
_DIGITS = 60
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
    """The one spelling of an id; None for a cell that is no id (empty, NaN, an object that is no text and no number)."""
    kind = type(cell)
    if kind is int:
        return str(cell) if abs(cell) < 10**_DIGITS else _shortened(hex(cell))  # type: ignore[arg-type]
    if kind is float:
        return _of_number(repr(cell)) if math.isfinite(cell) else None  # type: ignore[arg-type]
    if issubclass(kind, bool | np.bool_):
        return "1" if cell else "0"
    if issubclass(kind, np.integer):
        return str(int(cell))  # type: ignore[call-overload]
    if issubclass(kind, np.floating | Decimal | int | float):
        return _of_number(str(cell))
    word = rules.text(cell)
    if word is None:
        return str(cell) if _is_date(cell) else None
    return _of_text(word)


def _of_text(word: str) -> str | None:
    if word.isascii() and word.isdigit() and len(word) <= _DIGITS:
        return word.lstrip("0") or "0"
    small = word.lower() if word.isascii() else _folded(word)
    joined = " ".join(small.split())
    if not joined or joined in _NOTHING:
        return None
    number = _of_number(joined)
    return _shortened(joined) if number is None else number


def _folded(word: str) -> str:
    """Letters without capitals, in one of the forms that Unicode calls equivalent, and without those that are not shown."""
    visible = "".join(letter for letter in word if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())


# Texts by which programs write that there is no value.
_NOTHING = frozenset(("nan", "none", "null", "nat", "<na>"))


def _of_number(text: str) -> str | None:
    """The one spelling of a number, "7" for "7.0" and "+7"; None for a text that spells none, and for one that is not finite."""
    if len(text) > _DIGITS or not (text[-1:].isdigit() or text[-1:] == "."):
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    if abs(value.adjusted()) > _DIGITS:
        return f"{value.normalize():e}"
    plain = format(value, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "") else plain


def _shortened(text: str) -> str:
    """A long text by its digest: an id of a megabyte is an id too."""
    if len(text) <= _LETTERS:
        return text
    return "\0" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def _is_date(cell: object) -> bool:
    import datetime

    return isinstance(cell, datetime.date)
