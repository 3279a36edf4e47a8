"""A first schema from what is public: a code book, the first line of a file, or a file's types; never from values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema.columns import REQUIRED
from sfumato.schema.documents import VERSION, WITH_FORM, WITH_PERSONS, toml_value
from sfumato.schema.draft_entries import Entry, entry_text
from sfumato.schema.draft_persons import with_persons
from sfumato.schema.first_line import first_line, looks_like_data, names_in, widths
from sfumato.schema.form import WORDS, Form

# The fixed parts of a draft.
_HEAD = f"""\
# A draft. Replace every "{REQUIRED}" by a public fact: from the questionnaire, the code book, a definition or a law,
# never from the rows. Delete the columns that no release will use: what is not declared is never used.
sfumato = "schema"
version = {{version}}
name = "data"
{{unit}}
# target = "..."       # the column to be predicted, if there is one
# data_norm = 1.0      # for regressions: the norm that no encoded row exceeds
"""
# Who is protected, in the head of a draft.
_UNIT = 'unit = "row"           # what one row stands for: a person, a household, a visit'
_UNIT_OF_PERSONS = 'unit = "person"        # who is protected, with all of their rows: a patient, a pupil, a household'
_FORM = """
[table]                # how the file is written
{separator}{encoding}# decimal = ","        # the decimal mark, if it is not "."
# thousands = "."      # the mark between groups of three digits, if there is one
{missing}"""
_ENCODING = (
    '# encoding = "cp1252"  # if the file is not UTF-8: latin-1, cp1252, cp1250, cp1251, iso8859-2, iso8859-15\n'
)
_UNSTATED = '# separator = ";"      # if it is not ","'
_MISSING = '# missing_codes = ["NA", -9]  # cells that mean "no answer" in every column; a column may have its own\n'
_KINDS = """
# type = "number" needs lower and upper; "category" needs levels = [...] and missing = "<level>" or "own level", what a cell
# counts as that is empty, unreadable or no declared level; "boolean" needs missing = false, true or "own level";
# "date" needs lower and upper, and format = "%d.%m.%Y" if dates are not written like 2020-01-31.
"""
# Separators that an ending stands for.
_USUAL = {".csv": ",", ".tsv": "\t"}
# Endings of text files, of files with types, and of files with labels that pyreadstat reads.
_TEXT, _TYPED = (".csv", ".tsv", ".txt", ".dat"), (".parquet", ".arrow", ".feather")
_LABELLED = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")


def draft(
    source: Any,
    header: bool | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    persons: str | None = None,
    rows: str | None = None,
    columns: int | None = None,
) -> str:
    """Return the text of a TOML schema; see `Schema.draft`."""
    whose = (persons, rows)
    if (header is False) != (columns is not None):
        raise ArgumentError(
            "a draft for a file without a header needs the number of its columns: --no-header --columns 7 (header=False, "
            "columns=7)."
        )
    if columns is not None:
        return _from_positions(columns, Form(separator=separator, encoding=encoding), whose)
    if hasattr(source, "__arrow_c_schema__") and hasattr(source, "names"):
        return _from_types(source, whose)
    if isinstance(source, str | Path):
        path = Path(source)
        ending = path.suffix.lower()
        if not path.is_file():
            raise ArgumentError(f"there is no file {str(path)!r}.")
        if ending in _TEXT and header:
            return _from_header(path, Form(separator=separator, encoding=encoding), whose)
        if ending in _TEXT:
            from sfumato.schema.draft_dictionary import dictionary_entries

            return _from_entries(dictionary_entries(path), whose, _form(_UNSTATED))
        if ending in _TYPED:
            return _from_types(_types(path), whose)
        if ending in _LABELLED:
            from sfumato.schema.draft_labels import labelled_entries

            return _from_entries(labelled_entries(path), whose, _form(_UNSTATED))
    raise ArgumentError(
        f"a draft is made from a code book ({', '.join(_TEXT)}, {', '.join(_LABELLED)}), the types of a file "
        f"({', '.join(_TYPED)}), an Arrow schema, or with header=True (--header) the first line of a text file; got "
        f"{source if isinstance(source, str | Path) else type(source).__name__!r}."
    )


# The id column of persons and what their rows are called, where the draft is of persons with several rows.
Whose = tuple[str | None, str | None]


def _from_entries(entries: Sequence[Entry], whose: Whose, form: str = "", kinds: str = "", stated: bool = False) -> str:
    """The draft of these variables; `stated`: the form of the file states facts of a newer version."""
    columns, persons = with_persons(entries, *whose)
    text = "".join(map(entry_text, columns))
    newer = stated or any(line.startswith(("missing_codes =", 'type = "date"')) for line in text.splitlines())
    version = WITH_PERSONS if whose[0] is not None else WITH_FORM if newer else VERSION
    head = _HEAD.format(version=version, unit=_UNIT if whose[0] is None else _UNIT_OF_PERSONS)
    return head + form + persons + kinds + text


def _form(separator: str, encoding: str = _ENCODING) -> str:
    """The table of facts about text files, those that nobody knows yet as comments."""
    return _FORM.format(separator=f"{separator}\n", encoding=encoding, missing=_MISSING)


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


def _from_types(types: Any, whose: Whose) -> str:
    entries = []
    for field in types:
        entry = Entry(field.name, kind=_kind(field.type), format="")
        if types.names.count(field.name) > 1:
            entry.omitted = "is there more than once and is left out; rename the columns first."
        elif not entry.kind:
            entry.omitted = "is neither number, text, boolean nor date and is left out; convert it first."
        entries.append(entry)
    return _from_entries(entries, whose)


def _kind(given: Any) -> str:
    """The kind of column that an Arrow type holds, "" if none."""
    import pyarrow as pa

    from sfumato.schema.read_arrow import is_text

    is_ = pa.types
    kind = given.value_type if is_.is_dictionary(given) else given
    if is_.is_boolean(kind):
        return "boolean"
    if is_.is_dictionary(given) or is_text(kind):
        return "category"
    if is_.is_integer(kind):
        return "integer"
    if is_.is_floating(kind) or is_.is_decimal(kind):
        return "number"
    return "date" if is_.is_date(kind) or is_.is_timestamp(kind) else ""


def _from_positions(columns: int, form: Form, whose: Whose) -> str:
    """Columns c1, c2, ... of a file without a header; it is not opened."""
    names = [f"c{place}" for place in range(1, _validate.whole("columns", columns) + 1)]
    listed = f"header = false\nnames = {toml_value(names)}  # all columns in order; rename them here and below\n"
    stating = f"separator = {toml_value(form.separator)}" if form.separator else _UNSTATED
    return _from_entries([Entry(name) for name in names], whose, _form(listed + stating, _encoded(form)), _KINDS, True)


def _from_header(path: Path, form: Form, whose: Whose) -> str:
    """The names in the first line, split at the one separator that splits it; no other line is read."""
    first = first_line(path)
    separator = form.separator or _separator(first)
    names = names_in(first, separator, form.encoding)
    if None in names:
        raise ArgumentError(
            f"the first line of {path.name!r} is not text in the encoding {form.encoding}: state the encoding of the file, such "
            'as --encoding cp1252 (encoding="cp1252"), or save it as UTF-8.'
        )
    if looks_like_data(names):
        raise ArgumentError(
            f"the first line of {path.name!r} must name every column, each once, and looks like a record: a cell of it is empty, "
            "repeated, a number, a date or a truth value. (None is shown: it may be a person's.) For a file without a header write "
            "--no-header --columns N (header=False, columns=N), with the number of its columns. If these are names, such as the "
            "years 2019 and 2020, rename them in the file: y2019."
        )
    stated = form.separator is not None or separator != _USUAL.get(path.suffix.lower())
    alone = "" if len(names) > 1 else "  # the first line is one name and shows no separator"
    stating = f"{'' if stated else '# '}separator = {toml_value(separator)}{alone}"
    newer = stated or form.encoding != "utf-8"
    entries = [Entry(name) for name in names if name]
    return _from_entries(entries, whose, _form(stating, _encoded(form)), _KINDS, newer)


def _encoded(form: Form) -> str:
    """The line of a draft on the encoding."""
    return _ENCODING if form.encoding == "utf-8" else f"encoding = {toml_value(form.encoding)}\n"


def _separator(first: bytes) -> str:
    """The separator that splits the first line, a comma where it is one name; two that do are for the caller to choose from."""
    splitting = [separator for separator, width in widths(first).items() if width > 1]
    if len(splitting) > 1:
        raise ArgumentError(
            f"the first line could be split at {' or at '.join(WORDS[separator] for separator in splitting)}: state the separator "
            f"of the file, such as --separator {splitting[0]!r} (separator={splitting[0]!r})."
        )
    return splitting[0] if splitting else ","
