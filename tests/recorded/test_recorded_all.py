"""Nothing public is without a recorded text, and no recorded text without a test; and texts are compared as they say."""

from __future__ import annotations

import re

import pytest
import typer.main

import sfumato as sf
from recorded import asked, kinds, office, shells, texts, ways
from sfumato.shells.cli import app

# Commands that run for minutes, or print and run the others; their own tests type them.
ELSEWHERE = {"demo": "tests/shells/test_demo.py", "papers": "tests/papers/test_running.py"}


def commands(command, words=()):
    """Every command of the tree, as the words that are typed."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return [" ".join(words)]
    return [path for name, each in inner.items() for path in commands(each, (*words, name))]


def test_every_command_is_typed():
    lines = [*shells.QUESTIONS, *(line for session in office.SESSIONS.values() for line in session)]
    typed = {
        path
        for path in commands(typer.main.get_command(app))
        if any(f"{line} ".startswith(f"{path} ") for line in lines)
    }
    assert set(commands(typer.main.get_command(app))) - typed == set(ELSEWHERE)


def test_every_public_question_is_asked():
    asked = set(re.findall(r"release\.(\w+)", " ".join(ways.EXPRESSIONS + ways.QUESTIONS)))
    public = {name for name in dir(sf.Release) if not name.startswith("_")}
    public -= set(sf.Release.__dataclass_fields__)
    assert public - asked == set(ways.ELSEWHERE)


def test_every_kind_of_the_case_list_is_recorded():
    from release_cases import CASES

    assert set(CASES) <= set(kinds.KINDS) | set(kinds.COMPILED) | set(kinds.ALIKE)
    for names in (kinds.WHOLE, kinds.TYPED, kinds.REFUSING, kinds.PLAIN):
        assert set(names) <= set(kinds.KINDS)
    assert set(kinds.REFUSING) <= set(kinds.TYPED)


@pytest.mark.skipif(texts.RECORDING, reason="the files are being written")
def test_no_recorded_file_is_left_over():
    names = [f"{kind}/answers" for kind in kinds.KINDS]
    names += [f"{kind}/pages" for kind in kinds.KINDS if kind not in kinds.PLAIN]
    names += [f"office/{session}" for session in office.SESSIONS]
    names += [f"functions/{topic}" for topic in asked.TOPICS]
    found = {path.relative_to(texts.FOLDER).as_posix() for path in texts.FOLDER.rglob("*.txt")}
    assert found == {f"{name.replace(' ', '-')}.txt" for name in names}


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("half 0.123456", "half 0.123457", True),
        ("half 0.123456", "half 0.12357", False),
        ("half   9.99999", "half  10.0000", True),
        ("half   9.9999", "half  9.9999", False),
        ("n 60001", "n 60002", False),
        ("below 1e-300", "below 0.0", True),
        ("1.5 of 2.5", "1.5", False),
        ("theta 0.5", "Theta 0.500001", False),
    ],
)
def test_texts_are_the_same_up_to_the_last_digits_of_numbers(old, new, same):
    assert texts.same(old, new) == same


def test_what_differs_from_run_to_run_is_left_out():
    assert texts.plain("plan 0123456789abcdef0123, 12345678901234567890, 0.123456789, 3.68797123e-05") == (
        "plan <digest>, 12345678901234567890, 0.123457, 3.68797e-05"
    )


def test_a_digest_of_digits_alone_ends_a_row_of_a_ledger():
    row = "row 20: charged mu 0.2368; {}\nunits 4306133663612857"
    assert texts.plain(row.format("4306133663612857")) == row.format("<digest>")


def test_a_long_sentence_is_written_once():
    long = "This sentence has more than sixty characters, as many sentences of a release have."
    assert texts.brief(f"{long} Short.\n{long} Short.") == f"{long} Short.\n{long[:24]} … Short."


def test_a_page_is_its_elements():
    page = '<style>p {}</style><p class="x">a <b>b</b></p><svg aria-label="c"><rect x="1.2" y="2"/></svg>'
    row = "<tr><th>t</th><td>1</td></tr>"
    assert texts.elements(page + row).splitlines() == [
        "p class=x: a",
        "b: b",
        "svg aria-label=c",
        "rect 1 2",
        "tr |: t |: 1",
    ]
