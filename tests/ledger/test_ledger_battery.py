"""What every ledger does, on SQLite and on PostgreSQL: register, charge, replay, seal, ask, copy."""

from __future__ import annotations

import copy
import json
import math
import pickle

import pytest
from ledger_places import gaussian, promise

import sfumato as sf
from sfumato.errors import ArgumentError, ChargeRefused, ClockSetBack, LedgerExhausted, RequestConflict
from sfumato.ledger import Ledger, Receipt, book
from sfumato.ledger.units import UNITS
from sfumato.privacy.convert import gaussian_mu
from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.sharing import share

BETA = sf.Profile("beta-bernoulli", {"alpha": 6, "beta": 12, "n": 100, "power": 0.2, "draws": 1})


@pytest.fixture
def ledger(place) -> Ledger:
    made = place.open()
    made.register("survey", epsilon=3.0, delta=1e-6)
    return made


def test_registering_twice_is_registering_once(place, ledger):
    ledger.register("survey", epsilon=3.0, delta=1e-6, currency="gdp", slack=0.01)
    assert len(place.rows()) == 1
    for changes in ({"epsilon": 2.0}, {"slack": 0.02}, {"currency": "zcdp"}, {"unit": "household"}, {"tv": 1e-9}):
        with pytest.raises(RequestConflict, match="for ever"):
            ledger.register("survey", **{"epsilon": 3.0, "delta": 1e-6, **changes})
    ledger.register("other", 1.0, 1e-5, currency="renyi", order=16)
    assert ledger.names() == ["other", "survey"]
    assert len(place.rows()) == 2


def test_a_charge_is_there_for_everybody(place, ledger):
    receipt = ledger.charge("survey", gaussian(0.1), request_id="r1", plan_digest="abc")
    other = place.open()
    assert other.status("survey", "r1") == "charged"
    assert other.status("survey", "r2") == "unknown"
    spent = other.spent("survey")
    assert (spent.charges, spent.units) == (1, receipt.units)
    assert spent.mu == pytest.approx(0.1, rel=1e-12)
    assert (spent.rho, spent.renyi) == (None, None)
    assert spent.mu >= 0.1
    assert spent.epsilon == pytest.approx(sf.Gaussian(0.1).epsilon(1e-6), rel=1e-6)
    assert "spent epsilon 0.3969 of 3 at delta 1e-06" in str(spent)
    assert "in 1 charge, 2.386 % of the budget (counted as mu 0.1 of 0.6475)" in str(spent)
    assert "one row replaced" in str(spent)


def test_the_same_request_is_charged_once(place, ledger):
    first = ledger.charge("survey", gaussian(0.1), request_id="r1", plan_digest="abc")
    again = place.open().charge("survey", gaussian(0.1), request_id="r1", plan_digest="abc")
    assert again == first
    assert Receipt.from_json(json.loads(json.dumps(first.to_json()))) == first
    assert "charged mu 0.1 (" in str(first)
    for guarantee, digest, word in (
        (gaussian(0.05), "abc", "guarantee"),
        (gaussian(0.1, theorem="another"), "abc", "guarantee"),
        (gaussian(0.1), "def", "plan"),
        (gaussian(0.1), None, "plan"),
    ):
        with pytest.raises(RequestConflict, match=f"another {word}"):
            ledger.charge("survey", guarantee, request_id="r1", plan_digest=digest)
    assert ledger.spent("survey").charges == 1
    # The same id under another name is another request.
    ledger.register("other", 3.0, 1e-6)
    ledger.charge("other", gaussian(0.05), request_id="r1")


def test_a_replay_needs_no_budget(ledger):
    whole = promise(ledger.remaining("survey"))
    receipt = ledger.charge("survey", whole, request_id="all")
    with pytest.raises(LedgerExhausted):
        ledger.charge("survey", gaussian(0.01), request_id="more")
    assert ledger.charge("survey", whole, request_id="all") == receipt


def test_an_exhausted_ledger_says_what_is_left(place, ledger):
    ledger.charge("survey", gaussian(0.5), request_id="r1")
    before = place.rows()
    with pytest.raises(LedgerExhausted) as caught:
        ledger.charge("survey", gaussian(0.6), request_id="r2")
    error = caught.value
    said = str(error)
    for word in (
        "Spent epsilon 2.255 of 3",
        "requested 2.756",
        "remaining 1.821",
        "at delta 1e-06",
        "ledger.remaining('survey')",
    ):
        assert word in said, said
    assert error.spent == pytest.approx(sf.Gaussian(0.5).epsilon(1e-6), rel=1e-9)
    assert error.requested == pytest.approx(sf.Gaussian(0.6).epsilon(1e-6), rel=1e-9)
    left = math.sqrt(ledger.spent("survey").account.cap ** 2 - 0.25)
    assert error.remaining == pytest.approx(sf.Gaussian(left).epsilon(1e-6 * 0.99), rel=1e-6)
    assert pickle.loads(pickle.dumps(error)).remaining == error.remaining
    assert place.rows() == before
    assert ledger.status("survey", "r2") == "unknown"


def test_a_beta_draw_a_gaussian_draw_and_a_pure_draw_share_one_ledger(ledger):
    beta = ledger.charge("survey", promise(BETA), request_id="beta")
    ledger.charge("survey", gaussian(0.2), request_id="gaussian")
    ledger.charge("survey", promise(sf.Pure(0.2)), request_id="pure")
    ledger.charge("survey", promise(ledger.remaining("survey")), request_id="rest")
    spent = ledger.spent("survey")
    assert spent.charges == 4
    assert UNITS - 1000 <= spent.units <= UNITS
    assert beta.delta0 > 0
    assert spent.delta0 == pytest.approx(2 * beta.delta0)
    with pytest.raises(LedgerExhausted):
        ledger.charge("survey", promise(sf.Pure(1e-3)), request_id="late")


@pytest.mark.parametrize("terms", [{}, {"currency": "zcdp"}, {"currency": "renyi", "order": 16}])
def test_what_remains_fits_once_and_can_be_shared(ledger, terms):
    ledger.register("fresh", 3.0, 1e-6, **terms)
    for k, part in enumerate(share(ledger.remaining("fresh"), 3)):
        ledger.charge("fresh", promise(part), request_id=f"part{k}")
    left = ledger.remaining("fresh")
    ledger.charge("fresh", promise(left), request_id="left")
    with pytest.raises(LedgerExhausted):
        ledger.charge("fresh", promise(left), request_id="again")
    kinds = {"gdp": sf.Profile, "zcdp": sf.Gaussian, "renyi": sf.Renyi}
    assert isinstance(ledger.remaining("fresh"), kinds[terms.get("currency", "gdp")])


def test_a_price_less_the_slack_fits_a_fresh_ledger_once(ledger):
    mu = gaussian_mu(3.0, 1e-6 * (1 - 0.01))
    ledger.charge("survey", gaussian(mu), request_id="r1")
    with pytest.raises(LedgerExhausted):
        ledger.charge("survey", gaussian(mu), request_id="r2")


def test_sixty_four_reveals_and_no_more(ledger):
    ledger.register("many", 3.0, 1e-6)
    curve = sf.Profile("revealing-gaussian", {"mu": 1e-3, "delta": ledger.remaining("many").parameters["delta"]})
    for k in range(63):
        ledger.charge("many", promise(curve), request_id=f"r{k}")
    assert ledger.remaining("many").parameters["delta"] > 0
    ledger.charge("many", promise(curve), request_id="r63")
    assert ledger.remaining("many").parameters["delta"] == 0
    with pytest.raises(LedgerExhausted, match="reveal probability"):
        ledger.charge("many", promise(curve), request_id="r64")
    ledger.charge("many", gaussian(0.1), request_id="a curve with its own mu")


class Stranger(Curve):
    """A curve of the user's own that says whatever it likes."""

    kind = "stranger"
    mu = 0.01

    def _delta(self, epsilon):
        return 0.5

    _epsilon = _renyi = _delta

    def to_json(self):
        return {"curve": "stranger"}


def tampered(mu: float) -> sf.Guarantee:
    """A frozen Gaussian changed behind its back, as no constructor allows."""
    curve = sf.Gaussian(0.1)
    object.__setattr__(curve, "mu_value", mu)
    return promise(curve)


REFUSED = {
    "seeded": (gaussian(0.1, trust="not private"), "trust"),
    "not converged": (gaussian(0.1, trust="assumes converged"), "trust"),
    "another neighbour": (gaussian(0.1, adjacency="replace-entry"), "adjacency"),
    "another unit": (gaussian(0.1, unit="household"), "unit"),
    "a distance": (promise(sf.Metric(0.1, 0.0, "|x - y|"), adjacency="metric"), "distance"),
    "inexact sampler": (gaussian(0.1, trust="proved with slack", slack=1e-9), "total-variation"),
    "vacuous": (gaussian(1e4), "vacuous"),
    "reveals all": (promise(sf.Profile("approximate", {"epsilon": 0.0, "delta": 1.0})), "vacuous"),
    "zero": (gaussian(0.0), "finite number"),
    "zero pure": (promise(sf.Pure(0.0)), "finite number"),
    "subnormal": (gaussian(5e-324), "finite number"),
    "negative": (tampered(-1.0), "read back"),
    "NaN": (tampered(math.nan), "read back"),
    "infinite": (tampered(math.inf), "read back"),
    "unknown curve": (promise(Stranger()), "read back"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_charged_is_refused_and_leaves_no_row(sqlite_place, why):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    before = sqlite_place.rows()
    guarantee, said = REFUSED[why]
    with pytest.raises(ChargeRefused, match=said):
        ledger.charge("survey", guarantee, request_id="r1")
    assert sqlite_place.rows() == before
    assert ledger.status("survey", "r1") == "unknown"


@pytest.mark.parametrize("currency", [{"currency": "zcdp"}, {"currency": "renyi", "order": 8.0}])
@pytest.mark.parametrize(
    "curve", [sf.Gaussian(0.0), sf.Renyi([8], [math.inf]), sf.Renyi([8], [0.0]), sf.Renyi([8], [5e-324])]
)
def test_other_currencies_refuse_what_is_no_price(sqlite_place, currency, curve):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6, **currency)
    with pytest.raises(ChargeRefused):
        ledger.charge("survey", promise(curve), request_id="r1")
    assert len(sqlite_place.rows()) == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ledger: ledger.charge("nobody", gaussian(0.1), request_id="r"), "registered one"),
        (lambda ledger: ledger.charge("survey", sf.Gaussian(0.1), request_id="r"), "must be a Guarantee"),
        (lambda ledger: ledger.charge("survey", gaussian(0.1), request_id=""), "request_id"),
        (lambda ledger: ledger.charge("survey", gaussian(0.1), request_id="a\x00b"), "request_id"),
        (lambda ledger: ledger.charge("survey", gaussian(0.1), request_id="x" * 201), "request_id"),
        (lambda ledger: ledger.charge("survey", gaussian(0.1), request_id=None), "request_id"),
        (lambda ledger: ledger.register("", 1.0, 1e-6), "name"),
        (lambda ledger: ledger.seal("survey", "r1", "text"), "bytes"),
        (lambda ledger: ledger.spent("nobody"), "survey"),
        (lambda ledger: Ledger.open(":memory:"), "outlive"),
        (lambda ledger: Ledger.open("mysql://host/db"), "postgresql://"),
        (lambda ledger: Ledger.open(""), "path"),
    ],
)
def test_wrong_arguments_are_named(sqlite_place, call, said):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    with pytest.raises(ArgumentError, match=said):
        call(ledger)


def test_sealing(place, ledger):
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    assert ledger.sealed("survey", "r1") is None
    data = bytes(range(256)) * 100
    ledger.seal("survey", "r1", data)
    ledger.seal("survey", "r1", data)
    assert ledger.status("survey", "r1") == "sealed"
    assert place.open().sealed("survey", "r1") == data
    with pytest.raises(RequestConflict, match="other bytes"):
        ledger.seal("survey", "r1", b"others")
    with pytest.raises(RequestConflict, match="never charged"):
        ledger.seal("survey", "r2", data)
    assert [entry.kind for entry in ledger.history("survey")] == ["register", "charge", "seal"]
    assert ledger.verify() == 3


def test_history_and_report(ledger):
    ledger.charge("survey", gaussian(0.3), request_id="r1")
    ledger.charge("survey", promise(sf.Pure(0.2)), request_id="r2")
    entries = ledger.history("survey")
    assert [entry.request_id for entry in entries] == ["", "r1", "r2"]
    assert entries[1].guarantee == gaussian(0.3)
    assert "request 'r1' charged mu 0.3" in str(entries[1])
    assert "registered" in str(entries[0])
    report = ledger.report("survey")
    assert "information, not the promise" in str(report)
    # The tight composition costs less than the filter's total, which covers the pure curve by a Gaussian.
    assert sf.Gaussian(0.3).epsilon(1e-6) < report.epsilon < ledger.spent("survey").epsilon
    assert ledger.report("survey").guarantee.draws == 2
    ledger.register("empty", 1.0, 1e-6)
    assert "nothing charged" in str(ledger.report("empty"))


def test_a_clock_set_back_stops_charges_but_not_seals(place, ledger, monkeypatch):
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    before = place.rows()
    monkeypatch.setattr(book, "now", lambda: "2001-01-01T00:00:00.000000+00:00")
    for act in (
        lambda: ledger.charge("survey", gaussian(0.1), request_id="r2"),
        lambda: place.open().charge("survey", gaussian(0.1), request_id="r2"),
        lambda: ledger.register("other", 1.0, 1e-6),
    ):
        with pytest.raises(ClockSetBack, match="2001-01-01"):
            act()
    assert place.rows() == before
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").request_id == "r1"
    ledger.seal("survey", "r1", b"drawn before the clock was moved")
    monkeypatch.undo()
    ledger.charge("survey", gaussian(0.1), request_id="r2")
    assert ledger.verify() == 4


def test_a_clock_that_was_once_ahead_is_accepted_on_the_record(place, ledger, monkeypatch):
    monkeypatch.setattr(book, "now", lambda: "2101-01-01T00:00:00.000000+00:00")
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    monkeypatch.undo()
    for _ in range(2):
        with pytest.raises(ClockSetBack, match="accept_clock"):
            ledger.charge("survey", gaussian(0.1), request_id="r2")
    ledger.accept_clock("the machine woke up in 2101")
    ledger.charge("survey", gaussian(0.1), request_id="r2")
    place.open().charge("survey", gaussian(0.1), request_id="r3")
    (event,) = ledger.events()
    assert event.kind == "clock"
    assert "the machine woke up in 2101" in str(event)
    rows = ledger.verify()
    ledger.accept_clock("nothing to accept: the clock is not behind")
    assert ledger.verify() == rows
    # A clock that goes back again is refused again.
    monkeypatch.setattr(book, "now", lambda: "2001-01-01T00:00:00.000000+00:00")
    with pytest.raises(ClockSetBack):
        ledger.charge("survey", gaussian(0.1), request_id="r4")


def test_what_is_charged_is_what_is_recorded(ledger):
    """A guarantee whose document is dearer than its curve is charged as the document says."""

    class Cheap(Guarantee):
        def to_json(self):
            return {**super().to_json(), "curve": gaussian(0.3).to_json()["curve"]}

    plain = gaussian(0.1)
    lying = Cheap(plain.curve, plain.adjacency, plain.theorem, plain.source)
    receipt = ledger.charge("survey", lying, request_id="r1")
    assert receipt.amount == ledger.charge("survey", gaussian(0.3), request_id="r2").amount
    assert ledger.history("survey")[1].guarantee == gaussian(0.3)


def test_a_clock_a_little_behind_is_tolerated(sqlite_place, monkeypatch):
    ledger = sqlite_place.open()
    times = iter(
        ["2026-11-01T12:00:30.000000+00:00", "2026-11-01T12:00:00.000000+00:00", "2026-11-01T11:59:29.000000+00:00"]
    )
    monkeypatch.setattr(book, "now", lambda: next(times))
    ledger.register("survey", 3.0, 1e-6)
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    # It is the latest row that counts: going back a little each time is going back.
    with pytest.raises(ClockSetBack):
        ledger.charge("survey", gaussian(0.1), request_id="r2")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda ledger: pickle.loads(pickle.dumps(ledger))])
def test_copies_are_the_same_ledger(place, ledger, copied):
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    other = copied(ledger)
    assert other == ledger
    assert hash(other) == hash(ledger)
    assert (other.url, other.witness) == (ledger.url, ledger.witness)
    other.charge("survey", gaussian(0.1), request_id="r2")
    assert ledger.spent("survey").charges == 2
    other.close()


def test_a_password_is_never_shown():
    ledger = Ledger("postgresql://curator:secret@db.example/budgets?sslpassword=hidden", witness="w")
    assert "secret" not in repr(ledger) + str(ledger)
    assert "hidden" not in repr(ledger)
    assert "curator@db.example/budgets" in repr(ledger)


def test_places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("sys.platform", "linux")
    (tmp_path / "link.db").symlink_to(tmp_path / "budget.db")
    names = ["budget.db", tmp_path / "budget.db", "sqlite:///budget.db", f"sqlite:///{tmp_path}/budget.db", "link.db"]
    assert len({Ledger(name) for name in names}) == 1
    assert Ledger("budget.db").witness == tmp_path / "budget.db.witness"
    one, two = (Ledger(f"postgresql://me:{word}@host/db").witness for word in ("secret", "changed"))
    assert one == two
    assert one.parent == tmp_path / "state" / "sfumato"
    assert Ledger("postgresql://me@host/other").witness != one
