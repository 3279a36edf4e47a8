"""Reports of hostile files: verified first, every text escaped; and what a report must say about trust and slack."""

from __future__ import annotations

import html
import json
import math
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import sfumato as sf
from command_line import typed
from forging import forge, stored
from sfumato.errors import ArgumentError, FormatError, SfumatoError
from sfumato.pictures import axes, privacy_curve, svg
from sfumato.pictures.description import Chart, Dots, Edge, Graph, Line, Node, Row, Rows
from sfumato.shells import report
from sfumato.wording import columns_read

MARKUP = "<script src=//x></script>\"><img src=x onerror=alert(1)></title></style><a href='javascript:alert(1)'>"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "div", "table", "thead", "tbody", "tr", "th",
    "td", "svg", "line", "text", "path", "rect", "circle", "footer", "pre", "figure", "figcaption", "caption", "details",
    "summary", "span", "h3",
}  # fmt: skip
FORBIDDEN = {"src", "href", "action", "style", "xlink:href"}


class Seen(HTMLParser):
    """Tags and attributes of a page, as a browser would read them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def harmless(text: str) -> bool:
    """Whether a page has only the tags and attributes that reports are made of, and one style sheet."""
    seen = Seen(text)
    scripted = {name for name in seen.attributes if name.startswith("on")}
    return set(seen.tags) <= TAGS and not seen.attributes & FORBIDDEN and not scripted and seen.tags.count("style") == 1


@pytest.mark.planted
def test_the_look_sees_planted_markup():
    good = report.page(sf.Release.from_bytes(stored("charged in gdp")))
    assert harmless(good)
    for planted in (MARKUP, "<script>", "<b onclick=x>", "</style><style>", "<p style='x'>", "<line href=x>"):
        assert not harmless(good.replace("</h1>", planted + "</h1>"))


# Every text of a file that a page could show; the second column says whether it does show it.
TEXTS = {
    "name": ("schema.name", True),
    "unit": ("schema.unit", True),
    "digest of the plan": ("plan_digest", False),  # only its first 16 characters are shown
    "digest of the schema": ("schema.digest", False),
    "promise": ("promise", False),  # a sentence in an old file is never shown
    "label": ("labels.0", True),
    "theorem": ("guarantee.theorem", True),
    "source": ("guarantee.source", True),
    "unit of the guarantee": ("guarantee.unit", True),
    "name of a hypothesis": ("guarantee.assumptions.0.name", True),
    "symbol of a hypothesis": ("guarantee.assumptions.0.symbol", True),
    "value of a hypothesis": ("guarantee.assumptions.0.value", True),
    "origin of a hypothesis": ("guarantee.assumptions.0.origin", True),
    "requirement of a hypothesis": ("guarantee.assumptions.0.required", False),
    "mechanism": ("plan.mechanism", True),
    "goal": ("plan.goal", False),
    "expected quantity": ("plan.expected.quantity", False),
    "expected unit": ("plan.expected.unit", False),
    "how it is expected": ("plan.expected.how", False),
    "ledger": ("receipt.ledger", True),
    "request": ("receipt.request_id", True),
    "row": ("receipt.seq", True),
    "time": ("receipt.time", False),
    "hash": ("receipt.hash", False),
    "currency": ("receipt.currency", False),
    "digest of the guarantee": ("receipt.guarantee_digest", False),
}


def _refused(reason):
    def interval(*_args, **_options):
        raise ArgumentError(reason)

    return interval


@pytest.mark.parametrize("field", list(TEXTS))
def test_markup_in_a_text_never_reaches_a_page(field, monkeypatch):
    """`page` itself does not verify: even for a release that was forged in memory every text is escaped."""
    path, shown = TEXTS[field]
    if path.startswith("plan.mechanism"):
        # No query knows such a mechanism; without intervals the rest of the page is still made of its texts.
        monkeypatch.setattr(sf.Release, "interval", _refused("no such mechanism"))
    text = report.page(sf.Release.from_bytes(forge("charged in gdp", {path: MARKUP}, remake=())))
    assert harmless(text)
    assert (html.escape(MARKUP) in text) == shown


def test_markup_in_a_name_of_a_parameter_never_reaches_a_page(monkeypatch):
    monkeypatch.setattr(sf.Release, "interval", _refused(MARKUP))
    data = forge("charged in gdp", {"plan.parameters": lambda found: {**found, MARKUP: 1.0}}, remake=())
    text = report.page(sf.Release.from_bytes(data))
    assert harmless(text)
    assert text.count(html.escape(MARKUP)) >= 1


def test_markup_that_a_schema_may_hold_is_escaped_everywhere(tmp_path, monkeypatch, capsys):
    """Column, level, name, unit and request are free texts: such a release is valid, and its report harmless."""
    monkeypatch.chdir(tmp_path)
    levels = [MARKUP, "b", "</svg></title>"]
    schema = sf.Schema({MARKUP: sf.Category(levels, missing=levels[0])}, name="n" + MARKUP, unit="u" + MARKUP)
    data = sf.Dataset.from_table({MARKUP: levels * 20}, schema=schema)
    plan = sf.plan(sf.families.DirichletCategorical(levels), 60, 1.0, 1e-6, mechanism="noisy-statistics")
    with sf.Ledger.open("budget.db") as ledger:
        ledger.register("l" + MARKUP, 3.0, 1e-5, unit="u" + MARKUP)
        sf.publish(plan, data, ledger, "l" + MARKUP, "r" + MARKUP).save("x.sfumato")
    code, _, err = typed(monkeypatch, capsys, "report", "x.sfumato", "-o", "x.html", "--ledger", "budget.db")
    assert code == 0, err
    text = (tmp_path / "x.html").read_text()
    assert harmless(text)
    for prefix in ("n", "u", "r"):
        assert html.escape(prefix + MARKUP) in text


def test_pictures_escape_their_texts():
    across, up = axes.linear(MARKUP, 0.0, 1.0), axes.logarithmic(MARKUP, 1e-3, 1.0)
    line = Chart(
        MARKUP, across, up, (Line(((0.0, 0.1), (1.0, 0.01)), 0, MARKUP), Dots(((0.5, 0.05),), 1, MARKUP)), MARKUP
    )
    rows = Rows(MARKUP, across, (Row(MARKUP, 0.5, 0.0, 1.0, MARKUP, MARKUP),), MARKUP, None, MARKUP)
    graph = Graph(MARKUP, (Node(MARKUP), Node("b" + MARKUP)), (Edge(0, 1),), MARKUP)
    for picture in (line, rows, graph):
        for text in (svg.figure(picture), svg.standalone(picture)):
            seen = Seen(text)
            assert set(seen.tags) <= TAGS | {"g"}
            assert not seen.attributes & FORBIDDEN
            assert "<script" not in text


def test_a_page_forbids_scripts_and_requests():
    text = report.page(sf.Release.from_bytes(stored("rate noisy")))
    assert 'http-equiv="Content-Security-Policy"' in text
    assert html.escape("default-src 'none'") in text


@pytest.mark.parametrize(
    "edits",
    [
        {"plan.target.epsilon": 0.01},
        {"schema.name": MARKUP},
        {"guarantee.theorem": MARKUP},
        {"draws[0,0]": 0.123456789},
    ],
    ids=["target", "name", "theorem", "draw"],
)
def test_a_forged_file_gets_no_report(edits, tmp_path, monkeypatch, capsys):
    (tmp_path / "x.sfumato").write_bytes(forge("rate noisy", edits))
    code, _, err = typed(monkeypatch, capsys, "report", tmp_path / "x.sfumato", "-o", tmp_path / "x.html")
    assert code == 2
    assert "edited" in err
    assert not (tmp_path / "x.html").exists()
    with pytest.raises(FormatError):
        report.write_report(sf.load(tmp_path / "x.sfumato"), tmp_path / "x.html")


def test_a_forged_digest_reaches_no_page(tmp_path):
    data = forge("rate noisy", {"plan_digest": "<script src=//x>"}, remake=())
    with pytest.raises(SfumatoError):
        report.write_report(sf.Release.from_bytes(data), tmp_path / "x.html")
    assert "<script" not in report.page(sf.Release.from_bytes(data))


# --- what a report must say ----------------------------------------------------------------------------------------------


def test_the_curve_is_drawn_with_the_slack_of_the_sampler():
    """A sampler that fails with a small probability has a delta at every epsilon: the line must not end at the range."""
    release = sf.Release.from_bytes(stored("lattice by trials"))
    slack = release.guarantee.slack
    assert slack > 0
    drawn = privacy_curve.of_release(release).marks[0].points
    assert len(drawn) >= 61
    assert all(delta >= (1 + math.exp(epsilon)) * slack for epsilon, delta in drawn)
    assert release.guarantee.curve.delta(drawn[-1][0]) == 0, "the curve alone would have ended before"


@pytest.mark.parametrize(
    ("name", "trust"),
    [
        ("converged", "assumes converged"),
        ("lattice by trials", "proved with slack"),
        ("rate noisy", "proved"),
        ("rate seeded", "not private"),
    ],
)
def test_the_methods_paragraph_says_how_far_the_guarantee_may_be_trusted(name, trust):
    release = sf.Release.from_bytes(stored(name))
    assert f"The guarantee is {trust} (" in report.methods(release)
    assert f"Trust: {trust}." in report.page(release)


def test_a_seeded_release_has_a_banner_and_no_promise():
    text = report.page(sf.Release.from_bytes(stored("rate seeded")))
    assert '<div class="promise warning"><p>NOT PRIVATE.' in text
    assert "guesses this one right" not in text
    private = report.page(sf.Release.from_bytes(stored("rate noisy")))
    assert "NOT PRIVATE" not in private
    assert "guesses this one right" in private


@pytest.mark.parametrize(
    ("name", "phrase"),
    [("means by group", " by "), ("rate noisy", " of "), ("chain", "")],
)
def test_a_phrase_names_the_columns_and_the_groups(name, phrase):
    release = sf.Release.from_bytes(stored(name))
    names = columns_read(release)
    expected = {" by ": f" of {', '.join(names[1:])} by {names[0] if names else ''}", " of ": f" of {', '.join(names)}"}
    assert report._of(release) == expected.get(phrase, "")


@pytest.mark.parametrize(("target", "ending"), [("ill", "regression of ill"), (None, "regression")])
def test_a_title_names_the_target_only_where_there_is_one(target, ending):
    release = sf.Release.from_bytes(stored("chain"))
    document = {**json.loads(release.schema["document"]), "target": target}
    shown = SimpleNamespace(plan=release.plan, schema={"document": json.dumps(document)})
    assert report._what(shown).endswith(ending)


@pytest.mark.parametrize(
    ("target", "point"),
    [
        ({"epsilon": 2.0, "delta": 1e-6}, (2.0, 1e-6)),
        ({"epsilon": 2.0, "delta": 0.0}, (2.0, 0.0)),
        ({"curve": {}}, None),
        (None, None),
    ],
)
def test_the_point_that_was_asked_for_is_that_of_the_plan(target, point):
    assert report._target(SimpleNamespace(plan={"target": target})) == point


@pytest.mark.parametrize(
    ("asked", "drawn"),
    [(None, False), ({"epsilon": 0.5, "delta": 1e-3}, True), ({"epsilon": 0.5, "delta": 1e-14}, False)],
)
def test_the_point_that_was_asked_for_is_drawn_only_inside_the_axes(asked, drawn):
    release = sf.Release.from_bytes(stored("rate noisy"))
    shown = replace(release, plan={**release.plan, "target": asked})
    chart = privacy_curve.of_release(shown)
    assert any(isinstance(mark, Dots) for mark in chart.marks) == drawn
