"""The log likelihood ratio of a release whose noisy numbers are all published: the best test there is.

The formula and its conditions are in `replay_likelihood`, which serves one release of any such procedure. Here many releases are
scored at a time where that is faster: all chains of a path in one pass, and noisy totals, in which the ratio is linear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.auditing import learnt_tables
from sfumato.auditing.error_rates import Array
from sfumato.auditing.replay_likelihood import log_likelihood_ratio
from sfumato.auditing.runs import Trial
from sfumato.draws import Draws
from sfumato.procedures import law, noisy_totals, shape_first
from sfumato.samplers.langevin import Recursion


class WithoutNoise:
    """A source without noise: what a part has before noise is added."""

    def normal(self, shape: Any) -> Array:
        """Zeros."""
        return np.zeros(shape)


def ratio_is_known(trial: Trial) -> bool:
    """Whether all noisy numbers of this trial are published."""
    return trial.inside or trial.procedure.NAME in ("path", "shaped-path", "noisy-tables")


def likelihood_ratios(trials: tuple[Trial, Trial], made: list[Draws]) -> Array:
    """One ratio for each run."""
    if trials[0].procedure.NAME == "noisy-tables":
        engines = tuple(trial.engine for trial in trials)
        return np.array([learnt_tables.log_ratio(trials[0].task, engines, draws) for draws in made])
    if trials[0].inside:
        return _of_totals(trials, np.stack([np.asarray(draws.totals) for draws in made]))
    if trials[0].procedure.NAME == "path":
        return np.concatenate([_of_paths(trials, draws) for draws in made])
    (first, second), trial = (each.engine for each in trials), trials[0]
    return np.array([log_likelihood_ratio(trial.task, trial.procedure, (first, second), draws) for draws in made])


def moments_ratios(trials: tuple[Trial, Trial], made: list[Draws]) -> Array:
    """Of the published moments of a mapped chain alone: the chain that follows them is not published as a whole."""
    task = trials[0].task
    noise = task.parameters.moments_noise
    first, second = (
        shape_first.publish_moments(task.model, trial.engine, noise, None, WithoutNoise()) for trial in trials
    )
    published = np.stack([draws.published["moments"] for draws in made])
    return np.asarray((published - 0.5 * (first + second)) @ (second - first) / noise**2)


def _of_totals(trials: tuple[Trial, Trial], totals: Array) -> Array:
    """Of noisy totals (runs, totals): linear in them."""
    task = trials[0].task
    first, second = (np.array(law.exact_totals(task.model, trial.engine), dtype=np.float64) for trial in trials)
    shift = second - first
    return np.asarray((totals - 0.5 * (first + second)) @ shift / float(noisy_totals.deviation_of(task)) ** 2)


def _of_paths(trials: tuple[Trial, Trial], draws: Draws) -> Array:
    """Of every chain of a noisy-gradient path, all chains in one pass."""
    task, (first, second) = trials[0].task, (trial.engine for trial in trials)
    transcript = np.asarray(draws.transcript)
    number, _, d = transcript.shape
    total = np.zeros(number)

    def add(theta: Array, done: int) -> Array:
        published = transcript[:, done - 1]
        away, near = (published - engine.gradient(theta) / task.n for engine in (first, second))
        total[:] += ((away**2).sum(axis=1) - (near**2).sum(axis=1)) / (2 * task.parameters.noise**2)
        return published

    Recursion.of(task.model.prior, task.n, number, d, dict(task.parameters)).run(add)
    return np.asarray(total.reshape(-1, task.draws).sum(axis=1))
