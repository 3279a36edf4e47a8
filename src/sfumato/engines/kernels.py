"""The compiled passes over the rows: scores, slopes and gradient sum in one read of the matrix.

For rows x_i, labels y_i, weights v_i and a loss phi every kernel adds to `out` the sum over its rows

    sum_i v_i phi'(u_i, y_i) (x_i, c),   u_i = <x_i, theta_1..d> + c theta_d+1,

c being the constant feature of the intercept, without which (c = 0) the last coordinate is absent. Sums without weights pass
ones: a product with 1 is exact. Kernels release the
interpreter lock and keep no state. The engine that calls them fixes which rows they get and in which order their sums are
added, so that threads change nothing. All functions that they call stand in this file: numba keeps compiled kernels on disk
and compiles them again only when the file that holds them changes.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# The compiler may reorder sums and fuse products with additions: the price covers the roundings of any order. It must keep
# infinities and NaN, so numba's fastmath=True is not allowed.
FAST = {"reassoc", "contract", "nsz", "arcp"}
# Sums over the scattered entries of sparse rows are unrolled by hand: if it may reorder them, the compiler uses the
# processor's gather instructions, measured to be three times as slow as plain loads on processors with the microcode fixes
# against speculative execution.
SCATTERED = {"contract", "nsz", "arcp"}
# Rows of a tile: few enough that they stay in the cache while every chain passes over them.
_TILE = 32


@numba.njit(inline="always", fastmath=FAST)
def slope(code: int, u: float, y: float, first: float, second: float) -> float:
    """phi'(u, y) of the loss whose `compiled` names this code, with its parameters; clipped to the loss's bound.

    The formula is that of the loss's own `derivative`. A score that is NaN (0 times an overflowed parameter) has slope 0:
    otherwise one record would make every sum NaN.
    """
    if math.isnan(u):
        return 0.0
    if code == 0:  # logistic
        return -y / (1.0 + math.exp(y * u)) if y * u < 700.0 else 0.0
    if code == 1:  # Huber: first = clip
        return min(max(u - y, -first), first)
    if code == 2:  # smoothed hinge: first = width
        return -y * (min(max(1.0 - y * u, 0.0), first) / first)
    if code == 3:  # hinge
        return -y if y * u < 1.0 else 0.0
    if code == 4:  # quantile: first = level
        return -first if u < y else 1.0 - first
    if code == 5:  # smoothed quantile: first = level, second = width
        return min(max((u - y) / second, -first), 1.0 - first)
    if code == 6:  # Poisson: first = clip
        return min(max(math.exp(min(u, 700.0)) - y, -first), first)
    if code == 7:  # cloglog, labels 0 and 1: first = clip
        rate = math.exp(min(u, 700.0))
        if y > 0.5:
            steep = rate / math.expm1(rate) if 0.0 < rate < 700.0 else (0.0 if rate >= 700.0 else 1.0)
            return -min(first, steep)
        return min(first, rate)
    # clipped probit: first = clip; the ratio phi(v)/Phi(v) by its asymptotic series far on the left, where the next term
    # is below a rounding.
    v = y * u
    if v < -37.0:
        w = 1.0 / (v * v)
        ratio = -v * (1.0 + w * (1.0 - w * (2.0 - w * (10.0 - w * (74.0 - w * 706.0)))))
    else:
        ratio = math.exp(-0.5 * v * v) / (math.sqrt(2.0 * math.pi) * 0.5 * math.erfc(-v / math.sqrt(2.0)))
    return -y * min(first, ratio)


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def dense_gradient(
    rows: Array,
    labels: Array,
    weights: Array,
    theta: Array,
    intercept: float,
    code: int,
    first: float,
    second: float,
    out: Array,
) -> None:
    """Add to `out`, shaped (d,), the sum over dense rows of v_i phi'(u_i, y_i) (x_i, c) for one parameter theta."""
    n, d = rows.shape
    bias = float(theta[d]) * intercept if intercept != 0.0 else 0.0
    total = 0.0
    i = 0
    # Four rows at a time: the sums are read and written once for four rows.
    while i + 4 <= n:
        a = b = c = e = bias
        for j in range(d):
            t = theta[j]
            a += rows[i, j] * t
            b += rows[i + 1, j] * t
            c += rows[i + 2, j] * t
            e += rows[i + 3, j] * t
        a = weights[i] * slope(code, a, labels[i], first, second)
        b = weights[i + 1] * slope(code, b, labels[i + 1], first, second)
        c = weights[i + 2] * slope(code, c, labels[i + 2], first, second)
        e = weights[i + 3] * slope(code, e, labels[i + 3], first, second)
        for j in range(d):
            out[j] += a * rows[i, j] + b * rows[i + 1, j] + c * rows[i + 2, j] + e * rows[i + 3, j]
        total += a + b + c + e
        i += 4
    while i < n:
        a = bias
        for j in range(d):
            a += rows[i, j] * theta[j]
        a = weights[i] * slope(code, a, labels[i], first, second)
        for j in range(d):
            out[j] += a * rows[i, j]
        total += a
        i += 1
    if intercept != 0.0:
        out[d] += total * intercept


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def _four_scores(rows: Array, theta: Array, scores: Array) -> None:
    """scores[c, i] = <x_i, theta_c> for four chains, two rows at a time, so that each number read is used eight times."""
    n, d = rows.shape
    for i in range(0, n - 1, 2):
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
        for j in range(d):
            a, b = rows[i, j], rows[i + 1, j]
            t0, t1, t2, t3 = theta[0, j], theta[1, j], theta[2, j], theta[3, j]
            a0 += a * t0
            a1 += a * t1
            a2 += a * t2
            a3 += a * t3
            b0 += b * t0
            b1 += b * t1
            b2 += b * t2
            b3 += b * t3
        scores[0, i], scores[1, i], scores[2, i], scores[3, i] = a0, a1, a2, a3
        scores[0, i + 1], scores[1, i + 1], scores[2, i + 1], scores[3, i + 1] = b0, b1, b2, b3
    if n % 2:
        for c in range(4):
            a0 = 0.0
            for j in range(d):
                a0 += rows[n - 1, j] * theta[c, j]
            scores[c, n - 1] = a0


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def _four_sums(rows: Array, slopes: Array, out: Array) -> None:
    """out[c] += sum_i slopes[c, i] x_i for four chains, four rows at a time, so that `out` is read once for four rows."""
    n, d = rows.shape
    for i in range(0, n - 3, 4):
        a0, a1, a2, a3 = slopes[0, i], slopes[0, i + 1], slopes[0, i + 2], slopes[0, i + 3]
        b0, b1, b2, b3 = slopes[1, i], slopes[1, i + 1], slopes[1, i + 2], slopes[1, i + 3]
        c0, c1, c2, c3 = slopes[2, i], slopes[2, i + 1], slopes[2, i + 2], slopes[2, i + 3]
        e0, e1, e2, e3 = slopes[3, i], slopes[3, i + 1], slopes[3, i + 2], slopes[3, i + 3]
        for j in range(d):
            w, x, y, z = rows[i, j], rows[i + 1, j], rows[i + 2, j], rows[i + 3, j]
            out[0, j] += a0 * w + a1 * x + a2 * y + a3 * z
            out[1, j] += b0 * w + b1 * x + b2 * y + b3 * z
            out[2, j] += c0 * w + c1 * x + c2 * y + c3 * z
            out[3, j] += e0 * w + e1 * x + e2 * y + e3 * z
    for i in range(n - n % 4, n):
        for c in range(4):
            for j in range(d):
                out[c, j] += slopes[c, i] * rows[i, j]


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def dense_gradients(
    rows: Array,
    labels: Array,
    weights: Array,
    theta: Array,
    intercept: float,
    code: int,
    first: float,
    second: float,
    out: Array,
) -> None:
    """out[c] += sum_i v_i phi'(u_ci, y_i) (x_i, c) for theta and out shaped (chains, d).

    Over each tile of rows four chains are computed at a time, and chains beyond a multiple of four one by one.
    """
    n, d = rows.shape
    chains = len(theta)
    fours = chains - chains % 4
    slopes = np.empty((4, _TILE))
    for start in range(0, n, _TILE):
        tile, known = rows[start : start + _TILE], labels[start : start + _TILE]
        held = weights[start : start + _TILE]
        for k in range(0, fours, 4):
            _four_scores(tile, theta[k : k + 4], slopes)
            for c in range(4):
                bias = theta[k + c, d] * intercept if intercept != 0.0 else 0.0
                total = 0.0
                for i in range(len(tile)):
                    steep = held[i] * slope(code, slopes[c, i] + bias, known[i], first, second)
                    slopes[c, i] = steep
                    total += steep
                if intercept != 0.0:
                    out[k + c, d] += total * intercept
            _four_sums(tile, slopes, out[k : k + 4])
        for k in range(fours, chains):
            dense_gradient(tile, known, held, theta[k], intercept, code, first, second, out[k])


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def steady_gradients(rows: Array, labels: Array, weights: Array, theta: Array, intercept: float, code: int, first: float,
                     second: float, out: Array) -> None:  # fmt: skip
    """The same sums one row at a time, so that no score depends on where its row stands (`models.row_products`)."""
    n, d = rows.shape
    for k in range(len(theta)):
        bias = theta[k, d] * intercept if intercept != 0.0 else 0.0
        for i in range(n):
            score = bias
            for j in range(d):
                score += rows[i, j] * theta[k, j]
            steep = weights[i] * slope(code, score, labels[i], first, second)
            for j in range(d):
                out[k, j] += steep * rows[i, j]
            if intercept != 0.0:
                out[k, d] += steep * intercept


@numba.njit(nogil=True, fastmath=SCATTERED, cache=True)
def sparse_gradient(
    data: Array,
    columns: NDArray[np.uint32],
    indptr: NDArray[np.int64],
    labels: Array,
    weights: Array,
    theta: Array,
    intercept: float,
    code: int,
    first: float,
    second: float,
    out: Array,
) -> None:
    """Add to `out`, shaped (d,), the same sum over rows of a CSR matrix: row i is data[p] at columns[p], p from indptr[i]."""
    d = len(theta) - 1
    bias = theta[d] * intercept if intercept != 0.0 else 0.0
    total = 0.0
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        fours = stop - (stop - start) % 4
        a = b = c = e = 0.0
        for p in range(start, fours, 4):
            a += data[p] * theta[columns[p]]
            b += data[p + 1] * theta[columns[p + 1]]
            c += data[p + 2] * theta[columns[p + 2]]
            e += data[p + 3] * theta[columns[p + 3]]
        for p in range(fours, stop):
            a += data[p] * theta[columns[p]]
        g = weights[i] * slope(code, bias + ((a + b) + (c + e)), labels[i], first, second)
        for p in range(start, stop):
            out[columns[p]] += g * data[p]
        total += g
    if intercept != 0.0:
        out[d] += total * intercept


@numba.njit(nogil=True, fastmath=SCATTERED, cache=True)
def sparse_gradients(
    data: Array,
    columns: NDArray[np.uint32],
    indptr: NDArray[np.int64],
    labels: Array,
    weights: Array,
    theta: Array,
    intercept: float,
    code: int,
    first: float,
    second: float,
    out: Array,
) -> None:
    """The sum over CSR rows for theta and out shaped (d, chains): the numbers that meet one entry lie side by side."""
    last, chains = len(theta) - 1, theta.shape[1]
    slopes = np.empty(chains)
    for i in range(len(indptr) - 1):
        for k in range(chains):
            slopes[k] = theta[last, k] * intercept if intercept != 0.0 else 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x, column = data[p], columns[p]
            for k in range(chains):
                slopes[k] += x * theta[column, k]
        for k in range(chains):
            slopes[k] = weights[i] * slope(code, slopes[k], labels[i], first, second)
        for p in range(indptr[i], indptr[i + 1]):
            x, column = data[p], columns[p]
            for k in range(chains):
                out[column, k] += x * slopes[k]
        if intercept != 0.0:
            for k in range(chains):
                out[last, k] += slopes[k] * intercept
