"""The report of a ledger: its numbers against sums made here, its checks against planted damage, its texts against markup."""

from __future__ import annotations

import html
import json
import math
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

import sfumato as sf
from command_line import typed
from forging import forge, stored
from sfumato import signing
from sfumato.ledger.records import Entry, Receipt
from sfumato.privacy.guarantee import Guarantee
from sfumato.shells import demo, ledger_report, ledger_report_left, ledger_report_releases, ledger_report_state
from sfumato.shells.ledger_report_checks import Check
from sfumato.shells.ledger_report_timeline import by_time, limits, timeline
from sfumato.shells.ledger_report_times import time_axis
from sfumato.shells.ledger_report_view import View, looked

MARKUP = "<script src=//x></script>\"><img src=x onerror=alert(1)></title></style><a href='javascript:alert(1)'>"
MUS = (0.1, 0.2, 0.3)
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def paid(mu: float, unit: str = "row") -> Guarantee:
    """A guarantee of mu-GDP, as a plan would have it."""
    return Guarantee(sf.Gaussian(mu), "replace-one", "Gaussian mechanism", "a test", unit=unit)


def together(mus) -> float:
    """Epsilon at delta 1e-6 of Gaussian mechanisms: squares of mu add (Dong, Roth and Su 2022, Corollary 3.3)."""
    return sf.Gaussian(math.sqrt(math.fsum(mu**2 for mu in mus))).epsilon(1e-6)


@pytest.fixture
def ledger(tmp_path):
    """A ledger of one data set with three charges."""
    with sf.Ledger.open(tmp_path / "budget.db") as made:
        made.register("survey", 3.0, 1e-6)
        for k, mu in enumerate(MUS):
            made.charge("survey", paid(mu), f"r{k}")
        yield made


def publish(ledger, request: str, name: str = "survey", column: str = "ill", unit: str = "row") -> sf.Release:
    """A rate of 400 records, charged and sealed."""
    schema = sf.Schema({column: sf.Boolean(missing=False)}, name=name, unit=unit)
    data = sf.Dataset.from_table({column: np.arange(400) % 3 == 0}, schema=schema)
    plan = sf.plan(sf.families.BetaBernoulli(alpha=1, beta=1), 400, 0.5, 1e-7, mechanism="noisy-statistics")
    return sf.publish(plan, data, ledger, name, request)


def text_of(ledger, files=(), **options) -> str:
    return ledger_report.page(looked(ledger, files, **options))


def entries(times, mu: float = 0.02, name: str = "survey") -> list[Entry]:
    """Rows of a registration and a charge at each time, without a database."""
    rows = [Entry(1, "register", START.isoformat(), "", "0" * 64, None, None)]
    for k, time in enumerate(times):
        number = (name, f"request {k}", k + 2, time.isoformat(), "gdp", mu, 0.0, 0.0, 1, "0" * 64, None, "0" * 64)
        rows.append(Entry(k + 2, "charge", time.isoformat(), f"request {k}", "0" * 64, Receipt(*number), paid(mu)))
    return rows


def budget_at(ledger, times, mu: float = 0.02):
    return ledger_report_state.budget(ledger.spent("survey").account, entries(times, mu))


# --- numbers ---------------------------------------------------------------------------------------------------------------


def test_every_running_total_is_the_composition_of_the_charges_before_it(ledger):
    budget = ledger_report_state.read(ledger, "survey")
    for k, charge in enumerate(budget.charges):
        assert charge.total == pytest.approx(together(MUS[: k + 1]), rel=1e-9)
        assert charge.alone == pytest.approx(together(MUS[k : k + 1]), rel=1e-9)
    assert budget.account == ledger.spent("survey").account
    text = text_of(ledger)
    for k in range(1, 4):
        total = together(MUS[:k])
        digits = 3 - math.floor(math.log10(total))
        assert f"<td>{math.ceil(total * 10**digits - 1e-9) / 10**digits:.4g}</td>" in text


def test_the_timeline_steps_at_every_charge_up_to_its_total(ledger):
    chart = timeline(ledger_report_state.read(ledger, "survey"))
    heights = [round(height, 9) for _, height in chart.marks[0].points]
    totals = [round(together(MUS[:k]), 9) for k in range(4)]
    assert heights == [totals[0], *(each for pair in pairwise(totals) for each in pair), totals[3]]
    assert chart.marks[-1].at == 3.0
    assert sum(len(mark.points) for mark in chart.marks[1:-1]) == 3


def test_the_bar_is_the_share_of_squares_of_mu(ledger):
    account = ledger_report_state.read(ledger, "survey").account
    [(what, spent)] = limits(account)
    assert what == "mu"
    assert spent == pytest.approx(math.fsum(mu**2 for mu in MUS) / account.cap**2, rel=1e-9)


def test_a_reveal_probability_has_a_bar_of_its_own(ledger):
    curve = sf.plan(sf.families.BetaBernoulli(alpha=6, beta=12), 1000, 0.5, 1e-7, mechanism="diffused").guarantee
    ledger.charge("survey", curve, "a draw")
    assert ("reveal probability", 1 / 64) in [(what, round(spent, 9)) for what, spent in limits(_account(ledger))]


def _account(ledger):
    return ledger_report_state.read(ledger, "survey").account


def test_as_many_repetitions_as_are_said_fit_and_not_one_more(ledger):
    budget = ledger_report_state.read(ledger, "survey")
    times = ledger_report_left.times_left(budget.account, budget.charges[-1].price)
    assert times >= 1
    for k in range(times):
        ledger.charge("survey", paid(0.3), f"again {k}")
    with pytest.raises(sf.errors.LedgerExhausted):
        ledger.charge("survey", paid(0.3), "one too many")


def test_repetitions_are_limited_by_the_reveal_probability_too(ledger):
    account = _account(ledger)
    price = account.of_amounts(1e-6, account.terms.allotment, 0.0)
    times = ledger_report_left.times_left(account, price)
    for _ in range(times):
        account = account.plus(price)
    assert times == 64
    assert not account.admits(price)


def test_what_is_left_buys_less_when_less_is_left_and_nothing_at_the_end(ledger):
    rate, histogram = ledger_report_left.examples(_account(ledger), 5000)
    assert float(rate.whole[2:]) < float(rate.part[2:])
    assert float(histogram.whole[2:]) < float(histogram.part[2:])
    rest = sf.plan(
        sf.families.BetaBernoulli(alpha=1, beta=1), 500, target=ledger.remaining("survey"), mechanism="noisy-statistics"
    )
    ledger.charge("survey", rest.guarantee, "the rest")
    text = text_of(ledger)
    assert (
        ledger_report_left.times_left(_account(ledger), ledger_report_state.read(ledger, "survey").charges[0].price)
        == 0
    )
    assert "Nothing more fits" in text


def test_each_data_set_has_its_own_promise_and_numbers(ledger):
    ledger.register("staff", 1.0, 1e-6, unit="employee")
    ledger.charge("staff", paid(0.05, "employee"), "pay")
    view = looked(ledger)
    staff, survey = (ledger_report._promised(budget) for budget, _ in view.budgets)
    assert "is (1, 1e-06)-differentially private together, for every employee" in staff
    assert f"Spent: epsilon {ledger.spent('staff').epsilon:.3g}" in staff
    assert "is (3, 1e-06)-differentially private together, for every row" in survey
    spent = ledger.spent("survey").epsilon
    row = re.search(
        r'<th scope="row">survey</th><td>\(3, 1e-06\) for every row</td><td>([0-9.]+)</td>', ledger_report.page(view)
    )
    assert spent <= float(row[1]) <= spent * 1.001
    only = text_of(ledger, name="staff")
    assert "pay" in only
    assert "r2" not in only


# --- the timeline ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "form"),
    [
        (timedelta(minutes=40), "%H:%M"),
        (timedelta(hours=30), "%Y-%m-%d"),
        (timedelta(days=11), "%Y-%m"),
        (timedelta(days=300), "%Y"),
    ],
)
def test_dates_stand_where_they_are(step, form):
    last = START + 12 * step
    axis = time_axis(START, last)
    assert 1 <= len(axis.ticks) <= 4
    for at, written in axis.ticks:
        assert datetime.fromtimestamp(at, UTC).strftime(form) == written
        assert START.timestamp() <= at <= last.timestamp()


def test_times_too_close_to_draw_are_replaced_by_the_order(ledger):
    spread = [START + timedelta(days=3 * k) for k in range(9)]
    bursts = [START + timedelta(seconds=k) for k in range(8)] + [START + timedelta(days=30)]
    assert by_time(budget_at(ledger, spread))
    assert not by_time(budget_at(ledger, bursts))
    assert (
        timeline(budget_at(ledger, bursts)).x.name == "number of the charge (UTC 2026-01-05 09:00 to 2026-02-04 09:00)"
    )


def test_five_hundred_charges_stay_readable_and_small(ledger):
    budget = budget_at(ledger, [START + timedelta(hours=7 * k) for k in range(500)])
    text = ledger_report.page(View("budget.db", ((budget, ()),), (), (), (), "budget.db.witness", None))
    assert len(text.encode()) < 2_000_000
    assert text.count("charged; nothing was sealed") == 500
    shown, _, folded = text.partition("<summary>The 440 earlier charges</summary>")
    assert shown.count("charged; nothing was sealed") == 60
    assert folded.count("charged; nothing was sealed") == 440


# --- checks ----------------------------------------------------------------------------------------------------------------


def test_the_command_writes_the_page_and_compares_the_files(ledger, tmp_path, monkeypatch, capsys):
    publish(ledger, "ill in 2026").save(tmp_path / "ill.sfumato")
    words = ("ledger", "report", tmp_path / "budget.db", "-o", tmp_path / "x.html", tmp_path / "ill.sfumato")
    code, out, err = typed(monkeypatch, capsys, *words)
    assert (code, err) == (0, "")
    assert f"wrote {tmp_path / 'x.html'}" in out
    text = (tmp_path / "x.html").read_text()
    assert "FAILED" not in text
    assert "ill.sfumato</th><td>every part" in text
    assert "all 7 checks passed" in text
    assert '<h3>ill in 2026</h3><p class="lead">Rate of ill; charge 4 of ' in text
    assert typed(monkeypatch, capsys, *words)[0] == 2, "a page is not written over without --force"


def test_a_file_that_differs_is_shown_as_failed_at_the_top(ledger, tmp_path, monkeypatch, capsys):
    publish(ledger, "ill in 2026")
    other = tmp_path / "other"
    other.mkdir()
    with sf.Ledger.open(other / "budget.db") as second:
        second.register("survey", 3.0, 1e-6)
        publish(second, "ill in 2026").save(tmp_path / "ill.sfumato")
    words = ("ledger", "report", tmp_path / "budget.db", "-o", tmp_path / "x.html", tmp_path / "ill.sfumato")
    code, out, err = typed(monkeypatch, capsys, *words)
    assert code == 3
    assert "wrote" in out
    assert err.startswith("sfumato: 1 check FAILED")
    text = (tmp_path / "x.html").read_text()
    top = text[: text.index("<h2>")]
    assert "FAILED: 1 of 7 checks." in top
    assert "it was edited afterwards" in top
    assert '<div class="alarm">FAILED: the file differs' in text


def test_a_file_that_is_no_whole_release_fails_and_one_that_is_seeded_is_warned_of(ledger, tmp_path):
    broken, rehearsed = tmp_path / "broken.sfumato", tmp_path / "seeded.sfumato"
    broken.write_bytes(stored("rate noisy")[:-3] + b"abc")
    rehearsed.write_bytes(stored("rate seeded"))
    view = looked(ledger, (broken, rehearsed))
    assert {check.subject for check in view.failed} == {"broken.sfumato", "seeded.sfumato"}
    text = ledger_report.page(view)
    assert "NOT PRIVATE: seeded.sfumato was made with a seeded stream" in text
    assert "NOT PRIVATE: broken" not in text


class Forger:
    """A ledger that returns other bytes than were sealed."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def sealed(self, *_) -> bytes:
        return self.data


@pytest.mark.parametrize(
    ("edits", "reason"),
    [({"draws[0,0]": 0.123456789}, "edited"), ({}, "receipt of its charge")],
    ids=["a draw off the grid", "another charge's release"],
)
def test_a_sealed_release_that_fails_is_named_with_its_reason(ledger, edits, reason):
    charge = ledger_report_state.read(ledger, "survey").charges[0]
    data = forge("charged in gdp", edits)
    seen = ledger_report_releases.looked_at(Forger(data), "survey", charge, True)
    failed = [check for check in seen.checks if not check.passed]
    assert len(failed) >= 1
    assert any(reason in check.reason for check in failed)
    assert ("FAILED" in seen.title) == bool(edits)
    assert "FAILED: " in ledger_report._release(seen)
    assert ledger_report._row(charge, {1: seen})[1].endswith("\nFAILED")


def test_changed_bytes_in_the_database_fail_at_their_own_request_alone(ledger, tmp_path):
    ledger.register("staff", 3.0, 1e-6)
    publish(ledger, "ill")
    publish(ledger, "ill", "staff")
    with closing(sqlite3.connect(tmp_path / "budget.db")) as database:
        (kept,) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'sfumato_ledger_no_update'").fetchone()
        database.execute("DROP TRIGGER sfumato_ledger_no_update")
        database.execute(
            "UPDATE sfumato_ledger SET data = zeroblob(length(data)) WHERE kind = 'seal' AND name = 'staff'"
        )
        database.execute(kept)
        database.commit()
    view = looked(ledger)
    assert [check.subject for check in view.failed] == ["budget.db", "request 'ill' of 'staff'"]
    assert all("were changed" in check.reason for check in view.failed)
    assert ledger_report.page(view).count("<td>passed</td>") == 1


def test_other_sealed_bytes_are_named_and_not_shown(ledger):
    ledger.seal("survey", "r0", b"a table made elsewhere")
    text = text_of(ledger)
    assert "22 bytes are sealed that are no release of Sfumato" in text
    assert "made elsewhere" not in text


def test_of_many_estimates_the_largest_are_shown_and_the_others_counted(ledger):
    levels = [f"ward {k}" for k in range(20)]
    schema = sf.Schema({"ward": sf.Category(levels, missing=levels[0])}, name="survey", unit="row")
    # Ward k has 5 + 15 k records: far apart for the noise at epsilon 2.
    rows = [name for k, name in enumerate(levels) for _ in range(5 + 15 * k)]
    data = sf.Dataset.from_table({"ward": rows}, schema=schema)
    plan = sf.plan(sf.families.DirichletCategorical(levels), len(rows), 2.0, 1e-7, mechanism="noisy-statistics")
    shown = ledger_report_releases.contents(sf.publish(plan, data, randomness=sf.seeded(3)))
    assert ">ward 19<" in shown
    assert ">ward 0<" not in shown
    assert "The 12 largest are shown; 8 more are in the release's own report" in shown
    assert "NOT PRIVATE" in shown


def test_a_damaged_ledger_gives_a_page_that_shows_the_damage_alone(ledger, tmp_path, monkeypatch, capsys):
    mark = json.loads(ledger.witness.read_text())
    ledger.witness.write_text(json.dumps({**mark, "seq": mark["seq"] + 2}))
    code, out, err = typed(monkeypatch, capsys, "ledger", "report", tmp_path / "budget.db", "-o", tmp_path / "x.html")
    assert code == 3
    assert "wrote" in out
    assert "FAILED" in err
    text = (tmp_path / "x.html").read_text()
    assert "FAILED: " in text
    assert "the witness saw row 6" in text
    assert "epsilon" not in text


def test_signatures_are_checked_with_the_key_and_need_the_files(ledger, tmp_path, monkeypatch, capsys):
    private, public = signing.create(tmp_path / "office.key")
    _, stranger = signing.create(tmp_path / "other.key")
    publish(ledger, "signed").save(tmp_path / "signed.sfumato", sign_with=private)
    own, other = (looked(ledger, (tmp_path / "signed.sfumato",), public_key=key) for key in (public, stranger))
    assert own.failed == ()
    assert [check.reason[:40] for check in other.failed] == ["the release is signed with another key ("]
    words = ("ledger", "report", tmp_path / "budget.db", "-o", tmp_path / "x.html", "--public-key", public)
    code, _, err = typed(monkeypatch, capsys, *words)
    assert code == 2
    assert "Name the files too" in err
    assert not (tmp_path / "x.html").exists()


# --- texts -----------------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Tags and attributes of a page, as a browser would read them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen |= {tag, *(f"@{name}" for name, _ in attrs)}


def test_no_text_of_a_ledger_becomes_markup(tmp_path):
    plain, hostile = tmp_path / "plain.db", tmp_path / "hostile.db"
    pages = []
    for place, mark in ((plain, "x"), (hostile, MARKUP)):
        with sf.Ledger.open(place) as ledger:
            ledger.register("n" + mark, 3.0, 1e-6, unit="u" + mark)
            publish(ledger, "r" + mark, "n" + mark, "c" + mark, "u" + mark)
            ledger.charge("n" + mark, paid(0.1, "u" + mark), "s" + mark)
            view = looked(ledger)
            pages.append(
                ledger_report.page(replace(view, checks=(*view.checks, Check("f" + mark, "w" + mark, "z" + mark))))
            )
    assert Tags(pages[0]).seen == Tags(pages[1]).seen
    assert not Tags(pages[1]).seen & {"script", "img", "a", "@src", "@href", "@onerror", "@style"}
    assert all(html.escape(prefix + MARKUP) in pages[1] for prefix in "nursfwz")
    assert html.escape("default-src 'none'") in pages[1]


SECRET = "hunter2-secret"


class Remote(sf.Ledger):
    """A ledger that believes to be in PostgreSQL."""

    @property
    def url(self) -> str:
        return f"postgresql://reader:{SECRET}@db.example/budget?sslpassword={SECRET}"


def test_no_password_reaches_the_page(ledger, tmp_path, monkeypatch):
    remote = Remote.open(tmp_path / "budget.db")
    text = text_of(remote)
    assert SECRET not in text
    assert "postgresql://reader@db.example/budget" in text

    def refuse(*_):
        raise sf.errors.LedgerDamaged(f"{remote.url} was rolled back.")

    monkeypatch.setattr(ledger_report, "open_existing", refuse)
    failed = ledger_report.write(remote.url, tmp_path / "x.html")
    assert len(failed) == 1
    assert SECRET not in (tmp_path / "x.html").read_text() + str(failed)


def test_an_empty_ledger_says_what_to_do_next(tmp_path):
    with sf.Ledger.open(tmp_path / "budget.db") as ledger:
        text = text_of(ledger)
        assert "No data set is registered yet" in text
        assert "sfumato ledger register budget.db NAME" in text
        ledger.register("survey", 3.0, 1e-6)
        assert "Nothing was charged yet." in text_of(ledger)


def test_the_tour_ends_with_a_page_of_three_releases(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(demo, "_run", lambda *each: commands.extend(each))
    monkeypatch.chdir(tmp_path)
    demo._tour()
    saved = [words.split(" -o ")[1] for words in commands if words.startswith("release ")]
    *compared, last = saved
    assert last == "again.sfumato", "this one is refused"
    assert len(compared) == 3
    assert commands[-1] == f"ledger report budget.db -o budget.html {' '.join(compared)}"


def test_the_promise_has_every_digit_that_was_registered(tmp_path):
    """Six digits would promise (1.23456, ...) where (1.234564, ...) was registered."""
    ledger = sf.Ledger.open(tmp_path / "budget.db")
    ledger.register("survey", epsilon=1.234564, delta=1.234564e-6, unit="person")
    ledger_report.write(str(tmp_path / "budget.db"), tmp_path / "page.html")
    assert "is (1.234564, 1.234564e-06)-differentially private" in (tmp_path / "page.html").read_text()
    assert "of 1.234564 at delta 1.234564e-06" in ledger._repr_html_()


def test_what_is_left_of_a_limit_is_rounded_down():
    assert "66.67 % spent, 33.33 % left" in ledger_report._limit("mu", 2 / 3)
    assert "33.34 % spent, 66.66 % left" in ledger_report._limit("mu", 1 / 3)
