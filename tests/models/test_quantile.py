"""A quantile on public candidates: its loss, its sensitivity over all small data sets, its law and its refusals."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from goodness import LEVEL, chi_square_p
from sfumato.errors import ArgumentError, MechanismRefused
from sfumato.models import families
from sfumato.procedures import law

GRID = (1.0, 2.0, 3.0)
# Below, at, between and above the candidates.
VALUES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)


def losses(model, values) -> list[Fraction]:
    """Through the tally that a release takes."""
    totals = model.tally({"x": np.array(values)}, ["x"])
    found, scale = model.losses(totals.tolist(), len(values))
    return [Fraction(loss, scale) for loss in found]


def plain_losses(level: str, grid, values) -> list[Fraction]:
    """By counting, record by record: how far level * n is from the ranks that a candidate covers."""
    rank = Fraction(level) * len(values)
    found = []
    for c in grid:
        covered = (sum(x < c for x in values), sum(x <= c for x in values))
        found.append(min((abs(rank - r) for r in covered), default=0) if not covered[0] <= rank <= covered[1] else 0)
    return [Fraction(loss) for loss in found]


@pytest.mark.planted
@pytest.mark.parametrize("level", ["0.01", "0.25", "0.5", "0.73", "0.99"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_replaced_record_moves_every_loss_by_at_most_one(level, n):
    """All data sets of up to three records and all their neighbours; the range of the change reaches 2 and never beyond."""
    model = sf.families.Quantile(float(level), GRID)
    known, doubled = {}, {}
    for values in itertools.product(VALUES, repeat=n):
        known[values] = losses(model, values)
        assert known[values] == plain_losses(level, GRID, values)
        rank = Fraction(level) * n
        sides = [(sum(x < c for x in values), sum(x <= c for x in values)) for c in GRID]
        doubled[values] = [abs(low - rank) + abs(high - rank) for low, high in sides]
    largest, widest = changes(known)
    assert largest <= 1
    assert widest <= 2
    if n == 3:
        assert largest > Fraction(1, 2), "half the sensitivity would be caught"
        assert changes(doubled)[0] > 1, "the planted fault: both sides counted"


def changes(known) -> tuple[Fraction, Fraction]:
    """Largest change of a loss, and largest range of the changes over the candidates, over all neighbours."""
    largest = widest = Fraction(0)
    for values, here in known.items():
        for y in VALUES:
            gaps = [a - b for a, b in zip(here, known[(y, *values[1:])], strict=True)]
            largest = max(largest, *(abs(gap) for gap in gaps))
            widest = max(widest, max(gaps) - min(gaps))
    return largest, widest


def test_the_sensitivity_is_attained():
    """From below all candidates to above them: those above the median gain a rank, those below lose one."""
    model = sf.families.Quantile(0.5, GRID)
    others = [1.5, 2.5]
    gaps = [a - b for a, b in zip(losses(model, [0.5, 0.5, *others]), losses(model, [3.5, 0.5, *others]), strict=True)]
    wide = [0.5, 0.5, 1.5, 2.5, 3.5, 3.5]
    far = [a - b for a, b in zip(losses(model, wide), losses(model, [3.5, *wide[1:]]), strict=True)]
    assert max(gaps) <= 1
    assert (max(far), min(far)) == (1, -1)


@pytest.mark.planted
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_price_covers_every_pair_of_neighbours(epsilon):
    """Laws from the very logarithms that are drawn from; half the price is caught."""
    model = sf.families.Quantile(0.5, GRID)
    plan = sf.plan(model, 4, epsilon, 0.0)
    laws = {}
    for values in itertools.combinations_with_replacement(VALUES, 4):
        totals = [Fraction(int(count)) for count in model.tally({"x": np.array(values)}, ["x"])]
        logs = np.array([log / 2**48 for log in model.law(totals, 4, plan["power"]).logs])
        laws[values] = logs - np.logaddexp.reduce(logs)
    worst = 0.0
    for values, y in itertools.product(laws, VALUES):
        for k in range(4):
            other = tuple(sorted([*values[:k], *values[k + 1 :], y]))
            worst = max(worst, float(np.abs(laws[values] - laws[other]).max()))
    claim = plan.guarantee.curve.epsilon_value
    assert worst <= claim <= epsilon
    assert claim == pytest.approx(epsilon, rel=1e-6)
    assert worst > 0.5 * claim, "the planted fault: half the price is too little"


@pytest.mark.planted
def test_a_shared_value_is_found_by_every_level_that_falls_on_it():
    values = [0.5] * 10 + [2.0] * 80 + [3.5] * 10
    for level in (0.15, 0.5, 0.85):
        assert losses(sf.families.Quantile(level, GRID), values)[1] == 0
    one_sided = [abs(sum(x < c for x in values) - 50) for c in GRID]
    assert one_sided[1] == 40, "the planted fault: the count of one side alone"


@pytest.mark.planted
def test_the_law_is_the_exact_one():
    model, n = sf.families.Quantile.geometric(0.4, 1.0, 1000.0, per_decade=5), 30
    values = np.random.default_rng(4).lognormal(3, 1, n)
    totals = [Fraction(int(count)) for count in model.tally({"x": values}, ["x"])]
    assert sum(totals) == n
    draws, power = 6000, 0.3
    drawn = law.drawn(model, totals, n, law.Parameters(power, 1.0), draws, sf.seeded(6)).values.ravel()
    observed = np.bincount(np.searchsorted(model.grid, drawn), minlength=len(model.grid))
    assert set(drawn) <= set(model.grid)
    exact = np.array([float(loss) for loss in plain_losses("0.4", model.grid, values)])

    def p_value(p):
        chances = np.exp(-p * exact)
        return chi_square_p(observed, draws * chances / chances.sum())

    assert p_value(power) > LEVEL
    assert p_value(0.7 * power) < LEVEL
    assert p_value(1.3 * power) < LEVEL


@pytest.mark.parametrize("level", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("shape", ["spread", "atoms", "all alike"])
def test_the_rank_is_within_the_stated_bound_nine_times_in_ten(level, shape):
    rng, n = np.random.default_rng(1), 500
    values = {
        "spread": rng.lognormal(5, 2, n),
        "atoms": rng.choice([3.0, 100.0, 1e5], n),
        "all alike": np.full(n, 77.0),
    }[shape]
    model = sf.families.Quantile.geometric(level, 1e-2, 1e8, per_decade=4)
    plan = sf.plan(model, n, 0.5, 0.0)
    totals = [Fraction(int(count)) for count in model.tally({"x": values}, ["x"])]
    found = law.drawn(model, totals, n, plan.parameters, 400, sf.seeded(3)).values.ravel()
    error = dict(zip(model.grid, losses(model, values), strict=True))
    best = min(error.values())
    assert plan.expected.value == pytest.approx(2 / 0.5 * math.log(10 * (len(model.grid) - 1)), rel=1e-6)
    assert np.mean([error[value] <= best + plan.expected.value for value in found]) >= 0.9
    assert plan.expected.unit == "records"


def test_the_geometric_grid_covers_its_decades():
    grid = sf.families.Quantile.geometric_grid(1, 1e12)
    assert grid[:2] == (0.0, 1.0)
    assert grid[-1] == 1e12
    assert len(grid) == 242
    assert np.diff(np.log10(grid[1:])) == pytest.approx(np.full(240, 0.05), rel=1e-9)
    signed = sf.families.Quantile.geometric(0.5, 0.1, 10, per_decade=3, signed=True).grid
    assert signed == tuple(-value for value in reversed(signed))
    assert 0.0 in signed
    assert sf.families.Quantile.geometric_grid(2, 50, per_decade=1) == (0.0, 2.0, 20.0, 50.0)


def test_a_document_is_read_back():
    for model in (sf.families.Quantile(0.5, GRID), sf.families.Quantile.geometric(0.01, 1, 1e6, column="income")):
        again = families.from_json(json.loads(json.dumps(model.to_json())))
        assert again == model
        assert sf.plan(again, 10, 1.0, 0.0).digest == sf.plan(model, 10, 1.0, 0.0).digest
    assert sf.families.Quantile(0.5, GRID[::-1]) == sf.families.Quantile(0.5, GRID)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"level": 0.0}, "level"),
        ({"level": 1.0}, "level"),
        ({"grid": [1.0]}, "two different"),
        ({"grid": [1.0, 1.0, 2.0]}, "each once"),
        ({"grid": [1.0, math.inf]}, "finite"),
        ({"grid": [1.0, math.nan]}, "NaN"),
        ({"grid": range(70_000)}, "at most"),
        ({"column": 3}, "column"),
    ],
)
def test_what_has_no_meaning_is_refused(given, said):
    with pytest.raises(ArgumentError, match=said):
        sf.families.Quantile(**{"level": 0.5, "grid": GRID, **given})


@pytest.mark.parametrize(
    "arguments", [(0, 10), (10, 10), (10, 1), (1, math.inf), (1, 10, 0), (1, 1e300, 10_000), (-1, 10)]
)
def test_a_geometric_grid_needs_two_positive_ends(arguments):
    with pytest.raises(ArgumentError):
        sf.families.Quantile.geometric_grid(*arguments)


def test_only_the_exponential_mechanism_serves_it():
    model = sf.families.Quantile(0.5, GRID)
    assert sf.plan(model, 10, 1.0, 1e-6).mechanism == "exponential"
    for mechanism in ("exact", "diffused", "concentrated", "noisy-statistics"):
        with pytest.raises(MechanismRefused):
            sf.plan(model, 10, 1.0, 1e-6, mechanism=mechanism)
    with pytest.raises(ArgumentError, match="no prior"):
        model.with_public({"x": [1.0]}, schema=sf.Schema({"x": sf.Number(0, 4)}, name="s"))
    assert sf.plan(model, 10, 20.0, 0.0)["power"] == pytest.approx(10.0, rel=1e-6)


def test_the_column_is_named_or_the_only_one():
    two = sf.Schema({"x": sf.Number(0, 4), "y": sf.Number(0, 4), "z": sf.Boolean(missing=False)}, name="s")
    assert sf.families.Quantile(0.5, GRID, column="y").columns(two) == ("y",)
    for column, said in ((None, "one Number column"), ("z", "no Number column"), ("w", "no Number column")):
        with pytest.raises(ArgumentError, match=said):
            sf.families.Quantile(0.5, GRID, column=column).columns(two)
    with pytest.raises(ArgumentError, match="no candidate"):
        sf.families.Quantile(0.5, (5.0, 6.0), column="x").columns(two)
