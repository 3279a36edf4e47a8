"""What the odd records are tried on: every estimator, alone and behind every kind of first step, and every form of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from estimator_cases import ESTIMATORS, name
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.pipeline import make_pipeline as bare_pipeline
from sklearn.preprocessing import Binarizer, Normalizer, OneHotEncoder, PolynomialFeatures

import sfumato as sf

ROWS = 6
X = np.linspace(-0.9, 0.8, ROWS * 3).reshape(ROWS, 3)
X[:, 1] = [1, -1, -1, 1, 1, -1]  # levels of the schema
Y = [1, 0, 1, 1, 0, 1]
ANY = sf.PrivateLogisticRegression(1.0, 1e-6, data_norm=2.0, classes=[0, 1], missing_class=0)
ALONE = [
    *map(clone, ESTIMATORS),
    clone(ANY).set_params(rows="normalise"),
    clone(ANY).set_params(data_norm=None, bounds=([-1, -1, -1], [1, 1, 1])),
    clone(ANY).set_params(classes=["0", "1", "2"], missing_class="0", fit_intercept=False),
]
SCHEMA = sf.Schema(
    {"x0": sf.Number(-1, 1, missing=0.25), "x1": sf.Category([-1, 1], missing=-1), "x2": sf.Number(-1, 1)}
)
SCALER, ENCODER = sf.PublicScaler(bounds=(-1, 1)), sf.PublicEncoder(SCHEMA)
ONE_HOT = OneHotEncoder(categories=[[-0.5, 0.5]] * 3, handle_unknown="ignore", sparse_output=False)
UNION = FeatureUnion([("a", SCALER), ("b", bare_pipeline(ENCODER, Normalizer())), ("c", "drop")])
COLUMNS = ColumnTransformer(
    [("a", bare_pipeline(sf.PublicScaler(bounds=(-1, 1)), PolynomialFeatures(2)), [0]), ("b", sf.make_pipeline(SCALER), [2])],
    remainder=sf.PublicEncoder(levels=[-1, 1], missing=-1, drop=None),
)  # fmt: skip
AS_FRAMES = bare_pipeline(COLUMNS, Normalizer()).set_output(transform="pandas")

# What comes before the estimator, and who makes the pipeline.
BEFORE = {
    "scaler": (sf.make_pipeline, [SCALER]),
    "encoder": (sf.make_pipeline, ["passthrough", ENCODER, "passthrough"]),
    "nothing": (sf.make_pipeline, ["passthrough"]),
    "products": (sf.make_pipeline, [SCALER, PolynomialFeatures(2), Binarizer()]),
    "categories": (sf.make_pipeline, [SCALER, ONE_HOT, FeatureUnion([("a", "passthrough"), ("b", Normalizer())])]),
    "nested": (sf.make_pipeline, [bare_pipeline(None, sf.make_pipeline(ENCODER, Normalizer()))]),
    "union": (sf.make_pipeline, [UNION]),
    "columns": (sf.make_pipeline, [COLUMNS]),
    "columns as frames": (sf.make_pipeline, [AS_FRAMES]),
    "bare scaler": (bare_pipeline, [SCALER, PolynomialFeatures(2)]),
    "bare encoder": (bare_pipeline, ["passthrough", bare_pipeline("passthrough", ENCODER)]),
    "bare nothing": (bare_pipeline, []),
    "bare around ours": (bare_pipeline, [sf.make_pipeline(COLUMNS)]),
}
# scikit-learn would make an array of a list there, so a list is refused.
NO_LISTS = ("union", "columns", "columns as frames", "bare around ours")
# Every estimator stands behind these, and behind each of the others one of them in turn.
WITH_ALL = ("scaler", "bare encoder")


def behind(kind: str, last):
    make, steps = BEFORE[kind]
    return make(*(step if step is None or isinstance(step, str) else clone(step) for step in steps), clone(last))


def declared() -> dict[str, object]:
    """All of them by name; the name of a pipeline begins with what comes before its estimator."""
    made: dict[str, object] = {f"{name(each)}-{each.rows}-{each.bounds is None}": each for each in ALONE}
    for place, kind in enumerate(BEFORE):
        for last in ESTIMATORS if kind in WITH_ALL else [ESTIMATORS[place % len(ESTIMATORS)]]:
            made[f"{kind}, {name(last)}"] = behind(kind, last)
    return made


DECLARED = declared()
# Labels go through each estimator alone and behind one pipeline of ours and a bare one; rows through every kind of first step once.
BY_LABELS = [kind for kind in DECLARED if kind.partition(",")[0] in WITH_ALL or kind.partition(",")[0] not in BEFORE]
BY_ROWS = list({kind.partition(",")[0]: kind for kind in DECLARED}.values())


def objects(cells) -> np.ndarray:
    """An array of these objects, which numpy is not asked about."""
    made = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        made[place] = cell
    return made


def grid(rows) -> np.ndarray:
    made = np.empty((len(rows), len(rows[0])), dtype=object)
    for place, row in enumerate(rows):
        for column, cell in enumerate(row):
            made[place, column] = cell
    return made


def columns(make):
    """The function from rows to the columns x0, x1, ... that `make` makes of their cells."""
    return lambda rows: {f"x{place}": make(list(cells)) for place, cells in enumerate(zip(*rows, strict=True))}


def alike(cells, *kinds) -> list:
    """The cells of a typed column; it holds no cell of another type."""
    if not {type(cell) for cell in cells} <= {*kinds}:
        raise TypeError
    return cells


def numbers(cells) -> list:
    return alike(cells, float, type(None))


def texts(cells) -> list:
    return alike([repr(cell) if type(cell) is float else cell for cell in cells], str, type(None))


# Sources with typed columns raise where they are made of a cell that they cannot hold.
TABLES = {
    "list": list,
    "tuple": lambda rows: tuple(map(tuple, rows)),
    "objects": grid,
    "frame": lambda rows: pd.DataFrame(columns(lambda cells: pd.Series(objects(cells)))(rows)),
    "numbers": lambda rows: np.array(rows, dtype=np.float64),
    "nullable": lambda rows: pd.DataFrame(
        columns(lambda cells: pd.array(alike(cells, float, type(None), type(pd.NA)), dtype="Float64"))(rows)
    ),
    "polars": lambda rows: pl.DataFrame(columns(lambda cells: pl.Series(numbers(cells), dtype=pl.Float64))(rows)),
    "polars texts": lambda rows: pl.DataFrame(columns(lambda cells: pl.Series(texts(cells), dtype=pl.String))(rows)),
    "pyarrow": lambda rows: pa.table(columns(lambda cells: pa.array(numbers(cells), type=pa.float64()))(rows)),
    "pyarrow texts": lambda rows: pa.table(columns(lambda cells: pa.array(texts(cells), type=pa.string()))(rows)),
}
WHOLE = {"list": list, "objects of rows": objects}
LABELS = {
    "list": list,
    "lists of one": list,
    "tuples of one": tuple,
    "objects": objects,
    "series": lambda labels: pd.Series(objects(labels)),
}
WRAPPED = {"lists of one": lambda label: [label], "tuples of one": lambda label: (label,)}


def forms_of(kind: str, forms: dict) -> dict:
    """The forms that an estimator or pipeline of this name accepts."""
    listed = ("list", "tuple", *WHOLE) if kind.partition(",")[0] in NO_LISTS else ()
    return {form: make for form, make in forms.items() if form not in listed}


def made_as(make, rows):
    """The table, or None where such a table cannot hold these rows."""
    try:
        return make(rows)
    except Exception:  # of numpy, pandas, polars, pyarrow or `alike`
        return None
