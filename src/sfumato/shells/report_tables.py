"""Tables of the report, as HTML."""

from __future__ import annotations

from html import escape


def table(head: list[str], rows: list[list[str]], numbers: bool = True) -> str:
    """A table; with `numbers` every column but the first is aligned to the right."""

    def line(tag: str, cells: list[str]) -> str:
        opened = [f'{tag} class="number"' if place and numbers else tag for place in range(len(cells))]
        inner = (f"<{each}>{escape(cell)}</{tag}>" for each, cell in zip(opened, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f'<div class="wide"><table><thead>{line("th", head)}</thead><tbody>{body}</tbody></table></div>'


def paragraph(heading: str, text: str) -> str:
    """A paragraph that begins with a heading; nothing where there is no text."""
    return f"<p>{escape(heading)}: {escape(text)}</p>" if text else ""
