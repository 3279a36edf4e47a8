"""Progress on the terminal: of a run, step k of T; of what is waited for, such as a plan, for how long. All of it is public."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

Report = Callable[[int, int], None]
# Whether a line is being kept already: a price list shows its prices, and not each plan again.
_BUSY: ContextVar[bool] = ContextVar("a line of progress is being kept", default=False)
# Seconds without a line, since most plans take less, and between two of its states.
_QUIET, _EVERY = 1.0, 0.5
# Seconds below which nothing is said about the rest of a run; and those of a minute.
_SOON, _MINUTE = 2.0, 60.0


class Line(Protocol):
    """A line of the terminal about a run."""

    def __call__(self, done: int, steps: int) -> None:
        """So many steps are done."""

    def rows(self, read: int, n: int) -> None:
        """So many of the rows of a pass were read from their file; shown until the first step is done."""


@contextmanager
def shown(name: str = "") -> Iterator[Line]:
    """Yield a line of the terminal that is kept up to date; `name` begins it."""
    start = f"{name}: " if name else ""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        yield _Plain(start)
        sys.stderr.write("\n")
        return
    with Progress(BarColumn(), TextColumn("{task.fields[text]}"), console=Console(stderr=True)) as bar:
        yield _Rich(bar, start)


class _Rich:
    """A line with a bar."""

    def __init__(self, bar: Any, start: str) -> None:
        self._bar, self._start, self._task = bar, start, bar.add_task("", total=1, text=start.rstrip(": "))
        self._steps, self._rows, self._stepped = Pace(), Pace(), False

    def __call__(self, done: int, steps: int) -> None:
        self._stepped = True
        text = f"{self._start}step {done} of {steps}{self._steps.left(done, steps)}"
        self._bar.update(self._task, completed=done, total=steps, text=text)

    def rows(self, read: int, n: int) -> None:
        if not self._stepped:
            text = f"{self._start}{_share(read, n)} of the rows read{self._rows.left(read, n)}"
            self._bar.update(self._task, completed=read, total=n, text=text)


class _Plain:
    """A line that is written over about a hundred times in all: a run may have many thousand steps."""

    def __init__(self, start: str) -> None:
        self._start, self._stepped, self._last = start, False, ""

    def __call__(self, done: int, steps: int) -> None:
        self._stepped = True
        if done == steps or done % max(1, steps // 100) == 0:
            self._write(f"step {done} of {steps}")

    def rows(self, read: int, n: int) -> None:
        if not self._stepped:
            self._write(f"{_share(read, n)} of the rows read")

    def _write(self, text: str) -> None:
        if text != self._last:
            sys.stderr.write(f"\r{self._start}{text.ljust(len(self._last))}")
            sys.stderr.flush()
        self._last = text


def _share(read: int, n: int) -> str:
    return f"{100 * read // max(1, n)} %"


class Pace:
    """The time of the steps since the first one that was reported: what came before it, such as compiling, is not repeated."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def left(self, done: int, steps: int) -> str:
        """Words for the rest of the steps; none before two reports."""
        now = time.monotonic()
        if self._first is None or done <= self._first[0]:
            self._first = (done, now) if done else None
            return ""
        first, begun = self._first
        return remaining(done - first, steps - first, now - begun)


def remaining(done: int, steps: int, seconds: float) -> str:
    """Words such as ", about 3 min left", from the mean of the steps so far: every step reads the same rows."""
    left = seconds / done * (steps - done) if done else 0.0
    if left < _SOON:
        return ""
    return f", about {left:.0f} s left" if left < 2 * _MINUTE else f", about {left / _MINUTE:.0f} min left"


@contextmanager
def while_waiting(what: str, each: str = "") -> Iterator[Report]:
    """Keep a line such as "planning: price 2 of 4, 3 s" on a terminal while the block runs, and wipe it out afterwards.

    `each` names the steps; the yielded function takes the number of the step and how many there are, 0 where that is not known.
    Nothing is written in the first second, inside another such block, or where standard error is no terminal.
    """
    state = {"text": what}

    def report(done: int, steps: int) -> None:
        state["text"] = f"{what}: {each} {done}{f' of {steps}' if steps else ''}"

    if _BUSY.get() or not sys.stderr.isatty():
        yield report
        return
    over, token = threading.Event(), _BUSY.set(True)
    line = threading.Thread(target=_keep, args=(state, over, time.monotonic()), daemon=True)
    line.start()
    try:
        yield report
    finally:
        over.set()
        line.join()
        _BUSY.reset(token)


def _keep(state: dict[str, str], over: threading.Event, start: float) -> None:
    """Write the line until the block is over, then wipe it out."""
    longest, wait = 0, _QUIET
    while not over.wait(wait):
        text = f"{state['text']}, {time.monotonic() - start:.0f} s"
        longest, wait = max(longest, len(text)), _EVERY
        sys.stderr.write(f"\r{text.ljust(longest)}")
        sys.stderr.flush()
    if longest:
        sys.stderr.write(f"\r{' ' * longest}\r")
        sys.stderr.flush()
