"""Sensitivity by brute force: the largest move of a family's totals over all pairs of extreme records is what it declares."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from family_cases import CASES

import sfumato as sf
from sfumato.grids.line import spacing as normal_spacing
from sfumato.models.families._normal import deviation_of

LEVELS = ["a", "b", "c"]


def by_group(model, **columns) -> tuple[object, sf.Schema]:
    return sf.grouped(model, "g", LEVELS), sf.Schema({"g": sf.Category(LEVELS, missing=LEVELS[0]), **columns})


MODELS = {name: (case.model, case.schema) for name, case in CASES.items()} | {
    "BoundedMean": (sf.families.BoundedMean(0, 80), sf.Schema({"x": sf.Number(0, 80)})),
    "mean by group": by_group(sf.families.BoundedMean(0, 80), x=sf.Number(0, 80)),
    "normal mean by group": by_group(sf.families.NormalMean(4.0, 0, 20, mean=10.0, precision=0.25), x=sf.Number(0, 20)),
    "count by group": by_group(sf.families.GammaPoisson(6, 2, 20), x=sf.Number(0, 20, integer=True)),
    "duration by group": by_group(sf.families.ExponentialRate(8, 2, 6), x=sf.Number(0, 6)),
    "share by group": by_group(sf.families.BetaBernoulli(2, 3), x=sf.Boolean(missing=False)),
    "category by group": by_group(
        sf.families.DirichletCategorical(["s", "m"], [1.0, 2.0]), x=sf.Category(["s", "m"], missing="s")
    ),
    "histogram by group": by_group(sf.families.Histogram(0, 80, [0, 18, 40, 80]), x=sf.Number(0, 80)),
    "cross table of three": (
        sf.families.CrossTable({"u": LEVELS, "v": [False, True], "x": []}, {"x": [0, 18, 40, 80]}),
        sf.Schema({"u": sf.Category(LEVELS, missing=LEVELS[0]), "v": sf.Boolean(missing=False), "x": sf.Number(0, 80)}),
    ),
    "network": (
        sf.networks.BayesianNetwork({"u": [], "v": ["u"], "w": ["u", "v"]}, {"u": 2, "v": 3, "w": 2}),
        sf.Schema({"u": sf.Category([0, 1], missing=0), "v": sf.Category([0, 1, 2], missing=0),
                   "w": sf.Category([0, 1], missing=0)}),
    ),
}  # fmt: skip


def extremes(schema: sf.Schema):
    """Records at every corner of what a schema allows, middles and a missing cell included."""
    if schema.dimension is not None:
        axes = np.eye(schema.dimension) * schema.data_norm
        return np.concatenate([axes, -axes, 2 * axes])
    values = []
    for column in schema.columns.values():
        if isinstance(column, sf.Number):
            middle = float(np.rint((column.lower + column.upper) / 2))
            values.append([column.lower, column.upper, middle, column.upper + 7.0, column.lower - 7.0])
        else:
            values.append([False, True] if isinstance(column, sf.Boolean) else list(column.levels))
    found = list(itertools.product(*values))
    return {name: [record[k] for record in found] for k, name in enumerate(schema.columns)}


def moves(model, schema: sf.Schema) -> np.ndarray:
    """Distance of the totals of every two single records."""
    from sfumato.dataset import rows_of
    from sfumato.engines.codes import CodesEngine

    table = extremes(schema)
    count = len(table) if schema.dimension is not None else len(next(iter(table.values())))
    singles = []
    for k in range(count):
        if schema.dimension is not None:
            data = sf.Dataset.from_arrays(table[k : k + 1], schema=schema)
        else:
            data = sf.Dataset.from_table({name: [cells[k]] for name, cells in table.items()}, schema=schema)
        assert rows_of(data).n == 1
        counts = CodesEngine(data, model.columns(schema)).totals(model.tally)
        singles.append([float(c * unit) for c, unit in zip(counts, model.units, strict=True)])
    found = np.array(singles)
    return np.linalg.norm(found[:, None] - found[None], axis=-1)


@pytest.mark.parametrize("name", list(MODELS))
def test_the_sensitivity_of_totals_is_that_of_the_worst_two_records(name):
    """No pair moves them by more, and a pair attains it: no factor is missing and none is too many."""
    model, schema = MODELS[name]
    worst = moves(model, schema).max()
    assert worst <= model.sensitivity
    assert worst == pytest.approx(model.sensitivity, rel=1e-9)


def test_a_trajectory_moves_its_first_state_and_all_its_steps():
    """Every pair of trajectories of three states and four steps, counted by hand."""
    states, length = 3, 5
    model = sf.networks.MarkovChain(states=list(range(states)), record="trajectory", length=length)

    def counts(path):
        first, steps = np.zeros(states), np.zeros((states, states))
        first[path[0]] += 1
        for here, there in itertools.pairwise(path):
            steps[here, there] += 1
        return np.concatenate([first, steps.ravel()])

    paths = np.array([counts(path) for path in itertools.product(range(states), repeat=length)])
    worst = max(np.linalg.norm(paths - path, axis=1).max() for path in paths)
    assert worst <= model.sensitivity
    assert worst == pytest.approx(model.sensitivity, rel=1e-9)


def exact_total(model, lower: float, upper: float, cell: float):
    """The total of one record in rational arithmetic."""
    from sfumato.engines.codes import CodesEngine

    schema = sf.Schema({"x": sf.Number(lower, upper)})
    data = sf.Dataset.from_table({"x": [cell]}, schema=schema)
    (count,) = CodesEngine(data, model.columns(schema)).totals(model.tally)
    return count * model.units[0]


@pytest.mark.parametrize("family", ["precision", "rate", "mean"])
def test_a_sensitivity_that_is_no_float_is_rounded_up(family):
    """Bounds whose width or half square has no float: the worst two records, without rounding, stay within it."""
    from fractions import Fraction

    rng = np.random.default_rng(6)
    for _ in range(40):
        bound, low = float(rng.uniform(0.1, 9.0)), float(rng.uniform(-9.0, 9.0))
        if family == "precision":
            model, ends, worst = sf.families.NormalPrecision(8, 8, 0.0, bound), (-bound, bound), (0.0, bound)
        elif family == "rate":
            model, ends, worst = sf.families.ExponentialRate(8, 2, bound), (0.0, bound), (0.0, bound)
        else:
            ends = worst = (low, low + bound)
            model = sf.families.NormalMean(4.0, *ends, mean=low, precision=0.25)
        first, second = (exact_total(model, *ends, cell) for cell in worst)
        assert abs(second - first) <= Fraction(model.sensitivity)
        assert abs(second - first) >= Fraction(model.sensitivity) * (1 - Fraction(1, 10**9))


# --- normal posteriors: the deviation that is drawn is never below the one that is priced ---------------------------


def test_a_normal_deviation_is_rounded_up():
    """deviation^2 precision >= 1 in rational arithmetic, and by no more than a few roundings."""
    from fractions import Fraction

    rng = np.random.default_rng(1)
    for _ in range(2_000):
        precision = Fraction(float(10 ** rng.uniform(-30, 30))) + Fraction(int(rng.integers(1, 999)), 997)
        square = Fraction(deviation_of(precision)) ** 2 * precision
        assert 1 <= square <= 1 + Fraction(1, 1 << 48)


def test_the_grid_of_a_normal_is_a_millionth_of_its_deviation():
    for deviation in (1e-9, 0.3, 1.0, 7.0, 1e12):
        step = normal_spacing(deviation)
        assert step.numerator == 1 or step.denominator == 1
        assert math.log2(float(step)) == int(math.log2(float(step)))
        assert deviation * 2.0**-21 < step <= deviation * 2.0**-20


def squares_moved(first, second):
    """How far two places between 0 and 1, in steps of 2^-40, lie apart in both totals of a mean: a square, exact."""
    from fractions import Fraction

    model = sf.families.BoundedMean(0.0, float(1 << 40))
    totals = [model.tally({"x": np.array([float(place)])}, ["x"]).tolist() for place in (first, second)]
    return sum((Fraction(a - b) * unit) ** 2 for a, b, unit in zip(*totals, model.units, strict=True))


def test_a_mean_and_its_spread_move_by_one_range_together():
    """Places at the bounds, next to them, and around the steps to which distances are rounded: the square is at most 1."""
    step = 1 << 20
    near = [
        0,
        1,
        step // 4,
        step // 2 - 1,
        step // 2,
        step // 2 + 1,
        step,
        3 * step // 2,
        5 * step + 3,
        1 << 30,
        1 << 37,
    ]
    top = 1 << 40
    largest = max(squares_moved(a, b) for a in near for b in [top - each for each in near])
    assert largest == squares_moved(0, top) == 1
    rng = np.random.default_rng(11)
    places = rng.integers(0, top + 1, (300, 2)).tolist()
    assert max(squares_moved(a, b) for a, b in places) < 1


def counts_moved(model, first: int, second: int):
    """The square of how far a replaced count moves the sum and the squares together, over that of the bound: exact."""
    from fractions import Fraction

    totals = [model.tally({"x": np.array([float(count)])}, ["x"]).tolist() for count in (first, second)]
    moved = [Fraction(a - b) * unit for a, b, unit in zip(*totals, model.units, strict=True)]
    return sum(each**2 for each in moved) / Fraction(model.bound) ** 2


@pytest.mark.planted
def test_counts_and_their_squares_move_by_the_bound_together():
    """Every pair of counts up to 40; of bounds whose squares are rounded, counts at the ends, near them and near the middle."""
    for bound in range(1, 41):
        model = sf.families.GammaPoisson(1, 1, bound)
        found = {(a, b): counts_moved(model, a, b) for a in range(bound + 1) for b in range(a)}
        assert max(found.values()) == found[bound, 0] == 1
    rng = np.random.default_rng(3)
    for bound in (8_388_607, 8_388_608, 12_345_679, (1 << 40) + 12345, (1 << 46) - 1, 1 << 46):
        model, step = sf.families.GammaPoisson(1, 1, bound), max(1, bound >> 23)
        near = [0, 1, step // 2, step - 1, step, step + 1, 3 * step // 2, bound // 4, bound // 3, bound // 2]
        pairs = [(a, end) for a in near for b in near for end in (b, bound - b)]
        pairs += rng.integers(0, bound, (200, 2), endpoint=True).tolist()
        assert max(counts_moved(model, a, b) for a, b in pairs) == counts_moved(model, 0, bound) == 1


def test_the_squares_of_a_block_of_counts_do_not_overflow():
    from sfumato.schema.structure import BLOCK_ROWS

    for bound in (1, 20, 8_388_607, 8_388_608, (1 << 46) - 1, 1 << 46):
        model = sf.families.GammaPoisson(1, 1, bound)
        one = model.tally({"x": np.zeros(1)}, ["x"]).tolist()
        block = model.tally({"x": np.zeros(BLOCK_ROWS)}, ["x"]).tolist()
        assert block == [BLOCK_ROWS * each for each in one]
        assert model.units[1] * one[1] == pytest.approx(bound / 2, rel=2.0**-21)


@pytest.mark.parametrize("own", [sf.families.BoundedMean(0, 1), sf.families.GammaPoisson(1, 1, 7)])
def test_changing_the_group_moves_no_more_than_changing_the_value(own):
    changed = 2 * (own.presence**2 + own.reach**2)
    assert changed <= own.sensitivity**2
    assert sf.grouped(own, "g", LEVELS).sensitivity == own.sensitivity
