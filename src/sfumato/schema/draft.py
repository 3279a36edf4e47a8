"""A first schema from what is public: a data dictionary, or the types (never the values) of a Parquet or Arrow file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.schema.columns import REQUIRED
from sfumato.schema.documents import VERSION, toml_key, toml_value

# Columns of a data dictionary, the type names that it may use, and the fixed parts of a draft.
_DICTIONARY = ("name", "type", "lower", "upper", "levels", "missing")
_WORDS = {
    **dict.fromkeys(("number", "numeric", "float", "double", "real", "decimal", "continuous"), "number"),
    **dict.fromkeys(("integer", "int", "whole", "count"), "integer"),
    **dict.fromkeys(("category", "categorical", "factor", "enum", "nominal", "ordinal", "text", "string"), "category"),
    **dict.fromkeys(("boolean", "bool", "logical", "flag", "yes/no"), "boolean"),
}
_HEAD = f"""\
# A draft. Replace every "{REQUIRED}" by a public fact: from the questionnaire, the code book, a definition or a law,
# never from the rows. Delete the columns that no release will use: what is not declared is never used.
sfumato = "schema"
version = {VERSION}
name = "data"
unit = "row"           # what one row stands for: a person, a household, a visit
# target = "..."       # the column to be predicted, if there is one
# data_norm = 1.0      # for regressions: the norm that no encoded row exceeds
"""


_KINDS = """
# type = "number" needs lower and upper; "category" needs levels = [...]; "boolean" needs nothing more.
"""


def draft(source: Any, header: bool = False) -> str:
    """Return the text of a TOML schema; see `Schema.draft`."""
    if hasattr(source, "__arrow_c_schema__") and hasattr(source, "names"):
        return _from_types(source)
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise ArgumentError(f"there is no file {str(path)!r}.")
        if path.suffix.lower() == ".csv":
            return _from_header(path) if header else _from_dictionary(path)
        if path.suffix.lower() in (".parquet", ".arrow", ".feather"):
            return _from_types(_types(path))
    raise ArgumentError(
        "a draft is made from a data dictionary (.csv), the types of a file (.parquet, .arrow, .feather) or an Arrow "
        f"schema; got {source if isinstance(source, str | Path) else type(source).__name__!r}."
    )


def _types(path: Path) -> Any:
    """Return the Arrow schema of a file: its footer or first message. Statistics and dictionaries are values."""
    try:
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_schema(path)
        from sfumato.schema.read_arrow import arrow_reader

        return arrow_reader(path).schema
    except Exception as error:
        fault = type(error).__name__
    raise ArgumentError(f"the types of {path.name!r} could not be read: {fault}.")


def _from_types(types: Any) -> str:
    import pyarrow as pa

    from sfumato.schema.read_arrow import is_text

    is_ = pa.types
    text = _HEAD
    for field in types:
        if types.names.count(field.name) > 1:
            text += f"\n# {toml_value(field.name)} is there more than once and is left out; rename the columns first.\n"
            continue
        kind = field.type.value_type if is_.is_dictionary(field.type) else field.type
        if is_.is_boolean(kind):
            text += _column(field.name, {"type": "boolean"})
        elif is_.is_dictionary(field.type) or is_text(kind):
            text += _column(field.name, {"type": "category", "levels": REQUIRED})
        elif is_.is_integer(kind):
            text += _column(field.name, {"type": "number", "lower": REQUIRED, "upper": REQUIRED, "integer": True})
        elif is_.is_floating(kind) or is_.is_decimal(kind):
            text += _column(field.name, {"type": "number", "lower": REQUIRED, "upper": REQUIRED})
        else:
            text += (
                f"\n# {toml_value(field.name)} is neither number, text nor boolean and is left out; convert it first.\n"
            )
    return text


def _from_dictionary(path: Path) -> str:
    try:
        return _read_dictionary(path)
    except csv.Error as error:  # a quote that does not close swallows the rest of the file, a field beyond the limit
        fault = str(error)
    raise ArgumentError(f"the data dictionary is no well-formed .csv file: {fault}.")


def _read_dictionary(path: Path) -> str:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.DictReader(file)
        # The file's own names are not shown: in a file of data without a header they would be a record.
        given = [name.strip() for name in reader.fieldnames or ()]
        if "name" not in given or "type" not in given or set(given) - set(_DICTIONARY):
            raise ArgumentError(
                f"a data dictionary is a .csv file with the columns {', '.join(_DICTIONARY)} (name and type at least, and "
                "no others); this file has other columns. A draft is never made from rows of data. If this is a file of data "
                "whose first line names its columns, add --header (header=True): that line alone is then read."
            )
        reader.fieldnames = given
        text, seen = _HEAD, set[str]()
        for entry in reader:
            facts = {key: (value or "").strip() for key, value in entry.items() if isinstance(key, str)}
            if None in entry or not facts["name"]:
                raise ArgumentError(
                    f"line {reader.line_num} of the data dictionary must have a name and at most {len(given)} fields; "
                    "put quotes around a text with commas."
                )
            if facts["name"] in seen:
                raise ArgumentError(f"line {reader.line_num} of the data dictionary names {facts['name']!r} again.")
            seen.add(facts["name"])
            text += _column(facts["name"], _facts(facts, reader.line_num))
    return text


def _from_header(path: Path) -> str:
    from sfumato.schema.first_line import first_line, names_in

    listed = names_in(first_line(path), ",", "utf-8")
    names = [name for name in listed if name]
    if len(set(names)) != len(listed):
        raise ArgumentError(f"the first line of {path.name!r} must name every column in UTF-8, each once.")
    return _HEAD + _KINDS + "".join(_column(name, {"type": REQUIRED}) for name in names)


def _facts(entry: Mapping[str, str], line: int) -> dict[str, Any]:
    """Return the facts that one line of a dictionary states, with REQUIRED for those it leaves open."""
    word = _WORDS.get(entry["type"].casefold(), REQUIRED)
    facts: dict[str, Any] = {"type": "number" if word == "integer" else word}
    missing = entry.get("missing", "")
    if word in ("number", "integer"):
        facts |= {bound: _bound(entry.get(bound, ""), bound, line) for bound in ("lower", "upper")}
        facts |= {"integer": True} if word == "integer" else {}
        facts |= {"missing": _bound(missing, "missing", line)} if missing else {}
    elif word == "category":
        levels = [level.strip() for level in entry.get("levels", "").split("|") if level.strip()]
        whole = all(level.removeprefix("-").isdecimal() and level.isascii() for level in levels)
        facts["levels"] = ([int(level) for level in levels] if whole else levels) or REQUIRED
        if missing:
            facts["missing"] = int(missing) if levels and whole and missing in levels else missing
    elif word == "boolean" and missing:
        facts["missing"] = missing.casefold() in ("true", "1", "yes")
    return facts


def _bound(text: str, what: str, line: int) -> float | str:
    if not text:
        return REQUIRED
    try:
        return float(text)
    except ValueError:
        fault = f"line {line} of the data dictionary: {what} must be a number or empty; got {text!r}."
    raise ArgumentError(fault)


def _column(name: str, facts: Mapping[str, Any]) -> str:
    lines = [f"{fact} = {toml_value(value)}" for fact, value in facts.items()]
    return "\n".join(["", f"[columns.{toml_key(name)}]", *lines]) + "\n"
