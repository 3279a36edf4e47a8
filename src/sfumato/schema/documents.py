"""Schemas as documents: JSON and TOML both ways, unknown keys refused, and facts still to be declared listed.

An unfinished document holds "REQUIRED" in place of an unknown bound, list of levels or norm. Reading it raises one error
that lists the line to write for every such place.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import persons as of_persons
from sfumato.schema import weight as of_weights
from sfumato.schema.columns import COLUMNS, REQUIRED, Column
from sfumato.schema.form import FACTS
from sfumato.schema.vector_units import VectorUnits

if TYPE_CHECKING:
    from sfumato.schema.schema import Schema

# Versions of the format: a document of facts that older code cannot read says 2 ([table], missing codes, dates), 3 ([persons],
# [weight]) or 4 (other spellings of levels).
VERSION, WITH_FORM, WITH_PERSONS, WITH_SPELLINGS = VERSIONS = 1, 2, 3, 4

# Keys of a schema beside its columns.
_HEAD = ("name", "unit", "target", "data_norm", "rows", "dimension")
# Tables of a schema beside its columns.
_PARTS = ("units", "table", "persons", "weight")
# What to write for a fact that is still to be declared, as the error shows it.
_HINTS = {
    "lower": "<number>  # the smallest value to be told apart; smaller ones are clipped to it",
    "upper": "<number>  # the largest value to be told apart; larger ones are clipped to it",
    "levels": '["<level>", "<level>"]  # every level, in order; any other cell counts as missing',
    "missing": "<value>  # what an empty cell counts as; or leave the line out",
    "type": '"number"  # or "category", "boolean" or "date"',
    "data_norm": "<number>  # the largest norm of a row; longer rows are shortened to it",
    "dimension": "<whole number>  # how many numbers a row has",
    "separator": '";"  # what ends a cell: "," ";" "\\t" (a tab) or "|"',
    "most": "<whole number>  # the most rows of one person that count; those beyond are left out",
    "count": "<whole number>  # how many persons there are, a public number; never counted in the table",
    "id": '"<column>"  # the column that says whose row it is',
    "roster": '"<file>.csv"  # a file with the ids of all persons, or count = <whole number>',
}
# So many facts that are still to be declared are each shown with a hint; of more, the names alone.
_LISTED = 8
# The same for columns of levels, and for dates.
_LEVEL_HINTS = {
    "missing": '"own level"  # or a level (of a boolean false or true), as which a cell counts that cannot be read'
}
_DATE_HINTS = {
    "lower": '"2000-01-31"  # the first date that counts; earlier ones are clipped to it',
    "upper": '"2029-12-31"  # the last date that counts; later ones are clipped to it',
    "format": '"%Y-%m-%d"  # how the table writes dates; 31.01.2020 is "%d.%m.%Y"',
}


def to_document(schema: Schema) -> dict[str, Any]:
    """Return the schema as plain values; facts that were not declared are left out."""
    head = {name: getattr(schema, name) for name in _HEAD}
    form = schema.form.to_json()
    columns = {name: _without(column.to_json(), schema.form.missing_codes) for name, column in schema.columns.items()}
    newer = form or any("missing_codes" in facts or facts["type"] == "date" for facts in columns.values())
    version = WITH_PERSONS if schema.persons or schema.weight else WITH_FORM if newer else VERSION
    if any("alias" in facts or "fold_case" in facts for facts in columns.values()):
        version = WITH_SPELLINGS
    return {
        "sfumato": "schema",
        "version": version,
        **{name: value for name, value in head.items() if value is not None},
        **({} if schema.units is None else {"units": schema.units.to_json()}),
        **({"table": form} if form else {}),
        **({} if schema.persons is None else {"persons": schema.persons.to_json()}),
        **({} if schema.weight is None else {"weight": schema.weight.to_json()}),
        **({"columns": columns} if columns else {}),
    }


def _without(facts: dict[str, Any], codes: Sequence[Any]) -> dict[str, Any]:
    """The facts of a column without the missing codes that the whole table has."""
    own = [code for code in facts.pop("missing_codes", ()) if code not in codes]
    return {**facts, "missing_codes": own} if own else facts


def from_document(document: object) -> Schema:
    """Read a schema from plain values."""
    from sfumato.schema.schema import Schema

    checked = _known(document, ("sfumato", "version", *_HEAD, *_PARTS, "columns"), "a schema")
    if checked.get("sfumato") != "schema" or checked.get("version") not in VERSIONS:
        raise FormatError(
            f'a schema must say sfumato = "schema" and version = {", ".join(map(str, VERSIONS[:-1]))} or {VERSIONS[-1]}; got '
            f"{checked.get('sfumato')!r} and {checked.get('version')!r}."
        )
    facts = checked.get("columns", {})
    if not isinstance(facts, Mapping):
        raise FormatError(f"columns of a schema must be a table of columns; got {type(facts).__name__}.")
    _refuse_unfinished(checked, facts)
    head = {name: checked[name] for name in _HEAD if name in checked}
    try:
        columns = {str(name): _column(str(name), fields) for name, fields in facts.items()}
        head |= _persons_and_weight(checked)
        if "dimension" not in head:
            if "units" in checked:
                raise FormatError("units are those of a vector; the columns of a table have their own.")
            form = _known(checked.get("table", {}), FACTS, "[table] of a schema")
            return Schema(columns, **head, **form)
        if "table" in checked:
            raise FormatError("[table] states how the files of a table are written; this schema is a vector.")
        target = head.pop("target", None)
        if (target, *columns) not in ((None,), ("target", "target")):
            raise FormatError('a vector schema has no columns but its target, which is called "target".')
        units = VectorUnits.from_json(checked["units"]) if "units" in checked else None
        return Schema.vector(**head, target=columns.get("target"), units=units)
    except (TypeError, ArgumentError) as error:
        raise FormatError(f"a schema cannot be read: {error}") from error


def _persons_and_weight(document: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments `persons` and `weight` of a schema, where a document has them."""
    given: dict[str, Any] = {}
    if "persons" in document:
        facts = _known(document["persons"], of_persons.FACTS, "[persons] of a schema")
        if "id" not in facts:
            raise FormatError('[persons] of a schema needs id = "<column>", the column that says whose row it is.')
        given["persons"] = of_persons.Persons(**facts)
    if "weight" in document:
        facts = _known(document["weight"], of_weights.FACTS, "[weight] of a schema")
        given["weight"] = of_weights.Weight(**facts)
    return given


def parse_json(text: str) -> Any:
    """Read JSON, or raise FormatError."""
    return _parsed(text, "JSON", lambda text: json.loads(text, object_pairs_hook=_unique))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice, as TOML does: JSON readers differ in which of the two they take."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise FormatError("a key is given twice.")
    return table


def parse_toml(text: str) -> Any:
    """Read TOML, or raise FormatError."""
    return _parsed(text, "TOML", tomllib.loads)


def _parsed(text: str, language: str, parse: Callable[[str], Any]) -> Any:
    try:
        document = parse(text)
        _validate.document(document)
        return document
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits and lists in thousands of lists
        raise FormatError(f"a schema cannot be read as {language}: {error}") from error


def to_toml(document: Mapping[str, Any]) -> str:
    """Write a schema document as TOML: the head, then one table per column."""
    lines = [f"{name} = {toml_value(value)}" for name, value in document.items() if name not in (*_PARTS, "columns")]
    for part in _PARTS:
        if part in document:
            lines += ["", f"[{part}]", *_toml_facts(part, document[part])]
    for name, facts in document.get("columns", {}).items():
        lines += ["", f"[columns.{toml_key(name)}]"]
        lines += [f"{fact} = {toml_value(value)}" for fact, value in facts.items()]
    return "\n".join(lines) + "\n"


def _toml_facts(part: str, facts: Mapping[str, Any]) -> list[str]:
    """The facts of one table, those that are tables themselves last."""
    plain = [f"{name} = {toml_value(value)}" for name, value in facts.items() if not isinstance(value, Mapping)]
    for name, inner in facts.items():
        if isinstance(inner, Mapping):
            plain += [
                "",
                f"[{part}.{name}]",
                *(f"{toml_key(key)} = {toml_value(value)}" for key, value in inner.items()),
            ]
    return plain


def toml_value(value: object) -> str:
    """One value as TOML. JSON's escapes are TOML's too, but for the delete character, which only TOML forbids."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(str(key))} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def toml_key(name: str) -> str:
    """One key as TOML, quoted unless it is bare."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else toml_value(name)


def _column(name: str, fields: Mapping[str, Any]) -> Column:
    kind = fields["type"]
    facts = _known(fields, ("type", *COLUMNS[kind].facts), f"column {name!r} (a {kind})")
    try:
        column: Column = COLUMNS[kind](**{fact: value for fact, value in facts.items() if fact != "type"})
    except ArgumentError as error:
        raise FormatError(f"column {name!r} cannot be read: {error}") from error
    return column


def _refuse_unfinished(head: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    """Raise once for every fact that is still to be declared, with the lines to write."""
    lines = [f"{name} = {_HINTS.get(name, '<text>')}" for name in _HEAD if head.get(name) == REQUIRED]
    if "dimension" in head and "data_norm" not in head:
        lines.append(f"data_norm = {_HINTS['data_norm']}")
    for part in ("table", "persons", "weight"):
        table = head.get(part)
        if isinstance(table, Mapping):
            unknown = [name for name, value in table.items() if isinstance(value, str) and value == REQUIRED]
            lines += [f"[{part}]  {name} = {_HINTS.get(name, '<text>')}" for name in unknown]
    named = lines[:]
    for name, fields in columns.items():
        if not isinstance(fields, Mapping):
            raise FormatError(f"column {name!r} must be a table of facts; got {type(fields).__name__}.")
        kind = fields.get("type", REQUIRED)
        if kind != REQUIRED and (not isinstance(kind, str) or kind not in COLUMNS):
            raise FormatError(f"column {name!r}: type must be one of {', '.join(COLUMNS)}; got {kind!r}.")
        absent = [fact for fact in ("type", *(COLUMNS[kind].needed if kind in COLUMNS else ())) if fact not in fields]
        absent += [fact for fact, value in fields.items() if isinstance(value, str) and value == REQUIRED]
        hints = {**_HINTS, **{"date": _DATE_HINTS, "number": {}}.get(str(kind), _LEVEL_HINTS)}
        table_name = f"[columns.{toml_key(str(name))}]"
        lines += [f"{table_name}  {fact} = {hints.get(fact, '<value>')}" for fact in absent]
        named += [f"{table_name} {', '.join(absent)}"] if absent else []
    if lines:
        facts = "1 public fact" if len(lines) == 1 else f"{len(lines)} public facts"
        # Many facts are named without their hints, which the draft has too.
        listed = "Write:\n  " + "\n  ".join(lines)
        if len(lines) > _LISTED:
            listed = "Delete the columns that no release will use, and write for the others: " + "; ".join(named) + "."
        raise FormatError(
            f"the schema is not finished: {facts} must be declared, from what is known without the rows. {listed}"
        )


def _known(document: object, keys: tuple[str, ...], what: str) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise FormatError(f"{what} must be a table of facts; got {type(document).__name__}.")
    unknown = [repr(key) for key in document if key not in keys]
    if unknown:
        raise FormatError(f"{what} has the keys {', '.join(keys)}; unknown {', '.join(unknown)}.")
    return document
