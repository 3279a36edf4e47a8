"""Passes over the rows as a loss takes them: over blocks in memory, or over a file that is decoded ahead of the sums.

Engines cut the same parts either way, so that a sum over streamed rows has the same bits as one over rows in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sfumato.dataset import Dataset, rows_of
from sfumato.engines.design import feature_blocks
from sfumato.engines.parts import Features, Part, part_additions
from sfumato.engines.threads import additions
from sfumato.models.gibbs import Gibbs
from sfumato.schema.structure import BLOCK_ROWS

# Entries of features that are decoded at a time from rows that are not in memory: at most 8 MB.
_ENTRIES = 1 << 20


class Passes:
    """The features of a data set for any number of passes, in parts of so many records."""

    def __init__(self, dataset: Dataset, model: Gibbs, records: int, dimension: int) -> None:
        """Hold views of the rows where they are in memory; otherwise they are read by every pass."""
        rows = rows_of(dataset)
        self.held, self.records, self.most = rows.held, records, rows.averaged
        self.count = part_count(rows.n, records)
        # What is stated of additions follows from public numbers. Within its part: a part has no more rows than there are.
        several = self.most is not None and self.most > 1
        within = part_additions(records if several else min(records, rows.limit), self.most)
        self.additions = additions(within, part_count(rows.limit, records))
        # Whether there is room for one number of every record, beside rows that are not in memory.
        self.keeps = not rows.held and rows.averaged is None and 8 * rows.n <= rows.room
        self._dataset, self._model = dataset, model
        self._run = run_of(records, dimension)
        self._blocks = list(feature_blocks(dataset, model)) if rows.held else None

    def __iter__(self) -> Iterator[Features]:
        """The features of one pass, block by block."""
        if self._blocks is not None:
            return iter(self._blocks)
        return feature_blocks(self._dataset, self._model, self._run)

    def parts(self) -> Iterator[Part]:
        """The parts of one pass, in their order."""
        for block in self:
            yield from block.parts(self.records, self.most)


def run_of(records: int, dimension: int) -> int:
    """Records that are decoded at a time: whole parts, so that no part is cut, as many of them as `_ENTRIES` allow.

    Where parts divide a block evenly, so do runs: then a run is used as it was decoded, and nothing is copied.
    """
    parts = max(1, _ENTRIES // max(1, dimension) // records)
    if BLOCK_ROWS % records == 0:
        parts = math.gcd(1 << (parts.bit_length() - 1), BLOCK_ROWS // records)
    return parts * records


def part_count(n: int, records: int) -> int:
    """Parts of n records: every block of rows is cut by itself."""
    blocks, rest = divmod(n, BLOCK_ROWS)
    return blocks * -(-BLOCK_ROWS // records) + -(-rest // records)
