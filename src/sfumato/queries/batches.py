"""Many questions at once: Algorithm 2 in blocks, through matrix products where the utility is linear in public features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.queries._reweight import LogDensity, weights
from sfumato.queries._sample import Sample
from sfumato.queries.regret_bounds import TIE, Terms
from sfumato.queries.respond import bounds, checked

Array = NDArray[np.float64]

# Utilities that are computed together: half a megabyte of floats, which stays in a core's cache.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to many questions: positions of the responses and their mean utilities; the loss bounds all of them at once."""

    places: NDArray[np.intp]
    responses: Any
    utilities: Array
    loss: float | None
    failure: float
    covers: str
    draws: int
    effective_draws: float

    def __len__(self) -> int:
        return len(self.places)

    def __str__(self) -> str:
        return f"{len(self):,} answers from {self.draws} draw{'s' * (self.draws != 1)}. {self.covers}"


@dataclass(frozen=True, eq=False)
class LinearUtility:
    """u_theta(q, r) = sum_f features(theta)[f] table[q, r, f]: many questions through one matrix product.

    features(draws) gives (draws, features); `table` is shaped (questions, responses, features).
    """

    features: Callable[[Array], Any]
    table: Any


def respond_all(
    sample: Sample,
    utility: Any,
    candidates: Any,
    *,
    questions: Sequence[Any] | NDArray[Any] | None = None,
    prior: Any = None,
    against: LogDensity | None = None,
    log_ratio: float | None = None,
    terms: Terms | None = None,
) -> Answers:
    """Algorithm 2 for many questions over one list of responses.

    `utility` is a function of (draws, candidates, questions) that gives (questions, draws, candidates), asked for some
    questions at a time; or a list of functions of (draws, candidates); or a `LinearUtility`. T is the number of questions here,
    or that of `terms` if it is larger.
    """
    held = None if prior is None else weights(sample, prior, against, log_ratio)
    share = np.full(sample.size, 1 / sample.size) if held is None else held.values
    if len(candidates) == 0:
        raise ArgumentError("candidates must hold at least one response; got none.")
    averages = _mean_table(sample, utility, candidates, questions, share)
    if len(averages) == 0:
        raise ArgumentError("questions must hold at least one; got none.")
    places = np.argmax(averages >= averages.max(axis=1, keepdims=True) - TIE, axis=1)
    asked = Terms() if terms is None else terms
    if asked.queries < len(averages):
        # A set of possible questions has at least as many members as were asked.
        asked = Terms(len(averages), asked.failure, asked.query_set and max(asked.query_set, len(averages)))
    loss, _, covers = bounds(sample, len(candidates), None, None, prior is not None, log_ratio, asked)
    chosen = candidates[places] if isinstance(candidates, np.ndarray) else [candidates[k] for k in places]
    return Answers(
        places,
        chosen,
        averages[np.arange(len(averages)), places],
        loss,
        asked.failure,
        covers,
        sample.size,
        float(sample.size) if held is None else held.effective,
    )


def _mean_table(sample: Sample, utility: Any, candidates: Any, questions: Any, share: Array) -> Array:
    """Mean utilities (questions, candidates), in blocks that bound the memory."""
    count, size = len(candidates), sample.size
    block = max(1, _BLOCK // (size * count))
    if isinstance(utility, LinearUtility):
        return _linear(sample, utility, count, share, block)
    if not callable(utility):
        rows = [checked(one(sample.values, candidates), (size, count)) for one in utility]
        return np.array([share @ row for row in rows]).reshape(len(rows), count)
    if questions is None:
        raise ArgumentError(
            "questions must list what is asked, for a utility of (draws, candidates, questions); got None."
        )
    parts = []
    for start in range(0, len(questions), block):
        some = questions[start : start + block]
        values = checked(utility(sample.values, candidates, some), (len(some), size, count))
        parts.append(share @ values)
    return np.concatenate(parts) if parts else np.empty((0, count))


def _linear(sample: Sample, utility: LinearUtility, count: int, share: Array, block: int) -> Array:
    features = np.asarray(utility.features(sample.values), dtype=np.float64)
    table = np.asarray(utility.table, dtype=np.float64)
    if features.ndim != 2 or len(features) != sample.size:
        raise ArgumentError(f"features must give an array shaped ({sample.size}, features); got {features.shape}.")
    if table.ndim != 3 or table.shape[1:] != (count, features.shape[1]):
        raise ArgumentError(
            f"table must be shaped (questions, {count}, {features.shape[1]}) for these responses and features; got {table.shape}."
        )
    flat = table.reshape(-1, features.shape[1])
    doubtful = flat[_doubtful(flat, features)]
    for start in range(0, len(doubtful), block * count):
        part = doubtful[start : start + block * count]
        checked(features @ part.T, (sample.size, len(part)))
    return np.asarray((flat @ (share @ features)).reshape(-1, count), dtype=np.float64)


def _doubtful(flat: Array, features: Array) -> NDArray[np.bool_]:
    """Rows whose utilities might leave [0, 1]: those that do so for some features between their least and largest values."""
    least, most = features.min(axis=0), features.max(axis=0)
    up, down = np.maximum(flat, 0.0), np.minimum(flat, 0.0)
    inside = (up @ least + down @ most >= 0) & (up @ most + down @ least <= 1)
    return np.asarray(~inside)
