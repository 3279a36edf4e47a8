"""One run of a procedure with recorded sums and a stand-in for its randomness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.auditing.replay_engine import Call, RecordedEngine
from sfumato.auditing.replay_noise import Part, published
from sfumato.auditing.replay_samplers import Diverged, Recorder, watched
from sfumato.draws import Draws
from sfumato.procedures.protocol import Procedure, Task

# What is recorded of a run that an error ended.
ENDED = "it ended with"


@dataclass(frozen=True, eq=False)
class Record:
    """One run: the calls of its engine, the parts that met randomness, bits asked for, reports of progress, what it released.

    `history` are its answers one by one; in `parts` the coordinates of a chain's last step are joined. `trouble` names what
    ended the run, and is empty where nothing did.
    """

    calls: list[Call]
    parts: list[Part]
    history: list[Any]
    asked: list[int]
    reused: bool
    lowest: float
    reports: list[tuple[int, int]]
    draws: Draws | None
    trouble: str = ""


def recorded(
    procedure: Procedure[Any, Any],
    task: Task[Any, Any],
    engine: Any,
    seed: int,
    after: Record | None = None,
    size: float = 1.0,
) -> Record:
    """Carry a task out with recorded sums and frozen outputs: those of the run `after`, or normal noise `size` times as large."""
    sums = RecordedEngine(engine)
    source: Any = Recorder(seed, sums, None if after is None else after.history, size)
    draws, trouble = None, ""
    reports: list[tuple[int, int]] = []
    try:
        with watched():
            draws = procedure.carry_out(task, sums, source, lambda done, steps: reports.append((done, steps)))
    except Diverged as error:
        trouble = str(error)
    except Exception as error:  # an error that one data set causes and another does not is a leak, whatever it is
        trouble = f"{ENDED} {type(error).__name__}"
    return Record(
        sums.calls,
        _joined(source.parts),
        published(source.parts),
        source.asked,
        source.reused,
        source.lowest,
        reports,
        draws,
        trouble,
    )


def _joined(parts: list[Part]) -> list[Part]:
    """The coordinates of a chain's last step, which are drawn one by one, as one part."""
    last = [part for part in parts if part.kind == "last"]
    if not last:
        return parts
    values = np.concatenate([part.values for part in last])
    facts = (tuple(part.noise for part in last), tuple(part.facts for part in last))
    return [*(part for part in parts if part.kind != "last"), replace(last[0], values=values, facts=facts)]
