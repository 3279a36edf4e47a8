"""What is wrong with a page, seen in a real browser: one sentence for each fault, at one width and in one colour scheme.

`faults` opens the page in Chromium and runs the files of look/ in it, once; `everywhere` does so at every size, light and dark,
and as a printed sheet. A fault begins with its kind, one of KINDS. What is not displayed is not judged; folded parts are
unfolded once and judged too. The check does not read `<use>` elements, pictures in `<img>`, or pixels.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from effort import sized

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WHY = "no Chromium on this machine: .ci/run installs Debian's when it is root (apt-get install chromium)"
# A laptop and a phone, in pixels.
WIDE, NARROW = 1280, 390
SIZES = [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")]
# Both widths and both schemes in two looks: layouts depend on the width alone, colours on the scheme alone.
CROSSED = sized([SIZES[0], SIZES[3]], SIZES)
# A sheet of A4 at the 96 pixels an inch of CSS.
PAPER = 794
# A page that can be sent by mail and opens at once.
MOST_BYTES = 2_000_000
# Of one kind, so many faults are written out.
MOST_SENTENCES = 12

SETTINGS = {
    # Letters below these pixels are hard to read; a picture's labels may be a little smaller than its text.
    "smallestHtml": 11,
    "smallestSvg": 10,
    # WCAG 2.2, success criteria 1.4.3 (text) and 1.4.11 (graphical objects), level AA.
    "textContrast": 4.5,
    "markContrast": 3.0,
    # Relative luminance of the palest grey that still counts as white paper.
    "whitePaper": 0.9,
    # A box behind text may be grey in print, but nearer to white than to black in luminance.
    "paleGround": 0.5,
    # Screens up to this width are phones; there a table of so few columns must fit.
    "phone": 480,
    "fewColumns": 5,
}

# Every kind of fault, with what it means.
KINDS = {
    "overflow": "the page is wider than the screen",
    "cut": "text is hidden by its box or by the edge of the page",
    "scroll": "a box must be scrolled and the keyboard cannot do it",
    "column": "a table of few columns does not fit a phone",
    "overlap": "two texts are on top of each other",
    "outside": "a label leaves its picture",
    "crossed": "a line, a grid line or a marker runs through a label",
    "contrast": "text too pale for its ground",
    "mark": "a line or a dot too pale for its ground",
    "small": "letters too small",
    "alt": "a picture without alternative text",
    "table": "a table without headers, scopes or a name",
    "heading": "levels of headings that skip",
    "document": "no language, title, viewport or main landmark",
    "id": "an id that stands twice, or is referred to and missing",
    "keyboard": "a folded part or a control that the keyboard cannot use",
    "focus": "a control that looks the same with the keyboard's focus",
    "script": "a script, a form or a frame",
    "request": "something asked for outside the file",
    "policy": "a missing or lax content security policy",
    "size": "a file too large",
    "print": "folded, dark or unreadable on paper",
}

LOOK = (
    "(settings) => {\n"
    + "\n".join(path.read_text() for path in sorted((Path(__file__).parent / "look").glob("*.js")))
    + "}"
)


@contextmanager
def started() -> Iterator[Any]:
    """A browser that asks for nothing by itself; where there is none, the test is skipped and says why."""
    if CHROMIUM is None:
        pytest.skip(WHY)
    from playwright.sync_api import sync_playwright

    quiet = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield browser
        browser.close()


def faults(page_path: Path, browser: Any, width: int, scheme: str, media: str = "screen") -> list[str]:
    """The faults of a page at one width, in the colour scheme "light" or "dark", on "screen" or in "print"."""
    with _opened(page_path, browser) as (page, before):
        return _worded([*before, *_look(page, width, scheme, media)])


def everywhere(page_path: Path, browser: Any, sizes: list[tuple[int, str]] | None = None) -> list[str]:
    """The faults at both sizes, light and dark, and in print, each with where it was seen.

    `sizes` are CROSSED by default; with SIZES every width is looked at in every scheme.

    Print is looked at with the dark scheme: a reader who prefers dark screens prints on white paper too.
    """
    looks = [(f"{width} {scheme}", width, scheme, "screen") for width, scheme in sizes or CROSSED]
    looks.append(("print", PAPER, "dark", "print"))
    places: dict[str, list[str]] = {}
    with _opened(page_path, browser) as (page, before):
        for place, width, scheme, media in looks:
            for sentence in _worded([*before, *_look(page, width, scheme, media)]):
                places.setdefault(sentence, []).append(place)
    return [f"{sentence} [{', '.join(seen)}]" for sentence, seen in places.items()]


def kinds(sentences: list[str]) -> set[str]:
    """The kinds of these faults."""
    return {sentence.partition(":")[0] for sentence in sentences}


@contextmanager
def _opened(path: Path, browser: Any) -> Iterator[tuple[Any, list[tuple[str, str]]]]:
    """The page, in the browser's only tab, and the faults of the file and of its loading."""
    asked: list[str] = []

    def note(request: Any) -> None:
        asked.append(request.url)

    page = browser.contexts[0].pages[0] if browser.contexts else browser.new_context(reduced_motion="reduce").new_page()
    page.on("request", note)
    page.goto(path.as_uri())
    page.remove_listener("request", note)
    before = [("request", f"the page asks for {url}") for url in asked if url != path.as_uri() and url[:5] != "data:"]
    size = path.stat().st_size
    if size > MOST_BYTES:
        before.append(("size", f"the file has {size:,} bytes, more than {MOST_BYTES:,}"))
    yield page, before


def _look(page: Any, width: int, scheme: str, media: str) -> list[tuple[str, str]]:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(media=media, color_scheme=scheme)
    return [(kind, text) for kind, text in page.evaluate(LOOK, {**SETTINGS, "width": width, "print": media == "print"})]


def _worded(pairs: list[tuple[str, str]]) -> list[str]:
    """Each fault once, as "kind: sentence"; of a kind with many the first ones and a count."""
    by_kind: dict[str, list[str]] = {}
    for kind, text in dict.fromkeys(pairs):
        by_kind.setdefault(kind, []).append(f"{kind}: {text}")
    for kind, texts in by_kind.items():
        if len(texts) > MOST_SENTENCES:
            texts[MOST_SENTENCES:] = [f"{kind}: and {len(texts) - MOST_SENTENCES} more"]
    return [text for texts in by_kind.values() for text in texts]
