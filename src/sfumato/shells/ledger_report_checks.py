"""The checks of a ledger's report. A check that fails is recorded with its reason, and the page is still written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato import signing
from sfumato.errors import FormatError, SfumatoError
from sfumato.release import Release
from sfumato.release_file import sealed_part
from sfumato.shells.printing import redacted
from sfumato.storage import MAGIC
from sfumato.verifying.sealed import compare

# Errors that a forged record can cause where a field is missing or has another type.
DAMAGED = (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
# What `Release.verify` establishes.
_RECORD = "every part of the record agrees with the others; the price was computed again and is the same"


@dataclass(frozen=True)
class Check:
    """One check: its subject, what was checked, and the reason why it failed; "" where it passed."""

    subject: str
    what: str
    reason: str = ""

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return not self.reason


def attempt(subject: str, what: str, act: Callable[[], object]) -> Check:
    """Carry out a check; the error that it ends in is its reason, without passwords."""
    try:
        act()
    except SfumatoError as error:
        return Check(subject, what, redacted(str(error)) or type(error).__name__)
    except DAMAGED as error:
        return Check(subject, what, f"the record is incomplete or damaged ({type(error).__name__}).")
    return Check(subject, what)


def of_ledger(ledger: Any, place: str) -> list[Check]:
    """Check the chain of hashes, every sealed byte and the witness: one line for each, or one line that failed."""
    whole = attempt(place, "chain of hashes, sealed bytes and witness", ledger.verify)
    if not whole.passed:
        return [whole]
    rows = ledger.verify()
    return [
        Check(place, f"chain of hashes: each of the {rows:,} entries follows from the one before it"),
        Check(place, "sealed releases: their bytes have the hashes that were recorded when they were sealed"),
        Check(place, f"witness: {ledger.witness.name} agrees with the entries, so none was rolled back"),
    ]


def is_release(data: bytes) -> bool:
    """Whether the bytes begin as a release file does; other bytes may be sealed too, and are not checked further."""
    return data.startswith(MAGIC)


def of_sealed(release: Release, receipt: Any, subject: str) -> list[Check]:
    """Check the record of a sealed release, and that it carries the receipt of its own charge."""

    def own() -> None:
        if release.receipt != receipt.to_json():
            raise FormatError(
                "what is sealed does not carry the receipt of its charge: it was not put there by sf.publish."
            )

    checks = [attempt(subject, _RECORD, release.verify)]
    return [*checks, attempt(subject, "it carries the receipt of its own charge", own)]


def of_file(file: Path, ledger: Any, public_key: Path | None) -> list[Check]:
    """Compare a release file with what the ledger sealed, byte for byte; with a key, its signature too."""
    data, subject = file.read_bytes(), file.name
    readable = attempt(subject, "the file can be read as a release", lambda: Release.from_bytes(data))
    if not readable.passed:
        return [readable]
    release = Release.from_bytes(data)
    checks = [
        attempt(subject, _RECORD, release.verify),
        attempt(
            subject,
            "the file is byte for byte what the ledger sealed",
            lambda: compare(sealed_part(data), release.receipt, ledger),
        ),
    ]
    if public_key is not None:
        signed = f"the signature was made with the private key that belongs to {public_key.name}"
        checks.append(attempt(subject, signed, lambda: signing.check(sealed_part(data), release.signature, public_key)))
    return checks


def seeded(file: Path) -> bool:
    """Whether a file holds a release of a seeded stream, which protects nobody."""
    try:
        return not Release.from_bytes(file.read_bytes()).private
    except (SfumatoError, *DAMAGED):
        return False
