"""Features and labels of a data set as a loss takes them; no array is copied that need not be.

A vector data set's blocks are used as they lie; a table's are encoded once by the public recipe of its schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset, rows_of
from sfumato.models import regression
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import LABEL, ROW, Loss
from sfumato.models.regression import label_values
from sfumato.schema.design import Design

Array = NDArray[np.float64]


def feature_blocks(dataset: Dataset, model: Gibbs) -> Iterator[tuple[Any, Array]]:
    """Yield (matrix, labels) for every block of rows, in their order; labels are numbers in the loss's own coding.

    Where a record is a row alone there are no labels; where it is a label alone its only feature is the constant 1.
    """
    record = model.loss.record
    rows = rows_of(dataset)
    design = Design.of(rows.schema, model.terms)
    for block in rows.blocks():
        labels = (np.empty(0) if record == ROW else label_values(model, rows.schema, block)).view()
        labels.setflags(write=False)  # for labels that may be written numba would compile kernels of their own
        yield np.broadcast_to(1.0, (len(labels), 1)) if record == LABEL else design.encode(block), labels


def coordinates(dataset: Dataset, model: Gibbs) -> tuple[tuple[str, ...], int]:
    """A public name for every coordinate of the parameter, and their number."""
    names = regression.coordinates(model, dataset.schema)
    return names, len(names)


def kernel_arguments(loss: Loss) -> tuple[int, float, float] | None:
    """Number of the loss's slope in the kernels and its two parameters; None for a loss without a compiled slope.

    `compiled` must be stated by the loss's own class: a subclass may have another derivative than its base class.
    """
    stated = vars(type(loss)).get("compiled")
    if stated is None:
        return None
    code, names = stated
    first, second, *_ = [float(getattr(loss, name)) for name in names] + [0.0, 0.0]
    return code, first, second
