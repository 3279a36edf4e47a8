"""The exceptions of Sfumato.

    SfumatoError
    ├── ArgumentError (also ValueError)      an argument is outside what the function accepts
    ├── AssumptionError                      a hypothesis of a theorem does not hold; nothing may be claimed
    │   └── LossRejected                     a user's loss broke one of its declared constants at a witness
    ├── CompositionError                     two guarantees speak of different neighbours or units
    ├── CalibrationError                     no parameter in the searched range meets the target
    ├── MechanismRefused                     a mechanism cannot serve this model and goal
    └── FormatError (also ValueError)        a stored document has an unknown version, key or value

Every message says which argument or hypothesis, what was required, what was given and what to do.
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


class LossRejected(AssumptionError):
    """A user's loss broke one of its declared constants; the message shows the witness."""


class CompositionError(SfumatoError):
    """Two guarantees cannot be added: they speak of different neighbours, units or distances."""


class CalibrationError(SfumatoError):
    """No parameter in the searched range meets the target."""


class MechanismRefused(SfumatoError):
    """A mechanism cannot serve this model, goal or target."""


class FormatError(SfumatoError, ValueError):
    """A stored document has an unknown version, an unknown key or an impossible value."""
