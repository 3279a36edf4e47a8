"""Features and labels of a data set as a loss takes them; no array is copied that need not be.

A vector data set's blocks are used as they lie; a table's are encoded once by the public recipe of its schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Block, Dataset, rows_of
from sfumato.engines.parts import Features
from sfumato.engines.reading_ahead import ahead
from sfumato.engines.shares import row_shares
from sfumato.errors import ArgumentError
from sfumato.models import regression
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.attack import shipped
from sfumato.models.losses.protocol import LABEL, ROW, Loss
from sfumato.models.regression import columns_read, label_values
from sfumato.schema.design import Design

Array = NDArray[np.float64]


def feature_blocks(dataset: Dataset, model: Gibbs, records: int | None = None) -> Iterator[Features]:
    """Yield features and labels of every block of rows, in their order; labels are numbers in the loss's own coding.

    Where a record is a row alone there are no labels; where it is a label alone its only feature is the constant 1. Rows that are
    not in memory are read in runs of so many `records`.
    """
    record = model.loss.record
    rows = rows_of(dataset)
    design = Design.of(rows.schema, model.terms)
    steady = rows.schema.persons is not None
    columns = None if rows.schema.dimension is not None else columns_read(model, rows.schema)
    blocks = rows.blocks(columns, records, masks=False)
    for block in blocks if rows.held else ahead(blocks):
        labels = (np.empty(0) if record == ROW else label_values(model, rows.schema, block)).view()
        labels.setflags(write=False)  # for labels that may be written numba would compile kernels of their own
        if record == ROW:
            yield Features(_mean_rows(design.encode(block), block), labels, steady=steady)
            continue
        features = np.broadcast_to(1.0, (len(labels), 1)) if record == LABEL else design.encode(block)
        yield Features(features, labels, row_shares(block), block.counts, steady)


def _mean_rows(rows: Any, block: Block) -> Any:
    """The rows themselves or, where a person has several, the mean of each person's: the loss of a mean is quadratic.

    The average of |theta - x|^2/2 over x is |theta - mean|^2/2 and a number that does not depend on theta. A mean of several rows
    is shortened by more than its rounding error, so that no mean is longer than the rows may be.
    """
    if block.weights is not None:
        raise ArgumentError("the loss of a mean takes no survey weights; use sf.families.BoundedMean.")
    if block.counts is None or (block.counts == 1).all():
        return rows
    # A sum of c terms is off by c units in the last place at most, and a quotient by one more.
    weights = np.where(block.counts == 1, 1.0, (1.0 - (block.counts + 8) * 2.0**-52) / block.counts)
    owners = np.repeat(np.arange(len(block.counts)), block.counts)
    if not isinstance(rows, np.ndarray):
        from scipy.sparse import csr_array

        shape = (len(block.counts), len(owners))
        averaging = csr_array((weights[owners], (owners, np.arange(len(owners)))), shape=shape)
        averaged = csr_array(averaging @ rows)
        averaged.sort_indices()  # as the rows themselves are: nobody else's products depend on whether anybody has two
        return averaged
    starts = np.cumsum(block.counts) - block.counts
    return np.add.reduceat(rows, starts, axis=0) * weights[:, None]


def most_rows(dataset: Dataset) -> int | None:
    """The most rows of a person whose contributions are averaged; None where each record is one row."""
    return rows_of(dataset).averaged


def coordinates(dataset: Dataset, model: Gibbs) -> tuple[tuple[str, ...], int]:
    """A public name for every coordinate of the parameter, and their number."""
    names = regression.coordinates(model, dataset.schema)
    return names, len(names)


def kernel_arguments(loss: Loss) -> tuple[int, float, float] | None:
    """Number of the loss's slope in the kernels and its two parameters; None for a loss without a compiled slope.

    A class from outside the package, or one that was changed, has none: the kernels' slopes are those of the shipped derivatives.
    """
    if loss.compiled is None or not shipped(loss):
        return None
    code, names = loss.compiled
    first, second, *_ = [float(getattr(loss, name)) for name in names] + [0.0, 0.0]
    return code, first, second
