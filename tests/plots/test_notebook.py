"""What a notebook shows: well-formed HTML without script, every text escaped, and the numbers of the objects themselves."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import sfumato as sf
from forging import forge, stored
from sfumato.ledger.units import UNITS
from sfumato.pictures import _fragment, notebook

MARKUP = "<script src=//x></script>\"><img src=x onerror=alert(1)></style><a href='javascript:alert(1)'>"
TAGS = {
    "div", "style", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption",
    "svg", "path", "text", "title", "circle", "rect", "g", "line",
}  # fmt: skip
ATTRIBUTES = {
    "class", "scope", "role", "aria-label", "viewbox", "width", "height", "rx", "x", "y", "d", "cx", "cy", "r", "text-anchor",
    "stroke-width", "stroke-dasharray", "x1", "x2", "y1", "y2", "tabindex",
    "data-head",
}  # fmt: skip
EMPTY = {"path", "circle", "rect", "line"}
GIBBS = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(precision=1.0), dimension=5)
PLAN = sf.plan(GIBBS, 2_000, 1.0, 1e-6, mechanism="langevin")
SLACK = sf.Guarantee(sf.Gaussian(0.3), "replace-one", "a theorem", "a source", trust="proved with slack", slack=1e-7)

# Words that stand in place of an estimate.
STATES = "not known|at most|at least"


class Read(HTMLParser):
    """The tags, attributes and cells of a fragment; `faults` lists tags that are not closed in order, or not allowed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self._open]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.faults += [f"<{tag}>"] if tag not in TAGS else []
        self.faults += [f"{tag} {name}" for name, _ in attrs if name not in ATTRIBUTES]
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self._open.pop()
        self.faults += [f"<{tag}/>"] if tag not in EMPTY else []

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes another tag")

    def handle_data(self, data):
        if self._open and self._open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger with one name of markup and two charges of different size."""
    levels = [MARKUP, "b", "</svg></title>"]
    schema = sf.Schema({MARKUP: sf.Category(levels, missing=levels[0])}, name="n" + MARKUP, unit="person")
    data = sf.Dataset.from_table({MARKUP: levels * 20}, schema=schema)
    with sf.Ledger.open(tmp_path_factory.mktemp("ledger") / "budget.db") as book:
        book.register("survey", 3.0, 1e-5, unit="person")
        for epsilon in (1.0, 0.5):
            plan = sf.plan(sf.families.DirichletCategorical(levels), 60, epsilon, 1e-6, mechanism="noisy-statistics")
            sf.publish(plan, data, book, "survey", f"{MARKUP} at {epsilon}")
        yield book


def objects(book):
    """One of each kind that a notebook shows."""
    names = ("rate noisy", "rate seeded", "shaped path", "network", "quantiles", "lattice by trials", "means by group")
    prices = sf.price_list(GIBBS, 2_000, [0.3, 1.0], 1e-6)
    releases = [sf.Release.from_bytes(stored(name)) for name in names]
    return [
        PLAN,
        prices,
        sf.compare(GIBBS, 2_000, 1.0, 1e-6),
        PLAN.guarantee,
        SLACK,
        book,
        book.spent("survey"),
        *releases,
    ]


def test_every_fragment_is_well_formed_and_needs_no_matplotlib(ledger, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for thing in objects(ledger):
        text = thing._repr_html_()
        read = Read(text)
        assert read.faults == [], type(thing).__name__
        assert read.tags[:2] == ["div", "style"]
        assert read.tags.count("style") == 1
        assert "url(" not in text
        assert "@import" not in text


@pytest.mark.planted
@pytest.mark.parametrize(
    "spoilt", ["<script>", "<p>", "</p>", "<p style='x'></p>", "<img src=x>", "<path onload='x'/>", MARKUP]
)
def test_a_spoilt_fragment_is_seen(spoilt):
    good = PLAN._repr_html_()
    assert Read(good).faults == []
    assert Read(good.replace("</style>", f"</style>{spoilt}")).faults


def test_the_style_applies_inside_the_fragment_alone():
    style = re.search(r"<style>(.*)</style>", PLAN._repr_html_(), re.DOTALL).group(1)
    selectors = [each for each in re.findall(r"([^{}]+)\{", style) if not each.strip().startswith("@")]
    assert len(selectors) > 20
    parts = [part.strip() for each in selectors for part in each.split(",")]
    assert [
        part for part in parts if not re.match(r'(\[data-jp-theme-light="(true|false)"\] )?\.sfumato\b', part)
    ] == []


def test_texts_of_files_and_ledgers_are_escaped(ledger):
    released = sf.Release.from_bytes(
        forge("charged in gdp", {"labels.0": MARKUP, "schema.name": MARKUP, "guarantee.unit": MARKUP}, remake=())
    )
    hostile = sf.Guarantee(sf.Pure(1.0), "replace-one", MARKUP, MARKUP, unit=MARKUP)
    for thing, least in ((released, 2), (hostile, 3), (ledger, 2)):
        text = thing._repr_html_()
        assert Read(text).faults == []
        assert text.count("&lt;script src=//x&gt;") >= least
        assert "<script" not in text


# --- the numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rate noisy", "shaped path", "groups", "quantiles"])
def test_a_release_shows_its_estimates_and_intervals(name):
    """As the picture above it: sorted by the estimates, and with digits that follow the intervals."""
    release = sf.Release.from_bytes(stored(name))
    rows = Read(release._repr_html_()).rows
    assert rows[0][1:] == ["estimate", "90 % interval"]
    (lower, upper), middle = release.interval(0.9).reshape(2, -1), release.estimate().ravel()
    order = np.argsort(-middle) if name == "groups" else np.arange(len(middle))
    assert len(rows) - 1 == min(len(release.labels), 12)
    for k, (label, estimate, interval) in zip(order, rows[1:], strict=True):
        assert release.labels[k].endswith(label.removesuffix(" *")) or name == "rate noisy"
        # Two digits of half the interval, at least.
        slack = 0.1 * (upper[k] - lower[k])
        if not re.match(STATES, estimate):
            assert float(estimate) == pytest.approx(middle[k], abs=slack)
        low, high = map(float, interval.split(" to "))
        assert (low, high) == (pytest.approx(lower[k], abs=slack), pytest.approx(upper[k], abs=slack))
    assert release.promise.split(". ")[0] in release._repr_html_()


def test_a_release_without_intervals_shows_means_and_the_reason():
    release = sf.Release.from_bytes(stored("lattice by trials"))
    text = release._repr_html_()
    rows = Read(text).rows
    assert rows[0] == ["quantity", "mean of the draws"]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx(release.mean().ravel().tolist(), rel=1e-4)
    assert "No interval: " in text


def test_a_seeded_release_has_an_alarm_and_others_have_none():
    assert 'sf-alarm">NOT PRIVATE' in sf.Release.from_bytes(stored("rate seeded"))._repr_html_()
    assert 'sf-alarm">' not in sf.Release.from_bytes(stored("rate noisy"))._repr_html_()


@pytest.mark.parametrize("quickly", [True, False])
def test_a_long_release_is_cut_to_its_first_rows(quickly, monkeypatch):
    """Of very many numbers no picture is made: a cell does not wait for it."""
    monkeypatch.setattr(notebook, "_QUICKLY", 40 if quickly else 39)
    levels = [f"level {k}" for k in range(40)]
    schema = sf.Schema({"x": sf.Category(levels, missing=levels[0])}, name="long", unit="person")
    data = sf.Dataset.from_table({"x": np.repeat(levels, 30)}, schema=schema)
    plan = sf.plan(sf.families.DirichletCategorical(levels), data.n, 1.0, 1e-6, mechanism="noisy-statistics")
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    text = release._repr_html_()
    rows = Read(text).rows
    assert len(rows) == 13
    assert rows[0][1] == "estimate"
    assert "and 28 more" in text
    assert ("<figure>" in text) == quickly
    assert ("the first 12 of 40" in text) == quickly
    values = sorted(release.estimate().ravel(), reverse=True)
    assert [float(row[1]) for row in rows[1:]] == pytest.approx(list(values)[:12], abs=1e-3)


def test_a_plan_shows_its_lines_and_its_price_first():
    text = PLAN._repr_html_()
    rows = [tuple(row) for row in Read(text).rows[1:]]
    assert rows == [row for row in PLAN.lines() if row[0] != "price"]
    assert f'<p class="sf-said">{dict(PLAN.lines())["price"]}</p>' in text
    assert str(PLAN) == "\n".join(f"{name:<10} {value}" for name, value in PLAN.lines())


def test_lists_of_prices_and_theorems_show_what_they_print():
    prices, compared = sf.price_list(GIBBS, 2_000, [0.3, 1.0], 1e-6), sf.compare(GIBBS, 2_000, 1.0, 1e-6)
    for thing in (prices, compared):
        rows = Read(thing._repr_html_()).rows[1:]
        lines = str(thing).splitlines()[2:]
        assert len(rows) == len(lines)
        for row, line in zip(rows, lines, strict=True):
            assert " ".join(cell for cell in row if cell).split() == line.split()


@pytest.mark.parametrize("promise", [PLAN.guarantee, SLACK], ids=["exact", "with slack"])
def test_a_guarantee_shows_epsilon_at_deltas(promise):
    rows = Read(promise._repr_html_()).rows
    assert rows[0] == ["delta", "epsilon"]
    assert [row[0] for row in rows[1:5]] == ["0.001", "1e-5", "1e-6", "1e-9"]
    for delta, epsilon in rows[1:5]:
        exact = promise.epsilon(float(delta))
        # Four digits, rounded up: a price is never printed too small.
        assert epsilon == "none" if exact == float("inf") else exact <= float(epsilon) <= exact * 1.001
    assert (rows[4][1] == "none") == (promise is SLACK)
    assert ["theorem", promise.theorem] in rows


def test_a_ledger_shows_every_charge_and_a_bar_of_the_spent_share(ledger):
    text = ledger._repr_html_()
    rows = Read(text).rows
    receipts = [entry.receipt for entry in ledger.history("survey") if entry.receipt is not None]
    assert [row[0] for row in rows[1:]] == [receipt.request_id for receipt in receipts]
    for row, receipt in zip(rows[1:], receipts, strict=True):
        assert float(row[2].split()[-1]) == pytest.approx(receipt.amount, rel=1e-3)
        assert float(row[3].removesuffix(" %")) == pytest.approx(100 * receipt.units / UNITS, rel=1e-3)
    spent = ledger.spent("survey")
    for shown in (text, spent._repr_html_()):
        whole, used = map(float, re.findall(r'class="sf-(?:whole|used)" width="([\d.]+)"', shown))
        assert used / whole == pytest.approx(spent.units / UNITS, abs=1e-3)
        assert f"{100 * spent.units / UNITS:.4g} % of the budget, in 2 charges" in shown


def test_a_ledger_without_names_says_so(tmp_path):
    with sf.Ledger.open(tmp_path / "empty.db") as book:
        assert "Nothing is registered." in book._repr_html_()


def test_a_bar_ends_inside_its_frame():
    for share, width in ((-1.0, 0.0), (0.25, 160.0), (2.0, 640.0)):
        assert f'class="sf-used" width="{width:.1f}"' in _fragment.bar(share, "a bar")
