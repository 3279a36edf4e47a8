"""A spec file: which data, which model, at what price, charged to which ledger. TOML, read strictly, and nothing else.

    [data]    file, schema, n, roster
    [model]   family or regression or network, with its columns and public numbers
    [price]   epsilon, delta, draws, mechanism, goal
    [expect]  what is expected of the rows, for the widths that `sfumato plan` prints; optional
    [ledger]  file, name, request
    [engine]  rows, memory, or dask with its certificate: where the rows are while they are summed; optional

File names are relative to the spec's own folder. An unknown key is an error that names the known ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato._private_files import refuse_private
from sfumato.errors import ArgumentError, FormatError
from sfumato.ledger.url_and_witness import Location
from sfumato.models.model import LOSSES
from sfumato.schema import Schema
from sfumato.schema.documents import toml_key
from sfumato.shells import spec_engine as engines
from sfumato.shells.file_kinds import expect
from sfumato.shells.ledger_places import open_existing, place_in
from sfumato.shells.spec_keys import known_keys
from sfumato.shells.spec_models import check_columns, read_model
from sfumato.shells.spec_persons import check_number, number_of, other_number, register_options, roster_of
from sfumato.shells.toml_files import read_toml

if TYPE_CHECKING:
    from sfumato.models.reading import FamilyOrGibbs

# The keys of each table; those of [model] depend on the model (`spec_models`).
_KEYS = {
    "data": ("file", "schema", "n", "roster"),
    "price": ("epsilon", "delta", "draws", "mechanism", "goal", "steps", "robust", "allow_weak"),
    "ledger": ("file", "url", "name", "request", "witness"),
    "engine": engines.KEYS,
}
# Runs behind all widths of a price list, and behind those of one price: of up to 100 coefficients a run takes about 0.15 s, and a
# list should take no more than 20 s. Its time grows with the square of the number of coefficients.
_LIST_RUNS, _FEWEST_RUNS, _FAST = 120, 4, 100
# Mechanisms that release a path of noisy gradients.
_PATHS = ("auto", "shaped-path", "langevin-path")

# The file that `sfumato spec` writes.
TEMPLATE = """\
# What is released, from which records, at what price. Every number here is public: none is read from the records.
[data]
file = {data}
schema = {schema}

[model]                        # {released}; other models are shown in the documentation of the spec file
family = {family}
column = {column}
# by = "region"                # one for every level of another column

[price]
epsilon = 1.0
delta = 1e-6                   # far below one in the number of records
draws = 1                      # of noisy statistics any number costs the same

[ledger]                       # the budget; make it with: sfumato ledger create {ledger}
file = {ledger}
name = {name}
"""


@dataclass(frozen=True)
class Spec:
    """A parsed spec: paths, the schema of the columns that the model uses and the whole one, the model, price and ledger."""

    path: Path
    data: Path | None
    n: int | None
    schema: Schema
    whole: Schema
    model: FamilyOrGibbs
    price: Mapping[str, Any]
    ledger: Mapping[str, Any]
    expect: Any = None
    roster: Path | None = None
    engine: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> Spec:
        """Read a spec file; errors name the key and the file."""
        file = expect(Path(path), "spec")
        document = read_toml(file)
        known_keys(file.name, document, ("data", "model", "price", "expect", "ledger", "engine"), "a spec")
        for part in ("data", "model", "price"):
            if not isinstance(document.get(part), Mapping):
                raise FormatError(f"{file.name} has no table [{part}]. Write one: see sfumato spec --help.")
        for part, keys in _KEYS.items():
            known_keys(file.name, document.get(part, {}), keys, f"[{part}]")
        facts = document["data"]
        if "schema" not in facts:
            raise FormatError(f'{file.name}: [data] needs schema = "<file>.toml", the public facts about a record.')
        declared = expect(file.parent / _text(facts, "schema", file.name), "schema")
        whole = Schema.load(declared)
        model, schema = read_model(file.name, dict(document["model"]), whole)
        check_columns(file.name, model, schema)
        data = file.parent / _text(facts, "file", file.name) if "file" in facts else None
        price = dict(document["price"])
        for needed in ("epsilon", "delta"):
            if needed not in price:
                raise FormatError(
                    f"{file.name}: [price] needs {needed}. Write epsilon = 1.0 and delta = 1e-6 (far below one in n)."
                )
        n = facts.get("n")
        if n is not None:
            n = _records(file.name, n)
            check_number(whole, n, f"{file.name}: n in [data]")
        listed = file.parent / _text(facts, "roster", file.name) if "roster" in facts else None
        roster = roster_of(whole, declared.parent, listed)
        ledger = dict(document.get("ledger", {}))
        for key in ledger:
            _text(ledger, key, file.name)
        expected = _expected(file, document.get("expect"), data, schema)
        where = engines.checked(file, document.get("engine", {}))
        return cls(file, data, n, schema, whole, model, price, ledger, expected, roster, where)

    def dataset(self) -> Any:
        """Open the data file under the schema."""
        if self.data is None:
            raise ArgumentError(f'{self.path.name}: [data] needs file = "<data>.csv" for a release.')
        try:
            data = engines.opened(self.data, self.schema, self.roster, self.engine)
        except ArgumentError as error:
            if not self.engine:
                raise
            raise ArgumentError(f"{self.path.name}, with its [engine]: {error}") from None
        if data.n == 0:
            raise ArgumentError(f"{(self.roster or self.data).name} is empty: it holds no record.")
        if self.n is not None and data.n != self.n:
            if self.roster is not None:
                raise ArgumentError(other_number(self.schema, self.path.name, self.roster))
            raise ArgumentError(
                f"{self.path.name} says n = {self.n:,} and {self.data.name} has another number of records."
            )
        return data

    def records(self) -> int:
        """The number of records, which is public: the spec's, that of the declared persons, or counted in the data."""
        if self.schema.persons is not None and self.roster is not None and self.roster.is_file():
            count = number_of(self.schema, self.roster)
            if self.n not in (None, count):
                raise ArgumentError(other_number(self.schema, self.path.name, self.roster))
            return count
        if self.n is not None:
            return self.n
        counted = replace(self, engine=engines.without_card(self.engine))
        return int(counted.dataset().n) if self.schema.persons is None else number_of(self.schema, self.roster)

    def plan(self, n: int | None = None, **changed: Any) -> Any:
        """The plan for n records; `changed` replaces numbers of [price]."""
        from sfumato.planning import plan

        options = {**self.price, **changed}
        robust = options.pop("robust", False)
        if not isinstance(robust, bool):
            raise FormatError(f"{self.path.name}: robust in [price] must be true or false; got {robust!r}.")
        count = self.records() if n is None else _records("--n", n)
        check_number(self.schema, count, "--n")
        if self.model.summed == LOSSES:
            options.setdefault("goal", "estimate")
            if options["goal"] == "estimate" and options.get("mechanism", "auto") in _PATHS:
                # The gradients are free, and intervals of a plain path need them; the matrix of the scores has its share.
                options.setdefault("keep", ("transcript", *(("scores",) if robust else ())))
        elif not self.model.drawn:
            options.setdefault("goal", "estimate")  # there is no posterior to draw from
        return plan(self.model, count, **options, persons=self.schema.persons, weight=self.schema.weight)

    def expected_widths(self, plan: Any, runs: int | None = None, whole: bool = False, most: int | None = None) -> Any:
        """The expected half-widths of a regression's coefficients; None for other models."""
        if self.model.summed != LOSSES:
            return None
        from sfumato.rehearsing import expected_widths
        from sfumato.rehearsing.expected_rows import ExpectedRows

        public = isinstance(self.expect, Path)
        witness = Location.of(*place_in(self.path, self.ledger)).witness if public and self.ledger else None
        try:
            # Apart from the widths: what is wrong with [expect] is no reason why a release has no intervals.
            refuse_private(self.expect, witness)
            expected = ExpectedRows.of(self.schema, self.expect)
        except ArgumentError as error:
            raise self._unexpected(error) from error
        try:
            return expected_widths(plan, self.schema, expected, runs=runs, whole=whole, most=most)
        except ArgumentError as error:
            raise (self._unexpected(error) if str(error).startswith("rows:") else error) from error

    def _unexpected(self, error: ArgumentError) -> FormatError:
        # A fact is shown as the file writes it.
        said = getattr(error, "toml", "") or str(error).removeprefix("rows: ")
        return FormatError(f"{self.path.name}: [expect] {said}")

    def narrowness(self, plan: Any, prices: int = 1) -> Any:
        """The expected widths at one price of a list of so many, from as many runs as time allows; None without intervals."""
        slow = 1 + ((self.model.size or 1) // _FAST) ** 2
        try:
            return self.expected_widths(plan, most=max(_FEWEST_RUNS, _LIST_RUNS // prices // slow))
        except ArgumentError:
            return None

    def request(self, plan: Any) -> str:
        """The request's name: the spec's, or one made from the plan's digest, so that repeating a command costs nothing."""
        return str(self.ledger.get("request") or f"{self.path.stem} {plan.digest[:12]}")

    def open_ledger(self) -> Any:
        """The ledger that the spec names, or None."""
        if not self.ledger:
            return None
        place, witness = place_in(self.path, self.ledger)
        file = self.ledger.get("file")
        if file is not None and not (self.path.parent / file).exists():
            options = "" if self.schema.persons is None else f" and {register_options(self.schema)}"
            raise ArgumentError(
                f"there is no ledger {file!r}. Make it with: sfumato ledger create {file}, then register "
                f"{self.ledger.get('name', self.schema.name)!r} with its whole budget{options}."
            )
        return open_existing(place, witness)


def _expected(file: Path, facts: Any, data: Path | None, schema: Schema) -> Any:
    """The facts of [expect], or the path of a public table: rows = "public.csv"; the private table is refused."""
    if facts is None:
        return None
    if not isinstance(facts, Mapping):
        raise FormatError(f"{file.name}: [expect] must be a table of facts about the rows.")
    if isinstance(facts.get("rows"), str):
        if len(facts) > 1:
            raise FormatError(f'{file.name}: [expect] takes rows = "<public table>.csv" alone, or facts about columns.')
        public = file.parent / facts["rows"]
        if data is not None and _same_file(public, data):
            raise FormatError(
                f"{file.name}: rows in [expect] is the private table of [data]: widths that were computed from it would reveal "
                "it, and nothing would be charged. Name a public table, or declare means and shares."
            )
        return public
    for name, fact in facts.items():
        if not isinstance(fact, Mapping | int | float):
            like = f" such as {_example(schema, name)}" if name in schema.columns else ""
            raise FormatError(
                f"{file.name}: [expect] {name} must be a number or a table{like}; got {_validate.shown(fact)}."
            )
    return dict(facts)


def _example(schema: Schema, name: str) -> str:
    """A fact about this column that the spec could declare."""
    from sfumato.rehearsing.fact_examples import example_of, in_toml

    return f"{toml_key(name)} = {in_toml(example_of(schema.columns[name]))}"


def _same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by other names or links too."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist, or cannot be looked at
        return one.resolve() == other.resolve()


def _records(where: str, n: object) -> int:
    """A number of records; the error names the place where it was given."""
    try:
        return _validate.records("n", n)
    except ArgumentError as error:
        raise FormatError(f"{where}: {error}") from None


def _text(facts: Mapping[str, Any], key: str, file: str) -> str:
    if not isinstance(facts[key], str):
        raise FormatError(f"{file}: {key} must be a text in quotes; got {_validate.shown(facts[key])}.")
    return str(facts[key])
