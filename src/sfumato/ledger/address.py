"""The address of a PostgreSQL ledger, with the parts that may be printed and those that are secret.

A URL is parsed as PostgreSQL's own client parses it: user and password end at the first "@", the password may hold "#" and
"?" but neither "@" nor "/". A URL of another form, or one that the client would refuse and quote, is refused here without
being quoted, since any part of it may be the password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from sfumato.errors import ArgumentError

# The two schemes that libpq accepts.
SCHEMES = ("postgresql", "postgres")
# scheme://user:password@hosts/database?query, as libpq reads it.
_FORM = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://"
    r"(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?"
    r"(?P<hosts>(?:\[[0-9A-Fa-f:.]+\](?::\d+)?|[^@/?#\[\]]*))"
    r"(?:/(?P<database>[^?#@]*))?"
    r"(?:\?(?P<query>[^#@]*))?"
)
# Hosts separated by commas, each with an optional port.
_PORTS = re.compile(r"[^:,]*(?::\d*)?(?:,[^:,]*(?::\d*)?)*")
# A percent sign that begins no escape.
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Parameters that locate the ledger and may be printed.
_PRINTED = ("host", "hostaddr", "port", "dbname", "user", "sslmode")
# Parameters whose values are secret.
_SECRET = ("password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret")
# The other connection parameters of libpq, PostgreSQL's client library; it quotes the names of unknown ones.
_OTHER = (
    "application_name", "channel_binding", "client_encoding", "connect_timeout", "fallback_application_name", "gssdelegation",
    "gssencmode", "gsslib", "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
    "load_balance_hosts", "max_protocol_version", "min_protocol_version", "options", "passfile", "replication", "require_auth",
    "requirepeer", "service", "servicefile", "ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcertmode",
    "sslcompression", "sslcrl", "sslcrldir", "sslkey", "sslnegotiation", "sslrootcert", "sslsni", "target_session_attrs",
    "tcp_user_timeout",
)  # fmt: skip
# A shorter secret would also be cut out of ordinary words, and the gaps would reveal it.
_SHORTEST_SECRET = 4


@dataclass(frozen=True)
class Address:
    """A PostgreSQL URL, what may be shown of it, and its secrets; its repr shows no password."""

    url: str
    shown: str
    secrets: tuple[str, ...]

    @classmethod
    def of(cls, url: str) -> Address:
        """Read a URL, or refuse it without quoting it."""
        parts = _FORM.fullmatch(url)
        if parts is None or not url.isprintable() or re.search(r"\s", url) or _BAD_ESCAPE.search(url):
            raise _unreadable()
        if not (parts["hosts"].startswith("[") or _PORTS.fullmatch(parts["hosts"])):
            raise _unreadable()
        asked = [part.partition("=") for part in (parts["query"] or "").split("&") if part]
        if any(key not in (*_PRINTED, *_SECRET, *_OTHER) or not equals for key, equals, _ in asked):
            raise _unreadable()
        user = f"{parts['user']}@" if parts["user"] else ""
        place = f"{parts['scheme']}://{user}{parts['hosts']}" + (f"/{parts['database']}" if parts["database"] else "")
        kept = "&".join(f"{key}={quote(unquote(value), safe='/')}" for key, _, value in asked if key in _PRINTED)
        raw = [parts["password"] or "", *(value for key, _, value in asked if key in _SECRET)]
        secrets = {text for value in raw for text in (value, unquote(value)) if text}
        return cls(url, place + (f"?{kept}" if kept else ""), tuple(sorted(secrets, key=len, reverse=True)))

    def redacted(self, text: str) -> str:
        """Return a message of the driver without anything secret in it."""
        if any(len(secret) < _SHORTEST_SECRET for secret in self.secrets):
            return "the driver's message is left out, since it could give away a short password"
        for secret in (self.url, *self.secrets):
            text = text.replace(secret, "***")
        return text

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def _unreadable() -> ArgumentError:
    return ArgumentError(
        "the URL of the ledger cannot be read; it must be postgresql://user:password@host:port/database?sslmode=..., with "
        "parameters that PostgreSQL knows. In the password write @ as %40, / as %2F, # as %23, ? as %3F, % as %25 and a space as "
        "%20. (The URL is not shown: it may hold a password.)"
    )
