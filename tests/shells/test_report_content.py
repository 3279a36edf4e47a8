"""What reports show: sorted rows with even digits, notes beside the numbers they are about, experts' parts folded away."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import sfumato as sf
from forging import stored
from pages import pages
from sfumato.pictures import _svg_rows, axes, dot_plots, of_regression, svg
from sfumato.pictures import results as results_room
from sfumato.pictures.description import Row, Rows
from sfumato.pictures.dot_plots import from_results
from sfumato.pictures.results import LITTLE, Result, Results, by_estimate, even_writer, of_family
from sfumato.queries.at_the_edge import EMPTY, NOT_KNOWN
from sfumato.shells import html_page, report, report_results


class Tables(HTMLParser):
    """The rows of a page's tables as lists of texts, and the texts that are folded away."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.folded = ""
        self.depth = 0
        self.cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.depth += tag == "details"
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.cell = True

    def handle_endtag(self, tag):
        self.depth -= tag == "details"
        self.cell = self.cell and tag not in ("td", "th")

    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data
        if self.depth:
            self.folded += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("content")


@pytest.fixture(scope="module")
def fit(folder):
    return pages.fit(folder).read_text()


@pytest.fixture(scope="module")
def means(folder):
    return pages.means(folder).read_text()


def test_groups_are_sorted_by_their_estimates_and_have_sizes(means):
    rows = Tables(means).rows
    start = rows.index(["region", "estimate", "90 % interval", "size"])
    table = rows[start + 1 : start + 5]
    # A group of which no number is known has no estimate, and comes last.
    words = (EMPTY, NOT_KNOWN)
    estimates = [
        (LITTLE in row[0] or row[1] in words, 0 if row[1] in words else -float(row[1].replace(",", "")))
        for row in table
    ]
    assert estimates == sorted(estimates), "those of which little is known come last"
    sizes = {row[0].removesuffix(f" {LITTLE}"): int(row[3].replace(",", "")) for row in table}
    # Half of 2,000 people: sampling has a deviation of 22, the noise one of about 5.
    assert sizes[pages.REGIONS[0]] == pytest.approx(1_000, abs=150)
    assert not any("region=" in cell for row in table for cell in row)


def test_little_known_stands_beside_its_number():
    """Two means within bounds from 0 to 10: one has an interval over most of them, and its own row says so."""
    model = sf.families.BoundedMean(0, 10)
    known, unknown = Result("north", 4.0, 3.5, 4.5), Result("south", 5.0, 0.5, 9.5)
    rows = [replace(row, little=results_room._is_little(row, model, 0.9)) for row in (known, unknown)]
    text = report_results.numbers(Results("mean of x by g", 0.9, tuple(rows), "", str))
    assert [row[0] for row in Tables(text).rows[1:]] == ["north", f"south {LITTLE}"]
    picture = svg.figure(from_results(Results("mean of x by g", 0.9, tuple(rows), "", str)))
    assert picture.count(LITTLE) == 2, "in both forms of the picture"


def test_bounds_stand_between_the_picture_and_the_table(means):
    bounds, picture, table = means.index("is first clipped to"), means.index("</figure>"), means.index("<table>")
    assert picture < bounds < table


def test_hypotheses_are_folded_away_and_all_there(folder, fit):
    folded = Tables(fit).folded
    assert "hypotheses that were checked" in folded
    release = sf.Release.from_bytes(stored("charged in gdp"))
    page = Tables(report.page(release))
    for assumption in release.guarantee.assumptions:
        assert assumption.name in page.folded


def test_coefficients_and_ratios_share_a_row_with_their_intervals(fit):
    rows = Tables(fit).rows
    start = rows.index(["column", "coefficient (90 % interval)", "odds ratio (90 % interval)"])
    age = next(row for row in rows[start:] if row[0].split(" ")[0] == "age")
    number = r"-?[\d.e+-]+"
    value, low, high = map(float, re.fullmatch(rf"({number}) \(({number}) to ({number})\)", age[1]).groups())
    ratio, below, above = map(float, re.fullmatch(rf"({number}) \(({number}) to ({number})\)", age[2]).groups())
    assert [ratio, below, above] == pytest.approx(np.exp([value, low, high]), rel=0.02)
    intercept = next(row for row in rows[start:] if row[0].startswith("intercept"))
    assert intercept[2] == "", "an intercept has no ratio"


def test_levels_stand_under_their_column_without_its_name(fit):
    rows = Tables(fit).rows
    start = rows.index(["region"])
    assert [row[0].removesuffix(f" {LITTLE}") for row in rows[start + 1 : start + 4]] == pages.REGIONS[1:]


@pytest.mark.parametrize("count", [40, 41])
def test_only_a_long_table_is_folded(count):
    schema = sf.Schema({"x": sf.Category([f"level {k}" for k in range(count)], missing="level 0")}, name="survey")
    model = sf.families.DirichletCategorical([f"level {k}" for k in range(count)])
    data = sf.Dataset.from_table({"x": [f"level {k % count}" for k in range(600)]}, schema=schema)
    release = sf.publish(sf.plan(model, 600, 1.0, 1e-6, mechanism="noisy-statistics"), data)
    text = report_results.results(release, 0.9)
    assert ("<details>" in text) == (count > 40)
    assert all(f">level {k}<" in text for k in range(count)), "nothing is left out"


def test_digits_are_even_and_follow_the_intervals():
    rows = [Result("a", 0.3, 0.2881, 0.3119), Result("b", 0.25, 0.23, 0.27), Result("c", 12.0, 11.0, 13.0)]
    assert [even_writer(rows)(row.estimate) for row in rows] == ["0.300", "0.250", "12.000"]
    wide = [Result("a", 51_234.5, 41_000, 61_000)]
    assert even_writer(wide)(51_234.6) == "51,235"


def test_labels_with_an_order_keep_it_and_others_are_sorted():
    ages = [Result("18-29", 0.1), Result("30-64", 0.3), Result("65+", 0.2)]
    assert by_estimate(ages) == ages
    names = [Result("north", 0.1), Result("south", 0.3)]
    assert [row.label for row in by_estimate(names)] == ["south", "north"]
    headed = [Result("b", 0.1, group="after a"), Result("a", 0.9, group="after b")]
    assert by_estimate(headed) == headed


def test_results_are_the_numbers_of_the_release():
    release = sf.Release.from_bytes(stored("groups"))
    results = of_family(release, 0.8)
    lower, upper = release.interval(0.8).reshape(2, -1)
    by_label = {f"g={row.label}": row for row in results.rows}
    for k, label in enumerate(release.labels):
        row = by_label[label]
        assert (row.lower, row.upper) == (lower[k], upper[k])
        assert row.estimate == release.estimate().ravel()[k]
        assert row.size == release.group_sizes(0.8).values[k]


def test_shares_by_group_stand_under_their_groups_with_the_groups_sizes():
    levels, groups = ["a: b", "c"], ["north", "x: y"]
    schema = sf.Schema(
        {"kind": sf.Category(levels, missing=levels[0]), "place": sf.Category(groups, missing=groups[0])},
        name="shares",
        unit="person",
    )
    table = {"kind": ["a: b"] * 300 + ["c"] * 700, "place": ["north", "x: y", "north", "north"] * 250}
    data = sf.Dataset.from_table(table, schema=schema)
    model = sf.grouped(sf.families.DirichletCategorical(levels), by="place", levels=groups)
    release = sf.publish(sf.plan(model, data.n, epsilon=1.0, delta=1e-6), data)
    rows = of_family(release).rows
    assert [(row.group, row.label) for row in rows] == [
        (f"place = {group}", level) for group in groups for level in levels
    ]
    sizes = release.group_sizes().values
    assert [row.size for row in rows] == [sizes[0], sizes[0], sizes[1], sizes[1]]
    assert [row.estimate for row in rows] == release.estimate().ravel().tolist()


def test_long_labels_are_broken_on_a_narrow_screen_and_shortened_only_after_three_lines():
    long = "North Rhine and the adjoining districts of the old county"
    endless = " ".join(["district"] * 60)

    def texts(label: str, group: str) -> list[str]:
        picture = Rows("t", axes.linear("x", 0, 1), (Row(label, 0.5, group=group, detail="0.5 (0.4 to 0.6)"),), "alt")
        return re.findall(r"<text[^>]*>([^<]*)", "".join(_svg_rows.drawn(picture, 340)[1]))

    shown = " ".join(texts(long, f"{long}, against {long}"))
    assert f"{long}, against {long}" in shown
    assert shown.count("…") == 0
    assert sum("…" in text for text in texts(endless, "")) == 1


def test_the_heading_of_the_texts_takes_no_room_from_the_plot():
    rows = (Row("north", 0.5, 0.4, 0.6, detail="12"),)
    pictures = [Rows("t", axes.linear("x", 0, 1), rows, "alt", detail=detail) for detail in ("size", "size " * 9)]
    spans = [
        re.search(r'x1="([\d.]+)" x2="([\d.]+)"', "".join(_svg_rows.drawn(each, 340)[1])).groups() for each in pictures
    ]
    assert spans[0] == spans[1]


def test_titles_name_what_the_picture_shows():
    chain = report.page(sf.Release.from_bytes(stored("transitions")))
    assert re.search(r"<h1>.*: probability of the next state \(", chain)
    assert "We estimated the probability of the next state (" in chain


def test_numbers_that_differ_late_are_written_until_they_differ():
    narrow = even_writer([Result("a", 0.3000502, 0.3000499, 0.3000505)])
    assert [narrow(0.3000499), narrow(0.3000505)] == ["0.30004990", "0.30005050"]
    small = even_writer([Result("a", 2.498e-5, 2.466e-5, 2.529e-5)])
    assert [small(2.466e-5), small(2.5e-5)] == ["2.466e-5", "2.500e-5"]
    assert even_writer([Result("a", -0.1, -0.6, 0.4)])(-0.00001) == "0.00"
    assert axes.even([0.30005, 0.3000505, 0.300051]) == ["0.3000500", "0.3000505", "0.3000510"]
    assert axes.even([2.48e-5, 2.4801e-5]) == ["2.4800e-5", "2.4801e-5"]
    assert axes.even([0.0, 1e-5, 2e-5]) == ["0", "1e-5", "2e-5"]


def test_a_picture_of_coefficients_is_not_said_to_leave_them_out():
    rng = np.random.default_rng(5)
    schema = sf.Schema(
        {"age": sf.Number(18, 90), "smoker": sf.Boolean(missing=False), "visits": sf.Number(0, 9, integer=True)},
        "visits",
    )
    table = {"age": rng.uniform(18, 90, 2_000), "smoker": rng.random(2_000) < 0.3, "visits": rng.poisson(2, 2_000)}
    data = sf.Dataset.from_table(table, schema=schema)
    texts = []
    for terms in (["age", "age:smoker", "smoker"], ["age", "age^2", "smoker"]):
        plan = sf.plan(sf.regression("poisson", schema, terms), data.n, epsilon=2.0, delta=1e-6, goal="estimate")
        texts.append(report.page(sf.publish(plan, data)))
    assert ["compares the ends" in text for text in texts] == [False, True]
    assert ["The picture shows the coefficients of the table." in text for text in texts] == [True, False]
    assert "age and smoker enter through powers or products" in texts[0]
    assert "age enters through powers or products" in texts[1]
    assert "Poisson regression of visits</h1>" in texts[0]


def test_the_budget_of_the_receipt_is_shown_with_what_is_left(tmp_path):
    schema = sf.Schema({"x": sf.Boolean(missing=False)}, name="a schema", unit="person")
    data = sf.Dataset.from_table({"x": [True, False] * 500}, schema=schema)
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 1_000, epsilon=0.5, delta=1e-7, mechanism="noisy-statistics")
    with sf.Ledger.open(tmp_path / "budget.db") as ledger:
        ledger.register("survey 2025/26", epsilon=1.0, delta=1e-6, unit="person")
        release = sf.publish(plan, data, ledger, name="survey 2025/26", request_id="a share")
        left = ledger.spent("survey 2025/26").account.epsilon_left()
    text = report.page(release, str(tmp_path / "budget.db"))
    assert "Charged to “survey 2025/26” under request “a share”" in text
    said = float(re.search(r"Left: epsilon ([\d.]+) at delta 1e-06", text).group(1))
    assert left * 0.999 <= said <= left


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (("2020-01-01", "2023-12-31"), ["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"]),
        (("2020-11-17", "2022-11-27"), ["2021-01-01", "2021-07-01", "2022-01-01", "2022-07-01"]),
        (("1899-06-01", "1935-06-01"), ["1900-01-01", "1910-01-01", "1920-01-01", "1930-01-01"]),
        (("2021-02-27", "2021-03-10"), None),
    ],
)
def test_axes_of_dates_have_first_days_of_years_or_months(ends, expected):
    column = sf.Date(*ends)
    texts = [text for _, text in dot_plots.dates("day", column.lower, column.upper, column).ticks]
    if expected is None:
        assert 2 <= len(texts) <= 5
        assert all(ends[0] <= text <= ends[1] for text in texts)
    else:
        assert texts == expected


def test_long_numbers_of_an_axis_are_fewer():
    assert [text for _, text in axes.linear("", 1.88e6, 2.16e6).ticks] == ["1,900,000", "2,000,000", "2,100,000"]
    assert len(axes.linear("", 1.88, 2.16).ticks) > 3


def test_alternative_texts_name_the_largest_effects_first():
    rows = [Row("b", -3.0, detail="-3"), Row("c", 0.5, detail="0.5"), Row("north", 2.0, group="a", detail="2")]
    assert of_regression.alt(rows, "Effects", ratio=False) == "Forest plot. Effects. b: -3; a: north: 2; c: 0.5."
    ratios = [Row("b", 1.5, detail="1.5"), Row("c", 0.2, detail="0.2")]
    assert of_regression.alt(ratios, "Ratios", ratio=True) == "Forest plot. Ratios. c: 0.2; b: 1.5."


def test_an_alternative_text_of_few_rows_keeps_their_order():
    rows = (Result("25 % quantile", 1.0), Result("50 % quantile", 2.0), Result("75 % quantile", 3.0))
    text = dot_plots.alt(Results("quantiles of x", 0.9, rows, shown=lambda value: f"{value:g}"))
    assert text == "Dot plot of quantiles of x. 25 % quantile 1; 50 % quantile 2; 75 % quantile 3."


def test_a_table_that_does_not_fit_a_phone_scrolls_and_can_be_reached():
    narrow = html_page.table(["a", "b", "c", "d"], [["1", "2", "3", "4"]])
    wide = html_page.table(["a", "b", "c", "d", "e"], [["1", "2", "3", "4", "5"]], caption="five")
    assert "tabindex" not in narrow
    assert wide.startswith('<div class="scroll" role="region" aria-label="five" tabindex="0">')


@pytest.mark.parametrize(("name", "said"), [("shares noisy", True), ("groups", False)])
def test_shares_of_a_whole_are_said_not_to_add_up(name, said):
    text = report_results.results(sf.Release.from_bytes(stored(name)), 0.9)
    assert ("need not add up to 1" in text) == said
