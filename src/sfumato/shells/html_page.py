"""The page that reports are written on: one HTML file with its own style, no script and no request, to read, fold and print."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sfumato._version import __version__
from sfumato.pictures import look, svg
from sfumato.pictures._svg_text import harmless

# No script, no request, no frame, no form: only the page's own style.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# Columns that fit a phone; wider tables scroll, and can be reached with the keyboard.
_FITTING = 4
# A cell: a text, or a text with a second one that goes under it where there is little room.
Cell = str | tuple[str, str]

# Fonts of every system, light and dark colours, and a form for paper; the picture's style is that of all pictures.
_STYLE = f"""
{look.COLOUR_STYLE}
* {{ box-sizing:border-box; }}
body {{ margin:0; background:var(--paper); color:var(--ink); font:17px/1.55 Georgia, "Times New Roman", serif; }}
main {{ max-width:44rem; margin:0 auto; padding:2rem 1rem 4rem; }}
h1 {{ font-size:1.7rem; line-height:1.2; margin:.2rem 0 .4rem; overflow-wrap:anywhere; }}
h2 {{ font-size:1.2rem; margin:2.4rem 0 .6rem; border-bottom:1px solid var(--line); padding-bottom:.2rem; }}
h3 {{ font-size:1.02rem; margin:1.4rem 0 .4rem; overflow-wrap:anywhere; }}
p, li, summary, caption {{ overflow-wrap:anywhere; }}
.lead, .beside {{ color:var(--soft); margin:0 0 .6rem; }} .beside {{ font-size:.92rem; }}
.promise {{ background:var(--box); border-left:4px solid var(--accent); padding:.1rem 1rem; margin:1.2rem 0; }}
.warning {{ border-left-color:var(--alarm); font-weight:bold; }} .alarm {{ color:var(--alarm); font-weight:bold; }}
.scroll {{ overflow-x:auto; }}
table {{ border-collapse:collapse; width:100%; font-size:.92rem; font-variant-numeric:tabular-nums; margin:.4rem 0 1rem; }}
caption {{ text-align:left; color:var(--soft); padding-bottom:.3rem; }}
th, td {{ text-align:left; padding:.3rem .9rem .3rem 0; border-bottom:1px solid var(--line); vertical-align:top;
  overflow-wrap:break-word; }}
th:last-child, td:last-child {{ padding-right:0; }}
tbody th {{ font-weight:normal; min-width:6rem; }} tbody th.group {{ font-weight:bold; padding-top:.9rem; }}
td.number, th.number {{ text-align:right; }} .second {{ color:var(--soft); white-space:nowrap; }}
details {{ margin:.6rem 0; border-left:2px solid var(--line); padding-left:.8rem; }}
summary {{ cursor:pointer; color:var(--accent); }}
summary:focus-visible, .scroll:focus-visible {{ outline:2px solid var(--accent); outline-offset:2px; }}
code, pre {{ font:.85rem/1.5 ui-monospace, Menlo, Consolas, monospace; overflow-wrap:anywhere; }}
pre {{ background:var(--box); padding:.8rem; white-space:pre-wrap; }}
footer {{ margin-top:3rem; color:var(--soft); font-size:.85rem; overflow-wrap:anywhere; }}
.scroll .second {{ display:block; }}
{look.SVG_STYLE}
{svg.CHOICE_STYLE}
.for-narrow {{ display:none; }}
@media (min-width:{svg.SWITCH + 1}px), print {{ td.number, th.number {{ white-space:nowrap; }} }}
@media screen and (max-width:{svg.SWITCH}px) {{
  .for-wide {{ display:none; }} .for-narrow {{ display:block; }} .second {{ display:block; }}
  th, td {{ padding-right:.6rem; }}
}}
@media print {{
  body {{ font-size:11pt; }} main {{ max-width:none; padding:0; }}
  h2, h3 {{ break-after:avoid; }} figure, tr, .promise {{ break-inside:avoid; }}
  .for-wide {{ display:none; }} .for-narrow {{ display:block; }}
  details {{ border:0; padding:0; }} details::details-content {{ display:block; content-visibility:visible; }}
  @page {{ margin:18mm; }}
}}
"""


def page(title: str, body: str, footer: str) -> str:
    """A whole page; `body` and `footer` are HTML, the title is a text. No name on it can reorder or hide what stands beside it."""
    return harmless(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>\n{body}\n"
        f"<footer>Made by Sfumato {__version__} {footer}</footer></main></body></html>\n"
    )


def section(title: str, inner: str) -> str:
    """A heading with what stands under it; nothing where there is nothing."""
    return f"<h2>{escape(title)}</h2>\n{inner}" if inner else ""


def paragraph(heading: str, text: str) -> str:
    """A paragraph that begins with a heading; nothing where there is no text."""
    return f'<p class="beside">{escape(heading)}: {escape(text)}</p>' if text else ""


def folded(summary: str, inner: str) -> str:
    """What only some readers want: it opens with a click or a key, and is printed open."""
    return f"<details><summary>{escape(summary)}</summary>\n{inner}</details>" if inner else ""


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    numbers: bool = True,
    caption: str = "",
    groups: Sequence[str] = (),
) -> str:
    """A table whose first column names its rows; with `numbers` the others are aligned to the right.

    `groups` has a heading for each row; one that differs from the row before is written on a line of its own.
    """
    style = ' class="number"' if numbers else ""
    top = "".join(f'<th scope="col"{style if place else ""}>{escape(cell)}</th>' for place, cell in enumerate(head))
    lines, group = [], ""
    for place, row in enumerate(rows):
        if groups and groups[place] != group:
            group = groups[place]
            if group:
                lines.append(f'<tr><th scope="rowgroup" class="group" colspan="{len(head)}">{escape(group)}</th></tr>')
        first, *others = row
        cells = "".join(f"<td{style}>{_cell(cell)}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{_cell(first)}</th>{cells}</tr>')
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    made = f"<table>{named}<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    if len(head) <= _FITTING:
        return made
    label = escape(caption or ", ".join(filter(None, head)))
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{made}</div>'


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escape(cell)
    main, second = cell
    return f'{escape(main)} <span class="second">{escape(second)}</span>' if second else escape(main)
