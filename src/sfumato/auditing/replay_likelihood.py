"""The likelihood ratio of a release between two data sets, from the released numbers alone.

Where every noisy number is released, the density of a release is a product of normal densities: the first part has the centre v
that the data set gives it, and each later one the centre that the data set gives it after the parts published before. So

    log density under the second - under the first = sum over the parts of (|p - v|^2 - |p - v'|^2)/(2 noise^2),

p being what was published, v and v' the numbers of the first and of the second data set. No test of the two data sets has fewer
errors than the one that accuses where this is large (Neyman and Pearson). Numbers are released on grids of a millionth of their
noise; the density at the grid point stands for the probability of its cell.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.auditing.replay_noise import Array, Part, after
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.procedures import law
from sfumato.procedures.protocol import Procedure, Task


def log_likelihood_ratio(
    task: Task[Any, Any], procedure: Procedure[Any, Any], engines: tuple[Any, Any], draws: Draws
) -> float:
    """Log of the density of the released numbers under the second engine's data set over that under the first's.

    For 'path' with its transcript, 'shaped-path', and 'noisy-totals' of a bounded mean or of a model that releases its totals.
    """
    history = released_parts(task, procedure, draws)
    first, second = (centres(task, procedure, engine, history) for engine in engines)
    return math.fsum(
        float(((p - a.values) ** 2 - (p - b.values) ** 2).sum()) / (2 * a.noise**2)
        for p, a, b in zip(history, first, second, strict=True)
    )


def released_parts(task: Task[Any, Any], procedure: Procedure[Any, Any], draws: Draws) -> list[Array]:
    """Every noisy number of a release, in the order in which noise was added; refused where some are not released."""
    if procedure.NAME == "noisy-totals" and draws.totals is not None:
        return [draws.totals]
    if procedure.NAME == "noisy-totals" and isinstance(task.model, BoundedMean):
        # The mean is lower + (upper - lower) total/n of the noisy total.
        model = task.model
        return [(draws.flat()[0] - model.lower) * task.n / (model.upper - model.lower)]
    if procedure.NAME in ("path", "shaped-path") and draws.transcript is not None:
        steps = [draws.transcript[:, step] for step in range(draws.transcript.shape[1])]
        if procedure.NAME == "path":
            return steps
        named = draws.published
        first = [named[name] for name in ("moments", "shares") if name in named]
        return [*first, *steps, named["curvature"], named["scores"]]
    raise ArgumentError(
        "a likelihood ratio from a release needs one that holds every noisy number: 'path' with keep=('transcript',), "
        f"'shaped-path', or 'noisy-totals' of a bounded mean or a model that releases its totals; got {procedure.NAME!r}."
    )


def centres(task: Task[Any, Any], procedure: Procedure[Any, Any], engine: Any, history: list[Array]) -> list[Part]:
    """The numbers that would have met noise on this engine's records, each after the same published history."""
    if procedure.NAME == "noisy-totals":
        totals = np.array([float(each) for each in law.exact_totals(task.model, engine)])
        return [Part(totals, float(task.parameters.noise) * float(task.model.sensitivity), history[0])]
    replay = after(history)
    procedure.carry_out(task, engine, replay)  # type: ignore[arg-type]
    return replay.parts
