"""The curvature of the loss along the path, estimated from its noisy matrix and from the noisy moments of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.shapes.published import Array, Published

# Relative deviation of a curvature from its prediction by the moments. .3 is the largest difference between phi'' weighted
# means along single directions that simulated logistic regressions show; an unresolved moment is known by its order only.
RESOLVED, UNRESOLVED = 0.3, 1.0
# The mean of phi'' over the rows is not below this share of its bound while the path is worth reading (scores of deviation 10).
LEAST_SHARE = 0.08
# Eigenvalues are kept above this share of the largest one, so that quotients by them stay finite.
FLOOR = 1e-6


@dataclass(frozen=True)
class Estimate:
    """The estimated curvature, values and vectors, and the error of its entries in the basis of the vectors.

    The error of entry (i, j) has variance variance[i, j]; `plain` holds the curvatures along the vectors without the dip
    along the average, as they are on the way to it.
    """

    values: Array
    vectors: Array
    variance: Array
    plain: Array


def noisy_variance(size: int, deviation: float) -> Array:
    """Variances of symmetric Gaussian noise: deviation^2 on the diagonal, half of it elsewhere."""
    variance: Array = np.full((size, size), deviation**2 / 2)
    np.fill_diagonal(variance, deviation**2)
    return variance


def combine(guess: Array, doubt: Array, seen: Array, noise: Array) -> tuple[Array, Array]:
    """Entrywise normal posterior of a matrix: a guess of variance `doubt`, an observation of variance `noise`."""
    share = doubt / np.maximum(doubt + noise, np.finfo(float).tiny)
    return guess + share * (seen - guess), share * noise


def rotated(variance: Array, vectors: Array) -> Array:
    """Variances of the entries of U' D U for independent entries of D of the given variances.

    Exact where D is Gaussian orthogonally invariant noise, and on the diagonal; elsewhere products that cancel on average
    are left out.
    """
    halves = variance.copy()
    np.fill_diagonal(halves, np.diag(variance) / 2)
    squares = vectors**2
    turned: Array = squares.T @ halves @ squares
    turned[np.diag_indices_from(turned)] *= 2.0
    return turned


def estimate(published: Published) -> Estimate:
    """The posterior mean of the curvature at the average, and its error.

    For Gaussian rows Stein's lemma gives E phi''(x.theta) x x' = s S + b (S theta)(S theta)'. That is the guess, with s and b
    from the noisy curvature's trace and its value along S theta, at the published average; its entries are right to a
    share of themselves and to the noise of the moments. The noisy curvature is the observation.
    """
    q, size = published.vectors, len(published.values)
    scales = np.einsum("ij,ij->j", q, published.matrix @ q)
    moments = cleaned(published) * scales**2
    seen = q.T @ published.curvature @ q
    toward = moments * (q.T @ published.average)
    length = float(np.linalg.norm(toward))
    along = toward / length if length > 0 else np.zeros(size)
    share, dip = _two_scales(published, seen, moments, along)
    guess = np.diag(share * moments) + dip * np.outer(along, along)
    fraction = np.where(published.resolved, RESOLVED, UNRESOLVED) * share * moments
    slack = share * published.moments_noise * scales
    noise = noisy_variance(size, published.curvature_noise)
    doubt = (np.outer(fraction, fraction) + np.outer(scales, slack) ** 2) * noisy_variance(size, 1.0)
    np.fill_diagonal(doubt, fraction**2 + (slack * scales) ** 2)
    doubt = _rescaled(doubt, seen - guess, noise)
    mean, variance = combine(guess, doubt, seen, noise)
    values, turn = np.linalg.eigh(mean)
    values = np.maximum(values, max(FLOOR * float(values[-1]), np.finfo(float).tiny))
    dipped = turn.T @ along
    plain = np.maximum(values - dip * dipped**2, values)
    return Estimate(values, q @ turn, rotated(variance, turn), plain)


def cleaned(published: Published) -> Array:
    """The rows' second moment along each noisy eigenvector (the rotationally invariant estimate; unresolved ones: their mean)."""
    values, noise = published.values, published.moments_noise
    gap = values[:, None] - values[None, :]
    width = 2.0 * noise**2  # (edge of the noise)^2/d
    own = values - noise**2 * (gap / np.maximum(gap**2 + width, np.finfo(float).tiny)).sum(axis=1)
    vague = ~published.resolved
    if vague.any():
        own = np.where(vague, max(float(own[vague].mean()), 0.0), own)
    kept: Array = np.maximum(own, 0.0)
    return kept


def _rescaled(doubt: Array, misfit: Array, noise: Array) -> Array:
    """The doubt with its entries off the diagonal scaled to what the observed ones show beyond their noise."""
    above = np.triu_indices(len(doubt), 1)
    base, extra, known = doubt[above], misfit[above] ** 2, noise[above]
    weight = 1.0 / np.maximum(base + known, np.finfo(float).tiny) ** 2
    total = float(weight @ base)
    if not total > 0:
        return doubt
    factor = max(float(weight @ (extra - known)), 0.0) / total
    factor += np.sqrt(2.0 * float(weight**2 @ (factor * base + known) ** 2)) / total
    scaled: Array = min(factor, 4.0) * doubt
    np.fill_diagonal(scaled, np.diag(doubt))
    return scaled


def _two_scales(published: Published, seen: Array, moments: Array, along: Array) -> tuple[float, float]:
    """(s, b): the mean of phi'' over the rows, and what to add along S theta."""
    total, inside = float(moments.sum()), float(along @ (moments * along))
    if not total > 0:
        return 0.0, 0.0
    bounds = (LEAST_SHARE * published.largest_curvature, published.largest_curvature)
    trace, value = float(np.trace(seen)), float(along @ seen @ along)
    if not total - inside > 1e-3 * total:
        return float(np.clip(trace / total, *bounds)), 0.0
    share = float(np.clip((trace - value) / (total - inside), *bounds))
    # The curvature along the average lies between a tenth of the others' and theirs: phi'' falls away from the centre.
    return share, float(np.clip(value - share * inside, -0.9 * share * inside, 0.0))
