"""Posteriors truncated to a range of the natural parameter: pure privacy, at the exact supremum of the log ratio.

One dimension, natural parameter eta in [eta_lo, eta_hi], the statistic moved by at most D by one record, A the truncated
log-normaliser (convex in the statistic). Then

    eps = max{ D eta_hi - [A(t_min + D) - A(t_min)],  [A(t_max) - A(t_max - D)] - D eta_lo },

and the log ratio of any two neighbours lies in an interval of length D (eta_hi - eta_lo): bounded range.

Beta on [f, 1-f] at power r: D = r, eta = logit(theta) in [-Lambda, Lambda], Lambda = log((1-f)/f), hence
eps = r Lambda + max{log Z_0/Z_1, log Z_n/Z_{n-1}}, between r Lambda and 2 r Lambda.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato._quadrature import Array, log_concave_panels
from sfumato.privacy.curves import BoundedRange, Curve, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import (
    ALPHA,
    BETA,
    DRAWS,
    GAMMA,
    LIKELIHOOD_POWER,
    LOG_ERROR,
    POSITIVE,
    RECORDS,
    TEMPERING,
    TRIALS,
)
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

SOURCE = "Dimitrakakis et al. 2017, Theorem 8(1), at the exact supremum"
_FORM = Hypothesis("form", "form", "form", "'pure' or 'bounded range'", "Name one of the two.")
_TRIM = "Keep theta in [lower, upper], 0 < lower < upper."


def log_mean_exp_shift(first: float, second: float, power: float, half_width: float) -> float:
    """Log E[exp(power eta)], eta = logit(theta) in [-half_width, half_width], theta ~ Beta(first, second) truncated.

    This is A(t + D) - A(t): two integrals of log-concave functions, each on panels laid out for it, relative to the same
    height, so that the normaliser, which underflows for large n, cancels.
    Source: docs/proofs/truncated.md.
    """

    def log_density(x: Array) -> Array:
        value: Array = -first * np.logaddexp(0.0, -x) - second * np.logaddexp(0.0, x)
        return value

    ends = (-half_width, half_width)
    plain = _log_integral(log_density, ends, math.log(first) - math.log(second))
    # The tilted density first falls where theta = (first + power)/(first + second), at the edge if that is beyond 1.
    peak = math.log(first + power) - math.log(second - power) if second > power else half_width
    return _log_integral(lambda x: log_density(x) + power * x, ends, peak) - plain


def _log_integral(
    log_density: Callable[[Array], Array], ends: tuple[float, float], mode: float, origin: float = 0.0
) -> float:
    """Log of the integral of exp(log_density) between the ends; `origin` is that of the panels (`_quadrature`)."""
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        points, weights = log_concave_panels(log_density, *(np.array([x]) for x in (*ends, mode, origin)))
        logs = log_density(points)
        top = float(logs.max())
        return top + math.log(float((np.exp(logs - top) * weights).sum()))


theorem(
    "truncated.beta", "truncated posterior (Beta)", SOURCE,
    ALPHA, BETA, RECORDS, LIKELIHOOD_POWER,
    Hypothesis("floor", "truncation", "f", "in (0, 1)", "Keep theta in [f, 1 - f] with 0 < f < 1/2.", "prior"),
    Hypothesis("floor-below-half", "truncation", "f", "less than 1/2", "Keep theta in [f, 1 - f] with 0 < f < 1/2.",
               "prior"),
    _FORM, DRAWS, TRIALS, LOG_ERROR,
)  # fmt: skip


def beta(
    *,
    alpha: float,
    beta: float,
    n: int,
    floor: float,
    trials: int = 1,
    power: float = 1.0,
    draws: int = 1,
    form: str = "pure",
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of the Beta posterior of n records of m bits (`trials`), truncated to [floor, 1 - floor].

    `form` "pure" claims the exact supremum of the log ratio, "bounded range" the interval of length 2 r Lambda, which
    composes better over many draws. `log_error` bounds how far the log of a drawn point's mass is from the exact one: it
    moves a log ratio by at most twice itself.
    """
    h = Hypotheses("truncated.beta")
    a, b = h.numbers(alpha=alpha, beta=beta)
    count = h.count(n, "records")
    r, f = h.numbers(power=power, floor=floor)
    h.holds(f < 0.5, "floor-below-half", given=f)
    h.holds(form in ("pure", "bounded range"), "form", given=form)
    k, bits = h.counts(draws=draws, trials=trials)
    off = h.number(log_error, "log-error")
    half = math.log1p(-f) - math.log(f)
    move, everyone = r * bits, r * bits * count
    if form == "bounded range":
        return h.guarantee(k * BoundedRange(2 * move * half * (1 + 1e-15) + 4 * off), unit=unit, draws=k)
    up = move * half - log_mean_exp_shift(a, b + everyone, move, half)
    down = move * half - log_mean_exp_shift(b, a + everyone, move, half)
    # What the two logarithms may have lost, in proportion to their size.
    lost = 1e-11 * (1 + move * half) + 1e-15 * (everyone + move) * half
    epsilon = min(2 * move * half * (1 + 1e-15), max(up, down) + lost) + 2 * off
    return h.guarantee(k * Pure(epsilon), unit=unit, draws=k)


theorem(
    "truncated.dirichlet", "truncated posterior (Dirichlet)", SOURCE,
    Hypothesis("categories", "number of categories", "K", "a whole number of at least 2",
               "A Dirichlet needs at least two cells."),
    LIKELIHOOD_POWER,
    Hypothesis("floor", "truncation", "f", "in (0, 1)", "Keep every cell at least f, 0 < f < 1/K.", "prior"),
    Hypothesis("floor-below-share", "truncation", "f", "less than 1/K", "Keep every cell at least f, 0 < f < 1/K.",
               "prior"),
    DRAWS, LOG_ERROR,
)  # fmt: skip


def dirichlet(
    *,
    categories: int,
    floor: float,
    power: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of a Dirichlet posterior restricted to cells of at least `floor`: BoundedRange(2 r log((1-(K-1)f)/f)).

    The same holds for tables by group: a record that leaves one group's table and enters another's multiplies each
    density by a power of one cell, whose logarithm has range r log((1-(K-1)f)/f). `log_error` as for `beta`.
    `categories` is K, `floor` f, `power` r. Source: Dimitrakakis et al. 2017, Theorem 8(1).
    """
    h = Hypotheses("truncated.dirichlet")
    size = h.count(categories, "categories", minimum=2)
    r, f = h.numbers(power=power, floor=floor)
    h.holds(f * size < 1, "floor-below-share", given=f)
    k = h.count(draws, "draws")
    off = h.number(log_error, "log-error")
    curve: Curve = BoundedRange(2 * r * math.log((1 - (size - 1) * f) / f) * (1 + 1e-14) + 4 * off)
    return h.guarantee(k * curve, unit=unit, draws=k)


theorem(
    "truncated.gamma", "truncated posterior (Gamma)", SOURCE,
    *GAMMA,
    Hypothesis("lower", "truncation", "lower", POSITIVE, _TRIM, "prior"),
    Hypothesis("upper", "truncation", "upper", POSITIVE, _TRIM, "prior"),
    Hypothesis("range", "truncation", "upper", "greater than lower", _TRIM, "prior"),
    *TEMPERING,
    _FORM, LOG_ERROR,
)  # fmt: skip


def gamma(
    *,
    shape: float,
    rate: float,
    n: int,
    bound: float,
    lower: float,
    upper: float,
    shape_per_record: float = 1.0,
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    form: str = "pure",
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of Gamma(K, T) restricted to [lower, upper], K = s a + r n q public, T = s b + r sum t, record statistics t in [0, B].

    Natural parameter -theta, D = r B: with E_T the mean under the restricted law,

        eps = max{ -log E_{s b}[exp(-D (theta - lower))],  -log E_{s b + r n B}[exp(-D (upper - theta))] } <= D (upper - lower),

    and bounded range D (upper - lower), which composes better over many draws (`form` "bounded range"). q = 1: exponential
    and Laplace data (Lemmas 19 and 20); q = 1/2: the precision of a normal with known mean (Lemma 22). `log_error` as for `beta`.
    """
    h = Hypotheses("truncated.gamma")
    a, b = h.numbers(shape=shape, rate=rate)
    count = h.count(n, "records")
    top, low, high = h.numbers(bound=bound, lower=lower, upper=upper)
    h.holds(low < high, "range", given=high)
    q = h.number(shape_per_record, "shape-per-record")
    r, s, k = h.tempering(power, strength, draws)
    h.holds(form in ("pure", "bounded range"), "form", given=form)
    off = h.number(log_error, "log-error")
    move = r * top
    # The ends of the drawn range are floats: each may be off by a few of its last digits.
    most = move * (high - low) * (1 + 1e-15) + 2.0**-49 * move * high
    if form == "bounded range":
        return h.guarantee(k * BoundedRange(most + 4 * off), unit=unit, draws=k)
    after, least = s * a + r * count * q, s * b
    slow = _gamma_supremum(after, least, move, low, low, high)
    fast = _gamma_supremum(after, least + move * count, -move, high, low, high)
    return h.guarantee(k * Pure(min(most, max(slow, fast)) + 2 * off), unit=unit, draws=k)


def _gamma_supremum(shape: float, rate: float, move: float, edge: float, lower: float, upper: float) -> float:
    """-log E[exp(-move (theta - edge))], theta ~ Gamma(shape, rate) on [lower, upper], rounded up.

    Two integrals, each about its own mode c (clipped to the range) in u = log(theta/c), and the difference of their
    heights, whose terms are kept apart: a rounding is at most 2^-52 of a term, and of shape |u| <= 100 sqrt(shape) + 100
    inside an integral.
    """
    moved = rate + move
    first, second = (min(max(shape / x, lower), upper) for x in (rate, moved))
    step = second - first
    heights = (shape * math.log1p(step / first), -rate * step, -move * (second - edge))
    integrals = (_log_gamma_integral(shape, x, c, lower, upper) for x, c in ((moved, second), (rate, first)))
    value = math.fsum(heights) + next(integrals) - next(integrals)
    lost = 1e-11 * (1 + abs(move) * (upper - lower)) + 2.0**-48 * (
        math.fsum(map(abs, heights)) + 100 * math.sqrt(shape) + 100 + abs(move) * upper
    )
    return -value + lost


def _log_gamma_integral(shape: float, rate: float, centre: float, lower: float, upper: float) -> float:
    """Log of the integral of exp(shape u - rate centre expm1(u)) over lower <= centre e^u <= upper."""
    beyond = rate * centre - shape

    def log_density(u: Array) -> Array:
        grown = np.expm1(np.minimum(u, 700.0))
        value: Array = shape * (u - grown) - beyond * grown
        return value

    ends = (math.log1p((lower - centre) / centre), math.log1p((upper - centre) / centre))
    return _log_integral(log_density, ends, 0.0, -math.log(rate) - math.log(centre))
