"""The engine of a graphics card, on a card that is emulated: the kernels' own source, compiled as C++ (`emulated_card`)."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import card_cases
import numpy as np
import pytest
from card_cases import LOSSES, Case, data_of, measured
from scipy.sparse import csr_array

import sfumato as sf
from effort import sized
from emulated_card import EmulatedCard, needs_compiler
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.replay import replay
from sfumato.cuda import card as cards
from sfumato.cuda.card import SOURCE, WARPS, most_chains, shape_of
from sfumato.dataset.on_card import entered
from sfumato.engines import card_rows, gpu
from sfumato.engines.card_rows import cut_off
from sfumato.engines.design import kernel_arguments
from sfumato.engines.gpu import GpuEngine
from sfumato.engines.kernels import slope
from sfumato.engines.opening import open_engine
from sfumato.engines.protocol import gradient_error
from sfumato.errors import ArgumentError
from sfumato.mechanisms import task_of

pytestmark = needs_compiler
CASES = card_cases.cases()
QUICK = (
    "1 columns", "5 columns", "30 columns", "100 columns", "300 columns", "1030 columns", "8 chains", "13 chains", "0 rows",
    "8 chains of 30 columns", "8 chains of 129 columns", "3 chains of 200 columns", "8 chains of 1000 columns",
    "20481 rows", "16383 rows, 2 chains of 132 columns", "8 logistic chains of 140 columns",
    "1 rows", "33 rows", "4097 rows", "no intercept", "weights", *(f"{name} loss" for name in LOSSES),
)  # fmt: skip


@pytest.fixture
def card(monkeypatch):
    made = EmulatedCard()
    monkeypatch.setattr(cards, "open_card", lambda: made)
    monkeypatch.setattr(gpu, "open_card", lambda: made)
    return made


@pytest.mark.planted
@pytest.mark.parametrize("name", sized(QUICK, tuple(CASES)))
def test_sums_are_those_of_numpy_within_what_is_charged(name):
    """Twice the bound of one sum: NumPy's are rounded too."""
    for kind, off in measured(CASES[name], EmulatedCard()):
        assert off <= 2, (kind, off)


@pytest.mark.planted
@pytest.mark.parametrize(("width", "chains"), [(3, 1), (6, 8), (132, 2)])
def test_rows_that_pass_through_the_card_in_chunks_have_the_same_sums(width, chains, monkeypatch):
    monkeypatch.setattr(card_rows, "_BYTES", 1)  # steps of one part
    found = []
    for limit in (1 << 40, least_room(Case(12_000, width, weighted=True))):
        data, model, theta = data_of(Case(12_000, width, chains=chains, weighted=True))
        card = EmulatedCard(limit)
        engine = GpuEngine(data, model, card)
        weighed = engine.weighed(np.eye(width + 1) * 2, 1.0)
        sums = [
            engine.gradient(theta),
            engine.moments(2.0),
            weighed.gradient(theta),
            *weighed.second_sums(theta[0], True),
        ]
        found.append([np.asarray(each).tobytes() for each in sums])
        assert (card.in_pieces > 0) == (limit < 1 << 40)
    assert found[0] == found[1]
    with pytest.raises(ArgumentError, match="no room"):
        GpuEngine(data, model, EmulatedCard(limit - 1))


def least_room(case: Case) -> int:
    """The smallest card that the rows can pass through."""
    data, model, _ = data_of(case)
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        try:
            card_rows.Room.of(data, model, EmulatedCard(middle))
            high = middle
        except ArgumentError:
            low = middle
    return high


@pytest.mark.planted
@pytest.mark.parametrize("name", list(LOSSES))
def test_slopes_and_curvatures_are_those_of_the_compiled_kernels_and_of_the_loss(name):
    """At scores from -800 to 800 and around every kink, through the kernel that reads the map's image of one column."""
    loss = LOSSES[name](1000.0)
    code, first, second = kernel_arguments(loss)
    labels = np.array([0.0, 1.0, 2.5, 6.0]) if name in card_cases.NUMBERS else np.array([-1.0, 1.0])
    labels = np.array([0.0, 1.0]) if name == "cloglog" else labels
    near = np.concatenate([np.linspace(-4, 8, 97), [-800.0, -40.0, -37.5, 36.0, 300.0, 800.0]])
    u, y = (each.ravel() for each in np.meshgrid(near.astype(np.float32), labels))
    n = np.int64(len(u))
    card, steep = EmulatedCard(), np.empty(len(u))
    rows = np.zeros((len(u), 4), np.float32)
    rows[:, 0] = u
    theta, numbers = np.array([1.0, 0, 0, 0]), (np.float64(first), np.float64(second))
    card.kernel("slopes", D4=1, LOSS=code)(
        -(-len(u) // 8), rows, y.astype(np.float32), None, n, theta, np.float64(0), *numbers, steep
    )
    expected = [slope(code, float(a), float(b), first, second) for a, b in zip(u, y, strict=True)]
    assert steep == pytest.approx(expected, rel=1e-13, abs=1e-300)
    assert steep == pytest.approx(loss.derivative(u.astype(float), y), rel=1e-9, abs=1e-12)
    if name in card_cases.KINKED:
        return
    bent, squares = np.empty((len(u), 1)), np.empty(len(u))
    ones, z = np.ones(len(u), np.float32), u.astype(np.float64)[:, None]
    bounds = (np.float64(loss.largest_slope()), np.float64(loss.largest_curvature()))
    given = (z, np.ones((len(u), 1)), y.astype(np.float32), ones, n, np.int32(1), np.ones(1), np.int32(code))
    card.kernel("second_order", D4=1)(-(-len(u) // 8), *given, *numbers, *bounds, bent, None, squares)
    # At a kink of the slope either side is right.
    below, above = (loss.curvature(z[:, 0] + step, y) for step in (-1e-6, 1e-6))
    smooth = np.abs(above - below) < 1e-3
    assert smooth.mean() > 0.9
    assert bent[smooth, 0] ** 2 == pytest.approx(loss.curvature(z[:, 0], y)[smooth], rel=1e-9, abs=1e-12)
    assert squares == pytest.approx(steep**2, rel=1e-12, abs=1e-300)


@pytest.mark.planted
@pytest.mark.parametrize("quads", [1, 33])
def test_logistic_slopes_of_several_chains_are_those_of_float32_and_within_their_bound(quads):
    """One row at a time, by the kernel itself; the last number of its line is the slope."""
    card = EmulatedCard()
    shape, wide = shape_of(quads, 2), 4 * quads
    launch = card.kernel(shape.kernel, LOSS=0, **shape.defined)
    theta, bias, numbers = (
        np.eye(1, wide, dtype=np.float32).repeat(2, axis=0),
        np.array([0.0, 0.5]),
        (np.float64(0),) * 2,
    )
    for u in [*np.linspace(-20, 20, 41), -800.0, -104.0, -88.0, 88.0, 104.0, 800.0, math.inf, -math.inf, math.nan]:
        for y in (-1.0, 1.0):
            out, rows = np.empty((1, 2 * wide + 2)), np.zeros((1, wide), np.float32)
            rows[:, 0] = u
            launch(1, rows, np.array([y], np.float32), None, np.int64(1), theta, bias, *numbers, out)
            expected = [slope(0, float(np.float32(u)) + shift, y, 0.0, 0.0) for shift in bias]
            assert out[0, [wide, -1]] == pytest.approx(expected, rel=2.0**-21, abs=1e-38)
            assert (np.abs(out[0, [wide, -1]]) <= 1).all()


@pytest.mark.planted
def test_a_replaced_record_changes_the_sum_of_its_own_run_alone(monkeypatch):
    """Every other line that is folded has the same bits."""
    lines = []
    folded = GpuEngine._folded
    monkeypatch.setattr(GpuEngine, "_folded", lambda self, given: lines.append(given.copy()) or folded(self, given))
    X = np.random.default_rng(0).normal(size=(7_000, 5)) / 4
    y = np.arange(7_000) % 2 == 0
    schema = sf.Schema.vector(5, data_norm=1.0, target=sf.Boolean(missing=False))
    model = sf.Gibbs(sf.losses.Logistic(1.2), sf.priors.Gaussian(1.0), 6, 0.5)
    for row in (None, 0, 2_047, 2_048, 6_999):
        other = X.copy()
        if row is not None:
            other[row] = -other[row] + 0.1
        engine = GpuEngine(sf.Dataset.from_arrays(other, y, schema=schema), model, EmulatedCard())
        engine.gradient(np.full((1, 6), 0.3))
        changed = np.flatnonzero((lines[-1] != lines[0]).any(axis=1)).tolist()
        assert changed == ([] if row is None else [row // 2_048])


@pytest.mark.planted
@pytest.mark.parametrize("bend", [1.0, 3.0, math.inf])
def test_no_rounding_makes_a_weighted_row_longer_than_is_charged(bend):
    """In fractions, over maps that cancel: v |Bz| <= 1 and v |Bz|^2 <= bend for the weights of the card."""
    rng, d = np.random.default_rng(4), 6
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    matrix = turned @ np.diag(10.0 ** np.linspace(-3, 3, d)) @ turned.T
    X = rng.normal(size=(200, d)) * 10.0 ** rng.uniform(-3, 1, (200, 1))
    X[::2] = X[::2] @ np.linalg.inv(matrix)
    schema = sf.Schema.vector(d, data_norm=1e4, target=sf.Boolean(missing=False))
    data = sf.Dataset.from_arrays(X, np.arange(200) % 2 == 0, schema=schema)
    engine = GpuEngine(data, sf.Gibbs(sf.losses.Logistic(1e4), sf.priors.Gaussian(1.0), d), EmulatedCard())
    weights = engine.weighed(matrix, bend)._weights
    assert (weights < 1).sum() > 50
    for z, v in zip(engine._held._rows[:, :d].tolist(), weights.tolist(), strict=True):
        mapped = [sum(Fraction(b) * Fraction(x) for b, x in zip(line, z, strict=True)) for line in matrix.tolist()]
        square = sum(x * x for x in mapped)
        assert Fraction(v) ** 2 * square <= 1
        assert math.isinf(bend) or Fraction(v) * square <= Fraction(bend)


@pytest.mark.planted
@pytest.mark.parametrize("kind", ["clip", "normalise"])
def test_rows_that_are_on_the_card_are_bounded_there(kind):
    """No norm exceeds the declared one, in fractions; entries that are no numbers become 0."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 7)) * 10.0 ** rng.uniform(-20, 20, (300, 1))).astype(np.float32)
    X[::3] *= (1.0 / np.linalg.norm(X[::3].astype(float), axis=1))[:, None].astype(np.float32)
    X[1, 2], X[4, 0], X[7, 6] = np.nan, np.inf, -np.inf
    X[10] = 0.0
    X[13, 3] = -0.0
    schema = sf.Schema.vector(7, data_norm=1.0, rows=kind)
    rows = entered(X, schema, EmulatedCard())
    assert rows.shape == (300, 8)
    assert (rows[:, 7] == 0).all()
    assert np.isfinite(rows).all()
    assert (rows[1, 2], rows[4, 0], rows[7, 6]) == (0, 0, 0)
    assert not np.signbit(rows[rows == 0]).any()
    squares = [sum(Fraction(x) ** 2 for x in row) for row in rows.tolist()]
    assert max(squares) <= 1
    assert sum(square > Fraction(99, 100) for square in squares) > 150
    assert squares[10] == 0


def test_entries_are_cut_off_towards_zero():
    values = np.array([0.1, -0.1, 1e-50, -1e-50, 1e300, -1e300, 1.0, 0.0, 3.4028235677973366e38])
    cut = cut_off(values).astype(np.float64)
    assert (np.abs(cut) <= np.abs(values)).all()
    assert cut[:2] == pytest.approx(values[:2], rel=2.0**-23)
    assert (np.isfinite(cut).all(), cut[6]) == (True, 1.0)


@pytest.mark.parametrize("width", [1, 4, 5, 16, 17, 32, 100, 128, 129, 256, 511, 513, 1_024])
@pytest.mark.parametrize("chains", [1, 2, 8])
def test_lanes_cover_a_row_once_and_a_warp_is_full(width, chains):
    quads = -(-width // 4)
    shape = shape_of(quads, chains)
    cut = shape.defined
    lanes = 32 * cut["W"] if shape.kernel == "wide_gradient" else cut["G"] * cut["K"]
    assert lanes >= quads > lanes // 2 or lanes == 1
    assert (shape.kernel == "wide_gradient") == (width > 128 and chains > 1)
    assert cut["U"] <= cut.get("G", 32)
    assert shape.runs * cut.get("W", 1) == WARPS
    assert all(math.log2(cut[name]).is_integer() for name in cut if name != "D4")
    assert (most_chains(quads), most_chains(257)) == (8, 0)


def test_the_source_has_no_atomics_and_no_unsafe_mathematics():
    code = re.sub(r"//.*", "", SOURCE.read_text(encoding="utf-8"))
    assert not re.search(r"atomic|fast_math|clock", code)
    # What a shuffle orders on the emulated card must be ordered by a barrier on a real one: before and after slopes are read.
    for kernel in ("gradient", "wide_gradient"):
        body = code.split(f" {kernel}(")[1].split("extern")[0]
        assert body.count("__syncwarp();") == 2
        assert re.search(r"__syncwarp\(\);\s+FOR\(u, U\) \{.*steep\[warp\].*__syncwarp\(\);", body, flags=re.DOTALL)
    # Quick functions stand in one line, where the result is cut off at its bound.
    assert re.findall(r".*__(?:expf|fdividef).*", code) == [
        "    const float steep = fminf(__fdividef(1.0f, 1.0f + __expf((float)(y * u))), 1.0f);"
    ]
    assert "atomics" in SOURCE.read_text(encoding="utf-8")


def test_a_release_on_the_card_is_that_in_memory_but_for_float32(card):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 3)) / 2
    y = rng.random(6_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    schema = sf.Schema.vector(3, data_norm=1.5, target=sf.Boolean(missing=False))
    model = sf.Gibbs(sf.losses.Logistic(1.6), sf.priors.Gaussian(0.05), 4, 0.5)
    plan = sf.plan(model, 6_000, 1.0, 1e-6, goal="estimate", steps=8)
    rows = X.astype(np.float32).view(_OnCard)
    found = {}
    for name, given, where in (("memory", X, "memory"), ("gpu", X, "gpu"), ("array on the card", rows, "gpu")):
        data = sf.Dataset.from_arrays(given, y, schema=schema, engine=where)
        assert data.engine == where
        release = sf.publish(plan, data, randomness=sf.seeded(5))
        release.verify()
        found[name] = release.mean()
    assert found["gpu"] == pytest.approx(found["memory"], abs=1e-4)
    assert found["array on the card"] == pytest.approx(found["memory"], abs=1e-4)
    # What a card has no kernel for is summed by the processor, from the same rows.
    assert open_engine(data, replace(model, loss=sf.losses.GaussianMean(1.5)), ("gradients",)).n == 6_000


@pytest.mark.planted
def test_a_plan_is_replayed_on_pairs_of_data_sets_on_the_card(card):
    """Every part of a shaped path is within its price for neighbours: opposite longest rows, and rows at random."""
    rng = np.random.default_rng(1)
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Boolean(missing=False))
    model = sf.Gibbs(sf.losses.Logistic(1.25), sf.priors.Gaussian(0.05), 3, 0.5)
    plan = sf.plan(model, 4_000, 1.0, 1e-6, goal="estimate", steps=3)
    rows, labels = rng.normal(size=(4_000, 2)) / 2, rng.random(4_000) < 0.5
    for changed in ([[1.0, 0.0], [-1.0, 0.0]], [[0.6, 0.8], [0.0, 0.0]], rng.normal(size=(2, 2))):
        pair = [
            sf.Dataset.from_arrays(np.vstack([[end], rows[1:]]), labels, schema=schema, engine="gpu") for end in changed
        ]
        replayed = replay(plan, Neighbours("one row", *pair), seed=3)
        assert replayed.holds, str(replayed)
        assert {part.name for part in replayed.parts} >= {"gradient", "moments"}
        assert 0 < replayed.spent <= replayed.price


class _OnCard(np.ndarray):
    """An array that says that it is on a card."""

    __cuda_array_interface__ = property(lambda self: {"version": 3})


@pytest.mark.planted
def test_what_a_card_does_not_serve_is_refused(card, tmp_path):
    vector = sf.Schema.vector(2, data_norm=1.0, target=sf.Boolean(missing=False))
    with pytest.raises(ArgumentError, match="sparse"):
        sf.Dataset.from_arrays(csr_array(np.eye(2)), [True, False], schema=vector, engine="gpu")
    with pytest.raises(ArgumentError, match="float32"):
        sf.Dataset.from_arrays(np.eye(2).view(_OnCard), [True, False], schema=vector)
    with pytest.raises(ArgumentError, match="give both or neither"):
        sf.Dataset.from_arrays(np.eye(2, dtype=np.float32).view(_OnCard), schema=vector)
    persons = sf.Schema(
        {"x": sf.Number(0, 1), "y": sf.Boolean(missing=False)}, target="y", persons=sf.Persons("who", most=3, count=2)
    )
    table = {"who": [1, 1, 2], "x": [0.1, 0.2, 0.3], "y": [True, False, True]}
    with pytest.raises(ArgumentError, match="without persons"):
        sf.Dataset.from_table(table, schema=persons, engine="gpu")


@pytest.mark.planted
def test_a_card_without_room_is_refused_before_anything_is_charged(card, tmp_path):
    data, model, _ = data_of(Case(3_000, 4))
    data = sf.Dataset.from_arrays(np.zeros((3_000, 4)), [True] * 3_000, schema=data.schema, engine="gpu")
    ledger = sf.Ledger.open(tmp_path / "budget.db")
    ledger.register("data", epsilon=3.0, delta=1e-5)
    card.limit = 1_000
    plan = sf.plan(model, 3_000, 1.0, 1e-6, goal="estimate", steps=2)
    with pytest.raises(ArgumentError, match="no room"):
        sf.publish(plan, data, ledger=ledger)
    assert ledger.spent("data").charges == 0


@pytest.mark.planted
@pytest.mark.parametrize("goal", ["draws", "estimate"])
def test_scores_are_float64_where_the_price_counts_the_roundings_of_all_records(goal, card):
    """A chain that contracts is charged u (d + 4) r |theta| for every score, u that of float64; and so is one dimension."""
    rng = np.random.default_rng(0)
    n, d = 3_000, 1 if goal == "estimate" else 6
    X = np.ones((n, d)) / math.sqrt(d) + 1e-3 * rng.normal(size=(n, d))
    schema = sf.Schema.vector(d, data_norm=1.1, target=sf.Boolean(missing=False))
    model = sf.Gibbs(sf.losses.Logistic(1.1), sf.priors.Gaussian(5.0), d)
    data = sf.Dataset.from_arrays(X, np.arange(n) % 3 == 0, schema=schema, engine="gpu")
    plan = sf.plan(model, n, 1.0, 1e-6, goal=goal, mechanism="langevin" if goal == "draws" else "langevin-path")
    needs = task_of(plan)[0].NEEDS
    engine = open_engine(data, model, needs)
    assert isinstance(engine, GpuEngine)
    assert ("exact scores" in needs) == (goal == "draws")
    theta = rng.normal(size=(2, d)) * 3
    z = engine._held._rows[:, :d].astype(np.float64)
    labels = engine._held.labels.astype(np.float64)
    for point, found in zip(theta, engine.gradient(theta), strict=True):
        expected = model.loss.derivative(z @ point, labels) @ z
        scores = n * 0.25 * 1.1 * 1.2e-16 * ((d + 4) * 1.1 * float(np.linalg.norm(point)) + 8 / 1.1)
        assert np.linalg.norm(found - expected) <= 2 * (gradient_error(n, 1.1) + scores)


@pytest.mark.planted
def test_no_label_makes_a_sum_infinite_or_says_a_word(card):
    """Labels beyond float32 and scores that overflow: their difference is a number, and nothing is raised or warned."""
    schema = sf.Schema.vector(2, data_norm=1e30, target=sf.Number(0, 1e39))
    model = sf.Gibbs(sf.losses.Huber(1e30, 1.0), sf.priors.Gaussian(1.0), 2)
    X = np.array([[1e30, 0.0], [0.0, 1.0], [1e-42, 0.0]], np.float32)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for given in (X, X.view(_OnCard)):
            data = sf.Dataset.from_arrays(given, [1e39, 1e-42, 3.0], schema=schema, engine="gpu")
            engine = open_engine(data, model, ("gradients", "shapes"))
            weighed = engine.weighed(np.eye(2), 1.0)
            for far in (0.0, 1e9, 1e300, math.inf, math.nan):
                theta = np.array([[far, 1.0]])
                assert np.isfinite(engine.gradient(theta)).all()
                assert np.isfinite(weighed.gradient(theta)).all()
                assert all(np.isfinite(each).all() for each in weighed.second_sums(theta[0], True))


def test_running_sums_are_those_of_folds():
    """The same bits as 64 lines after each other, and 64 of these sums."""
    lines = np.random.default_rng(0).normal(size=(64 * 64 + 130, 3)) * 10.0 ** np.arange(-8, 1, 4)
    data, model, _ = data_of(Case(1, 3))
    engine, running = GpuEngine(data, model, EmulatedCard()), gpu._Running()
    for line in lines:
        running.add(line[None])
    assert running.sum().tobytes() == engine._fold(lines).tobytes()


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(cards, "_OPENED", {})
    schema = sf.Schema.vector(1, data_norm=1.0)
    with pytest.raises(ArgumentError, match=r"sfumato\[gpu\]"):
        sf.Dataset.from_arrays([[0.5]], schema=schema, engine="gpu")


def test_a_card_that_was_opened_before_a_fork_is_refused(monkeypatch):
    """In the process that opened it the same card is returned; in a fork of it CUDA's own error would say nothing."""
    opened = EmulatedCard()
    monkeypatch.setattr(cards, "_OPENED", {os.getpid(): opened})
    assert cards.open_card() is opened
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            cards.open_card()
        except ArgumentError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert b'start processes with "spawn"' in os.read(reading, 1_000)


def test_products_that_round_more_than_float64_are_refused():
    class Rounded:
        xp = type(
            "xp",
            (),
            {"asarray": staticmethod(np.asarray), "matmul": lambda a, b: a.astype(np.float32) @ b.astype(np.float32)},
        )

    with pytest.raises(ArgumentError, match="not those of float64"):
        cards._check_products(Rounded())
    cards._check_products(EmulatedCard())


ALONE = """
import sys
class Missing:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("numba", "llvmlite", "pyarrow", "pandas", "sklearn", "dp_accounting"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
import numpy as np
import sfumato as sf
from emulated_card import EmulatedCard
from sfumato.cuda import card
from sfumato.engines import gpu
made = EmulatedCard()
card.open_card = gpu.open_card = lambda: made
rng = np.random.default_rng(0)
schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Boolean(missing=False))
data = sf.Dataset.from_arrays(rng.normal(size=(3_000, 2)) / 3, rng.random(3_000) < 0.5, schema=schema, engine="gpu")
model = sf.Gibbs(sf.losses.Logistic(1.2), sf.priors.Gaussian(0.05), 3, 0.5)
print(sf.publish(sf.plan(model, 3_000, 1.0, 1e-6, goal="estimate", steps=2), data).draws)
"""


def test_the_path_of_the_card_imports_neither_numba_nor_pyarrow():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
