"""Texts in SVG: about how wide they are, shortened where they do not fit, always escaped."""

from __future__ import annotations

from html import escape

from sfumato._validate import visible
from sfumato.pictures.look import LETTER

# Widths in units of the letter size: an upper estimate for the sans-serif fonts of common systems (DejaVu Sans, the widest of
# them, has a mean of 0.60 over English text and 0.64 for digits).
_NARROW, _PLAIN, _WIDE = 0.36, 0.64, 0.98
# How much wider bold letters are than plain ones.
BOLD = 1.12
_NARROW_LETTERS = frozenset("iljtfrI.,:;'|!()[] -/")
_WIDE_LETTERS = frozenset("mwMW@%—…")


def width(text: str, size: float = LETTER) -> float:
    """About how many pixels a text takes, rather more than less."""
    return size * sum(_letter(letter) for letter in text)


def _letter(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    # Letters of East Asian scripts and pictures are as wide as they are high.
    return _WIDE if letter in _WIDE_LETTERS or ord(letter) > 0x2E80 else _PLAIN


def fitted(text: str, room: float, size: float = LETTER) -> str:
    """The text, or its two ends where it is wider than `room`: labels often differ only at the end."""
    if width(text, size) <= room:
        return text
    # No more letters than this fit, however narrow they are: a long text costs no more than a short one.
    most = int(room / (_NARROW * size)) + 1
    for kept in range(min(len(text) - 1, most), 1, -1):
        tail = kept // 2
        shorter = f"{text[: kept - tail]}…{text[len(text) - tail :]}"
        if width(shorter, size) <= room:
            return shorter
    return "…"


def wrapped(text: str, room: float, size: float = LETTER) -> list[str]:
    """The text in lines that fit, broken at spaces; a word that is too long is shortened."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(fitted(word, room, size))
    return lines or [""]


def written(text: str, x: float, y: float, anchor: str = "start", style: str = "", full: str = "") -> str:
    """A text at a place. `full` is shown when the pointer rests on it, where the text was shortened."""
    named = f' class="{style}"' if style else ""
    held = "" if anchor == "start" else f' text-anchor="{anchor}"'
    hint = f"<title>{escape(full)}</title>" if full and full != text else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{held}{named}>{escape(text)}{hint}</text>'


def harmless(markup: str) -> str:
    """Markup in which control and format characters are written as escapes; its own line ends stay.

    XML forbids controls, lone surrogates and two code points that are no characters; format characters reorder or hide what
    stands beside a name.
    """
    shown = "\n".join(map(visible, markup.split("\n")))
    return shown.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
