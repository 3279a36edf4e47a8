"""Promises of the ledger that a small slip would break: sampler allowances, printed numbers, rows that nobody wrote, syncing."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import stat
from dataclasses import replace
from fractions import Fraction

import pytest
from ledger_oracle import gaussian_delta, revealing_delta
from ledger_places import TABLE, Place, gaussian, promise

import sfumato as sf
from sfumato.errors import LedgerDamaged, LedgerLocked, LedgerReadOnly, LedgerUnavailable, RequestConflict
from sfumato.ledger import Ledger, store, witness
from sfumato.ledger.account import Account, shown, shown_down
from sfumato.ledger.currency import cap_of
from sfumato.ledger.locks import FileLock
from sfumato.ledger.stored_rows import link
from sfumato.ledger.terms import Terms
from sfumato.ledger.units import UNITS
from sfumato.ledger.witness import Mark, Witness

CURRENCIES = [{}, {"currency": "zcdp"}, {"currency": "renyi", "order": 16.0}]
BETA = sf.Profile("beta-pair", {"a": 30.0, "b": 30.0, "power": 0.5, "draws": 1})


def account(epsilon=3.0, delta=1e-6, **terms) -> Account:
    registered = Terms(epsilon, delta, **terms)
    return Account("survey", registered, cap_of(registered))


def filled(place: Place, charges: int = 2) -> Ledger:
    ledger = place.open()
    ledger.register("survey", 3.0, 1e-6)
    for k in range(charges):
        ledger.charge("survey", gaussian(0.1), request_id=f"r{k}")
    return ledger


# --- what the cap and the printed epsilons count ----------------------------------------------------------------------


def test_a_charge_that_fits_but_for_its_reveal_probability_is_refused_for_that_alone():
    """At the last unit nothing is over: the sentence on the slack would blame the wrong budget."""
    book = account(slack=0.01)
    price = replace(book.of_amounts(0.1, 0.0, 0.0), delta0_units=UNITS + 1)
    full = replace(book, units=UNITS - price.units)
    assert "reveal probability" in full._why(price)
    assert "too much by" in replace(full, units=full.units + 1)._why(price)


@pytest.mark.parametrize("terms", CURRENCIES)
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_the_allowance_of_inexact_samplers_is_paid_out_of_delta(terms, share):
    """A cap with tv is the cap of the smaller delta that (1 + e^epsilon) tv leaves, in every currency."""
    tv = share * 1e-6 / (1 + math.exp(3.0))
    paid = cap_of(Terms(3.0, 1e-6, slack=0.0, tv=tv, **terms))
    smaller = cap_of(Terms(3.0, (1 - share) * 1e-6, slack=0.0, **terms))
    assert paid == pytest.approx(smaller, rel=1e-9)
    assert paid < cap_of(Terms(3.0, 1e-6, slack=0.0, **terms))


def test_a_price_in_rho_is_never_below_half_the_square_of_mu():
    book = account(currency="zcdp")
    for k in range(1, 60):
        mu = 0.01 + 0.0037 * k
        assert Fraction(book.price(gaussian(mu)).amount) >= Fraction(mu) ** 2 / 2


def test_the_spent_epsilon_counts_the_probability_of_revealing():
    book = account(slack=0.5)
    curve = sf.Profile("revealing-gaussian", {"mu": 0.3, "delta": 4e-7})
    price = book.price(promise(curve))
    spent = book.plus(price).epsilon()
    assert revealing_delta(spent, 0.3, 4e-7) <= 1e-6
    assert revealing_delta(spent * (1 - 1e-6), 0.3, 4e-7) > 1e-6
    assert book.exhausted(price).requested == pytest.approx(spent, rel=1e-9)


def test_the_requested_epsilon_counts_the_sampler():
    book = account(tv=2e-9)
    price = book.price(gaussian(0.3, trust="proved with slack", slack=1e-8))
    asked = book.exhausted(price).requested
    assert gaussian_delta(asked, 0.3) + (1 + math.exp(asked)) * 1e-8 <= 1e-6
    assert asked > 1.01 * sf.Gaussian(0.3).epsilon(1e-6)


def test_what_is_spent_is_printed_rounded_up_and_what_is_left_rounded_down():
    for k in range(1, 200):
        value = 1.2345 + 0.000037 * k
        assert value * (1 - 1e-11) <= float(shown(value)) <= value * 1.001
        assert value * 0.999 <= float(shown_down(value)) <= value * (1 + 1e-11)
    said = []
    for mu in (0.31, 0.42, 0.53, 0.61):
        book = account().plus(account().price(gaussian(mu)))
        error = book.exhausted(book.price(gaussian(0.6)))
        said = [
            float(x)
            for x in re.findall(r"epsilon (\S+) of|requested (\S+),|remaining (\S+) \(", str(error))
            for x in x
            if x
        ]
        assert said[0] >= error.spent * (1 - 1e-11)
        assert said[1] >= error.requested * (1 - 1e-11)
        assert said[2] <= error.remaining * (1 + 1e-11)
    assert len(said) == 3


@pytest.mark.parametrize("over", [0.0003, 0.01, 0.019])
def test_a_charge_that_is_a_little_too_large_is_told_by_how_much(over):
    book = account()
    said = str(book.exhausted(book.price(gaussian(book.cap * math.sqrt(1 + over)))))
    assert float(re.search(r"too much by (\S+)% of the budget", said).group(1)) == pytest.approx(100 * over, abs=0.006)
    assert "1% of delta is set aside" in said
    assert "set aside" not in str(book.exhausted(book.price(gaussian(1.1 * book.cap))))


def test_the_reveal_probability_that_is_left_is_what_was_not_taken():
    book = account()
    price = book.price(promise(BETA), delta0=4e-9)
    twice = book.plus(price).plus(price)
    said = str(twice.exhausted(price))
    left, taken = map(float, re.search(r"registration (\S+) is left, and the charge takes (\S+):", said).groups())
    assert left == pytest.approx(2e-9, rel=1e-3)
    assert taken == pytest.approx(4e-9, rel=1e-3)
    assert twice.delta0 == pytest.approx(8e-9, rel=1e-12)
    assert twice.tv == 0


# --- receipts, what is spent and the report ---------------------------------------------------------------------------


def test_reveals_and_samplers_are_told_apart_in_what_is_spent(sqlite_place):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6, tv=4e-9)
    receipt = ledger.charge(
        "survey", promise(BETA, trust="proved with slack", slack=1e-9), request_id="r1", delta0=5e-9
    )
    assert (receipt.delta0, receipt.tv) == (5e-9, 1e-9)
    assert "reveal probability 5e-09, total variation 1e-09 (" in str(receipt)
    spent = ledger.spent("survey")
    assert spent.delta0 == pytest.approx(5e-9)
    assert spent.tv == pytest.approx(1e-9)
    assert "chance of a failure, reveal probability 5e-09 of 1e-08, total variation 1e-09 of 4e-09" in str(spent)
    for text in (str(receipt), str(spent)):
        assert float(re.search(r"(\S+) % of the budget", text).group(1).lstrip("(")) == pytest.approx(
            100 * receipt.units / UNITS, rel=1e-3
        )


@pytest.mark.parametrize(
    ("terms", "amounts"), [(CURRENCIES[1], (None, 0.005, None)), (CURRENCIES[2], (None, None, 0.08))]
)
def test_what_is_spent_is_told_in_its_own_currency(sqlite_place, terms, amounts):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6, **terms)
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    spent = ledger.spent("survey")
    assert (spent.mu, spent.rho, spent.renyi) == pytest.approx(amounts)


def test_the_amount_on_a_receipt_is_never_printed_smaller_than_it_is(sqlite_place):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    for mu in (0.100009, 0.0123411, 0.0765433):
        text = str(ledger.charge("survey", gaussian(mu), request_id=str(mu)))
        assert mu <= float(re.search(r"charged mu (\S+) \(", text).group(1)) <= 1.001 * mu


def test_a_report_counts_the_slack_of_every_sampler(sqlite_place):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6, tv=4e-8)
    inexact = gaussian(0.1, trust="proved with slack", slack=1e-8)
    for k, each in enumerate((gaussian(0.1), inexact, inexact)):
        ledger.charge("survey", each, request_id=f"r{k}")
    report = ledger.report("survey")
    assert report.guarantee.slack == pytest.approx(2e-8)
    assert report.guarantee.trust == "proved with slack"
    total = gaussian_delta(report.epsilon, math.sqrt(0.03)) + (1 + math.exp(report.epsilon)) * 2e-8
    assert 0.999e-6 < total <= 1e-6 * (1 + 1e-12)


def test_the_same_request_with_another_share_of_the_reveal_probability_is_refused(sqlite_place):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    ledger.charge("survey", promise(BETA), request_id="r1", delta0=1e-9)
    with pytest.raises(RequestConflict, match="another delta0"):
        ledger.charge("survey", promise(BETA), request_id="r1", delta0=2e-9)


# --- rows that nobody wrote (and test_ledger_intruder.py) -----------------------------------------------------------------


def test_a_row_moved_to_another_number_does_not_fit_its_hash():
    assert len({link(seq, "0" * 64, "{}") for seq in range(1, 9)}) == 8


@pytest.mark.parametrize("page", [1, 2, 3])
def test_every_row_is_read_whatever_the_length_of_a_page(place, monkeypatch, page):
    filled(place, 6).seal("survey", "r0", b"the release")
    monkeypatch.setattr(store, "_PAGE", page)
    again = place.open()
    assert again.verify() == 8
    assert again.spent("survey").charges == 6
    place.edit(f"UPDATE {TABLE} SET hash = previous WHERE seq = 8")
    with pytest.raises(LedgerDamaged, match="row 8 "):
        place.open()


# --- the witness ------------------------------------------------------------------------------------------------------


def test_a_repeated_request_moves_the_witness_on(place):
    """A crash between commit and witness, then the request again: its receipt is out, so the witness must know its row."""
    ledger = filled(place, 1)
    before = place.witness.read_bytes()
    receipt = ledger.charge("survey", gaussian(0.1), request_id="r1")
    place.witness.write_bytes(before)
    assert ledger.charge("survey", gaussian(0.1), request_id="r1") == receipt
    assert json.loads(place.witness.read_text())["seq"] == receipt.seq


@pytest.mark.parametrize("ahead", [0, 1])
def test_verifying_compares_the_witness(sqlite_place, ahead):
    ledger = filled(sqlite_place)
    said = json.loads(sqlite_place.witness.read_text())
    sqlite_place.witness.write_text(json.dumps({**said, "seq": said["seq"] + ahead, "hash": "f" * 64}))
    with pytest.raises(LedgerDamaged, match="the witness saw"):
        ledger.verify()


@pytest.mark.parametrize("changes", [{"sfumato": "other"}, {"hash": "0" * 63}, {"seq": -1}])
def test_a_witness_that_says_something_else_is_refused(sqlite_place, changes):
    filled(sqlite_place)
    said = json.loads(sqlite_place.witness.read_text())
    sqlite_place.witness.write_text(json.dumps({**said, **changes}))
    with pytest.raises(LedgerDamaged, match="not readable"):
        sqlite_place.open()


def test_a_witness_is_synced_before_it_takes_its_place_and_its_folder_after(tmp_path, monkeypatch):
    path, done = tmp_path / "w", []
    Witness(path).advance(Mark(1, "1" * 64))
    real_sync, real_replace = os.fsync, os.replace

    def sync(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        # Until the new one is on disk the old one stands.
        assert Witness(path).read().seq == (1 if done[-1] == "file" else 2)
        real_sync(handle)

    def replace(source: object, target: object) -> None:
        done.append("replace")
        real_replace(source, target)

    monkeypatch.setattr(witness.os, "fsync", sync)
    monkeypatch.setattr(witness.os, "replace", replace)
    Witness(path).advance(Mark(2, "2" * 64))
    assert done == ["file", "replace", "folder"]


# --- the databases ----------------------------------------------------------------------------------------------------


def test_a_place_without_a_write_ahead_log_is_refused(sqlite_place, monkeypatch):
    ledger = filled(sqlite_place, 0)

    class Elsewhere(sqlite3.Connection):
        """A file system on which SQLite falls back to another kind of log."""

        def execute(self, statement, *values):
            return super().execute("SELECT 'delete'" if "journal_mode" in statement else statement, *values)

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **{**k, "factory": Elsewhere}))
    with pytest.raises(LedgerUnavailable, match="write-ahead log"):
        ledger.charge("survey", gaussian(0.1), request_id="r1")


def test_sqlite_asks_the_drive_to_sync_too(sqlite_place):
    connection = sqlite_place.open()._book.store._connect()
    assert connection.execute("PRAGMA fullfsync").fetchone() == (1,)
    connection.close()


def test_a_postgresql_charge_is_on_disk_whatever_the_role_prefers(postgres_place):
    ledger = filled(postgres_place, 0)
    postgres_place.admin(f"ALTER ROLE {postgres_place.name} SET synchronous_commit = off")
    with ledger._book.store.writing() as act:
        assert act.value("SHOW synchronous_commit") == "on"


def test_a_postgresql_table_cannot_be_emptied(postgres_place):
    import psycopg

    filled(postgres_place)
    with postgres_place.connect() as connection, pytest.raises(psycopg.Error, match="append-only"):
        connection.execute(f"TRUNCATE {TABLE}")
    assert postgres_place.open().verify() == 3


def test_a_question_sees_one_state_of_the_table(postgres_place):
    ledger, other = filled(postgres_place, 1), postgres_place.open()
    with ledger._book.store.reading() as view:
        before = len(list(view.rows(1)))
        other.charge("survey", gaussian(0.1), request_id="meanwhile")
        assert len(list(view.rows(1))) == before
        assert view.value("SHOW transaction_read_only") == "on"


# --- locks ------------------------------------------------------------------------------------------------------------


def test_a_lock_keeps_others_out_and_a_forked_child_does_not_open_it(tmp_path):
    mine, other = FileLock(tmp_path / "l", "mine"), FileLock(tmp_path / "l", "other")
    child = -1  # nobody was forked yet
    try:
        with mine.held(1.0):
            with pytest.raises(LedgerLocked), other.held(0.01):
                pytest.fail("two held the lock")
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                with pytest.raises(LedgerLocked), other.held(0.01):
                    pytest.fail("the child opened the lock of its parent")
    finally:
        if child == 0:
            os._exit(0)
    with other.held(1.0):
        assert other.path.exists()


def test_nothing_is_charged_where_the_witness_cannot_be_written(sqlite_place, monkeypatch):
    ledger = filled(sqlite_place, 0)
    before = sqlite_place.rows()
    monkeypatch.setattr(witness.os, "access", lambda *_: False)
    with pytest.raises(LedgerReadOnly, match="witness"):
        ledger.charge("survey", gaussian(0.1), request_id="r1")
    assert sqlite_place.rows() == before
