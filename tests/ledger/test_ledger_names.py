"""Names that look alike would be two budgets for the same people: one spelling is kept, and what cannot be seen is refused."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from ledger_places import gaussian

from sfumato.errors import ArgumentError
from sfumato.ledger.terms import Terms, label

# Default-ignorable characters that are printable by category, and blanks by their pictures in common fonts.
IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\uffa0\ufe00\ufe0f\U000e0100\U000e01ef"
BLANK = "\u2800\ufffc\ufffd\U0001d159\U00016fe4\u2d7f\U0001107f"
UNPRINTABLE = "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u2028\u202e\u2060\u2066\ufeff\ue000\U000e0041\t\n\x7f\u0378"


@pytest.mark.parametrize("letter", [*IGNORABLE, *BLANK, *UNPRINTABLE])
def test_a_character_that_is_not_seen_is_refused(letter):
    for text in (f"a{letter}b", f"a{letter}", f"{letter}a", letter) if letter not in "\t\n\u2028" else (f"a{letter}b",):
        with pytest.raises(ArgumentError, match="without invisible ones"):
            label("name", text)


@pytest.mark.parametrize(
    "text", ["a  b", "a\u00a0 b", "a\u2003\u2003b", "\u0301", "\u0301a", "a \u0301b", "\u00a8", "", " "]
)
def test_double_spaces_and_marks_without_a_letter_are_refused(text):
    with pytest.raises(ArgumentError, match="double spaces"):
        label("name", text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (" survey ", "survey"), ("cafe\u0301", "caf\u00e9"), ("\ufb01le", "file"), ("\uff21\uff22", "AB"), ("a\u00a0b", "a b"),
        ("a\u2003b", "a b"), ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("\u8abf\u67fb 2026", "\u8abf\u67fb 2026"), ("a" * 200, "a" * 200), ("\u2116 5 \u2013 (\u03b1)", "No 5 \u2013 (\u03b1)"),
    ],
)  # fmt: skip
def test_one_spelling_is_kept(text, kept):
    assert label("name", text) == kept == label("name", kept)


def test_no_character_changes_a_name_that_is_normal_already():
    """A name that was written is read back as itself, or the row would be damage."""
    for code in range(0, sys.maxunicode + 1, 7):
        try:
            kept = label("name", f"a{chr(code)}b")
        except ArgumentError:
            continue
        assert label("name", kept) == kept
        assert not any(unicodedata.category(each)[0] in "CZ" for each in kept.replace(" ", ""))


def test_the_refused_character_is_shown_as_an_escape():
    with pytest.raises(ArgumentError, match=r"request_id must .* got 'a\\u2800b'"):
        label("request_id", "a\u2800b")


@pytest.mark.parametrize("text", ["a  b", "a\u2800b", "a\U0001d159", "\ufffc"])
def test_every_name_of_a_ledger_is_asked(sqlite_place, text):
    ledger = sqlite_place.open()
    ledger.register("a b", 3.0, 1e-6)
    rows = sqlite_place.rows()
    for use in (
        lambda: ledger.register(text, 3.0, 1e-6),
        lambda: ledger.register("other", 3.0, 1e-6, unit=text),
        lambda: ledger.charge(text, gaussian(0.1), request_id="r1"),
        lambda: ledger.charge("a b", gaussian(0.1), request_id=text),
        lambda: ledger.charge("a b", gaussian(0.1), request_id="r1", plan_digest=text),
        lambda: ledger.status("a b", text),
        lambda: ledger.accept_clock(text),
        lambda: ledger.accept_folder(text),
    ):
        with pytest.raises(ArgumentError, match="without invisible ones"):
            use()
    assert sqlite_place.rows() == rows
    assert ledger.spent("a\u00a0b").charges == 0  # which is the same name


def test_an_id_column_may_have_double_spaces_but_nothing_invisible():
    """It is the name of a column, and compared letter by letter."""
    assert Terms(1.0, 1e-6, id_column="patient  id").id_column == "patient  id"
    with pytest.raises(ArgumentError, match="id_column"):
        Terms(1.0, 1e-6, id_column="patient\u2800id")
