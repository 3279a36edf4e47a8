"""The HTML pieces of a ledger's report; every text is escaped here."""

from __future__ import annotations

from html import escape

from sfumato.shells import report, report_tables


def page(title: str, body: str, footer: str) -> str:
    """A whole page with the content security policy and the style of reports."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(report._POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{report._STYLE}</style></head><body><main>\n{body}\n"
        f"<footer>{escape(footer)}</footer></main></body></html>\n"
    )


def section(title: str, inner: str) -> str:
    """A heading and what stands under it; nothing where nothing does."""
    return f"<h2>{escape(title[:1].upper() + title[1:])}</h2>\n{inner}" if inner else ""


def table(head: list[str], rows: list[list[str]], numbers: bool = False) -> str:
    """A table of texts."""
    return report_tables.table(head, rows, numbers)


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


def alarm(text: str) -> str:
    """A paragraph in a box with a red edge."""
    return f'<div class="promise warning">{escape(text)}</div>'


def code(text: str) -> str:
    """Commands to type."""
    return f"<pre>{escape(text)}</pre>"
