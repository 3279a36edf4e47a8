"""Visits of patients, 137 rows of 40 persons, and estimators that are declared for them."""

from __future__ import annotations

import pickletools
import re

import numpy as np
from estimator_cases import ESTIMATORS
from sklearn.base import clone

import sfumato as sf

N, ROWS, MOST = 40, 137, 6
COUNTS = np.array([*np.resize([1, 2, 3, 4, 5, 6], N - 1), 5])
WHO = np.repeat(np.arange(N), COUNTS)
IDS = np.array([f"mrs {one:03d}" for one in range(N)])[WHO]
AVERAGE = sf.Persons("patient", most=MOST, count=N, rows="visits")
FIRST = sf.Persons("patient", rule="first", count=N)
# The number of rows, standing by itself: not within another number.
_ALONE = re.compile(rf"(?<![\d.]){ROWS}(?!\d)")
# Codes of a pickle whose number is one of the object; other codes have numbers of the pickle itself.
_NUMBERS = ("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT")


def visits(seed: int = 0, count: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels, 0 and 1, which every estimator takes."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(count, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=count) > 0).astype(int)


def declared(estimator, persons: sf.Persons | None = AVERAGE, **changes):
    """A clone for persons, with a seed so that fits can be compared."""
    return clone(estimator).set_params(**{"persons": persons, "random_state": 3, **changes})


def logistic(persons: sf.Persons | None = AVERAGE, **changes):
    return declared(ESTIMATORS[0], persons, **changes)


def shows_rows(text: str) -> bool:
    """Whether a text has the number of rows in it."""
    return _ALONE.search(text) is not None


def pickles_rows(pickled: bytes) -> bool:
    """Whether a pickle has the number of rows in it, as a number, as a side of an array or within a text."""
    for code, value, _ in pickletools.genops(pickled):
        if isinstance(value, str) and shows_rows(value):
            return True
        if code.name in _NUMBERS and value == ROWS:
            return True
    return False
