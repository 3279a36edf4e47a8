"""Numbers of cells that were changed when a data set was read. They depend on the rows: for the curator alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sfumato.schema.columns import Column
from sfumato.schema.encoding import Cells, Encoded, encode
from sfumato.schema.person_counts import PersonCounts

# Columns of the printed counts.
_TITLES = ("empty", "unreadable", "undeclared", "clipped")


@dataclass(frozen=True)
class Count:
    """Cells of one column that were mapped to the declared missing value, and cells that were clipped.

    empty, unreadable, undeclared: the missing ones by their reason; missing codes are empty. hints: what to declare, no cell
    quoted.
    """

    missing: int
    clipped: int
    empty: int = 0
    unreadable: int = 0
    undeclared: int = 0
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """Result of `Schema.check(data, counts=True)`. Exact functions of private rows: never publish, log or quote them.

    rows: how many rows there are (public, unless one person may have several). ragged: lines or rows of the wrong length,
        whose cells all count as missing.
    columns: column -> Count; for a vector "matrix" counts its unusable entries and its rows that were too long.
    persons: whose rows they are, where the schema declares persons.
    """

    rows: int
    ragged: int
    columns: Mapping[str, Count]
    persons: PersonCounts | None = None

    def __str__(self) -> str:
        width = max([len("column"), *map(len, self.columns)])
        lines = [
            "For the curator alone: exact counts of private rows. Do not publish, log or quote them.",
            f"{self.rows} rows, {self.ragged} of the wrong length",
            f"{'column':<{width}}" + "".join(f"  {title:>10}" for title in _TITLES),
        ]
        for name, count in self.columns.items():
            lines.append(f"{name:<{width}}" + "".join(f"  {getattr(count, title):>10}" for title in _TITLES))
        lines += [f"{name}: {hint}" for name, count in self.columns.items() for hint in count.hints]
        empty = [name for name, count in self.columns.items() if self.rows and count.missing >= self.rows]
        lines += [
            f"every cell of {name} is missing: check its type, levels or format, and the decimal mark under [table]"
            for name in empty
        ]
        lines += [] if self.persons is None else self.persons.lines()
        return "\n".join(lines)


class Tally:
    """The running counts of one pass over a source."""

    def __init__(self) -> None:
        self.ragged = 0
        self._columns: dict[str, tuple[int, int, int]] = {}

    def encode(self, name: str, column: Column, cells: Cells) -> Encoded:
        """Encode a run of cells of one column, and count those that were changed."""
        encoded = encode(column, cells)
        self.add(name, encoded)
        return encoded

    def add(self, name: str, encoded: Encoded) -> None:
        """Count the changed cells of one encoded run."""
        rows, missing, clipped = self._columns.get(name, (0, 0, 0))
        rows, missing = rows + len(encoded.clipped), missing + int(encoded.missing.sum())
        self._columns[name] = (rows, missing, clipped + int(encoded.clipped.sum()))

    def result(self, persons: PersonCounts | None = None) -> Counts:
        """Return the counts so far; ids, whose cells are neither mapped nor clipped, are counted by `persons`."""
        columns = {name: self._count(name, missing, clipped) for name, (_, missing, clipped) in self._columns.items()}
        if persons is not None:
            columns.pop(persons.persons.id, None)
        rows = max((rows for rows, _, _ in self._columns.values()), default=0)
        return Counts(rows, self.ragged, MappingProxyType(columns), persons)

    def _count(self, name: str, missing: int, clipped: int) -> Count:
        return Count(missing, clipped)
