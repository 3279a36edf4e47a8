"""Sums that describe the shape of the rows: moments, weights, weighted gradients, curvature and scores.

With z = (x, c) a row and its constant feature, B a public map, v(z) = min(1, 1/|Bz|, bend/|Bz|^2) and phi a loss of one score:

    moments      sum min(1, R^2/|z|^2) z z'       curvature    sum v phi'' Bz (Bz)'
    gradient     sum v phi' z                      scores       sum v^2 phi'^2 Bz (Bz)'  and  sum v^2 phi'^2 |Bz|^2

Every matrix is a product F'F for each part, F being its rows (mapped ones for curvature and scores, so that the roundings of the
sum are not magnified by B), each multiplied by the root of its weight. The parts are those of
the engine, added in their order. What is computed within one record is a function of that record alone and is
bounded by its clip, whatever its rounding; only the sums have the rounding error that `protocol.gradient_error` bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.engines.design import kernel_arguments
from sfumato.engines.parts import Part, Piece
from sfumato.engines.protocol import LabelScale
from sfumato.engines.residual_cells import SHORTER, cells
from sfumato.engines.threads import add_up, few_at_a_time, sums_few_at_a_time
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import Loss, ScalarLinkLoss
from sfumato.models.row_products import row_products

Array = NDArray[np.float64]
# From the number of a part and the part itself to the weights of the rows of each of its pieces.
Weigh = Callable[[int, Part], Sequence[Array]]
# Twice the unit roundoff of float64: lengths are lengthened by multiples of it, so that no weight is rounded up.
_ULP = 2.0**-52


class Shaped:
    """Base of the engines that sum moments and weighted second-order terms.

    An engine that inherits it offers its rows in fixed parts and sums weighted gradients.
    """

    n: int
    additions: float
    labels: tuple[str, ...]
    dimension: int
    _model: Gibbs

    def parts(self) -> Iterator[Part]:
        """Rows (dense or CSR) and labels of each part, in their order."""
        raise NotImplementedError

    def weighted_gradient(self, theta: Array, loss: Loss, weigh: Weigh | None) -> Array:
        """Sum over the records of v phi' z at each of (chains, d) parameters; `weigh` gives the weights of a part's pieces."""
        raise NotImplementedError

    @property
    def held(self) -> bool:
        """Whether the rows are in memory."""
        return True

    def kept_parts(self) -> int:
        """Parts of rows that are read anew on every pass and whose weights may be kept in memory; 0 where there is no room."""
        return 0

    def moments(self, radius: float, label: LabelScale | None = None) -> Array:
        """Sum over the records of min(1, R^2/|z|^2) z z', z with the label's column last where `label` is given."""
        if not math.isfinite(_validate.positive("radius", radius) * radius):
            raise ArgumentError(f"radius must have a finite square; got {radius!r}. Declare smaller bounds.")
        intercept, size = self._model.intercept, self.dimension + (label is not None)

        def part(pieces: Part) -> tuple[Array]:
            """The sum over one part."""
            return (add_up([_moments(piece, intercept, radius, label) for piece in pieces]),)

        return symmetric(sums_few_at_a_time(_silent(part), self.parts(), [(size, size)])[0])

    def residual_shares(self, theta: Array, edges: Array) -> Array:
        """Sum over the records of the indicator of the cell of y - z.theta, times the record's share."""
        intercept = float(self._model.intercept)
        work = _silent(lambda pieces: [add_up([cells(piece, intercept, theta, edges) for piece in pieces])])
        return np.asarray(sums_few_at_a_time(work, self.parts(), [(len(edges) + 1,)])[0])

    def weighed(self, matrix: Array, bend: float, loss: Loss | None = None) -> WeighedRows:
        """The same records with weights v = min(1, 1/|Bz|, bend/|Bz|^2), B the public `matrix`."""
        return WeighedRows(self, self._model, matrix, bend, loss or self._model.loss)


class WeighedRows:
    """The records of an engine with a weight each, computed from the rows and a public map: once, or on every pass.

    One weight a row is kept where the rows are in memory, or where weights take a small part of the memory that rows may take.
    Otherwise they are computed anew on every pass, and memory does not grow with the number of rows.
    """

    def __init__(self, engine: Shaped, model: Gibbs, matrix: Array, bend: float, loss: Loss) -> None:
        """Compute the weights of all rows in memory, part by part."""
        self.n, self.additions = engine.n, engine.additions
        self.labels, self.dimension = engine.labels, engine.dimension
        self._engine, self._intercept, self._loss = engine, float(model.intercept), smooth_loss(loss, model.loss)
        self._map, self._bend = checked_map(matrix, self.dimension), checked_bend(bend)
        # Rows that are read anew are weighed by the first pass that needs it.
        self._kept: list[list[Array] | None] = [None] * engine.kept_parts()
        if engine.held:
            self._kept = list(few_at_a_time(self._computed, engine.parts()))

    def _computed(self, part: Part) -> list[Array]:
        """Weights of the rows of each piece of a part."""
        work = _silent(lambda pieces: [_weigh(piece, self._intercept, self._map, self._bend) for piece in pieces])
        return list(work(part))

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of v phi'(z.theta, y) z at each of (chains, d) parameters."""
        return self._engine.weighted_gradient(theta, self._loss, self._weights)

    def _weights(self, place: int, part: Part) -> list[Array]:
        if not self._kept:
            return self._computed(part)
        weights = self._kept[place]
        if weights is None:
            weights = self._kept[place] = self._computed(part)
        return weights

    def second_sums(self, theta: Array, scores: bool) -> tuple[Array, Array | None, float]:
        """Curvature sum, score matrix (if `scores`) and score scale at one parameter (d,), in mapped coordinates."""
        square = (self.dimension, self.dimension)
        shapes = [square, square, ()] if scores else [square, ()]
        steepest, sharpest = self._loss.largest_slope(), self._loss.largest_curvature()

        def piece_sums(piece: Piece, weights: Array) -> list[Array]:
            """The sums over one piece: curvature, the score matrix where it is asked for, and the scale of the scores."""
            mapped, none = _mapped(piece, self._intercept, self._map), np.empty((piece.rows.shape[0], 0))
            lengths = np.sqrt(_squares(mapped))
            lengths[~np.isfinite(lengths)] = 0.0  # of rows whose weight is 0
            reached = _mapped(piece, self._intercept, theta[None])[:, 0]
            steep = weights * _bounded(self._loss.derivative(reached, piece.labels), -steepest, steepest)
            curved = weights * _bounded(self._loss.curvature(reached, piece.labels), 0.0, sharpest)
            bent = _gram(mapped, none, np.sqrt(curved))
            if piece.starts is not None:
                own = _person_scores(mapped, steep, piece.starts, steepest)
                counts = np.diff(np.append(piece.starts, len(steep)))
                # The mean square of a person's rows, which is at least the square of their mean.
                scale = np.asarray(np.sum(np.repeat(counts, counts) * np.square(steep * lengths)))
                return [bent, *([np.asarray(own.T @ own)] if scores else []), scale]
            scale = np.asarray(np.sum(np.square(steep * lengths)))
            return [bent, *([_gram(mapped, none, steep)] if scores else []), scale]

        def part(numbered: tuple[int, Part]) -> list[Array]:
            """The sums over one part."""
            weights = self._weights(*numbered)
            sums = [piece_sums(piece, each) for piece, each in zip(numbered[1], weights, strict=True)]
            return [add_up(same) for same in zip(*sums, strict=True)]

        sums = sums_few_at_a_time(_silent(part), enumerate(self._engine.parts()), shapes)
        return symmetric(sums[0]), symmetric(sums[1]) if scores else None, float(sums[-1])

    def __repr__(self) -> str:
        return f"WeighedRows(n={self.n})"


def _silent(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same work in any thread without warnings: one would reveal that some record overflowed."""

    def quiet(piece: Any) -> Any:
        with np.errstate(all="ignore"):
            return work(piece)

    return quiet


def smooth_loss(loss: Loss, own: Loss) -> ScalarLinkLoss:
    """The loss, which must have a curvature and, where the engine compiles the model's own slopes, compiled ones too."""
    if not isinstance(loss, ScalarLinkLoss) or not loss.constants().smooth:
        raise ArgumentError(f"loss must be smooth and of one score (as Logistic or Huber is); got {loss!r}.")
    if kernel_arguments(own) is not None and kernel_arguments(loss) is None:
        raise ArgumentError(
            f"loss must have compiled slopes like the model's own ({own.name}); got {loss!r}. Give one of the same class."
        )
    return loss


def checked_map(matrix: Array, dimension: int) -> Array:
    """The map as float64, if it is finite and has a row and a column for every coordinate."""
    chart = np.asarray(matrix, dtype=np.float64)
    if chart.shape != (dimension, dimension) or not np.isfinite(chart).all():
        raise ArgumentError(
            f"matrix must be a finite array of shape {(dimension, dimension)}, one row per coordinate of the parameter; "
            f"got shape {chart.shape}."
        )
    return chart


def checked_bend(bend: float) -> float:
    """The bend, if it is 1 or greater."""
    if not _validate.real("bend", bend) >= 1.0:
        raise ArgumentError(f"bend must be 1 or greater (math.inf allowed); got {bend!r}.")
    return float(bend)


def _beside(rows: Any, intercept: float, column: Array | None) -> Array:
    """The columns of z beside those of the rows, shaped (rows, 0 to 2): the constant feature, then the label's."""
    parts = [np.full(rows.shape[0], float(intercept))] if intercept else []
    return np.column_stack([*parts, *([] if column is None else [column]), np.empty((rows.shape[0], 0))])


def _squares(rows: Any) -> Array:
    """Squared lengths of the rows."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def _bounded(values: Array, lower: float, upper: float) -> Array:
    """Values of records within their bounds; 0 for one that is not a number."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf), lower, upper)


def _moments(piece: Piece, intercept: float, radius: float, label: LabelScale | None) -> Array:
    """The moments of one piece."""
    extra = _beside(piece.rows, intercept, None if label is None else label.column(piece.labels))
    factors = _moment_factors(piece.rows, extra, radius)
    if piece.shares is not None:
        factors = factors * np.sqrt(piece.shares * SHORTER)
    return _gram(piece.rows, extra, factors)


def _person_scores(mapped: Array, steep: Array, starts: NDArray[np.int64], steepest: float) -> Array:
    """The score of every person, sum over their rows of the share times v phi' Bz, with a norm of at most the slope."""
    own = np.add.reduceat(steep[:, None] * mapped, starts, axis=0)
    own[~np.isfinite(own).all(axis=1)] = 0.0
    norms = np.sqrt(_squares(own))
    # Norms are rounded by d + 2 units in the last place at most; longer scores are brought to the slope.
    limit = steepest * (1.0 - (own.shape[1] + 8) * _ULP)
    return np.asarray(own * np.minimum(1.0, limit / np.maximum(norms, 1e-300))[:, None])


def _moment_factors(rows: Any, extra: Array, radius: float) -> Array:
    """Roots of min(1, R^2/|z|^2) of each row; 0 for a length that is not finite.

    |z|^2 is a sum of d squares, so its relative error is at most d + 1 roundings; R^2 is shortened by more than that and the
    roundings that follow, so that the norm of a record's term is at most R^2.
    """
    squares = _squares(rows) + _squares(extra)
    room = 1.0 - (rows.shape[1] + extra.shape[1] + 8) * _ULP
    factors = np.sqrt(np.minimum(1.0, room * (radius * radius) / squares))
    return np.where(np.isfinite(squares), factors, 0.0)


def _weigh(piece: Piece, intercept: float, matrix: Array, bend: float) -> Array:
    """Weights v = min(1, 1/|Bz|, bend/|Bz|^2), times the row's share; 0 for a length that is not finite.

    A computed Bz is off by at most d roundings of |B|_F |z|, and its length by d more of its own. The length in v is
    longer by twice both, so that v |Bz| <= 1 and v |Bz|^2 <= bend hold for the exact length, and for every computed Bz.
    """
    rows, d = piece.rows, len(matrix)
    lengths = np.sqrt(_squares(_mapped(piece, intercept, matrix)))
    error = (d + 4) * _ULP * float(np.linalg.norm(matrix)) * np.sqrt(_squares(rows) + intercept * intercept)
    longest = lengths * (1.0 + (d + 8) * _ULP) + error
    weights = np.minimum(1.0, 1.0 / longest)
    if math.isfinite(bend):
        weights = np.minimum(weights, bend / longest / longest)
    if piece.shares is not None:
        weights = weights * (piece.shares * SHORTER)
    return np.where(np.isfinite(longest), weights, 0.0)


def _mapped(piece: Piece, intercept: float, matrix: Array) -> Array:
    """Bz of every row; with a parameter as the only row of B, the scores."""
    width = piece.rows.shape[1]
    mapped = row_products(piece.rows, matrix[:, :width], piece.steady)
    return mapped + intercept * matrix[:, width] if intercept else mapped


def _gram(rows: Any, extra: Array, factors: Array) -> Array:
    """Sum over the rows of f^2 z z' with z = (row, extra) and f the row's factor.

    Products that are not finite are set to 0: 0 times an infinite entry is not a number.
    """
    width = rows.shape[1]
    if isinstance(rows, np.ndarray):
        scaled = np.empty((len(rows), width + extra.shape[1]))
        np.multiply(rows, factors[:, None], out=scaled[:, :width])
        np.multiply(extra, factors[:, None], out=scaled[:, width:])
        scaled[~np.isfinite(scaled)] = 0.0
        return np.asarray(scaled.T @ scaled)
    inner, beside = rows.multiply(factors[:, None]).tocsr(), factors[:, None] * extra
    inner.data[~np.isfinite(inner.data)] = 0.0
    cross = inner.T @ beside
    return np.block([[(inner.T @ inner).toarray(), cross], [cross.T, beside.T @ beside]])


def symmetric(sums: Array) -> Array:
    """The upper triangle in both: a product may add up its two triangles in different orders."""
    return np.triu(sums) + np.triu(sums, 1).T
