"""The report in a real browser, on a wide screen and a phone, light and dark, and in print: tests/pages says what is looked at."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from pages import looking
from pages.pages import PAGES
from sfumato.shells.report import page

# Pages that have every kind of part between them: they are looked at in every width and scheme, others crosswise.
WHOLLY = {"fit", "network", "audited"}


@pytest.fixture(scope="module")
def browser():
    with looking.started() as browser:
        yield browser


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A function that writes a page once and gives its path."""
    folder, paths = tmp_path_factory.mktemp("reports"), {}

    def path(name):
        if name not in paths:
            paths[name] = PAGES[name](folder)
        return paths[name]

    return path


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_faults(name, written, browser):
    sizes = looking.SIZES if name in WHOLLY else None
    assert looking.everywhere(written(name), browser, sizes) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_pictures_and_words(name, written):
    """An empty page has no faults either."""
    text = written(name).read_text()
    assert "<svg" in text
    assert len(text) > 1500


@pytest.mark.planted
def test_the_look_sees_what_is_wrong(written, browser, tmp_path):
    """Planted faults: a wide block, grey on grey, a label on another, an unnamed picture, a script."""
    bad = tmp_path / "bad.html"
    block = '<div style="width:3000px">x</div><p style="color:#999;background:#aaa">pale</p><h1>'
    labels = '<text x="90" y="50">one</text><text x="92" y="50">two</text>'
    line = '<line x1="80" x2="140" y1="47" y2="47" stroke="red"/></svg>'
    text = written("fit").read_text()
    for old, new in (
        ("<h1>", block),
        ("</svg>", labels + line),
        ('role="img"', ""),
        ("</main>", "<script>1</script></main>"),
    ):
        assert old in text
        text = text.replace(old, new)
    bad.write_text(text)
    seen = looking.faults(bad, browser, looking.NARROW, "light")
    assert looking.kinds(seen) >= {"overflow", "contrast", "overlap", "crossed", "alt", "script"}
    assert any("pale" in sentence for sentence in seen)
    assert any('"one"' in sentence and '"two"' in sentence for sentence in seen)


def test_a_seeded_release_is_marked_in_red():
    schema = sf.Schema({"ill": sf.Boolean(missing=False)}, name="survey")
    plan = sf.plan(sf.families.BetaBernoulli(), 50, 1.0, 1e-6)
    data = sf.Dataset.from_table({"ill": np.arange(50) % 2 == 0}, schema=schema)
    text = page(sf.publish(plan, data, randomness=sf.seeded(1)))
    assert "NOT PRIVATE" in text
    assert "warning" in text
    assert "guesses this one right" not in text


def test_names_are_escaped():
    schema = sf.Schema({"ill": sf.Boolean(missing=False)}, name="<script>alert(1)</script>")
    plan = sf.plan(sf.families.BetaBernoulli(), 50, 1.0, 1e-6)
    data = sf.Dataset.from_table({"ill": np.arange(50) % 2 == 0}, schema=schema)
    assert "<script" not in page(sf.publish(plan, data))
