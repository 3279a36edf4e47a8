"""The result of reading rows: a value, or the error to raise later.

A traceback keeps the local variables of every frame that it passed, so an error raised while rows are read keeps rows.
Such an error is therefore caught where it happens, replaced by one without traceback, cause and context, and returned as
a value. It is raised by a caller that has dropped its own references to the rows:

    made = attempt(work, rows)
    del rows
    return made.get()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec, TypeVar, cast

from sfumato.errors import ArgumentError, SfumatoError

Made = TypeVar("Made")
Given = ParamSpec("Given")


@dataclass(frozen=True)
class Outcome(Generic[Made]):
    """The value that was made, or the error to raise."""

    made: Made | None
    error: BaseException | None = None

    def get(self) -> Made:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return cast(Made, self.made)


def attempt(work: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Outcome[Made]:
    """Call `work`. Messages of other libraries may quote cells, so only the type of their errors is passed on."""
    try:
        return Outcome(work(*given, **named))
    except SfumatoError as error:
        own = error
        own.__traceback__ = own.__context__ = own.__cause__ = None
        return Outcome(None, own)
    except MemoryError:
        return Outcome(None, MemoryError("the rows do not fit into memory."))
    except KeyboardInterrupt:
        return Outcome(None, KeyboardInterrupt())
    except Exception as error:
        fault = type(error).__name__
    return Outcome(
        None,
        ArgumentError(
            f"the source could not be read: it failed with {fault}. The message is withheld because it may quote a cell; "
            "read the source with its own tool to see it."
        ),
    )
