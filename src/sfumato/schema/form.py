"""How the text files of a table are written, and which cells stand for "no answer". Public facts, like bounds.

A file is read as its schema says: nothing here is guessed from the rows, because one record could then change how the
others are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.schema.missing_codes import Code, read_codes
from sfumato.schema.texts import public_text

# Separators that a text file may have: those that common programs write.
SEPARATORS = (",", ";", "\t", "|")
# What each separator is called in errors.
WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# Decimal marks, and marks between groups of three digits.
_DECIMALS, _THOUSANDS = (".", ","), (",", ".", "'", " ")
# Encodings by the name that documents hold. In each a byte below 128 is its ASCII character and no other byte is one, so
# that a line end, a separator or a quote can be searched for in the bytes.
ENCODINGS = ("utf-8", "latin-1", "cp1252", "cp1250", "cp1251", "iso8859-2", "iso8859-15")
_ALIASES = {"utf8": "utf-8", "utf-8-sig": "utf-8", "latin1": "latin-1", "iso-8859-1": "latin-1", "iso8859-1": "latin-1"}
_ALIASES |= {"windows-1252": "cp1252", "windows-1250": "cp1250", "windows-1251": "cp1251"}
_ALIASES |= {"iso-8859-2": "iso8859-2", "iso-8859-15": "iso8859-15", "latin-9": "iso8859-15", "latin9": "iso8859-15"}
# Spaces that do not break a line: French and Scandinavian files write them between groups of digits.
_NO_BREAK = ("\u00a0", "\u202f")


@dataclass(frozen=True)
class Form:
    """The facts of [table] in a schema.

    separator: "," ";" "\\t" "|"; None is "," (a tab in a .tsv file). decimal: "." or ",". thousands: the mark between groups
    of three digits, "," "." "'" " ", or None. encoding: one of ENCODINGS. missing_codes: cells that count as missing in
    every column, in every kind of source; the other facts are about text files alone. header: whether the first line holds the
    names; where it does not, it is a record, and `names` are those of all columns of the file in its order.
    """

    separator: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    missing_codes: tuple[Code, ...] = ()
    header: bool = True
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.header, bool):
            raise ArgumentError(f"header must be true or false; got {self.header!r}.")
        if not isinstance(self.names, list | tuple) or self.header == bool(self.names):
            raise ArgumentError(
                "names are those of all columns of a file without a header, in its order: state header = false and names = "
                '["c1", "c2"], or neither.'
            )
        for name in self.names:
            public_text("the name of a column", name)
        if len(set(self.names)) < len(self.names):
            raise ArgumentError("names must name each column of the file once.")
        if self.separator is not None and self.separator not in SEPARATORS:
            raise ArgumentError(
                f'separator must be one character, "," ";" "\\t" (a tab) or "|"; got {self.separator!r}. '
                "Save the file with one of these."
            )
        if self.decimal not in _DECIMALS:
            raise ArgumentError(f'decimal must be "." or ","; got {self.decimal!r}.')
        if self.decimal == (self.separator or ","):
            raise ArgumentError(
                'decimal = "," needs another separator, since a comma cannot both end a cell and stand in a number: '
                'state separator = ";" (or "\\t" or "|"), or save the file in another form.'
            )
        if self.thousands is not None and (self.thousands not in _THOUSANDS or self.thousands == self.decimal):
            raise ArgumentError(
                'thousands must be the mark between groups of three digits, "," "." "\'" or " ", and not the decimal mark '
                f"{self.decimal!r}; got {self.thousands!r}."
            )
        codes = read_codes("table", self.missing_codes)
        vars(self).update(encoding=_encoding(self.encoding), missing_codes=codes, names=tuple(self.names))

    def to_json(self) -> dict[str, Any]:
        """The facts that differ from their defaults."""
        facts = {"separator": self.separator, "decimal": self.decimal, "thousands": self.thousands}
        facts |= {"encoding": self.encoding}
        kept: dict[str, Any] = {name: value for name, value in facts.items() if value != getattr(_DEFAULT, name)}
        kept |= {} if self.header else {"header": False, "names": list(self.names)}
        return {**kept, "missing_codes": list(self.missing_codes)} if self.missing_codes else kept

    def described(self) -> list[str]:
        """One line for people, none where nothing is stated."""
        facts = ", ".join(f"{name}={value!r}" for name, value in self.to_json().items())
        return [f"  table: {facts}"] if facts else []

    def separator_of(self, ending: str) -> str:
        """The separator of a file with this ending; .txt and .dat say nothing about theirs."""
        if self.separator is not None:
            return self.separator
        if ending in (".txt", ".dat"):
            raise ArgumentError(
                f"a {ending} file may have any separator, and the schema states none: write separator = "
                '"\\t" (or "," ";" "|") under [table] in the schema (separator="\\t" in sf.Schema).'
            )
        return "\t" if ending == ".tsv" else ","

    @property
    def marks_numbers(self) -> bool:
        """Whether numbers are written otherwise than Python writes them."""
        return self.decimal != "." or self.thousands is not None

    @cached_property
    def _grouped(self) -> re.Pattern[str]:
        return re.compile(rf"[+-]?[0-9]{{1,3}}(?:{re.escape(self.thousands or ',')}[0-9]{{3}})+")

    def plain(self, cell: str) -> str:
        """The number that a cell spells in this form as Python spells it; a text that spells none is returned as "".

        A mark of the other form is no part of a number: where the decimal mark is a comma, "1.500" is no number unless
        "." is the declared mark of thousands, because it could mean 1.5 or 1500.
        """
        whole, mark, rest = cell.strip().partition(self.decimal)
        if self.thousands is not None:
            if self.thousands == " ":
                for space in _NO_BREAK:
                    whole = whole.replace(space, " ")
            if self.thousands in whole:
                if not self._grouped.fullmatch(whole):
                    return ""
                whole = whole.replace(self.thousands, "")
        if "." in whole or "." in rest or "," in whole or "," in rest:
            return ""
        return f"{whole}.{rest}" if mark else whole


def _encoding(name: object) -> str:
    known = _ALIASES.get(name.casefold(), name.casefold()) if isinstance(name, str) else ""
    if known in ENCODINGS:
        return known
    more = ""
    if isinstance(name, str) and name.casefold().replace("-", "").replace("_", "").startswith(("utf16", "utf32")):
        more = " A file in this encoding cannot be read line by line: save it as UTF-8."
    raise ArgumentError(f"encoding must be one of {', '.join(ENCODINGS)}; got {name!r}.{more}")


_DEFAULT = Form()

# The keys of [table] in a document.
FACTS = ("separator", "decimal", "thousands", "encoding", "missing_codes", "header", "names")
