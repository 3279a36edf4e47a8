"""Measures of a synthetic table: total variation of its 1-, 2- and 3-way tables, and a classifier that is trained on it.

Rows are codes (rows, columns), as synthetic_tables.Table makes them from real and from synthetic rows alike.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from synthetic_tables import Codes, Table

# All tables of so many columns are compared, or this many of them, drawn once by a fixed seed.
MOST = 200
MEASURES = ("1-way", "2-way", "3-way", "boosting", "logistic")


def subsets(d: int, k: int) -> list[tuple[int, ...]]:
    """Sets of k of d columns: all, or a fixed random selection of `MOST` for triples."""
    every = list(itertools.combinations(range(d), k))
    if k < 3 or len(every) <= MOST:
        return every
    chosen = np.random.default_rng(0).choice(len(every), size=MOST, replace=False)
    return [every[place] for place in sorted(chosen)]


def shares(codes: Codes, sizes: list[int], columns: tuple[int, ...]) -> NDArray[np.float64]:
    """Shares of the cells of one table."""
    place = np.zeros(len(codes), dtype=np.int64)
    for column in columns:
        place = place * sizes[column] + codes[:, column]
    return np.bincount(place, minlength=math.prod(sizes[column] for column in columns)) / len(codes)


def variation(rows: Codes, truth: Codes, sizes: list[int], k: int) -> float:
    """Mean total variation between the k-way tables of two sets of rows."""
    gaps = [
        0.5 * np.abs(shares(rows, sizes, columns) - shares(truth, sizes, columns)).sum()
        for columns in subsets(len(sizes), k)
    ]
    return float(np.mean(gaps))


def areas(table: Table, rows: Codes, held: Codes) -> dict[str, float]:
    """Area under the ROC curve on real held-out rows, of two classifiers trained on `rows`; 1/2 where they have one class."""
    # Imported here: total variation alone needs no scikit-learn.
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    target = table.names.index(table.target)
    others = [column for column in range(len(table.names)) if column != target]
    labels, truth = rows[:, target] >= table.positive, held[:, target] >= table.positive
    if labels.all() or not labels.any():
        return {"boosting": 0.5, "logistic": 0.5}
    levels = [list(range(table.sizes[column])) for column in others]
    models = {
        "boosting": HistGradientBoostingClassifier(
            categorical_features=[table.unordered[column] for column in others], early_stopping=False, random_state=0
        ),
        "logistic": make_pipeline(OneHotEncoder(categories=levels), LogisticRegression(max_iter=500)),
    }
    return {
        name: float(roc_auc_score(truth, model.fit(rows[:, others], labels).predict_proba(held[:, others])[:, 1]))
        for name, model in models.items()
    }


def judged(table: Table, rows: Codes, truth: Codes, held: Codes) -> dict[str, float]:
    """Every measure of one synthetic table."""
    errors = {f"{k}-way": variation(rows, truth, table.sizes, k) for k in (1, 2, 3)}
    return {**errors, **areas(table, rows, held)}
