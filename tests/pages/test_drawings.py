"""Pictures of every kind have no faults in a browser: no label on a line, no text on another, nothing pale or outside."""

from __future__ import annotations

import pytest

from pages import drawings, looking


@pytest.fixture(scope="module")
def browser():
    with looking.started() as browser:
        yield browser


def test_pictures_of_every_kind_have_no_faults(browser, tmp_path):
    path = drawings.written(tmp_path)
    assert path.read_text().count("<svg") == 2 * len(drawings.drawings())
    assert looking.everywhere(path, browser) == []


@pytest.mark.planted
def test_a_label_moved_onto_the_grid_is_named(browser, tmp_path):
    """The grid of the narrow form of a dot plot, moved to the left, runs through its labels."""
    path = drawings.written(tmp_path)
    style = "</style>", ".grid { transform:translateX(-60px); }</style>"
    path.write_text(path.read_text().replace(*style))
    seen = looking.faults(path, browser, looking.NARROW, "light")
    assert any(each.startswith("crossed: the label") and "<path.grid>" in each for each in seen), seen
