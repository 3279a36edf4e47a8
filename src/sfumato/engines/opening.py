"""Which engine serves a data set and a model: chosen by what is summed, the kind of the rows and what the kernels know."""

from __future__ import annotations

from typing import Any

from sfumato.dataset import Dataset, rows_of


def open_engine(dataset: Dataset, model: Any, values: bool = False) -> Any:
    """Return the engine: exact totals for families; sums of gradients, or of values, for Gibbs models."""
    if hasattr(model, "tally"):
        from sfumato.engines.codes import CodesEngine

        return CodesEngine(dataset, model.columns(dataset.schema))
    if values:
        from sfumato.engines.values import ValuesEngine

        return ValuesEngine(dataset, model)
    from sfumato.engines.links import compiled

    if compiled(model.loss) is None:
        from sfumato.engines.reference import ReferenceEngine

        return ReferenceEngine(dataset, model)
    if rows_of(dataset).kind == "sparse":
        from sfumato.engines.sparse import SparseEngine

        return SparseEngine(dataset, model)
    from sfumato.engines.dense import DenseEngine

    return DenseEngine(dataset, model)
