"""The data set: private rows, of which only the schema and the number of records are public.

Rows enter through `Dataset.from_arrays` and `Dataset.from_table`, mapped cell by cell into the declared bounds and, where the
schema declares persons, gathered by person. Only engines read them, with `rows_of`, and engines return sums of bounded
contributions.
"""

from __future__ import annotations

from sfumato.dataset.blocks import Block, Rows
from sfumato.dataset.dataset import Dataset, files_of, rows_of

__all__ = ["Block", "Dataset", "Rows", "files_of", "rows_of"]
