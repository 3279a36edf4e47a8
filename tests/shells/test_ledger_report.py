"""The report of a ledger: its numbers against sums made here, its checks against planted damage, its texts against markup."""

from __future__ import annotations

import math

import pytest

import sfumato as sf
from command_line import typed
from sfumato.privacy.guarantee import Guarantee
from sfumato.shells import ledger_report, ledger_report_left, ledger_report_state


def paid(mu: float, unit: str = "row") -> Guarantee:
    """A guarantee of mu-GDP, as a plan would have it."""
    return Guarantee(sf.Gaussian(mu), "replace-one", "Gaussian mechanism", "a test", unit=unit)


@pytest.fixture
def ledger(tmp_path):
    """A ledger of one data set with three charges."""
    with sf.Ledger.open(tmp_path / "budget.db") as made:
        made.register("survey", 3.0, 1e-6)
        for k, mu in enumerate((0.1, 0.2, 0.3)):
            made.charge("survey", paid(mu), f"r{k}")
        yield made


def test_every_running_total_is_the_composition_of_the_charges_before_it(ledger):
    budget = ledger_report_state.read(ledger, "survey")
    mus = (0.1, 0.2, 0.3)
    for k, charge in enumerate(budget.charges):
        together = math.sqrt(math.fsum(mu**2 for mu in mus[: k + 1]))
        assert charge.total == pytest.approx(sf.Gaussian(together).epsilon(1e-6), rel=1e-9)
        assert charge.alone == pytest.approx(sf.Gaussian(mus[k]).epsilon(1e-6), rel=1e-9)
    assert budget.spent == ledger.spent("survey").epsilon
    assert budget.account == ledger.spent("survey").account


def test_as_many_repetitions_as_are_said_fit_and_not_one_more(ledger):
    budget = ledger_report_state.read(ledger, "survey")
    times = ledger_report_left.times_left(budget.account, budget.charges[-1].price)
    assert times >= 1
    for k in range(times):
        ledger.charge("survey", paid(0.3), f"again {k}")
    with pytest.raises(sf.errors.LedgerExhausted):
        ledger.charge("survey", paid(0.3), "one too many")


def test_the_command_writes_the_page(ledger, tmp_path, monkeypatch, capsys):
    code, out, err = typed(monkeypatch, capsys, "ledger", "report", tmp_path / "budget.db", "-o", tmp_path / "x.html")
    assert (code, err) == (0, "")
    assert f"wrote {tmp_path / 'x.html'}" in out
    text = (tmp_path / "x.html").read_text()
    assert text == ledger_report.page(ledger_report.looked(ledger))
    assert "FAILED" not in text
