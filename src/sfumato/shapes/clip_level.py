"""Where the slopes of a path are clipped, from what was published before it.

Slopes clipped at K move the fit of skewed residuals away from the plain fit of the same rows, and the noise of the path is
proportional to K. Along a direction in which mapped rows have moment 1 the noise is 2 c K/x, with c the radius of the map and
x = n mu/sqrt(d) (`shapes.schedule`); a mean excess X of residuals beyond K moves the fit there by at most X, and by SHARE X in
tables whose residuals scatter more in some rows than in others. The level is the least K where this is below a part of the noise:

    SHARE X(K) <= PART 2 c K/x.

X is not released. It follows from a law of the tail: for a linear regression from the noisy shares of residuals in ten cells, for
counts from their noisy mean and mean square. Intervals allow for the root of its mean square under what is then known of the tail.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.shapes.curvature import positive
from sfumato.shapes.published import Array

# Edges of the cells of signed residuals, in residual deviations; the outer two cells are open.
EDGES = np.array([-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
CELLS = len(EDGES) + 1
# Log-normal costs whose scale depends on the row, and linear fits of curved prices, have SHARE of .44 and .75. The part is smaller
# where the middle of the residuals is skewed: there X is the excess of a tail whose law is known to a factor of two.
SHARE, PART = 0.7, (0.6, 0.2)
# The spread of counts grows with their mean.
COUNT_PART, COUNT_LOST = 0.33, 0.45
# The least level of residuals. Cut residuals make another fit of the same rows even where the model holds: by .2 standard errors
# at 1.5 deviations and .02 at 3.5. From x = 1,500 on that is more than a tenth of the noise.
_LEAST, _LEAST_AT, _LEAST_POWER, _LARGEST_LEAST = 1.5, 1500.0, 0.45, 3.5
# Of an excess on both sides a fifth of the smaller one counts: the two cancel unless they belong to different rows.
_BOTH = 0.2
# Beyond this level lies mass A of mean length t, with an exponential tail or one that falls like a power, of which the shares
# cannot tell; in a tail that is not the longer one of a skewed law, beside a normal law's or not. It is right to a quarter.
_TAIL, _LEAST_MIDDLE, _NORMAL_MIDDLE = 2.0, 0.3, 0.6827
_MASSES = np.concatenate([[0.0], np.geomspace(0.002, 0.15, 20)])
_LENGTHS = np.geomspace(0.25, 5.0, 24)
_POWERS, _ROUGH = (4.0, math.inf), 0.25
_LEVELS = np.geomspace(1.5, 40.0, 80)
# Prior probability that a tail is not longer than a normal one: where the middle of the residuals is not skewed, and where it is.
_NO_TAIL = 0.9, 0.02
# Of `skewness`: 1.54 is phi(1)/(phi(0) - phi(1)); what is below five deviations of its noise, or .1, is none.
_SHIFTED, _CERTAIN, _LEAST_SKEW = 1.54, 5.0, 0.1
# 90 % of a normal law lie within so many deviations; a variance beyond a Poisson law's is noise up to this many.
_NORMAL_90, _DOUBT = 1.645, 2.0
# Mean of the variance beyond a Poisson law's, over the mean count, before it is seen.
_SPREAD = 3.0
# The level exceeds that of Poisson counts by at most x over this: where little is told, noise costs more than what is cut. Where x
# is large noise costs little, and the level grows as far as a wide bound hides how far counts spread.
_TRUSTED = 500.0
_GROWS_AT, _GROWTH, _MOST_GROWTH = 1000.0, 0.45, 2.0


def count_level(mean: float, square: float, noise: float, most: float, x: float, radius: float) -> tuple[float, float]:
    """The clipping level of counts of this mean and mean square, at most about `most`, and the mean excess beyond it.

    Counts are taken to have a gamma law of this mean and of this variance: that of a Poisson law, and what exceeds it as far as it
    is known, with noise of deviation `noise` on the mean square.
    """
    from scipy.special import gammaincc

    seen = square - mean**2 - mean
    known = max(0.0, 1.0 - (_DOUBT * noise / max(seen, noise)) ** 2)
    least = mean + math.sqrt(mean) + 1.0  # rows with twice this mean have no larger slopes
    levels = np.geomspace(least, max(most, 2 * least), 200)

    def excess(level: Array, variance: float) -> Array:
        shape, scale = mean**2 / variance, variance / mean
        above = (mean + level) / scale
        return np.asarray(mean * gammaincc(shape + 1, above) - (mean + level) * gammaincc(shape, above))

    def enough(variance: float) -> float:
        fits = excess(levels, variance) <= COUNT_PART * 2 * radius / x * levels
        return float(levels[fits.argmax()] if fits.any() else levels[-1])

    poisson, hidden = enough(mean), min(1.0, _DOUBT * noise / (mean + max(seen, 0.0))) ** 2
    grown = poisson * (1 + hidden * (min(_MOST_GROWTH, max(1.0, x / _GROWS_AT) ** _GROWTH) - 1))
    level = max(enough(mean + known * max(seen, 0.0)), grown)
    level = min(level, (1 + x / _TRUSTED) * poisson)
    # Intervals allow for the excess of the expected variance, which was believed to be exponential before it was seen.
    expected = mean + float(positive(np.array([seen - noise**2 / (_SPREAD * mean)]), np.array([noise]))[0])
    return level, COUNT_LOST * float(excess(np.array(level), expected))


def _whole(shares: Array, noise: float) -> tuple[Array, float]:
    """Shares and their noise over the sum of the shares, which is below 1 with survey weights."""
    total = float(shares.sum())
    return (shares / total, noise / total) if total > _CERTAIN * noise * math.sqrt(CELLS) else (shares, noise)


def residual_level(shares: Array, noise: float, x: float, radius: float, most: float) -> tuple[float, float]:
    """K in residual deviations, at most `most`, and what intervals take the mean excess beyond it to be.

    `shares` are those of residuals in the cells of `EDGES`, with noise of deviation `noise` on each.
    """
    shares, noise = _whole(shares, noise)
    skew = skewness(shares, noise)
    normal = _normal_tail(shares)
    tails = _excess(shares[2::-1], normal, noise, skew < 0), _excess(shares[-3:], normal, noise, skew > 0)
    excess, root = np.maximum(*tails) - (1 - _BOTH) * np.minimum(*tails)
    fits = SHARE * excess <= PART[int(skew != 0)] * 2 * radius / x * _LEVELS
    least = min(_LARGEST_LEAST, _LEAST * max(1.0, (x / _LEAST_AT) ** _LEAST_POWER))
    level = min(most, max(least, float(_LEVELS[fits.argmax()] if fits.any() else _LEVELS[-1])))
    beyond = float(np.interp(level, _LEVELS, root))
    # A tail's law is known to a factor of two, which counts at the largest level allowed, where nothing keeps the excess below a
    # part of the noise, and where noise hides which tail is the longer one.
    return level, (2 * beyond if level == most or not skew else beyond)


def skewness(shares: Array, noise: float) -> float:
    """What the middle of the residuals tells of skewness, 0 where it may be none.

    T = D - 1.54 A, with D the mass above 1 less that below -1, and A the mass in (0, 1] less that in (-1, 0]: 0 to first order for
    normal residuals whatever a small shift of their middle, .75 for exponential ones and .22 for a gamma law of shape 4.
    """
    half = CELLS // 2
    value = float(shares[half + 1 :].sum() - shares[: half - 1].sum() - _SHIFTED * (shares[half] - shares[half - 1]))
    deviation = noise * math.sqrt(2 * (half - 1 + _SHIFTED**2))
    return value if abs(value) > max(_CERTAIN * deviation, _LEAST_SKEW) else 0.0


def _normal_tail(shares: Array) -> Array:
    """Shares of (2, 4], (4, 8] and (8, inf) under a normal law with as much between -1 and 1 as the residuals have, or less.

    The deviation from noisy moments may be too small, and then the shares beyond it are large without a long tail.
    """
    from scipy.special import ndtr, ndtri

    half = CELLS // 2
    middle = min(max(float(shares[half - 1] + shares[half]), _LEAST_MIDDLE), _NORMAL_MIDDLE)
    return np.diff(ndtr(float(ndtri(0.5 + 0.5 * middle)) * np.append(EDGES[-3:], math.inf)))


def _excess(tail: Array, normal: Array, noise: float, skewed: bool) -> Array:
    """The posterior mean of E (e - K)+ beyond a normal law's, and the root of its mean square, at each level.

    The noisy shares are those of (2, 4], (4, 8] and (8, inf); `skewed`: the middle says that this tail is the longer one.
    """
    far, ends = np.maximum(_LEVELS - _TAIL, 0.0)[:, None], np.array([0.0, 2.0, 6.0])[:, None]
    none, short = _NO_TAIL[int(skewed)], _LENGTHS**-2.0
    prior = np.where(_MASSES > 0, (1 - none) / (len(_MASSES) - 1), none)[:, None] * short
    total, mean, square = 0.0, np.zeros(len(_LEVELS)), np.zeros(len(_LEVELS))
    for power in _POWERS:
        if math.isinf(power):
            beyond, over = np.exp(-ends / _LENGTHS), _LENGTHS * np.exp(-far / _LENGTHS)
        else:
            scale = (power - 1) * _LENGTHS
            beyond, over = (1 + ends / scale) ** -power, _LENGTHS * (1 + far / scale) ** (1 - power)
        cells = (beyond - np.vstack([beyond[1:], np.zeros(len(_LENGTHS))]))[:, None, :] * _MASSES[:, None]
        variance = noise**2 + (_ROUGH * cells) ** 2
        for law in (cells,) if skewed else (cells, cells + normal[:, None, None]):
            misfit = ((tail[:, None, None] - law) ** 2 / variance + np.log(variance / noise**2)).sum(axis=0)
            weight = prior * np.exp(-0.5 * misfit)
            total += float(weight.sum())
            mean += over @ (weight * _MASSES[:, None]).sum(axis=0)
            square += over**2 @ (weight * _MASSES[:, None] ** 2).sum(axis=0)
    if total <= 0:  # shares far from every law say nothing about the tail but that it is long
        return np.full((2, len(_LEVELS)), float(_MASSES[-1]))
    return np.stack([mean / total, np.sqrt(square / total)])


def clipped_share(shares: Array, noise: float, level: float) -> tuple[float, float]:
    """The share of residuals beyond `level` deviations on either side, and its uncertainty: 1.645 deviations of the noise.

    Between the edges of the cells, and beyond the last one, the mass outside falls exponentially, as it does between the two edges
    that are nearest.
    """
    half = CELLS // 2
    shares, noise = _whole(shares, noise)
    ends = np.concatenate([[0.0], EDGES[half:]])
    # Cells beyond each edge, both sides; noise may make them negative or rise outwards.
    beyond = np.array([shares[: half - k].sum() + shares[half + k :].sum() for k in range(half)])
    known = np.minimum.accumulate(np.clip(beyond, noise, 1.0))
    place = min(int(np.searchsorted(ends, level, side="right")) - 1, half - 2)
    rate = math.log(known[place] / known[place + 1]) / (ends[place + 1] - ends[place])
    cells = 2 * (half - place)
    return float(known[place] * math.exp(-rate * (level - ends[place]))), _NORMAL_90 * noise * math.sqrt(cells)
