"""The measures and codes of benchmarks/synthetic.py: by hand on rows that fit in a line, and on the generated table."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import synthetic_judges
import synthetic_tables


def test_total_variation_by_hand():
    rows, truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.zeros((2, 2), dtype=int)
    assert synthetic_judges.variation(rows, truth, [2, 2], 1) == 0.5
    assert synthetic_judges.variation(rows, truth, [2, 2], 2) == 0.75
    # Columns of different sizes, and only one of them differs: the mean over columns is half of its gap.
    assert synthetic_judges.variation(np.array([[0, 2]]), np.array([[0, 1]]), [2, 3], 1) == 0.5
    assert synthetic_judges.variation(rows, rows[::-1], [2, 2], 2) == 0


def test_pairs_are_all_compared_and_triples_are_the_same_selection_every_time():
    assert len(synthetic_judges.subsets(15, 2)) == 105
    assert len(synthetic_judges.subsets(8, 3)) == 56
    triples = synthetic_judges.subsets(15, 3)
    assert len(set(triples)) == synthetic_judges.MOST == len(triples)
    assert triples == synthetic_judges.subsets(15, 3)


def mixed(optional: tuple[str, ...]) -> synthetic_tables.Table:
    columns = {
        "age": sf.Number(0, 90),
        "day": sf.Date("2020-01-01", "2020-12-31"),
        "level": sf.Category(["a", "b"], missing="a"),
    }
    bins = {"age": [0, 18, 90], "day": ["2020-01-01", "2020-07-01", "2020-12-31"]}
    schema = sf.Schema(columns, name="mixed", unit="person")
    return synthetic_tables.Table("mixed", schema, bins, {}, {}, "level", optional=optional)


def test_codes_are_the_same_for_texts_and_for_values_in_their_own_types():
    table = mixed(("age", "day"))
    texts = {"age": ["17.9", "18"], "day": ["2020-06-30", "2020-07-01"], "level": ["a", "b"]}
    typed = {
        "age": np.array([17.9, 18.0]),
        "day": np.array(["2020-06-30", "2020-07-01"], dtype="M8[D]"),
        "level": np.array(["a", "b"]),
    }
    for columns in (texts, typed):
        np.testing.assert_array_equal(table.codes(columns), [[0, 0, 0], [1, 1, 1]])
    assert table.sizes == [3, 3, 2]


def test_a_missing_cell_has_the_last_code_where_it_is_declared_and_is_refused_elsewhere():
    cells = {"age": [float("nan"), 5], "day": [datetime.date(2020, 1, 1), None], "level": ["b", "b"]}
    np.testing.assert_array_equal(mixed(("age", "day")).codes(cells), [[2, 0, 1], [0, 2, 1]])
    with pytest.raises(ValueError, match="column day has a missing cell"):
        mixed(("age",)).codes(cells)


def test_the_generated_table_holds_a_parity_that_no_pair_of_columns_shows():
    table = synthetic_tables.latent()
    codes, n = table.codes(table.fit), 20_000
    assert codes.shape == (n, 12)
    parity = [table.names.index(name) for name in ("coin0", "coin1", "parity")]
    # A cell's share has standard error at most sqrt(p (1 - p) / n); 12 cells of pairs, a limit of 5 errors each.
    for pair in ((0, 1), (0, 2), (1, 2)):
        shares = synthetic_judges.shares(codes, table.sizes, tuple(parity[place] for place in pair))
        assert np.abs(shares - 0.25).max() < 5 * (0.25 * 0.75 / n) ** 0.5
    # In truth (0.9 - 0.1) / 2 from independence; the sum of eight cells' errors is below 8 of the largest.
    shares = synthetic_judges.shares(codes, table.sizes, tuple(parity))
    assert abs(0.5 * np.abs(shares - 0.125).sum() - 0.4) < 5 * 4 * (0.1125 / n) ** 0.5
