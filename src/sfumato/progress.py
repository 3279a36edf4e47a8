"""Progress of a run on the terminal: step k of T. Both numbers are public; nothing else is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[int, int], None]


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
    text = TextColumn(f"{start}step {{task.completed:.0f}} of {{task.total:.0f}}")
    with Progress(BarColumn(), text, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=1)
        yield lambda done, steps: bar.update(task, completed=done, total=steps)


def _plain(done: int, steps: int, start: str = "") -> None:
    """Write over the last line, about a hundred times in all: a run may have many thousand steps."""
    if done == steps or done % max(1, steps // 100) == 0:
        sys.stderr.write(f"\r{start}step {done} of {steps}")
        sys.stderr.flush()
