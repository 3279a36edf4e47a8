"""Errors of the operating system, translated to errors of the ledger."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.errors import LedgerFull, LedgerReadOnly, LedgerUnavailable

# The last sentence of every error after which a request may be repeated.
REPEAT = "Repeat with the same request id once this is mended: nothing is charged twice."
# EDQUOT (a quota is used up) does not exist on every system.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def translated_os(what: str) -> Iterator[None]:
    """Raise an OSError as LedgerReadOnly, LedgerFull or LedgerUnavailable, with `what` it concerns."""
    try:
        yield
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            raise LedgerReadOnly(f"{what} may not be read or written: {error}. {REPEAT}") from error
        if error.errno in _FULL:
            raise LedgerFull(f"{what} could not be written, the disk is full: {error}. {REPEAT}") from error
        raise LedgerUnavailable(f"{what} could not be used: {error}. {REPEAT}") from error
