"""Names and labels of SPSS, Stata and SAS files through pyreadstat, which is asked for the metadata alone.

No value of a record is read: pyreadstat stops after the description of the variables. What such a file holds beside it (the
number of rows, notes of the file) is not used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.schema.draft_entries import Entry

# Reader of each ending.
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
# How formats of dates begin in SPSS and SAS (DATE11, YYMMDD10) and in Stata (%td); those of times of day are none.
_DATES = re.compile(
    r"%?-?(?:t[dcCwmqh]|d\b|[AES]?DATE|JDATE|YMDHMS|DATETIME|YYMMDD|MMDDYY|DDMMYY|E8601D|B8601D|IS8601D|NLDAT)",
    re.ASCII,
)
# Most whole numbers of a range of missing values that are written out one by one.
_RANGE = 50
_SCALE = "scale"
_LETTER = re.compile("[A-Za-z_]")


def labelled_entries(path: Path) -> list[Entry]:
    """Return the variables of a labelled file: names, labels, value labels, missing codes and kinds."""
    meta = _metadata(path)
    if len(set(meta.column_names)) < len(meta.column_names):
        raise ArgumentError(f"{path.name!r} names a variable twice; rename the variables first.")
    return [_entry(name, place, meta) for place, name in enumerate(meta.column_names)]


def _metadata(path: Path) -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise ArgumentError(
            f"the labels of a {path.suffix} file are read by pyreadstat, which is not installed: pip install 'sfumato[codebook]'."
        ) from None
    catalog = path.with_suffix(".sas7bcat")
    ending = path.suffix.lower()
    more: dict[str, Any] = {"catalog_file": str(catalog)} if ending == ".sas7bdat" and catalog.is_file() else {}
    # Declared ranges of missing values are metadata in SPSS files, and are given on this word alone.
    more |= {"user_missing": True} if ending in (".sav", ".zsav") else {}
    try:
        return getattr(pyreadstat, _READERS[ending])(str(path), metadataonly=True, **more)[1]
    except Exception as error:
        fault = type(error).__name__
    raise ArgumentError(f"the labels of {path.name!r} could not be read: {fault}.")


def _entry(name: str, place: int, meta: Any) -> Entry:
    shape = str(meta.original_variable_types.get(name, ""))
    stored = str(meta.readstat_variable_types.get(name, ""))
    measure = str(getattr(meta, "variable_measure", {}).get(name, ""))
    entry = Entry(name, _text(meta.column_labels[place] if place < len(meta.column_labels) else None))
    entry.levels = [(_code(value), _text(label)) for value, label in _labels(meta, name).items()]
    entry.codes, entry.notes = _codes(name, meta)
    if stored != "string":
        # Stata and SAS mark missing answers of numbers by letters, which tables in text show as .a
        marked = [(f".{code.casefold()}" if _LETTER.fullmatch(code) else code, label) for code, label in entry.levels]
        entry.levels, entry.codes = marked, [*entry.codes, *(code for code, _ in marked if code.startswith("."))]
    values = [level for level in entry.levels if level[0] not in entry.codes]
    if _DATES.match(shape):
        entry.kind, entry.levels = "date", []
        entry.notes.append(f"{shape} in that file; format is how your table writes dates")
    elif stored == "string" or (values and measure != _SCALE):
        entry.kind = "category"
    else:
        entry.kind = "integer" if stored.startswith("int") else "number"
    return entry


def _labels(meta: Any, name: str) -> Mapping[Any, Any]:
    labels: Mapping[Any, Any] = meta.variable_value_labels.get(name, {})
    return labels


def _codes(name: str, meta: Any) -> tuple[list[str], list[str]]:
    """The missing codes of a variable, and a note on ranges that are too wide to be listed."""
    codes, notes = [], []
    for each in getattr(meta, "missing_ranges", {}).get(name, ()):
        low, high = each["lo"], each["hi"]
        if low == high:
            codes.append(_code(low))
        elif _whole(low) and _whole(high) and high - low < _RANGE:
            codes += [_code(value) for value in range(int(low), int(high) + 1)]
        else:
            notes.append(
                f"values from {_code(low)} to {_code(high)} are missing: list those that occur in missing_codes"
            )
    return list(dict.fromkeys(codes)), notes


def _whole(value: Any) -> bool:
    return isinstance(value, int | float) and float(value).is_integer()


def _code(value: Any) -> str:
    return str(int(value)) if _whole(value) else _text(value)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
