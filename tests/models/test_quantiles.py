"""Quantiles from noisy counts of a tree: its sensitivity by brute force, its algebra against least squares, and its release."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError, FormatError
from sfumato.models.families import _count_tree as tree
from sfumato.models.families._public_grid import cell_edges

Quantiles = sf.families.Quantiles
TREES = [(2,), (5,), (3, 2), (4, 2), (4, 4, 3), (2, 2, 2, 2)]


def design(radices) -> np.ndarray:
    """One row per count of the tree: which leaves it counts."""
    leaves = math.prod(radices)
    return np.vstack([np.kron(np.eye(size), np.ones(leaves // size)) for size in np.cumprod(radices)])


@pytest.mark.parametrize("radices", TREES)
def test_counts_are_those_of_the_nodes(radices):
    leaves = np.random.default_rng(1).integers(0, 9, math.prod(radices))
    assert tree.tree_counts(leaves, radices).tolist() == (design(radices) @ leaves).tolist()
    assert tree.tree_size(radices) == len(design(radices))


@pytest.mark.parametrize("radices", TREES)
def test_cumulative_counts_are_least_squares_that_sum_to_n(radices):
    """Against the general solution in a basis of the leaves that sum to n."""
    matrix, size, n = design(radices), math.prod(radices), 17
    basis = np.linalg.svd(np.ones((1, size)))[2][1:].T
    noisy = np.random.default_rng(2).normal(3, 5, len(matrix))
    free = np.linalg.lstsq(matrix @ basis, noisy - matrix @ np.full(size, n / size), rcond=None)[0]
    leaves = n / size + basis @ free
    expected = np.concatenate([[0.0], np.cumsum(leaves)])
    assert tree.cumulative_counts(noisy, radices, n) == pytest.approx(expected, abs=1e-9)
    covariance = basis @ np.linalg.inv(basis.T @ matrix.T @ matrix @ basis) @ basis.T
    sums = np.tril(np.ones((size, size)))
    variances = np.concatenate([[0.0], np.diag(sums @ covariance @ sums.T)])
    assert tree.edge_variances(radices) == pytest.approx(variances, abs=1e-9)


def test_four_children_have_the_least_noise():
    """Root mean square noise of the cumulative counts, in units of the noise multiplier, with the sensitivity of the levels."""
    for cells in (256, 1024, 4096):
        noise = {}
        for children in (2, 4, 8, 16):
            levels = math.ceil(math.log(cells, children) - 1e-9)
            variances = tree.edge_variances((children,) * levels)[1:-1]
            noise[children] = math.sqrt(2 * levels * variances.mean())
        assert noise[4] <= 1.02 * min(noise.values())
        assert noise[16] > 1.15 * noise[4]
    assert tree.radices_for(1024) == (4,) * 5
    assert tree.radices_for(111) == (4, 4, 4, 2)
    assert tree.radices_for(2) == (2,)


@pytest.mark.parametrize("cells", [2, 4, 5, 9, 20])
def test_no_neighbours_are_farther_apart_than_the_sensitivity_and_some_are_as_far(cells):
    """Over all pairs of values of the replaced record; the others cancel. Values beyond the bounds count in the outer cells."""
    model = Quantiles([0.5], 0, cells, cells=[float(k) for k in range(cells + 1)])
    values = [-3.0, *np.arange(cells + 0.5, step=0.5), cells + 7.0]
    counts = [model.tally({"x": np.array([value])}, ("x",)) for value in values]
    gaps = [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(counts, 2)]
    assert max(gaps) <= model.sensitivity
    assert max(gaps) == pytest.approx(model.sensitivity, rel=1e-12)
    assert model.sensitivity == pytest.approx(math.sqrt(2 * len(model.radices)), rel=1e-12)


def test_all_neighbours_of_small_tables_are_within_the_sensitivity():
    model = Quantiles([0.5], 0, 5, cells=[0, 1, 2, 3, 4, 5])
    for table in itertools.product(range(5), repeat=3):
        before = model.tally({"x": np.array(table) + 0.5}, ("x",))
        for place, value in itertools.product(range(3), range(5)):
            other = np.array(table) + 0.5
            other[place] = value + 0.5
            assert np.linalg.norm(before - model.tally({"x": other}, ("x",))) <= model.sensitivity


@pytest.mark.parametrize(
    ("bounds", "integer", "cells"),
    [
        ((0.0, 110.0), True, 111),
        ((0.0, 1.0), False, 1024),
        ((0.0, 5000.0), True, None),
        ((-1e12, 1e12), False, 4096),
        ((0.0, 250_000.0), False, 4096),
    ],
)
def test_cells_are_made_from_the_bounds_alone(bounds, integer, cells):
    model = Quantiles([0.5], *bounds, integer=integer)
    edges = np.array(model.cells)
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= bounds[0]
    assert edges[-1] >= bounds[1]
    assert cells is None or len(edges) - 1 == cells
    assert not integer or (edges % 1 == 0.5).all()
    assert model.cells == cell_edges(*bounds, integer, 1024 if bounds[1] <= 1000 else 4096)
    column = sf.Number(*bounds, integer=integer)
    assert Quantiles.of(sf.Schema({"x": column}), [0.5]).cells == model.cells


def test_without_noise_the_estimates_are_quantiles_of_the_rows():
    rng = np.random.default_rng(5)
    values = rng.normal(50, 10, 5001)
    model = Quantiles([0.1, 0.5, 0.9], 0, 100)
    totals = model.tally({"x": values}, ("x",)).astype(float)
    assert model.quantiles_at(model.levels, totals, len(values)) == pytest.approx(
        np.quantile(values, model.levels), abs=100 / 1024
    )
    whole = rng.poisson(4, 4001)
    counted = Quantiles([0.1, 0.5, 0.9], 0, 30, integer=True)
    totals = counted.tally({"x": whole}, ("x",)).astype(float)
    assert counted.quantiles_at(counted.levels, totals, len(whole)) == np.quantile(whole, counted.levels).tolist()


SCHEMA = sf.Schema({"x": sf.Number(0, 100)}, name="survey")


def released(epsilon: float = 1.0, levels=(0.25, 0.5), n: int = 2000) -> sf.Release:
    values = np.random.default_rng(3).normal(50, 10, n)
    plan = sf.plan(Quantiles.of(SCHEMA, levels), n, epsilon, 1e-6, goal="estimate")
    return sf.publish(plan, sf.Dataset.from_table({"x": values}, schema=SCHEMA), randomness=sf.seeded(2))


def test_a_release_keeps_its_counts_verifies_and_lasts(tmp_path):
    release = released()
    assert release.totals.shape == (len(Quantiles.of(SCHEMA, [0.5]).units),)
    assert release.labels == ("25 % quantile", "50 % quantile")
    release.save(tmp_path / "quantiles.sfumato")
    again = sf.load(tmp_path / "quantiles.sfumato").verify()
    assert again.estimate().tolist() == release.mean().tolist()
    assert str(again.summary()) == str(release.summary())


@pytest.mark.parametrize("part", ["values", "totals off their grid", "other totals"])
def test_estimates_that_do_not_follow_from_the_counts_do_not_verify(part):
    from dataclasses import replace

    release = released()
    draws = release.draws
    if part == "values":
        forged = replace(draws, values=draws.values + 0.5)
    else:
        step = 1e-9 if part == "totals off their grid" else 2.0**20
        totals = np.array(draws.totals)
        totals[:3] += step
        forged = replace(draws, totals=totals)
    with pytest.raises(FormatError):
        replace(release, draws=forged).verify()


def test_the_price_is_that_of_the_gaussian_mechanism_and_the_half_width_is_in_ranks():
    plan = sf.plan(Quantiles.of(SCHEMA, [0.1, 0.5]), 2000, 1.0, 1e-6, goal="estimate")
    mean = sf.plan(sf.families.BoundedMean(0, 100), 2000, 1.0, 1e-6, goal="estimate")
    assert plan.mechanism == "noisy-statistics"
    assert plan["noise"] == mean["noise"]
    assert plan.guarantee.epsilon(1e-6) <= 1.0
    bare = 1.6448536 * math.sqrt(2000 * 0.25)
    noise = plan.model.estimate_error(2000, plan["noise"] * plan.model.sensitivity)
    assert plan.expected.without_privacy == pytest.approx(bare)
    assert plan.expected.value == pytest.approx(math.hypot(bare, 1.6448536 * noise))
    assert "in ranks" in str(plan)
    assert "first clipped to [0, 100]" in str(plan)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"levels": "0.5"}, "levels must be a list of shares"),
        ({"levels": []}, "levels must be a list"),
        ({"levels": [0.5, 0.5]}, "different"),
        ({"levels": [0.0]}, "levels must"),
        ({"lower": 5, "upper": 5}, "upper must be greater"),
        ({"cells": 1}, "cells must"),
        ({"cells": "many"}, "cells must be a number of cells or the list"),
        ({"cells": [0, 0, 100]}, "rising edges"),
        ({"cells": [0, 10, 20]}, "must reach"),
        ({"column": 3}, "name of a column"),
        ({"integer": 1}, "integer must be True or False"),
    ],
)
def test_wrong_forms_are_refused_in_a_sentence(given, words):
    with pytest.raises(ArgumentError, match=words):
        Quantiles(**{"levels": [0.5], "lower": 0, "upper": 100, **given})


def test_what_does_not_fit_is_refused_before_anything_is_paid():
    with pytest.raises(ArgumentError, match="must contain them"):
        Quantiles([0.5], 0, 50).columns(SCHEMA)
    with pytest.raises(ArgumentError, match="no Number column"):
        Quantiles([0.5], 0, 100, column="y").columns(SCHEMA)
    with pytest.raises(ArgumentError, match="to group"):
        sf.grouped(Quantiles([0.5], 0, 100), "g", ["a", "b"])
    with pytest.raises(ArgumentError, match="no prior"):
        Quantiles([0.5], 0, 100).with_public({"x": [1.0]}, schema=SCHEMA)
    with pytest.raises(ArgumentError, match="ranks"):
        Quantiles([0.5], 0, 100).widest(2000)
    with pytest.raises(ArgumentError, match="another model"):
        sf.publish(
            sf.plan(sf.families.Quantile(0.5, (0, 1)), 3, 1.0, 0.0),
            sf.Dataset.from_table({"x": [1.0, 2.0, 3.0]}, schema=SCHEMA),
            randomness=sf.seeded(1),
        ).column_quantiles(0.5)


def test_a_drawn_quantile_says_before_paying_that_it_has_no_interval():
    plan = sf.plan(sf.families.Quantile(0.5, (0, 1)), 100, 1.0, 1e-6)
    assert "no interval goes with it: the family Quantiles has intervals" in str(plan)


def test_documents_are_read_back():
    model = Quantiles([0.5, 0.25], -5, 1e6, cells=300, column="x")
    assert sf.families.from_json(model.to_json()) == model
    assert model.levels == (0.25, 0.5)
    assert "300 cells" in repr(model)
