"""The law of one draw of a Gibbs model on made-up rows: how far from the truth it is expected to fall, from public numbers alone.

The truth theta follows the prior as it was given; rows have the loss's radius and point in any direction; labels are replaced by
their expectation at theta. Along a chain with step h, power p and a prior of precision P and mean p_0, from the start p_0,

    m <- m - h (p n E[phi' x] + P (m - p_0)),    A = p n E[phi'' x x'] + P,    C = 1 - h A,
    S <- C S C + 2h,    K <- C K + h p,    with S = K = 0 before the first step:

m is the mean of a draw, S its covariance given the rows, and K turns the sum of the records' slopes at theta into a shift of m. So

    expected squared error = |m - theta|^2 + tr S + n tr(K V K),    V = E[phi'^2 x x'] at theta,

averaged over the truths: what start and prior pull, the noise of the draw, and the sampling of the records. An exact draw is the
limit of many short steps. Steps are taken in blocks of growing length over which A is fixed, each in closed form.

Approximate: a normal law with the curvature at its mean, of A, S and K the diagonal (a block for each feature where a loss has
several scores), and the domain of a prior counted as a normal prior of the variance that it leaves. No privacy depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelSet
from sfumato.models.losses.protocol import LABEL, ROW
from sfumato.models.priors import Ball, Box
from sfumato.procedures.outlook import Expected

Array = NDArray[np.float64]
# Made-up rows at least, truths over which errors are averaged, and labels of a row where they cannot be enumerated.
_ROWS, _TRUTHS, _LABELS = 1024, 8, 8
# Each block of steps is longer by this factor than all before it together; an exact draw takes so many, each half the way.
_LONGER, _HALVES = 0.4, 12
# Half the distance of the difference quotient of slopes, in scores over which a slope can change by its bound.
_QUOTIENT = 0.02
# Multiple of its mean square by chance up to which the gradient of simulated labels at the truth is taken for chance.
_CHANCE = 3.0
_SEED = 20_260_104


@dataclass(frozen=True)
class ChainLaw:
    """Expected squared error of one draw in its three parts, and what they are compared with.

    `kept` is the share of the maximum-likelihood estimate that a draw keeps; `fit` is the squared error of that estimate,
    `posterior_noise` and `posterior_error` are noise and squared error of an exact draw from the posterior without privacy.
    """

    kept: float
    pulled: float
    noise: float
    sampling: float
    fit: float
    posterior_noise: float
    posterior_error: float

    @property
    def squared_error(self) -> float:
        """The expected squared distance of one draw from the truth."""
        return self.pulled + self.noise + self.sampling

    @property
    def expected(self) -> Expected:
        """The squared error in units of that of the maximum-likelihood estimate, and of a draw without privacy."""
        return Expected("squared-error", self.squared_error / self.fit, self.posterior_error / self.fit)

    def __str__(self) -> str:
        pulled, noise, sampling = (100 * part / self.squared_error for part in (self.pulled, self.noise, self.sampling))
        return (
            f"a draw keeps {100 * self.kept:.3g} % of the maximum-likelihood estimate; of its squared error {pulled:.2g} % "
            f"is the pull of start and prior, {noise:.2g} % the noise of the draw ({self.noise / self.posterior_noise:.3g} "
            f"times the posterior's variance) and {sampling:.2g} % the sampling of the records"
        )


def law_of_draw(
    model: Gibbs, n: int, power: float, step: float | None, steps: int = 0, strength: float | None = None
) -> ChainLaw | None:
    """The law of a draw after `steps` Langevin steps of size `step`; without a step that of an exact draw.

    `strength` is the factor by which the prior of `model` was made stronger than the one that was given. None where the model
    leaves its dimension open or the loss has kinks.
    """
    if model.dimension is None or not math.isfinite(model.constants.smoothness):
        return None
    shape = (model.loss.outputs, model.dimension // model.loss.outputs)
    given = _precision(model, 1 / (strength or 1.0)).reshape(shape)
    rows = _MadeUp(model, given)
    pulled, noise, shift = rows.carried(n, power, _precision(model, 1.0).reshape(shape), step, steps)
    bare = rows.carried(n, 1.0, given, None, 0)
    inverse, at = np.linalg.pinv(rows.information(rows.truths)), rows.information(rows.truths)

    def sampling(shift: Array) -> float:
        return n * _trace(shift @ rows.variance @ np.swapaxes(shift, 2, 3))

    kept = n * _trace(shift @ at) / model.dimension
    own = bare[0] + bare[1] + sampling(bare[2])
    return ChainLaw(kept, pulled, noise, sampling(shift), sampling(inverse / n), bare[1], own)


def _trace(matrices: Array) -> float:
    """The trace over features and scores of (truths, features, scores, scores), averaged over the truths."""
    return float(np.trace(matrices, axis1=2, axis2=3).sum(axis=1).mean())


def _precision(model: Gibbs, factor: float) -> Array:
    """The prior's precision times `factor` in each coordinate: of a domain that of the normal law of the same variance."""
    from scipy.special import gammainc

    prior: Any = model.prior
    inner = prior.prior if isinstance(prior, Ball | Box) else prior
    precision = np.asarray(getattr(inner, "precision", 0.0)) * factor
    own = np.broadcast_to(np.diag(precision) if precision.ndim == 2 else precision, (model.dimension or 1,))
    if not isinstance(prior, Ball | Box):
        return own
    radius = prior.radius if isinstance(prior, Ball) else np.subtract(prior.upper, prior.lower) / 2
    k = len(own) if isinstance(prior, Ball) else 1
    x = np.maximum(own * radius**2 / 2, 1e-9)
    return np.asarray(2 * x / radius**2 * gammainc(k / 2, x) / gammainc(k / 2 + 1, x))


@lru_cache(maxsize=32)
def _rows(d: int, radius: float, constant: float) -> Array:
    """Rows of this norm: those of orthogonal matrices and their negatives, so that second moments are alike in all directions."""
    square, inside = max(0.0, radius**2 - constant**2), d - (constant > 0)
    if inside == 0:
        return np.full((_ROWS, 1), constant)
    each = np.random.default_rng(_SEED).normal(size=(max(1, _ROWS // (2 * inside)), inside, inside))
    rows = math.sqrt(square) * np.linalg.qr(each)[0].reshape(-1, inside)
    return np.hstack([np.vstack([rows, -rows]), np.full((2 * len(rows), d - inside), constant)])


class _MadeUp:
    """Truths (truths, scores, features), rows (rows, features), labels and their probabilities (truths, rows, labels)."""

    def __init__(self, model: Gibbs, precision: Array) -> None:
        """Truths with lengths evenly spread over their law, rows of any direction, labels of the model or simulated ones."""
        from scipy.special import gammaincinv

        c, d = precision.shape
        self.loss, rng = model.loss, np.random.default_rng(_SEED)
        self.constant = 1.0 if model.loss.record == LABEL else model.intercept
        self.rows = _rows(d, model.loss.radius, self.constant)
        lengths = np.sqrt(gammaincinv(c * d / 2, (np.arange(_TRUTHS) + 0.5) / _TRUTHS))
        away = rng.normal(size=(_TRUTHS, c, d))
        away *= (lengths / np.linalg.norm(away, axis=(1, 2)) * math.sqrt(c * d / np.mean(lengths**2)))[:, None, None]
        self.start = np.reshape(model.prior.start or np.zeros(c * d), (c, d))
        inside = d - (self.constant > 0)
        if c == 1 and inside and np.ptp(precision[0, :inside]) == 0 and not self.start.any():
            # All directions of the rows are alike: along the truth and across it the curvature is then exactly diagonal.
            away[:, 0, 0], away[:, 0, 1:inside] = np.linalg.norm(away[:, 0, :inside], axis=1), 0.0
        self.truths = self.start + away / np.sqrt(precision)
        if self.loss.record == ROW:  # as rehearsals make rows about their mean
            far = np.linalg.norm(self.truths, axis=(1, 2), keepdims=True)
            self.truths *= np.minimum(1.0, self.loss.radius / 2 / np.maximum(far, 1e-300))
            each = min(math.sqrt(d), self.loss.radius / 2) ** 2 / d
            self.variance: Array = np.full((_TRUTHS, d, 1, 1), each)
            return
        scores, self.bias = self.scores(self.truths), np.zeros((1, c, d))
        flat, shape = scores.reshape(-1, c), scores.shape[:2]
        if isinstance(self.loss.label_domain, LabelSet):
            self.labels = np.array(self.loss.label_domain.values)
            self.shares = self.loss.label_shares(flat, self.labels).reshape(*shape, -1)
        else:
            self.labels = self.loss.simulate(np.repeat(flat, _LABELS, axis=0), rng).reshape(*shape, _LABELS)
            self.shares = np.full((*shape, _LABELS), 1 / _LABELS)
        slopes = self.slopes(scores)
        self.variance = self.summed(np.einsum("krl,krlc,krle->krce", self.shares, slopes, slopes))
        # The mean gradient at the truth is the bias of the loss, unless the labels were simulated and it may be chance.
        found = self.gradient(self.truths)
        if self.labels.ndim > 1 and np.sum(found**2) <= _CHANCE * _TRUTHS * _trace(self.variance) / self.shares[0].size:
            self.bias = found

    def scores(self, parameters: Array) -> Array:
        """Scores (truths, rows, scores) of the rows."""
        return np.swapaxes(parameters @ self.rows.T, 1, 2)

    def slopes(self, scores: Array) -> Array:
        """Slopes (truths, rows, labels, scores)."""
        return np.asarray(self.loss.slope_at(scores[:, :, None, :], np.broadcast_to(self.labels, self.shares.shape)))

    def gradient(self, mean: Array) -> Array:
        """Expected gradient of one record at these parameters."""
        if self.loss.record == ROW:
            return mean - self.truths
        slopes = np.einsum("krl,krlc->kcr", self.shares, self.slopes(self.scores(mean)))
        return np.asarray(slopes @ self.rows / len(self.rows)) - self.bias

    def information(self, mean: Array) -> Array:
        """E[phi'' x x'] at these parameters, (truths, features, scores, scores)."""
        if self.loss.record == ROW:
            return np.ones_like(self.variance)
        scores, half = self.scores(mean), _QUOTIENT * self.loss.largest_slope() / self.loss.largest_curvature()
        moves = half * np.eye(scores.shape[2])
        bent = np.stack([self.slopes(scores + move) - self.slopes(scores - move) for move in moves], axis=-1)
        return self.summed(np.einsum("krl,krlce->krce", self.shares, bent) / (2 * half))

    def summed(self, each: Array) -> Array:
        """The mean over rows of a matrix for each row times the squares of its features."""
        return np.asarray(np.einsum("krce,rj->kjce", each, self.rows**2, optimize=True) / len(self.rows))

    def carried(
        self, n: int, power: float, precision: Array, step: float | None, steps: int
    ) -> tuple[float, float, Array]:
        """Squared pull, noise, and K after the steps; without a step those of an exact draw."""
        # Where an exact draw is sought from does not matter, and near the truth no loss is flat.
        mean = np.broadcast_to(self.start, self.truths.shape) if step else self.truths
        spread = shift = np.zeros_like(self.variance)
        pull = precision.T[:, :, None] * np.eye(len(precision))
        for length in _blocks(steps) if step else [1] * _HALVES:
            values, vectors = np.linalg.eigh(power * n * self.information(mean) + pull)
            values, back = np.maximum(values, 1e-300), np.swapaxes(vectors, 2, 3)
            moved = 0.5 / values  # (1 - C^length)/A
            each = np.zeros_like(values) if step is None else np.minimum(step * values, 1.0)
            if step is not None:
                with np.errstate(divide="ignore"):
                    moved = -np.expm1(length * np.log1p(-each)) / values
            left = vectors * (1 - moved * values)[..., None, :] @ back
            gain = vectors * moved[..., None, :] @ back
            noise = (2 - moved * values) * moved / (1 - each / 2)
            spread = left @ spread @ left + vectors * noise[..., None, :] @ back
            shift = left @ shift + power * gain
            push = power * n * self.gradient(mean) + precision * (mean - self.start)
            mean = mean - np.einsum("kjce,kej->kcj", gain, push)
        return float(np.mean(np.sum((mean - self.truths) ** 2, axis=(1, 2)))), _trace(spread), shift


def _blocks(steps: int) -> Iterator[int]:
    """Lengths of blocks that add up to the steps: the first are single steps."""
    done = 0
    while done < steps:
        length = min(max(1, int(_LONGER * done)), steps - done)
        done += length
        yield length
