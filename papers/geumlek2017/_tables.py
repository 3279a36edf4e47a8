"""The tables of Figure 3: features in [-1/2, 1/2], one level of each category dropped, no constant, rows of norm 1."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks import tables

Array = NDArray[np.float64]
Table = tuple[Array, Array]
# In the order of the figure's columns, with the number of features that the paper states.
FEATURES: dict[str, tuple[Callable[[], Table], int]] = {
    "Abalone": (lambda: tables.abalone_features(1), 9),
    "Adult": (lambda: tables.adult_features(1), 100),
    "MNIST 3v8": (tables.mnist_features, 784),
}
FILES = {
    "Abalone": ("abalone.data",),
    "Adult": ("adult.data", "adult.test"),
    "MNIST 3v8": ("mnist_3v8.npz",),
}


def load(name: str) -> Table:
    """Rows of norm 1, and labels 1 and -1; a missing value ("?") is a level of its own."""
    features, labels = FEATURES[name][0]()
    if features.shape[1] != FEATURES[name][1]:
        raise ValueError(f"{name} has {features.shape[1]} features; the paper states {FEATURES[name][1]}")
    return features / np.linalg.norm(features, axis=1, keepdims=True), labels


def split(table: Table, run: int) -> tuple[Table, Table]:
    """Training and test rows of a run: ceil(n/3) rows are held out."""
    rows, labels = table
    order = np.random.default_rng([2017, run]).permutation(len(rows))
    held = math.ceil(len(rows) / 3)
    test, training = order[:held], order[held:]
    return (rows[training], labels[training]), (rows[test], labels[test])
