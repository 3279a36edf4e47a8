"""What one record can move in the sums of the shape of the rows, and what keeps the charged bounds: weights, clips, parts."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import sfumato as sf
from sfumato.engines import dense, reference, shapes, threads
from sfumato.engines import sparse as sparse_engine
from sfumato.engines.opening import open_engine
from sfumato.engines.parts import Features, Piece
from sfumato.engines.protocol import LabelScale, gradient_error
from sfumato.errors import ArgumentError

STORED = {
    "dense": ("dense", np.asarray),
    "sparse": ("sparse", sparse.csr_array),
    "reference": ("reference", np.asarray),
    "reference, sparse rows": ("reference", sparse.csr_array),
}
CLIP = 0.7
HUBER = sf.losses.Huber(100.0, clip=CLIP)
NUMBERS = sf.Number(-50, 50)


def opened(kind, rows, labels, loss=HUBER, target=NUMBERS, intercept=0.0, norm=50.0):
    """The engine of that kind; rows may be as long as `norm`."""
    name, store = STORED[kind]
    schema = sf.Schema.vector(rows.shape[1], data_norm=norm, target=target)
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), rows.shape[1] + (intercept > 0), intercept)
    return open_engine(sf.Dataset.from_arrays(store(rows), labels, schema=schema), model, ("shapes",), name)


def directions(d: int) -> np.ndarray:
    """The axes, their opposites, sums of two and some random directions, all of length 1; then the zero row."""
    pairs = [np.eye(d)[i] + sign * np.eye(d)[j] for i, j in itertools.combinations(range(d), 2) for sign in (1, -1)]
    found = np.vstack([np.eye(d), -np.eye(d), *pairs, np.random.default_rng(3).normal(size=(3, d))])
    return np.vstack([found / np.linalg.norm(found, axis=1, keepdims=True), np.zeros(d)])


def moved(sums) -> float:
    """The largest distance between two of the sums: those of data sets that differ in one record."""
    flat = np.array([np.ravel(value) for value in sums])
    return max(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(flat, 2))


def engines_with_one_replaced(kind, rows, labels, **options):
    """One engine for each record: two fixed records, and that one."""
    fixed, known = np.full((2, rows.shape[1]), 0.3), np.array([0.5, -0.5])
    return [
        opened(kind, np.vstack([fixed, row]), np.append(known, y), **options)
        for row, y in zip(rows, labels, strict=True)
    ]


@pytest.mark.parametrize("kind", list(STORED))
def test_a_replaced_record_moves_moments_by_the_root_of_two_squared_radii(kind):
    """Rows up to forty times the radius; the label's column is part of the joint radius."""
    radius, label = 1.3, LabelScale(1.0, 2.0, 0.25)
    unit = directions(2)
    rows = np.vstack([unit * size for size in (0.9, 1.3, 5.0, 40.0)])
    labels = np.resize([9.0, -9.0, 1.0], len(rows))
    engines = engines_with_one_replaced(kind, rows, labels)
    for given in (None, label):
        most = moved([engine.moments(radius, given) for engine in engines])
        assert 0.99 * math.sqrt(2) * radius**2 < most <= math.sqrt(2) * radius**2 * (1 + 1e-13)


EDGES = np.array([-1.0, 0.0, 2.0])


@pytest.mark.planted
@pytest.mark.parametrize("kind", list(STORED))
def test_a_replaced_record_moves_shares_of_residuals_by_the_root_of_two(kind):
    """Labels and rows of any size: exactly sqrt2 from one cell to another, and 0 within a cell."""
    rows = np.vstack([directions(2) * size for size in (0.5, 40.0)])
    labels = np.resize([-50.0, -0.5, 0.0, 1.0, 2.0, 50.0], len(rows))
    engines = engines_with_one_replaced(kind, rows, labels)
    sums = [engine.residual_shares(np.array([0.5, -1.0]), EDGES) for engine in engines]
    distances = {float(np.linalg.norm(a - b)) for a, b in itertools.combinations(sums, 2)}
    assert distances == {0.0, math.sqrt(2)}


@pytest.mark.planted
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_a_residual_that_is_no_number_lies_in_no_cell(store):
    """Infinite ones lie in the outer cells; a start that overflowed leaves none, and no word is said."""
    rows, labels = np.array([[0.5], [math.nan], [1e308], [-1e308], [0.5]]), np.array([1.0, 1.0, 0.0, 0.0, math.nan])
    engine = opened("reference", np.zeros((5, 1)), np.zeros(5))
    engine._passes._blocks = [Features(store(rows), labels)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert engine.residual_shares(np.array([10.0]), EDGES).tolist() == [2.0, 0.0, 0.0, 1.0]
        assert engine.residual_shares(np.array([math.nan]), EDGES).tolist() == [0.0] * 4
        # What `shapes.clip_level` asks for where the deviation is 0 is still a list of cells.
        assert engine.residual_shares(np.array([0.0]), 0.0 * EDGES).sum() == 3


@pytest.mark.planted
@pytest.mark.parametrize("kind", list(STORED))
def test_no_record_moves_the_cell_of_another(kind):
    """Residuals at an edge up to a rounding: products are added coordinate by coordinate, wherever a row stands."""
    rng, d, crossed = np.random.default_rng(9), 40, 0
    theta = rng.normal(size=d)
    rows = rng.normal(size=(60, d))
    labels = np.array([float(sum(Fraction(a) * Fraction(b) for a, b in zip(row, theta, strict=True))) for row in rows])
    cells = []
    for place in range(0, 60):
        alone = opened(kind, rows[place : place + 1], labels[place : place + 1], norm=50.0)
        cells.append(alone.residual_shares(theta, EDGES))
    for count in (60, 59, 33):
        some = opened(kind, rows[:count], labels[:count], norm=50.0).residual_shares(theta, EDGES)
        assert some.tolist() == np.sum(cells[:count], axis=0).tolist()
    crossed = int(np.sum(cells, axis=0)[1:3].min())
    assert crossed > 0, "some lie on either side"


@pytest.mark.parametrize("bend", [1.0, 1.7])
@pytest.mark.parametrize("kind", list(STORED))
def test_a_replaced_record_moves_weighted_sums_by_what_is_charged(kind, bend):
    """In mapped coordinates: gradient 2 s, curvature sqrt2 bend k, score scale s^2, score matrix sqrt2 s^2."""
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    back = np.linalg.inv(matrix)
    rows = np.vstack([directions(2) * size for size in (0.6, 1.0, 1.7, 9.0)]) @ back
    sums = {"gradient": [], "curvature": [], "matrix": [], "scale": []}
    # At theta = 0 labels of 50 have the steepest slope and those of 0 the largest curvature.
    for labels in (np.resize([50.0, -50.0], len(rows)), np.zeros(len(rows))):
        for engine in engines_with_one_replaced(kind, rows, labels):
            weighed = engine.weighed(matrix, bend)
            curvature, scores, scale = weighed.second_sums(np.zeros(2), scores=True)
            sums["gradient"].append(matrix @ weighed.gradient(np.zeros((1, 2)))[0])
            sums["curvature"].append(curvature)
            sums["matrix"].append(scores)
            sums["scale"].append(scale)
    charged = {
        "gradient": 2 * CLIP, "curvature": math.sqrt(2) * bend, "matrix": math.sqrt(2) * CLIP**2, "scale": CLIP**2
    }  # fmt: skip
    for name, most in charged.items():
        assert 0.99 * most < moved(sums[name]) <= most * (1 + 1e-12), name


def test_without_a_bend_the_curvature_of_a_long_row_has_no_bound():
    """Why curvature is not released with weights 1/|Bz|: its norm grows with the row."""
    weighed = opened("dense", np.array([[40.0, 0.0]]), np.zeros(1)).weighed(np.eye(2), math.inf)
    curvature, _, scale = weighed.second_sums(np.zeros(2), scores=False)
    assert curvature[0, 0] == pytest.approx(40.0)
    assert scale == 0.0


@pytest.mark.planted
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_no_rounding_makes_a_weighted_row_longer_than_is_charged(sparse_rows):
    """In fractions, over maps that cancel: v |Bz| <= 1, v |Bz|^2 <= bend, and the norm of a moment's term is at most R^2."""
    rng, beyond = np.random.default_rng(4), 0
    for d, bend in itertools.product((1, 2, 7), (1.0, 3.0, math.inf)):
        rows = rng.normal(size=(30, d)) * 10.0 ** rng.uniform(-3, 1, (30, 1))
        turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
        matrix = turned @ np.diag(10.0 ** np.linspace(-3, 3, d)) @ turned.T
        # Half of the rows cancel under the map: their entries are large and their images are short.
        rows[::2] = rows[::2] @ np.linalg.inv(matrix)
        stored = sparse.csr_array(rows) if sparse_rows else rows
        piece = Piece(stored, np.empty(0))
        weights = shapes._weigh(piece, 0.0, matrix, bend)
        lengths = np.linalg.norm(shapes._mapped(piece, 0.0, matrix), axis=1)
        factors = shapes._moment_factors(stored, np.empty((30, 0)), 0.75)
        assert ((weights >= 0) & (weights <= 1) & (factors <= 1)).all()
        for z, v, length, f in zip(rows.tolist(), weights.tolist(), lengths.tolist(), factors.tolist(), strict=True):
            mapped = [sum(Fraction(b) * Fraction(x) for b, x in zip(line, z, strict=True)) for line in matrix.tolist()]
            square = sum(x * x for x in mapped)
            assert Fraction(v) ** 2 * square <= 1
            assert math.isinf(bend) or Fraction(v) * square <= Fraction(bend)
            assert Fraction(f) ** 2 * sum(Fraction(x) ** 2 for x in z) <= Fraction(0.75) ** 2
            beyond += length > 0 and Fraction(min(1.0, 1.0 / length)) ** 2 * square > 1
    assert beyond > 0, "the planted fault: plain quotients are longer than 1 now and then"


@pytest.mark.parametrize("kind", list(STORED))
def test_odd_rows_have_finite_sums_and_no_word_is_said(kind):
    """A zero row, entries near the smallest and the largest, parameters that overflowed, and maps that overflow."""
    rows = np.array([[0.0, 0.0], [5e-324, 0.0], [1e149, -1e149], [1e150, 1e140], [1e-160, 1e-170]])
    engine = opened(kind, rows, np.zeros(5), sf.losses.Huber(1e151, CLIP), norm=1e150, intercept=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moments = engine.moments(1.0)
        assert np.linalg.norm(moments) <= 5 * (1 + 1e-13)
        # The zero row keeps weight 1 and the two long ones keep no constant feature.
        assert moments[2, 2] == pytest.approx(3 * 0.25)
        for size in (1e-200, 1.0, 1e160, 1e300):
            weighed = engine.weighed(size * np.eye(3), 1.0)
            assert all(((v >= 0) & (v <= 1)).all() for part in weighed._kept for v in part)
            for far in (0.0, 1e300, math.inf, math.nan):
                assert np.isfinite(weighed.gradient(np.full((2, 3), far))).all()
                curvature, scores, scale = weighed.second_sums(np.full(3, far), scores=True)
                assert np.isfinite(curvature).all()
                assert np.isfinite(scores).all()
                assert 0 <= scale <= 5 * CLIP**2 * (1 + 1e-13)
    # A map so large that no length is finite leaves no record but the ones that it sends to zero.
    assert sum(v.sum() for (v,) in engine.weighed(np.full((3, 3), 1e308), 1.0)._kept) == 0


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_a_row_that_is_not_finite_adds_nothing(store):
    """No data set holds such a row; were there one, no sum would be infinite or no number."""
    rows, labels = np.array([[0.5, 0.2], [math.inf, 0.1], [math.nan, 0.3], [-math.inf, math.inf]]), np.ones(4)
    engine = opened("reference", np.zeros((4, 2)), labels, intercept=0.5)
    alone = opened("reference", rows[:1], labels[:1], intercept=0.5)
    engine._passes._blocks = [Features(store(rows), labels)]
    np.testing.assert_array_equal(engine.moments(0.6), alone.moments(0.6))
    point, few = np.ones(3), (engine.weighed(np.eye(3), 1.0), alone.weighed(np.eye(3), 1.0))
    for mine, wanted in zip(*(weighed.second_sums(point, scores=True) for weighed in few), strict=True):
        np.testing.assert_array_equal(mine, wanted)


class Boastful(sf.losses.Huber):
    """A loss whose slope and curvature leave what its constants declare, or are not numbers, once a model has attacked it."""

    size: float | None = None

    def derivative(self, u, y):
        return super().derivative(u, y) if self.size is None else np.full(np.shape(u), self.size)

    def curvature(self, u, y):
        return np.full(np.shape(u), self.size)


@pytest.mark.parametrize(
    ("size", "slope", "curvature"),
    [(9.0, CLIP, 1.0), (-9.0, -CLIP, 0.0), (math.inf, CLIP, 1.0), (-math.inf, -CLIP, 0.0), (math.nan, 0.0, 0.0)],
)
def test_slopes_and_curvatures_beyond_their_bounds_are_clipped(size, slope, curvature, monkeypatch):
    weighed = opened("reference", np.array([[0.5]]), np.zeros(1), Boastful(100.0, CLIP)).weighed(np.eye(1), 1.0)
    monkeypatch.setattr(Boastful, "size", size)
    assert weighed.gradient(np.zeros((1, 1)))[0, 0] == pytest.approx(0.5 * slope)
    curved, scores, scale = weighed.second_sums(np.zeros(1), scores=True)
    assert (curved[0, 0], scores[0, 0], scale) == pytest.approx((0.25 * curvature, 0.25 * slope**2, 0.25 * slope**2))


# --- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(STORED))
def test_parts_count_each_record_once_at_its_own_label_and_weight(kind, monkeypatch):
    """More parts than are added in one run, so that runs are added too; the same sums in one part."""
    rng = np.random.default_rng(6)
    rows, labels = rng.normal(size=(1_000, 3)), rng.uniform(-2, 2, 1_000)
    matrix, theta, label = np.diag([0.4, 0.9, 1.1, 0.2]), rng.normal(size=(3, 4)), LabelScale(0.1, 1.0, 0.5)

    def sums(parts: int) -> list:
        engine = opened(kind, rows, labels, intercept=0.5)
        assert sum(1 for _ in engine.parts()) == parts
        weighed = engine.weighed(matrix, 1.0)
        gradients = [weighed.gradient(theta[:chains]) for chains in (1, 3)]
        shares = engine.residual_shares(theta[0], np.array([-1.0, 0.0, 1.0]))
        return [engine.moments(1.5, label), *gradients, *weighed.second_sums(theta[0], scores=True), shares]

    whole = sums(1)
    monkeypatch.setattr(reference, "_ROWS", 7)
    monkeypatch.setattr(sparse_engine, "_PART", 7)
    monkeypatch.setattr(dense, "part_rows", lambda dimension: 7)
    assert 2 * threads.RUN < 143
    for mine, wanted in zip(sums(143), whole, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("kind", list(STORED))
def test_a_sum_of_matrices_is_no_further_off_than_is_charged(kind):
    """Entries of very different size, so that large terms round the small ones away; exact sums are those of fractions."""
    n, rng = 9_000, np.random.default_rng(8)
    rows = np.column_stack([np.full(n, 1 / 3), 10.0 ** rng.uniform(-8, -0.5, n)])
    rows[::977, 1] = 0.5
    columns = [[Fraction(x) for x in column] for column in rows.T.tolist()]
    exact = [[sum(x * y for x, y in zip(a, b, strict=True)) for a in columns] for b in columns]
    for order in (slice(None), slice(None, None, -1)):
        moments = opened(kind, rows[order], np.zeros(n), norm=1.0).moments(1.0)
        errors = [float(Fraction(moments[i, j]) - exact[i][j]) for i in range(2) for j in range(2)]
        # A quarter of what R^2 = 1 charges: the terms here have norm at most 1/9 + 1/4.
        assert 0 < math.hypot(*errors) <= gradient_error(n, 1 / 9 + 1 / 4)


def test_weighted_sums_use_the_kernels_that_plain_sums_compiled():
    """A kernel compiled for other types would be compiled in the middle of a release."""
    from sfumato.engines import kernels

    for kind, single, many in (
        ("dense", kernels.dense_gradient, kernels.dense_gradients),
        ("sparse", kernels.sparse_gradient, kernels.sparse_gradients),
    ):
        engine = opened(kind, np.full((9, 2), 0.3), np.zeros(9))
        plain = [engine.gradient(np.zeros((chains, 2))) for chains in (1, 2)]
        before = [set(kernel.signatures) for kernel in (single, many)]
        weighed = [engine.weighed(np.eye(2), 1.0).gradient(np.zeros((chains, 2))) for chains in (1, 2)]
        assert [set(kernel.signatures) for kernel in (single, many)] == before
        np.testing.assert_array_equal(plain[0], weighed[0])
        np.testing.assert_array_equal(plain[1], weighed[1])


# --- what is served --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(STORED))
def test_another_clip_replaces_the_loss_of_the_weighted_sums_alone(kind):
    rows, labels = np.array([[0.5, 0.1], [0.2, -0.4]]), np.array([3.0, -0.05])
    engine = opened(kind, rows, labels)
    other = opened(kind, rows, labels, sf.losses.Huber(100.0, clip=0.02))
    replaced = engine.weighed(np.eye(2), 1.0, sf.losses.Huber(100.0, clip=0.02))
    theta = np.array([[0.1, 0.3]])
    np.testing.assert_array_equal(replaced.gradient(theta), other.weighed(np.eye(2), 1.0).gradient(theta))
    np.testing.assert_array_equal(
        replaced.second_sums(theta[0], scores=True)[1],
        other.weighed(np.eye(2), 1.0).second_sums(theta[0], scores=True)[1],
    )
    np.testing.assert_array_equal(engine.gradient(theta), engine.weighed(np.eye(2), 1.0).gradient(theta))
    assert not np.allclose(engine.gradient(theta), replaced.gradient(theta))


def test_public_numbers_that_make_no_sense_are_refused():
    engine = opened("dense", np.full((3, 2), 0.3), np.zeros(3))
    for radius in (0.0, -1.0, math.inf, math.nan, 1e200):
        with pytest.raises(ArgumentError, match="radius"):
            engine.moments(radius)
    for numbers in ((math.inf, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1.0, -1.0)):
        with pytest.raises(ArgumentError, match=r"centre|half|scale"):
            LabelScale(*numbers)
    for matrix in (np.eye(3), np.ones(2), np.full((2, 2), math.nan)):
        with pytest.raises(ArgumentError, match=r"matrix must be a finite array of shape \(2, 2\)"):
            engine.weighed(matrix, 1.0)
    for bend in (0.5, -1.0, math.nan):
        with pytest.raises(ArgumentError, match="bend"):
            engine.weighed(np.eye(2), bend)
    with pytest.raises(ArgumentError, match="loss must be smooth"):
        engine.weighed(np.eye(2), 1.0, sf.losses.Hinge(1.0))
    with pytest.raises(ArgumentError, match="compiled slopes"):
        engine.weighed(np.eye(2), 1.0, Boastful(100.0, CLIP))
