"""The site hangs together: every page is in the navigation, every link leads somewhere, the API page lists what is public."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sfumato as sf

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
OWN = [page for page in PAGES if "/" not in page]
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def prose(text: str) -> str:
    """The text without its code, where brackets and round brackets are no link."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def broken(page: str, text: str) -> list[str]:
    """Links of a page to files that are not there; web addresses are not followed."""
    targets = [target for target, _ in LINK.findall(prose(text)) if "://" not in target]
    return [target for target in targets if not ((DOCS / page).parent / target).exists()]


def listed(text: str) -> list[str]:
    """The names in the first column of the tables of a page."""
    return re.findall(r"^\| `(\w+)` \| [^\s|]", text, flags=re.MULTILINE)


def test_the_navigation_holds_every_page_once():
    found = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1])
    assert sorted(found) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    assert broken(page, (DOCS / page).read_text()) == []


@pytest.mark.parametrize("page", [page for page in OWN if page != "glossary.md"])
def test_every_page_links_to_the_glossary(page):
    assert "(glossary.md)" in (DOCS / page).read_text(), "end the page with: Words: [glossary](glossary.md)."


def test_the_glossary_is_about_a_dozen_words_each_once():
    words = re.findall(r"^\*\*(.+?)\.\*\*", (DOCS / "glossary.md").read_text(), flags=re.MULTILINE)
    assert 12 <= len(words) <= 18
    assert len(set(words)) == len(words)


def test_the_api_page_lists_exactly_the_public_names():
    assert sorted(listed((DOCS / "api.md").read_text())) == sorted(sf.__all__)


def test_nothing_is_fetched_from_the_network():
    text = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in text
    assert "http" not in text


@pytest.mark.planted
def test_a_broken_link_and_a_missing_name_are_seen():
    assert broken("index.md", "[here](nowhere.md) and [there](glossary.md)") == ["nowhere.md"]
    assert broken("index.md", "`a[k](b.md)`") == []
    assert listed("| `plan` | plans |\n| `gone` | |\n") == ["plan"]
