"""Small pieces of HTML for notebooks. Their style applies inside <div class="sfumato"> alone, and every text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from sfumato._validate import visible
from sfumato.pictures import look
from sfumato.pictures.svg import CHOICE_STYLE

# Pixels of a budget bar.
_ACROSS, _HIGH = 640, 14
# Columns that fit a phone; of a wider table each cell stands there on a line of its own, after the name of its column.
_BESIDE = 3
_CARD = """
.sfumato { background:var(--paper); color:var(--ink); border:1px solid var(--line); border-radius:6px; padding:.8rem 1rem;
  max-width:46rem; box-sizing:border-box; overflow-wrap:anywhere; font:15px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; }
.sfumato .sf-title { font-size:1.1rem; font-weight:600; margin:0 0 .4rem; }
.sfumato .sf-said { background:var(--box); border-left:4px solid var(--accent); padding:.5rem .8rem; margin:.5rem 0; }
.sfumato .sf-alarm { border-left-color:var(--alarm); color:var(--alarm); font-weight:600; }
.sfumato p { margin:.4rem 0; } .sfumato .sf-soft { color:var(--soft); }
.sfumato table { border-collapse:collapse; width:100%; margin:.5rem 0; font-size:13px; color:inherit; }
.sfumato table tr { background:transparent !important; }
.sfumato table th, .sfumato table td { text-align:left !important; vertical-align:top; padding:.25rem .6rem .25rem 0;
  border:0; border-bottom:1px solid var(--line); white-space:normal; max-width:none; overflow-wrap:break-word; }
.sfumato table .sf-number { text-align:right !important; font-variant-numeric:tabular-nums; white-space:nowrap; }
.sfumato table tbody th { font-weight:600; overflow-wrap:anywhere; min-width:7em; }
.sfumato table tr > :last-child { padding-right:0; } .sfumato table td:last-child:not(.sf-number) { min-width:14em; }
.sfumato .sf-wide { overflow-x:auto; } .sfumato .sf-facts table tbody th { white-space:nowrap; min-width:0; padding-right:1rem; }
.sfumato .sf-facts table td:last-child { min-width:0; }
.sfumato .sf-facts table td { overflow-wrap:anywhere; } .sfumato summary { cursor:pointer; color:var(--soft); }
.sfumato .sf-bar { width:100%; } .sfumato .sf-used { fill:var(--s0); } .sfumato .sf-whole { fill:var(--wash); stroke:var(--s0); }
@media screen and (max-width:480px) {
.sfumato .sf-stack thead { display:none; } .sfumato .sf-stack table tr { display:block; border-bottom:1px solid var(--line); }
.sfumato .sf-stack table tbody th, .sfumato .sf-stack table td, .sfumato .sf-stack table td.sf-number { display:block;
  min-width:0 !important; border:0; padding:.1rem 0; text-align:left !important; }
.sfumato .sf-stack table td::before { content:attr(data-head) ": "; color:var(--soft); }
.sfumato .sf-stack table td:empty { display:none; } }
@media print { .sfumato details::details-content { display:block; content-visibility:visible; } }
"""


def _scoped(style: str) -> str:
    """Rules for pictures, limited to the inside of the card: a notebook has pictures of others."""
    return re.sub(r"(^|[{}]\s*|\n\s*)(svg|figure|figcaption)\b", r"\1.sfumato \2", style)


# Light and dark as the reader's system asks, unless JupyterLab has a theme of its own.
_STYLE = (
    look.COLOUR_STYLE.replace(":root", ".sfumato")
    + f'[data-jp-theme-light="true"] .sfumato {{ {look.variables(0)} color-scheme:light; }}\n'
    + f'[data-jp-theme-light="false"] .sfumato {{ {look.variables(1)} color-scheme:dark; }}\n'
    + _CARD
    + _scoped(f"\n{look.SVG_STYLE}\n{CHOICE_STYLE}")
)


def card(*parts: str) -> str:
    """The fragment: its style and its parts."""
    return f'<div class="sfumato"><style>{_STYLE}</style>{"".join(parts)}</div>'


def text(said: str) -> str:
    """A text with control characters shown and markup escaped."""
    return escape(visible(said))


def title(said: str) -> str:
    """The first line."""
    return f'<p class="sf-title">{text(said)}</p>'


def said(sentence: str, alarm: bool = False) -> str:
    """A sentence in a box: a promise, or a warning that there is none."""
    return f'<p class="sf-said{" sf-alarm" * alarm}">{text(sentence)}</p>'


def soft(sentence: str) -> str:
    """A remark."""
    return f'<p class="sf-soft">{text(sentence)}</p>' if sentence else ""


def table(
    name: str, head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), facts: bool = False
) -> str:
    """A table with a name for readers who do not see it; the first cell names its row, and columns at `numbers` are numbers.

    In a table of `facts` the names of the rows are short and stay on one line. A table that is too wide can be scrolled, with the
    keyboard too.
    """
    kinds = [' class="sf-number"' if place in numbers else "" for place in range(len(rows[0]))]
    top = "".join(f'<th scope="col"{kind}>{text(name)}</th>' for kind, name in zip(kinds, head, strict=True))
    lines = []
    for row in rows:
        cells = [
            f'<td{kind} data-head="{text(above)}">{text(cell)}</td>'
            for kind, above, cell in zip(kinds[1:], head[1:], row[1:], strict=True)
        ]
        lines.append(f'<tr><th scope="row">{text(row[0])}</th>{"".join(cells)}</tr>')
    kind = "sf-wide" + " sf-facts" * facts + " sf-stack" * (len(head) > _BESIDE)
    body = f'<table aria-label="{text(name)}"><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return f'<div class="{kind}" role="region" tabindex="0" aria-label="{text(name)}">{body}</div>'


def folded(summary: str, inner: str) -> str:
    """A part that opens at a click."""
    return f"<details><summary>{text(summary)}</summary>{inner}</details>"


def bar(share: float, alt: str) -> str:
    """A bar of which this share is filled."""
    filled = _ACROSS * min(max(share, 0.0), 1.0)
    return (
        f'<svg class="sf-bar" viewBox="0 0 {_ACROSS} {_HIGH}" role="img" aria-label="{text(alt)}">'
        f'<rect class="sf-whole" width="{_ACROSS}" height="{_HIGH}" rx="4"/>'
        f'<rect class="sf-used" width="{filled:.1f}" height="{_HIGH}" rx="4"/></svg>'
    )
