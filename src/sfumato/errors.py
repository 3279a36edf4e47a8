"""The exceptions of Sfumato.

    SfumatoError
    ├── ArgumentError (also ValueError)      an argument is outside what the function accepts
    ├── AssumptionError                      a hypothesis of a theorem does not hold; nothing may be claimed
    │   └── LossRejected                     a user's loss broke one of its declared constants at a witness
    ├── CompositionError                     two guarantees are about different neighbours or units
    ├── CalibrationError                     no parameter in the searched range meets the target
    ├── MechanismRefused                     a mechanism cannot serve this model and goal
    ├── RandomnessError                      the operating system gives no entropy; nothing was drawn
    ├── PublishError                         a release would leak, or repeat or contradict an earlier one
    ├── LedgerError                          an operation of a privacy ledger failed
    │   ├── LedgerExhausted                  the charge does not fit in the remaining budget
    │   ├── ChargeRefused                    this guarantee can never be charged to this ledger
    │   ├── RequestConflict                  a name, request id or seal was used before with other terms
    │   ├── LedgerDamaged                    the rows, their chain or the witness show an edit or a rollback
    │   ├── ClockSetBack                     the clock is behind the last row
    │   └── LedgerUnavailable                the storage could not be used; the same request id may be repeated
    │       ├── LedgerLocked                 another process held it for too long
    │       ├── LedgerReadOnly               it may not be written
    │       └── LedgerFull                   the disk is full
    └── FormatError (also ValueError)        a stored document has an unknown version, key or value

Every message names the argument or hypothesis, the requirement, the value given and the remedy.
"""

from __future__ import annotations


class SfumatoError(Exception):
    """The root: catch this to catch everything the library raises on purpose."""


class ArgumentError(SfumatoError, ValueError):
    """An argument is outside what the function accepts."""


class AssumptionError(SfumatoError):
    """A hypothesis of a theorem does not hold, so nothing is claimed.

    The parts of the message are kept as attributes, so that a caller can show them in its own way.
    """

    def __init__(self, theorem: str, hypothesis: str, symbol: str, required: str, given: str, remedy: str) -> None:
        """Keep the parts and build the one-line message."""
        self.theorem = theorem
        self.hypothesis = hypothesis
        self.symbol = symbol
        self.required = required
        self.given = given
        self.remedy = remedy
        super().__init__(f"{theorem}: {hypothesis} ({symbol}) must be {required}; got {given}. {remedy}")

    def __reduce__(self) -> tuple[type, tuple[str, ...]]:
        """Keep all parts when a process pool sends the error back."""
        return type(self), (self.theorem, self.hypothesis, self.symbol, self.required, self.given, self.remedy)


class LossRejected(AssumptionError):
    """A user's loss broke one of its declared constants; the message shows the witness."""


class CompositionError(SfumatoError):
    """Two guarantees cannot be added: they are about different neighbours, units or distances."""


class CalibrationError(SfumatoError):
    """No parameter in the searched range meets the target."""


class MechanismRefused(SfumatoError):
    """A mechanism cannot serve this model, goal or target."""


class RandomnessError(SfumatoError):
    """The operating system gives no entropy; nothing was drawn."""


class PublishError(SfumatoError):
    """A release would leak, or repeat or contradict an earlier one."""


class FormatError(SfumatoError, ValueError):
    """A stored document has an unknown version, an unknown key or an impossible value."""


class LedgerError(SfumatoError):
    """An operation of a privacy ledger failed."""


class LedgerExhausted(LedgerError):
    """The charge does not fit in the remaining budget; the amounts are epsilons at the registered delta."""

    def __init__(self, message: str, spent: float, requested: float, remaining: float) -> None:
        """Keep the three amounts beside the message."""
        self.spent = spent
        self.requested = requested
        self.remaining = remaining
        super().__init__(message)

    def __reduce__(self) -> tuple[type[LedgerExhausted], tuple[object, ...]]:
        """Travel between processes with the amounts."""
        return type(self), (str(self), self.spent, self.requested, self.remaining)


class ChargeRefused(LedgerError):
    """The guarantee can never be charged to this ledger; nothing was written."""


class RequestConflict(LedgerError):
    """A name, a request id or a seal was used before with other terms."""


class LedgerDamaged(LedgerError):
    """The rows, their hash chain or the witness show that the ledger was edited or rolled back."""


class ClockSetBack(LedgerError):
    """The clock is behind the last row of the ledger."""


class FolderChanged(LedgerError):
    """The database of the ledger lies in another folder than before."""


class LedgerUnavailable(LedgerError):
    """The storage could not be used; the same request id may be repeated without being charged twice."""


class LedgerLocked(LedgerUnavailable):
    """Another process held the ledger for longer than the waiting time."""


class LedgerReadOnly(LedgerUnavailable):
    """The ledger or its witness may not be written."""


class LedgerFull(LedgerUnavailable):
    """The disk that holds the ledger or its witness is full."""
