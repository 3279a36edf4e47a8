"""Verification of a release's record: each field is compared with the others that it follows from.

CHECKS lists the checks in order; each is a function of a module beside this one and takes a `Record`: the release, its model
and schema read back, and its price computed again. Fields that can be recomputed are; random ones must at least be possible.
A record that was forged consistently, from the parameters to the draws, passes: only a signature or the ledger's sealed copy
detects that (docs/files.md).
"""

from __future__ import annotations

from typing import Any

from sfumato import release_file, signing
from sfumato.errors import FormatError, SfumatoError
from sfumato.verifying import fields, price, receipt, support
from sfumato.verifying.record import Record
from sfumato.verifying.sealed import compare

# Cheap and structural first: the price is not computed for a model that does not fit its schema.
CHECKS = (
    fields.check_names,
    fields.check_labels,
    price.check_price,
    price.check_strength,
    price.check_target,
    price.check_expected,
    receipt.check_receipt,
    support.check_draws,
)


def verify(release: Any, public_key: Any = None, ledger: Any = None) -> None:
    """Raise FormatError where a record contradicts itself or lacks a part; see `Release.verify`."""
    try:
        release_file.from_bytes(release.to_bytes())  # sizes and types, as if it had been read from a file
        record = Record.of(release)
        for check in CHECKS:
            check(record)
        if public_key is not None:
            signing.check(release.to_bytes(), release.signature, public_key)
        if ledger is not None:
            compare(release.to_bytes(), release.receipt, ledger)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
        if isinstance(error, SfumatoError):
            raise
        raise FormatError(f"the release's record is incomplete or damaged: {error!r}.") from error
