"""Pictures as SVG text without a library: drawn for a wide and for a narrow screen, light and dark."""

from __future__ import annotations

from html import escape

from sfumato.pictures import _svg_chart, _svg_graph, _svg_matrix, _svg_rows, look
from sfumato.pictures._svg_text import harmless, wrapped, written
from sfumato.pictures.description import Chart, Graph, Matrix, Panels, Picture, Rows

# Pixels: the text of a report on a screen, and on a phone that is 390 wide.
WIDE, NARROW = 672, 358
# Around a picture that is a file of its own.
_MARGIN, _TITLE = 16, 22
# The screen at which the narrow form is chosen.
SWITCH = 720

# The beginning of the title of a picture that protects nobody (`wording.notice`).
_WARNING = "NOT PRIVATE"

# The CSS that chooses one of the two forms; print takes the wide one.
CHOICE_STYLE = f"""
figure {{ margin:1rem 0; }} figcaption {{ font-weight:bold; margin:0 0 .4rem; overflow-wrap:anywhere; }}
svg.wide-form {{ width:100%; }} svg.narrow-form {{ display:none; width:100%; max-width:30rem; }}
@media screen and (max-width:{SWITCH}px) {{ svg.wide-form {{ display:none; }} svg.narrow-form {{ display:block; }} }}
"""


def figure(picture: Picture) -> str:
    """A <figure> with its title and the picture in two forms, of which the page's style shows one."""
    forms = "".join(_form(picture, across, name) for across, name in ((WIDE, "wide-form"), (NARROW, "narrow-form")))
    return harmless(f"<figure><figcaption>{escape(picture.title)}</figcaption>{forms}</figure>")


def standalone(picture: Picture, across: int = WIDE) -> str:
    """An SVG file: the title, the picture and its style."""
    height, parts = drawn(picture, across)
    lines = wrapped(picture.title, across, look.LETTER + 3)
    top = _TITLE * len(lines) + 6
    title = "".join(written(line, 0, 16 + _TITLE * k, style="title") for k, line in enumerate(lines))
    wide, high = across + 2 * _MARGIN, height + top + 2 * _MARGIN
    style = (
        f"{look.COLOUR_STYLE}{look.SVG_STYLE} svg .title {{ font-size:{look.LETTER + 3}px; font-weight:600; }} "
        "svg .sheet { fill:var(--paper); }"
    )
    return harmless(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high:.0f}" width="{wide}" height="{high:.0f}" '
        f'role="img" aria-label="{_said(picture)}"><title>{escape(picture.title)}</title><style>{style}</style>'
        f'<rect class="sheet" width="{wide}" height="{high:.0f}"/><g transform="translate({_MARGIN} {_MARGIN})">{title}'
        f'<g transform="translate(0 {top})">{"".join(parts)}</g></g></svg>\n'
    )


def drawn(picture: Picture, across: int) -> tuple[float, list[str]]:
    """(height, parts) of a picture that is `across` pixels wide."""
    if isinstance(picture, Rows):
        return _svg_rows.drawn(picture, across)
    if isinstance(picture, Graph):
        return _svg_graph.drawn(picture, across)
    if isinstance(picture, Matrix):
        return _svg_matrix.drawn(picture, across)
    if isinstance(picture, Chart):
        return _svg_chart.drawn(picture, across)
    return _stacked(picture, across)


def _said(picture: Picture) -> str:
    """The picture in words, with the warning of a seeded release, which stands in its title."""
    warned = picture.title.startswith(_WARNING) and _WARNING not in picture.alt
    return escape(f"{_WARNING}. {picture.alt}" if warned else picture.alt)


def _stacked(picture: Panels, across: int) -> tuple[float, list[str]]:
    """The charts under each other, each with its title."""
    down, parts = 0.0, []
    for chart in picture.charts:
        height, inner = _svg_chart.drawn(chart, across)
        parts.append(written(chart.title, 0, down + 14, style="strong"))
        parts.append(f'<g transform="translate(0 {down + 24:.1f})">{"".join(inner)}</g>')
        down += height + 36
    return down, parts


def _form(picture: Picture, across: int, name: str) -> str:
    height, parts = drawn(picture, across)
    return (
        f'<svg class="{name}" viewBox="0 0 {across} {height:.0f}" role="img" aria-label="{_said(picture)}">'
        f"{''.join(parts)}</svg>"
    )
