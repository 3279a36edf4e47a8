"""Ctrl-C during a release: one line that says what was charged, exit code 130, and the ledger agrees."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from test_commands import clinic as clinic
from test_commands import sfumato as sfumato
from test_commands import with_budget
from test_trouble import CHARGED, FAST

from command_line import note_check
from sfumato.errors import LedgerUnavailable
from sfumato.ledger import Ledger
from sfumato.shells.interrupting import says_what_was_charged
from sfumato.shells.printing import Interrupted
from sfumato.shells.spec import Spec

# The command with a place where it waits for the signal: before its ledger is charged, or while it draws.
WAITING = """
import signal, sys, time
from sfumato.ledger import Ledger
from sfumato.procedures import noisy_totals
from sfumato.shells.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs that a shell runs in the background inherit that it is ignored

def wait(*_, **__):
    print("waiting", flush=True)
    time.sleep(120)

if sys.argv[1] == "charge":
    Ledger.charge = wait
else:
    noisy_totals.carry_out = wait
sys.argv = ["sfumato", "release", "share.toml", "-o", "share.sfumato"]
main()
"""


def interrupted_at(moment, folder):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, moment], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n", process.communicate()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, err


def request_of(folder):
    read = Spec.load(folder / "share.toml")
    return read.request(read.plan())


@pytest.mark.parametrize(("moment", "status"), [("charge", "unknown"), ("draw", "charged")])
def test_ctrl_c_says_what_was_charged(moment, status, clinic, sfumato):
    with_budget(sfumato)
    (clinic / "share.toml").write_text(CHARGED)
    note_check(clinic / "share.toml")
    code, err = interrupted_at(moment, clinic)
    assert code == 130
    assert len(err.splitlines()) == 1, err
    assert not (clinic / "share.sfumato").exists()
    with Ledger.open(clinic / "budget.db") as ledger:
        assert ledger.status("clinic", request_of(clinic)) == status
    if status == "unknown":
        assert err == "sfumato: interrupted; nothing was charged.\n"
    else:
        assert f"charged to 'clinic' under request '{request_of(clinic)}'" in err
        assert "Repeat the same command to finish it under the same charge" in err
        code, out, _ = sfumato("release", "share.toml", "-o", "share.sfumato")
        assert code == 0
        assert "saved    share.sfumato" in out
        with Ledger.open(clinic / "budget.db") as ledger:
            assert [row.kind for row in ledger.history("clinic")] == ["register", "charge", "seal"]


def test_ctrl_c_in_a_command_that_spends_nothing(clinic, sfumato, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.shells.spec.Spec.load", stopped)
    assert sfumato("plan", "share.toml") == (130, "", "sfumato: interrupted; nothing was charged.\n")


class Answering:
    """A ledger that gives one answer."""

    def __init__(self, answer):
        self.answer = answer

    def status(self, *_):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("ledger", "said"),
    [
        (None, "nothing was charged"),
        (Answering("unknown"), "nothing was charged"),
        (Answering("charged"), "finish it under the same charge"),
        (Answering("sealed"), "save the release, at no further charge"),
        (Answering(LedgerUnavailable("gone")), "never charged twice"),
    ],
)
def test_the_sentence_is_what_the_ledger_answers(ledger, said, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(Interrupted, match=said), says_what_was_charged(ledger, "clinic", "r", tmp_path / "x"):
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_release_that_is_saved_is_named_after_ctrl_c(clinic, sfumato, monkeypatch):
    (clinic / "share.toml").write_text(FAST)
    before = signal.getsignal(signal.SIGINT)

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.shells.release_commands.emit", stopped)
    try:
        code, _, err = sfumato("release", "share.toml", "-o", "share.sfumato")
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "the release is saved in 'share.sfumato'" in err.splitlines()[-1]
