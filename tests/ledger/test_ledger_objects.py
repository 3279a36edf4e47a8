"""Databases that keep, change or drop rows by rules of their own: refused before any row is read, and after each is written."""

from __future__ import annotations

from typing import Any

import pytest
from ledger_places import TABLE, Place, gaussian

from sfumato.errors import LedgerDamaged, LedgerUnavailable
from sfumato.ledger import Ledger, postgres, sqlite
from sfumato.ledger.store import Transaction

# What makes the rows vanish or change: in SQLite a statement, in PostgreSQL the body of a trigger's function.
DROPS = "SELECT RAISE(IGNORE);"
NEWER = sqlite._TABLE.replace("kind TEXT NOT NULL", "kind TEXT NOT NULL COLLATE NOCASE")


def rebuilt(text: str) -> list[str]:
    """Statements that make the table anew in another way, with all rows."""
    return [
        f"ALTER TABLE {TABLE} RENAME TO kept", text, f"INSERT INTO {TABLE} SELECT * FROM kept", "DROP TABLE kept"
    ]  # fmt: skip


SQLITE: dict[str, list[str]] = {
    "a trigger that drops rows": [f"CREATE TRIGGER d BEFORE INSERT ON {TABLE} BEGIN {DROPS} END"],
    "a trigger after inserts": [f"CREATE TRIGGER d AFTER INSERT ON {TABLE} BEGIN SELECT 1; END"],
    "a view in the place of the table": [
        f"ALTER TABLE {TABLE} RENAME TO kept",
        f"CREATE VIEW {TABLE} AS SELECT * FROM kept",
    ],
    "a view beside it": [f"CREATE VIEW v AS SELECT * FROM {TABLE}"],
    "another table": ["CREATE TABLE other (x)"],
    "statistics": ["ANALYZE"],
    "a partial index": [f"CREATE UNIQUE INDEX i ON {TABLE} (name) WHERE kind = 'charge'"],
    "an index that computes": [f"CREATE INDEX i ON {TABLE} (abs(seq))"],
    "a column more": [f"ALTER TABLE {TABLE} ADD COLUMN x TEXT DEFAULT 'y'"],
    "a generated column": [f"ALTER TABLE {TABLE} ADD COLUMN x TEXT GENERATED ALWAYS AS (kind) VIRTUAL"],
    "another collation": rebuilt(NEWER),
    "another type": rebuilt(sqlite._TABLE.replace("payload TEXT", "payload BLOB")),
    "no constraint on numbers": rebuilt(sqlite._TABLE.replace(" CHECK (seq >= 1)", "")),
    "no constraint on requests": rebuilt(sqlite._TABLE.replace(", UNIQUE (name, request, kind)", "")),
    "a text in the schema": [
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET sql = replace(sql, 'seq >= 1', 'seq >= 0') WHERE name = '{TABLE}'",
    ],
}


def function(body: str) -> str:
    return f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"


def trigger(when: str) -> str:
    return f"CREATE {when} ON {TABLE} FOR EACH ROW EXECUTE FUNCTION f()"


ONLY = f"CREATE OR REPLACE FUNCTION {TABLE}_append_only() RETURNS trigger LANGUAGE plpgsql AS"
POSTGRES: dict[str, list[str]] = {
    "a trigger that drops rows": [function("RETURN NULL;"), trigger("TRIGGER d BEFORE INSERT")],
    "a trigger at the commit": [
        function("RETURN NULL;"),
        f"CREATE CONSTRAINT TRIGGER d AFTER INSERT ON {TABLE} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f()",
    ],
    "a rule": [f"CREATE RULE r AS ON INSERT TO {TABLE} DO INSTEAD NOTHING"],
    "row security": [f"ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY"],
    "forced row security": [f"ALTER TABLE {TABLE} FORCE ROW LEVEL SECURITY"],
    "a policy": [f"CREATE POLICY p ON {TABLE} USING (seq < 2)"],
    "a view in the place of the table": [
        f"ALTER TABLE {TABLE} RENAME TO kept",
        f"CREATE VIEW {TABLE} AS SELECT * FROM kept",
        f"COMMENT ON VIEW {TABLE} IS 'sfumato ledger format 3'",
        "GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {schema}",
    ],
    "a default": [f"ALTER TABLE {TABLE} ALTER COLUMN data SET DEFAULT 'x'"],
    "another type": [f"ALTER TABLE {TABLE} ALTER COLUMN kind TYPE varchar(400)"],
    "another collation": [f'ALTER TABLE {TABLE} ALTER COLUMN kind TYPE text COLLATE "C"'],
    "a column that may be empty": [f"ALTER TABLE {TABLE} ALTER COLUMN kind DROP NOT NULL"],
    "a column more": [f"ALTER TABLE {TABLE} ADD COLUMN x INT"],
    "a generated column": [f"ALTER TABLE {TABLE} ADD COLUMN x TEXT GENERATED ALWAYS AS (kind) STORED"],
    "a partial index": [f"CREATE UNIQUE INDEX i ON {TABLE} (name) WHERE kind = 'charge'"],
    "an index that computes": [f"CREATE INDEX i ON {TABLE} (lower(kind))"],
    "a table that inherits": [f"CREATE TABLE heir () INHERITS ({TABLE})"],
    "a table that is not logged": [f"ALTER TABLE {TABLE} SET UNLOGGED"],
    "a table that refers to it": [f"CREATE TABLE other (seq BIGINT REFERENCES {TABLE})"],
    "no constraint on numbers": [f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_seq"],
    "an unchecked constraint": [
        f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_seq, ADD CONSTRAINT {TABLE}_seq CHECK (seq >= 1) NOT VALID"
    ],
    "a constraint that can wait": [
        f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_name_request_kind_key",
        f"ALTER TABLE {TABLE} ADD UNIQUE (name, request, kind) DEFERRABLE",
    ],
    "a trigger that does nothing": [f"{ONLY} $$ BEGIN RETURN NULL; END $$"],
    "operators of another schema": [
        "CREATE SCHEMA {schema}_evil AUTHORIZATION {schema}",
        'ALTER ROLE {schema} SET search_path = {schema}_evil, pg_catalog, "$user"',
    ],
}
CASES = [("sqlite", each) for each in SQLITE] + [("postgres", each) for each in POSTGRES]


def filled(place: Place) -> Ledger:
    ledger = place.open()
    ledger.register("survey", 3.0, 1e-6)
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    return ledger


def refuses(place: Place, ledger: Ledger) -> None:
    for use in (
        lambda: ledger.charge("survey", gaussian(0.1), request_id="r2"),
        lambda: ledger.charge("survey", gaussian(0.1), request_id="r1"),
        lambda: ledger.seal_first("survey", "r1", b"bytes"),
        ledger.verify,
        place.open,
    ):
        with pytest.raises(LedgerDamaged, match=r"holds what the ledger did not make|holds no ledger"):
            use()


@pytest.mark.parametrize(("place", "what"), CASES, indirect=["place"])
def test_a_database_with_other_objects_is_refused(request, place, what):
    ledger = filled(place)
    statements = SQLITE[what] if place.kind == "sqlite" else POSTGRES[what]
    before = place.rows()
    place.edit(*(each.format(schema=getattr(place, "name", "")) if "{schema}" in each else each for each in statements))
    refuses(place, ledger)
    assert [row[:7] for row in place.rows()] == [row[:7] for row in before]


@pytest.mark.parametrize("name", list(sqlite._TRIGGERS))
def test_a_sqlite_table_that_lost_a_trigger_is_refused(sqlite_place, name):
    ledger = filled(sqlite_place)
    connection = sqlite_place._connect()
    connection.execute(f"DROP TRIGGER {name}")
    connection.close()
    refuses(sqlite_place, ledger)


@pytest.mark.parametrize(
    "statement", [f"DROP TRIGGER {TABLE}_append_only ON {TABLE}", f"ALTER TABLE {TABLE} DISABLE TRIGGER ALL"]
)
def test_a_postgresql_table_without_its_trigger_is_refused(postgres_place, statement):
    ledger = filled(postgres_place)
    postgres_place.admin(statement)
    refuses(postgres_place, ledger)


# The databases where an intruder found a way past the list of objects.
CHANGES: list[tuple[str, list[str]]] = [
    ("sqlite", [f"CREATE TRIGGER d BEFORE INSERT ON {TABLE} BEGIN {DROPS} END"]),
    *(
        ("sqlite", [
            f"DROP TRIGGER {TABLE}_no_update",
            f"CREATE TRIGGER d AFTER INSERT ON {TABLE} BEGIN UPDATE {TABLE} SET {change} WHERE seq = NEW.seq; END",
        ])
        for change in ("kind = 'x'", "data = x'0000000000'")
    ),
    ("postgres", [function("RETURN NULL;"), trigger("TRIGGER d BEFORE INSERT")]),
    ("postgres", [function("NEW.kind := 'x'; RETURN NEW;"), trigger("TRIGGER d BEFORE INSERT")]),
    ("postgres", [function("NEW.data := 'bytez'; RETURN NEW;"), trigger("TRIGGER d BEFORE INSERT")]),
    ("postgres", [f"CREATE RULE r AS ON INSERT TO {TABLE} DO INSTEAD NOTHING"]),
]  # fmt: skip


@pytest.mark.parametrize(("place", "statements"), CHANGES, indirect=["place"])
@pytest.mark.parametrize("what", ["charge", "seal"])
def test_a_row_that_was_not_kept_as_written_is_taken_back(place, statements, what, monkeypatch):
    ledger = filled(place)
    for store in (sqlite.SqliteTransaction, postgres.PostgresTransaction):
        monkeypatch.setattr(store, "altered", lambda _: "")
    connection: Any = None
    if place.kind == "sqlite":
        connection = place._connect()
        for statement in statements:
            connection.execute(statement)
        connection.close()
    else:
        place.admin(*statements)
    before = place.rows()
    use = {
        "charge": lambda: ledger.charge("survey", gaussian(0.1), request_id="r2"),
        "seal": lambda: ledger.seal("survey", "r1", b"bytes"),
    }[what]
    with pytest.raises(LedgerDamaged, match="did not keep row 3"):
        use()
    assert place.rows() == before
    assert ledger.spent("survey").charges == 1


def test_two_ledgers_with_one_witness_are_told_apart(tmp_path):
    """The second is empty, and the witness has seen rows."""
    witness = tmp_path / "witness"
    one, two = (Ledger.open(tmp_path / name, witness) for name in ("one.db", "two.db"))
    one.register("survey", 3.0, 1e-6)
    for use in (
        lambda: two.register("survey", 3.0, 1e-6),
        two.names,
        lambda: Ledger.open(tmp_path / "three.db", witness),
    ):
        with pytest.raises(LedgerDamaged):
            use()


def test_a_database_replaced_in_an_open_transaction_is_not_charged(sqlite_place, monkeypatch):
    """What is committed would go to the file that is no longer there."""
    ledger = filled(sqlite_place)
    sqlite_place.backup()
    append = Transaction.append

    def replaced(view: Transaction, *row: Any) -> None:
        append(view, *row)
        sqlite_place.path.rename(sqlite_place.path.with_name("away.db"))
        sqlite_place.restore()

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "append", replaced)
        with pytest.raises(LedgerUnavailable, match="was replaced while it was in use"):
            ledger.charge("survey", gaussian(0.1), request_id="r2")
    assert ledger.charge("survey", gaussian(0.1), request_id="r2").seq == 3
    assert sqlite_place.open().verify() == 3
