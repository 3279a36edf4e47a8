"""An attack by sampling: many releases on two neighbouring data sets, told apart by a score, and the errors of that test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.auditing.error_rates import Array, ErrorRates, error_rates, pilot_thresholds
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.ratios import likelihood_ratios, moments_ratios, ratio_is_known
from sfumato.auditing.runs import Trial, numbers_of
from sfumato.auditing.scores import separation, trained
from sfumato.draws import Draws
from sfumato.mechanisms.plan import Plan
from sfumato.models.model import LOSSES
from sfumato.randomness import Randomness
from sfumato.samplers.langevin import Report, silent

# Coordinates up to which a trained test looks at each; of more, at their projection along the two records' difference alone.
_FEW = 12
RATIO, TRAINED = "likelihood ratio test", "trained test"


@dataclass(frozen=True, eq=False)
class Attack:
    """A pair, the statistic, the scores of the counted runs on both data sets, and the thresholds that pilot runs chose."""

    pair: Neighbours
    statistic: str
    first: Array
    second: Array
    thresholds: Array

    def rates(self, level: float) -> ErrorRates:
        """Bounds on the errors of the test, together at this level."""
        return error_rates(self.first, self.second, self.thresholds, level)


@dataclass(frozen=True, eq=False)
class Pilot:
    """A score and thresholds that were chosen on runs of their own, and how far apart the scores lay."""

    pair: Neighbours
    trials: tuple[Trial, Trial]
    statistic: str
    score: Callable[[list[Draws]], Array]
    thresholds: Array
    separation: float

    def attack(self, runs: int, source: Randomness, report: Report = silent) -> Attack:
        """Count fresh runs."""
        first, second = self.trials
        one = self.score(first.releases(runs, source, _half(report, 0)))
        other = self.score(second.releases(runs, source, _half(report, 1)))
        return Attack(self.pair, self.statistic, one, other, self.thresholds)


def pilot(
    plan: Plan, pair: Neighbours, runs: int, source: Randomness, inside: bool = False, report: Report = silent
) -> Pilot:
    """Choose the score and its thresholds from `runs` runs a side; `inside` is that of `runs.Trial`."""
    trials = (Trial.of(plan, pair.first, inside), Trial.of(plan, pair.second, inside))
    made = [trial.releases(runs, source, _half(report, side)) for side, trial in enumerate(trials)]
    known = ratio_is_known(trials[0])
    score = partial(likelihood_ratios, trials) if known else _trained(trials, made)
    first, second = (score(each) for each in made)
    chosen = pilot_thresholds(first, second)
    return Pilot(pair, trials, RATIO if known else TRAINED, score, chosen, separation(first, second))


def _half(report: Report, side: int) -> Report:
    """Progress of the runs on one of two data sets, as a share of both."""
    return lambda done, steps: report(side * steps + done, 2 * steps)


def _trained(trials: tuple[Trial, Trial], made: list[list[Draws]]) -> Callable[[list[Draws]], Array]:
    """A test trained on the releases of pilot runs."""
    along = _difference(trials)

    def numbers(given: list[Draws]) -> Array:
        """What the test looks at in every release."""
        rows = numbers_of(trials[0], given)
        if along is None:
            return rows
        projected = np.concatenate([draws.flat() for draws in given]) @ along
        own = projected.reshape(len(rows), -1).mean(axis=1, keepdims=True)
        if trials[0].procedure.NAME == "shaped-chain":
            return np.column_stack([own, moments_ratios(trials, given)])
        return np.column_stack([own, rows]) if len(along) <= _FEW else own

    chosen = trained(*(numbers(each) for each in made))
    return lambda given: chosen.of(numbers(given))


def _difference(trials: tuple[Trial, Trial]) -> Array | None:
    """Where gradients are summed: the direction in which the two records pull apart at the start of a chain."""
    model = trials[0].task.model
    if model.summed != LOSSES:
        return None
    start = np.zeros((1, trials[0].engine.dimension))
    if model.prior.start is not None:
        start = start + np.array(model.prior.start)
    apart = trials[0].engine.gradient(start)[0] - trials[1].engine.gradient(start)[0]
    size = float(np.linalg.norm(apart))
    return np.asarray(apart / size) if size > 0 else None
