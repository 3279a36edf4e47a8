"""Pictures of a network: strengths against independent computations, tables with their intervals, readings that hold."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from scipy.stats.contingency import association

import sfumato as sf
from sfumato.pictures import of_network, svg
from sfumato.pictures._dependence import FAMILY, _under_independence, dependence
from sfumato.pictures.description import Graph, Rows
from sfumato.queries import tables
from sfumato.shells import report_network
from tests.effort import sized

SCHEMA = sf.Schema(
    {
        "region": sf.Category(["north", "east", "south"], missing="north"),
        "age": sf.Number(18, 90, integer=True),
        "smoker": sf.Boolean(missing=False),
        "ill": sf.Boolean(missing=False),
        "coin": sf.Boolean(missing=False),
        "alone": sf.Boolean(missing=False),
    },
    name="s",
)
PARENTS = {
    "smoker": ["region"],
    "region": [],
    "ill": ["smoker", "age"],
    "coin": ["smoker"],
    "age": ["ill"],
    "alone": [],
}
PARENTS["age"], PARENTS["ill"] = [], ["smoker", "age"]
N = 8000
LEVEL = 0.9


@cache
def released(mechanism: str = "noisy-statistics") -> sf.Release:
    rng = np.random.default_rng(5)
    region = rng.integers(0, 3, N)
    smoker = rng.random(N) < np.array([0.15, 0.25, 0.4])[region]
    age = rng.integers(18, 91, N)
    ill = rng.random(N) < 0.05 + 0.4 * smoker + 0.4 * (age > 60)
    rows = {
        "region": np.array(["north", "east", "south"])[region], "smoker": smoker, "age": age, "ill": ill,
        "coin": rng.random(N) < 0.5, "alone": rng.random(N) < 0.3,
    }  # fmt: skip
    model = sf.networks.BayesianNetwork.from_schema(SCHEMA, PARENTS, bins={"age": [18, 40, 60, 90]})
    plan = (
        sf.plan(model, N, mechanism="exact")
        if mechanism == "exact"
        else sf.plan(model, N, 2.0, 1e-6, mechanism=mechanism)
    )
    return sf.publish(plan, sf.Dataset.from_table(rows, schema=SCHEMA), randomness=sf.seeded(3))


P, Q, MANY = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1]), 100_000


def simulated(variance: float, repeats: int) -> np.ndarray:
    """Noisy counts of two independent columns, of three and four levels."""
    rng = np.random.default_rng(11)
    counts = rng.multinomial(MANY, np.outer(P, Q).ravel(), size=repeats).reshape(repeats, 3, 4)
    return counts + rng.normal(0, np.sqrt(variance), counts.shape)


def inertia(counts: np.ndarray) -> float:
    """Chi-squared over the number of records, cell by cell."""
    total = counts.sum()
    cells = [
        (counts[i, j] - counts[i].sum() * counts[:, j].sum() / total) ** 2 / (counts[i].sum() * counts[:, j].sum())
        for i in range(counts.shape[0])
        for j in range(counts.shape[1])
    ]
    return float(sum(cells))


def test_without_noise_the_strength_is_cramers_v_less_what_sampling_adds() -> None:
    counts = np.array([[300, 200, 100], [100, 200, 300], [50, 60, 70], [10, 80, 30]])
    v = association(counts, method="cramer")
    expected = np.sqrt((v**2 * 2 - 3 * 2 / counts.sum()) / 2)
    assert dependence(counts, 0.0, 1).strength == pytest.approx(expected, rel=1e-12)
    assert dependence(counts, 0.0, 1).clear
    assert dependence(np.diag([500.0, 500.0]), 0.0, 1).strength == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("variance", [0.0, 2500.0, 62_500.0])
def test_of_independent_columns_noise_adds_the_subtracted_mean_and_is_rarely_clear(variance: float) -> None:
    repeats = sized(1500, 10_000)
    drawn = simulated(variance, repeats)
    values = np.array([inertia(counts) for counts in drawn])
    mean, spread = _under_independence(P, Q, np.ones(3), np.ones(4), variance, MANY)
    # Four standard errors of the simulation, and the terms of second order that the formulas leave out: the squared relative
    # errors of the seven margins, each at most that of the smallest, which holds MANY / 10 records in three cells.
    second = 7 * (MANY / 10 + 3 * variance) / (MANY / 10) ** 2
    squares = (values - values.mean()) ** 2
    assert abs(values.mean() - mean) < 4 * values.std() / np.sqrt(repeats) + second * mean
    assert abs(squares.mean() - spread) < 4 * squares.std() / np.sqrt(repeats) + 2 * second * spread
    # Four standard deviations of a share of so many; of one of 28 pairs a small share, by which the families of pairs are judged.
    for tests in (1, 28):
        risk = FAMILY / tests
        share = np.mean([dependence(counts, variance, tests).clear for counts in drawn])
        assert abs(share - risk) < 4 * np.sqrt(risk * (1 - risk) / repeats) + (0.1 * risk if tests > 1 else 0.0)


def test_levels_within_the_noise_are_pooled_and_nothing_but_noise_has_no_strength() -> None:
    counts = np.array([[400.0, 100.0], [100.0, 400.0], [-3.0, 4.0]])
    two = dependence([*counts[:2], [-3.0, 4.0], [0.0, 0.0]], 25.0, 1)
    assert 0.5 < dependence(counts, 25.0, 1).strength < 0.62
    assert abs(dependence(counts, 25.0, 1).strength - two.strength) < 0.01
    empty = dependence(np.array([[1.0, -2.0], [0.0, 3.0]]), 25.0, 1)
    assert (empty.strength, empty.clear) == (0.0, False)


def test_strengths_are_those_of_the_column_s_own_noisy_table() -> None:
    release = released()
    network = tables.read(release.draws, release.plan, release.schema)
    own = next(each for each in network.counted if each.columns == ("smoker", "age", "ill"))
    measured = of_network.strengths(release)
    assert set(measured) == {("region", "smoker"), ("smoker", "ill"), ("age", "ill"), ("smoker", "coin")}
    by_age = np.array([[own.counts[:, a, i].sum() for i in range(2)] for a in range(3)])
    assert measured["age", "ill"] == dependence(by_age, 2 * own.variance, 4)
    noise = own.variance * 2 / by_age.sum() ** 2
    p, q = by_age.sum(axis=1) / by_age.sum(), by_age.sum(axis=0) / by_age.sum()
    added = noise * (np.sum(1 / p) - 3) * (np.sum(1 / q) - 2) + 2 / by_age.sum()
    assert measured["age", "ill"].strength == pytest.approx(np.sqrt(inertia(by_age) - added), rel=1e-9)
    assert not measured["smoker", "coin"].clear
    assert all(measured[link].clear for link in measured if link != ("smoker", "coin"))


def test_the_first_picture_is_the_graph_with_faint_arrows_for_noise() -> None:
    graph, *others = of_network.pictures(released(), LEVEL)
    assert isinstance(graph, Graph)
    names = [node.name for node in graph.nodes]
    assert sorted(names) == sorted(PARENTS)
    faint = {(names[edge.start], names[edge.end]) for edge in graph.edges if edge.faint}
    assert faint == {("smoker", "coin")}
    # Both raise the share of ill by 0.4; ages above 60 are nearer to half of the records than smokers are.
    strong = max(graph.edges, key=lambda edge: edge.strength)
    assert (names[strong.start], names[strong.end], strong.strength) == ("age", "ill", 1.0)
    assert "smoker to coin not distinguishable from noise" in graph.alt
    assert "Without arrows: alone." in graph.alt
    assert all(isinstance(each, Rows) for each in others)
    assert ["ill" in each.title for each in others] == [True, False]


def test_a_table_shows_the_conditional_shares_with_their_intervals_under_headings() -> None:
    release = released()
    shown = of_network.strongest(release, LEVEL)[0]
    answer = release.conditional("ill", ["smoker", "age"], interval=LEVEL)
    rows = shown.picture.rows
    assert [row.group for row in rows] == ["smoker = no"] * 3 + ["smoker = yes"] * 3
    assert [row.label for row in rows[:3]] == [f"age = {level}" for level in answer.levels[1]]
    assert [row.middle for row in rows] == answer.values[:, :, 1].ravel().tolist()
    assert [row.lower for row in rows] == answer.lower[:, :, 1].ravel().tolist()
    assert [row.upper for row in rows] == answer.upper[:, :, 1].ravel().tolist()
    last = rows[-1]
    assert shown.reading.startswith(
        f"ill is most frequent where smoker = yes and age = {answer.levels[1][-1]}: {last.detail}"
    )
    assert len({len(text) for row in rows for text in re.findall(r"[\d.]+", row.detail)}) == 1


def test_a_reading_claims_the_most_frequent_only_where_no_other_interval_reaches_it() -> None:
    own = released().marginal("ill", interval=LEVEL)
    rows = of_network.with_details([of_network.Row("a", 0.5, 0.45, 0.55), of_network.Row("b", 0.48, 0.43, 0.53)])
    reading = of_network._reading("ill", True, own, rows, ["a", "b"])
    assert reading.startswith("ill has its highest estimate where a: 0.50 (0.45 to 0.55)")
    low = of_network.with_details([of_network.Row("a", 0.01, 0.0, 0.02)])
    assert "No share of ill lies clearly above" in of_network._reading("ill", True, own, low, ["a"])


def test_a_table_that_is_too_long_shows_the_most_frequent_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_network, "MOST_ROWS", 2)
    shown = next(each for each in of_network.strongest(released(), LEVEL) if each.column == "ill")
    assert len(shown.picture.rows) == 2
    assert "the 2 most frequent of 6 combinations" in shown.picture.title
    assert {row.group for row in shown.picture.rows} == {"smoker = no"}


def test_the_shares_of_all_columns_are_sorted_with_one_row_for_yes_and_no() -> None:
    picture = of_network.shares(released(), LEVEL)
    plain = [row for row in picture.rows if not row.group]
    assert sorted(row.label for row in plain) == ["alone = yes", "coin = yes", "ill = yes", "smoker = yes"]
    assert [row.middle for row in plain] == sorted((row.middle for row in plain), reverse=True)
    regions = [row for row in picture.rows if row.group == "region"]
    assert [row.middle for row in regions] == sorted((row.middle for row in regions), reverse=True)
    assert [row.label[:3] for row in picture.rows if row.group == "age"] == ["[18", "[40", "[60"]


def test_a_network_without_noisy_counts_is_a_graph_with_equal_arrows() -> None:
    release = released("exact")
    graph, dots = of_network.pictures(release, LEVEL)
    assert len(dots.rows) == 3 + 3 + 2 * 3 + 2 * 6 + 2 * 2 + 2
    assert {(edge.strength, edge.faint) for edge in graph.edges} == {(0.5, False)}
    assert "was not estimated" in graph.alt
    assert all(row.lower is None for row in of_network.shares(release, LEVEL).rows)


def test_the_page_has_the_graph_the_readings_and_every_table_folded() -> None:
    release = released()
    text = report_network.results(release, LEVEL, 40)
    assert text.index(svg.figure(of_network.graph(release, LEVEL))) == 0
    for shown in of_network.strongest(release, LEVEL):
        assert shown.reading in text
    assert [line for line in re.findall("<summary>(.*?)</summary>", text) if "more columns" not in line] == [
        "region", "age", "smoker, given region", "ill, given smoker and age", "coin, given smoker", "alone",
    ]  # fmt: skip
    assert "Broken arrows cannot be distinguished from noise" in text
    assert "The strongest is age to ill" in text


def test_headings_of_long_names_keep_the_levels_in_which_they_differ() -> None:
    names = ["a column with a rather long name", "another column with a long name"]
    headings = [of_network._heading(names, [level, True]) for level in ("high", "low")]
    assert all(heading.endswith("= yes") for heading in headings)
    assert [" = high, " in headings[0], " = low, " in headings[1]] == [True, True]
    assert of_network._heading(["smoker", "ill"], [True, False]) == "smoker = yes, ill = no"
