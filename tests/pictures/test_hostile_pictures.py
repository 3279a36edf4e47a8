"""Pictures and pages of hostile names and extreme numbers: well-formed, quick, and with the numbers of the release."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import sfumato as sf
from effort import sized
from forging import stored
from sfumato.models.grouped import Grouped
from sfumato.pictures import _svg_text as texts
from sfumato.pictures import axes, of_regression, privacy_curve, svg
from sfumato.pictures.description import Axis, Chart, Dots, Graph, Node, Row, Rows
from sfumato.pictures.of_release import pictures
from sfumato.pictures.promises import promises
from sfumato.pictures.results import even_decimals, fixed, interval, of_family
from sfumato.plots import _render
from sfumato.queries.cross_tables import BY_ROW
from sfumato.shells import html_page
from sfumato.shells.report_protection import protection

# Controls, a reordering mark, a zero-width space, a lone surrogate and a code point that is no character.
HOSTILE = "a\x00b\x1bc\u202ed\u200be\ud800f\uffffg\ufffeh\ni"
SPELLED = r"a\x00b\x1bc\u202ed\u200be\ud800f\uffffg\ufffeh"


def _pictures(name: str):
    x = Axis(name, 0.0, 1.0, ((0.5, name),))
    return [
        Rows(name, x, (Row(name, 0.5, 0.2, 0.8, name, name),), name, detail=name),
        Chart(name, x, x, (Dots(((0.5, 0.5),), 0, name),), name),
        Graph(name, (Node(name),), (), name),
    ]


@pytest.mark.parametrize("place", range(3))
def test_characters_that_xml_forbids_are_spelled(place):
    picture = _pictures(HOSTILE)[place]
    root = ElementTree.fromstring(svg.standalone(picture).encode())
    assert SPELLED in root.attrib["aria-label"]
    assert not set("\x00\x1b\u202e\u200b\ud800\uffff\ufffe") & set(svg.figure(picture))


def test_a_name_on_a_page_reorders_nothing():
    page = html_page.page(HOSTILE, html_page.table([HOSTILE], [[HOSTILE]], caption=HOSTILE), "x")
    assert page.count(SPELLED) == 4
    assert page.encode().count(b"\n") == page.count("\n") > 4, "the page keeps its own line ends"


def test_a_long_text_is_shortened_without_trying_every_length(monkeypatch):
    measured = []
    one = texts._letter
    monkeypatch.setattr(texts, "_letter", lambda letter: measured.append(1) or one(letter))
    # 100 pixels hold at most 22 of the narrowest letters: about 22 trials of 22 letters after the first measurement.
    short = texts.fitted("i" * 20_000, 100.0)
    assert len(measured) < 20_000 + 40 * 40
    assert texts.width(short) <= 100.0 < texts.width(short + "i")


@pytest.mark.parametrize(
    ("low", "high"), [(1_000_000.0, 1_000_002.0), (1.234e9, 1.234e9 + 100), (0.0, 1.0), (0.12345671, 0.12345679)]
)
def test_no_two_numbers_of_an_axis_are_written_alike(low, high):
    ticks = axes.linear("x", low, high).ticks
    assert len({text for _, text in ticks}) == len(ticks) >= 3
    for value, text in ticks:
        assert float(text.replace(",", "")) == pytest.approx(value, abs=0.01 * (high - low))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999.4, "999"),
        (999.6, "1,000"),
        (float("inf"), "infinity"),
        (-float("inf"), "-infinity"),
        (float("nan"), "not a number"),
    ],
)
def test_numbers_at_the_edges_of_the_usual_notation(value, text):
    assert axes.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.004, "0.004"),
        (-0.004, "-0.004"),
        (0.0004, "0.0004"),
        (-1e-12, "0.00"),
        (1e-12, "0.00"),
        (-0.0, "0.00"),
        (1234.5, "1,234.50"),
    ],
)
def test_no_number_is_written_as_zero_or_minus_zero(value, text):
    assert fixed(2)(value) == text


def test_a_narrow_interval_among_wide_ones_has_two_different_ends():
    write = even_decimals([0.2, 0.2, 0.2, 0.2, 0.0005], [])
    assert interval(0.1, 0.5, write) == "0.10 to 0.50"
    assert interval(0.9962, 0.9991, write) == "0.9962 to 0.9991"
    assert interval(0.0005, 0.0015, write) == "0.0005 to 0.0015"
    assert interval(0.3, 0.3, write) == "0.30 to 0.30"
    assert interval(1.0, 2.0, lambda day: "2020-02-03") == "2020-02-03 to 2020-02-03", "days are not written as numbers"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.996, "0.996"), (1.004, "1.004"), (1.0, "1.00"), (0.99996, "1.00"), (2.345, "2.35"), (0.031, "0.031"), (12_345.0, "12,345"),
     (3.2e8, "3.2e+08")],
)  # fmt: skip
def test_a_ratio_is_never_rounded_to_no_effect(ratio, text):
    assert of_regression._ratio_in_words(np.log(ratio)) == text
    assert of_regression._ratio_in_words(900.0) == "above 1e+304"


N = 400
LEVELS = ("a", "a: u", "b")


def test_groups_are_named_by_their_place_whatever_their_names_hold():
    rng = np.random.default_rng(3)
    columns = {"g": sf.Category(list(LEVELS), missing=LEVELS[0]), "x": sf.Category(["u", "v", "w"], missing="u")}
    schema = sf.Schema(columns, name="s")
    table = {
        "g": np.array(LEVELS, dtype=object)[rng.integers(0, 3, N)],
        "x": np.array(list("uvw"))[rng.integers(0, 3, N)],
    }
    model = Grouped(sf.families.DirichletCategorical(["u", "v", "w"]), "g", LEVELS)
    release = sf.publish(sf.plan(model, N, 5.0, 1e-6), sf.Dataset.from_table(table, schema=schema))
    rows = of_family(release).rows
    assert [(row.group, row.label) for row in rows] == [(f"g = {level}", x) for level in LEVELS for x in "uvw"]
    assert [row.estimate for row in rows] == release.estimate().ravel().tolist()
    assert [row.size for row in rows] == np.repeat(release.group_sizes().values, 3).tolist()


def _regression(kind, target, n, epsilon):
    rng = np.random.default_rng(4)
    table = {
        "age": rng.uniform(18, 90, n), "region": rng.choice(["north", "south"], n), "region=old": rng.uniform(0, 1, n),
        "ill": rng.random(n) < 0.4, "pay": rng.uniform(0, 100, n),
    }  # fmt: skip
    columns = {
        "age": sf.Number(18, 90), "region": sf.Category(["north", "south"], missing="north"),
        "region=old": sf.Number(0, 1), "ill": sf.Boolean(missing=False),
        "pay": sf.Number(0, 100),
    }  # fmt: skip
    table["pay"] = np.clip(20 + 0.5 * table["age"] - 10 * table["ill"] + rng.normal(0, 2, n), 0, 100)
    names = ["age", "region", "region=old", *(["ill"] if target != "ill" else [])]
    kept = [*names, target]
    schema = sf.Schema({name: columns[name] for name in kept}, target=target, name="s")
    plan = sf.plan(sf.regression(kind, schema, names), n, epsilon, 1e-6, goal="estimate")
    return sf.publish(plan, sf.Dataset.from_table({name: table[name] for name in kept}, schema=schema))


def test_the_words_name_the_largest_effects_first():
    rows = tuple(Row(label, middle) for label, middle in (("tiny", 0.001), ("age", 36.0), ("ill", -10.0)))
    said = of_regression.alt(rows, "Effects", ratio=False)
    assert said.index("age") < said.index("ill") < said.index("tiny")
    picture = pictures(_regression("linear", "pay", sized(2_000, 5_000), 4.0))[0]
    # 36 for the whole range of ages, -10 for the ill; the two others are 0.
    assert (
        picture.alt.index("age, 18 to 90: 3")
        < picture.alt.index("ill, yes against no: -")
        < picture.alt.index("region")
    )


def test_a_column_with_an_equals_sign_is_no_level():
    picture = pictures(_regression("linear", "pay", sized(2_000, 5_000), 4.0))[0]
    places = {(row.group, row.label) for row in picture.rows}
    assert {("", "region=old, 0 to 1"), ("region, against north", "south")} <= places


def test_ends_beyond_the_axis_are_written_and_the_axis_says_so():
    release = _regression("logistic", "ill", sized(300, 500), 0.02)
    picture = pictures(release, 0.9999)[0]
    row = next(row for row in picture.rows if row.label.startswith("age"))
    contrast = release.contrast({"age": 72.0}, 0.9999)
    assert contrast.upper > np.log(1e4), "this release knows so little that its interval leaves the axis"
    assert row.upper == pytest.approx(1e4)
    assert f"to {of_regression._ratio_in_words(contrast.upper)})" in row.detail
    assert "10,000)" not in row.detail
    assert "cut at 1e-4 and 1e4" in picture.x.name


def test_the_words_of_a_picture_warn_of_a_seeded_release():
    x = Axis("x", 0.0, 1.0)
    seeded = Rows("NOT PRIVATE: a rate", x, (Row("rate", 0.5),), "One rate.")
    assert svg.standalone(seeded).count('aria-label="NOT PRIVATE. One rate."') == 1
    assert svg.figure(seeded).count('aria-label="NOT PRIVATE. One rate."') == 2
    assert "NOT PRIVATE" not in svg.figure(Rows("a rate", x, (Row("rate", 0.5),), "One rate."))


@pytest.mark.parametrize("value", [1.0044, 0.4971969, 0.12301, 999.4, 1e-7 + 1e-10, 2.0, 0.1, 0.30000000000000004])
def test_three_digits_are_rounded_to_the_safe_side(value):
    up, down = (float(text.replace(",", "")) for text in (axes.above(value), axes.below(value)))
    assert up * (1 + 1e-11) >= value >= down * (1 - 1e-11)
    # At most one unit of the third digit, which is at most a hundredth.
    assert up - down <= 0.0101 * value


@pytest.mark.parametrize("curve", [sf.Gaussian(0.123456), sf.Pure(1.0044)], ids=["gaussian", "pure"])
def test_a_notebook_shows_no_epsilon_below_the_true_one(curve):
    promised = replace(sf.plan(sf.families.BetaBernoulli(), 400, 0.1, 1e-8).guarantee, curve=curve)
    shown = re.findall(r'<th scope="row">([\de.-]+)</th><td[^>]*>([\de.]+)</td>', promised._repr_html_())
    assert [delta for delta, _ in shown if delta == "0"] == ["0"] * isinstance(curve, sf.Pure)
    assert len(shown) == 4 + isinstance(curve, sf.Pure)
    for delta, epsilon in shown:
        true = promised.epsilon(float(delta))
        assert true * (1 - 1e-11) <= float(epsilon) <= 1.01 * true


def test_a_legend_names_no_smaller_price():
    promised = replace(sf.plan(sf.families.BetaBernoulli(), 400, 0.1, 1e-8).guarantee, curve=sf.Pure(1.0044))
    assert promises(promised, None)[0].name == "pure, epsilon = 1.01"
    line = privacy_curve.drawn(promises(promised, None), 2.0, 1e-6)
    first = re.search(r"delta is ([\d.e-]+) at epsilon 0", line.alt)
    assert float(first[1]) >= promised.delta(0.0)
    assert promised.delta(0.0) != float(first[1]), "the true delta has more digits"


def test_a_report_shows_no_rate_of_misses_above_the_true_one():
    release = sf.Release.from_bytes(stored("rate noisy"))
    shown = re.findall(r"<tr><th scope=\"row\">([\d.]+) %</th><td[^>]*>([\d.]+) %</td>", protection(release))
    true = release.attacker().trade_off
    assert len(shown) == len(true) > 2
    for (_, text), (_, miss) in zip(shown, true, strict=True):
        assert 100 * miss - 0.1 <= float(text) <= 100 * miss
    assert any(round(100 * miss, 1) > float(text) for (_, text), (_, miss) in zip(shown, true, strict=True))


@pytest.mark.parametrize("name", ["y" * 10_000, "word " * 2_000])
def test_a_figure_has_room_whatever_the_names_of_its_axes(name):
    x = Axis(name, 0.0, 1.0, ((0.5, "0.5"),))
    for picture in (Rows(name, x, (Row(name, 0.5),), name), Chart(name, x, x, (Dots(((0.5, 0.5),), 0, name),), name)):
        drawn = _render.figure(picture)
        # matplotlib warns, and warnings are errors here, where the names leave no room.
        drawn.savefig(io.BytesIO(), format="png")
        box = drawn.axes[0].get_position()
        assert min(box.width, box.height) > 0.2


def test_a_figure_of_many_rows_can_still_be_drawn():
    rows = tuple(Row(str(k), 0.5) for k in range(2_000))
    drawn = _render.figure(Rows("x", Axis("x", 0.0, 1.0), rows, "x"))
    # Agg draws fewer than 2^16 pixels in each direction, at 200 an inch.
    assert drawn.get_figheight() * 200 < 2**16


@pytest.mark.parametrize(("value", "text"), [(2.0, "2"), (1e-6, "1e-06"), (1.23456749, "1.23456749"), (0.1, "0.1")])
def test_declared_numbers_keep_their_digits(value, text):
    assert axes.given(value) == text


def _released(model, columns, table, **options):
    schema = sf.Schema(columns, name="s")
    data = sf.Dataset.from_table(table, schema=schema)
    return sf.publish(sf.plan(model, N, 2.0, 1e-6, mechanism="noisy-statistics"), data, **options)


@pytest.mark.parametrize("seeded", [False, True])
def test_bars_of_unequal_bins_have_their_shares_as_areas(seeded):
    x = np.random.default_rng(5).uniform(0, 100, N)
    options = {"randomness": sf.seeded(1)} if seeded else {}
    release = _released(sf.families.Histogram(edges=[0, 10, 30, 100]), {"x": sf.Number(0, 100)}, {"x": x}, **options)
    chart = pictures(release)[0]
    bars, spans = chart.marks
    assert [(b - a) * height for a, b, height in bars.items] == pytest.approx(release.estimate().tolist())
    ends = [[each * width for each in span[1:]] for span, width in zip(spans.items, (10, 20, 70), strict=True)]
    assert release.interval(0.9) == pytest.approx(np.array(ends).T)
    assert chart.title.startswith("NOT PRIVATE") == seeded


def test_a_cross_table_of_two_levels_shows_the_one_that_it_names():
    rng = np.random.default_rng(6)
    table = {"a": rng.choice(["p", "q"], N), "b": rng.random(N) < 0.1}
    columns = {"a": sf.Category(["p", "q"], missing="p"), "b": sf.Boolean(missing=False)}
    release = _released(sf.families.CrossTable.from_schema(sf.Schema(columns, name="s"), ["a", "b"]), columns, table)
    picture = pictures(release)[0]
    cells = release.cross_table(of=BY_ROW, level=0.9).cells
    assert picture.title.startswith("Share of b = yes within a")
    # One in ten is true: the other level would be near 0.9.
    assert all(row.middle < 0.5 for row in picture.rows)
    for k, row in enumerate(picture.rows):
        assert (row.middle, row.lower, row.upper) == (cells.values[k, 1], cells.lower[k, 1], cells.upper[k, 1])


def test_levels_are_headed_by_the_reference_that_was_declared():
    column = sf.Category(["north", "south", "west"], reference="west", missing="north")
    schema = sf.Schema({"region": column, "ill": sf.Boolean(missing=False)}, target="ill", name="s")
    row = of_regression._placed(schema, "region=north", (0.1, None, None), SimpleNamespace(little=(), unknown=()), ())
    assert (row.group, row.label) == ("region, against west", "north")
