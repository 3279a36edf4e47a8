"""Progress on the terminal: of a run, step k of T; of planning, what is being planned and for how long. All of it is public."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Report = Callable[[int, int], None]
# Whether a line is being kept already: a price list shows its prices, and not each plan again.
_BUSY: ContextVar[bool] = ContextVar("a line of progress is being kept", default=False)
# Seconds without a line, since most plans take less, and between two of its states.
_QUIET, _EVERY = 1.0, 0.5
# Seconds below which nothing is said about the rest of a run; and those of a minute.
_SOON, _MINUTE = 2.0, 60.0


@contextmanager
def shown(name: str = "") -> Iterator[Report]:
    """Yield a function of (steps done, steps in all) that keeps a line of the terminal up to date; `name` begins it."""
    start = f"{name}: " if name else ""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        yield lambda done, steps: _plain(done, steps, start)
        sys.stderr.write("\n")
        return
    text = TextColumn(f"{start}step {{task.completed:.0f}} of {{task.total:.0f}}{{task.fields[left]}}")
    with Progress(BarColumn(), text, console=Console(stderr=True)) as bar:
        task, pace = bar.add_task("", total=1, left=""), Pace()
        yield lambda done, steps: bar.update(task, completed=done, total=steps, left=pace.left(done, steps))


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


def _plain(done: int, steps: int, start: str = "") -> None:
    """Write over the last line, about a hundred times in all: a run may have many thousand steps."""
    if done == steps or done % max(1, steps // 100) == 0:
        sys.stderr.write(f"\r{start}step {done} of {steps}")
        sys.stderr.flush()


@contextmanager
def while_planning(what: str, each: str = "") -> Iterator[Report]:
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
