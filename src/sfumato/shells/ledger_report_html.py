"""The HTML pieces of a ledger's report; every text is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sfumato.pictures import look, svg
from sfumato.shells import report

# Colours come from `pictures.look`, which has them for light and for dark paper.
_STYLE = """
.soft { color:var(--soft); } .failed { color:var(--alarm); font-weight:bold; } .warning { color:var(--alarm); }
h3 { margin:1.8rem 0 .2rem; } details { margin:1.4rem 0; } summary { cursor:pointer; }
"""


def page(title: str, body: str, footer: str) -> str:
    """A whole page with the content security policy and the style of reports."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(report._POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{report._STYLE}{look.COLOUR_STYLE}{look.SVG_STYLE}{svg.CHOICE_STYLE}{_STYLE}</style></head><body><main>\n{body}\n"
        f"<footer>{escape(footer)}</footer></main></body></html>\n"
    )


def section(title: str, inner: str) -> str:
    """A heading and what stands under it; nothing where nothing does."""
    return f"<h2>{escape(title[:1].upper() + title[1:])}</h2>\n{inner}" if inner else ""


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of texts. Lines of a cell are separated by line ends, and all but the first are quiet; FAILED is red."""
    top = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(text: str) -> str:
    first, *more = text.split("\n")
    quiet = "".join(f'<div class="{_tone(line) or "soft"}">{escape(line)}</div>' for line in more)
    tone = _tone(first)
    inner = f'<span class="{tone}">{escape(first)}</span>' if tone else escape(first)
    return f"<td>{inner}{quiet}</td>"


def _tone(line: str) -> str:
    return "failed" if line.startswith("FAILED") else ""


def folded(summary: str, inner: str) -> str:
    """What is shown when the summary is opened."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def lead(text: str) -> str:
    """A quiet paragraph under a heading."""
    return f'<p class="lead">{escape(text)}</p>'


def boxed(text: str) -> str:
    """A paragraph in a box."""
    return f'<div class="promise"><p>{escape(text)}</p></div>'


def alarm(text: str, items: Sequence[str] = ()) -> str:
    """Red paragraphs in a box with a red edge."""
    return f'<div class="promise warning">{"".join(map(paragraph, (text, *items)))}</div>'


def code(text: str) -> str:
    """Commands to type."""
    return f"<pre>{escape(text)}</pre>"
