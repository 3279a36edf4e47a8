"""The curvature of the loss along the path, estimated from its noisy matrix and from the noisy moments of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.shapes.published import Array, Published

# Relative deviation of a curvature from its prediction by the moments. Simulated logistic regressions of 20 and 60
# coefficients show .02 to .27 (root mean square) where the moments are exact; of an unresolved moment only the order is known.
RESOLVED, UNRESOLVED = 0.3, 1.0
# Between unresolved directions a few may carry almost nothing: a tenth of them, spread over the entries of their block. Chosen
# by simulation among .03, .1, .3 and 1: larger values widen every interval and help the few little.
VAGUE = 0.1
# Relative size of entries off the diagonal, before it is scaled to what is observed; and the largest such scale.
OFF, LARGEST_SCALE = 0.1, 25.0
# The mean of phi'' over the rows is not below this share of its bound while the path is worth reading (scores of deviation 10).
LEAST_SHARE = 0.08
# Eigenvalues are kept above this share of the largest one, so that quotients by them stay finite.
FLOOR = 1e-6
# Most pairs of columns that are taken apart; a table with more of them has no sparse structure to be found this way.
MOST_PAIRS = 50


@dataclass(frozen=True)
class Estimate:
    """The estimated curvature, values and vectors, and the error of its entries in the basis of the vectors.

    The error of entry (i, j) has variance variance[i, j]. `along` is the observed curvature along the average, `across` what
    it would be by the other directions; `dip` is what the fall along the average takes from each of the values.
    """

    values: Array
    vectors: Array
    variance: Array
    along: float
    across: float
    dip: Array


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
    unit = q.T @ published.average / max(float(np.linalg.norm(published.average)), np.finfo(float).tiny)
    share, dip = _two_scales(published, seen, moments, unit)
    across = float(unit @ (moments * unit))
    toward = moments * unit / np.sqrt(max(across, np.finfo(float).tiny))
    guess = share * (np.diag(moments) - dip * np.outer(toward, toward))
    for vector, own, smooth in pairs(published):
        along = scales * (q.T @ vector)
        guess += share * (own - smooth) * np.outer(along, along)
    fraction = np.where(published.resolved, RESOLVED, UNRESOLVED) * share * moments
    slack = share * published.moments_noise * scales
    noise = noisy_variance(size, published.curvature_noise)
    order = share * moments + slack * scales
    doubt = OFF**2 * np.outer(order, order)
    np.fill_diagonal(doubt, fraction**2 + (slack * scales) ** 2)
    spikes, extra = _spikes(seen - guess, published.curvature_noise)
    guess = guess + spikes
    doubt = _rescaled(doubt, seen - guess, noise)
    vague = np.where(published.resolved, 0.0, order)
    doubt = np.maximum(doubt, VAGUE * np.outer(vague, vague) / max(int((~published.resolved).sum()), 1))
    mean, variance = combine(guess, doubt, seen, noise)
    variance = np.minimum(variance + extra, noise)
    values, turn = np.linalg.eigh(mean)
    error = rotated(variance, turn)
    values = positive(values, np.sqrt(np.diag(error)))
    values = np.maximum(values, max(FLOOR * float(values.max()), np.finfo(float).tiny))
    return Estimate(
        values, q @ turn, error, share * across * (1.0 - dip), share * across, share * dip * (turn.T @ toward) ** 2
    )


def positive(mean: Array, deviation: Array) -> Array:
    """The mean of a normal variable given that it is positive."""
    from scipy.special import log_ndtr

    safe = np.maximum(deviation, np.finfo(float).tiny)
    # Beyond 30 deviations the condition changes nothing that a float can hold.
    ratio = np.clip(mean / safe, -30.0, 30.0)
    hazard = np.exp(-0.5 * ratio**2 - log_ndtr(ratio)) / np.sqrt(2 * np.pi)
    kept: Array = np.where(mean < 30.0 * deviation, safe * np.maximum(ratio + hazard, 0.0), mean)
    return kept


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


def pairs(published: Published) -> list[tuple[Array, float, float]]:
    """Directions of two columns whose moment stands out from `cleaned`: (direction, moment, what `cleaned` has for it).

    Two columns that nearly agree, or a rare level beside the constant, leave a direction (e_i +- e_j)/sqrt(2) of small moment.
    Among all noisy eigenvectors it is lost, but its own value has noise of deviation a alone, and only d^2 such values are
    compared: one that stands out by more than sqrt(4 log d + 1) deviations is taken as it is, the largest first.
    """
    q, noise, d = published.vectors, published.moments_noise, len(published.values)
    smooth = (q * cleaned(published)) @ q.T
    left = (q * published.values) @ q.T - smooth
    limit = noise * np.sqrt(4 * np.log(d) + 1)
    above = np.triu_indices(d, 1)
    listed: list[tuple[Array, float, float]] = []
    for _ in range(MOST_PAIRS if d > 1 else 0):
        half = (np.diag(left)[:, None] + np.diag(left)[None, :])[above] / 2
        both = np.stack([half + left[above], half - left[above]])
        place = int(np.abs(both).argmax())
        if not abs(both.flat[place]) > limit:
            break
        sign, entry = (1.0, -1.0)[place // both.shape[1]], place % both.shape[1]
        vector = np.zeros(d)
        vector[[above[0][entry], above[1][entry]]] = np.array([1.0, sign]) / np.sqrt(2)
        before = float(vector @ smooth @ vector)
        listed.append((vector, max(before + float(both.flat[place]), 0.0), before))
        left -= float(both.flat[place]) * np.outer(vector, vector)
    return listed


def _spikes(misfit: Array, noise: float) -> tuple[Array, Array]:
    """The part of a misfit that stands out of the noise's spectrum, and the variance of its entries.

    Symmetric noise has eigenvalues within e = noise sqrt(2 d). An eigenvalue r beyond belongs to a direction of its own
    (two nearly equal columns, a rare level), and the misfit's own value along the noisy eigenvector is sqrt(r^2 - e^2).
    """
    values, turn = np.linalg.eigh(misfit)
    edge = noise * np.sqrt(2.0 * len(values))
    beyond = np.abs(values) > edge
    kept = np.where(beyond, np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0)), 0.0)
    weight = np.minimum((turn**2 * beyond).sum(axis=1), 1.0)
    return (turn * kept) @ turn.T, noise**2 / 2 * (weight[:, None] + weight[None, :])


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
    scaled: Array = min(factor, LARGEST_SCALE) * doubt
    np.fill_diagonal(scaled, np.diag(doubt))
    return scaled


def _two_scales(published: Published, seen: Array, moments: Array, unit: Array) -> tuple[float, float]:
    """(s, dip): the mean of phi'' over the rows, and the share by which it is smaller along the average."""
    most, least = published.largest_curvature, published.least_curvature
    least = LEAST_SHARE * most if least is None else least
    total, inside = float(moments.sum()), float(unit @ (moments * unit))
    if not inside > 0:
        return least, 0.0
    # trace = s (total - dip removed), value = s inside (1 - dip): two equations.
    removed = float(moments**2 @ unit**2) / inside
    trace, value = float(np.trace(seen)), float(unit @ seen @ unit)
    share, dip = trace / total, 0.0
    for _ in range(20):
        share = float(np.clip(trace / (total - dip * removed), least, most))
        dip = _dip(value / (share * inside), published.curvature_noise / (share * inside))
    return share, dip


def _dip(quotient: float, deviation: float) -> float:
    """1 minus the mean of a quotient observed with normal noise, known to lie between a tenth and 1."""
    from scipy.stats import truncnorm

    if not deviation > 1e-6:
        return 1.0 - min(max(quotient, 0.1), 1.0)
    low, high = (0.1 - quotient) / deviation, (1.0 - quotient) / deviation
    if low > 30 or high < -30:
        return 0.9 if low > 30 else 0.0
    return 1.0 - float(truncnorm.mean(low, high, loc=quotient, scale=deviation))
