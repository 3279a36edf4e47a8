"""Sums over persons and weighted records, on every engine, beside the same sums written out person by person."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import sfumato as sf
from sfumato.engines import dense, parts, reference, values
from sfumato.engines import sparse as sparse_engine
from sfumato.engines.opening import open_engine
from sfumato.engines.protocol import PART_ROWS, LabelScale, most_additions
from sfumato.engines.shares import one_over
from sfumato.schema.persons import MOST_ROWS

N, WIDTH, INTERCEPT, MOST = 37, 3, 0.5, 4
LABELS = sf.Number(-2, 2)
LOSS = sf.losses.Huber(sf.losses.radius_with_intercept(1.0, INTERCEPT), clip=0.8)
MODEL = sf.Gibbs(LOSS, sf.priors.Ball(sf.priors.Gaussian(1.0), 3.0), WIDTH + 1, INTERCEPT)
PERSONS = sf.Persons("who", most=MOST, count=N)
WEIGHT = sf.Weight("w", 8.0, fixed=True)
ENGINES = {"dense": np.asarray, "sparse": sparse.csr_array, "reference": np.asarray, "values": np.asarray}
KINDS = {"persons": (PERSONS, None), "weights": (None, WEIGHT), "persons with weights": (PERSONS, WEIGHT)}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of five records, so that there are several, and pieces of a few rows."""
    monkeypatch.setattr(dense, "part_rows", lambda dimension: 5)
    monkeypatch.setattr(sparse_engine, "_PART", 5)
    monkeypatch.setattr(reference, "_ROWS", 5)
    monkeypatch.setattr(values, "_ROWS", 5)
    monkeypatch.setattr(parts, "piece_rows", lambda records, most: records if most == 1 else 7)


class Table:
    """Rows with their owners and shares: (1/c) for each of a person's c rows, times the weight over the largest."""

    def __init__(self, kind: str) -> None:
        rng = np.random.default_rng(5)
        self.persons, self.weight = KINDS[kind]
        counts = rng.integers(1, MOST + 1, N) if self.persons else np.ones(N, dtype=int)
        self.owner = np.repeat(np.arange(N), counts)
        self.rows = rng.uniform(-0.55, 0.55, (len(self.owner), WIDTH))
        self.labels = rng.uniform(-2, 2, len(self.owner))
        steps = rng.integers(0, 2**16 + 1, len(self.owner)) if self.weight else np.full(len(self.owner), 2**16)
        self.weights = 8.0 * steps / 2**16
        self.shares = steps / 2**16 / counts[self.owner]
        self.z = np.column_stack([self.rows, np.full(len(self.owner), INTERCEPT)])

    def engine(self, name: str, needs: tuple[str, ...]):
        schema = sf.Schema.vector(WIDTH, 1.0, LABELS, persons=self.persons, weight=self.weight)
        data = sf.Dataset.from_arrays(
            ENGINES[name](self.rows),
            self.labels,
            schema=schema,
            groups=self.owner if self.persons else None,
            sample_weight=self.weights if self.weight else None,
        )
        return open_engine(data, MODEL, needs, name)

    def by_person(self, terms: np.ndarray) -> np.ndarray:
        """The contribution of every person: the sum of their rows' terms."""
        return np.stack([terms[self.owner == person].sum(axis=0) for person in range(N)])


@pytest.mark.planted
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ENGINES)
def test_gradients_are_those_of_single_persons(name, kind):
    table, theta = Table(kind), np.random.default_rng(1).normal(size=(3, WIDTH + 1))
    engine = table.engine(name, ("gradients",))
    for points in (theta[:1], theta):
        slopes = np.clip(table.z @ points.T - table.labels[:, None], -LOSS.clip, LOSS.clip)
        whole = (table.shares[:, None] * slopes).T @ table.z
        np.testing.assert_allclose(engine.gradient(points), whole, rtol=1e-12, atol=1e-13)


@pytest.mark.planted
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["dense", "sparse", "reference"])
def test_moments_curvature_and_scores_are_those_of_single_persons(name, kind):
    """The matrix of the scores is that of persons; their scale has the mean squares of a person's rows, which are no smaller."""
    table, theta = Table(kind), np.array([0.4, -0.2, 0.1, 0.3])
    engine, label = table.engine(name, ("gradients", "shapes")), LabelScale(0.1, 1.0, 0.5)
    joint = np.column_stack([table.z, label.column(table.labels)])
    radius = 0.9
    weigh = np.minimum(1.0, radius**2 / (joint**2).sum(axis=1))
    np.testing.assert_allclose(engine.moments(radius, label), (joint.T * (table.shares * weigh)) @ joint, rtol=1e-12)
    matrix = np.diag([1.2, 0.7, 2.0, 0.9])
    mapped = table.z @ matrix
    lengths = np.linalg.norm(mapped, axis=1)
    v = np.minimum(1.0, np.minimum(1 / lengths, 1 / lengths**2))
    reached = table.z @ theta - table.labels
    bent = (np.abs(reached) <= LOSS.clip).astype(float)
    terms = (table.shares * v * np.clip(reached, -LOSS.clip, LOSS.clip))[:, None] * mapped
    curvature, scores, scale = engine.weighed(matrix, 1.0).second_sums(theta, True)
    np.testing.assert_allclose(curvature, (mapped.T * (table.shares * v * bent)) @ mapped, rtol=1e-11, atol=1e-13)
    own = table.by_person(terms)
    np.testing.assert_allclose(scores, own.T @ own, rtol=1e-11, atol=1e-13)
    counts = np.bincount(table.owner)[table.owner] if table.persons else 1
    assert scale == pytest.approx(float((counts * (terms**2).sum(axis=1)).sum()), rel=1e-11)
    assert scale >= np.trace(scores) * (1 - 1e-12)


@pytest.mark.planted
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["dense", "sparse", "reference"])
def test_shares_of_residuals_are_those_of_single_persons(name, kind):
    """Each row counts with its share: those of a person add up to 1 at most, in every cell and over all of them."""
    table, theta, edges = Table(kind), np.array([0.4, -0.2, 0.1, 0.3]), np.array([-0.5, 0.0, 0.5])
    places = ((table.labels - table.z @ theta)[:, None] > edges).sum(axis=1)
    own = table.by_person(table.shares[:, None] * (places[:, None] == np.arange(4)))
    assert own.sum(axis=1).max() <= 1 + 1e-12
    found = table.engine(name, ("gradients", "shapes")).residual_shares(theta, edges)
    np.testing.assert_allclose(found, own.sum(axis=0), rtol=1e-12)
    assert found.sum() <= own.sum()


@pytest.mark.planted
def test_values_are_rounded_once_for_every_person():
    """A person's mean value is one whole number of units: rounded row by row, fifty rows would err fifty times."""
    table, points = Table("persons"), np.random.default_rng(2).normal(size=(6, WIDTH + 1)) / 3
    unit, bound = 2.0**-3, 2.0
    gaps = LOSS.value(table.z @ points.T, table.labels[:, None]) - LOSS.value(0.0, table.labels[:, None])
    means = table.by_person(table.shares[:, None] * gaps)
    exact = np.rint(np.clip(means, -bound, bound) / unit).astype(int).sum(axis=0).tolist()
    assert table.engine("values", ("values",)).values(points, unit, bound) == exact


def test_the_rows_of_a_mean_are_the_means_of_persons():
    """The loss of a mean is quadratic: the average over a person's rows is the loss at their mean row, up to a constant."""
    rng = np.random.default_rng(7)
    owner = np.repeat(np.arange(N), rng.integers(1, MOST + 1, N))
    rows = rng.uniform(-0.5, 0.5, (len(owner), WIDTH))
    model = sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Gaussian(1.0), WIDTH)
    means = np.stack([rows[owner == person].mean(axis=0) for person in range(N)])
    theta = rng.normal(size=(2, WIDTH))
    for store in (np.asarray, sparse.csr_array):
        schema = sf.Schema.vector(WIDTH, 1.0, persons=PERSONS)
        data = sf.Dataset.from_arrays(store(rows), groups=owner, schema=schema)
        gradient = open_engine(data, model, ("gradients",)).gradient(theta)
        np.testing.assert_allclose(gradient, N * theta - means.sum(axis=0), rtol=1e-12)


@pytest.mark.planted
def test_the_shares_of_a_person_never_sum_to_more_than_one():
    counts = np.arange(1, MOST_ROWS + 1)
    for count, share in zip(counts.tolist(), one_over(counts).tolist(), strict=True):
        assert Fraction(share) * count <= 1
        assert math.isclose(share, 1 / count, rel_tol=3e-16)
    assert (1.0 / counts > one_over(counts)).any(), "some quotients must be rounded down"


@pytest.mark.planted
@pytest.mark.parametrize("most", [1, 2, 3, 24, 64, 333, MOST_ROWS])
@pytest.mark.parametrize("records", [256, 2048, 4096, PART_ROWS])
def test_no_number_of_rows_makes_a_term_take_part_in_more_additions_than_prices_assume(monkeypatch, most, records):
    monkeypatch.undo()  # the real length of pieces
    rng = np.random.default_rng(most)
    assert parts.part_additions(records, most) <= PART_ROWS
    for counts in (np.full(records, most), np.ones(records, dtype=int), rng.integers(1, most + 1, records)):
        (part,) = parts.ranges(int(counts.sum()), counts, records, most)
        assert [first for first, _ in part[1:]] == [last for _, last in part[:-1]]
        assert (part[0][0], part[-1][1]) == (0, counts.sum())
        longest = max(last - first for first, last in part)
        assert longest + (len(part) if most > 1 else 0) <= parts.part_additions(records, most)
    assert parts.part_additions(records, most) + 8 + 64 <= most_additions(64 * PART_ROWS)


@pytest.mark.planted
@pytest.mark.parametrize("name", ["dense", "sparse", "reference"])
def test_a_replaced_person_changes_one_part_and_no_bit_of_another(name):
    """With a roster, whatever the rows of one person become: more, fewer, or none."""
    rng, roster = np.random.default_rng(3), list(range(N))
    owner = rng.permutation(np.repeat(np.arange(N), rng.integers(1, MOST + 1, N)))
    rows, labels = rng.uniform(-0.5, 0.5, (len(owner), WIDTH)), rng.uniform(-2, 2, len(owner))
    schema = sf.Schema.vector(WIDTH, 1.0, LABELS, persons=PERSONS)

    def part_sums(replaced: int | None, count: int) -> list[bytes]:
        keep = owner != replaced
        more = np.full(0 if replaced is None else count, -1 if replaced is None else replaced)
        data = sf.Dataset.from_arrays(
            ENGINES[name](np.concatenate([rows[keep], rng.uniform(-0.5, 0.5, (len(more), WIDTH))])),
            np.concatenate([labels[keep], rng.uniform(-2, 2, len(more))]),
            schema=schema,
            groups=np.concatenate([owner[keep], more]),
            roster=roster,
        )
        engine = open_engine(data, MODEL, ("gradients",), name)
        whole = [
            np.concatenate([np.asarray(sparse.csr_array(p.rows).toarray()).ravel() for p in part])
            for part in engine.parts()
        ]
        return [each.tobytes() for each in whole]

    before = part_sums(None, 0)
    for replaced, count in ((0, 4), (13, 0), (36, 1), (20, 9)):
        after = part_sums(replaced, count)
        assert [one == other for one, other in zip(before, after, strict=True)].count(False) == 1
        assert before[replaced // 5] != after[replaced // 5]
