"""References for the privacy tests: textbook formulas in as many digits as it takes, nothing shared with the library.

Arguments are the floats that the library was given, taken as exact numbers. Where a formula subtracts, the working
precision is raised until at least `digits` digits of the difference are right. Tails are computed as tails (continued
fraction of the incomplete Beta and Gamma functions) or as complements, whichever converges; a complement counts the
digits that it loses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import mpmath as mp

Number = float | int


def _settled(evaluate: Callable[[], tuple[mp.mpf, mp.mpf, mp.mpf]], digits: int) -> mp.mpf:
    """First minus second, at a precision where `digits` digits survive; the third is the largest number subtracted."""
    working = digits + 15
    while True:
        with mp.workdps(working):
            first, second, largest = evaluate()
            value = first - second
            if value > 0 and (mp.mag(largest) - mp.mag(value)) * 0.30103 <= working - digits - 5:
                return value
        if working > 20_000:
            raise ArithmeticError("the reference does not settle")
        working *= 2


# --- Gaussian --------------------------------------------------------------------------------------------------------


def gaussian_delta(epsilon: Number, mu: Number, digits: int = 50) -> mp.mpf:
    """Phi(-eps/mu + mu/2) - exp(eps) Phi(-eps/mu - mu/2)."""

    def evaluate() -> tuple[mp.mpf, mp.mpf, mp.mpf]:
        eps, m = mp.mpf(epsilon), mp.mpf(mu)
        root = mp.sqrt(mp.mpf(2))
        first = mp.erfc((eps / m - m / 2) / root) / 2
        return first, mp.exp(eps) * mp.erfc((eps / m + m / 2) / root) / 2, first

    return _settled(evaluate, digits)


def normal_tail(x: Number | mp.mpf) -> mp.mpf:
    """Phi(-x)."""
    return mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2


# --- laws on finitely many points ------------------------------------------------------------------------------------


def hockey_stick(p: Iterable[mp.mpf], q: Iterable[mp.mpf], epsilon: Number) -> mp.mpf:
    """Sum of (p - exp(eps) q)_+."""
    scale = mp.exp(mp.mpf(epsilon))
    return mp.fsum(max(mp.mpf(0), a - scale * b) for a, b in zip(p, q, strict=True))


def finite_renyi(p: Iterable[mp.mpf], q: Iterable[mp.mpf], order: Number) -> mp.mpf:
    """Renyi divergence of two laws with the same finite support."""
    a = mp.mpf(order)
    pairs = [(x, y) for x, y in zip(p, q, strict=True) if x > 0]
    if a == 1:
        return mp.fsum(x * mp.log(x / y) for x, y in pairs)
    return mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in pairs)) / (a - 1)


def randomised_response(epsilon: Number) -> tuple[tuple[mp.mpf, mp.mpf], tuple[mp.mpf, mp.mpf]]:
    """The two laws of one bit that is told truly with odds exp(eps)."""
    odds = mp.exp(mp.mpf(epsilon))
    return (odds / (1 + odds), 1 / (1 + odds)), (1 / (1 + odds), odds / (1 + odds))


def composed_responses(epsilons: Iterable[Number], epsilon: Number) -> mp.mpf:
    """Exact delta of several randomised responses about the same bit: exhaustive over all answers."""
    total, eps = mp.mpf(0), mp.mpf(epsilon)
    listed = [mp.mpf(e) for e in epsilons]
    scale = mp.fprod(1 / (1 + mp.exp(-e)) for e in listed)
    for truths in itertools.product((True, False), repeat=len(listed)):
        loss = mp.fsum(e if truth else -e for e, truth in zip(listed, truths, strict=True))
        if loss > eps:
            lies = mp.fsum(e for e, truth in zip(listed, truths, strict=True) if not truth)
            total -= scale * mp.exp(-lies) * mp.expm1(eps - loss)
    return total


def equal_responses(count: int, bound: Number, epsilon: Number) -> mp.mpf:
    """Exact delta of `count` equal randomised responses, by the binomial law of the number of lies."""
    b, eps = mp.mpf(bound), mp.mpf(epsilon)
    weight, total = (1 / (1 + mp.exp(-b))) ** count, mp.mpf(0)
    for lies in range(count // 2 + 1):
        loss = (count - 2 * lies) * b
        if loss <= eps:
            break
        total -= weight * mp.expm1(eps - loss)
        weight *= mp.exp(-b) * (count - lies) / (lies + 1)
    return total


def bounded_range_laws(epsilon: Number, highest: mp.mpf) -> tuple[tuple[mp.mpf, mp.mpf], tuple[mp.mpf, mp.mpf]]:
    """The two-point laws whose log ratios are `highest` and `highest` - eps."""
    e, u = mp.exp(mp.mpf(epsilon)), mp.exp(highest)
    p = ((e - u) / (e - 1), (u - 1) / (e - 1))
    return p, (p[0] / u, p[1] * e / u)


# --- Beta and Gamma --------------------------------------------------------------------------------------------------


def _beta_fraction(a: mp.mpf, b: mp.mpf, x: mp.mpf) -> mp.mpf:
    """Continued fraction of the incomplete Beta function (Lentz): I_x(a, b) a B(a, b) / (x^a (1-x)^b)."""
    floor, close = mp.mpf(10) ** (-4 * mp.mp.dps), mp.mpf(2) ** (6 - mp.mp.prec)
    c, d = mp.mpf(1), 1 / ((1 - (a + b) * x / (a + 1)) or floor)
    value, m = d, 0
    while True:
        m += 1
        even = m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m))
        d, c = 1 / (1 + even * d), 1 + even / c
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m))
        d, c = 1 / (1 + odd * d), 1 + odd / c
        value *= d * c
        if abs(d * c - 1) < close:
            return value


def beta_upper(a: mp.mpf, b: mp.mpf, logit: mp.mpf) -> tuple[mp.mpf, bool]:
    """P[logit(theta) > logit] for theta ~ Beta(a, b), and whether it was taken as a complement."""
    above, below = 1 / (1 + mp.exp(-logit)), 1 / (1 + mp.exp(logit))
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    front = mp.exp(a * mp.log(above) + b * mp.log(below) - log_beta)
    if below < (b + 1) / (a + b + 2):
        return front / b * _beta_fraction(b, a, below), False
    return 1 - front / a * _beta_fraction(a, b, above), True


def beta_pair_delta(a: Number, b: Number, power: Number, epsilon: Number, digits: int = 25) -> mp.mpf:
    """delta(eps) of Beta(a + power, b) against Beta(a, b + power), as the difference of two tails."""

    def evaluate() -> tuple[mp.mpf, mp.mpf, mp.mpf]:
        x, y, r, eps = map(mp.mpf, (a, b, power, epsilon))
        ratio = mp.loggamma(x + r) - mp.loggamma(x) - mp.loggamma(y + r) + mp.loggamma(y)
        cut = (eps + ratio) / r
        first, complement = beta_upper(x + r, y, cut)
        second, other = beta_upper(x, y + r, cut)
        return first, mp.exp(eps) * second, mp.mpf(1) if complement or other else first

    return _settled(evaluate, digits)


def beta_pair_renyi(a: Number, b: Number, power: Number, order: Number) -> mp.mpf:
    """Renyi divergence of Beta(a + power, b) from Beta(a, b + power) in 80 digits."""
    with mp.workdps(80):
        x, y, r, o = map(mp.mpf, (a, b, power, order))
        fall, rise = mp.loggamma(y + r) - mp.loggamma(y), mp.loggamma(x + r) - mp.loggamma(x)
        if o == 1:
            return r * (mp.digamma(x + r) - mp.digamma(y)) + fall - rise
        if (o - 1) * r >= y:
            return mp.inf
        mixed = mp.loggamma(x + o * r) + mp.loggamma(y - (o - 1) * r)
        return (mixed - mp.loggamma(x + r) - mp.loggamma(y)) / (o - 1) + fall - rise


def gamma_tail(shape: mp.mpf, x: mp.mpf, upper: bool) -> tuple[mp.mpf, bool]:
    """P[theta > x] or P[theta <= x] for theta ~ Gamma(shape, 1), and whether it was taken as a complement."""
    close = mp.mpf(2) ** (6 - mp.mp.prec)
    front = mp.exp(shape * mp.log(x) - x - mp.loggamma(shape))
    if x > shape + 1:  # continued fraction of the upper tail
        b, i = x + 1 - shape, 0
        c, d = mp.mpf(10) ** (4 * mp.mp.dps), 1 / b
        value = d
        while True:
            i += 1
            b += 2
            d = 1 / (b - i * (i - shape) * d)
            c = b - i * (i - shape) / c
            value *= d * c
            if abs(d * c - 1) < close:
                break
        return (front * value, False) if upper else (1 - front * value, True)
    term = total = 1 / shape  # series of the lower tail, all terms positive
    n = shape
    while n <= x or term > close * total * (1 - x / n):
        n += 1
        term *= x / n
        total += term
    return (1 - front * total, True) if upper else (front * total, False)


def gamma_shape_delta(shape: Number, shift: Number, epsilon: Number, upward: bool, digits: int = 25) -> mp.mpf:
    """delta(eps) of Gamma(shape + shift) against Gamma(shape) (`upward`), or the other way round."""

    def evaluate() -> tuple[mp.mpf, mp.mpf, mp.mpf]:
        a, s, eps = map(mp.mpf, (shape, shift, epsilon))
        ratio = mp.loggamma(a + s) - mp.loggamma(a)
        cut = mp.exp((ratio + eps if upward else ratio - eps) / s)
        own, other = (a + s, a) if upward else (a, a + s)
        first, complement = gamma_tail(own, cut, upper=upward)
        second, also = gamma_tail(other, cut, upper=upward)
        return first, mp.exp(eps) * second, mp.mpf(1) if complement or also else first

    return _settled(evaluate, digits)


def gamma_rate_delta(
    shape: Number, rate: Number, shift: Number, epsilon: Number, slower: bool, digits: int = 25
) -> mp.mpf:
    """delta(eps) of Gamma(shape, rate) against Gamma(shape, rate + shift) (`slower`), or the other way round."""
    with mp.workdps(60):
        if not slower and mp.mpf(epsilon) >= mp.mpf(shape) * mp.log(1 + mp.mpf(shift) / mp.mpf(rate)):
            return mp.mpf(0)

    def evaluate() -> tuple[mp.mpf, mp.mpf, mp.mpf]:
        k, b, s, eps = map(mp.mpf, (shape, rate, shift, epsilon))
        reach = k * mp.log(1 + s / b)
        cut = (reach + eps if slower else reach - eps) / s
        own, other = (b, b + s) if slower else (b + s, b)
        first, complement = gamma_tail(k, own * cut, upper=slower)
        second, also = gamma_tail(k, other * cut, upper=slower)
        return first, mp.exp(eps) * second, mp.mpf(1) if complement or also else first

    return _settled(evaluate, digits)


def gamma_shape_renyi(shape: Number, shift: Number, order: Number) -> mp.mpf:
    """Larger Renyi divergence of Gamma(shape + shift) and Gamma(shape) over both directions, in 80 digits."""
    with mp.workdps(80):
        a, s, o = map(mp.mpf, (shape, shift, order))
        ratio = mp.loggamma(a + s) - mp.loggamma(a)
        if o == 1:
            return max(s * mp.digamma(a + s) - ratio, ratio - s * mp.digamma(a))
        if (o - 1) * s >= a:
            return mp.inf
        up = (mp.loggamma(a + o * s) - mp.loggamma(a + s)) / (o - 1) - ratio
        return max(up, (mp.loggamma(a - (o - 1) * s) - mp.loggamma(a)) / (o - 1) + ratio)


def gamma_rate_renyi(shape: Number, rate: Number, shift: Number, order: Number) -> mp.mpf:
    """Larger Renyi divergence of Gamma(shape, rate) and Gamma(shape, rate + shift), in 80 digits."""
    with mp.workdps(80):
        k, b, s, o = map(mp.mpf, (shape, rate, shift, order))
        x = s / b
        if o == 1:
            return k * max(x - mp.log(1 + x), mp.log(1 + x) - x / (1 + x))
        if (o - 1) * x >= 1:
            return mp.inf
        slow = -mp.log(1 - (o - 1) * x) / (o - 1) - mp.log(1 + x)
        return k * max(slow, (o * mp.log(1 + x) - mp.log(1 + o * x)) / (o - 1))
