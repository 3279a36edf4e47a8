"""Texts that a schema may hold: names, units and levels, which documents keep and terminals show."""

from __future__ import annotations

from sfumato import _validate
from sfumato.errors import ArgumentError

# Placeholder in a document for a fact that is still to be declared.
REQUIRED = "REQUIRED"
# End of the error for a fact that was not declared.
DECLARE = (
    "declare {} from what is known without the rows (a code book, a definition, a law); it is never read from them."
)


def public_text(what: str, text: object) -> str:
    """Return a text that documents hold and terminals show: not blank, no space around it, no control or format characters.

    The word for an unknown fact is refused too.
    """
    if not isinstance(text, str) or not text or text != text.strip() or text == REQUIRED:
        raise ArgumentError(f"{what} must be a text without space around it, and not {REQUIRED!r}; got {text!r}.")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ArgumentError(f"{what} must be a text that UTF-8 can write; got {text!r}.")
    if _validate.invisible(text):
        raise ArgumentError(
            f"{what} must be one line of visible text, without control or format characters (line ends, tabs, ESC, marks "
            f"of direction); got {_validate.shown(text)}. Rename it in the table and in the schema."
        )
    return text
