"""A mixture fitted to noisy tables by weighted least squares, stopped where it would begin to fit the noise.

The information of the tables is parted in folds (`NoisyPairs.parted`). Each fit sees all folds but one and is stopped where it
predicts the left-out fold best, which needs no constant that depends on the table: with little noise it runs long, with much it
stops early. The fits begin at different random laws and are pooled, which averages their errors.

All random numbers are from a stream with a fixed seed, so that whoever has the noisy tables computes the same mixture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.mixtures.mixture import Array, Mixture, firsts, pooled
from sfumato.mixtures.noisy_pairs import NoisyPairs

# The stream is that of RandomState, which NumPy keeps the same in all versions.
_SEED = 20_261_116
# Folds, and components of each fit. 50 to 200 components give nearly the same error of pairs (benchmarks/synthetic_rule.py);
# more fits make the pooled mixture smoother, which classifiers trained on its rows need.
FOLDS, COMPONENTS = 10, 100
# Spread of the first laws around the pooled shares, on the log scale, and that of the weights. Unlike components keep more of what
# columns have in common beyond pairs.
_SPREAD, _WEIGHTS_SPREAD = 1.0, 0.1
# Adam's step and averages; most steps, and steps without a better prediction after which a fit ends.
_RATE, _FIRST, _SECOND, _TINY = 0.1, 0.9, 0.99, 1e-12
_MOST_STEPS, _PATIENCE = 1500, 40

Report = Callable[[int, int], None]


def fitted(
    pairs: NoisyPairs,
    folds: int = FOLDS,
    components: int = COMPONENTS,
    most_steps: int = _MOST_STEPS,
    report: Report = lambda done, steps: None,
) -> Mixture:
    """The pooled mixture of one fit for each fold; `report(done, folds)` is called after each."""
    source = np.random.RandomState(_SEED)
    parts = []
    for k, (seen, kept) in enumerate(pairs.parted(folds, source)):
        parts.append(_one(seen, kept, components, most_steps, source))
        report(k + 1, folds)
    return pooled(parts)


@dataclass
class _Moving:
    """One block of parameters with Adam's averages of its gradient."""

    values: Array
    first: Array
    second: Array

    @classmethod
    def at(cls, values: Array) -> _Moving:
        return cls(values, np.zeros_like(values), np.zeros_like(values))

    def step(self, gradient: Array, count: int) -> None:
        self.first = _FIRST * self.first + (1 - _FIRST) * gradient
        self.second = _SECOND * self.second + (1 - _SECOND) * gradient * gradient
        mean, square = self.first / (1 - _FIRST**count), self.second / (1 - _SECOND**count)
        self.values = self.values - _RATE * mean / (np.sqrt(square) + _TINY)


def _one(
    seen: NoisyPairs, kept: NoisyPairs, components: int, most_steps: int, source: np.random.RandomState
) -> Mixture:
    """The mixture on the way of one descent that predicts the kept fold best."""
    edges = firsts(seen.sizes)
    begins, column = np.array(edges[:-1]), np.repeat(np.arange(len(seen.sizes)), seen.sizes)
    logits = _Moving.at(np.log(seen.start()) + _SPREAD * source.standard_normal((components, edges[-1])))
    weights = _Moving.at(_WEIGHTS_SPREAD * source.standard_normal(components))
    scale = 1.0 / max(seen.cells, 1)
    judged = np.where(kept.known, 0.0, kept.precisions)
    best, last, mixture = np.inf, 0, None
    for count in range(1, most_steps + 1):
        logits.values = logits.values - np.maximum.reduceat(logits.values, begins, axis=1)[:, column]
        laws = np.exp(logits.values)
        laws /= np.add.reduceat(laws, begins, axis=1)[:, column]
        shares = np.exp(weights.values - weights.values.max())
        shares /= shares.sum()
        pairs, singles = laws.T @ (shares[:, None] * laws), shares @ laws
        # A pair of levels stands in the matrix twice.
        error = 0.5 * float((judged * (pairs - kept.shares) ** 2).sum())
        error += float((kept.single_precisions * (singles - kept.single_shares) ** 2).sum())
        if error < best:
            best, last, mixture = error, count, Mixture(seen.sizes, shares, laws)
        elif count - last > _PATIENCE:
            break
        pull = seen.precisions * (pairs - seen.shares)
        alone = seen.single_precisions * (singles - seen.single_shares)
        pulled = laws @ pull
        by_law = 2 * scale * shares[:, None] * (pulled + alone)
        by_share = scale * ((pulled * laws).sum(axis=1) + 2 * (laws @ alone))
        logits.step(laws * (by_law - np.add.reduceat(by_law * laws, begins, axis=1)[:, column]), count)
        weights.step(shares * (by_share - float(by_share @ shares)), count)
    return mixture if mixture is not None else Mixture(seen.sizes, shares, laws)
