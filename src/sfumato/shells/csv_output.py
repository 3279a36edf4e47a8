"""CSV as the commands print it: quoted where needed, and with no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from sfumato._validate import visible

# A cell that begins with one of these is a formula to Excel, LibreOffice or Google Sheets; the last four are the full-width
# forms, which spreadsheets in East Asian languages read alike.
_FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
# A tab or carriage return at the start ends the cell for some importers: what follows it begins a cell.
_ENDS = "\t\r"


def defused(cell: Any) -> Any:
    """The cell as it is, or with an apostrophe before it where a spreadsheet would run it; numbers stay numbers.

    Labels and levels come from the schema, which the author of the file chose: '=HYPERLINK(...)' must stay a text. A line
    inside the cell is treated as a cell of its own, since importers that ignore quotes begin a new row there.
    """
    if not isinstance(cell, str) or _is_number(cell):
        return cell
    whole = _begins_a_formula(cell) or cell.startswith(tuple(_ENDS))
    lines = re.split(r"([\r\n]+)", cell)
    inner = "".join(f"'{line}" if place and _begins_a_formula(line) else line for place, line in enumerate(lines))
    return f"'{inner}" if whole else inner if inner != cell else cell


def _begins_a_formula(text: str) -> bool:
    """Whether the first character that is neither space nor control nor format character begins a formula."""
    for letter in text:
        if unicodedata.category(letter)[0] not in "ZC":
            return letter in _FORMULA
    return False


def _is_number(text: str) -> bool:
    try:
        return text.isascii() and math.isfinite(float(text)) and text == text.strip()
    except ValueError:
        return False


def table(rows: Iterable[Iterable[Any]], notice: str = "", separator: str = ",", decimal: str = ".") -> str:
    """Rows as CSV text, a cell that is None empty; a notice, such as "NOT PRIVATE: ...", is a comment line before them.

    Control and format characters are written as their escapes: CSV goes to terminals too. No schema that is made today
    holds any; files that are forged or old may.
    """
    text = io.StringIO()
    if notice:
        text.write(f"# {notice}\n")
    writer = csv.writer(text, lineterminator="\n", delimiter=separator)
    writer.writerows([_written(cell, decimal) for cell in row] for row in rows)
    return text.getvalue()


def _written(cell: Any, decimal: str) -> Any:
    if isinstance(cell, float) and decimal != ".":
        return repr(cell).replace(".", decimal)
    return visible(defused(cell)) if isinstance(cell, str) else cell
