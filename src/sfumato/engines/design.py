"""Where a Gibbs model meets the rows: feature blocks and labels as the loss wants them, and nothing copied that need not be.

A vector data set's blocks are used as they lie; a table's are encoded once by the public recipe of its schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset, rows_of
from sfumato.models import regression
from sfumato.models.losses.protocol import LABEL, ROW
from sfumato.models.regression import label_values
from sfumato.schema.design import Design

Array = NDArray[np.float64]


def feature_blocks(dataset: Dataset, model: Any) -> Iterator[tuple[Any, Array]]:
    """Yield (matrix, labels) for every block of rows, in their order; labels are numbers in the loss's own coding.

    What a record of the loss has not got is empty: labels for a row alone, columns for a label alone.
    """
    record = model.loss.record
    rows = rows_of(dataset)
    design = Design.of(rows.schema)
    for block in rows.blocks():
        labels = np.empty(0) if record == ROW else label_values(model, rows.schema, block)
        yield np.empty((len(labels), 0)) if record == LABEL else design.encode(block), labels


def coordinates(dataset: Dataset, model: Any) -> tuple[tuple[str, ...], int]:
    """A public name for every coordinate of the parameter, and their number."""
    names = regression.coordinates(model, dataset.schema)
    return names, len(names)
