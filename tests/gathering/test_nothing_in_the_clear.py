"""Ids and rows of persons stay inside: no release, ledger, error, pickle or temporary file shows them."""

from __future__ import annotations

import os
import pickle
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.gathering import secret_file
from sfumato.gathering.secret_file import SecretFile

# A text and a number that nothing else holds.
WHO, VALUE = "zyxwv-4711-secret", 0.123456789012345
PEOPLE = 30
SCHEMA = sf.Schema({"x": sf.Number(0, 1), "yes": sf.Boolean(missing=False)}, name="visits", unit="patient",
                   persons=sf.Persons("who", most=3, count=PEOPLE))  # fmt: skip


def table(rows: int = 200) -> dict:
    """Rows of 20 persons under ids that are easy to recognise."""
    return {
        "who": [f"{WHO}{k % 20}" for k in range(rows)],
        "x": [VALUE] * rows,
        "yes": [k % 3 == 0 for k in range(rows)],
    }


def shows(raw: bytes) -> bool:
    """Whether bytes hold an id or a value, as text or as a float."""
    return WHO.encode() in raw or b"0.12345678" in raw or np.float64(VALUE).tobytes() in raw


class Kept:
    """Temporaries that are not removed: the file can be read afterwards as a thief of the disk would."""

    def __init__(self, folder):
        self.folder, self.paths = folder, []

    def open(self, buffering: int = 0):
        handle, path = tempfile.mkstemp(dir=self.folder)
        self.paths.append(path)
        return os.fdopen(handle, "w+b", buffering=buffering)


@pytest.mark.planted
def test_temporaries_hold_neither_ids_nor_values(tmp_path, monkeypatch):
    kept = Kept(tmp_path)
    monkeypatch.setattr(secret_file.tempfile, "TemporaryFile", kept.open)
    data = sf.Dataset.from_table(table(), schema=SCHEMA, memory=1)
    plan = sf.plan(sf.families.BoundedMean(0, 1), PEOPLE, 1.0, 1e-6, persons=SCHEMA.persons)
    sf.publish(plan, data)
    raw = [Path(path).read_bytes() for path in kept.paths]
    assert sum(map(len, raw)) > 1_000  # rows were written, first the piles and then the blocks
    assert not any(map(shows, raw))
    assert shows(np.array([VALUE]).tobytes())  # what is looked for would be seen


def test_a_temporary_has_no_name_and_is_gone_with_its_object(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = SecretFile()
    file.write({"x": np.full(100, VALUE), "k": np.arange(100)})
    (frame,) = file.read()
    assert frame["x"].tolist() == [VALUE] * 100
    assert frame["k"].tolist() == list(range(100))
    assert list(tmp_path.iterdir()) == []
    number = file._file.fileno()
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


@pytest.mark.planted
def test_two_temporaries_are_written_under_two_keys_and_no_two_frames_alike(tmp_path, monkeypatch):
    kept = Kept(tmp_path)
    monkeypatch.setattr(secret_file.tempfile, "TemporaryFile", kept.open)
    files = [SecretFile(), SecretFile()]
    for file in files:
        file.write({"x": np.full(64, VALUE)})
        file.write({"x": np.full(64, VALUE)})
    first, second = (Path(path).read_bytes() for path in kept.paths)
    assert len({first[:512], first[512:], second[:512], second[512:]}) == 4


@pytest.mark.parametrize("make", [SecretFile, lambda: sf.Dataset.from_table(table(), schema=SCHEMA)])
def test_nothing_that_holds_rows_is_pickled(make):
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(make())


@pytest.mark.planted
def test_no_release_and_no_ledger_holds_an_id(tmp_path):
    ledger = sf.Ledger.open(str(tmp_path / "budget.db"))
    ledger.register("visits", epsilon=3.0, delta=1e-6, unit="patient", id_column="who")
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), PEOPLE, 1.0, 1e-7, persons=SCHEMA.persons)
    release = sf.publish(plan, sf.Dataset.from_table(table(), schema=SCHEMA), ledger, request_id="r1")
    release.save(str(tmp_path / "r.sfumato"))
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert len(files) >= 2
    assert not any(shows(path.read_bytes()) for path in files)
    assert not shows(repr((release, release.summary(), plan)).encode())


def more_ids() -> None:
    sf.Dataset.from_table({**table(90), "who": [f"{WHO}{k}" for k in range(90)]}, schema=SCHEMA)


def off_roster() -> None:
    sf.Dataset.from_table(table(), schema=SCHEMA, roster=[f"{WHO}{k}" for k in range(PEOPLE + 1)])


def no_id() -> None:
    sf.Dataset.from_table(table(), schema=SCHEMA, roster=[*(f"{WHO}{k}" for k in range(PEOPLE - 1)), ""])


def no_column() -> None:
    sf.Dataset.from_table({name: cells for name, cells in table().items() if name != "yes"}, schema=SCHEMA)


@pytest.mark.planted
@pytest.mark.parametrize("work", [more_ids, off_roster, no_id, no_column])
def test_no_error_shows_an_id_not_even_in_the_variables_of_its_frames(work):
    with pytest.raises(SfumatoError) as caught:
        work()
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    inside = [frame for frame in frames if "sfumato" in frame.f_code.co_filename.split(os.sep)]
    assert inside
    said = [str(caught.value), *(repr(frame.f_locals) for frame in inside)]
    assert not any(shows(text.encode()) for text in said)
