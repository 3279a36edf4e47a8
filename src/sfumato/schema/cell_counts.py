"""Why cells were mapped to the missing value, and what to declare: counted for the curator alone, and no cell quoted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.schema.category import Category
from sfumato.schema.cells import Unread, level_finder, number, text
from sfumato.schema.code_cells import is_code
from sfumato.schema.columns import Boolean, Column
from sfumato.schema.counts import Count, Tally
from sfumato.schema.encoding import Cells, Encoded, Mask, Repeated
from sfumato.schema.form import ENCODINGS
from sfumato.schema.identity import Identity
from sfumato.schema.missing_codes import LETTERS
from sfumato.schema.public_cells import is_empty

_CASE = "spelled as a level but for case: declare fold_case = true"
_ENCODING = (
    'spelled as a level in the encoding {0}: declare encoding = "{0}" under [table], or write the table anew as UTF-8'
)
_BYTES = "of bytes that are no text in the encoding {}: declare the file's own under [table]"
_OTHER = 'with another text or number: declare its level, or alias = {{ "..." = {} }}'
# The usual encoding of Windows is tried first: it has all letters of latin-1.
_TRIED = dict.fromkeys(("utf-8", "cp1252", *ENCODINGS))


class CuratorTally(Tally):
    """The counts of one pass with their reasons; `encoding` is the declared one."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding
        self._reasons: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)

    def encode(self, name: str, column: Column, cells: Cells) -> Encoded:
        """Encode a run of cells of one column, and count those that were changed."""
        encoded = super().encode(name, column, cells)
        if not isinstance(column, Identity):
            for cell, count in _counted(cells, encoded.missing):
                self._reasons[name][_reason(column, cell, self._encoding)] += count
        return encoded

    def _count(self, name: str, missing: int, clipped: int) -> Count:
        kinds, reasons = Counter[str](), self._reasons.get(name, {("unreadable", ""): missing})
        for (kind, _), count in reasons.items():
            kinds[kind] += count
        hints = [f"{count:,} cell{'s' * (count > 1)} {hint}" for (_, hint), count in sorted(reasons.items()) if hint]
        return Count(missing, clipped, kinds["empty"], kinds["unreadable"], kinds["undeclared"], tuple(hints))


def _reason(column: Any, cell: object, encoding: str) -> tuple[str, str]:
    """Whether a missing cell is empty, unreadable or undeclared, and what to declare, "" where nothing would help."""
    if is_empty(cell) or (isinstance(cell, np.datetime64) and np.isnat(cell)) or is_code(column, cell):
        return "empty", ""
    raw = cell.cell if isinstance(cell, Unread) else cell
    word = None if isinstance(raw, bytes) and raw is not cell else text(raw)
    if not isinstance(column, Category | Boolean):
        return "unreadable", ""
    if word is None and not isinstance(raw, bytes):
        return ("unreadable", "") if math.isnan(number(raw)) else ("undeclared", _OTHER.format(_example(column)))
    if word is not None and _folded(column)(word) >= 0:
        return "undeclared", _CASE
    kind = "unreadable" if word is None else "undeclared"
    for misread, own in product((encoding, "cp1252"), _TRIED if word is None or not word.isascii() else ()):
        with suppress(UnicodeError):
            whole: Any = raw if word is None else word[:LETTERS].encode(misread)
            if level_finder(column)(whole.decode(own)) >= 0:
                return kind, _ENCODING.format(own)
    return kind, _BYTES.format(encoding) if word is None else _OTHER.format(_example(column))


def _example(column: Any) -> str:
    return "true" if isinstance(column, Boolean) else repr(column.levels[0]).replace("'", '"')


@lru_cache(maxsize=256)
def _folded(column: Any) -> Callable[[object], int]:
    """The levels without regard to capitals, as they are where that could mean two of them."""
    with suppress(ArgumentError):
        return level_finder(Category(column.levels, column.missing, alias=dict(column.alias), fold_case=True))
    return level_finder(column)


def _counted(cells: Cells, missing: Mask) -> Iterator[tuple[object, int]]:
    """The missing cells, equal ones together where that is sure to work: a cell of another type may define == and hash."""
    if isinstance(cells, Repeated):
        counts = np.bincount(cells.index[missing] + 1, minlength=len(cells.distinct) + 1).tolist()
        yield from ((cell, count) for cell, count in zip([None, *cells.distinct], counts, strict=True) if count)
    elif isinstance(cells, np.ndarray):
        values, repeats = np.unique(cells[missing], return_counts=True)
        yield from zip(list(values), repeats.tolist(), strict=True)
    else:
        chosen = [cells[place] for place in np.flatnonzero(missing).tolist()]
        yield from Counter(cell for cell in chosen if type(cell) is str).items()
        yield from ((cell, 1) for cell in chosen if type(cell) is not str)
