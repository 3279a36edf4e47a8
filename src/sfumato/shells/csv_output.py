"""CSV as the commands print it: quoted where needed, and with no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

# A cell that begins with one of these is a formula to Excel, LibreOffice and Google Sheets.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def defused(cell: Any) -> Any:
    """The cell as it is, or with an apostrophe before it where a spreadsheet would run it; numbers stay numbers.

    Labels and levels come from the schema, which whoever wrote the file chose: '=HYPERLINK(...)' must stay a text.
    """
    if not isinstance(cell, str) or not cell.lstrip(" \n").startswith(_FORMULA) or _is_number(cell):
        return cell
    return f"'{cell}"


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and text == text.strip()
    except ValueError:
        return False


def table(rows: Iterable[Iterable[Any]], notice: str = "") -> str:
    """Rows as CSV text; a notice, such as that the release is not private, is a comment line before them."""
    text = io.StringIO()
    if notice:
        text.write(f"# {notice}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([defused(cell) for cell in row] for row in rows)
    return text.getvalue()
