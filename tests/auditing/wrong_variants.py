"""Wrong variants of procedures, engines and readers that a replay must see, each as a patch of the running code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from replay_cases import N

from sfumato.engines.parts import Piece
from sfumato.engines.reference import ReferenceEngine
from sfumato.procedures import lattice, law, path, shape_first
from sfumato.samplers import langevin
from sfumato.schema import read_arrays
from sfumato.shapes import symmetric


def from_raw_moments(monkeypatch):
    """The map follows from moments without noise."""

    held, publish, learn = [], shape_first.publish_moments, shape_first.learnt

    def kept(model, engine, noise, label, source):
        held[:] = [symmetric.packed(engine.moments(model.loss.radius, label) / engine.n)]
        return publish(model, engine, noise, label, source)

    monkeypatch.setattr(shape_first, "publish_moments", kept)
    monkeypatch.setattr(shape_first, "learnt", lambda model, moments, *public: learn(model, held[0], *public))


def longest_row_scales_all(monkeypatch):
    """One record decides how all are read: every row is divided by the longest one."""

    def scaled(matrix, data_norm, rows="clip"):
        matrix[~np.isfinite(matrix)] = 0.0
        matrix *= data_norm / max(data_norm, float(np.abs(matrix).max()))
        return np.ones(len(matrix), dtype=bool)

    monkeypatch.setattr(read_arrays, "bound_rows", scaled)


def no_clip(monkeypatch):
    """Rows longer than declared stay as long as they are."""

    def unbounded(matrix, data_norm, rows="clip"):
        matrix[~np.isfinite(matrix)] = 0.0
        return np.ones(len(matrix), dtype=bool)

    monkeypatch.setattr(read_arrays, "bound_rows", unbounded)


def early_stop(monkeypatch):
    """A path ends when its gradient is small."""

    def carry_out(task, engine, *rest):
        small = float(np.abs(engine.gradient(np.zeros((1, engine.dimension)))).max()) < 3.0
        return path_carry_out(
            replace(task, parameters=replace(task.parameters, steps=2 if small else 3)), engine, *rest
        )

    path_carry_out = path.carry_out
    monkeypatch.setattr(path, "carry_out", carry_out)


def bound_from_the_data(monkeypatch):
    """Values are clipped at the largest mean value that the data have."""

    class Clipping:
        def __init__(self, engine):
            self.engine, self.labels = engine, engine.labels

        def values(self, points, unit, bound):
            largest = unit * max(map(abs, self.engine.values(points, unit, bound))) / N
            return self.engine.values(points, unit, largest)

    run = lattice.carry_out
    monkeypatch.setattr(lattice, "carry_out", lambda task, engine, *rest: run(task, Clipping(engine), *rest))


def scale_from_the_data(monkeypatch):
    """Noise in units of the numbers that it hides."""

    def noisy(values, noise, source):
        return values + noise * (1 + float(np.abs(values).max())) * source.normal(values.shape)

    monkeypatch.setattr(shape_first, "noisy", noisy)


def one_set_of_normals(monkeypatch):
    """The same normals are added to two steps."""

    class Once:
        def __init__(self, source):
            self.source, self.held = source, None

        def normal(self, shape):
            self.held = self.held or self.source.normal(shape)
            return self.held

    run = langevin.noisy_path
    monkeypatch.setattr(path, "noisy_path", lambda g, r, noise, source, *rest: run(g, r, noise, Once(source), *rest))


def counted_twice(monkeypatch):
    """The first record is added twice."""

    part = ReferenceEngine._part

    def twice(self, piece, theta, loss, weights):
        first = None if weights is None else weights[:1]
        once = Piece(piece.rows[:1], piece.labels[:1])
        return part(self, piece, theta, loss, weights) + part(self, once, theta, loss, first)

    monkeypatch.setattr(ReferenceEngine, "_part", twice)


def totals_without_noise(monkeypatch):
    """Draws follow from the totals themselves, not from the noisy ones."""

    held, exact, drawn = [], law.exact_totals, law.drawn

    def kept(model, engine):
        held[:] = [exact(model, engine)]
        return held[0]

    monkeypatch.setattr(law, "exact_totals", kept)
    monkeypatch.setattr(law, "drawn", lambda model, totals, *rest: drawn(model, held[0], *rest))


def raw_transcript(monkeypatch):
    """A billionth of a gradient without noise is added to what is kept of a path."""

    run = path.carry_out

    def carry_out(task, engine, *rest):
        draws = run(task, engine, *rest)
        raw = engine.gradient(np.zeros((task.draws, engine.dimension))) / task.n
        return replace(draws, transcript=draws.transcript + 1e-9 * raw[:, None, :])

    monkeypatch.setattr(path, "carry_out", carry_out)


# The fault, a case that has the place for it, an engine, and what is seen: an exceeded declaration, or words.
WRONG = [
    (from_raw_moments, "shaped path", "dense", "arguments"),
    (from_raw_moments, "shaped chain", "dense", "arguments"),
    (longest_row_scales_all, "path", "reference", None),
    (no_clip, "path", "dense", None),
    (no_clip, "lattice", "values", None),
    (early_stop, "path", "dense", "the plan has"),
    (bound_from_the_data, "lattice", "values", "arguments"),
    (scale_from_the_data, "shaped path", "dense", "deviation"),
    (raw_transcript, "path", "dense", "released"),
    (one_set_of_normals, "path", "dense", "two sets"),
    (counted_twice, "path with kinks in a ball", "reference", None),
    (counted_twice, "chain of residuals", "reference", None),
    (totals_without_noise, "rate, noisy-totals", "codes", None),
]
