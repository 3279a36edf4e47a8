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
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sfumato.errors import ArgumentError, PublishError
from sfumato.progress import while_waiting

# Seconds for which workers are waited for: those of a lost worker's nanny, or of a cluster that grows.
_WAIT = 60.0
# Seconds after which it is looked whether the worker that is waited for is still there.
_LOOK = 2.0
# How often one call is repeated because workers were lost.
_TRIES = 10


@dataclass
class Partitions:
    """The partitions that one worker holds: an actor of Dask's. Data sets never leave it; results of work on them do."""

    recipes: Mapping[int, bytes]
    read: Callable[[bytes], Any]
    _data: dict[int, Any] = field(default_factory=dict)
    _opened: dict[str, dict[int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._data = {number: self.read(recipe) for number, recipe in self.recipes.items()}

    def facts(self, ask: Callable[[Any], Any]) -> dict[int, Any]:
        """What `ask` says of each partition's data set."""
        return {number: ask(data) for number, data in self._data.items()}

    def open(self, token: str, make: Callable[..., Any], behind: str | None, dropped: Collection[str]) -> None:
        """Make something of every partition, to be asked under `token`: of its data set, or of what `behind` stands for.

        What is open under the tokens `dropped` is no longer needed.
        """
        for other in dropped:
            self._opened.pop(other, None)
        if token not in self._opened:
            sources = self._data if behind is None else self._opened[behind]
            self._opened[token] = {number: make(source) for number, source in sources.items()}

    def ask(self, token: str, method: str, given: tuple[Any, ...]) -> tuple[dict[int, Any], float]:
        """The results of one method by partition, and the seconds that they took."""
        start = time.perf_counter()
        made = {number: result_of(each, method, given) for number, each in self._opened[token].items()}
        return made, time.perf_counter() - start

    def __reduce_ex__(self, protocol: object = None) -> NoReturn:
        raise TypeError("Partitions hold private rows and cannot be pickled.")


def result_of(one: Any, name: str, given: tuple[Any, ...]) -> Any:
    """What a method returns, or an attribute is."""
    found = getattr(one, name)
    return found(*given) if callable(found) else found


@dataclass
class _Opening:
    """What was opened under a token, so that it can be opened again on another worker."""

    make: Callable[..., Any]
    behind: str | None


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
        """Let every worker read its share of the partitions; rows that are read anew must have the same `mark`."""
        self.count = len(recipes)
        self.slowest = 0.0  # seconds that the slowest worker computed in the last call
        self._client, self._recipes, self._read = client, dict(enumerate(recipes)), read
        self._mark, self._marks = mark, dict[int, Any]()
        self._actors: dict[str, _Held] = {}
        self._openings: dict[str, _Opening] = {}
        self._dropped: list[str] = []  # tokens that workers may forget
        self._busy = threading.RLock()  # two publications of one data set take turns
        self._assign()

    def facts(self, ask: Callable[[Any], Any]) -> list[Any]:
        """What `ask` says of each partition's data set, in the order of the partitions."""
        return self._gathered(lambda actor: actor.facts(ask))

    def open(self, make: Callable[..., Any], behind: str | None = None) -> str:
        """Open something on every partition; the token under which it is asked."""
        token = uuid.uuid4().hex
        self._openings[token] = _Opening(make, behind)
        dropped, self._dropped = self._dropped, []
        try:
            self._gathered(lambda actor: actor.open(token, make, behind, dropped), keyed=False)
        except BaseException:
            self.forget(token)  # what cannot be opened is not opened again on the next worker that is lost
            raise
        return token

    def ask(self, token: str, method: str, *given: Any) -> list[Any]:
        """The results of a method, in the order of the partitions."""
        return self._gathered(lambda actor: actor.ask(token, method, given), timed=True)

    def forget(self, token: str) -> None:
        """No longer need what was opened under a token; workers drop it at the next opening."""
        if self._openings.pop(token, None) is not None:
            self._dropped.append(token)

    # --- workers -----------------------------------------------------------------------------------------------------

    def _gathered(self, call: Callable[[Any], Any], keyed: bool = True, timed: bool = False) -> list[Any]:
        """Call every actor once; what lost ones did not answer is asked of those that read their partitions anew.

        An answer of every partition is returned, or none: with one left out, all that is made of the sums would be wrong.
        """
        with self._busy:
            results: dict[int, Any] = {}
            answered: set[str] = set()
            self.slowest = 0.0
            for _ in range(_TRIES):
                self._assign()
                waiting = [(name, self._called(name, call)) for name in sorted(set(self._actors) - answered)]
                self._await([future for _, future in waiting if future is not None])
                for name, future in waiting:
                    answer = None if future is None else self._answer(name, future)
                    if answer is None:
                        del self._actors[name]
                        continue
                    answered.add(name)
                    if timed:
                        results |= answer[0][0]
                        self.slowest = max(self.slowest, answer[0][1])
                    elif keyed:
                        results |= answer[0]
                if not self._unheld():
                    return [results[number] for number in self._recipes] if keyed else []
            raise PublishError("workers of the cluster were lost again and again; nothing was released.")

    def _await(self, futures: list[Any]) -> None:
        """Wait for all answers at once, for a while: asked one by one, each would cost a change of threads."""
        with suppress(TimeoutError):
            self._client.sync(_settled, futures, callback_timeout=_LOOK)

    def _called(self, name: str, call: Callable[[Any], Any]) -> Any:
        """Send a call to one actor; None where its worker is known to be lost."""
        try:
            return call(self._actors[name].actor)
        except RuntimeError:  # what Dask raises then
            return None

    def _answer(self, name: str, future: Any) -> tuple[Any] | None:
        """The answer of one actor; None where its worker is gone. Messages of other errors may quote cells and stay inside."""
        try:
            return (self._waited(future, self._actors[name].worker),)
        except _Lost:
            return None
        except Exception as error:
            fault = type(error).__name__
            if self._there(self._actors[name].worker) and not isinstance(error, OSError):
                raised = error if isinstance(error, ArgumentError | PublishError) else None
            else:
                return None
        if raised is not None:
            raise type(raised)(str(raised)) from None
        raise PublishError(
            f"a worker of the cluster failed with {fault}; the message is withheld because it may quote a cell."
        )

    def _waited(self, future: Any, worker: str) -> Any:
        """Wait for a result as long as its worker is there: a task for one that is gone, or a call to it, may wait for ever."""
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if not self._there(worker):
                    raise _Lost from None

    def _there(self, worker: str) -> bool:
        return worker in self._client.scheduler_info(n_workers=-1)["workers"]

    def _unheld(self) -> set[int]:
        """The partitions that no actor holds: those of lost workers, and at first all."""
        return set(self._recipes) - {number for held in self._actors.values() for number in held.numbers}

    def _assign(self) -> None:
        """Share the partitions that nobody holds among the workers that are there, and open on them what is open."""
        if self._unheld():
            with while_waiting("the workers of the cluster read their rows"):
                self._share_out()

    def _share_out(self) -> None:
        for _ in range(_TRIES):
            numbers = sorted(self._unheld())
            if not numbers:
                return
            workers = self._workers()
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
                if actor is not None and self._ready(actor, worker):
                    self._actors[uuid.uuid4().hex] = _Held(actor, future, worker, share)
        if self._unheld():
            raise PublishError("no worker of the cluster could read the rows; nothing was released.")

    def _made(self, future: Any, worker: str) -> Any:
        """The actor behind a future; None where its worker was lost. What reading refuses is refused here too."""
        from distributed import Actor, KilledWorker

        try:
            made = self._waited(future, worker)
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

    def _ready(self, actor: Any, worker: str) -> bool:
        """Check what a new actor read, and open on it what is open elsewhere; False where its worker is lost meanwhile."""
        openings = list(self._openings.items())  # a garbage collection may forget one meanwhile
        try:
            for number, mark in self._waited(actor.facts(self._mark), worker).items():
                if self._marks.setdefault(number, mark) != mark:
                    raise PublishError(
                        "a worker was lost, and the rows that were read in its place are not the same: somebody changed the "
                        "table meanwhile. Read it anew with sf.Dataset.from_dask(...) and publish again. Nothing was released."
                    )
            for token, opening in openings:
                self._waited(actor.open(token, opening.make, opening.behind, ()), worker)
        except (OSError, RuntimeError, _Lost):  # RuntimeError is what Dask raises for an actor that is known to be lost
            return False
        return True

    def _workers(self) -> list[str]:
        """Addresses of the workers that are there; waits for the first of them."""
        until = time.monotonic() + _WAIT
        while True:
            workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
            if workers:
                checked_addresses(workers)
                return workers
            if time.monotonic() > until:
                raise PublishError(
                    f"the cluster has had no worker for {_WAIT:.0f} seconds; start one (dask worker ADDRESS). Nothing was released."
                )
            time.sleep(0.1)


async def _settled(futures: list[Any]) -> None:
    """Wait until every future has an answer, or an error."""
    await asyncio.gather(*futures, return_exceptions=True)


def checked_addresses(addresses: list[str]) -> None:
    """Refuse a way to a worker that others could listen to: TLS, or this machine alone."""
    for address in addresses:
        scheme, found, rest = address.partition("://")
        if not found:
            raise ArgumentError(
                f"the address of a scheduler begins with tls:// or, on this machine, tcp://; got {address!r}."
            )
        host = rest.rsplit(":", 1)[0].strip("[]")
        local = scheme == "inproc" or host in ("127.0.0.1", "localhost", "::1")
        if scheme != "tls" and not local:
            raise ArgumentError(
                f"the cluster speaks {scheme} beyond this machine, so that sums could be read on the way. Start the scheduler and "
                "the workers with TLS (docs/scale.md has the commands), and connect to tls://..."
            )
