"""Ed25519 signatures of release files: they show that the owner of a key published exactly these bytes.

A signed file is the sealed bytes of the release (what `storage.pack` wrote, and what a ledger keeps) followed by a trailer
of fixed length: a magic line, the signer's public key and the signature. The signature covers a fixed prefix and ALL
sealed bytes. The sealed bytes themselves are the same with and without a signature, so ledgers are not affected.

The public key in the trailer only serves error messages: `check` trusts no key but the reader's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.errors import ArgumentError, FormatError

Key = str | os.PathLike[str]

# The magic line of the trailer, with the version of its layout.
TRAILER = b"\nsfumato signature ed25519 1\n"
# The signed bytes begin with this line, so that a signature made for another purpose is none of a release.
_PREFIX = b"sfumato release, signed 1\n"
# The sizes of Ed25519 (RFC 8032).
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64


@dataclass(frozen=True)
class Signature:
    """The signer's raw public key, and the signature."""

    key: bytes
    value: bytes

    def to_bytes(self) -> bytes:
        """The trailer of a signed file."""
        return TRAILER + self.key + self.value

    @classmethod
    def from_bytes(cls, trailer: bytes) -> Signature | None:
        """Read the bytes after the sealed ones: none, or exactly one trailer."""
        if not trailer:
            return None
        if not trailer.startswith(TRAILER) or len(trailer) != len(TRAILER) + _KEY_BYTES + _SIGNATURE_BYTES:
            raise FormatError(
                f"the file has {len(trailer)} bytes too many after its last part, which are no signature: it is damaged."
            )
        rest = trailer[len(TRAILER) :]
        return cls(rest[:_KEY_BYTES], rest[_KEY_BYTES:])


def sign(sealed: bytes, private_key: Key) -> Signature:
    """Sign the sealed bytes with the private key in this file."""
    key = _private_key(Path(private_key))
    return Signature(key.public_key().public_bytes_raw(), key.sign(_PREFIX + sealed))


def check_private_key(path: Key) -> None:
    """Raise unless the file holds a private key to sign with."""
    _private_key(Path(path))


def check(sealed: bytes, signature: Signature | None, public_key: Key) -> None:
    """Raise FormatError unless the sealed bytes were signed with the private key that belongs to this public key."""
    key = _public_key(Path(public_key))
    if signature is None:
        raise FormatError(f"the release is not signed, so nothing shows that the owner of {public_key} published it.")
    if signature.key != key.public_bytes_raw():
        raise FormatError(
            f"the release is signed with another key (its public key begins with {signature.key.hex()[:16]}) than that of "
            f"{public_key}."
        )
    try:
        key.verify(signature.value, _PREFIX + sealed)
    except _library("exceptions").InvalidSignature:
        raise FormatError(
            "the signature does not belong to this release: the file was changed after it was signed, or the signature was "
            "taken from another release."
        ) from None


def create(path: Key) -> tuple[Path, Path]:
    """Write a new private key, readable by its owner alone, and beside it its public key (.pub); return both paths.

    Both are PEM files that other programs read too. An existing file is never overwritten.
    """
    private, public = Path(path), Path(f"{os.fspath(path)}.pub")
    key, forms = _ed25519().Ed25519PrivateKey.generate(), _forms()
    for each in (private, public):
        if each.exists():
            raise ArgumentError(f"{each} is there already: a key is never overwritten. Choose another name.")
    secret = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    shown = key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    _write_new(private, secret, 0o600)
    _write_new(public, shown, 0o644)
    return private, public


def _write_new(path: Path, data: bytes, mode: int) -> None:
    """Create the file with these permissions from the start; raise FileExistsError if there is one of this name."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _private_key(path: Path) -> Any:
    """Read an Ed25519 private key; one that other users can read is refused."""
    if path.is_file() and b"PUBLIC KEY" in path.read_bytes()[:100]:
        raise ArgumentError(f"{path} is a public key, which others verify with; sign with the private key beside it.")
    if os.name == "posix" and path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ArgumentError(f"{path} can be read or written by other users, so it signs for them too: chmod 600 {path}")
    return _read(path, lambda data: _forms().load_pem_private_key(data, None), _ed25519().Ed25519PrivateKey, "private")


def _public_key(path: Path) -> Any:
    return _read(path, lambda data: _forms().load_pem_public_key(data), _ed25519().Ed25519PublicKey, "public")


def _read(path: Path, load: Callable[[bytes], Any], kind: type, word: str) -> Any:
    """The key in this file, or an error unless it is of this kind."""
    unsupported = _library("exceptions").UnsupportedAlgorithm
    data = path.read_bytes()
    try:
        key = load(data)
    except (ValueError, TypeError, unsupported):
        key = None
    if not isinstance(key, kind):
        raise ArgumentError(f"{path} holds no Ed25519 {word} key in PEM form; sfumato keys create makes a pair.")
    return key


def _ed25519() -> Any:
    return _library("hazmat.primitives.asymmetric.ed25519")


def _forms() -> Any:
    return _library("hazmat.primitives.serialization")


def _library(part: str) -> Any:
    """A module of `cryptography`, which only signing needs."""
    try:
        return import_module(f"cryptography.{part}")
    except ImportError as error:
        raise ArgumentError(
            "signatures need the library cryptography, which is not installed: pip install 'sfumato[sign]'"
        ) from error
