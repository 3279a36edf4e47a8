"""Sums over rows on the workers of a cluster: each worker sums its partitions by an engine of its own, the client adds in order.

What comes back is one sum a partition, whichever worker holds it, so that the result has the same bits on one worker and on
many, and after a lost worker was replaced. No term takes part in more additions than `additions` states: those within its
partition, and those over the partitions, which are added in pairs, so that up to 16,000 of them fit in what prices assume. Of a
table of persons both follow from the number of all persons: how many have rows in a partition, or in none, is private, and what
is stated here can refuse a release that was charged.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset, rows_of
from sfumato.dataset.dataset import part_of
from sfumato.dataset.partitions import result_of
from sfumato.engines.protocol import LabelScale, Tally
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import Loss
from sfumato.models.regression import coordinates
from sfumato.schema import Schema

Array = NDArray[np.float64]


def _on_partition(
    held: Any, schema: Schema, limit: int | None, model: Any, needs: tuple[str, ...], opener: Callable[..., Any]
) -> Any:
    """Open, on a worker, the engine of one partition."""
    return opener(part_of(held, schema, limit), model, needs)


def _weighed(engine: Any, matrix: Array, bend: float, loss: Loss | None) -> Any:
    return engine.weighed(matrix, bend, loss)


class ClusterEngine:
    """The engine of a data set on a cluster, for any of the sums that the engines of its partitions compute."""

    def __init__(self, dataset: Dataset, model: Any, needs: tuple[str, ...], opener: Callable[..., Any]) -> None:
        """`opener` opens the engine of a partition where it is held, by the same table as for rows in memory."""
        rows = rows_of(dataset)
        self.n: int = dataset.n
        blocks: Any = rows._blocks
        self._cluster = blocks.cluster
        if isinstance(model, Gibbs):
            self.labels = coordinates(model, dataset.schema)
            self.dimension = len(self.labels)
        by_person = dataset.schema.persons is not None
        asked_of = {"schema": dataset.schema, "limit": self.n if by_person else None, "model": model, "needs": needs}
        self._token = self._cluster.open(partial(_on_partition, **asked_of, opener=opener))
        weakref.finalize(self, self._cluster.forget, self._token)
        self._local = None
        if blocks.absent is not None:
            self._local = opener(part_of(_Absent(blocks.absent), dataset.schema, self.n), model, needs)
        within = max(self._each("additions"), default=0.0)
        # Persons who are in no partition are one part more, whether there are any or not.
        self.additions = within + (self._cluster.count + by_person).bit_length() if within else 0.0

    @property
    def seconds(self) -> float:
        """Seconds that the slowest worker computed in the last pass."""
        return float(self._cluster.slowest)

    def _each(self, method: str, *given: Any) -> list[Any]:
        """One result for each partition, in their order, and last that of persons who are in none."""
        return asked(self._cluster, self._token, self._local, method, *given)

    def totals(self, tally: Tally) -> list[int] | list[Fraction]:
        """Sum of `tally` over all records."""
        parts = [part for part in self._each("totals", tally) if part]
        return [sum(column) for column in zip(*parts, strict=True)]

    def values(self, points: Array, unit: float, bound: float, reach: float | None = None) -> list[int]:
        """Sums of rounded loss values at public points."""
        return [sum(column) for column in zip(*self._each("values", points, unit, bound, reach), strict=True)]

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return added_in_pairs(self._each("gradient", theta), np.zeros_like(theta, dtype=np.float64))

    def moments(self, radius: float, label: LabelScale | None = None) -> Array:
        """Sum over the records of min(1, R^2/|z|^2) z z'."""
        size = self.dimension + (label is not None)
        return added_in_pairs(self._each("moments", radius, label), np.zeros((size, size)))

    def residual_shares(self, theta: Array, edges: Array) -> Array:
        """Sum over the records of the indicator of the cell of y - z.theta, times the record's share."""
        return added_in_pairs(self._each("residual_shares", theta, edges), np.zeros(len(edges) + 1))

    def weighed(self, matrix: Array, bend: float, loss: Loss | None = None) -> WeighedPartitions:
        """The same records with weights, computed and kept where they are."""
        return WeighedPartitions(self, matrix, bend, loss)

    def __repr__(self) -> str:
        return f"ClusterEngine(n={self.n})"


class WeighedPartitions:
    """The records of a cluster with a weight each."""

    def __init__(self, engine: ClusterEngine, matrix: Array, bend: float, loss: Loss | None) -> None:
        self.n, self.additions = engine.n, engine.additions
        self.labels, self.dimension = engine.labels, engine.dimension
        self._cluster = engine._cluster
        self._token = self._cluster.open(partial(_weighed, matrix=matrix, bend=bend, loss=loss), behind=engine._token)
        weakref.finalize(self, self._cluster.forget, self._token)
        self._behind = engine  # a lost worker's weights are computed anew from what this engine opened
        self._local = None if engine._local is None else engine._local.weighed(matrix, bend, loss)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of v phi' z at each of (chains, d) parameters."""
        sums = asked(self._cluster, self._token, self._local, "gradient", theta)
        return added_in_pairs(sums, np.zeros_like(theta, dtype=np.float64))

    def second_sums(self, theta: Array, scores: bool) -> tuple[Array, Array | None, float]:
        """Curvature, score matrix (if `scores`) and score scale at one parameter."""
        each = asked(self._cluster, self._token, self._local, "second_sums", theta, scores)
        square = (self.dimension, self.dimension)
        curvature = added_in_pairs([part[0] for part in each], np.zeros(square))
        matrix = added_in_pairs([part[1] for part in each], np.zeros(square)) if scores else None
        scale = added_in_pairs([np.asarray(part[2]) for part in each], np.zeros(()))
        return curvature, matrix, float(scale)

    def __repr__(self) -> str:
        return f"WeighedPartitions(n={self.n})"


def added_in_pairs(sums: Sequence[Array], total: Array) -> Array:
    """The sum of arrays: of neighbours, then of neighbours among these sums, until one is left; `total`, zero, where there is none.

    A term takes part in as many additions as k has binary digits, where there are k arrays, and in fewer if k is a power of 2.
    """
    left = list(sums) or [total]
    while len(left) > 1:
        left = [sum(left[place + 1 : place + 2], left[place]) for place in range(0, len(left), 2)]
    return left[0]


def asked(cluster: Any, token: str, local: Any, method: str, *given: Any) -> list[Any]:
    """The results of all partitions, and that of the persons who are in none."""
    results: list[Any] = cluster.ask(token, method, *given)
    return results if local is None else [*results, result_of(local, method, given)]


class _Absent:
    """Persons who are in no partition, in the form of one."""

    sparse = False

    def __init__(self, blocks: Any) -> None:
        self.blocks, self.records = blocks, blocks.people
