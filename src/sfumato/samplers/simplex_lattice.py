"""Exact draws from the lattice of shares above a floor, without rejection.

Law: the weight of a point (j_1, ..., j_K), sum j = M, is the product of w_i(j_i) = share(j_i)^(cells_i - 1).
Method: with the suffix sums

    S_K = w_K,    S_i(m) = sum over j <= m of w_i(j) S_(i+1)(m - j),

j_1 has weight w_1(j) S_2(M - j), then j_2 given j_1, and so on: each is one exact inversion in whole numbers.
Error: `log_error`, from public numbers. Every weight keeps its exponent (none is set to 0 or raised to a floor), so that the
bounded range of the exponential mechanism holds at every point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.laws import Lattice
from sfumato.samplers.grid import Integers

# Weights within this many binary places of the largest are tried first; the others are needed with probability 2^-1948.
NEAR = 2048
# Unit roundoff of a float.
_UNIT = 2.0**-53
# Rows of a convolution that are computed together, to bound memory.
_BLOCK = 128


def spread(law: Lattice) -> float:
    """Bound, from public numbers, on how far the logs of any weights and sums of weights lie apart."""
    size, edge = len(law.cells), -math.log(law.floor)
    return ((law.weight + 2 * size) * edge + size * math.log(law.steps + 1)) * (1 + 1e-12)


def places_for(law: Lattice) -> int:
    """How far whole numbers are shifted so that the smallest weight keeps all its digits: from public numbers."""
    return math.ceil(spread(law) / math.log(2)) + 64


def log_error(law: Lattice) -> float:
    """Bound on the error of the log of a drawn point's probability, from public numbers.

    In units of 2^-53: a log weight is off by 2 |a_i - 1| |log floor|, together at most 2 V with V = spread(law); one
    convolution adds 4 V for its sums of logs, M + 1 for its additions and 32 for exp, log and their scaling; a step adds
    8 V + 16 for the conversion to whole numbers; numerator and sum are both off, which doubles it; there are K - 1 steps. The
    public shares are rounded too, which moves the range by less than 8 (weight + K). The whole is doubled once more.
    """
    size, widest = len(law.cells), spread(law)
    convolution = 4 * widest + law.steps + 33
    step = 2 * widest + (size - 1) * convolution + 8 * widest + 16
    return 2 * _UNIT * ((size - 1) * 2 * step + 8 * (law.weight + size))


def suffix_sums(logs: Sequence[Array]) -> list[Array]:
    """Logs of S_i(m) for i = 1..K-1 (counted from 0), m = 0..M; the last is the last column's own weights."""
    sums = [logs[-1]]
    for own in reversed(logs[1:-1]):
        sums.append(_convolved(own, sums[-1]))
    return sums[::-1]


def _convolved(first: Array, second: Array) -> Array:
    """Log of sum over j of exp(first[j] + second[m - j]), each m about its own largest term."""
    size = len(first)
    padded = np.concatenate([np.full(size - 1, -np.inf), second])
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)
    reverse = first[::-1]
    sums = np.empty(size)
    with np.errstate(under="ignore"):
        for start in range(0, size, _BLOCK):
            terms = windows[start : start + _BLOCK] + reverse
            top = terms.max(axis=1)
            sums[start : start + _BLOCK] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    return sums


def draw_lattice(law: Lattice, draws: int, source: Integers) -> Array:
    """Points of the lattice, shaped (draws, K)."""
    size, steps = len(law.cells), law.steps
    points = law.geometry.values
    base = np.log(points)
    logs = [(cell - 1.0) * base for cell in law.cells]
    behind = suffix_sums(logs)
    shift = places_for(law)
    drawn = np.empty((draws, size))
    for place in range(draws):
        left = steps
        for column in range(size - 1):
            weights = logs[column][: left + 1] + behind[column][left::-1]
            chosen = _inverted(weights, shift, source)
            drawn[place, column] = points[chosen]
            left -= chosen
        drawn[place, -1] = points[left]
    return drawn


def whole_weights(logs: Array, shift: int) -> tuple[list[int], list[int]]:
    """Digits and places of whole numbers digits * 2^places in proportion to exp(logs)."""
    exponents = (logs - logs.max()) * (1 / math.log(2))
    whole = np.floor(exponents)
    digits = (np.exp2(exponents - whole) * 2.0**52).astype(np.int64)
    return digits.tolist(), (whole + shift).astype(np.int64).tolist()


def _inverted(logs: Array, shift: int, source: Integers) -> int:
    """An index with probability in proportion to exp(logs), exactly.

    Near weights, within 2^NEAR of the largest, are whole multiples of 2^base; each far one is below 2^(53 + base). A uniform
    whole number below (near weights)/2^base + 2^53 (number of far ones) falls on a near weight, but for a chance of about
    2^(100 - NEAR): then its lower digits are drawn, and it falls on a far weight or beyond all, which starts again.
    """
    digits, places = whole_weights(logs, shift)
    base = max(0, shift - NEAR)
    near = [(k, d << (s - base)) for k, (d, s) in enumerate(zip(digits, places, strict=True)) if s >= base]
    far = [k for k, s in enumerate(places) if s < base]
    within = sum(weight for _, weight in near)
    while True:
        place = source.integers_below(within + (len(far) << 53))
        chosen = _fallen(near, place)
        if chosen is None:
            lower = source.integers_below(1 << base)
            chosen = _fallen(((k, digits[k] << places[k]) for k in far), ((place - within) << base) + lower)
        if chosen is not None:
            return chosen


def _fallen(weights: Iterable[tuple[int, int]], place: int) -> int | None:
    """The index whose weight holds a place, if weights lie end to end; None beyond all of them."""
    for index, weight in weights:
        place -= weight
        if place < 0:
            return index
    return None
