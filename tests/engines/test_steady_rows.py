"""What a person contributes does not depend, not even by a rounding, on how many rows other persons have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import sfumato as sf
from effort import sized
from sfumato.engines.opening import open_engine
from sfumato.models.row_products import row_products

MOST, WIDTH, NORM = 40, 50, 2.0
# Rows of zeros before the row that is watched: they change its place, and the shapes of all products.
BEFORE = (1, 2, 3, 4, 5, 8, 13, 21, 34, 40)
PERSONS = sf.Persons("who", most=MOST, count=6)
SCHEMA = sf.Schema.vector(WIDTH, data_norm=NORM, target=sf.Number(-4, 4), persons=PERSONS)
HUBER = sf.Gibbs(sf.losses.Huber(NORM, 1e3, -4, 4), sf.priors.Ball(sf.priors.Gaussian(0.5), 3.0), WIDTH)
# A unit so fine that every bit of a value shows in its whole number.
UNIT, BOUND = 2.0**-46, 16.0


def table(rows_of_first: int, own: np.ndarray, engine: str, roster: bool) -> sf.Dataset:
    """One person with rows of zeros and labels of 0, which add nothing anywhere; one with a row; four without."""
    rows = np.vstack([np.zeros((rows_of_first, WIDTH)), own])
    labels, who = [0.0] * rows_of_first + [1.5], ["a"] * rows_of_first + ["b"]
    given = sparse.csr_array(rows) if engine == "sparse" else rows
    listed = [*"abcdef"] if roster else None
    return sf.Dataset.from_arrays(given, labels, schema=SCHEMA, groups=who, roster=listed)


def sums(name: str, engine, points: np.ndarray) -> bytes:
    """All sums of an engine, as bytes."""
    made = [engine.gradient(points[:1]), engine.gradient(points)]
    if name == "values":
        return b"".join(each.tobytes() for each in made) + str(engine.values(points, UNIT, BOUND)).encode()
    weighed = engine.weighed(np.eye(WIDTH) + 0.1 * points[:1].T, math.inf)
    second = weighed.second_sums(points[0], True)
    made += [engine.moments(NORM), weighed.gradient(points), *map(np.asarray, second)]
    made.append(engine.residual_shares(points[0], np.array([-0.5, 0.5]))[-1:])  # zeros lie in the cell before
    return b"".join(np.asarray(each).tobytes() for each in made)


@pytest.mark.planted
@pytest.mark.parametrize("name", ["dense", "sparse", "reference", "values"])
def test_the_rows_of_one_person_change_no_bit_of_what_another_adds(name):
    """The sums over one row, after those of a person of 1 to 40 rows of zeros: the row's place changes, and no bit of a sum."""
    rng = np.random.default_rng(3)
    for turn in range(sized(6, 60)):
        own, points = rng.normal(size=(1, WIDTH)) / 7, rng.normal(size=(40, WIDTH)) / 3
        data = [table(count, own, name, roster=bool(turn % 2)) for count in BEFORE]
        needs = ("values",) if name == "values" else ("gradients", "shapes")
        assert len({sums(name, open_engine(each, HUBER, needs, name), points) for each in data}) == 1


@pytest.mark.parametrize("name", ["reference", "values"])
@pytest.mark.parametrize("loss", ["softmax", "mean"])
def test_losses_of_several_scores_and_of_a_mean_are_as_steady(name, loss):
    """All of their sums: of gradients, and of values in a fine unit."""
    rng, classes = np.random.default_rng(8), 3
    ball = sf.priors.Ball(sf.priors.Gaussian(0.5), 3.0)
    target = sf.Category(list(range(classes)), missing=0) if loss == "softmax" else None
    schema = sf.Schema.vector(WIDTH, data_norm=NORM, target=target, persons=PERSONS)
    size = WIDTH * (classes if loss == "softmax" else 1)
    made = sf.losses.Softmax(radius=NORM, classes=classes) if loss == "softmax" else sf.losses.GaussianMean(NORM)
    model, seen = sf.Gibbs(made, ball, size), set()
    own, points = rng.normal(size=(1, WIDTH)) / 7, rng.normal(size=(40, size)) / 9
    for count in BEFORE:
        rows = np.vstack([np.zeros((count, WIDTH)), own])
        labels = None if target is None else [0] * count + [2]
        data = sf.Dataset.from_arrays(rows, labels, schema=schema, groups=["a"] * count + ["b"])
        engine = open_engine(data, model, ("values",) if name == "values" else ("gradients",), name)
        seen.add(engine.gradient(points).tobytes() if name == "reference" else str(engine.values(points, UNIT, BOUND)))
    assert len(seen) == 1


@pytest.mark.planted
@pytest.mark.parametrize("name", ["dense", "reference", "values"])
def test_a_row_at_a_kink_stays_on_its_side(name):
    """The others' scores are 1 up to a rounding, where the hinge bends: their slopes are 0 or 1, wherever they stand.

    Computed by a matrix product, some of these scores are rounded otherwise when one person has a row more, and the gradient moves
    by more than is declared for one person.
    """
    rng, worst = np.random.default_rng(5), 0.0
    theta = rng.normal(size=WIDTH)
    theta /= np.linalg.norm(theta)
    model = sf.Gibbs(sf.losses.Hinge(NORM), sf.priors.Ball(sf.priors.Gaussian(0.5), 3.0), WIDTH)
    schema = sf.Schema.vector(WIDTH, data_norm=NORM, target=sf.Category([0, 1], missing=0), persons=PERSONS)
    for _ in range(sized(150, 2000)):
        x = rng.normal(size=WIDTH) / 10
        x += theta * (1 - theta @ x)
        ends = []
        for count, sign in ((1, 1.0), (2, -1.0)):
            rows = np.vstack([[sign * NORM * np.eye(WIDTH)[0]] * count, [x] * 5])
            data = sf.Dataset.from_arrays(rows, [1] * len(rows), schema=schema, groups=[0] * count + [1, 2, 3, 4, 5])
            ends.append(open_engine(data, model, ("gradients",), name).gradient(np.stack([theta] * 4)))
        worst = max(worst, float(np.linalg.norm(ends[0] - ends[1], axis=1).max()))
    assert worst <= model.constants.difference * (1 + 1e-9)
    assert worst > 0.99 * model.constants.difference


def test_steady_products_are_products():
    """As near to the exact sums as d roundings allow, and those of a matrix product."""
    rng = np.random.default_rng(0)
    for n, k, d in ((1, 1, 1), (5, 3, 40), (300, 200, 7), (0, 3, 2)):
        rows, points = rng.normal(size=(n, d)), rng.normal(size=(k, d))
        for given in (rows, sparse.csr_array(rows)):
            found = row_products(given, points, True)
            size = np.abs(rows) @ np.abs(points).T
            assert (np.abs(found - rows @ points.T) <= 2 * d * 2.0**-52 * size).all()
    exact = math.fsum((rows := rng.normal(size=40)) * (point := rng.normal(size=40)))
    assert math.isclose(row_products(rows[None], point[None], True)[0, 0], exact, rel_tol=1e-13)
