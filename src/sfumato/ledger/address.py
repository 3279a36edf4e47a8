"""The address of a PostgreSQL ledger: what may be printed of it, and what never is.

A URL is read as PostgreSQL's own client reads it: user and password end at the first "@", the password may hold "#" and
"?" but neither "@" nor "/". What does not fit this form is refused without being quoted, since any part of it may be
the password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode

from sfumato.errors import ArgumentError

SCHEMES = ("postgresql", "postgres")
_FORM = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://"
    r"(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?"
    r"(?P<hosts>(?:\[[0-9A-Fa-f:.]+\](?::\d+)?|[^@/?#\[\]]*))"
    r"(?:/(?P<database>[^?#@]*))?"
    r"(?:\?(?P<query>[^#@]*))?"
)
_PORTS = re.compile(r"[^:,]*(?::\d*)?(?:,[^:,]*(?::\d*)?)*")
# Parameters that say where the ledger is; all others (passwords, keys, services) are left out of what is printed.
_PRINTED = ("host", "hostaddr", "port", "dbname", "user", "sslmode")


@dataclass(frozen=True)
class Address:
    """A PostgreSQL URL with its parts; its repr shows no password."""

    url: str
    shown: str
    secrets: tuple[str, ...]

    @classmethod
    def of(cls, url: str) -> Address:
        """Read a URL, or refuse it without quoting it."""
        found = _FORM.fullmatch(url)
        if found is None or not (found["hosts"].startswith("[") or _PORTS.fullmatch(found["hosts"])):
            raise ArgumentError(
                "the URL of the ledger cannot be read; it must be postgresql://user:password@host:port/database. In the "
                "password write @ as %40, / as %2F, # as %23 and ? as %3F. (The URL is not shown: it may hold a password.)"
            )
        asked = parse_qsl(found["query"] or "", keep_blank_values=True)
        user = f"{found['user']}@" if found["user"] else ""
        place = f"{found['scheme']}://{user}{found['hosts']}" + (f"/{found['database']}" if found["database"] else "")
        kept = [(key, value) for key, value in asked if key in _PRINTED]
        hidden = [value for key, value in asked if key not in _PRINTED]
        password = found["password"] or ""
        secrets = sorted({text for text in (url, password, unquote(password), *hidden) if text}, key=len, reverse=True)
        return cls(url, place + (f"?{urlencode(kept, safe='/')}" if kept else ""), tuple(secrets))

    def redacted(self, text: str) -> str:
        """Return a message of the driver without anything secret in it."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"
