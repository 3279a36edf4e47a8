"""One look for all pictures: colours on light and dark paper, dashes, markers and sizes of letters."""

from __future__ import annotations

# Okabe and Ito's colours, which colour-blind readers can distinguish, without yellow, which vanishes on white. The dark list
# has the same hues, lighter, so that each has a contrast of at least 3 with its paper.
COLOURS = ("#0072B2", "#D55E00", "#00805D", "#B4588E", "#000000", "#A66F00")
DARK_COLOURS = ("#56B4E9", "#F0945A", "#2FC79B", "#E39AC4", "#E6E3DC", "#E6A93C")
# Lengths of strokes and gaps in line widths, one for each colour; None is a solid line.
DASHES: tuple[tuple[float, ...] | None, ...] = (
    None, (5, 1.5), (1, 1), (5, 1.5, 1, 1.5), (3, 1, 1, 1, 1, 1), (8, 2),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "X")
MOST = len(COLOURS)

# The page: (light, dark). Ink and soft have a contrast of at least 4.5 with paper and box.
PAGE = {
    "paper": ("#fbfaf7", "#17191d"),
    "ink": ("#22252b", "#e6e3dc"),
    "soft": ("#595f69", "#a8adb6"),
    "line": ("#dcd8ce", "#3a3e46"),
    "accent": ("#7a4b26", "#d9a066"),
    "box": ("#f1ede4", "#21242a"),
    "alarm": ("#a3201a", "#ff9a92"),
    # The area of a bar and of a shaded stretch: behind text and marks.
    "wash": ("#bfd8e8", "#1f4257"),
}
# The darkest grey that still recedes behind the lines: contrast 7 to 1 on white.
GREY = "#595959"
GRID = "#DDDDDD"

# Pixels of letters in SVG; points in matplotlib.
LETTER = 13
SMALL, PLAIN, LARGE = 10, 11, 12


def variables(side: int) -> str:
    """The CSS variables of all colours: side 0 for light paper, 1 for dark."""
    named = [f"--{name}:{pair[side]};" for name, pair in PAGE.items()]
    series = [f"--s{k}:{colour};" for k, colour in enumerate((COLOURS, DARK_COLOURS)[side])]
    return " ".join([*named, *series])


# Colours as CSS variables: light, dark where the reader's system asks for it, and light on printed paper.
COLOUR_STYLE = f"""
:root {{ color-scheme:light dark; {variables(0)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {variables(1)} }} }}
@media print {{ :root {{ {variables(0)} --paper:#ffffff; }} }}
"""
# A picture's letters and lines. Letters have no outline: none stands on a line.
SVG_STYLE = "\n".join(
    [
        f"svg {{ display:block; height:auto; font:{LETTER}px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }}",
        "svg text { fill:var(--ink); } svg .soft { fill:var(--soft); } svg .strong { font-weight:600; }",
        "svg .grid { stroke:var(--line); stroke-width:1; fill:none; }",
        "svg .zero { stroke:var(--soft); stroke-width:1.2; stroke-dasharray:3 3; fill:none; }",
        "svg .span { stroke-width:2.4; fill:none; } svg .faint { stroke-dasharray:5 3; }",
        "svg .wash { fill:var(--wash); } svg .bar { fill:var(--wash); stroke:var(--s0); stroke-width:1; }",
        "svg .node { fill:var(--box); stroke:var(--accent); stroke-width:1.4; }",
        "svg .arrow { stroke:var(--s0); fill:none; } svg .tip { fill:var(--s0); }",
        *(f"svg .l{k} {{ stroke:var(--s{k}); fill:none; }} svg .d{k} {{ fill:var(--s{k}); }}" for k in range(MOST)),
        "svg .guess { fill:var(--paper); stroke:var(--soft); stroke-width:1; }",
        "svg .hollow { fill:var(--paper); stroke:var(--ink); stroke-width:1.8; }",
    ]
)
