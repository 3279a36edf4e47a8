"""Ctrl-C during a release: the ledger is asked what was charged, and the answer is the one line that is printed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.shells.printing import Interrupted


@contextmanager
def says_what_was_charged(ledger: Any, name: str, request: str, output: Path) -> Iterator[None]:
    """Turn Ctrl-C inside the block into `Interrupted` with what the ledger holds under this request.

    The request id is made from the spec and the plan, so the same command finds the same charge again.
    """
    try:
        yield
    except KeyboardInterrupt:
        if threading.current_thread() is threading.main_thread():
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # the process is about to end: a second Ctrl-C must not hide the answer
        raise Interrupted(_sentence(ledger, name, request, output)) from None


def _sentence(ledger: Any, name: str, request: str, output: Path) -> str:
    if output.exists():
        return f"interrupted; the release is saved in {str(output)!r}."
    if ledger is None:
        return "interrupted; nothing was saved, and nothing was charged: the spec names no ledger."
    try:
        status = ledger.status(name, request)
    except SfumatoError:
        return (
            f"interrupted; the ledger does not answer whether request {request!r} of {name!r} was charged. Repeat the same "
            "command: a request is never charged twice."
        )
    if status == "unknown":
        return "interrupted; nothing was charged."
    finish = "finish it under the same charge" if status == "charged" else "save the release, at no further charge"
    return f"interrupted; charged to {name!r} under request {request!r}. Repeat the same command to {finish}."
