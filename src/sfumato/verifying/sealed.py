"""Whether a release is what a ledger sealed, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import FormatError


def compare(data: bytes, receipt: Mapping[str, Any] | None, ledger: Any) -> None:
    """Raise FormatError unless the ledger sealed exactly these bytes under the receipt's name and request."""
    if receipt is None:
        raise FormatError(
            "the release was charged to no ledger: there is no sealed copy that it could be compared with."
        )
    name, request = receipt["ledger"], receipt["request_id"]
    if name not in ledger.names():
        raise FormatError(f"the ledger has no account {name!r}, which the release says it was charged to.")
    sealed = ledger.sealed(name, request)
    if sealed is None:
        raise FormatError(
            f"the ledger sealed nothing under request {request!r} of {name!r}: the receipt is not its own."
        )
    if sealed != data:
        raise FormatError(
            f"the file differs from what the ledger sealed under request {request!r} of {name!r}: it was edited afterwards."
        )
