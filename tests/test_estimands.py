"""Intervals of default regressions hold the fit that they are for: the quick form of benchmarks/estimands.py, and its page.

`make coverage` measures all tables with 100 releases each.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from goodness import LEVEL

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import estimands

# Skewed, yes or no, counts, survey weights, several rows a person, and a clip that takes much.
CELLS = ("costs", "logistic, rows", "counts", "linear, drawn weights", "linear, persons", "clipped linear, rows")
EPSILONS = (1.0, 8.0)
RUNS = 24
# What the page claims of a cell, and what each coefficient has at least.
HELD, EACH = 0.85, 0.6
# Coefficients of a release share its map and its clip: in 40 releases of these cells the variance of the share that is held was
# .7 to 1.4 times that of independent ones.
DEPENDENT = 1.5
# Median half-widths of 12 of these releases were within 12 % of those of 40.
WIDER = 1.25


@cache
def releases(name: str, epsilon: float) -> dict[str, np.ndarray]:
    made = [estimands.one((name, epsilon, seed)) for seed in range(RUNS)]
    return {key: np.array([each[key] for each in made]) for key in made[0]}


@cache
def rows_of_the_page() -> list[list[str]]:
    lines = estimands.PAGE.read_text().splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


def half_width_of_the_page(name: str, epsilon: float) -> float:
    """The fifth figure of a row of the ten tables, the fourth of a kind at epsilon 1 and the eighth at epsilon 8."""
    if name in estimands.TABLES:
        (row,) = [row for row in rows_of_the_page() if row[:2] == [name, f"{epsilon:g}"]]
        return float(row[6])
    (row,) = [row for row in rows_of_the_page() if row[:2] == name.split(", ")]
    return float(row[5 if epsilon == 1 else 9])


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", CELLS)
def test_intervals_hold_the_plain_fit_of_the_rows_and_that_of_the_population(name, epsilon):
    made = releases(name, epsilon)
    for include in ("privacy", "privacy and sampling"):
        held = made[include]
        assert held.mean() >= stats.binom.ppf(LEVEL, int(held.size / DEPENDENT), HELD) / int(held.size / DEPENDENT)
        assert held.sum(axis=0).min() >= stats.binom.ppf(LEVEL, RUNS, EACH)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", CELLS)
def test_intervals_are_as_wide_as_the_page_says(name, epsilon):
    """If they are not on purpose, `make coverage` writes the page anew."""
    half = float(np.median(releases(name, epsilon)["half privacy"]))
    assert 1 / WIDER < half / half_width_of_the_page(name, epsilon) < WIDER


def test_intervals_of_half_their_width_are_rejected():
    made = releases("costs", 8.0)
    held = np.abs(made["away privacy"]) < 0.5 * made["half privacy"]
    assert held.mean() < stats.binom.ppf(LEVEL, int(held.size / DEPENDENT), HELD) / int(held.size / DEPENDENT)


def test_the_page_has_a_row_for_every_table_and_epsilon_beside_that_of_before():
    cells = [
        {"table": name, "epsilon": epsilon, "runs": 100, "who": "age"}
        | dict.fromkeys(("privacy", "full", "least", "rmse", "half"), 0.8 if name == "costs" else 0.9)
        for some, epsilons in ((estimands.TABLES, estimands.EPSILONS), (estimands.KINDS, estimands.FEWER))
        for name in some
        for epsilon in epsilons
    ]
    text = estimands.page(cells, [{**each, "privacy": 0.5} for each in cells])
    assert text.count("| 0.50 | 0.90 |") == 45
    assert text.count("| 0.50 |") == 50
    assert "in 45 of 50 rows, and was in 0 of 50" in " ".join(text.split())
    assert "trial" not in text
    assert "trial" in estimands.page([{**each, "runs": 10} for each in cells], cells)
    for name in estimands.KINDS:
        assert f"| {' | '.join(name.split(', '))} | 0.90 |" in text


def test_the_kinds_with_intervals_are_all_measured():
    """Every kind of `sf.regression` but the multinomial one, which has no intervals."""
    from sfumato.models.building import kinds

    assert {table.kind for table in estimands.KINDS.values()} == {*kinds(), "huber"} - {"multinomial"}
    assert re.search("multinomial regression has no intervals", estimands.PAGE.read_text())
