"""Items that are made by a thread of their own while earlier ones are used: a file is decoded while its rows are summed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
# Items that are made and wait to be used.
_AHEAD = 1


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, made by a thread of their own while earlier ones are used; an error is raised in its place."""
    waiting: queue.Queue[tuple[bool, Any]] = queue.Queue(_AHEAD)
    over = threading.Event()

    def put(item: tuple[bool, Any]) -> bool:
        """Wait for room; False where nobody reads any more."""
        while not over.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def make() -> None:
        """Make all items, in the thread."""
        try:
            for item in items:
                if not put((True, item)):
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    thread = threading.Thread(target=make, name="sfumato-reading", daemon=True)
    thread.start()
    try:
        while True:
            more, item = waiting.get()
            if more:
                yield item
                continue
            if item is not None:
                raise item
            return
    finally:
        over.set()
        thread.join()
