"""Rows that an intruder with access to the database alone could add, with valid hashes and an untouched witness.

Each field of each kind of row is forged, one at a time: what follows from other fields is computed again wherever a row is read.
What follows from nothing is seen by the witness alone, once it has seen the row (docs/ledger.md).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ledger_places import TABLE, Place, PostgresPlace, SqlitePlace, gaussian, promise
from test_ledger_format import insert

import sfumato as sf
from sfumato.errors import FolderChanged, LedgerDamaged
from sfumato.ledger import Ledger, account, book, currency
from sfumato.ledger import chain as said
from sfumato.ledger.account import ROUNDING
from sfumato.ledger.chain import Chain
from sfumato.ledger.stored_rows import NO_NAME, VERSION, Row, canonical, digest, link
from sfumato.shells import ledger_report

BETA = sf.Profile("beta-pair", {"a": 30.0, "b": 30.0, "power": 0.5, "draws": 1})
DEAR = gaussian(0.05)
# The rows of the ledger that is forged, by kind.
REGISTER, CHARGE, BETA_CHARGE, SEAL, CLOCK, FOLDER = range(1, 7)


class Forgeable:
    """A ledger with a row of each kind, which can be cut before any of them and continued with another."""

    def __init__(self, place: Place) -> None:
        self.place = place
        ledger = place.open()
        ledger.register("survey", 1.0, 1e-6, tv=1e-8)
        ledger.charge("survey", gaussian(0.1), request_id="r1", plan_digest="plan")
        ledger.charge("survey", promise(BETA, trust="proved with slack", slack=1e-9), request_id="r2", delta0=2e-9)
        ledger.seal("survey", "r1", b"the release")
        now = book.now
        try:
            book.now = lambda: "2020-01-01T00:00:00.000000+00:00"
            ledger._book.write(lambda _, chain: (None, self._row(chain, "clock", said.clock(chain, "it was ahead"))))
            ledger._book.write(
                lambda view, chain: (None, self._row(chain, "folder", said.folder(chain, "it moved", view.folder)))
            )
        finally:
            book.now = now
        self.rows = place.rows()
        self.folder = json.loads(place.witness.read_text())["folder"]
        assert ledger.verify() == len(self.rows) == FOLDER

    @staticmethod
    def _row(chain: Chain, kind: str, content: Any) -> Row:
        return chain.next_row(kind, NO_NAME, str(chain.seq + 1), book.now(), content)

    def saying(self, seq: int) -> dict[str, Any]:
        """The payload of a row."""
        return json.loads(self.rows[seq - 1][4])

    def cut(self, seq: int) -> None:
        """Leave the rows before this one, and a witness that saw the last of them."""
        kept = self.rows[: seq - 1]
        self.place.edit(f"DELETE FROM {TABLE}", *(insert(self.place, self._stored(row)) for row in kept))
        self.seen()

    def seen(self) -> None:
        """Let the witness see the last row, as whoever forges both would."""
        seq, last = [(row[0], row[6]) for row in [(0,) * 6 + ("0" * 64,), *self.place.rows()]][-1]
        mark = {"sfumato": "witness", "version": 2, "seq": seq, "hash": last, "folder": self.folder}
        self.place.witness.write_text(json.dumps(mark))

    @staticmethod
    def _stored(row: tuple[Any, ...]) -> list[Any]:
        return [*row[:7], None if row[7] is None else bytes(row[7]).hex()]

    def append(self, seq: int, payload: str, data: bytes | None) -> None:
        """Add a row of this number with right hashes; its columns are those of the payload."""
        fields = json.loads(payload)
        previous = self.rows[seq - 2][6] if seq > 1 else "0" * 64
        kind, name, request = (str(fields.get(key, "")) for key in ("kind", "name", "request"))
        sealed = None if data is None else data.hex()
        row = [seq, kind, name, request, payload, previous, link(seq, previous, payload), sealed]
        self.place.edit(insert(self.place, row))


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def forgeable(request, tmp_path_factory) -> Forgeable:
    folder = tmp_path_factory.mktemp("forged")
    if request.param == "sqlite":
        return Forgeable(SqlitePlace(folder))
    return Forgeable(PostgresPlace(folder, request.getfixturevalue("server")))


def changed(fields: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The payload with one field changed, added, removed (`...`) or made from the old one."""
    first, _, rest = path.partition("/")
    if rest:
        return {**fields, first: changed(fields[first], rest, value)}
    new = value(fields[first]) if callable(value) else value
    return {**{k: v for k, v in fields.items() if k != first}, **({} if new is ... else {first: new})}


def repriced(fields: dict[str, Any], **price: Any) -> dict[str, Any]:
    """The payload with other amounts and the digest of its guarantee made right."""
    document = fields["guarantee"]
    right = digest(canonical(document))
    return {**fields, "guarantee_digest": right, "price": {**fields["price"], **price}}


EVERY = [
    ("version", VERSION - 1), ("version", float(VERSION)), ("version", str(VERSION)), ("kind", "refund"), ("kind", ...),
    ("name", " survey"), ("name", ...), ("request", "other  one"), ("request", ...), ("time", ...), ("time", 5),
    ("time", "zzzz"), ("time", "9999-01-01"), ("time", "2026-02-31T00:00:00.000000+00:00"), ("note", "one field more"),
]  # fmt: skip
EARLY = ("time", "2019-01-01T00:00:00.000000+00:00")
GUARANTEE = [
    ("guarantee/curve/mu", 1e-3), ("guarantee/adjacency", "replace-entry"), ("guarantee/unit", "person"), ("guarantee/draws", 2),
    ("guarantee/theorem", "another"), ("guarantee/source", "another"), ("guarantee/trust", "not private"),
    ("guarantee/slack", 1e-9), ("guarantee/version", 1), ("guarantee/assumptions", [{}]), ("guarantee/sfumato", "promise"),
    ("guarantee/note", 1),
]  # fmt: skip
FORGED: dict[int, list[tuple[str, Any]]] = {
    REGISTER: [
        ("kind", "charge"), ("request", "r1"), ("cap", lambda cap: cap * (1 + 3 * ROUNDING)),
        ("cap", lambda cap: cap * (1 - 1e-6)), ("cap", -1.0), ("cap", ...), ("cap", True), ("terms", ...),
        ("terms/epsilon", 2.0), ("terms/epsilon", 1), ("terms/delta", 2e-6), ("terms/currency", "zcdp"), ("terms/slack", 0.02),
        ("terms/order", 8.0), ("terms/adjacency", "metric"), ("terms/unit", ""), ("terms/tv", 2e-8), ("terms/id_column", "id"),
        ("terms/note", 1), ("terms/tv", ...), ("folder", "x"), ("folder", 7), ("folder", ...),
    ],
    CHARGE: [
        *GUARANTEE, EARLY, ("kind", "register"), ("kind", "seal"), ("guarantee_digest", "0" * 64), ("guarantee_digest", ...),
        ("plan_digest", "a  b"), ("plan_digest", ""), ("plan_digest", 5), ("plan_digest", ...), ("delta0", -1.0), ("delta0", 0),
        ("delta0", 1.0), ("delta0", ...), ("price", ...), ("price/amount", 1e-300),
        ("price/amount", lambda x: x * (1 - 3 * ROUNDING)), ("price/amount", lambda x: x * (1 + 3 * ROUNDING)),
        ("price/amount", "0.1"), ("price/delta0", 1e-10), ("price/tv", 1e-9), ("price/units", lambda x: x - 1),
        ("price/units", lambda x: x + 1), ("price/units", float), ("price/delta0_units", 1), ("price/tv_units", 1),
        ("price/note", 1),
    ],
    BETA_CHARGE: [
        ("delta0", 1e-9), ("delta0", None), ("price/amount", lambda x: x * (1 - 3 * ROUNDING)), ("price/delta0", 1e-9),
        ("price/delta0_units", lambda x: x - 1), ("price/tv", 0.0), ("price/tv_units", lambda x: x - 1),
        ("guarantee/curve/parameters/power", 0.6),
    ],
    SEAL: [
        EARLY, ("request", "free"), ("size", 12), ("size", 11.0), ("size", -1), ("size", ...), ("sha256", "0" * 63),
        ("sha256", 5), ("sha256", ...),
    ],
    CLOCK: [
        ("reason", ""), ("reason", "a  b"), ("reason", ...), ("before", "2020-01-01T00:00:00.000000+00:00"), ("before", ...),
        ("time", "2100-01-01T00:00:00.000000+00:00"), ("request", "4"),
    ],
    FOLDER: [
        EARLY, ("reason", ""), ("reason", 5), ("before", "99"), ("folder", "x"), ("folder", 5), ("request", "7"),
    ],
}  # fmt: skip
CASES = [
    (seq, *case) for seq, cases in FORGED.items() for case in [*EVERY, *cases, *[("name", "other")] * (seq > REGISTER)]
]


def uses(ledger: Ledger) -> dict[str, Any]:
    """Everything that reads rows."""
    return {
        "charge": lambda: ledger.charge("survey", gaussian(0.01), request_id="new"),
        "repeated": lambda: ledger.charge("survey", gaussian(0.1), request_id="r1", plan_digest="plan"),
        "register": lambda: ledger.register("more", 1.0, 1e-6),
        "finish": lambda: ledger.seal_first("survey", "r1", b"the release"),
        "spent": lambda: ledger.spent("survey"),
        "remaining": lambda: ledger.remaining("survey"),
        "history": lambda: ledger.history("survey"),
        "events": ledger.events,
        "report": lambda: ledger.report("survey"),
        "receipt": lambda: ledger.receipt("survey", "r1"),
        "status": lambda: ledger.status("survey", "r1"),
        "verify": ledger.verify,
    }


def refused(place: Place, ledger: Ledger, names: Any = ("charge", "verify")) -> None:
    """By a process that is new to the ledger, and by one that has read all rows but the last."""
    for use in (place.open, *(uses(ledger)[name] for name in names)):
        with pytest.raises(LedgerDamaged):
            use()


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Forgeable:
    """The same on SQLite alone, for what no database has a part in."""
    return Forgeable(SqlitePlace(tmp_path_factory.mktemp("written")))


def forged(ledger: Forgeable, seq: int, path: str, value: Any) -> str:
    """The payload of a row with one field forged."""
    payload = canonical(changed(ledger.saying(seq), path, value))
    assert payload != ledger.rows[seq - 1][4]
    return payload


@pytest.mark.parametrize(("seq", "path", "value"), CASES)
def test_a_row_with_one_forged_field_does_not_follow(written, seq, path, value):
    """Every database's rows go through `Chain.extended`, whoever reads them and why."""
    rows = [Row(*row[:7], None if row[7] is None else len(row[7])) for row in written.rows[:seq]]
    chain, payload = Chain().extended(rows[:-1]), forged(written, seq, path, value)
    fields = json.loads(payload)
    stated = [str(fields.get(key, "")) for key in ("kind", "name", "request")]
    with pytest.raises(LedgerDamaged, match=f"row {seq} "):
        chain.extended([Row(seq, *stated, payload, chain.hash, link(seq, chain.hash, payload), rows[-1].size)])
    assert chain.extended(rows[-1:]).seq == seq


@pytest.mark.parametrize(("seq", "path", "value"), CASES[::19])
def test_a_row_with_one_forged_field_is_damage(forgeable, seq, path, value):
    payload = forged(forgeable, seq, path, value)
    forgeable.cut(seq)
    ledger = forgeable.place.open()
    forgeable.append(seq, payload, forgeable.rows[seq - 1][7])
    refused(forgeable.place, ledger)


def test_a_charge_that_does_not_follow_from_its_guarantee_is_refused_by_every_use(forgeable, tmp_path):
    """The price of a dear guarantee, sound in itself but for its amount: twenty releases would fit under a budget of one."""
    document = json.loads(canonical(DEAR.to_json()))
    free = {"amount": 1e-300, "delta0": 0.0, "tv": 0.0, "units": 1, "delta0_units": 0, "tv_units": 0}
    fields = repriced({**forgeable.saying(CHARGE), "request": "free", "guarantee": document}, **free)
    forgeable.cut(SEAL)
    ledger = forgeable.place.open()
    forgeable.append(SEAL, canonical(fields), None)
    with pytest.raises(LedgerDamaged, match=f"row {SEAL} says what no ledger would write .its price cannot be so"):
        ledger.charge("survey", DEAR, request_id="free", plan_digest="plan")
    refused(forgeable.place, ledger, uses(ledger))
    if forgeable.place.kind == "sqlite":
        page = tmp_path / "page.html"
        assert ledger_report.write(forgeable.place.url, page, [], None, None, forgeable.place.witness)
        assert "FAILED" in page.read_text()


@pytest.mark.parametrize(("mu", "digests"), [(1e-3, True), (1e-3, False)])
def test_a_cheaper_guarantee_needs_its_own_price_and_digest(forgeable, mu, digests):
    forgeable.cut(CHARGE)
    ledger = forgeable.place.open()
    fields = changed(forgeable.saying(CHARGE), "guarantee/curve/mu", mu)
    price = ledger._registered("survey").price(gaussian(mu)).to_json()
    fields = repriced(fields) if digests else {**fields, "price": price}
    forgeable.append(CHARGE, canonical(fields), None)
    refused(forgeable.place, ledger)


@pytest.mark.parametrize("seq", [REGISTER, CHARGE, CLOCK])
def test_bytes_beside_a_row_that_seals_nothing_are_damage(forgeable, seq):
    forgeable.cut(seq)
    ledger = forgeable.place.open()
    forgeable.append(seq, forgeable.rows[seq - 1][4], b"anything")
    refused(forgeable.place, ledger)


@pytest.mark.parametrize("data", [None, b"", b"the releas"])
def test_a_seal_with_fewer_bytes_is_damage(forgeable, data):
    forgeable.cut(SEAL)
    ledger = forgeable.place.open()
    forgeable.append(SEAL, forgeable.rows[SEAL - 1][4], data)
    refused(forgeable.place, ledger)


def test_other_bytes_of_the_same_number_are_found_where_they_are_used(forgeable):
    forgeable.cut(SEAL)
    forgeable.append(SEAL, forgeable.rows[SEAL - 1][4], b"the RELEASE")
    ledger = forgeable.place.open()
    for use in (
        ledger.verify,
        lambda: ledger.sealed("survey", "r1"),
        lambda: ledger.seal("survey", "r1", b"the release"),
    ):
        with pytest.raises(LedgerDamaged, match=f"row {SEAL}"):
            use()


@pytest.mark.parametrize(
    "form", [lambda text: text.replace(":", ": ", 1), lambda text: text.replace("{", '{"time":"",', 1)]
)
def test_a_payload_in_another_form_is_damage(forgeable, form):
    """A space, or a field that is written twice, of which Python reads the second."""
    forgeable.cut(CHARGE)
    ledger = forgeable.place.open()
    forgeable.append(CHARGE, form(forgeable.rows[CHARGE - 1][4]), None)
    refused(forgeable.place, ledger)


@pytest.mark.parametrize("payload", ["[]", "{", '"text"', "[" * 100_000, '{"time": ' + "9" * 5000 + "}"])
def test_a_payload_that_is_no_row_is_damage(sqlite_place, payload):
    ledger = sqlite_place.open()
    ledger.register("survey", 1.0, 1e-6)
    previous = sqlite_place.rows()[-1][6]
    sqlite_place.edit(
        insert(sqlite_place, [2, "charge", "survey", "x", payload, previous, link(2, previous, payload), None])
    )
    refused(sqlite_place, ledger)


@pytest.mark.parametrize("column", ["kind", "name", "request", "payload", "previous", "hash"])
def test_a_column_that_another_says_otherwise_is_damage(forgeable, column):
    forgeable.cut(SEAL)
    ledger = forgeable.place.open()
    # Read before by this process, and then changed behind its back.
    forgeable.place.edit(f"UPDATE {TABLE} SET {column} = 'other' WHERE seq = {CHARGE}")
    for name in ("history", "receipt", "repeated", "verify", "report"):
        with pytest.raises(LedgerDamaged, match=f"row {CHARGE}"):
            uses(ledger)[name]()
    with pytest.raises(LedgerDamaged, match=f"row {CHARGE}"):
        forgeable.place.open()


@pytest.mark.parametrize("kind", ["charge", "seal"])
def test_a_second_charge_or_seal_of_an_id_is_damage_without_the_constraint(forgeable, kind):
    """The database refuses it, and so does the chain."""
    rows = [Row(*row[:7], None if row[7] is None else len(row[7])) for row in forgeable.rows[:SEAL]]
    chain = Chain().extended(rows)
    first = rows[CHARGE - 1] if kind == "charge" else rows[SEAL - 1]
    content = {k: v for k, v in first.fields.items() if k not in ("version", "kind", "name", "request", "time")}
    second = chain.next_row(kind, "survey", "r1", chain.time, content, first.size)
    with pytest.raises(LedgerDamaged, match=f"a second {kind}"):
        chain.extended([second])


FREE: list[tuple[int, dict[str, Any]]] = [
    (REGISTER, {"terms/unit": "person"}),
    (REGISTER, {"name": "other"}),
    (CHARGE, {"time": lambda time: f"{time[:25]}{9 - int(time[25])}+00:00"}),
    (CHARGE, {"request": "r0"}),
    (CHARGE, {"plan_digest": "another plan"}),
    (CLOCK, {"reason": "another"}),
    (FOLDER, {"reason": "another"}),
]


@pytest.mark.planted
@pytest.mark.parametrize(("seq", "changes"), FREE)
def test_a_field_that_follows_from_nothing_is_seen_by_the_witness(forgeable, seq, changes):
    """docs/ledger.md says so; without the witness the forged row passes."""
    fields = forgeable.saying(seq)
    for path, value in changes.items():
        fields = changed(fields, path, value)
    forgeable.cut(seq + 1)
    forgeable.place.edit(f"DELETE FROM {TABLE} WHERE seq = {seq}")
    forgeable.append(seq, canonical(fields), None)
    with pytest.raises(LedgerDamaged, match="is not the one that the witness saw"):
        forgeable.place.open()
    forgeable.place.witness.unlink()
    assert forgeable.place.open(new_witness=True).verify() == seq


def test_a_price_that_takes_a_search_is_searched_again_by_verify(forgeable, monkeypatch):
    """Where somebody forged the witness too, opening takes the row on trust; an opening without a forger takes no search."""
    searches = []
    real = currency.covering_mu
    monkeypatch.setattr(currency, "covering_mu", lambda *given: searches.append(given) or real(*given))
    account._cost.cache_clear()
    forgeable.cut(SEAL)
    assert forgeable.place.open().spent("survey").charges == 2
    assert searches == []
    payload = forged(forgeable, BETA_CHARGE, "price/amount", lambda x: x / 2)
    units = forgeable.saying(BETA_CHARGE)["price"]["units"]
    payload = payload.replace(f'"units":{units}', f'"units":{-(-units // 4)}')
    forgeable.cut(BETA_CHARGE)
    forgeable.append(BETA_CHARGE, payload, None)
    forgeable.seen()
    ledger = forgeable.place.open()
    with pytest.raises(LedgerDamaged, match="its price cannot be so"):
        ledger.verify()
    assert len(searches) == 1
    forgeable.place.witness.unlink()
    with pytest.raises(LedgerDamaged, match="its price cannot be so"):
        forgeable.place.open(new_witness=True)


def test_another_folder_in_a_row_is_refused(forgeable):
    """Of a registration, which no earlier row says, and of a row that says a later one."""
    other = str(int(forgeable.folder or 0) + 1)
    for seq in (REGISTER, FOLDER):
        forgeable.cut(seq)
        ledger = forgeable.place.open()
        forgeable.append(seq, canonical(changed(forgeable.saying(seq), "folder", other)), None)
        for use in (forgeable.place.open, ledger.verify, ledger.names):
            with pytest.raises(FolderChanged):
                use()
