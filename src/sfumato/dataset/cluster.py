"""Rows on the workers of a Dask cluster: each worker reads its own partitions and holds them, encoded, in an actor.

No row enters a task graph or passes through the scheduler: the client sends recipes (the path of a file, or how to compute a
partition), and what comes back are results by partition. Partitions are numbered in the order of the source, so that neither the
number of workers nor their speed changes the order in which the client adds results. A worker that is lost is replaced: its
partitions are read again elsewhere from the same recipes, and whatever was opened on them is opened anew.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.dataset.partitions import Partitions, answer_of, message_of
from sfumato.errors import ArgumentError, PublishError
from sfumato.progress import while_waiting

# Seconds for which workers are waited for: those of a lost worker's nanny, or of a cluster that grows.
_WAIT = 60.0
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
        self._actors: dict[str, _Held] = {}
        self._openings: dict[str, bytes] = {}  # token -> how it is opened on a worker that reads anew
        self._dropped: list[str] = []  # tokens that workers may forget
        self._busy = threading.RLock()  # two publications of one data set take turns
        weakref.finalize(self, _close, client).atexit = False
        self._assign()

    def facts(self, ask: Callable[[Any], Any]) -> list[Any]:
        """What `ask` says of each partition's data set, in the order of the partitions."""
        return self._gathered("facts", message_of(ask))

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

    def _known(self) -> Mapping[str, Any]:
        """What the scheduler says of each worker, by address; nothing where the scheduler is gone."""
        if self._client.status in ("closing", "closed"):
            raise PublishError(
                "the scheduler of the cluster is gone, and with it the rows on its workers. Nothing was released: start a cluster "
                "and let it read the rows anew."
            )
        known: Mapping[str, Any] = self._client.scheduler_info(n_workers=-1).get("workers", {})
        return known

    def _is_lost(self, held: _Held) -> bool:
        """Whether an actor is gone: with its worker, or because another process took its worker's address."""
        return held.worker not in self._known() or held.future.status != "finished"

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
                known = self._known().get(worker)
                if known is None or not (_takes_tasks(known) or _is_working(known)):
                    raise _Lost from None

    def _ready(self, held: _Held) -> bool:
        """Check what a new actor read, and open on it what is open elsewhere; False where its worker is lost meanwhile."""
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
        """Addresses of the workers that take tasks; waits for the first of them."""
        until = time.monotonic() + _WAIT
        while True:
            known = self._known()
            workers = sorted(address for address, facts in known.items() if _takes_tasks(facts))
            if workers:
                checked_addresses(workers)
                return workers
            if time.monotonic() > until:
                why = (
                    "all workers of the cluster are paused, since their memory is nearly full; give them more, or start more"
                    if known
                    else f"the cluster has had no worker for {_WAIT:.0f} seconds; start one (dask worker ADDRESS)"
                )
                raise PublishError(f"{why}. Nothing was released.")
            time.sleep(0.1)


def _takes_tasks(facts: Mapping[str, Any]) -> bool:
    """Whether a worker begins new tasks: one whose memory is nearly full is paused, and answers calls alone."""
    return bool(facts.get("status", "running") == "running")


def _is_working(facts: Mapping[str, Any]) -> bool:
    return bool(facts.get("metrics", {}).get("task_counts", {}).get("executing"))


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


def checked_addresses(addresses: list[str]) -> None:
    """Refuse a way to a worker that others could listen to: TLS, or this machine alone."""
    for address in addresses:
        scheme, found, rest = address.partition("://")
        if not found:
            raise ArgumentError(
                f"the address of a scheduler begins with tls:// or, on this machine, tcp://; got {address!r}."
            )
        host, port = rest.rsplit(":", 1)[0].strip("[]"), rest.rsplit(":", 1)[-1]
        if scheme in ("tls", "tcp") and not port.isdigit():
            raise ArgumentError(
                f"the address of a scheduler ends with its port, such as {scheme}://{rest or 'host'}:8786."
            )
        local = scheme == "inproc" or host in ("127.0.0.1", "localhost", "::1")
        if scheme != "tls" and not local:
            raise ArgumentError(
                f"the cluster speaks {scheme} beyond this machine, so that sums could be read on the way. Start the scheduler and "
                "the workers with TLS (docs/scale.md has the commands), and connect to tls://..."
            )
