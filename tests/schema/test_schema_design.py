"""The feature matrix from declared bounds and levels: values, names, radius; and the counts for the curator."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.dataset import Dataset, rows_of
from sfumato.schema import Boolean, Category, Number, Schema
from sfumato.schema.encoding import encode

COLUMNS = {
    "age": Number(20, 60),
    "sex": Category(["f", "m", "x"], missing="f"),
    "y": Number(0, 1),
    "smoker": Boolean(missing=False),
}
ROWS = {"age": [20, 60, 30, 999], "sex": ["f", "x", "m", "?"], "y": [0, 1, 0, 1], "smoker": [True, False, None, 1]}
PLAIN = [
    [-0.5, 1, 0, 0, 0.5],
    [0.5, 0, 0, 1, -0.5],
    [-0.25, 0, 1, 0, -0.5],
    [0.5, 1, 0, 0, 0.5],
]


def encoded(schema: Schema) -> np.ndarray:
    return schema.design().encode(next(rows_of(Dataset.from_table(ROWS, schema=schema)).blocks()))


def test_numbers_are_scaled_by_their_bounds_and_levels_become_features():
    schema = Schema(COLUMNS, target="y")
    design = schema.design()
    assert design.features == ("age", "sex=f", "sex=m", "sex=x", "smoker")
    assert design.dimension == 5
    assert encoded(schema).tolist() == PLAIN
    assert design.radius == pytest.approx(math.sqrt(0.25 + 1 + 0.25), rel=1e-15)
    assert Fraction(design.radius) ** 2 >= Fraction(3, 2)


@pytest.mark.parametrize(("rows", "norms"), [("clip", [1, 1, 1, 1]), ("normalise", [1, 1, 1, 1])])
def test_rows_are_bounded_by_a_declared_norm(rows, norms):
    schema = Schema(COLUMNS, target="y", data_norm=1.0, rows=rows)
    found = encoded(schema)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), norms, rtol=1e-14)
    np.testing.assert_allclose(found, np.array(PLAIN) / np.linalg.norm(PLAIN, axis=1)[:, None], rtol=1e-14)
    assert schema.design().radius == 1.0


def test_a_norm_beyond_the_longest_row_clips_nothing_and_normalises_all():
    clipped = Schema(COLUMNS, target="y", data_norm=9.0)
    assert encoded(clipped).tolist() == PLAIN
    assert clipped.design().radius < 1.23
    brought = Schema(COLUMNS, target="y", data_norm=9.0, rows="normalise")
    np.testing.assert_allclose(np.linalg.norm(encoded(brought), axis=1), 9.0, rtol=1e-14)
    assert brought.design().radius == 9.0


@given(st.floats(-1e300, 1e300), st.floats(1e-300, 1e300), st.lists(st.floats(), min_size=1, max_size=5))
def test_no_row_leaves_the_radius(lower, width, cells):
    upper = lower + width
    if not lower < upper:
        upper = math.nextafter(lower, math.inf)
    schema = Schema({"a": Number(lower, upper), "b": Number(lower, upper)})
    design = schema.design()
    column = encode(schema.columns["a"], np.array(cells)).values
    matrix = design.encode({"a": column, "b": column})
    assert np.all(np.abs(matrix) <= 0.5)
    for row in matrix:
        assert sum(Fraction(float(entry)) ** 2 for entry in row) <= Fraction(design.radius) ** 2


def test_the_features_of_a_vector_are_its_entries():
    schema = Schema.vector(2, data_norm=1.0)
    design = schema.design()
    block = next(rows_of(Dataset.from_arrays(np.array([[3.0, 4.0], [0.1, 0.2]]), schema=schema)).blocks())
    assert design.features == ("x0", "x1")
    assert design.radius == 1.0
    assert design.encode(block) is block["matrix"]
    np.testing.assert_allclose(block["matrix"], [[0.6, 0.8], [0.1, 0.2]], rtol=1e-14)


def test_vectors_can_be_brought_to_the_norm():
    schema = Schema.vector(2, data_norm=2.0, rows="normalise")
    block = next(rows_of(Dataset.from_arrays([[3.0, 4.0], [0.0, 0.0], [5e-324, 0.0]], schema=schema)).blocks())
    np.testing.assert_allclose(block["matrix"], [[1.2, 1.6], [0.0, 0.0], [2.0, 0.0]], rtol=1e-14)


# counts -----------------------------------------------------------------------------------------------------------


def test_counts_for_the_curator(tmp_path):
    schema = Schema(
        {"age": Number(0, 10, integer=True), "sex": Category(["f", "m"], missing="f"), "ok": Boolean(missing=False)}
    )
    lines = ["age,sex,ok", "5,f,yes", "11,m,no", "-3,z,2", "nan,,", "x,f,t", "1,2", "10.4,m,1", ""]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    counts = schema.check(tmp_path / "t.csv", counts=True)
    assert counts.rows == 8
    assert counts.ragged == 2
    assert {name: (c.missing, c.clipped) for name, c in counts.columns.items()} == {
        "age": (4, 2),
        "sex": (4, 0),
        "ok": (4, 0),
    }
    text = str(counts)
    assert text.startswith("For the curator alone")
    assert "8 rows, 2 of the wrong length" in text
    assert schema.check(tmp_path / "t.csv") is None


def test_counts_of_vectors():
    schema = Schema.vector(2, data_norm=1.0, target=Boolean(missing=False))
    X = np.array([[3.0, 4.0], [np.nan, np.inf], [0.5, 0.5]])
    counts = schema.check(X, [1, 0, 7], counts=True)
    assert (counts.rows, counts.columns["matrix"].missing, counts.columns["matrix"].clipped) == (3, 2, 1)
    assert counts.columns["target"].missing == 1
    assert schema.check([[1.0], [1.0, 1.0]], [1, 1], counts=True).ragged == 1


def test_a_data_set_keeps_no_counts():
    data = Dataset.from_table(ROWS, schema=Schema(COLUMNS))
    assert not any("count" in name or "tally" in name for name in [*dir(data), *dir(rows_of(data))])
