"""From the user's row to the row that is priced, and back."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from estimator_cases import rows
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import sfumato as sf
from effort import sized
from sfumato.dataset import rows_of
from sfumato.errors import ArgumentError
from sfumato.estimators._rows import Recipe, feature_bounds
from sfumato.schema.read_rows import open_grid

CELLS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([1e308, -1e308, 0.5, 1e-300]))
DECLARATIONS = [
    {"data_norm": 1.5},
    {"data_norm": 1.5, "rows": "normalise"},
    {"data_norm": 1.5, "fit_intercept": False},
    {"data_norm": 1.5, "fit_intercept": False, "rows": "normalise"},
    {"bounds": ([-1, 0, 5], [1, 2, 9])},
    {"bounds": ([-1, 0, 5], [1, 2, 9]), "rows": "normalise"},
    {"bounds": ([-1, 0, 5], [1, 2, 9]), "fit_intercept": False},
    {"bounds": ([-1, 0, 5], [1, 2, 9]), "data_norm": 0.6},
]


def recipe(width: int = 3, **declared) -> Recipe:
    return Recipe.of(sf.PrivateLogisticRegression(1.0, 1e-6, classes=[0, 1], missing_class=0, **declared), width)


def opened(X):
    """A matrix as estimators hand it to a recipe."""
    return X if sparse.issparse(X) else open_grid(X)


def seen(made: Recipe, X) -> np.ndarray:
    """The rows that the engine reads, the constant of the model appended."""
    data = sf.Dataset.from_arrays(
        made.prepare(opened(X)), np.zeros(X.shape[0]), schema=made.schema(sf.Boolean(missing=False), "data")
    )
    matrix = np.vstack(
        [
            np.asarray(block["matrix"].todense() if sparse.issparse(block["matrix"]) else block["matrix"])
            for block in rows_of(data).blocks()
        ]
    )
    return np.column_stack([matrix, np.full(len(matrix), made.intercept)]) if made.intercept else matrix


@pytest.mark.parametrize("declared", DECLARATIONS)
@given(cells=st.lists(CELLS, min_size=12, max_size=12))
def test_no_row_is_longer_than_what_is_paid_for(declared, cells):
    made = recipe(**declared)
    found = seen(made, np.array(cells).reshape(4, 3))
    assert np.isfinite(found).all()
    assert all(math.hypot(*row) <= made.radius * (1 + 1e-15) for row in found)
    assert found.shape[1] == made.size


@pytest.mark.planted
def test_a_constant_that_is_not_paid_for_would_be_seen():
    made = recipe(data_norm=1.5)
    found = seen(made, np.full((1, 3), 1e9))
    assert math.hypot(*found[0]) > made.data_norm * 1.1


@pytest.mark.parametrize(
    ("declared", "radius"),
    [
        (DECLARATIONS[0], 1.5 * math.sqrt(1.25)),
        (DECLARATIONS[1], 1.5),
        (DECLARATIONS[2], 1.5),
        (DECLARATIONS[4], math.sqrt(0.75 * 1.25)),
        (DECLARATIONS[5], 1.0),
        (DECLARATIONS[7], 0.6 * math.sqrt(1.25)),
    ],
)
def test_the_price_rests_on_the_radius_with_the_intercept(declared, radius):
    """The moments' share of mu^2 is a tenth: sqrt(2) radius^2/(n noise) squared, and a little for roundings."""
    X, y = rows()
    estimator = sf.PrivateLogisticRegression(1.0, 1e-6, classes=[0, 1], missing_class=0, **declared).fit(X, y)
    plan = estimator.plan_
    mu = math.sqrt(2) * radius**2 / (len(X) * plan["moments_noise"]) / math.sqrt(0.1)
    assert plan.model.loss.radius == pytest.approx(radius, rel=1e-12)
    assert estimator.guarantee_.curve.mu == pytest.approx(mu, rel=1e-6)
    assert estimator.guarantee_.curve.mu >= mu * (1 - 1e-9)


@pytest.mark.parametrize("declared", DECLARATIONS)
@pytest.mark.parametrize("outputs", [1, 4])
def test_a_parameter_goes_to_the_users_units_and_back(declared, outputs):
    rng = np.random.default_rng(1)
    made = recipe(**declared)
    parameter = rng.normal(size=(outputs, made.size))
    coefficients, intercepts = made.to_user(parameter)
    assert np.allclose(made.from_user(coefficients, intercepts), parameter)
    # The scaled row with the constant, written out, has the score of the user's row.
    inside = rng.uniform(0.1, 0.2, size=(5, 3)) + ([0, 0.5, 6] if "bounds" in declared else [0, 0, 0])
    scaled = (inside - made.centre) / made.span
    full = np.column_stack([scaled, np.full(5, made.constant)]) if made.constant else scaled
    assert np.allclose(full @ parameter.T, inside @ coefficients.T + intercepts)
    if not declared.get("fit_intercept", True):
        assert not intercepts.any()


@pytest.mark.parametrize("declared", DECLARATIONS)
def test_public_rows_are_scored_as_private_ones_were_seen(declared):
    rng = np.random.default_rng(2)
    made = recipe(**declared)
    parameter = rng.normal(size=(1, made.size))
    short = rng.uniform(-0.05, 0.05, size=(6, 3)) + ([0, 1, 7] if "bounds" in declared else [0, 0, 0])
    wild = np.array([[np.nan, 1.0, 7.0], [1e6, -1e6, np.inf]])
    X = np.vstack([short, wild]) if made.rows == "normalise" else np.vstack([short, [[np.nan, *short[0, 1:]]]])
    expected = seen(made, X) @ parameter.T
    assert np.allclose(made.scores(opened(X), parameter, *made.to_user(parameter)), expected)


def test_under_normalise_the_sign_is_that_of_the_affine_rule():
    X, y = rows(300)
    estimator = sf.PrivateLogisticRegression(
        30.0, 1e-6, data_norm=1.0, classes=[0, 1], missing_class=0, rows="normalise"
    ).fit(X, y)
    affine = X @ estimator.coef_[0] + estimator.intercept_[0]
    assert np.array_equal(estimator.predict(X), (affine > 0).astype(int))
    assert not np.allclose(estimator.decision_function(X), affine)
    longer = np.linalg.norm(np.column_stack([X, np.full(len(X), 0.5)]), axis=1)
    assert np.allclose(estimator.decision_function(X), affine / longer)


@pytest.mark.parametrize("declared", [d for d in DECLARATIONS if "bounds" not in d])
def test_sparse_rows_are_seen_and_scored_like_dense_ones(declared):
    rng = np.random.default_rng(3)
    made = recipe(**declared)
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.4)
    X[3] = [np.nan, 1.0, np.inf]
    assert np.allclose(seen(made, sparse.csr_array(X)), seen(made, X))
    parameter = rng.normal(size=(2, made.size))
    user = made.to_user(parameter)
    assert np.allclose(made.scores(sparse.csr_array(X), parameter, *user), made.scores(opened(X), parameter, *user))


def test_bounds_and_sparse_rows_do_not_go_together():
    X, y = rows()
    with pytest.raises(ArgumentError, match="sparse"):
        sf.PrivateLogisticRegression(1.0, 1e-6, bounds=(-1, 1), classes=[0, 1], missing_class=0).fit(
            sparse.csr_array(X), y
        )


@pytest.mark.parametrize(
    "bounds", [(-1, 1), (np.full(3, -1), 1.0), ([-1, -1, -1], [1, 1, 1]), [(-1, 1)] * 3, np.tile([-1.0, 1.0], (3, 1))]
)
def test_bounds_are_read_in_every_form(bounds):
    lower, upper = feature_bounds(bounds, 3)
    assert lower.tolist() == [-1, -1, -1]
    assert upper.tolist() == [1, 1, 1]


def peak(estimator, X, y) -> float:
    """Largest memory during a fit, in matrices."""
    tracemalloc.start()
    estimator.fit(X, y)
    found = tracemalloc.get_traced_memory()[1] / X.nbytes
    tracemalloc.stop()
    return found


@pytest.mark.planted
def test_scaling_does_not_hold_the_matrix_twice(monkeypatch):
    X, y = rows(sized(131_072, 262_144), 10)
    declared = {"epsilon": 1e-3, "delta": 1e-7, "classes": [0, 1]}
    sf.PrivateLogisticRegression(**declared, data_norm=1.0).fit(X[:50], y[:50])
    bare = peak(sf.PrivateLogisticRegression(**declared, data_norm=1.0), X, y)
    scaled = sf.PrivateLogisticRegression(**declared, bounds=(-1, 1))
    assert peak(scaled, X, y) < bare + 0.3
    monkeypatch.setattr(Recipe, "prepare", lambda self, matrix: self._encode(matrix.read(0, matrix.shape[0])))
    assert peak(scaled, X, y) > bare + 0.6


@pytest.mark.parametrize("rows_", ["clip", "normalise"])
def test_columns_with_the_names_of_the_models_own_are_told_apart(rows_):
    """A table's column "constant" stood in the way of the constant that is appended before rows are normalised."""
    made = recipe(bounds=([-1, 0, 5], [1, 2, 9]), rows=rows_)
    names = made.schema(sf.Boolean(missing=False), "data", ["intercept", "constant", "intercept (column)"]).vector_names
    assert names[0] == "intercept (column) (column)"
    assert names[1] == ("constant" if rows_ == "clip" else "constant (column)")
    assert len({*names, "intercept"}) == len(names) + 1
