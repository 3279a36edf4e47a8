"""The engine of a graphics card: one read of the rows a step, for one chain or several.

Rows lie on the card as float32, each entry cut off towards 0, so that no row grows. Every sum over records is float64 from its
first addition on, within runs of rows by one warp and over runs in a fixed order, without atomics: it has the same bits every
time, and its rounding error is within the bound that all plans charge (`protocol.gradient_error`). Float32 within parts would be no
faster, since a pass waits for the memory of the card, and would have to be charged: gradients are summed in the coordinates of the
rows and mapped afterwards, which magnifies their roundings by the norm of the map (docs/proofs/gpu.md).

A table that does not fit on the card stays in the memory of the machine and passes through the card in chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.cuda.card import THREADS, WARPS, Card, most_chains, open_card, shape_of
from sfumato.dataset import Dataset
from sfumato.engines.card_rows import PART, RUN, CardRows, Piece, Room, step_rows
from sfumato.engines.design import coordinates, kernel_arguments
from sfumato.engines.protocol import LabelScale
from sfumato.engines.shapes import checked_bend, checked_map, smooth_loss, symmetric
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import Loss

Array = NDArray[np.float64]
# Lines that are folded into one, as in the source of the kernels.
_FOLD = 64


class GpuEngine:
    """Sums over dense rows on a card, for the losses that have a compiled slope."""

    # Whether scores are float64, in two reads a step.
    exact = False

    def __init__(self, dataset: Dataset, model: Gibbs, card: Card | None = None) -> None:
        """Bring the rows to the card or, where they do not fit, into memory from which it reads fast."""
        self._model = model
        self._card = open_card() if card is None else card
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        self._intercept = float(model.intercept)
        self._width = self.dimension - bool(self._intercept)
        self._quads = max(1, -(-self._width // 4))
        # In one dimension two gradients of the logistic loss differ by less than twice the slope, which follows from their scores.
        self._one_read = bool(most_chains(self._quads)) and not self.exact and self.dimension > 1
        self._held = CardRows(dataset, model, self._card, Room.of(dataset, model, self._card))
        # Rows of a run by one lane, those of its warp, and folds; or rows of a part, parts of a step, and folds.
        runs, parts = -(-self.n // RUN), -(-self.n // PART)
        self._step = step_rows(self.dimension)
        in_runs = min(self.n, RUN) + 5 + _folds(runs)
        in_parts = min(self.n, PART) + min(parts, self._step // PART) + _folds(_blocks(self.n, self._step))
        self.additions = float(max(in_runs, in_parts))

    @classmethod
    def check(cls, dataset: Dataset, model: Gibbs) -> None:
        """Refuse a table for which the card has no room, from public numbers."""
        Room.of(dataset, model, open_card())

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, self._held.shares)

    def weighted_gradient(self, theta: Array, loss: Loss, weights: Any) -> Array:
        """The same of another loss with compiled slopes, and with a weight a row on the card."""
        points, sums = np.ascontiguousarray(theta, dtype=np.float64), []
        together = most_chains(self._quads) if self._one_read else 1
        first = 0
        while first < len(points):
            count = min(together, 1 << ((len(points) - first).bit_length() - 1))
            sums.append(self._gradients(points[first : first + count], loss, weights))
            first += count
        return np.concatenate(sums)

    def _gradients(self, points: Array, loss: Loss, weights: Any) -> Array:
        """The sums of as many chains as one read serves."""
        xp, chains, d = self._card.xp, len(points), self._width
        code, first, second = kernel_arguments(loss)  # type: ignore[misc]
        with np.errstate(all="ignore"):
            theta = np.zeros((chains, 4 * self._quads), dtype=np.float32)
            theta[:, :d] = points[:, :d]
        bias = points[:, d] * self._intercept if self._intercept else np.zeros(chains)
        runs, line = -(-self.n // RUN), 4 * self._quads + 1
        out, placed = xp.empty((runs, chains * line)), xp.asarray(theta)
        exact = np.zeros(4 * self._quads)
        exact[:d] = points[0, :d]
        numbers = (np.float64(first), np.float64(second))
        for piece in self._held.pieces():
            given = (piece.rows, self._held.labels[piece.first :], _from(weights, piece.first), np.int64(piece.count))
            target = out[piece.first // RUN :]
            if self._one_read:
                shape = shape_of(self._quads, chains)
                launch = self._card.kernel(shape.kernel, LOSS=code, **shape.defined)
                launch(_blocks(piece.count, RUN * shape.runs), *given, placed, xp.asarray(bias), *numbers, target)
                continue
            steep = xp.empty(piece.count)
            launch = self._card.kernel("slopes", LOSS=code, D4=self._quads)
            launch(_blocks(piece.count, WARPS), *given, xp.asarray(exact), np.float64(bias[0]), *numbers, steep)
            launch = self._card.kernel("columns", D4=self._quads)
            blocks = _blocks(piece.count, RUN) * _blocks(self._quads + 1, THREADS)
            launch(blocks, piece.rows, steep, np.int64(piece.count), target)
        total = self._folded(out).reshape(chains, line)
        found = np.empty((chains, self.dimension))
        found[:, :d] = total[:, :d]
        if self._intercept:
            found[:, d] = total[:, -1] * self._intercept
        return found

    def moments(self, radius: float, label: LabelScale | None = None) -> Array:
        """Sum over the records of min(1, R^2/|z|^2) z z', z with the label's column last where `label` is given."""
        if not math.isfinite(_validate.positive("radius", radius) * radius):
            raise ArgumentError(f"radius must have a finite square; got {radius!r}. Declare smaller bounds.")
        size = self.dimension + (label is not None)
        total = _Running()
        for step in self._steps():
            total.add(self._gram(self._widened(step, size, radius, label)))
        return symmetric(_here(total.sum(), (size, size)))

    def residual_shares(self, theta: Array, edges: Array) -> Array:
        """Sum over the records of the indicator of the cell of y - z.theta, times the record's share."""
        xp, total, cells = self._card.xp, _Running(), np.arange(len(edges) + 1)
        for step in self._steps():
            rows, shares = self._widened(step, self.dimension)[: step.count], _from(self._held.shares, step.first)
            residuals = self._held.labels[step.first : step.first + step.count].astype(np.float64)
            for j, value in enumerate(theta.tolist()):  # coordinate by coordinate (`residual_cells`)
                residuals -= rows[:, j] * value
            counted = 1.0 if shares is None else shares[: step.count, None].astype(np.float64)
            inside = (residuals[:, None] > xp.asarray(edges)).sum(axis=1)[:, None] == xp.asarray(cells)
            total.add(self._fold(xp.where(inside & ~xp.isnan(residuals)[:, None], counted, 0.0)))
        return _here(total.sum(), (len(edges) + 1,))

    def weighed(self, matrix: Array, bend: float, loss: Loss | None = None) -> WeighedOnCard:
        """The same records with weights v = min(1, 1/|Bz|, bend/|Bz|^2), B the public `matrix`."""
        return WeighedOnCard(self, matrix, bend, loss or self._model.loss)

    def _steps(self) -> Iterator[Piece]:
        """The rows of one pass in steps of a public size."""
        step = self._step
        for piece in self._held.pieces():
            for start in range(0, piece.count, step):
                count = min(step, piece.count - start)
                yield Piece(piece.first + start, count, piece.rows[start : start + count])

    def _widened(self, step: Piece, size: int, radius: float = 0.0, label: LabelScale | None = None) -> Any:
        """The rows of a step in float64, filled up with zero rows to whole parts; with a radius, scaled for the moments."""
        out = self._card.xp.zeros((_blocks(step.count, PART) * PART, size))
        centre, half, scale = (0.0, 0.0, 0.0) if label is None else (label.centre, label.half, label.scale)
        numbers = [np.float64(each) for each in (self._intercept, centre, half, scale, radius)]
        launch = self._card.kernel("widened", D4=self._quads)
        labels, shares = self._held.labels[step.first :], _from(self._held.shares, step.first)
        launch(_blocks(step.count, WARPS), step.rows, labels, shares, np.int64(step.count), np.int32(self._width),
               *numbers, out)  # fmt: skip
        return out

    def _gram(self, rows: Any) -> Any:
        """F'F of the rows of a step, by parts, added up."""
        parts = rows.reshape(-1, PART, rows.shape[1])
        return self._fold(self._card.xp.matmul(parts.transpose(0, 2, 1), parts).reshape(len(parts), -1))

    def _fold(self, lines: Any) -> Any:
        """The sum of lines on the card, shaped (1, width): 64 after each other, then 64 of these sums, and so on."""
        lines = self._card.xp.ascontiguousarray(lines)
        launch = self._card.kernel("fold", D4=self._quads)
        while len(lines) > 1:
            out = self._card.xp.empty((_blocks(len(lines), _FOLD), lines.shape[1]))
            launch(_blocks(out.size, THREADS), lines, np.int64(len(lines)), np.int64(lines.shape[1]), out)
            lines = out
        return lines

    def _folded(self, lines: Any) -> Array:
        """The sum of lines, here; zeros where there are none."""
        return _here(self._fold(lines) if len(lines) else None, (lines.shape[1],))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n})"


class ExactGpuEngine(GpuEngine):
    """The same with scores in float64, for procedures whose price bounds the rounding of a step over all records together.

    Chains that contract are such: a score that is off in float32 moves every record's gradient, not only that of the replaced one.
    """

    exact = True


class _Running:
    """The sum of lines as `fold` adds them, 64 after each other and 64 of these sums, without keeping them."""

    def __init__(self) -> None:
        self._levels: list[tuple[Any, int]] = []

    def add(self, line: Any, level: int = 0) -> None:
        """Add a line; where it is the 64th of its level, their sum goes to the next one."""
        if level == len(self._levels):
            self._levels.append((0.0, 0))
        total, count = self._levels[level]
        total = total + line
        if count + 1 == _FOLD:
            self._levels[level] = (0.0, 0)
            self.add(total, level + 1)
        else:
            self._levels[level] = (total, count + 1)

    def sum(self) -> Any:
        """The sum of all lines; None where there were none."""
        carried = None
        for total, count in self._levels:
            carried = carried if not count else total if carried is None else total + carried
        return carried


def _here(array: Any, shape: tuple[int, ...]) -> Array:
    """An array of the card in the memory of the machine; zeros for None."""
    if array is None:
        return np.zeros(shape)
    return np.array(array.get() if hasattr(array, "get") else array).reshape(shape)


class WeighedOnCard:
    """The records of a card with a weight each, computed once and kept there."""

    def __init__(self, engine: GpuEngine, matrix: Array, bend: float, loss: Loss) -> None:
        self.n, self.additions = engine.n, engine.additions
        self.labels, self.dimension = engine.labels, engine.dimension
        self._engine, self._card = engine, engine._card
        self._loss = smooth_loss(loss, engine._model.loss)
        self._map = self._card.xp.asarray(checked_map(matrix, self.dimension))
        numbers = (np.float64(np.linalg.norm(matrix)), np.float64(checked_bend(bend)))
        self._weights = self._card.xp.empty(self.n, np.float32)
        launch = self._card.kernel("weigh", D4=engine._quads)
        for step in engine._steps():
            rows, mapped = self._mapped(step)
            shares, out = _from(engine._held.shares, step.first), self._weights[step.first :]
            count, width = np.int64(step.count), np.int32(self.dimension)
            launch(_blocks(step.count, WARPS), rows, mapped, shares, count, width, *numbers, out)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of v phi'(z.theta, y) z at each of (chains, d) parameters."""
        return self._engine.weighted_gradient(theta, self._loss, self._weights)

    def _mapped(self, step: Piece) -> tuple[Any, Any]:
        """The rows of a step, and their images under the map."""
        rows = self._engine._widened(step, self.dimension)
        return rows, self._card.xp.matmul(rows, self._map.T)

    def second_sums(self, theta: Array, scores: bool) -> tuple[Array, Array | None, float]:
        """Curvature sum, score matrix (if `scores`) and score scale at one parameter (d,), in mapped coordinates."""
        engine, point = self._engine, self._card.xp.asarray(theta, dtype=np.float64)
        totals = (_Running(), _Running(), _Running())
        for step in engine._steps():
            for total, term in zip(totals, self._second(step, point, scores), strict=True):
                if term is not None:
                    total.add(term)
        square = (self.dimension, self.dimension)
        bent, spread, scale = (
            _here(total.sum(), shape) for total, shape in zip(totals, (square, square, (1,)), strict=True)
        )
        return symmetric(bent), symmetric(spread) if scores else None, float(scale[0])

    def _second(self, step: Piece, point: Any, scores: bool) -> tuple[Any, Any, Any]:
        """The three sums over the rows of a step; its float64 rows are given back when it ends."""
        engine, xp = self._engine, self._card.xp
        code, first, second = kernel_arguments(self._loss)  # type: ignore[misc]
        numbers = [first, second, self._loss.largest_slope(), self._loss.largest_curvature()]
        rows, mapped = self._mapped(step)
        bent, squares = xp.zeros(rows.shape), xp.zeros((len(rows), 1))
        steep = xp.zeros(rows.shape) if scores else None
        launch = self._card.kernel("second_order", D4=engine._quads)
        launch(_blocks(step.count, WARPS), rows, mapped, engine._held.labels[step.first :], self._weights[step.first :],
               np.int64(step.count), np.int32(self.dimension), point, np.int32(code), *map(np.float64, numbers), bent, steep,
               squares)  # fmt: skip
        return engine._gram(bent), engine._gram(steep) if scores else None, engine._fold(squares)

    def __repr__(self) -> str:
        return f"WeighedOnCard(n={self.n})"


def _blocks(count: int, each: int) -> int:
    return -(-count // each)


def _folds(lines: int) -> int:
    """Additions of folding so many lines to one."""
    total = 0
    while lines > 1:
        total += min(lines, _FOLD)
        lines = _blocks(lines, _FOLD)
    return total


def _from(array: Any, first: int) -> Any:
    return None if array is None else array[first:]
