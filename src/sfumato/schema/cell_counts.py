"""Why cells were mapped to the missing value, counted column by column, and what to declare. For the curator alone.

No cell is quoted: a line says how many there are and which declaration would read them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.schema.category import Category
from sfumato.schema.cells import Unread, level_finder, number, text
from sfumato.schema.code_cells import is_code
from sfumato.schema.columns import Boolean, Column
from sfumato.schema.counts import Count, Tally
from sfumato.schema.documents import toml_value
from sfumato.schema.encoding import Cells, Encoded, Mask, Repeated
from sfumato.schema.first_line import decoded
from sfumato.schema.form import ENCODINGS
from sfumato.schema.identity import Identity
from sfumato.schema.missing_codes import LETTERS
from sfumato.schema.public_cells import is_empty

EMPTY, UNREADABLE, UNDECLARED = "empty", "unreadable", "undeclared"
# What more is counted of such cells: levels but for their capitals, bytes that are no text, and cells that nothing would read.
_CASE, _BYTES, _OTHER = "case", "bytes", "other"
# Encodings as which programs read the bytes of another one.
_MISREAD = ("cp1252", "latin-1")


class CuratorTally(Tally):
    """The counts of one pass, with the reasons; `encoding`: of a text file, None for every other source."""

    def __init__(self, encoding: str | None = None) -> None:
        super().__init__()
        self._encoding = encoding
        self._kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._levels: dict[str, Column] = {}

    def encode(self, name: str, column: Column, cells: Cells) -> Encoded:
        """Encode a run of cells of one column, and count those that were changed."""
        encoded = super().encode(name, column, cells)
        if not isinstance(column, Identity):
            self._levels[name] = column
            for cell, count in _counted(cells, encoded.missing):
                for kind in self._kinds_of(column, cell):
                    self._kinds[name][kind] += count
        return encoded

    def _kinds_of(self, column: Any, cell: object) -> list[str]:
        """The kind of one cell, and which declarations would read it: names of encodings, or capitals."""
        if is_empty(cell) or (isinstance(cell, np.datetime64) and np.isnat(cell)) or is_code(column, cell):
            return [EMPTY]
        raw = cell.cell if isinstance(cell, Unread) else cell
        word = text(raw) if not (isinstance(cell, Unread) and isinstance(raw, bytes)) else None
        if not isinstance(column, Category | Boolean):
            return [UNREADABLE, *([_BYTES] if word is None and isinstance(raw, bytes) else [])]
        find = level_finder(column)
        if word is not None:
            folded = _folded(column)
            if folded is not None and folded(word) >= 0:
                return [UNDECLARED, _CASE]
            return [UNDECLARED, *(_encodings(_bytes_of(word, self._encoding), find) or [_OTHER])]
        if isinstance(raw, bytes):
            return [UNREADABLE, *(_encodings([raw], find) or [_BYTES])]
        return [UNREADABLE] if math.isnan(number(raw)) else [UNDECLARED, _OTHER]

    def _count(self, name: str, missing: int, clipped: int) -> Count:
        if name not in self._levels:  # numbers of a vector
            return Count(missing, clipped, unreadable=missing)
        kinds = self._kinds[name]
        parts = {kind: kinds[kind] for kind in (EMPTY, UNREADABLE, UNDECLARED)}
        return Count(missing, clipped, **parts, hints=tuple(self._hints(self._levels[name], kinds)))

    def _hints(self, column: Any, kinds: Counter[str]) -> Iterator[str]:
        """What to declare, a line for each reason."""
        best = max(ENCODINGS, key=lambda encoding: kinds[encoding])
        stated = (
            f'encoding = "{best}" under [table]' if self._encoding else "nothing, and write the table anew as UTF-8"
        )
        yes_no = isinstance(column, Boolean)
        example = "true" if yes_no else toml_value(column.levels[0]) if column.levels else ""
        wanted = "" if yes_no else "its level, or "
        lines = {
            _CASE: ("spelled as a level but for case", "fold_case = true"),
            best: (f"spelled as a level in the encoding {best}", stated),
            _BYTES: (f"that are no text in the encoding {self._encoding or 'utf-8'}", 'encoding = "..." under [table]'),
            _OTHER: ("with another text or number", f'{wanted}alias = {{ "..." = {example} }}'),
        }
        for kind, (what, remedy) in lines.items():
            if kinds[kind]:
                yield f"{kinds[kind]:,} cell{'s' * (kinds[kind] > 1)} {what}: declare {remedy}"


def _counted(cells: Cells, missing: Mask) -> Iterator[tuple[object, int]]:
    """The missing cells, equal ones together where that is sure to work: a cell of another type may define == and hash."""
    if isinstance(cells, Repeated):
        counts = np.bincount(cells.index[missing] + 1, minlength=len(cells.distinct) + 1).tolist()
        yield from ((cell, count) for cell, count in zip([None, *cells.distinct], counts, strict=True) if count)
    elif isinstance(cells, np.ndarray):
        values, counts = np.unique(cells[missing], return_counts=True)
        yield from zip(list(values), counts.tolist(), strict=True)
    else:
        chosen = [cells[place] for place in np.flatnonzero(missing).tolist()]
        yield from Counter(cell for cell in chosen if type(cell) is str).items()
        yield from ((cell, 1) for cell in chosen if type(cell) is not str)


@lru_cache(maxsize=256)
def _folded(column: Any) -> Callable[[object], int] | None:
    """The levels without regard to capitals; None where that is declared already, or could mean two of them."""
    if column.fold_case:
        return None
    try:
        return level_finder(Category(column.levels, column.missing, alias=dict(column.alias), fold_case=True))
    except ArgumentError:
        return None


def _bytes_of(word: str, encoding: str | None) -> Iterator[bytes]:
    """The bytes that were read as this text, if they were read in a wrong encoding."""
    for each in dict.fromkeys((encoding or "utf-8", *_MISREAD)):
        with suppress(UnicodeEncodeError):
            if not word.isascii() and len(word) <= LETTERS:
                yield word.encode(each)


def _encodings(raws: Iterable[bytes], find: Callable[[object], int]) -> list[str]:
    """The encodings in which these bytes are a level."""
    texts = [(encoding, decoded(raw, encoding)) for raw in raws for encoding in ENCODINGS]
    return list(dict.fromkeys(encoding for encoding, word in texts if word is not None and find(word) >= 0))
