"""Rows of a synthetic table: counts of a column and its parents are those of the tables, rows stand in random order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from goodness import LEVEL, chi_square_p
from sfumato.models.networks import BayesianNetwork
from sfumato.queries import tables
from sfumato.queries.synthesize import sampled

# c and d hang on a; e on both a and c.
MODEL = BayesianNetwork({"c": ["a"], "d": ["a"], "e": ["c", "a"]}, {"a": 3, "c": 2, "d": 4, "e": 3})
ROWS = 5000


def network(zero: bool = False) -> tables.Network:
    """A network with tables drawn at random; with `zero` the first and the last level of d is impossible given a = 1."""
    values = MODEL.sketch(np.random.default_rng(3), MODEL.prior)
    if zero:
        block = MODEL.table_of["d"].of(values)
        block[1] = [0.0, 0.3, 0.7, 0.0]
    schema = sf.Schema(
        {name: sf.Category([str(k) for k in range(size)], missing="0") for name, size in MODEL.sizes.items()}
    )
    levels = {name: tuple(column.levels) for name, column in schema.columns.items()}
    return tables.Network(MODEL, schema, tuple(MODEL.factors(values, ())), levels)


@pytest.mark.parametrize("seed", range(5))
def test_the_counts_of_a_column_given_its_parents_are_those_of_its_table(seed):
    held = network(zero=True)
    codes = sampled(held, ROWS, np.random.default_rng(seed))
    for factor in held.factors:
        place = (
            np.ravel_multi_index([codes[name] for name in factor.parents], factor.values.shape[:-1])
            if factor.parents
            else 0
        )
        laws = factor.values.reshape(-1, factor.values.shape[-1])
        counts = np.zeros(laws.shape)
        np.add.at(counts, (place, codes[factor.column]), 1)
        assert (np.abs(counts - counts.sum(axis=1, keepdims=True) * laws) < 1 + 1e-6).all()
        assert (counts[laws == 0] == 0).all()


def test_rows_stand_in_random_order():
    """The first half of the table holds as many of a level as a random half of its rows does; sorted rows would not."""
    codes = sampled(network(), ROWS, np.random.default_rng(0))
    for name, column in codes.items():
        for level, count in enumerate(np.bincount(column)):
            half = stats.hypergeom(ROWS, count, ROWS // 2)
            seen = (column[: ROWS // 2] == level).sum()
            assert 2 * min(half.cdf(seen), half.sf(seen - 1)) > LEVEL, name
            assert 2 * min(half.cdf(count), half.sf(count - 1)) < LEVEL


def test_columns_with_the_same_parent_are_independent_given_it():
    held = network()
    codes = sampled(held, ROWS, np.random.default_rng(1))
    laws = {factor.column: factor.values for factor in held.factors}
    for level in range(3):
        rows = codes["a"] == level
        counts = np.bincount(codes["c"][rows] * 4 + codes["d"][rows], minlength=8)
        expected = rows.sum() * np.outer(laws["c"][level], laws["d"][level]).ravel()
        assert chi_square_p(counts, expected) > LEVEL
        # Levels dealt in order of the rows would stand together.
        ordered = np.bincount(np.sort(codes["c"][rows]) * 4 + np.sort(codes["d"][rows]), minlength=8)
        assert chi_square_p(ordered, expected) < LEVEL
