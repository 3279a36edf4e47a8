"""The location of a ledger: its path or URL, and its witness file."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sfumato._private_files import state_folder
from sfumato.errors import ArgumentError
from sfumato.ledger.address import SCHEMES, Address
from sfumato.ledger.postgres import PostgresStore
from sfumato.ledger.sqlite import SqliteStore
from sfumato.ledger.store import Store

# Misspelled PostgreSQL addresses that would be taken for a file name and printed with their password.
_LIKE_A_URL = re.compile(
    r"^\s*postgres(ql)?\W|\bpassword\s*=|^[A-Za-z][\w+.-]+:[^/].*:.*@|^[^/]*//[^/]*:[^/]*@", re.IGNORECASE
)


@dataclass(frozen=True)
class Location:
    """An absolute URL and the path of its witness; together they identify a ledger."""

    url: str
    witness: Path

    @classmethod
    def of(cls, where: str | os.PathLike[str], witness: str | os.PathLike[str] | None) -> Location:
        """Read a path, "sqlite:///path" or "postgresql://..."; paths become absolute, so copies work anywhere."""
        text = where if isinstance(where, str) else os.fspath(where) if isinstance(where, os.PathLike) else None
        if not isinstance(text, str) or not text.strip():
            raise ArgumentError(
                f"a ledger lives at a path, sqlite:///path or postgresql:// URL; got {type(where).__name__}."
            )
        scheme = text.split("://", 1)[0] if "://" in text else ""
        if scheme in SCHEMES:
            Address.of(text)
            return cls(text, _absolute(witness) if witness is not None else state_folder() / f"{_key(text)}.witness")
        if scheme not in ("", "sqlite") or (scheme and not text.startswith("sqlite:///")):
            raise ArgumentError(
                f"a ledger URL must begin with sqlite:/// or postgresql://; got one of {scheme + '://'!r}."
            )
        if _LIKE_A_URL.search(text):
            raise ArgumentError(
                "this looks like a PostgreSQL address that is not written as postgresql://user:password@host/database. (It is not "
                "shown: it may hold a password.)"
            )
        name = text.removeprefix("sqlite:///") if scheme else text
        # SQLite's name for a database in memory.
        if name == ":memory:" or not name:
            raise ArgumentError(f"a ledger must outlive the process, so it needs a file; got {text!r}.")
        path = _absolute(name)
        return cls(f"sqlite:///{path}", _absolute(witness) if witness is not None else Path(f"{path}.witness"))

    def store(self) -> Store:
        """Return the store there; nothing is opened yet."""
        if self.url.startswith("sqlite:///"):
            return SqliteStore(Path(self.url.removeprefix("sqlite:///")))
        return PostgresStore(Address.of(self.url))

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return self.url if self.url.startswith("sqlite:") else Address.of(self.url).shown

    def __repr__(self) -> str:
        return f"Location({self.shown!r}, {str(self.witness)!r})"


def _absolute(path: str | os.PathLike[str]) -> Path:
    """Resolve links too: two names of one file must share one witness."""
    try:
        resolved = Path(path).expanduser().resolve()
        str(resolved).encode()
        usable = bool(resolved.name) and not resolved.is_dir()
    except (RuntimeError, OSError, ValueError):
        usable = False
    if not usable:
        raise ArgumentError(f"a ledger and its witness are files, such as budget.db; {str(path)!r} cannot be one.")
    return resolved


def _key(url: str) -> str:
    """Hash of a PostgreSQL address, which names its witness: a database replaced at the same address has the old witness.

    The text that is hashed is never shown. It must not change: witnesses on users' machines are named by it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets or odd characters in a password, which PostgreSQL's client takes
        return hashlib.sha256(Address.of(url).shown.encode()).hexdigest()[:32]
    user, at, address = parts.netloc.rpartition("@")
    asked = [(key, value) for key, value in parse_qsl(parts.query) if "password" not in key]
    text = urlunsplit(parts._replace(netloc=user.split(":")[0] + at + address, query=urlencode(asked)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
