"""Files, keys, streams and requests: the refusals that keep a promise when somebody crafts the input."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os

import numpy as np
import pytest

import sfumato as sf
import sfumato.randomness as module
from forging import forge, parts, stored
from sfumato import mechanisms, publishing, signing, storage
from sfumato.errors import ArgumentError, FormatError
from sfumato.randomness import Randomness, seeded

N = 400
SCHEMA = sf.Schema(
    {"sick": sf.Boolean(missing=False), "age": sf.Number(0, 100)}, target="sick", name="survey", unit="patient"
)


def survey() -> sf.Dataset:
    return sf.Dataset.from_table({"sick": np.arange(N) < 120, "age": np.linspace(0, 100, N)}, schema=SCHEMA)


def plan(epsilon: float = 1.0) -> sf.Plan:
    return sf.plan(sf.families.BetaBernoulli(6, 12), N, epsilon, 1e-8, mechanism="noisy-statistics")


@pytest.fixture
def ledger(tmp_path):
    opened = sf.Ledger.open(tmp_path / "budget.db")
    opened.register("survey", epsilon=3.0, delta=1e-6, unit="patient")
    return opened


# --- crafted files: every checksum is right ---------------------------------------------------------------------------


def crafted(*entries: dict, **changes: object) -> bytes:
    """A file with these array entries, eight zero bytes for each, and right checksums."""
    raw = bytes(8)
    good = {"name": "x", "dtype": "<f8", "shape": [1], "size": 8, "sha256": hashlib.sha256(raw).hexdigest()}
    content = {"version": 1, "documents": {}, "arrays": [{**good, **entry} for entry in entries], **changes}
    header = json.dumps(content).encode()
    length = len(header).to_bytes(8, "little")
    return storage.MAGIC + length + hashlib.sha256(header).digest() + header + raw * len(entries)


def test_the_crafted_file_is_read_where_nothing_is_wrong_with_it():
    _, arrays = storage.unpack(crafted({"name": "a"}, {"name": "b"}))
    assert {name: array.tolist() for name, array in arrays.items()} == {"a": [0.0], "b": [0.0]}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (crafted(version=2), "version 2"),
        (crafted(version="1"), "version '1'"),
        (crafted({"name": "a"}, {"name": "a"}), "no names"),
        (crafted({"dtype": "|O"}), "dtype"),
        (crafted({"dtype": ">f8"}), "dtype"),
        (crafted({"shape": [1.0]}), "whole numbers"),
        (crafted({"shape": [True]}), "whole numbers"),
        (crafted({"shape": [1] * 9}), "at most 8"),
        (crafted({"shape": [2]}), "cannot have the shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_a_crafted_header_with_the_right_checksum_is_refused(data, said):
    with pytest.raises(FormatError, match=said):
        storage.unpack(data)


def nested(levels: int) -> dict:
    inner: dict = {"curve": "gaussian", "mu": 0.1}
    for _ in range(levels):
        inner = {"curve": "composed", "parts": [{"count": 1, "part": inner}]}
    return inner


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"version": 3}, "version 3"),
        ({"version": 1.0}, "version 1.0"),
        ({"version": 2}, "unknown .promise."),
        ({"plan.n": -5}, "n of the plan"),
        ({"plan.n": 60.0}, "n of the plan"),
        ({"plan.cost.passes": -(10**20)}, "above 2"),
        ({"labels": ["theta", "theta 2"]}, "labels"),
        ({"labels": "theta"}, "list of names"),
        ({"guarantee.curve": nested(20)}, "levels deep"),
        ({"plan.guarantee.curve": nested(20)}, "levels deep"),
        (
            {"plan.target.curve": {"curve": "renyi", "orders": [2.0] * 10_001, "values": [1.0]}},
            "lists more than 10,000 numbers",
        ),
        ({"plan.model.dimension": 10**6}, "dimension of the model"),
        ({"plan.model.states": 10**6}, "states of the model"),
        ({"plan.model.cardinalities": [["a", 10**6]]}, "cardinalities of the model"),
        ({"schema.document": json.dumps({"dimension": 2**20 + 1})}, "features"),
        ({"promise": 3}, "promise of the release"),
    ],
)
def test_a_record_that_no_release_can_be_is_refused_on_reading(edits, said):
    with pytest.raises(FormatError, match=said):
        sf.Release.from_bytes(forge("rate noisy", edits, remake=("plan",)))


def test_a_file_holds_one_release_and_no_array_that_nobody_reads():
    document, arrays = parts("rate noisy")
    for documents, held in (
        ({"release": document, "other": {}}, arrays),
        ({"other": document}, arrays),
        ({"release": document}, {**arrays, "rows": np.zeros(3)}),
        ({"release": document}, {}),
    ):
        with pytest.raises(FormatError, match="no release, or more than one"):
            sf.Release.from_bytes(storage.pack(documents, held))


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o604, 0o602, 0o610])
def test_a_key_that_a_group_or_anybody_can_use_does_not_sign(tmp_path, mode):
    private, _ = signing.create(tmp_path / "office.key")
    os.chmod(private, mode)
    with pytest.raises(ArgumentError, match="chmod 600"):
        signing.sign(b"x", private)


def test_a_key_that_appears_in_the_meantime_is_not_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "office.key"
    path.write_bytes(b"somebody's only key")
    monkeypatch.setattr(signing.Path, "exists", lambda self: False)
    with pytest.raises(FileExistsError):
        signing.create(path)
    assert path.read_bytes() == b"somebody's only key"


def test_keys_and_files_are_synced_before_they_count(tmp_path, monkeypatch):
    synced, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_size), real(handle))[1])
    signing.create(tmp_path / "office.key")
    storage.write(tmp_path / "x.sfumato", b"12345")
    assert len(synced) == 3
    assert min(synced) == 5  # the content had been handed over when it was synced


# --- randomness -------------------------------------------------------------------------------------------------------


def test_a_private_stream_is_chacha20_under_the_key_of_the_system(monkeypatch):
    """The published keystream of the all-zero key (Bernstein 2008; RFC 8439 A.1), drawn from the stream itself."""
    published = bytes.fromhex("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    monkeypatch.setattr(module, "_system_key", lambda: bytes(32))
    assert Randomness().bits(256) == int.from_bytes(published, "little")


def test_a_key_has_256_bits(monkeypatch):
    asked, real = [], os.urandom
    monkeypatch.setattr(module.os, "urandom", lambda size: (asked.append(size), real(size))[1])
    Randomness()
    assert asked == [32]


def test_so_many_bits_are_so_many_bits():
    stream = seeded(4)
    for count in (1, 2, 3, 7, 8, 9, 13, 64, 65):
        found = [stream.bits(count) for _ in range(200)]
        assert max(found) < 1 << count
        together = 0
        for value in found:
            together |= value
        assert together == (1 << count) - 1, "every bit is set sometimes"


def test_children_forked_from_a_seeded_stream_draw_their_own():
    stream, drawn = seeded(6), []
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, str(stream.bits(64)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            drawn.append(int(pipe.read()))
        os.waitpid(child, 0)
    assert len({*drawn, stream.bits(64)}) == 3


# --- publishing -------------------------------------------------------------------------------------------------------


def test_rows_are_looked_at_after_the_charge_and_before_the_seal(ledger, monkeypatch):
    done = []

    def noted(name, function):
        def call(*arguments, **options):
            done.append(name)
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(publishing, "open_engine", noted("rows", publishing.open_engine))
    for name in ("charge", "seal_first"):
        monkeypatch.setattr(sf.Ledger, name, noted(name, getattr(sf.Ledger, name)))
    sf.publish(plan(), survey(), ledger, request_id="r1")
    assert done == ["charge", "rows", "seal_first"]
    done.clear()
    with pytest.raises(sf.errors.LedgerError, match="does not fit"):
        sf.publish(plan(50.0), survey(), ledger, request_id="r2")
    assert done == ["charge"]


@pytest.mark.parametrize(
    "change",
    [
        {"curve": sf.Gaussian(0.2)},
        {"slack": 1e-12},
        {"draws": 2},
        {"adjacency": "replace-entry"},
        {"trust": "assumes converged"},
    ],
)
def test_everything_that_a_price_says_is_compared_with_the_plan(change, monkeypatch):
    price = sf.Guarantee(sf.Gaussian(0.1), "replace-one", "t", "s", trust="proved with slack", slack=1e-9)
    monkeypatch.setattr(mechanisms, "repriced", lambda *recorded: ("procedure", price))
    said = dataclasses.replace(plan(), guarantee=dataclasses.replace(price, theorem="other words"))
    assert mechanisms.task_of(said) == ("procedure", said.task)
    with pytest.raises(sf.errors.PublishError, match="changed after planning"):
        mechanisms.task_of(dataclasses.replace(said, guarantee=dataclasses.replace(price, **change)))


def test_a_charge_names_its_plan_and_goes_to_the_name_that_was_given(ledger):
    ledger.register("other", epsilon=3.0, delta=1e-6, unit="patient")
    chosen = plan()
    release = sf.publish(chosen, survey(), ledger, "other", "r1")
    assert release.receipt["plan_digest"] == chosen.digest
    assert ledger.status("other", "r1") == "sealed"
    assert ledger.spent("survey").charges == 0


def test_a_private_quantile_uses_the_name_and_the_delta_that_were_given(ledger):
    ledger.register("other", epsilon=3.0, delta=1e-6, unit="patient")
    grid = [10.0 * k for k in range(11)]
    _, release = sf.private_quantile(
        survey(), "age", 0.5, 1.0, grid=grid, delta=1e-7, ledger=ledger, name="other", request_id="r1"
    )
    expected = sf.plan(sf.families.Quantile(0.5, grid, "age"), N, 1.0, 1e-7, mechanism="exponential")
    assert release.plan_digest == expected.digest
    assert (
        expected.digest != sf.plan(sf.families.Quantile(0.5, grid, "age"), N, 1.0, 0.0, mechanism="exponential").digest
    )
    assert ledger.status("other", "r1") == "sealed"


@pytest.mark.parametrize("include", ["privacy and sampling", "privacy"])
def test_an_estimate_lies_in_the_interval_that_was_asked_for(include):
    """With the reader's own prior and with what is included: a strong prior moves both."""
    release = sf.Release.from_bytes(stored("bounded mean"))
    kind = sf.Release.from_bytes(stored("rate noisy"))
    for prior in (None, sf.families.BetaBernoulli(3000.0, 10.0)):
        low, high = kind.interval(0.02, include, prior)
        assert low <= kind.estimate(include, prior) <= high
    low, high = release.interval(0.02, include)
    assert low <= release.estimate(include) <= high


def test_a_regression_refuses_a_prior_of_the_reader():
    with pytest.raises(ArgumentError, match="prior is for families"):
        sf.Release.from_bytes(stored("path with transcript")).interval(prior=sf.families.BetaBernoulli(1.0, 1.0))


def test_the_trailer_is_kept_where_a_signed_release_is_saved_again(tmp_path):
    private, public = signing.create(tmp_path / "office.key")
    sf.Release.from_bytes(stored("rate noisy")).save(tmp_path / "x", sign_with=private)
    sf.load(tmp_path / "x").save(tmp_path / "y")
    assert sf.load(tmp_path / "y").verify(public_key=public)
