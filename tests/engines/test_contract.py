"""The contract of engines: one battery that every engine of the table passes, and promises that are checked when it is opened."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import sparse

import sfumato as sf
from sfumato.dataset import rows_of
from sfumato.engines import dense, opening, reference
from sfumato.engines import sparse as sparse_engine
from sfumato.engines.opening import ENGINES, Offer, open_engine
from sfumato.engines.protocol import PART_ROWS, gradient_error, most_additions
from sfumato.errors import ArgumentError

N, WIDTH = 20_000, 3
SIGNS = sf.Category([-1, 1], missing=-1)
HINGE = sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Gaussian(1.0), WIDTH)
RATE = sf.families.BetaBernoulli()
# Name of each engine -> how its rows are stored; a table has labels alone.
ROWS = {"codes": None, "dense": np.asarray, "sparse": sparse.csr_array, "reference": np.asarray, "values": np.asarray}
# A card rounds rows and scores to float32: the battery of its sums is its own (`test_gpu`).
CARD = {"gpu"}
GRADIENTS = [offer.name for offer in ENGINES if "gradients" in offer.answers and offer.name not in CARD]


def cancelling() -> tuple[np.ndarray, np.ndarray]:
    """Rows and signs whose sums cancel: large terms of both signs among small ones, and running sums rounded one way."""
    rng = np.random.default_rng(8)
    rows = np.column_stack(
        [np.full(N, 1 / 3), 10.0 ** rng.uniform(-16, -0.5, N), 0.1 + rng.uniform(-1, 1, N) * 2.0**-45]
    )
    rows[::977, 1] = 0.5
    signs = np.ones(N, dtype=int)
    signs[1::2] = -1
    return rows, signs


def matrix(store, rows, labels, target=SIGNS) -> sf.Dataset:
    schema = sf.Schema.vector(rows.shape[1], data_norm=1.0, target=target)
    return sf.Dataset.from_arrays(store(rows), labels, schema=schema)


def exact(slopes, rows) -> list[Fraction]:
    """Sum of slope times row, in fractions."""
    return [
        sum((Fraction(s) * Fraction(x) for s, x in zip(slopes, column, strict=True)), Fraction(0))
        for column in rows.T.tolist()
    ]


@cache
def exact_hinge(cancels: bool) -> list[Fraction]:
    """Gradient sum of the hinge at 0 over the rows, with their signs or with all labels 1."""
    rows, signs = cancelling()
    return exact((-signs).tolist() if cancels else [-1] * N, rows)


def off(gradient, wanted) -> float:
    return math.hypot(*(float(abs(Fraction(g) - w)) for g, w in zip(gradient.tolist(), wanted, strict=True)))


def test_every_engine_of_the_table_is_in_the_battery():
    assert set(ROWS) | CARD == {offer.name for offer in ENGINES}
    assert {need for offer in ENGINES for need in offer.answers} == {
        "totals",
        "gradients",
        "values",
        "shapes",
        "exact scores",
    }


@pytest.mark.parametrize("chains", [1, 5])
@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_sum_is_no_further_off_than_is_charged(name, chains):
    """Slopes of the hinge at 0 are exactly -y, so the exact sum is one of fractions, whatever the order of the rows."""
    rows, signs = cancelling()
    for order in (slice(None), slice(None, None, -1)):
        for cancels, labels in ((True, signs), (False, np.ones(N, dtype=int))):
            engine = open_engine(matrix(ROWS[name], rows[order], labels[order]), HINGE, ("gradients",), name)
            gradients = engine.gradient(np.zeros((chains, WIDTH)))
            worst = max(off(gradient, exact_hinge(cancels)) for gradient in gradients)
            assert worst <= gradient_error(N, 1.0)
    assert worst > gradient_error(N, 1.0) / 1e5, "the bound is not idle"


def test_a_gradient_sum_of_several_scores_is_no_further_off_than_is_charged():
    """Slopes of four classes at 0 are 1/4 - [k = y]; their norm is at most sqrt(2)."""
    n = 2_000
    rows, labels = cancelling()[0][:n], np.arange(n) % 4
    model = sf.Gibbs(sf.losses.Softmax(1.0, classes=4), sf.priors.Gaussian(1.0), 4 * WIDTH)
    engine = open_engine(matrix(np.asarray, rows, labels, sf.Category([0, 1, 2, 3], missing=0)), model, ("gradients",))
    found = engine.gradient(np.zeros((1, 4 * WIDTH)))[0].reshape(4, WIDTH)
    wanted = [exact((0.25 - (labels == k)).tolist(), rows) for k in range(4)]
    assert math.hypot(*(off(found[k], wanted[k]) for k in range(4))) <= gradient_error(n, math.sqrt(2))


@pytest.mark.parametrize("name", GRADIENTS)
def test_no_number_of_processors_changes_a_bit(name, monkeypatch):
    rows, signs = cancelling()
    theta, bits = np.random.default_rng(1).normal(size=(6, WIDTH)), set()
    for count in (1, 2, 7, None):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        bits.add(open_engine(matrix(ROWS[name], rows, signs), HINGE, ("gradients",), name).gradient(theta).tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize("name", [offer.name for offer in ENGINES if "values" in offer.answers])
def test_sums_of_values_are_those_of_single_records_in_whole_numbers(name):
    rows, signs = cancelling()
    points, unit = np.random.default_rng(2).normal(0, 3, (5, WIDTH)), 2.0**-30
    few = 40
    engine = open_engine(matrix(ROWS[name], rows[:few], signs[:few]), HINGE, ("values",), name)
    alone = [
        open_engine(matrix(ROWS[name], rows[i : i + 1], signs[i : i + 1]), HINGE, ("values",), name).values(
            points, unit, 9.0
        )
        for i in range(few)
    ]
    assert engine.values(points, unit, 9.0) == [sum(column) for column in zip(*alone, strict=True)]
    turned = open_engine(matrix(ROWS[name], rows[::-1], signs[::-1]), HINGE, ("values",), name).values(
        points, unit, 9.0
    )
    assert turned == open_engine(matrix(ROWS[name], rows, signs), HINGE, ("values",), name).values(points, unit, 9.0)


@pytest.mark.parametrize("name", [offer.name for offer in ENGINES if "totals" in offer.answers])
def test_totals_are_exact(name):
    ill = np.random.default_rng(3).random(70_000) < 0.3
    data = sf.Dataset.from_table({"ill": ill}, schema=sf.Schema({"ill": sf.Boolean(missing=False)}))
    engine = open_engine(data, RATE, ("totals",), name)
    assert engine.totals(RATE.tally) == [int(ill.sum())]
    large = 2**60 + 1  # not a float
    assert engine.totals(lambda block, columns: np.array([large])) == [large * 2]


# --- promises --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "room", "constant", "rows"),
    [
        ("dense", dense, "PART_ROWS", N),
        ("sparse", sparse_engine, "_PART", 3 * PART_ROWS),
        ("reference", reference, "_ROWS", 3 * PART_ROWS),
        ("values", reference, "_ROWS", 3 * PART_ROWS),
    ],
)
def test_an_engine_that_adds_up_longer_parts_says_so_and_is_refused(name, room, constant, rows, monkeypatch):
    data = matrix(ROWS[name], *cancelling())
    engine = open_engine(data, HINGE, ("gradients",), name)
    assert 0 < engine.additions <= most_additions(N)
    monkeypatch.setattr(room, constant, rows)
    with pytest.raises(ArgumentError, match=rf"engine '{name}' .* rounding errors are not paid for"):
        open_engine(data, HINGE, ("gradients",), name)


class Plain:
    """An engine from outside: sums of hinge gradients in plain Python, exactly rounded."""

    labels, dimension, opened = ("x0", "x1", "x2"), WIDTH, 0

    def __init__(self, dataset, model):
        self.n, self._rows, self._loss = dataset.n, rows_of(dataset), model.loss
        self.additions = 1.0
        Plain.opened += 1

    def gradient(self, theta):
        (block,) = self._rows.blocks()
        signs = np.where(np.asarray(block[self._rows.schema.target]) > 0, 1.0, -1.0)
        slopes = self._loss.derivative(block["matrix"] @ theta.T, signs[:, None])
        return np.array([[math.fsum(s * x) for x in block["matrix"].T] for s in slopes.T])


PLAIN = Offer("plain", frozenset({"gradients"}), Plain, lambda kind, model: kind == "dense")


def test_an_engine_from_outside_is_added_by_one_line_and_serves_a_release(monkeypatch):
    monkeypatch.setattr(opening, "ENGINES", list(ENGINES))
    rows, signs = cancelling()
    data = matrix(np.asarray, rows[:500], signs[:500])
    theta = np.random.default_rng(1).normal(size=(2, WIDTH))
    opening.ENGINES.append(PLAIN)
    assert type(open_engine(data, HINGE, ("gradients",))) is dense.DenseEngine, "one that stands first is taken first"
    chosen = open_engine(data, HINGE, ("gradients",), "plain")
    np.testing.assert_allclose(
        chosen.gradient(theta), open_engine(data, HINGE, ("gradients",)).gradient(theta), rtol=1e-10, atol=1e-12
    )
    opening.ENGINES.insert(0, opening.ENGINES.pop())
    before = Plain.opened
    model = sf.Gibbs(sf.losses.SmoothedHinge(1.0, width=0.5), sf.priors.Gaussian(1.0), WIDTH)
    release = sf.publish(sf.plan(model, 500, 1.0, 1e-6, mechanism="langevin-path", goal="estimate"), data)
    assert Plain.opened == before + 1
    release.verify()
    with pytest.raises(ArgumentError, match="plain"):
        open_engine(matrix(sparse.csr_array, rows[:50], signs[:50]), HINGE, ("gradients",), "plain")


def test_an_engine_with_a_weaker_promise_than_prices_assume_is_refused(monkeypatch):
    @dataclass
    class Long:
        n: int
        additions: float

    data = matrix(np.asarray, *cancelling())
    for extra, fits in ((0.0, True), (1.0, False), (math.nan, False)):
        made = Long(N, most_additions(N) + extra)
        offer = replace(PLAIN, open=lambda dataset, model, made=made: made)
        monkeypatch.setattr(opening, "ENGINES", [offer])
        if fits:
            assert open_engine(data, HINGE, ("gradients",)) is made
        else:
            with pytest.raises(ArgumentError, match="not paid for"):
                open_engine(data, HINGE, ("gradients",))


def test_sums_that_no_engine_answers_are_refused_by_name():
    data = matrix(np.asarray, *cancelling())
    for model, needs in (
        (HINGE, ("totals",)),
        (RATE, ("gradients",)),
        (HINGE, ("moments",)),
        (HINGE, ("gradients", "totals")),
    ):
        with pytest.raises(ArgumentError, match=r"no engine answers .*those that do: none"):
            open_engine(data, model, needs)
    with pytest.raises(ArgumentError, match=r"no engine named 'cloud' .*those that do: dense, reference, values"):
        open_engine(data, HINGE, ("gradients",), "cloud")
