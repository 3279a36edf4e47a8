"""The line that is kept on a terminal while something is planned: shown there after a second, wiped out, and nowhere else."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace
from typing import ClassVar

import pytest

import sfumato as sf
from sfumato import progress


class Terminal(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal on which a line appears at once."""
    screen = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(progress, "_QUIET", 0.01)
    monkeypatch.setattr(progress, "_EVERY", 0.01)
    return screen


def wait_for(screen: io.StringIO, words: str) -> bool:
    """Whether the words appear within ten seconds."""
    end = time.monotonic() + 10
    while words not in screen.getvalue() and time.monotonic() < end:
        time.sleep(0.005)
    return words in screen.getvalue()


@pytest.mark.planted
def test_the_line_says_what_is_planned_and_is_wiped_out(terminal):
    with progress.while_waiting("planning", "price") as report:
        report(2, 4)
        assert wait_for(terminal, "planning: price 2 of 4, 0 s")
    assert terminal.getvalue().endswith("\r")
    assert set(terminal.getvalue().split("\r")[-2]) == {" "}


def test_a_number_of_steps_that_is_not_known_is_left_out(terminal):
    with progress.while_waiting("searching", "plan") as report:
        report(3, 0)
        assert wait_for(terminal, "searching: plan 3, ")


def test_only_the_outer_of_two_lines_is_kept(terminal):
    with progress.while_waiting("outer"), progress.while_waiting("inner", "step") as report:
        report(1, 2)
        assert wait_for(terminal, "outer, ")
        assert "inner" not in terminal.getvalue()


@pytest.mark.parametrize("rich", [True, False])
def test_a_run_says_how_many_rows_were_read_until_its_first_step_is_done(rich, terminal, monkeypatch):
    """A single pass over a large file may take minutes, and so may the first of many."""
    if rich:
        monkeypatch.setitem(sys.modules, "rich.console", SimpleNamespace(Console=lambda stderr: None))
        monkeypatch.setitem(sys.modules, "rich.progress", SimpleNamespace(**dict.fromkeys(NAMES, Bar)))
        Bar.texts = []
    else:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    now = iter(range(0, 1_000, 10))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with progress.shown("streamed") as line:
        line.rows(100, 1_000)
        line.rows(250, 1_000)
        line(1, 5)
        line.rows(500, 1_000)  # of the second pass: the steps say more
        line(2, 5)
    if rich:
        assert Bar.texts == [
            "streamed",
            "streamed: 10 % of the rows read",
            "streamed: 25 % of the rows read, about 50 s left",
            "streamed: step 1 of 5",
            "streamed: step 2 of 5, about 30 s left",
        ]
    else:
        said = [text.strip() for text in terminal.getvalue().split("\r")[1:]]
        assert said == [f"streamed: {text}" for text in ("10 % of the rows read", "25 % of the rows read")] + [
            f"streamed: step {step} of 5" for step in (1, 2)
        ]


NAMES = ("BarColumn", "Progress", "TextColumn")


class Bar:
    """Stands for the bar of a terminal, and for its columns; keeps the texts that it was to show."""

    texts: ClassVar[list[str]] = []

    def __init__(self, *columns, console=None):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def add_task(self, name, total, text):
        self.texts.append(text)

    def update(self, task, completed, total, text):
        self.texts.append(text)


@pytest.mark.planted
def test_nothing_is_written_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_QUIET", 0.001)
    with progress.while_waiting("planning"):
        time.sleep(0.05)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_price_lists_and_searches_report_their_plans(monkeypatch):
    """Price lists, searches and single plans keep a line; the steps of the first two are reported."""
    seen: list[str] = []

    class Line:
        def __init__(self, what: str, each: str = "") -> None:
            self.what, self.each = what, each

        def __enter__(self):
            return lambda done, steps: seen.append(f"{self.what}: {self.each} {done} of {steps}")

        def __exit__(self, *_: object) -> None:
            seen.append(f"end of {self.what}")

    monkeypatch.setattr(sf.planning, "while_waiting", Line)
    mean = sf.families.BoundedMean(0, 1)
    sf.price_list(mean, 1_000, [0.5, 1.0], 1e-6, goal="estimate")
    assert "planning: price 2 of 2" in seen
    assert "end of planning" in seen
    sf.plan_for_width(mean, 1_000, 0.1)
    assert "searching for the width: plan 1 of 0" in seen
