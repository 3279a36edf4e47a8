"""Signed files: read like any other, and refused for another key, another file, or no signature."""

from __future__ import annotations

import dataclasses
import hashlib
import os

import pytest

import sfumato as sf
from command_line import typed
from forging import forge, parts, stored
from sfumato import signing, storage
from sfumato.errors import ArgumentError, FormatError


@pytest.fixture
def keys(tmp_path):
    """A pair of keys, and another pair."""
    return [*signing.create(tmp_path / "office.key"), *signing.create(tmp_path / "other.key")]


@pytest.fixture
def signed(tmp_path, keys):
    """A release saved with a signature."""
    path = tmp_path / "x.sfumato"
    sf.Release.from_bytes(stored("rate noisy")).save(path, sign_with=keys[0])
    return path


def test_a_signed_file_is_read_and_its_sealed_bytes_are_the_same(signed, keys):
    release = sf.load(signed)
    assert release.verify(public_key=keys[1]) is release
    assert release.to_bytes() == stored("rate noisy")
    assert signed.read_bytes().startswith(stored("rate noisy"))
    assert len(signed.read_bytes()) > len(stored("rate noisy"))


def test_another_key_is_refused(signed, keys):
    with pytest.raises(FormatError, match="another key"):
        sf.load(signed).verify(public_key=keys[3])


def test_another_key_is_refused_though_the_file_names_it(signed, keys):
    """The public key in the trailer is only a hint: replaced by the reader's own, the signature still does not fit."""
    data = signed.read_bytes()
    own = signing._public_key(keys[3]).public_bytes_raw()
    place = data.index(signing.TRAILER) + len(signing.TRAILER)
    signed.write_bytes(data[:place] + own + data[place + 32 :])
    with pytest.raises(FormatError, match="does not belong"):
        sf.load(signed).verify(public_key=keys[3])


def test_a_missing_signature_is_refused(tmp_path, keys):
    (tmp_path / "bare.sfumato").write_bytes(stored("rate noisy"))
    with pytest.raises(FormatError, match="not signed"):
        sf.load(tmp_path / "bare.sfumato").verify(public_key=keys[1])


def test_an_altered_file_is_refused(signed, keys):
    """The promise is still true and every check passes: the request that it was charged under was renamed."""
    whole = sf.Release.from_bytes(stored("charged in gdp"))
    whole.save(signed, sign_with=keys[0])
    trailer = signed.read_bytes()[len(stored("charged in gdp")) :]
    altered = forge("charged in gdp", {"receipt.request_id": "second"})
    signed.write_bytes(altered + trailer)
    assert sf.load(signed).verify()
    with pytest.raises(FormatError, match="does not belong"):
        sf.load(signed).verify(public_key=keys[1])


def test_a_signature_of_another_release_is_refused(signed, keys):
    trailer = signed.read_bytes()[len(stored("rate noisy")) :]
    signed.write_bytes(stored("bounded mean") + trailer)
    assert sf.load(signed).verify()
    with pytest.raises(FormatError, match="another release"):
        sf.load(signed).verify(public_key=keys[1])


def test_every_byte_of_the_trailer_counts(signed, keys):
    data = signed.read_bytes()
    for place in range(len(stored("rate noisy")), len(data), 3):
        signed.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(FormatError):
            sf.load(signed).verify(public_key=keys[1])
    for damaged in (data[:-1], data + b"x"):
        signed.write_bytes(damaged)
        with pytest.raises(FormatError, match="no signature"):
            sf.load(signed)


def test_a_signature_without_its_prefix_is_none(signed, keys):
    """Whoever got the key's owner to sign the bare bytes for another purpose has no signature of a release."""
    key = signing._private_key(keys[0])
    bare = signing.Signature(key.public_key().public_bytes_raw(), key.sign(stored("rate noisy")))
    signed.write_bytes(stored("rate noisy") + bare.to_bytes())
    with pytest.raises(FormatError, match="does not belong"):
        sf.load(signed).verify(public_key=keys[1])


def test_saving_again_keeps_the_signature_and_an_edit_breaks_it(signed, keys, tmp_path):
    release = sf.load(signed)
    release.save(tmp_path / "copy.sfumato")
    assert (tmp_path / "copy.sfumato").read_bytes() == signed.read_bytes()
    other = sf.Release.from_bytes(stored("bounded mean"))
    with pytest.raises(FormatError, match="does not belong"):
        dataclasses.replace(other, signature=release.signature).verify(public_key=keys[1])


# --- keys --------------------------------------------------------------------------------------------------------------


def test_keys_are_made_for_the_owner_alone_and_never_overwritten(tmp_path, monkeypatch, capsys):
    path = tmp_path / "office.key"
    code, out, _ = typed(monkeypatch, capsys, "keys", "create", path)
    assert code == 0
    assert "keep it secret" in out
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    code, _, err = typed(monkeypatch, capsys, "keys", "create", path)
    assert code == 2
    assert "never overwritten" in err
    path.unlink()
    assert typed(monkeypatch, capsys, "keys", "create", path)[0] == 2, "the public key is still there"
    assert not path.exists()
    assert b"PRIVATE KEY" in before


def test_a_key_that_others_can_read_does_not_sign(tmp_path, keys):
    os.chmod(keys[0], 0o644)
    with pytest.raises(ArgumentError, match="chmod 600"):
        sf.Release.from_bytes(stored("rate noisy")).save(tmp_path / "y.sfumato", sign_with=keys[0])
    assert not (tmp_path / "y.sfumato").exists()


def test_a_file_that_is_no_such_key_is_refused(tmp_path, signed, keys):
    wrong = tmp_path / "wrong.pem"
    for content in (b"", b"no key", keys[1].read_bytes()):
        wrong.write_bytes(content)
        wrong.chmod(0o600)
        with pytest.raises(ArgumentError, match=r"no Ed25519 private key|is a public key"):
            signing.sign(b"x", wrong)
    with pytest.raises(ArgumentError, match="no Ed25519 public key"):
        sf.load(signed).verify(public_key=keys[0])


def test_without_the_library_a_sentence_says_how_to_install_it(tmp_path, monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(signing, "import_module", absent)
    with pytest.raises(ArgumentError, match=r"pip install 'sfumato\[sign\]'"):
        signing.create(tmp_path / "k")
    assert not (tmp_path / "k").exists()


def test_the_trailer_is_no_part_of_what_is_packed(signed):
    sealed, trailer = storage.split(signed.read_bytes())
    assert sealed == stored("rate noisy")
    assert signing.Signature.from_bytes(trailer).to_bytes() == trailer
    with pytest.raises(FormatError, match="too many"):
        storage.unpack(signed.read_bytes())


def rewritten(data: bytes, change) -> bytes:
    """A file whose header is written otherwise, its checksum made anew and its signature kept."""
    start = len(storage.MAGIC) + 40
    length = int.from_bytes(data[len(storage.MAGIC) : len(storage.MAGIC) + 8], "little")
    header = change(data[start : start + length])
    digest = hashlib.sha256(header).digest()
    return storage.MAGIC + len(header).to_bytes(8, "little") + digest + header + data[start + length :]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda header: header.replace(b'":', b'": '), "form in which"),
        (lambda header: header.replace(b'"promise":', b'"promise":"(0.001, 0)","promise":'), "twice"),
        (lambda header: header[:-1] + b',"approved_by":"nobody"}', "unknown keys"),
        (lambda header: header.replace(b'{"dtype"', b'{"comment":"x","dtype"'), "unknown keys"),
        (lambda header: header.replace(b'"epsilon":1.0', b'"epsilon":1.00000000000000000001'), "form in which"),
        (lambda header: header[:-1].removesuffix(b'"version":1') + b'"version":1.0}', "version"),
        (lambda header: header[:-1].removesuffix(b'"version":1') + b'"version":true}', "version"),
    ],
    ids=["spaces", "key twice", "key of the header", "key of an array", "number spelled otherwise", "1.0", "true"],
)
def test_other_bytes_of_the_same_release_are_refused(signed, change, sentence):
    data = signed.read_bytes()
    other = rewritten(data, change)
    assert rewritten(data, lambda header: header) == data
    assert other != data
    with pytest.raises(FormatError, match=sentence):
        sf.Release.from_bytes(other)


def test_another_type_of_array_is_another_file():
    document, arrays = parts("quantile")
    whole = storage.pack({"release": document}, {name: array.astype("<i8") for name, array in arrays.items()})
    with pytest.raises(FormatError, match="form in which"):
        sf.Release.from_bytes(whole)
