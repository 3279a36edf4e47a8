"""Intervals of a regression that learnt the shape of its rows first: normal, in closed form, for any number of coefficients.

Map, path and posterior follow from published numbers alone (`shapes.posterior`). Ends are mean +- z deviation, where the mean
and deviation are those of the truth ("privacy and sampling"), of the truth with the covariance of the scores as it was released
("robust": the model may be wrong), or of the penalised optimum on the rows ("privacy").
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.procedures import shaped_path, task_of
from sfumato.shapes.posterior import Posterior

Array = NDArray[np.float64]
# Above this expected squared error of a score the loss is far from quadratic over the posterior: simulated 90 % intervals cover
# .87 instead of .89 and more.
_FAR = 2.0


def is_shaped(plan: Mapping[str, Any]) -> bool:
    """Whether a plan's document is that of a path which learnt the shape first."""
    return plan.get("procedure") == shaped_path.NAME


def ends(draws: Draws, plan: Mapping[str, Any], level: float, sampling: str) -> Array:
    """Lower and upper ends (2, d); `sampling` is "none", "model" or "robust"."""
    from scipy.special import ndtri

    _, task = task_of(plan)
    if sampling == "robust" and task.parameters.score_matrix_noise is None:
        raise ArgumentError(
            'robust intervals need the released matrix of the scores: plan with keep=("scores",), which takes a tenth of the '
            "price from the rest."
        )
    found, start = _posterior(_Key(draws, plan), sampling)
    middle = start + found.mean
    away = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    lower, upper = (task.model.prior.project(middle + sign * away) for sign in (-1, 1))
    if sampling == "none":
        return np.stack([lower, upper])
    # The estimate is the average of the path, which may lie outside: an interval that a reader sees beside it holds it.
    estimate = draws.mean()
    return np.stack([np.minimum(lower, estimate), np.maximum(upper, estimate)])


def diagnostic(draws: Draws, plan: Mapping[str, Any]) -> float:
    """q: the expected squared error of the score of a row, from the noise and from what the path has not reached."""
    return _posterior(_Key(draws, plan), "model")[0].diagnostic


def far_from_quadratic(draws: Draws, plan: Mapping[str, Any]) -> str:
    """A sentence where q is so large that intervals cover a little less than they say; else empty."""
    q = diagnostic(draws, plan)
    if q <= _FAR:
        return ""
    return (
        f"The noise moves the score of a row by about {q**0.5:.1f} (diagnostic q = {q:.2g}): the loss is not quadratic over "
        "such distances, and intervals may cover a little less than they say."
    )


class _Key:
    """Draws and plan of a release, compared by identity, so that one posterior serves several questions."""

    def __init__(self, draws: Draws, plan: Mapping[str, Any]) -> None:
        self.draws, self.plan = draws, plan

    def __hash__(self) -> int:
        return hash((id(self.draws), id(self.plan)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.draws is other.draws and self.plan is other.plan


@lru_cache(maxsize=8)
def _posterior(key: _Key, sampling: str) -> tuple[Posterior, Array]:
    _, task = task_of(key.plan)
    draws = key.draws
    if draws.transcript is None or not {"moments", "curvature", "scores"} <= set(draws.published):
        raise ArgumentError("the release lacks numbers that its plan publishes: check the file with release.verify().")
    found, learnt = shaped_path.read(task, draws.transcript, draws.published, sampling)
    return found, learnt.start
