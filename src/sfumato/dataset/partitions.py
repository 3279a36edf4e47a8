"""What a worker of a cluster holds, and how it is spoken to: messages and answers are bytes, and no call raises.

Errors are answers too. Those that a person should read are sent with their words; of any other only the name is sent, since its
message may quote a cell.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sfumato.errors import ArgumentError, PublishError

_DONE, _REFUSED, _FAILED, _UNREAD = "done", "refused", "failed", "unread"
_ERRORS: dict[str, type[Exception]] = {each.__name__: each for each in (ArgumentError, PublishError)}


@dataclass
class Partitions:
    """The partitions that one worker holds: an actor of Dask's. Data sets never leave it; results of work on them do."""

    recipes: Mapping[int, bytes]
    read: Callable[[bytes], Any]
    _data: dict[int, Any] = field(default_factory=dict)
    _opened: dict[str, dict[int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._data = {number: self.read(recipe) for number, recipe in self.recipes.items()}

    def call(self, method: str, message: bytes) -> bytes:
        """Run one of the methods below with what the message holds; the answer, whatever happens."""
        try:
            given = pickle.loads(message)  # made by `message_of` in the client that this worker serves
        except Exception as error:  # no row was touched: the words are about what was sent
            return pickle.dumps((_UNREAD, f"{type(error).__name__}: {error}"))
        try:
            return pickle.dumps((_DONE, getattr(self, method)(*given)))
        except (ArgumentError, PublishError) as error:
            return pickle.dumps((_REFUSED, (type(error).__name__, str(error))))
        except Exception as error:
            return pickle.dumps((_FAILED, type(error).__name__))

    def facts(self, ask: Callable[[Any], Any]) -> dict[int, Any]:
        """What `ask` says of each partition's data set."""
        return {number: ask(data) for number, data in self._data.items()}

    def settle(self, make: Callable[..., Any], given: Mapping[int, Any]) -> None:
        """Replace each partition's data set by what `make` makes of it and of what is given for it."""
        self._data = {number: make(data, given[number]) for number, data in self._data.items()}

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


def message_of(*given: Any) -> bytes:
    """What is sent to workers; functions that their modules lack travel whole."""
    import cloudpickle

    try:
        message: bytes = cloudpickle.dumps(given)
    except Exception as error:
        raise ArgumentError(f"the model cannot be sent to the workers of a cluster: {error}") from None
    return message


def answer_of(received: bytes) -> Any:
    """What a worker answered; its error is raised here."""
    kind, value = pickle.loads(received)  # made by `Partitions.call`
    if kind == _DONE:
        return value
    if kind == _REFUSED:
        raise _ERRORS[value[0]](value[1])
    if kind == _UNREAD:
        raise ArgumentError(
            f"the workers of the cluster cannot load the model ({value}). Install there what is installed here."
        )
    raise PublishError(
        f"a worker of the cluster failed with {value}; the message is withheld because it may quote a cell."
    )
