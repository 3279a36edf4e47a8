"""Two neighbouring data sets under test. They are made up from public facts; no private row is read."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Data sets of the same schema that differ in one record; `name` says how they were chosen."""

    name: str
    first: Dataset
    second: Dataset
