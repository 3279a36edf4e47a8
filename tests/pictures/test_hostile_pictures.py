"""Pictures and pages of hostile names and extreme numbers: well-formed, quick, and with the numbers of the release."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sfumato.pictures import axes, svg
from sfumato.pictures import _svg_text as texts
from sfumato.pictures.description import Axis, Chart, Dots, Graph, Node, Row, Rows
from sfumato.shells import html_page

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
