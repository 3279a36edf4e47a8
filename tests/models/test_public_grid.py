"""Automatic public grids: from declared bounds alone, with the stated spacing, negative values included."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.models.families._public_grid import COARSE, FINE, column_grid, public_grid

RANGES = [
    (0.0, 110.0), (-40.0, 60.0), (0.0, 1.0), (0.3, 0.30000001), (1e6, 2e6), (-2e6, -1e6), (0.0, 1e-5), (0.0, 250_000.0),
    (0.0, 1e12), (-1e12, 1e12), (-1e12, -1.0), (0.5, 1e6), (1e-9, 1e-2), (-3.0, 1e9), (-4e307, 4e307), (-1.0, 2e-300),
]  # fmt: skip


@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize("fineness", [FINE, COARSE])
def test_a_grid_reaches_both_bounds_and_no_gap_is_larger_than_stated(bounds, fineness):
    """Every point of the range is within 1/steps of the range, or within the stated factor, of a candidate."""
    grid = np.array(public_grid(*bounds, False, fineness))
    assert grid[0] == bounds[0]
    assert grid[-1] == bounds[1]
    assert (np.diff(grid) > 0).all()
    assert len(grid) <= 1 << 16
    even = 2.6 * (bounds[1] - bounds[0]) / fineness.steps  # a round step is at most 2.5 times the least one
    # Three digits move a candidate by half a per cent at most, and the first two candidates may stand on both sides of a power.
    factor = 10 ** (1 / fineness.per_decade) * 1.011
    sizes = np.abs(grid)
    near = np.minimum(sizes[1:], sizes[:-1])
    small = 0.0011 if bounds[0] <= 0 <= bounds[1] else 0.0
    relative = np.maximum(sizes[1:], sizes[:-1]) <= near * factor + small
    assert ((np.diff(grid) <= even) | relative).all()


def test_whole_numbers_have_whole_candidates():
    assert public_grid(-5, 5, True) == tuple(float(k) for k in range(-5, 6))
    wide = public_grid(-1_000_000, 1_000_000, True)
    assert all(value == round(value) for value in wide)
    assert {-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0} <= set(wide)
    assert len(wide) < 1000


def test_few_decades_are_divided_evenly_and_many_geometrically():
    even, wide = (np.array(public_grid(*bounds)) for bounds in ((0.0, 1000.0), (0.0, 1001.0)))
    assert np.ptp(np.diff(even)) < 1e-9
    assert wide[1] == 0.001
    assert len(wide) < len(even)


def test_a_quantile_without_a_grid_takes_that_of_the_columns_bounds():
    schema = sf.Schema({"x": sf.Number(-1e9, 1e9), "group": sf.Boolean(missing=False)})
    model = sf.families.Quantile.of(schema, 0.5)
    assert model.grid == public_grid(-1e9, 1e9)
    assert model.rounding == "nearest"
    assert sf.families.Quantile.of(schema, 0.5, "x").column == "x"
    with pytest.raises(ArgumentError, match="no Number column"):
        sf.families.Quantile.of(schema, 0.5, "group")


def test_records_between_two_candidates_are_found_by_rounding_alone():
    """All records at 50.05, which is no candidate: without rounding every candidate has the same loss at the median."""
    values, grid = np.full(100, 50.05), (0.0, 10.0, 50.0, 51.0, 100.0)
    for rounding, best in (("nearest", 50.0), ("down", 50.0), ("up", 51.0)):
        model = sf.families.Quantile(0.5, grid, rounding=rounding)
        losses, scale = model.losses(model.tally({"x": values}, ("x",)), 100)
        assert [c for c, loss in zip(grid, losses, strict=True) if loss == 0] == [best]
        assert min(loss for loss in losses if loss) == 50 * scale
    bare = sf.families.Quantile(0.5, grid)
    assert len(set(bare.losses(bare.tally({"x": values}, ("x",)), 100)[0])) == 1


@pytest.mark.parametrize("rounding", ["nearest", "down", "up"])
def test_one_replaced_record_moves_every_rounded_loss_by_at_most_one(rounding):
    grid, rng = (-2.0, -1.0, 0.0, 0.5, 3.0), np.random.default_rng(3)
    model = sf.families.Quantile(0.3, grid, rounding=rounding)
    for _ in range(200):
        rows = rng.uniform(-4, 5, 12)
        other = np.array([rng.uniform(-9, 9), *rows[1:]])
        (one, scale), (two, _) = (model.losses(model.tally({"x": v}, ("x",)), 12) for v in (rows, other))
        assert max(abs(a - b) for a, b in zip(one, two, strict=True)) <= scale


def test_documents_without_rounding_are_those_of_earlier_versions():
    bare = sf.families.Quantile(0.5, (0, 1))
    assert bare.to_json() == {"family": "Quantile", "level": 0.5, "grid": [0.0, 1.0], "column": None}
    rounded = sf.families.Quantile(0.5, (0, 1), rounding="up")
    assert sf.families.from_json(rounded.to_json()) == rounded
    assert sf.families.from_json(bare.to_json()) == bare


@pytest.mark.parametrize("given", [{"grid": 5}, {"grid": "0,1"}, {"grid": (0, 1), "rounding": "outwards"}])
def test_wrong_grids_and_roundings_are_refused_in_a_sentence(given):
    with pytest.raises(ArgumentError, match=r"grid must be a list|rounding must be one of"):
        sf.families.Quantile(0.5, **given)


def test_dates_are_evenly_spaced_on_both_sides_of_1970():
    column = sf.Date("1925-01-01", "2010-12-31")
    for fineness, most in ((FINE, 50), (COARSE, 200)):
        days = np.diff(column_grid(column, fineness))
        assert days.max() <= most
        assert len(set(days[:-1])) == 1
    edges = np.array(sf.families.Quantiles.of(sf.Schema({"born": column}), [0.5]).cells)
    assert set(np.diff(edges)) == {30.0, 31.0}
    assert (edges[0], edges[-1]) == (column.lower - 0.5, column.upper + 0.5)
    short = sf.Date("2020-01-01", "2020-03-01")
    assert column_grid(short) == tuple(np.arange(short.lower, short.upper + 1))
    assert set(np.diff(sf.families.Quantiles.of(sf.Schema({"born": short}), [0.5]).cells)) == {1.0}
