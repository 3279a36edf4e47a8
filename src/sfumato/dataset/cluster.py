"""Rows on the workers of a Dask cluster: each worker reads its own partitions and holds them, encoded, in an actor.

No row enters a task graph or passes through the scheduler: the client sends recipes (the path of a file, or how to compute a
partition), and what comes back are results by partition. Partitions are numbered in the order of the source, so that neither the
number of workers nor their speed changes the order in which the client adds results. A worker that is lost is replaced: its
partitions are read again elsewhere from the same recipes, and whatever was opened on them is opened anew.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.dataset.partitions import Partitions, answer_of, message_of
from sfumato.dataset.workers import known_workers, may_still_read, ready_workers
from sfumato.errors import ArgumentError, PublishError
from sfumato.progress import while_waiting

# Seconds after which it is looked whether the worker that is waited for is still there.
_LOOK = 2.0
# How often one call is repeated because workers were lost.
_TRIES = 10


@dataclass
class _Held:
    """An actor, the future that keeps it, the address of its worker, and the numbers of its partitions."""

    actor: Any
    future: Any
    worker: str
    numbers: tuple[int, ...]


class _Lost(Exception):
    """The worker of an actor is gone."""


class Cluster:
    """The partitions of one data set on the workers of a cluster, and the client that asks them."""

    def __init__(
        self, client: Any, recipes: list[bytes], read: Callable[[bytes], Any], mark: Callable[[Any], Any]
    ) -> None:
        """Let every worker read its share of the partitions; rows that are read anew must have the same `mark`.

        The client is this object's own, and is closed with it: the workers then give up the rows.
        """
        self.count = len(recipes)
        self.slowest = 0.0  # seconds that the slowest worker computed in the last call
        self._client, self._recipes, self._read = client, dict(enumerate(recipes)), read
        self._mark, self._marks = message_of(mark), dict[int, Any]()
        self._settling: bytes | None = None
        self._actors: dict[str, _Held] = {}
        self._openings: dict[str, bytes] = {}  # token -> how it is opened on a worker that reads anew
        self._dropped: list[str] = []  # tokens that workers may forget
        self._busy = threading.RLock()  # two publications of one data set take turns
        weakref.finalize(self, _close, client).atexit = False
        self._assign()

    def facts(self, ask: Callable[[Any], Any]) -> list[Any]:
        """What `ask` says of each partition's data set, in the order of the partitions."""
        return self._gathered("facts", message_of(ask))

    def settle(self, make: Callable[..., Any], given: list[Any]) -> None:
        """Let `make` replace each partition's data set, by what all of them together gave for it, now and when it is read anew."""
        message = message_of(make, dict(enumerate(given)))
        self._gathered("settle", message, keyed=False)
        with self._busy:
            self._settling = message
            self._marks = dict(enumerate(self._gathered("facts", self._mark)))

    def open(self, make: Callable[..., Any], behind: str | None = None) -> str:
        """Open something on every partition; the token under which it is asked."""
        token = uuid.uuid4().hex
        dropped, self._dropped = self._dropped, []
        try:
            message = message_of(token, make, behind, dropped)
            self._openings[token] = message
            self._gathered("open", message, keyed=False)
        except BaseException:
            self.forget(token)  # what cannot be opened is not opened again on the next worker that is lost
            self._dropped += dropped
            raise
        return token

    def ask(self, token: str, method: str, *given: Any) -> list[Any]:
        """The results of a method, in the order of the partitions."""
        return self._gathered("ask", message_of(token, method, given), timed=True)

    def forget(self, token: str) -> None:
        """No longer need what was opened under a token; workers drop it at the next opening."""
        if self._openings.pop(token, None) is not None:
            self._dropped.append(token)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _gathered(self, method: str, message: bytes, keyed: bool = True, timed: bool = False) -> list[Any]:
        """Call every actor once; what lost ones did not answer is asked of those that read their partitions anew.

        An answer of every partition is returned, or none: with one left out, all that is made of the sums would be wrong.
        """
        with self._busy:
            results: dict[int, Any] = {}
            answered: set[str] = set()
            self.slowest = 0.0
            for _ in range(_TRIES):
                self._assign()
                asked = sorted(set(self._actors) - answered)
                found = self._answers([self._actors[name] for name in asked], method, message)
                for name, received in zip(asked, found, strict=True):
                    if received is None:
                        del self._actors[name]
                        continue
                    answer = answer_of(received)
                    answered.add(name)
                    if timed:
                        self.slowest = max(self.slowest, answer[1])
                        results |= answer[0]
                    elif keyed:
                        results |= answer
                if not self._unheld():
                    return [results[number] for number in self._recipes] if keyed else []
            raise PublishError("workers of the cluster were lost again and again; nothing was released.")

    def _answers(self, asked: list[_Held], method: str, message: bytes) -> list[bytes | None]:
        """What each of these actors answers to a call; None for one whose worker is gone."""
        found: list[bytes | None] = [None] * len(asked)
        waiting: dict[int, Any] = {}
        for place, held in enumerate(asked):
            try:
                waiting[place] = held.actor.call(method, message)
            except RuntimeError:  # what Dask raises for an actor that is known to be lost
                continue
        while waiting:
            # All at once: asked one by one, each would cost a change of threads.
            for place, outcome in self._client.sync(_settled, waiting).items():
                del waiting[place]
                if isinstance(outcome, bytes):
                    found[place] = outcome
                elif not isinstance(outcome, OSError) and not self._is_lost(asked[place]):
                    raise PublishError(
                        f"the connection to a worker of the cluster failed with {type(outcome).__name__}."
                    )
            # A call to a worker that is gone may never be answered.
            waiting = {place: future for place, future in waiting.items() if not self._is_lost(asked[place])}
        return found

    # --- workers -----------------------------------------------------------------------------------------------------

    def _is_lost(self, held: _Held) -> bool:
        """Whether an actor is gone: with its worker, or because another process took its worker's address."""
        return held.worker not in known_workers(self._client) or held.future.status != "finished"

    def _unheld(self) -> set[int]:
        """The partitions that no actor holds: those of lost workers, and at first all."""
        return set(self._recipes) - {number for held in self._actors.values() for number in held.numbers}

    def _assign(self) -> None:
        """Share the partitions that nobody holds among the workers that are there, and open on them what is open."""
        for _ in range(_TRIES):
            numbers = sorted(self._unheld())
            if not numbers:
                return
            with while_waiting("waiting for a worker of the cluster"):
                workers = self._workers()
            with while_waiting("the workers of the cluster read their rows"):
                self._share_out(numbers, workers)
        if self._unheld():
            raise PublishError("no worker of the cluster could read the rows; nothing was released.")

    def _share_out(self, numbers: list[int], workers: list[str]) -> None:
        """Let each worker read its share; those of workers that are lost meanwhile stay without a holder."""
        begun = []
        for place, worker in enumerate(workers):
            share = tuple(numbers[place :: len(workers)])
            if share:
                recipes = {number: self._recipes[number] for number in share}
                future = self._client.submit(
                    Partitions,
                    recipes,
                    self._read,
                    actor=True,
                    workers=[worker],
                    pure=False,
                    allow_other_workers=False,
                )
                begun.append((future, worker, share))
        for future, worker, share in begun:
            actor = self._made(future, worker)
            held = _Held(actor, future, worker, share)
            if actor is not None and self._ready(held):
                self._actors[uuid.uuid4().hex] = held

    def _made(self, future: Any, worker: str) -> Any:
        """The actor behind a future; None where its worker was lost. What reading refuses is refused here too."""
        from distributed import Actor, KilledWorker

        try:
            made = self._read_by(future, worker)
            with self._client.as_current():  # an actor speaks through the client that is current when it is made
                return Actor(*made.__reduce__()[1])  # type: ignore[no-untyped-call]
        except (ArgumentError, PublishError) as error:
            raised: Exception = type(error)(str(error))
        except (OSError, KilledWorker, _Lost):
            future.cancel()
            return None
        except Exception as error:
            if "lost" in str(error).lower() or "cancelled" in type(error).__name__.lower():
                return None
            raised = PublishError(f"a worker could not read its rows: it failed with {type(error).__name__}.")
        raise raised

    def _read_by(self, future: Any, worker: str) -> Any:
        """Wait as long as the worker may still read: a task for one that is gone, or that takes no tasks, would wait for ever."""
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.done():
                    raise
                if not may_still_read(self._client, worker):
                    raise _Lost from None

    def _ready(self, held: _Held) -> bool:
        """Check what a new actor read, and open on it what is open elsewhere; False where its worker is lost meanwhile."""
        if self._settling is not None:
            received = self._answers([held], "settle", self._settling)[0]
            if received is None:
                return False
            answer_of(received)
        received = self._answers([held], "facts", self._mark)[0]
        if received is None:
            return False
        for number, mark in answer_of(received).items():
            if self._marks.setdefault(number, mark) != mark:
                raise PublishError(
                    "a worker was lost, and the rows that were read in its place are not the same: somebody changed the "
                    "table meanwhile. Nothing was released: let the cluster read the table anew."
                )
        for opening in self._openings.copy().values():  # a garbage collection may forget one meanwhile
            received = self._answers([held], "open", opening)[0]
            if received is None:
                return False
            answer_of(received)
        return True

    def _workers(self) -> list[str]:
        return ready_workers(self._client)


def _close(client: Any) -> None:
    """Close a client in a thread of its own: whoever drops the last reference must not wait, and may be the client's own thread."""
    threading.Thread(target=client.close, daemon=True).start()


async def _settled(waiting: Mapping[int, Any]) -> dict[int, Any]:
    """The answers, or errors, that arrive within a while, by place."""

    async def outcome(future: Any) -> Any:
        try:
            return await future
        except Exception as error:
            return error

    tasks = {asyncio.ensure_future(outcome(future)): place for place, future in waiting.items()}
    done, pending = await asyncio.wait(tasks, timeout=_LOOK)
    for task in pending:
        task.cancel()
    return {tasks[task]: task.result() for task in done}
