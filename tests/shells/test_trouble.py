"""Trouble that the fuzz and earlier trials met, one named test each: a sentence, an exit code, and nothing left behind."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import fuzzing
import pytest
from test_commands import SPEC, changed, with_budget
from test_commands import clinic as clinic
from test_commands import sfumato as sfumato

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.ledger import Ledger
from sfumato.shells.printing import one_line, redacted

FREE = SPEC.split("[ledger]")[0]
# Noisy totals are planned at once; "auto" searches for a second.
FAST = FREE + 'mechanism = "noisy-statistics"\n'
CHARGED = FAST + SPEC[len(FREE) :]
MODEL = 'family = "BetaBernoulli"\ncolumn = "cured"'


def refused(sfumato, *words, code=2):
    """The one line of a refusal."""
    found, _, err = sfumato(*words)
    assert (found, len(err.splitlines())) == (code, 1), err
    assert err.startswith("sfumato: ")
    assert "Traceback" not in err
    assert "fault of Sfumato" not in err
    return err


# --- numbers that no command may follow to their end --------------------------------------------------------------------

LIMITS = {
    "n": (changed('file = "clinic.csv"', f'file = "clinic.csv"\nn = {10**18}', FREE), "9,007,199,254,740,992"),
    "draws": (FREE + f"draws = {10**12}\n", "draws must be at most 134,217,728:"),
    "steps": (
        FREE.replace(MODEL, 'regression = "logistic"\ntarget = "cured"') + f"steps = {10**18}\n",
        "steps must be at most 1,000,000:",
    ),
    "bins": (FREE.replace(MODEL, f"network = {{ stay = [] }}\nbins = {{ stay = {10**9} }}"), "65,536"),
    "numbers": (
        FREE.replace(MODEL, 'family = "DirichletCategorical"\ncolumn = "ward"') + f"draws = {10**8}\n",
        "134,217,728",
    ),
    "transcript": (
        FREE.replace(MODEL, 'regression = "logistic"\ntarget = "cured"') + "steps = 1000000\ndraws = 1000\n",
        "134,217,728",
    ),
}


@pytest.mark.parametrize("name", list(LIMITS))
def test_a_crafted_number_is_refused_with_the_limit_and_its_reason(name, clinic, sfumato):
    text, limit = LIMITS[name]
    (clinic / "share.toml").write_text(text)
    err = refused(sfumato, "plan", "share.toml")
    assert limit in err
    assert re.search("because|float64|memory|pass over|cell of", err), err


def test_more_than_a_hundred_epsilons_are_refused(clinic, sfumato):
    (clinic / "share.toml").write_text(FAST)
    assert "at most 100" in refused(sfumato, "price-list", "share.toml", "--epsilons", ",".join(["1"] * 101))


@pytest.mark.parametrize(
    ("n", "said"),
    [("0", "at least 1"), ("-3", "at least 1"), ("1.5", "integer"), ("x", "integer"), ("9" * 300, "at most")],
)
@pytest.mark.parametrize("command", ["plan", "price-list", "compare"])
def test_a_number_of_records_that_is_none_is_refused(command, n, said, clinic, sfumato):
    (clinic / "share.toml").write_text(FREE)
    assert said in refused(sfumato, command, "share.toml", "--n", n)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "0x" + "f" * 9000, "1" * 5000])
def test_a_whole_number_of_hundreds_of_digits_is_refused(value, clinic, sfumato):
    (clinic / "share.toml").write_text(changed('column = "cured"', f'column = "cured"\nalpha = {value}', FREE))
    assert re.search("64 bits|too long", refused(sfumato, "plan", "share.toml"))


def test_a_schema_with_a_number_of_thousands_of_digits_is_refused(clinic, sfumato):
    path = clinic / "clinic.schema.toml"
    path.write_text(path.read_text().replace('"patient"', "0x" + "f" * 9000))
    assert "unit must fit in 64 bits" in refused(sfumato, "schema", "check", path.name, "clinic.csv")


def test_numbers_that_overflow_are_not_priced(clinic, sfumato):
    histogram = 'family = "DirichletCategorical"\ncolumn = "ward"\nalpha = 1e308'
    (clinic / "share.toml").write_text(FREE.replace(MODEL, histogram))
    assert "too large or too small" in refused(sfumato, "plan", "share.toml", code=4)


def test_arguments_show_long_values_by_their_size():
    with pytest.raises(ArgumentError, match=r"below 1.8e308.*about 400 digits"):
        _validate.real("alpha", 10**400)
    with pytest.raises(ArgumentError, match="at most 5: why; got 6"):
        _validate.whole("k", 6, 1, 5, "why")
    assert _validate.whole("k", 5, 1, 5, "why") == 5
    assert len(_validate.shown("x" * 10_000)) < 200


# --- files that are no text, no file, or another's ----------------------------------------------------------------------


@pytest.mark.parametrize("file", ["share.toml", "clinic.schema.toml"])
def test_a_file_that_is_not_utf8_is_named(file, clinic, sfumato):
    (clinic / "share.toml").write_text(FREE)
    path = clinic / file
    path.write_bytes(path.read_bytes() + "# caf\xe9\n".encode("latin-1"))
    err = refused(sfumato, "plan", "share.toml")
    assert file in err
    assert "UTF-8" in err


@pytest.mark.parametrize("file", ["share.toml", "clinic.schema.toml"])
def test_a_byte_order_mark_is_no_trouble(file, clinic, sfumato):
    (clinic / "share.toml").write_text(FAST)
    path = clinic / file
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert sfumato("plan", "share.toml")[0] == 0


def test_a_device_without_end_is_not_read_to_its_end(clinic, sfumato):
    assert "16 MiB" in refused(sfumato, "plan", "/dev/zero")


@pytest.mark.parametrize("words", [("plan", "."), ("show", "."), ("schema", "draft", "."), ("ledger", "show", ".")])
def test_a_folder_in_place_of_a_file_is_named_as_one(words, clinic, sfumato):
    assert re.search("folder|there is no file|a data dictionary", refused(sfumato, *words))


def test_a_file_that_may_not_be_read_is_named(clinic, sfumato, monkeypatch):
    """The tests may run as root, who may read anything: the refusal of the operating system is put in by hand."""

    def denied(*_):
        raise PermissionError(13, "Permission denied", "share.toml")

    monkeypatch.setattr("pathlib.Path.open", denied)
    assert "'share.toml' may not be read or written" in refused(sfumato, "plan", "share.toml")


def test_an_unfinished_schema_is_one_line(clinic, sfumato):
    (clinic / "clinic.schema.toml").write_text(
        (clinic / "clinic.schema.toml").read_text().replace("60.0", '"REQUIRED"')
    )
    assert "[columns.stay] upper = <number>" in refused(sfumato, "schema", "check", "clinic.schema.toml", "clinic.csv")


WRONG_TYPES = {
    "features": 'regression = "logistic"\ntarget = "cured"\nfeatures = 1',
    "target": 'regression = "logistic"\ntarget = []',
    "column": 'family = "BetaBernoulli"\ncolumn = {}',
    "intercept": 'regression = "logistic"\ntarget = "cured"\nintercept = "no"',
    "network": "network = { ward = 1 }",
    "bins": "network = { ward = [] }\nbins = 3",
    "clip": 'regression = "linear"\ntarget = "stay"\nclip = "x"',
    "levels": 'family = "DirichletCategorical"\ncolumn = "ward"\nlevels = 0.5',
}


@pytest.mark.parametrize("key", list(WRONG_TYPES))
def test_a_key_of_another_type_is_named(key, clinic, sfumato):
    (clinic / "share.toml").write_text(FREE.replace(MODEL, WRONG_TYPES[key]))
    assert key in refused(sfumato, "plan", "share.toml")


@pytest.mark.parametrize("key", ["mechanism", "goal"])
def test_a_choice_that_is_a_list_is_refused(key, clinic, sfumato):
    (clinic / "share.toml").write_text(FREE + f"{key} = []\n")
    assert key in refused(sfumato, "plan", "share.toml")


def test_a_delta_that_is_a_word_is_refused_by_a_price_list(clinic, sfumato):
    (clinic / "share.toml").write_text(FREE.replace("delta = 1e-6", 'delta = "small"'))
    assert "delta" in refused(sfumato, "price-list", "share.toml")


def test_a_forged_record_is_blamed_and_not_the_program(clinic, sfumato):
    from sfumato import storage

    (clinic / "share.toml").write_text(FAST)
    assert sfumato("release", "share.toml", "-o", "share.sfumato")[0] == 0
    documents, arrays = storage.unpack((clinic / "share.sfumato").read_bytes())
    documents["release"]["plan"]["parameters"] = 7
    (clinic / "share.sfumato").write_bytes(storage.pack(documents, arrays))
    err = refused(sfumato, "show", "share.sfumato")
    assert "share.sfumato is no sound release: plan.parameters must be a table" in err


# --- words of the command line ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan",), "Missing argument"),
        (("plan", "share.toml", "--no-such"), "No such option"),
        (("version", "extra"), "unexpected extra argument"),
        (("nonsense",), "No such command 'nonsense'"),
        (("query", "nonsense"), "No such command"),
        ((), "needs one of the commands"),
    ],
)
def test_wrong_words_are_one_line_with_the_help_to_read(words, said, clinic, sfumato):
    err = refused(sfumato, *words)
    assert said in err
    assert "sfumato" in err.removeprefix("sfumato: ")


def test_wrong_words_are_json_where_that_was_asked_for(clinic, sfumato):
    code, _, err = sfumato("plan", "--json")
    assert code == 2
    assert json.loads(err)["kind"] == "Usage"


def test_messages_show_no_control_characters_and_have_an_end():
    assert one_line("a\n b\x1b[31m\u202e") == "a b\\x1b[31m\\u202e"
    assert len(one_line("x" * 100_000)) < 2000


# --- faults of the program ----------------------------------------------------------------------------------------------


def test_a_fault_of_the_program_is_said_to_be_one_and_quotes_nothing(clinic, sfumato, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError(fuzzing.CELL)

    monkeypatch.setattr("sfumato.shells.spec.Spec.load", broken)
    monkeypatch.delenv("SFUMATO_TRACEBACK", raising=False)
    code, out, err = sfumato("plan", "share.toml")
    assert code == 1
    assert len(err.splitlines()) == 1
    assert "fault of Sfumato" in err
    assert "'sfumato plan'" in err
    assert "SFUMATO_TRACEBACK=1" in err
    assert fuzzing.CELL not in out + err
    monkeypatch.setenv("SFUMATO_TRACEBACK", "1")
    code, _, err = sfumato("plan", "share.toml")
    assert code == 1
    assert "Traceback" in err


def test_python_m_sfumato_prints_no_trace(tmp_path):
    (tmp_path / "share.toml").write_bytes(b"\xff\xfe")
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "plan", str(tmp_path / "share.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


# --- ledgers ------------------------------------------------------------------------------------------------------------


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("place", ["none.db", "sqlite:///none.db", "folder/none.db", "sqlite:/none.db", "", " "])
@pytest.mark.parametrize(
    "words",
    [
        ("ledger", "show", "PLACE"),
        ("ledger", "verify", "PLACE"),
        ("ledger", "register", "PLACE", "clinic", "--epsilon", "1", "--delta", "1e-6", "--unit", "patient"),
        ("report", "share.sfumato", "-o", "page.html", "--ledger", "PLACE"),
    ],
    ids=lambda words: words[1],
)
def test_a_question_to_a_ledger_that_is_not_there_creates_nothing(words, place, clinic, sfumato, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(clinic / "state"))
    (clinic / "share.toml").write_text(FAST)
    assert sfumato("release", "share.toml", "-o", "share.sfumato")[0] == 0
    before = everything(clinic)
    assert "ledger" in refused(sfumato, *(place if word == "PLACE" else word for word in words))
    assert everything(clinic) == before


@pytest.mark.parametrize("key", ['file = "none.db"', 'url = "sqlite:///none.db"', 'file = "none.db"\nwitness = "w"'])
def test_a_spec_with_a_ledger_that_is_not_there_creates_nothing(key, clinic, sfumato):
    (clinic / "share.toml").write_text(FAST + f"[ledger]\n{key}\n")
    before = everything(clinic)
    assert "there is no ledger" in refused(sfumato, "release", "share.toml", "-o", "share.sfumato")
    assert everything(clinic) == before


def test_an_empty_file_is_not_made_a_ledger(clinic, sfumato):
    (clinic / "budget.db").write_bytes(b"")
    before = everything(clinic)
    assert "empty file" in refused(sfumato, "ledger", "show", "budget.db")
    assert everything(clinic) == before
    assert (clinic / "budget.db").read_bytes() == b""


# Port 1 of this machine: nothing listens there, so the attempt ends at once.
URLS = [
    "postgresql://user:pa#hidden@127.0.0.1:1/db",
    "postgresql://user:pa/hidden@127.0.0.1:1/db",
    "postgresql://user:pa@hidden@127.0.0.1:1/db",
    "postgresql://user:hidden@[::1",
    "postgresql://user:hidden@127.0.0.1:abc/db",
    "postgresql://user@127.0.0.1:1/db?password=hidden",
    "postgresql:/user:hidden@h/db",
    "mysql://user:hidden@h/db",
    "mysql://",
    "sqlite:/x",
    "postgresql://user:hid den@127.0.0.1:1/db",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("command", ["show", "create"])
def test_a_malformed_url_gives_a_sentence_without_its_password(command, url, clinic, sfumato, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(clinic / "state"))
    code, out, err = sfumato("ledger", command, url)
    assert code in (2, 3)
    assert (len(err.splitlines()), "Traceback" in err, "fault of" in err) == (1, False, False), err
    assert len(err) > 40
    assert not re.search("hidden|hid den|den@|pa[#/@]", out + err), err


def test_a_password_in_the_wrong_place_is_not_printed(clinic, sfumato):
    assert "hidden" not in refused(sfumato, "version", "postgresql://user:hid den@h/db").replace("hid den", "hidden")
    assert redacted("to postgresql://u:p:q@x@h/db and host=h password='a b' port=1") == (
        "to postgresql://***@h/db and host=h password=*** port=1"
    )


def test_the_ledger_name_of_the_spec_is_charged_and_not_the_schema_s(clinic, sfumato):
    with_budget(sfumato)
    assert sfumato(
        "ledger", "register", "budget.db", "other", "--epsilon", "2", "--delta", "1e-6", "--unit", "patient"
    )[0] == 0  # fmt: skip
    (clinic / "share.toml").write_text(changed('name = "clinic"', 'name = "other"', CHARGED))
    assert sfumato("release", "share.toml", "-o", "share.sfumato")[0] == 0
    charges = {
        name: row["charges"] for name, row in json.loads(sfumato("ledger", "show", "budget.db", "--json")[1]).items()
    }
    assert charges == {"clinic": 0, "other": 1}


def test_the_witness_of_the_spec_is_the_one_that_is_asked(clinic, sfumato):
    with_budget(sfumato)
    (clinic / "away").mkdir()
    (clinic / "budget.db.witness").rename(clinic / "away" / "witness")
    (clinic / "share.toml").write_text(CHARGED)
    assert "witness" in refused(sfumato, "release", "share.toml", "-o", "share.sfumato", code=3)
    (clinic / "share.toml").write_text(CHARGED + 'witness = "away/witness"\n')
    assert sfumato("release", "share.toml", "-o", "share.sfumato")[0] == 0
    assert not (clinic / "budget.db.witness").exists()
    assert json.loads((clinic / "away" / "witness").read_text())["seq"] == 3  # registered, charged, sealed


def test_a_spec_names_one_ledger(clinic, sfumato):
    (clinic / "share.toml").write_text(CHARGED + 'url = "postgresql://h/d"\n')
    assert "needs one of file" in refused(sfumato, "release", "share.toml", "-o", "share.sfumato")


def test_a_witness_that_was_moved_is_named_to_every_command(clinic, sfumato):
    """As `ledger create` advises."""
    elsewhere = clinic / "elsewhere"
    elsewhere.mkdir()
    moved = str(elsewhere / "witness")
    assert sfumato("ledger", "create", "moved.db", "--witness", moved)[0] == 0
    register = ("ledger", "register", "moved.db", "clinic", "--epsilon", "2", "--delta", "1e-6", "--unit", "person")
    for words in (
        register,
        ("ledger", "show", "moved.db"),
        ("ledger", "verify", "moved.db"),
        ("ledger", "accept-clock", "moved.db", "--reason", "none"),
    ):
        assert sfumato(*words, "--witness", moved)[0] == 0, words
    assert sfumato("ledger", "show", "moved.db")[0] == 3  # a rollback could not be seen without the witness
    assert not (clinic / "moved.db.witness").exists()


def test_ledger_show_says_what_is_left(clinic, sfumato):
    with_budget(sfumato)
    (clinic / "share.toml").write_text(CHARGED)
    assert sfumato("release", "share.toml", "-o", "share.sfumato")[0] == 0
    _, out, _ = sfumato("ledger", "show", "budget.db")
    found = json.loads(sfumato("ledger", "show", "budget.db", "--json")[1])["clinic"]
    with Ledger.open(clinic / "budget.db") as ledger:
        left = ledger.spent("clinic").account.epsilon_left()
    assert found["remaining"] == left
    assert found["remaining"] > found["cap"]["epsilon"] - found["epsilon"]  # epsilons do not add up
    assert f"left: epsilon {left:.2f}"[:-1] in out
