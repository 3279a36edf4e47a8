"""Rows whose norm is at most data_norm exactly: checked with rational arithmetic on any finite floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from sfumato.schema.norms import bound_rows, bound_sparse_rows

finite = st.floats(allow_nan=False, allow_infinity=False)
ordinary = st.floats(-10, 10)
matrices = st.tuples(st.integers(1, 4), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=finite) | arrays(np.float64, shape, elements=ordinary)
)
norms = st.floats(0.01, 100) | st.sampled_from([2.0**-500, 2.0**500, 1.0, 3e-100, 7e100])


def exact_square(row) -> Fraction:
    return sum((Fraction(float(entry)) ** 2 for entry in row), Fraction(0))


def both(matrix, norm, rows):
    """The dense and the sparse form of the same rows, bounded; and which were too long."""
    dense, sparse = matrix.copy(), csr_array(matrix)
    long = bound_rows(dense, norm, rows)
    assert np.array_equal(long, bound_sparse_rows(sparse, norm, rows))
    return dense, sparse.toarray(), long


@given(matrices, norms, st.sampled_from(["clip", "normalise"]))
def test_no_row_is_longer_than_the_bound_in_exact_arithmetic(matrix, norm, rows):
    for bounded in both(matrix, norm, rows)[:2]:
        for row in bounded:
            assert exact_square(row) <= Fraction(norm) ** 2


@given(matrices, norms)
def test_clipping_leaves_short_rows_alone_and_is_done_once(matrix, norm):
    slack = Fraction(2 * (matrix.shape[1] + 16), 2**53)
    dense, sparse, long = both(matrix, norm, "clip")
    for before, after, again, was_long in zip(matrix, dense, sparse, long, strict=True):
        if exact_square(before) <= Fraction(norm) ** 2 * (1 - 2 * slack) ** 2:
            assert not was_long
        if not was_long:
            assert after.tobytes() == before.tobytes()
            np.testing.assert_array_equal(again, before)
    once = dense.copy()
    assert not bound_rows(once, norm, "clip").any()
    assert once.tobytes() == dense.tobytes()


@given(matrices, norms, st.sampled_from(["clip", "normalise"]))
def test_a_changed_row_has_nearly_the_norm_and_its_direction(matrix, norm, rows):
    dense, sparse, long = both(matrix, norm, rows)
    slack = Fraction(4 * (matrix.shape[1] + 16), 2**53)
    for before, after, again, was_long in zip(matrix, dense, sparse, long, strict=True):
        if not (was_long or (rows == "normalise" and before.any())):
            continue
        for changed in (after, again):
            assert exact_square(changed) >= Fraction(norm) ** 2 * (1 - slack) ** 2
            # one factor for the whole row: cross products with the largest entry vanish up to rounding
            j = int(np.argmax(np.abs(before)))
            for i in range(len(before)):
                left = Fraction(float(changed[i])) * Fraction(float(before[j]))
                right = Fraction(float(changed[j])) * Fraction(float(before[i]))
                # an entry may vanish when its row is scaled down, and is off by 2^-1075 times the factor then
                lost = Fraction(1 + 2 * norm) / 2**1073
                assert abs(left - right) <= abs(right) / 2**51 + abs(Fraction(float(before[j]))) * lost


def test_zero_rows_stay_zero():
    for rows in ("clip", "normalise"):
        dense, sparse, _ = both(np.zeros((2, 3)), 1.0, rows)
        assert not dense.any()
        assert not sparse.any()


@pytest.mark.planted
def test_rows_bounded_in_the_plain_way_are_longer_than_the_bound():
    """The planted fault: x * (R / |x|) in float64. Some rows come out longer than R; the exact check sees them."""
    matrix = np.random.default_rng(5).standard_normal((200, 50)) * 10
    plain = matrix * (1.0 / np.linalg.norm(matrix, axis=1))[:, None]
    assert any(exact_square(row) > 1 for row in plain)
    bound_rows(matrix, 1.0)
    assert all(exact_square(row) <= 1 for row in matrix)


@pytest.mark.parametrize("norm", [1e-300, 1e300])
def test_squares_that_overflow_or_vanish_do_not_decide(norm):
    matrix = np.array([[norm, norm], [norm / 2, 0.0], [1e308, -1e308], [5e-324, 5e-324]])
    bound = min(max(norm, 2.0**-500), 2.0**500)
    bound_rows(matrix, bound)
    assert np.isfinite(matrix).all()
    assert all(exact_square(row) <= Fraction(bound) ** 2 for row in matrix)
    assert matrix[3].tolist() == [5e-324, 5e-324]


@pytest.mark.parametrize("rows", ["clip", "normalise"])
@pytest.mark.parametrize("odd", [1e308, 5e-324, 1e-300, 0.0])
def test_the_size_of_one_row_changes_the_bits_of_no_other(rows, odd):
    """Rows are scaled by a product or by `ldexp`, whichever suits all of them: the two agree to the last bit."""
    generator = np.random.default_rng(3)
    others = generator.normal(size=(40, 7)) * 10.0 ** generator.integers(-12, 12, size=(40, 7))
    others[7], others[8, 2] = generator.normal(size=7) * 1e-290, 3e-310
    with_odd, without = np.vstack([others, np.full((1, 7), odd)]), np.vstack([others, np.ones((1, 7))])
    for matrix in (with_odd, without):
        bound_rows(matrix, 1.0, rows)
    assert with_odd[:-1].tobytes() == without[:-1].tobytes()
    sparse = [csr_array(np.vstack([others, last])) for last in (np.full((1, 7), odd), np.ones((1, 7)))]
    for matrix in sparse:
        bound_sparse_rows(matrix, 1.0, rows)
    assert sparse[0].toarray()[:-1].tobytes() == sparse[1].toarray()[:-1].tobytes()
