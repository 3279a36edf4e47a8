"""The look at a page finds nothing on a good page, and names each fault that is planted in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import looking
from pages.looking import NARROW, PAPER, WIDE
from pages.planted_faults import ALLOWED, PLANTED, PLANTED_IN_PRINT

GOOD = (Path(__file__).parent / "good.html").read_text()


@pytest.fixture(scope="module")
def browser():
    with looking.started() as browser:
        yield browser


def changed(old: str, new: str, folder: Path) -> Path:
    assert GOOD.count(old) >= 1, f"the good page has no {old!r}"
    path = folder / "page.html"
    path.write_text(GOOD.replace(old, new, 1))
    return path


def test_a_good_page_has_no_faults(browser, tmp_path):
    assert looking.everywhere(changed("<main>", "<main>", tmp_path), browser) == []


@pytest.mark.parametrize(("what", "old", "new"), ALLOWED, ids=[case[0] for case in ALLOWED])
def test_what_is_allowed_is_no_fault(what, old, new, browser, tmp_path):
    assert looking.everywhere(changed(old, new, tmp_path), browser) == []


@pytest.mark.planted
@pytest.mark.parametrize(
    ("kind", "words", "old", "new"), PLANTED, ids=[f"{case[0]}-{k}" for k, case in enumerate(PLANTED)]
)
def test_a_planted_fault_is_named(kind, words, old, new, browser, tmp_path):
    """On a phone, light: the kind, and words that say which element."""
    seen = looking.faults(changed(old, new, tmp_path), browser, NARROW, "light")
    assert any(words in sentence for sentence in seen if sentence.startswith(f"{kind}: ")), seen


@pytest.mark.planted
@pytest.mark.parametrize(("kind", "words", "old", "new"), PLANTED_IN_PRINT, ids=[case[1] for case in PLANTED_IN_PRINT])
def test_a_fault_in_print_is_named(kind, words, old, new, browser, tmp_path):
    path = changed(old, new, tmp_path)
    seen = looking.faults(path, browser, PAPER, "dark", media="print")
    assert any(words in sentence for sentence in seen if sentence.startswith(f"{kind}: ")), seen


@pytest.mark.planted
def test_a_fault_of_one_scheme_or_width_is_seen_there(browser, tmp_path):
    dark = changed("color-scheme:dark; --paper:#17191d; --ink:#e6e3dc", "--paper:#17191d; --ink:#555", tmp_path)
    assert "contrast" not in looking.kinds(looking.faults(dark, browser, WIDE, "light"))
    assert "contrast" in looking.kinds(looking.faults(dark, browser, WIDE, "dark"))
    small = changed('viewBox="0 0 340 180"', 'viewBox="0 0 800 180"', tmp_path)
    assert "small" not in looking.kinds(looking.faults(small, browser, WIDE, "light"))
    assert "small" in looking.kinds(looking.faults(small, browser, NARROW, "light"))
    places = [
        each
        for each in looking.everywhere(small, browser, looking.SIZES)
        if each.startswith('small: the label "epsilon"')
    ]
    assert [each.partition(" [")[2] for each in places] == ["390 light, 390 dark]"]


def test_every_kind_of_fault_was_planted():
    assert {case[0] for case in PLANTED + PLANTED_IN_PRINT} == set(looking.KINDS)


def test_many_faults_of_a_kind_are_counted(browser, tmp_path):
    path = changed(
        "<h2>Results", "".join(f'<p style="color:#8884">text {k}</p>' for k in range(30)) + "<h2>Results", tmp_path
    )
    seen = [each for each in looking.faults(path, browser, WIDE, "light") if each.startswith("contrast")]
    assert len(seen) == looking.MOST_SENTENCES + 1
    assert seen[-1] == f"contrast: and {30 - looking.MOST_SENTENCES} more"
