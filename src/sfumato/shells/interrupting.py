"""Ctrl-C, a lost cluster, or a file that cannot be written, during a release: the error line includes what was charged."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import ArgumentError, PublishError, SfumatoError
from sfumato.shells.printing import Interrupted, of_file


@contextmanager
def says_what_was_charged(ledger: Any, name: str, request: str, output: Path) -> Iterator[None]:
    """Add what the ledger holds under this request to the message of Ctrl-C, of a refusal, or of an error of the system.

    The request id is made from the spec and the plan, so the same command finds the same charge again.
    """
    try:
        yield
    except KeyboardInterrupt:
        if threading.current_thread() is threading.main_thread():
            # The process is about to end: a second Ctrl-C must not suppress the message.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        sentence = _sentence(ledger, name, request, output, "Repeat the same command")
        raise Interrupted(f"interrupted; {sentence}") from None
    except PublishError as error:
        # Such as a cluster that was lost: the charge stands, and nothing more is needed.
        if ledger is None or ledger.status(name, request) != "charged":
            raise
        stands = _sentence(ledger, name, request, output, "Repeat the same command")
        raise PublishError(f"{error} It was {stands}") from None
    except OSError as error:
        if isinstance(error, SfumatoError):
            raise
        again = "Repeat the command, with another --output if this one cannot be written,"
        sentence = _sentence(ledger, name, request, output, again)
        raise ArgumentError(f"{of_file(error).rstrip('.')}; {sentence}") from None


def _sentence(ledger: Any, name: str, request: str, output: Path, again: str) -> str:
    if output.exists():
        return f"the release is saved in {str(output)!r}."
    if ledger is None:
        return "nothing was saved, and nothing was charged: the spec names no ledger."
    try:
        status = ledger.status(name, request)
    except SfumatoError:
        return (
            f"the ledger does not answer whether request {request!r} of {name!r} was charged. {again} and "
            "see: a request is never charged twice."
        )
    if status == "unknown":
        return "nothing was charged."
    finish = "finish it under the same charge" if status == "charged" else "save the release, at no further charge"
    return f"charged to {name!r} under request {request!r}. {again} to {finish}."
