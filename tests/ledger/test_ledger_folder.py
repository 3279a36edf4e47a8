"""One database in two folders has two logs and two locks: it is refused in the second, until a person accepts that it moved.

The mounts are real, in a mount namespace of their own, as containers make them. Where that is not permitted those tests are skipped
with the reason; the others move and copy files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ledger_places import SqlitePlace, gaussian
from test_ledger_race import part_of_the_cap

from sfumato.errors import ArgumentError, FolderChanged, LedgerDamaged, LedgerUnavailable
from sfumato.ledger import Ledger, book, sqlite
from sfumato.ledger.locks import FileLock
from sfumato.ledger.witness import Witness

PARTS = 12
# Mounts, in a namespace that only this process and its children see; then charges until nothing fits or it is refused.
PROGRAM = """
import json, os, subprocess, sys
from ledger_places import gaussian
from sfumato.errors import LedgerExhausted, SfumatoError
from sfumato.ledger import Ledger, sqlite
mounts, path, witness, options, name, mu, unseen = json.loads(sys.argv[1])
for words in mounts:
    subprocess.run(["mount", *words], check=True)
if unseen:  # as where /proc is not mounted
    sqlite._mount = lambda path: ""
count, refused, ledger = 0, "", None
try:
    ledger = Ledger.open(path, witness, **options)
except SfumatoError as error:
    refused = f"{type(error).__name__}: {error}"
print("ready" if ledger else "refused", flush=True)
sys.stdin.readline()
try:
    for k in range(99 if ledger else 0):
        ledger.charge("survey", gaussian(mu), request_id=f"{name} {k}")
        count += 1
except LedgerExhausted:
    pass
except SfumatoError as error:
    refused = f"{type(error).__name__}: {error}"
print(json.dumps({"count": count, "refused": refused, "device": os.stat(os.path.dirname(path)).st_dev}))
"""


class Container:
    """A process with mounts of its own that charges a ledger as often as it fits."""

    def __init__(self, mounts, path, witness=None, options=None, name="other", mu=0.01, unseen=False) -> None:
        arguments = json.dumps([mounts, str(path), witness and str(witness), options or {}, name, mu, unseen])
        self._process = subprocess.Popen(
            ["unshare", "-m", "--propagation", "private", sys.executable, "-c", PROGRAM, arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.started = self._process.stdout.readline().strip()

    def begin(self) -> None:
        """Let it charge."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def charges(self) -> dict[str, object]:
        """What it says at its end; it must have begun."""
        with self._process as process:
            said = json.loads(process.stdout.readline())
        assert process.returncode == 0
        return said


@pytest.fixture(scope="module")
def mounting(tmp_path_factory) -> None:
    """Whether this machine lets us mount, in a namespace of our own."""
    one, two = (tmp_path_factory.mktemp(name) for name in ("one", "two"))
    tried = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "mount", "--bind", str(one), str(two)],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        pytest.skip(f"this machine does not let us mount: {tried.stderr.strip()}")


@pytest.fixture
def shared(sqlite_place, tmp_path) -> tuple[SqlitePlace, Ledger, float]:
    """A ledger in a folder of its own, and the largest mu of which PARTS fit."""
    (tmp_path / "own").mkdir()
    place = SqlitePlace(tmp_path / "own")
    ledger = place.open()
    ledger.register("survey", 3.0, 1e-6)
    return place, ledger, part_of_the_cap(PARTS)


def single_file(place: SqlitePlace, folder: Path) -> tuple[list[list[str]], Path]:
    """The mount of the database alone in another folder, and its path there."""
    folder.mkdir()
    target = folder / "budget.db"
    target.touch()
    return [["--bind", str(place.path), str(target)]], target


def spent_here(ledger: Ledger, mu: float) -> int:
    """Charge while it fits."""
    count = 0
    for k in range(PARTS + 2):
        try:
            ledger.charge("survey", gaussian(mu), request_id=f"here {k}")
            count += 1
        except Exception:
            break
    return count


@pytest.mark.usefixtures("mounting")
@pytest.mark.parametrize("own", [False, True])
def test_a_database_mounted_as_a_single_file_is_refused(shared, tmp_path, own):
    """With the witness of the first container, and with one of its own: it would have a log and a lock beside the mount."""
    place, ledger, mu = shared
    mounts, target = single_file(place, tmp_path / "container")
    witness, options = (tmp_path / "its own", {"new_witness": True}) if own else (place.witness, {})
    other = Container(mounts, target, witness, options, mu=mu)
    assert other.started == "refused"
    other.begin()
    count, its = spent_here(ledger, mu), other.charges()
    assert (count, its["count"]) == (PARTS, 0)
    assert "mounted as a single file" in its["refused"]
    assert "Mount the whole folder" in its["refused"]


@pytest.mark.usefixtures("mounting")
@pytest.mark.parametrize("own", [False, True])
def test_another_folder_is_refused_where_mounts_cannot_be_seen(shared, tmp_path, own):
    """The witness knows the folder, and where the container has its own, the registration does."""
    place, ledger, mu = shared
    mounts, target = single_file(place, tmp_path / "container")
    witness, options = (tmp_path / "its own", {"new_witness": True}) if own else (place.witness, {})
    other = Container(mounts, target, witness, options, mu=mu, unseen=True)
    other.begin()
    count, its = spent_here(ledger, mu), other.charges()
    assert (count, its["count"]) == (PARTS, 0)
    assert its["refused"].startswith("FolderChanged")
    assert "sfumato ledger accept-folder" in its["refused"]


@pytest.mark.usefixtures("mounting")
def test_an_empty_ledger_in_another_folder_is_refused_by_the_witness(tmp_path):
    """No row names the folder yet."""
    (tmp_path / "own").mkdir()
    place = SqlitePlace(tmp_path / "own")
    place.open()
    mounts, target = single_file(place, tmp_path / "container")
    other = Container(mounts, target, place.witness, unseen=True)
    other.begin()
    assert other.charges()["refused"].startswith("FolderChanged")


@pytest.mark.usefixtures("mounting")
def test_two_containers_that_mount_the_whole_folder_spend_one_budget(shared, tmp_path):
    """As docs/ledger.md says; both charge at once."""
    place, _, mu = shared
    names = [tmp_path / name for name in ("first", "second")]
    for name in names:
        name.mkdir()
    both = [Container([["--bind", str(place.path.parent), str(f)]], f / "budget.db", name=f.name, mu=mu) for f in names]
    assert [each.started for each in both] == ["ready", "ready"]
    for each in both:
        each.begin()
    assert sum(each.charges()["count"] for each in both) == PARTS
    assert place.open().spent("survey").charges == PARTS


@pytest.mark.usefixtures("mounting")
def test_a_volume_that_is_mounted_again_with_another_device_number_goes_on(tmp_path):
    """As after a restart: only the inode of the folder is remembered."""
    base = tmp_path / "base"
    for name in ("lower", "upper/data", "work", "upper2", "work2", "at", "at2"):
        (base / name).mkdir(parents=True)

    def overlay(upper: str, work: str, at: str) -> list[str]:
        options = f"lowerdir={base}/lower,upperdir={base}/{upper},workdir={base}/{work}"
        return ["-t", "overlay", "overlay", "-o", options, str(base / at)]

    volume, another, path = (
        overlay("upper", "work", "at"),
        overlay("upper2", "work2", "at2"),
        base / "at" / "data" / "b.db",
    )
    probe = Container([volume], path, options={})
    if probe.started != "ready":
        pytest.skip("this machine has no overlay file system")
    # It holds no data set yet, so a charge is refused; the ledger and its witness are there now.
    probe.begin()
    first = probe.charges()
    second = Container([another, volume], path, options={"create": False})
    assert second.started == "ready"
    second.begin()
    assert second.charges()["device"] != first["device"]


def moved(place: SqlitePlace, to: Path) -> Path:
    to.mkdir()
    place.close()
    for file in (place.path, place.witness):
        shutil.move(file, to / file.name)
    return to / place.path.name


def test_a_database_that_moved_is_refused_until_the_folder_is_accepted(shared, tmp_path):
    place, ledger, mu = shared
    ledger.charge("survey", gaussian(mu), request_id="before")
    path = moved(place, tmp_path / "elsewhere")
    for use in (Ledger(path).names, Ledger(path).verify, lambda: Ledger.open(path)):
        with pytest.raises(FolderChanged, match="two logs and two locks"):
            use()
    rows = len(SqlitePlace(path.parent).rows())
    with pytest.raises(ArgumentError, match="reason"):
        Ledger(path).accept_folder("")
    here = Ledger(path)
    assert here.accept_folder("a new disk, the old one is off") is True
    assert here.accept_folder("again") is False
    said = json.loads(SqlitePlace(path.parent).rows()[-1][4])
    assert (said["kind"], said["reason"]) == ("folder", "a new disk, the old one is off")
    assert said["folder"] == str(path.parent.stat().st_ino) != said["before"] == str(place.path.parent.stat().st_ino)
    again = Ledger.open(path)
    assert [(e.kind, e.reason) for e in again.events()] == [("folder", "a new disk, the old one is off")]
    assert "another folder of the database was accepted (a new disk, the old one is off)" in str(again.events()[0])
    again.charge("survey", gaussian(mu), request_id="after")
    assert again.verify() == rows + 2
    assert json.loads((path.parent / "budget.db.witness").read_text())["folder"] == said["folder"]


def test_a_copy_that_was_left_behind_is_refused(shared, tmp_path):
    """By the witness that both use, and by its own where the rows were copied back."""
    place, _, _ = shared
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "budget.db"
    shutil.copy(place.path, path)
    Ledger(path, place.witness).accept_folder("moved")
    with pytest.raises(LedgerDamaged, match="rolled back"):
        place.open()
    place.path.unlink()
    shutil.copy(path, place.path)
    with pytest.raises(FolderChanged):
        place.open()
    place.witness.unlink()
    with pytest.raises(FolderChanged):
        place.open(new_witness=True)


def test_a_charge_that_waited_while_another_folder_was_accepted_is_refused(shared, tmp_path):
    """The witness is looked at behind the lock: before it, the charge was acknowledged in a history that nobody goes on with."""
    place, ledger, mu = shared
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "budget.db"
    shutil.copy(place.path, path)
    there, outcomes = Ledger(path, place.witness), []
    ledger.spent("survey")  # the charge waits for the lock once, to write

    def charge():
        try:
            outcomes.append(ledger.charge("survey", gaussian(mu), request_id="here"))
        except LedgerDamaged as error:
            outcomes.append(error)

    begun, waiting = threading.Event(), FileLock._locked

    def locked(self, *given):
        begun.set()
        return waiting(self, *given)

    with FileLock(place.path.with_name("budget.db.lock"), "the test").held(5), pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileLock, "_locked", locked)
        thread = threading.Thread(target=charge)
        thread.start()
        assert begun.wait(30)
        there.accept_folder("moved")
        for k in range(2):
            there.charge("survey", gaussian(mu), request_id=f"there {k}")
    thread.join()
    assert [type(each) for each in outcomes] == [LedgerDamaged]
    assert "rolled back" in str(outcomes[0])
    assert there.spent("survey").charges == 2


def test_a_row_that_was_written_while_another_folder_was_accepted_is_not_acknowledged(shared, tmp_path, monkeypatch):
    """Between the commit and the witness another folder may have been accepted, and the witness be rows ahead."""
    place, ledger, mu = shared
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "budget.db"
    shutil.copy(place.path, path)
    advance = Witness.advance

    def late(self, mark):
        monkeypatch.setattr(Witness, "advance", advance)
        there = Ledger(path, place.witness)
        there.accept_folder("moved")
        there.charge("survey", gaussian(mu), request_id="there")
        advance(self, mark)

    monkeypatch.setattr(Witness, "advance", late)
    with pytest.raises(FolderChanged, match="another folder of the database was accepted"):
        ledger.charge("survey", gaussian(mu), request_id="here")


def test_a_crash_between_the_row_and_the_witness_is_mended_by_accepting_again(shared, tmp_path):
    place, _, _ = shared
    path = moved(place, tmp_path / "elsewhere")
    witness = path.with_name("budget.db.witness")
    before = witness.read_bytes()
    Ledger(path).accept_folder("moved")
    witness.write_bytes(before)
    with pytest.raises(FolderChanged):
        Ledger.open(path)
    assert Ledger(path).accept_folder("moved, and the power failed")
    assert Ledger.open(path).verify() == 3


def test_an_accepted_folder_never_lets_the_time_go_back(shared, tmp_path, monkeypatch):
    place, ledger, _ = shared
    time = ledger.history("survey")[0].time
    path = moved(place, tmp_path / "elsewhere")
    monkeypatch.setattr(book, "now", lambda: "2020-01-01T00:00:00.000000+00:00")
    Ledger(path).accept_folder("moved")
    assert Ledger.open(path).events()[0].time == time


def test_nothing_is_made_where_there_is_nothing_to_accept(tmp_path, sqlite_place, postgres_place):
    with pytest.raises(ArgumentError, match="there is no ledger"):
        Ledger(tmp_path / "nothing.db").accept_folder("moved")
    assert not list(tmp_path.glob("nothing*"))
    with pytest.raises(ArgumentError, match="lies in no folder"):
        postgres_place.open().accept_folder("moved")
    assert sqlite_place.open().accept_folder("not moved") is False
    assert sqlite_place.rows() == []


def test_a_symbolic_link_in_the_place_of_the_database_is_refused(shared, tmp_path):
    """Its log is beside the file that it leads to, its lock beside the link."""
    place, ledger, _ = shared
    (tmp_path / "elsewhere").mkdir()
    shutil.move(place.path, tmp_path / "elsewhere" / "budget.db")
    place.path.symlink_to(tmp_path / "elsewhere" / "budget.db")
    with pytest.raises(LedgerUnavailable, match="second name"):
        ledger.names()


def test_the_number_of_a_mount_is_read_without_opening_the_file(shared):
    """Closing a file that was opened would drop SQLite's own locks on it."""
    place, _, _ = shared
    found = sqlite._mount(place.path)
    assert found == sqlite._mount(place.path.parent)
    assert found.startswith("mnt_id:") or not hasattr(os, "O_PATH")
