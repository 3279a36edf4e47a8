"""What the operating system says, in the ledger's words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.errors import LedgerFull, LedgerReadOnly, LedgerUnavailable

REPEAT = "Repeat with the same request id once this is mended: nothing is charged twice."
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def translated_os(what: str) -> Iterator[None]:
    """Turn an OSError into the ledger's error for a full disk, a read-only file or any other trouble."""
    try:
        yield
    except PermissionError as error:
        raise LedgerReadOnly(f"{what} may not be read or written: {error}. {REPEAT}") from error
    except OSError as error:
        if error.errno in _FULL:
            raise LedgerFull(f"{what} could not be written, the disk is full: {error}. {REPEAT}") from error
        if error.errno in _DENIED:
            raise LedgerReadOnly(f"{what} may not be written: {error}. {REPEAT}") from error
        raise LedgerUnavailable(f"{what} could not be used: {error}. {REPEAT}") from error
