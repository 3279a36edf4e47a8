"""Rejection with a public number of trials: what failing costs, and how often a trial must succeed on every data set.

A trial proposes a point of a public lattice from an envelope of exp(-U_D) and keeps it with the probability that makes a
kept point an exact draw. K trials are all run and the first kept point is released, a public point if there is none. If
every trial succeeds with probability at least p, whatever the data, the release is within (1 - p)^K of the exact draw.

That distance is a slack of (epsilon, delta) (`bounded_trials`), or it is paid for by a public share of uniform draws on the
same lattice (`uniform_share`): then the release is pure, with no delta at all.

The envelope is built at a lattice point near the minimum of U_D, where the gradient is h + r: h points out of no side of
the domain (h.t >= 0 for every t that stays inside), |r| is small. With t = theta - that point and any 0 < k < 1,

    h.t + (1 - k) m |t|^2/2 - |r|^2/(2 k m)  <=  U - U(point)  <=  h.t + (M + k m) |t|^2/2 + |r|^2/(2 k m).

Derivations: docs/proofs/rejection.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sfumato.privacy.curves import BoundedRange, Curve, Pure
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.statements import joined
from sfumato.theorems._common import COUNT, NOT_NEGATIVE, POSITIVE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems.inexact import approximate_sampler

SOURCE = "von Neumann 1951; strong convexity and smoothness as in Minami et al. 2016, Proposition 13"
_FINE = Hypothesis("", "a lattice finer than the narrowest posterior", "M g^2", "at most 1", "Use a finer lattice.")
_FINER = Hypothesis("", "a lattice finer than the ball", "R - g sqrt(d)/2", "greater than 0", "Use a finer one.")
# Roundings of the sums and special functions below, all relative, to the unfavourable side.
_DOWN, _UP = 1 - 1e-9, 1 + 1e-9
# Probabilities that underflow are rounded up to this.
_LEAST = 1e-300


theorem(
    "rejection.bounded_trials", "rejection with a public number of trials", SOURCE,
    Hypothesis("acceptance", "success of one trial", "p", "in (0, 1]", "Use a public lower bound above 0.", "sampler"),
    Hypothesis("trials", "number of trials", "K", COUNT, "Run at least one trial."),
    Hypothesis("trial-error", "total variation of one trial", "e", "in [0, 1]", "Give a distance in [0, 1]."),
)  # fmt: skip


def bounded_trials(
    guarantee: Guarantee, *, acceptance: float, trials: int, trial_error: float = 0.0, every_data_set: bool
) -> Guarantee:
    """The guarantee of exact draws, weakened for `trials` K that each succeed with probability at least `acceptance` p.

    gamma = (1 - p)^K + K e of one draw, where `trial_error` e bounds the total variation between one trial as it runs and
    as it is meant; N draws carry N gamma (Proposition 12).
    `every_data_set` declares that p holds for each data set. Source: Minami et al. 2016, Proposition 12.
    """
    h = Hypotheses("rejection.bounded_trials")
    p = h.number(acceptance, "acceptance")
    k = h.count(trials, "trials")
    e = h.number(trial_error, "trial-error")
    missed = math.exp(k * math.log1p(-p)) if p < 1 else 0.0
    gamma = min(1.0, (missed + k * e) * (1 + 1e-12))
    weakened = approximate_sampler(guarantee, total_variation=gamma, every_data_set=every_data_set)
    return replace(weakened, assumptions=weakened.assumptions + h.stated()[2])


theorem(
    "rejection.uniform_share", "rejection and a public share of uniform draws", SOURCE,
    Hypothesis("every-data-set", "total variation bounded for every data set", "sup_D TV", "True",
               "A diagnostic on the data at hand is no such bound.", "sampler"),
    Hypothesis("share", "share of uniform draws", "eta", "in (0, 1)", "Choose a public share such as 2^-20."),
    Hypothesis("points", "points of the public lattice", "N", COUNT, "Count all points that may be released."),
    Hypothesis("total-variation", "total variation of one draw", "gamma", "in [0, 1]", "Give a distance in [0, 1]."),
    Hypothesis("exact", "one draw of an exact mechanism", "exact", "one draw with a pure or bounded-range curve and no slack",
               "Give the guarantee of one exact draw; several are composed afterwards."),
    Hypothesis("small", "slack against the uniform share", "r = gamma N (1 - eta)/eta", "at most 1",
               "Run more trials, or use a lattice of fewer points."),
)  # fmt: skip


def uniform_share(
    guarantee: Guarantee, *, share: float, points: int, total_variation: float, every_data_set: bool
) -> Guarantee:
    """The guarantee of one exact draw, for (1 - eta) of a sampler within gamma of it and eta of a uniform draw.

    The exact law lives on a public set of `points` N, the same for every data set, and so does what the sampler returns.
    `share` is eta and `total_variation` gamma. With r = gamma N (1 - eta)/eta, one draw that is pure eps becomes pure

        log max(e^eps, 1 + r (1 + e^eps)),     which is eps itself where r <= tanh(eps/2),

    and one of bounded range eps gets the range eps + log(1 + 2 r) + max(0, log((1 + r) e^-eps + r)), whose last term is 0
    under the same condition. Rounded up. Source: docs/proofs/rejection.md.
    """
    h = Hypotheses("rejection.uniform_share")
    h.flag(every_data_set, "every-data-set")
    eta, count = h.number(share, "share"), h.count(points, "points")
    gamma = h.number(total_variation, "total-variation")
    curve = guarantee.curve
    exact = isinstance(curve, Pure | BoundedRange) and guarantee.slack == 0 and guarantee.draws == 1
    h.holds(exact, "exact", given=f"{guarantee.draws} draw(s), slack {guarantee.slack:.3g}, {curve!r}")
    log_ratio = math.log(max(gamma, _LEAST)) + math.log(count) + math.log1p(-eta) - math.log(eta)
    h.holds(log_ratio <= 0, "small", given=math.exp(min(log_ratio, 700.0)))
    # A sum of logarithms of up to 1e4 is off by less than 1e-11.
    better = _shared(curve, math.exp(log_ratio) * _UP)
    name, source, assumptions = h.stated()
    return replace(
        guarantee,
        curve=better,
        theorem=joined(guarantee.theorem, name),
        source=joined(guarantee.source, source),
        assumptions=guarantee.assumptions + assumptions,
    )


def _shared(curve: Curve, ratio: float) -> Curve:
    """The curve of one draw after the mixture, at r = `ratio`."""
    bound: float = curve.epsilon(0.0)
    # log((1 + r) e^-eps + r): how far the mixture's log ratio may exceed eps, if positive.
    beyond = max(0.0, math.log1p(ratio * (1 + math.exp(-bound)) + math.expm1(-bound)))
    if isinstance(curve, BoundedRange):
        return BoundedRange((bound + math.log1p(2 * ratio) * _UP + beyond * _UP) * (1 + 16 * UNIT))
    return Pure((bound + beyond * _UP) * (1 + 16 * UNIT)) if beyond else curve


def uniform_trials(
    guarantee: Guarantee,
    *,
    share: float,
    points: int,
    acceptance: float,
    trials: int,
    trial_error: float,
    every_data_set: bool,
) -> Guarantee:
    """`uniform_share` for a draw by `trials` K that each succeed with probability at least `acceptance` p.

    gamma = (1 - p)^K + K e, as in `bounded_trials`, where `trial_error` e bounds the total variation of one trial; what
    underflows is rounded up to 1e-300. `share` is eta, `points` N, and `every_data_set` declares that p holds for each.
    Source: docs/proofs/rejection.md.
    """
    h = Hypotheses("rejection.bounded_trials")
    p, k, e = h.number(acceptance, "acceptance"), h.count(trials, "trials"), h.number(trial_error, "trial-error")
    # The exponent may be off by a relative 1e-15, which its exponential multiplies by its size.
    missed = max(math.exp(k * math.log1p(-p) * (1 - 1e-14)), _LEAST) if p < 1 else 0.0
    gamma = min(1.0, (missed + k * e) * (1 + 1e-12))
    pure = uniform_share(guarantee, share=share, points=points, total_variation=gamma, every_data_set=every_data_set)
    return replace(pure, assumptions=pure.assumptions + h.stated()[2])


def variation_paid(*, share: float, points: int, ratio: float) -> float:
    """The total variation gamma = r eta/(N (1 - eta)) at which `uniform_share` has r = `ratio`, rounded down.

    `share` is eta and `points` N; a sampler within gamma of the exact law, on every data set, then adds log(1 + 2 r) to a
    bounded range. The answer is 0 where it would be smaller than every float.
    Source: docs/proofs/rejection.md.
    """
    h = Hypotheses("rejection.uniform_share")
    eta, count = h.number(share, "share"), h.count(points, "points")
    h.holds(0 < ratio <= 1, "small", given=ratio)
    logs = math.log(ratio) + math.log(eta) - math.log(count) - math.log1p(-eta)
    return math.exp(logs) * _DOWN if logs > -680 else 0.0


def trials_needed(*, acceptance: float, failure: float) -> int:
    """Smallest K with (1 - p)^K at most `failure`: the ceiling of log(failure)/log(1 - p).

    `acceptance` is p, a public lower bound on the success of one trial, and `failure` the total variation that K trials may
    add to a draw. The quotient is rounded up before the ceiling, so that K is never one too few.
    Source: docs/proofs/rejection.md.
    """
    h = Hypotheses("trials for a failure probability", SOURCE)
    p = h.number(acceptance, "success of one trial", "p", "in (0, 1]", "Use a public lower bound above 0.")
    target = h.number(failure, "failure probability", "(1 - p)^K", "in (0, 1)", "Ask for a positive probability.")
    return 1 if p == 1 else max(1, math.ceil(math.log(target) / math.log1p(-p) * (1 + 1e-12)))


def box_acceptance(
    *, strong_convexity: float, smoothness: float, spacings: Sequence[float], steps: Sequence[int], gap: float = 0.0
) -> float:
    """Success of a trial on a box: exp(-gap) prod_i T_i(M)/T_i(m), T_i(c) = 1/2 + sum_{j=1}^{J_i} exp(-c g_i^2 j^2/2).

    `strong_convexity` m and `smoothness` M are those of the two bounds above, k included; g_i are the lattice's `spacings`
    and J_i the `steps` from side to side. `gap` is the sum of all constants between the bounds. The proposal has independent
    coordinates with weights exp(-h_i t_i - m t_i^2/2) on the points of side i. Rounded down.
    """
    m, big_m, exponent = _constants(strong_convexity, smoothness, gap)
    h = Hypotheses("success of a trial on a box", SOURCE)
    h.holds(len(spacings) == len(steps) >= 1, "sides", "d", "a spacing and steps for each", len(spacings), "Give both.")
    log_ratio = 0.0
    for spacing, count in zip(spacings, steps, strict=True):
        g = h.number(spacing, "grid spacing", "g", POSITIVE, "Choose a public positive spacing.")
        j = h.count(count, "steps across a side", "J", 1, "Use two points a side or more.")
        log_ratio += math.log(_half_sum(big_m * g * g, j)) - math.log(_half_sum(m * g * g, j))
    return math.exp(log_ratio - exponent) * _DOWN


def ball_acceptance(
    *,
    strong_convexity: float,
    smoothness: float,
    spacing: float,
    dimension: int,
    radius: float,
    distance: float,
    gap: float = 0.0,
) -> float:
    """Success of a trial on a ball that holds the minimum of every data set, so that h = 0: with A = M (1 + M g^2/6),

    exp(-gap) [sqrt(2 pi/(A g^2))/(1 + sqrt(2 pi/(m g^2)))]^d P(|N(z, 1/A)| <= R - g sqrt(d)/2),  |z| = `distance`.

    `distance` bounds how far the envelope's centre is from the ball's. The proposal is the discrete Gaussian exp(-m |t|^2/2)
    on the lattice of the cube around the ball; points outside the ball are thrown away. Rounded down.
    """
    from scipy import stats

    m, big_m, exponent = _constants(strong_convexity, smoothness, gap)
    h = Hypotheses("success of a trial on a ball", SOURCE)
    g, d, inside, z = _lattice_of_ball(h, big_m, spacing, dimension, radius, distance)
    a = big_m * (1 + big_m * g * g / 6)
    ratio = math.sqrt(2 * math.pi / (a * g * g)) / (1 + math.sqrt(2 * math.pi / (m * g * g)))
    if z > 0:
        mass = float(stats.ncx2.cdf(a * inside * inside, d, a * z * z))
    else:
        mass = float(stats.chi2.cdf(a * inside * inside, d))
    # The series of a non-central law loses a few digits; what it loses is far below this.
    return max(0.0, ratio**d * (mass - 1e-12) * math.exp(-exponent) * (1 - 1e-6))


def traced_acceptance(
    *,
    strong_convexity: float,
    smoothness: float,
    common: float,
    trace: float,
    spacing: float,
    dimension: int,
    radius: float,
    distance: float,
    gap: float = 0.0,
) -> float:
    """Success of a trial on a ball, U - U(point) being at most t'Qt/2 with Q = q I + B, B >= 0 and tr B <= T.

    With s = 1 + M g^2/6 and R' = R - g sqrt(d)/2 it is exp(-gap) [sqrt(2 pi/(s g^2 (q + T/d)))/(1 + sqrt(2 pi/(m g^2)))]^d
    times the larger of F(s q (R' - |z|)^2) and F(s q (R'^2 - |z|^2))/2, F the chi-square law of d degrees of freedom.

    `common` is q and `trace` T; `smoothness` M bounds the eigenvalues of Q, and the rest is as in `ball_acceptance`. The
    determinant of Q is largest when B spreads its trace evenly: about (1 + T/(d q))^(-d/2), never below exp(-T/(2q)),
    where a bound on the eigenvalues alone leaves (q/M)^(d/2). Rounded down.
    """
    from scipy import stats

    m, big_m, exponent = _constants(strong_convexity, smoothness, gap)
    h = Hypotheses("success of a trial on a ball", SOURCE)
    q = h.number(common, "curvature common to all directions", "q", POSITIVE, "Give the prior a positive precision.")
    h.holds(m <= q <= big_m, "common curvature between the two", "m <= q <= M", f"up to {big_m:.6g}", q, "Check them.")
    total = h.number(trace, "trace of the remaining curvature", "T", NOT_NEGATIVE, "Use a smooth loss.")
    g, d, inside, z = _lattice_of_ball(h, big_m, spacing, dimension, radius, distance)
    s = 1 + big_m * g * g / 6
    ratio = math.sqrt(2 * math.pi / (s * g * g * (q + total / d))) / (1 + math.sqrt(2 * math.pi / (m * g * g)))
    room = max(inside - z, 0.0)
    whole = float(stats.chi2.cdf(s * q * room * room, d))
    half = 0.5 * float(stats.chi2.cdf(s * q * room * (inside + z), d))
    return max(0.0, ratio**d * (max(whole, half) - 1e-12) * math.exp(-exponent) * (1 - 1e-6))


def _constants(strong_convexity: float, smoothness: float, gap: float) -> tuple[float, float, float]:
    """Check the two curvatures and the gap between the bounds."""
    h = Hypotheses("envelope of a strongly convex potential", SOURCE)
    m = h.number(strong_convexity, "curvature of the envelope", "m", POSITIVE, "Give the prior a positive precision.")
    big_m = h.number(smoothness, "smoothness of the potential", "M", POSITIVE, "Use a smooth loss.")
    h.holds(m <= big_m, "smoothness at least strong convexity", "m <= M", f"at most M = {big_m:.6g}", m, "Check them.")
    constant = h.number(gap, "gap between the bounds", "gap", NOT_NEGATIVE, "Give a finite gap.")
    return m, big_m, constant * (1 + 4 * UNIT)


def _lattice_of_ball(
    h: Hypotheses, big_m: float, spacing: float, dimension: int, radius: float, distance: float
) -> tuple[float, int, float, float]:
    """Check a lattice of a ball: its spacing, dimension, the radius that its cells cover, and how far the centre is."""
    g = h.number(spacing, "grid spacing", "g", POSITIVE, "Choose a public positive spacing.")
    h.holds(big_m * g * g <= 1, _FINE, given=big_m * g * g)
    d = h.count(dimension, "dimension", "d", 1, "State the number of coordinates.")
    inside = h.number(radius, "radius of the ball", "R", POSITIVE, "Truncate the prior.") - g * math.sqrt(d) / 2
    h.holds(inside > 0, _FINER, given=inside)
    z = h.number(distance, "distance of the envelope's centre", "|z|", NOT_NEGATIVE, "Bound it.")
    return g, d, inside, z


def _half_sum(curvature: float, steps: int) -> float:
    """1/2 + sum_{j=1}^{J} exp(-curvature j^2/2)."""
    import numpy as np

    j = np.arange(1, steps + 1, dtype=np.float64)
    return 0.5 + float(np.exp(-0.5 * curvature * j * j).sum())
