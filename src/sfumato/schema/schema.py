"""The public facts about one record: the columns with their bounds, the norm of a row, and what a row stands for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, overload

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import documents
from sfumato.schema.checking import ROWS as ROWS
from sfumato.schema.checking import checked
from sfumato.schema.columns import Column
from sfumato.schema.form import Form
from sfumato.schema.missing_codes import Code, read_codes
from sfumato.schema.persons import Persons
from sfumato.schema.weight import Weight

if TYPE_CHECKING:
    from sfumato.schema.counts import Counts
    from sfumato.schema.design import Design
    from sfumato.schema.vector_units import VectorUnits


@dataclass(frozen=True, init=False, repr=False)
class Schema:
    """The public facts about one record. Two neighbouring data sets have the same schema and the same n.

    Either a table (named columns) or, made by `Schema.vector`, a vector of `dimension` numbers with |x| <= data_norm
    and at most one column beside it, the target.

    columns: name -> Number, Category or Boolean. Columns of a source that are not named here are never used.
    target: the column to be predicted, if there is one.
    data_norm: the Euclidean norm that no row of features exceeds; for a table, of the row as `design` encodes it.
    name, unit: how the data set is called, and what is protected: what one row stands for or, with `persons`, whose rows they
        are. Without `persons` the promise to somebody who has two rows is weaker.
    rows: "clip" shortens rows longer than data_norm; "normalise" brings every row but 0 to it.
    separator, decimal, thousands, encoding: how the table's text files are written ("," "." none "utf-8" unless stated).
    missing_codes: cells such as "NA" or -9 that count as missing in every column; a column may have more of its own.
    header: False where the first line of a text file is a record. Its columns are then taken by their position: `names` are all
        columns of the file in its order, by default those that are declared here.
    persons: whose rows they are, where one person may have several: an sf.Persons. weight: an sf.Weight, for survey weights.
    """

    _columns: tuple[tuple[str, Column], ...]
    target: str | None
    data_norm: float | None
    name: str
    unit: str
    rows: str
    dimension: int | None
    units: VectorUnits | None
    form: Form
    persons: Persons | None
    weight: Weight | None

    def __init__(
        self,
        columns: Mapping[str, Column],
        target: str | None = None,
        data_norm: float | None = None,
        name: str = "data",
        unit: str = "row",
        rows: str = "clip",
        separator: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        encoding: str = "utf-8",
        missing_codes: Sequence[Code] = (),
        persons: Persons | None = None,
        weight: Weight | None = None,
        header: bool = True,
        names: Sequence[str] = (),
    ) -> None:
        """Describe a table."""
        if not isinstance(columns, Mapping) or not columns:
            raise ArgumentError(
                'columns must be a mapping such as {"age": sf.Number(0, 100)} with at least one column; '
                f"got {type(columns).__name__}."
            )
        if header is False and not names and persons is None and weight is None:
            names = tuple(columns)
        form = Form(separator, decimal, thousands, encoding, read_codes("table", missing_codes), header, names)
        self._keep(columns, target, data_norm, name, unit, rows, None, None, form, persons, weight)

    @classmethod
    def vector(
        cls,
        dimension: int,
        data_norm: float | None = None,
        target: Column | None = None,
        name: str = "data",
        unit: str = "row",
        rows: str = "clip",
        units: VectorUnits | None = None,
        persons: Persons | None = None,
        weight: Weight | None = None,
    ) -> Schema:
        """Describe rows that are vectors of `dimension` numbers with norm at most `data_norm`.

        A cell that is no finite number is stored as 0, which never lengthens a row. `target` is a column, not a name. `units`
        name the numbers and say how they were scaled.
        """
        if data_norm is None:
            raise ArgumentError(
                "Schema.vector needs data_norm: the largest norm of a row, a public number that is never read from the "
                "rows; longer rows are shortened to it."
            )
        dimension = _validate.whole("dimension", dimension)
        columns = {} if target is None else {"target": target}
        made = object.__new__(cls)
        target_name = "target" if columns else None
        made._keep(columns, target_name, data_norm, name, unit, rows, dimension, units, Form(), persons, weight)
        return made

    def _keep(self, *facts: Any) -> None:
        vars(self).update(checked(*facts))

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Name -> column, in the declared order; read-only."""
        return MappingProxyType(dict(self._columns))

    def __getstate__(self) -> dict[str, Any]:
        """The facts alone: a read-only view cannot be pickled, and is made again."""
        return {name: value for name, value in vars(self).items() if name != "columns"}

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns other than the target; empty for a vector."""
        return tuple(name for name, _ in self._columns if name != self.target)

    @property
    def vector_names(self) -> tuple[str, ...]:
        """The names of a vector's numbers."""
        from sfumato.schema.vector_units import default_names

        return default_names(self.dimension or 0) if self.units is None else self.units.names

    def with_target(self, name: str) -> Schema:
        """Return the same facts with this column of a table as the one to be predicted; another target becomes a feature."""
        if self.dimension is not None:
            raise ArgumentError(
                "with_target() chooses a column of a table; a vector has its target from Schema.vector."
            )
        if not isinstance(name, str) or name not in self.columns:
            raise ArgumentError(f"target must be one of the columns {', '.join(self.columns)}; got {name!r}.")
        return self.with_columns(self.columns, name)

    def without_target(self) -> Schema:
        """Return the facts about the features alone, by which public rows are read for a prediction."""
        return self.with_columns({name: column for name, column in self._columns if name != self.target})

    def with_columns(self, columns: Mapping[str, Column], target: str | None = None) -> Schema:
        """Return a schema of other columns, with the other facts of this one: norm, name, unit, persons, the form of its files."""
        made = object.__new__(Schema)
        facts = (self.name, self.unit, self.rows, self.dimension, self.units, self.form)
        persons = None if self.persons is None else self.persons.of_columns(columns)
        made._keep(columns, target, self.data_norm, *facts, persons, self.weight)
        return made

    def with_persons(self, persons: Persons | None) -> Schema:
        """Return the same facts with other persons, or with none."""
        made = object.__new__(Schema)
        facts = (self.target, self.data_norm, self.name, self.unit, self.rows, self.dimension, self.units, self.form)
        made._keep(self.columns, *facts, persons, self.weight)
        return made

    def of_public_rows(self) -> Schema:
        """Return the same facts for public rows, which belong to nobody and have no weights."""
        return self._without("persons", "weight")

    def without_weight(self) -> Schema:
        """Return the same facts for rows that all count alike."""
        return self._without("weight")

    def _without(self, *facts: str) -> Schema:
        made = object.__new__(Schema)
        vars(made).update({**self.__getstate__(), **dict.fromkeys(facts)})
        return made

    def only(self, columns: Iterable[str], target: str | None = None) -> Schema:
        """Return the facts about some of the columns of a table, in the declared order.

        `target` is one of them; by default the schema's own, if it is among them.
        """
        if self.dimension is not None:
            raise ArgumentError("only() chooses columns of a table; this schema is a vector.")
        wanted = [columns] if isinstance(columns, str) else list(columns)
        for name in wanted:
            if name not in self.columns:
                raise ArgumentError(f"schema {self.name!r} has the columns {', '.join(self.columns)}; got {name!r}.")
        kept = {name: column for name, column in self._columns if name in wanted}
        return self.with_columns(kept, self.target if target is None and self.target in kept else target)

    def design(self, terms: Sequence[str] | None = None) -> Design:
        """Return the public recipe that turns rows into the feature matrix of a regression, of all columns or of some terms."""
        from sfumato.schema.design import Design

        return Design.of(self, terms)

    # documents --------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return a versioned document that `from_json` reads back to an equal schema."""
        return documents.to_document(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | str) -> Schema:
        """Read a schema; another version, an unknown key or a fact still "REQUIRED" is refused."""
        return documents.from_document(documents.parse_json(document) if isinstance(document, str) else document)

    def to_toml(self) -> str:
        """Return the same document as TOML, for people to edit."""
        return documents.to_toml(self.to_json())

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read the TOML form, as strictly as `from_json`."""
        return documents.from_document(documents.parse_toml(text))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a .toml or .json file."""
        file = Path(path)
        kind = _validate.one_of("the ending of a schema file", file.suffix.lower(), (".toml", ".json"))
        try:
            text = file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{file.name} is not UTF-8 text: byte {error.start + 1} cannot be read. Save it as UTF-8 in your editor."
            ) from None
        return cls.from_toml(text) if kind == ".toml" else cls.from_json(text)

    def save(self, path: str | Path) -> None:
        """Write a .toml or .json file that `load` reads back to an equal schema."""
        file = Path(path)
        kind = _validate.one_of("the ending of a schema file", file.suffix.lower(), (".toml", ".json"))
        text = self.to_toml() if kind == ".toml" else json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"
        file.write_text(text, encoding="utf-8")

    @staticmethod
    def draft(
        source: object = None,
        header: bool | None = None,
        separator: str | None = None,
        encoding: str = "utf-8",
        persons: str | None = None,
        rows: str | None = None,
        columns: int | None = None,
    ) -> str:
        """Return the text of a TOML schema with "REQUIRED" wherever a public fact is still unknown.

        source: the path of a code book (text with the columns name, type, lower, upper, levels, ..., or .sav, .dta, .sas7bdat,
            .xpt by pyreadstat), of a Parquet or Arrow file, or an Arrow schema. Types and labels are read, never a value.
        header: True: `source` is a text file of data whose first line names the columns; that line alone is read, split at
            `separator` (by default the one of , ; tab | that splits it), and refused if it looks like a record. False: the file
            has no such line and so many `columns`, which are called c1, c2, ...; no file is opened.
        persons: the id column, where one person may have several rows; rows: what they are called, such as "visits".
        """
        from sfumato.schema.draft import draft

        return draft(source, header, separator, encoding, persons, rows, columns)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical document: the same for the same facts, in this order of columns."""
        document = self.to_json()
        ordered = [{"name": name, **facts} for name, facts in document.pop("columns", {}).items()]
        text = json.dumps({**document, "columns": ordered}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    # data -------------------------------------------------------------------------------------------------------

    @overload
    def check(
        self, data: object, y: object = None, *, counts: Literal[False] = False, roster: object = None
    ) -> None: ...
    @overload
    def check(self, data: object, y: object = None, *, counts: Literal[True], roster: object = None) -> Counts: ...

    def check(self, data: object, y: object = None, *, counts: bool = False, roster: object = None) -> Counts | None:
        """Raise if the structure of `data` does not fit; with counts=True also return how many cells would be changed.

        Without counts no row is read. The counts depend on the rows and carry no noise: they are for the curator's eyes
        alone, and are never published, logged or used to choose a bound of a release. Where one person may have several rows
        they include whose rows they are; `roster` is a file with all ids, by default the one that the schema names.
        """
        from sfumato.schema.outcome import attempt
        from sfumato.schema.reading import counted

        counted_cells = attempt(counted, data, y, self, counts, roster)
        del data, y, roster  # an error raised below keeps no rows in its traceback
        return counted_cells.get()

    def __repr__(self) -> str:
        what = f"{len(self._columns)} columns" if self.dimension is None else f"vector of {self.dimension}"
        shown = [repr(self.name), what, f"unit={self.unit!r}"]
        shown += [f"target={self.target!r}"] if self.target else []
        shown += [f"data_norm={self.data_norm:g}"] if self.data_norm is not None else []
        shown += [f"persons={self.persons.id!r}"] if self.persons is not None else []
        shown += [f"weight={self.weight.column!r}"] if self.weight is not None else []
        return f"Schema({', '.join(shown)})"

    def __str__(self) -> str:
        lines = [repr(self), *self.form.described()]
        if self.dimension is not None:
            lines.append(f"  {self.dimension} numbers with norm at most {self.data_norm:g} ({self.rows}); missing: 0")
        width = max((len(name) for name, _ in self._columns), default=0)
        for name, column in self._columns:
            lines.append(f"  {name:<{width}}  {column!r}{'  <- target' if name == self.target else ''}")
        return "\n".join(lines)
