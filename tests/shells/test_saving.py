"""Files that cannot be written, Ctrl-C at the start, and spec files that are written for any name."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_commands import clinic as clinic
from test_commands import sfumato as sfumato
from test_commands import with_budget
from test_trouble import CHARGED

import sfumato as sf
from sfumato.errors import ArgumentError, LedgerError, PublishError
from sfumato.ledger import Ledger
from sfumato.shells import printing
from sfumato.shells.interrupting import says_what_was_charged

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc and /dev/full are Linux's")


def charges(folder: Path) -> int:
    with Ledger.open(folder / "budget.db") as ledger:
        return ledger.spent("clinic").charges


@LINUX
def test_a_folder_that_takes_no_files_is_noticed_before_the_charge(clinic, sfumato):
    with_budget(sfumato)
    (clinic / "share.toml").write_text(CHARGED)
    code, _, err = sfumato("release", "share.toml", "-o", "/proc/x.sfumato")
    assert (code, charges(clinic)) == (2, 0)
    assert "/proc" in err


def test_a_failure_to_save_says_what_was_charged(clinic, sfumato, monkeypatch):
    with_budget(sfumato)
    (clinic / "share.toml").write_text(CHARGED)

    def full(self, path, sign_with=None):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(sf.Release, "save", full)
        code, _, err = sfumato("release", "share.toml", "-o", "share.sfumato")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "No space left" in err
    assert "charged to 'clinic' under request" in err
    assert "at no further charge" in err
    assert sfumato("release", "share.toml", "-o", "other.sfumato")[0] == 0
    assert charges(clinic) == 1


def test_a_failure_to_print_names_the_file_that_was_saved(clinic, sfumato, monkeypatch):
    with_budget(sfumato)
    (clinic / "share.toml").write_text(CHARGED)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("sfumato.shells.release_commands.emit", full)
    code, _, err = sfumato("release", "share.toml", "-o", "share.sfumato")
    assert code == 2
    assert "the release is saved in 'share.sfumato'" in err


def test_a_sentence_of_the_library_is_left_as_it_is(tmp_path):
    with pytest.raises(LedgerError, match=r"^no$"), says_what_was_charged(None, "a", "r", tmp_path / "x"):
        raise LedgerError("no")
    with (
        pytest.raises(ArgumentError, match="nothing was charged"),
        says_what_was_charged(None, "a", "r", tmp_path / "x"),
    ):
        raise PermissionError(errno.EACCES, "denied", "x")


# --- Ctrl-C while the commands are imported -----------------------------------------------------------------------------

STOPPED = """
import runpy, sys

class Stop:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
sys.argv = ["sfumato", "version", *{words!r}]
runpy.run_module("sfumato", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["typer", "sfumato.shells.cli", "sfumato.errors"])
@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_ctrl_c_during_the_imports_is_one_line(module, words):
    code = STOPPED.format(module=module, words=words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == printing.INTERRUPTED
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "interrupted; nothing was charged." in done.stderr
    assert done.stderr.startswith("{" if words else "sfumato: ")


def test_the_console_script_starts_where_python_m_does():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"sfumato": "sfumato.shells.entry:main"}


# --- sfumato spec -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [r"C:\Users\new\table.csv", 'a "b".csv', "größe", "a\nb", "{x}", "#"])
def test_a_spec_file_holds_any_name(text, clinic, sfumato):
    words = ("--data", text, "--schema", f"{text}.toml", "--column", text, "--name", text, "--ledger", text)
    code, out, _ = sfumato("spec", *words)
    assert code == 0
    made = tomllib.loads(out)
    assert made["data"] == {"file": text, "schema": f"{text}.toml"}
    assert (made["model"]["column"], made["ledger"]) == (text, {"file": text, "name": text})


@pytest.mark.parametrize(
    ("status", "said"), [("charged", "gone. It was charged to 'a' under request 'r'. Repeat"), ("unknown", "gone.")]
)
def test_a_cluster_that_was_lost_after_the_charge_says_that_it_stands(status, said, tmp_path):
    ledger = SimpleNamespace(status=lambda name, request: status)
    with pytest.raises(PublishError) as caught, says_what_was_charged(ledger, "a", "r", tmp_path / "x"):
        raise PublishError("gone.")
    assert str(caught.value).startswith(said)
    assert ("Repeat" in str(caught.value)) == (status == "charged")
