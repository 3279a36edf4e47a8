"""The HTML pieces of a ledger's report that `html_page` does not have; every text is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# Lines of a cell up to this length, such as a date and a time, are not broken.
_SHORT = 16


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table of texts that fits a phone; the first column names the rows. One that follows no heading has a caption.

    Lines of a cell are separated by line ends; all but the first are quiet, and those that begin with FAILED are red.
    """
    top = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    body = "".join(_row(first, others) for first, *others in rows)
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{named}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _row(first: str, others: Sequence[str]) -> str:
    cells = "".join(f"<td>{_lines(cell)}</td>" for cell in others)
    return f'<tr><th scope="row">{_lines(first)}</th>{cells}</tr>'


def _lines(text: str) -> str:
    first, *more = text.split("\n")
    return _line(first, "") + "".join(_line(line, "second" if len(line) <= _SHORT else "beside") for line in more)


def _line(line: str, style: str) -> str:
    """A line of a cell: text alone, or in an element of its own with this class."""
    if line.startswith("FAILED"):
        style = "alarm"
    if not style:
        return escape(line)
    element = "span" if style == "second" else "div"
    return f' <{element} class="{style}">{escape(line)}</{element}>'


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
    inner = "".join(f'<p class="alarm">{escape(each)}</p>' for each in (text, *items))
    return f'<div class="promise warning">{inner}</div>'


def code(text: str) -> str:
    """Commands to type."""
    return f"<pre>{escape(text)}</pre>"
