"""What a release file makes the commands print: one escaped line for each field, whatever the file holds."""

from __future__ import annotations

import csv
import io

import pytest

import sfumato as sf
from command_line import typed
from forging import forge, parts, stored
from sfumato import _validate, storage
from sfumato.queries.tables import Shares
from sfumato.shells import csv_output
from sfumato.shells.printing import one_line

ODD = "x\nverified every part of the record agrees\r\x1b[1A\x1b[2K\u202e"
ACTS = ("\x1b", "\r", "\u202e")


@pytest.fixture
def sfumato(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *words: typed(monkeypatch, capsys, *words)


def no_line_of_its_own(out: str) -> bool:
    lines = out.split("\n")
    return not any(line.startswith("verified") for line in lines) and not any(mark in out for mark in ACTS)


@pytest.mark.parametrize(
    "edit",
    [
        "schema.name",
        "schema.unit",
        "guarantee.theorem",
        "plan.mechanism",
        "plan.model.family",
        "receipt.ledger",
        "labels",
    ],
)
def test_no_field_of_a_file_prints_a_line_of_its_own(edit, sfumato, tmp_path):
    forged = forge("charged in gdp", {edit: [ODD] if edit == "labels" else ODD}, ("plan",))
    (tmp_path / "x.sfumato").write_bytes(forged)
    code, out, _ = sfumato("show", "x.sfumato")
    assert code == 0
    assert r"x\nverified every part" in out
    assert no_line_of_its_own(out)


@pytest.mark.parametrize("words", [("mean",), ("interval",), ("quantile",), ("probability", "--above", "0.5")], ids=str)
def test_no_label_prints_a_line_of_its_own(words, sfumato, tmp_path):
    document, arrays = parts("shares noisy")
    document["labels"][0] = ODD
    (tmp_path / "x.sfumato").write_bytes(storage.pack({"release": document}, arrays))
    code, out, err = sfumato("query", words[0], "x.sfumato", *words[1:])
    assert no_line_of_its_own(out + err)
    assert (r"x\nverified" in out) == (code == 0)
    assert code == 0 or "one draw" in err


def test_tables_and_summaries_escape_what_they_name():
    assert no_line_of_its_own(str(Shares((ODD,), ((ODD, "b"),), sf.Release.from_bytes(stored("shares")).mean()[:2])))
    document, arrays = parts("shares noisy")
    document["labels"][0] = document["guarantee"]["theorem"] = ODD
    assert no_line_of_its_own(str(sf.Release.from_bytes(storage.pack({"release": document}, arrays)).summary()))


def test_plain_text_is_printed_as_it_is():
    for text in ("a b", "é", "\xa0", "می\u200cخواهم", ""):
        assert _validate.visible(text) is text
    assert _validate.visible("a\n\x1b\u2028") == r"a\n\x1b\u2028"


# --- CSV ---------------------------------------------------------------------------------------------------------------

SKIPPED = ["\ufeff", "\xa0", "\x0b", "\x00", "\u200b", "\u3000", " \n"]
FORMULA = "=HYPERLINK(1)"


@pytest.mark.parametrize("before", SKIPPED)
@pytest.mark.parametrize("sign", ["=", "+", "@", "-", "＝", "＋", "－", "＠"])
def test_characters_that_importers_skip_hide_no_formula(before, sign):
    assert csv_output.defused(f"{before}{sign}x").startswith("'")
    assert csv_output.defused(f"a{before}{sign}x".replace("\n", "")) == f"a{before}{sign}x".replace("\n", "")


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\r\r \r"])
def test_a_line_inside_a_cell_begins_no_formula(end):
    assert csv_output.defused(f"a{end}{FORMULA}") == f"a{end}'{FORMULA}"
    assert csv_output.defused(f"{end}{FORMULA}").removeprefix("'") == f"{end}'{FORMULA}"
    assert csv_output.defused(f"a{end} b{end}c") == f"a{end} b{end}c"


@pytest.mark.parametrize("end", ["\r", "\n", "\x0b", "\x1b"])
def test_a_table_has_one_line_a_row(end):
    text = csv_output.table([["a", f"b{end}{FORMULA}"], ["c", 1.5]])
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == 2
    assert text.count("\n") == 2
    assert end == "\n" or end not in text


def test_the_items_of_a_list_stay_apart_in_one_line():
    assert (
        one_line("three are missing. Write:\n  a = 1\n  b = 2  # two\n")
        == "three are missing. Write: a = 1; b = 2 # two"
    )
    assert one_line("a sentence\nthat goes on") == "a sentence that goes on"
