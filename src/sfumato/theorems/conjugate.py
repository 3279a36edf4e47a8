"""Posterior draws of conjugate families: the Renyi formula, where it ends, the worst neighbours and the exact profile.

Members of an exponential family with log-partition C have

    D_a(P||Q) = (C(a eta_P + (1-a) eta_Q) - a C(eta_P))/(a-1) + C(eta_Q),

infinite when the mixed parameter is not normalisable: for the families here from order lambda* = 1 + min(cell)/power on.
The draw is "direct" at power 1 and strength 1, "diffused" at power r < 1 (the data times r) and "concentrated" at
strength s > 1 (the prior times s, Geumlek's 1/m). In one dimension the log ratio is monotone, so the whole profile
delta(eps) is exact and no Renyi order need be chosen.

Source: Geumlek et al. 2017, section 3 (Algorithms 1 to 3, Theorems 12 to 15); profiles, worst pairs and certificate are
derived in docs/proofs/conjugate.md, where the paper's worst cases (vertices; n for r n) are shown to understate the cost.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce

from sfumato.errors import ArgumentError
from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.profiles import Profile
from sfumato.theorems._common import ALPHA, BETA, GAMMA, LOG_ERROR, POSITIVE, RECORDS, SHAPE, TEMPERING, TRIALS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

SOURCE = "Geumlek et al. 2017, section 3, with the exact profile"


def exponential_family_renyi(
    log_partition: Callable[[Sequence[float]], float], eta_p: Sequence[float], eta_q: Sequence[float], order: float
) -> float:
    """Renyi divergence of order a > 1 between two members of an exponential family (Geumlek equation (5)).

    `log_partition` is C (for Beta: log Gamma terms, not Gamma as printed); it returns `math.inf` outside its domain.
    D_a(P||Q) = (C(a eta_P + (1-a) eta_Q) - a C(eta_P))/(a-1) + C(eta_Q); `eta_p` and `eta_q` are the natural parameters,
    `order` is a. Infinite where the mixed parameter is not normalisable.
    """
    if not order > 1:
        raise ArgumentError(f"order must be greater than 1; got {order!r}.")
    mixed = [order * p + (1 - order) * q for p, q in zip(eta_p, eta_q, strict=True)]
    top = log_partition(mixed)
    return math.inf if top == math.inf else (top - order * log_partition(eta_p)) / (order - 1) + log_partition(eta_q)


def largest_order(cells: Sequence[float], power: float = 1.0, strength: float = 1.0) -> float:
    """lambda* = 1 + strength min(cells)/power: the Renyi divergence is finite below it and infinite at it.

    `cells` are the prior parameters that one record can move, `power` is r and `strength` s. At order a the mixed parameter
    of the worst pair is s x - (a - 1) r for the smallest cell x, which must stay positive.
    Source: Geumlek et al. 2017, section 3.
    """
    return 1.0 + strength * min(cells) / power


def _profile(h: Hypotheses, name: str, log_error: float, **values: float) -> Profile:
    """A registered profile, with the stated error of a draw's log probability where there is one."""
    if log_error != 0:
        values["error"] = h.number(log_error, "log-error")
    return Profile(name, values)


theorem(
    "conjugate.beta_bernoulli", "exact profile (Beta-Bernoulli)", SOURCE,
    ALPHA, BETA, RECORDS, TRIALS, *TEMPERING, LOG_ERROR,
)  # fmt: skip


def beta_bernoulli(
    *,
    alpha: float,
    beta: float,
    n: int,
    trials: int = 1,
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of Beta(s alpha + r k, s beta + r (n m - k)), k ones among n records of m bits (`trials`), one record replaced.

    Worst pairs: the other records all zeros or all ones, the replaced one all its bits; proved for Renyi by convexity,
    certified for the profile by blocks. `log_error` bounds how far the log of a drawn point's mass is from the exact one.
    `power` is r, `strength` s; N `draws` are priced as one convolved profile. Source: Geumlek et al. 2017, section 3.
    """
    h = Hypotheses("conjugate.beta_bernoulli")
    a, b = h.numbers(alpha=alpha, beta=beta)
    count, bits = h.counts(records=n, trials=trials)
    r, s, k = h.tempering(power, strength, draws)
    several = {"trials": bits} if bits > 1 else {}
    curve = _profile(h, "beta-bernoulli", log_error, alpha=a * s, beta=b * s, n=count, power=r, draws=k, **several)
    return h.guarantee(curve, unit=unit, draws=k)


theorem("conjugate.beta_any_n", "exact profile (Beta-Bernoulli, any n)", SOURCE, ALPHA, BETA, *TEMPERING)


def beta_any_n(
    *, alpha: float, beta: float, power: float = 1.0, strength: float = 1.0, draws: int = 1, unit: str = "row"
) -> Guarantee:
    """The same for every n at once: Beta(alpha + r, beta) against Beta(alpha, beta + r) dominates every pair.

    Draws of Beta(s alpha + r k, s beta + r (n - k)), k ones among any number n of bits, one bit replaced. Adding the other
    records' independent Gammas to both cells is post-processing of that pair. Arguments as for `beta_bernoulli`.
    Source: docs/proofs/conjugate.md.
    """
    h = Hypotheses("conjugate.beta_any_n")
    a, b = h.numbers(alpha=alpha, beta=beta)
    r, s, k = h.tempering(power, strength, draws)
    return h.guarantee(_profile(h, "beta-pair", 0.0, a=a * s, b=b * s, power=r, draws=k), unit=unit, draws=k)


theorem(
    "conjugate.dirichlet", "exact profile (Dirichlet-Categorical)", SOURCE,
    Hypothesis("categories", "number of categories", "K", "at least 3", "For two categories use beta_bernoulli."),
    Hypothesis("cell", "prior cell", "alpha", POSITIVE, "Use a proper prior: every cell > 0.", "prior"),
    *TEMPERING, LOG_ERROR,
)  # fmt: skip


def dirichlet(
    *,
    cells: Sequence[float],
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of a tempered Dirichlet posterior over K >= 3 categories, one record replaced, any n.

    The pair Beta(a_i + r, a_j) against Beta(a_i, a_j + r) of the two smallest prior cells dominates every neighbouring
    pair for every divergence: all other records may lie in a third cell, and adding an independent Gamma to a cell is
    post-processing. (The vertices of the parameter set, as printed, are not the worst case.)
    """
    h = Hypotheses("conjugate.dirichlet")
    h.holds(len(cells) >= 3, "categories", given=len(cells))
    for cell in cells:
        h.number(cell, "cell")
    r, s, k = h.tempering(power, strength, draws)
    small, next_small = sorted(map(float, cells))[:2]
    curve = _profile(h, "beta-pair", log_error, a=small * s, b=next_small * s, power=r, draws=k)
    return h.guarantee(curve, unit=unit, draws=k)


theorem(
    "conjugate.gamma_poisson", "exact profile (Gamma-Poisson)", SOURCE,
    SHAPE,
    Hypothesis("bound", "bound on a count", "B", POSITIVE, "Declare the largest count; larger ones are clipped.",
               "schema"),
    *TEMPERING, LOG_ERROR,
)  # fmt: skip


def gamma_poisson(
    *,
    shape: float,
    bound: float,
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of Gamma(s a + r sum x, s b + r n) for counts in [0, B]: worst Gamma(s a + r B) against Gamma(s a).

    `shape` is a, `bound` B the largest count (larger ones are clipped), `power` r, `strength` s; the rate s b + r n is public
    and cancels. Adding an independent Gamma to both is post-processing, so all other counts 0 is the worst case.
    Source: Geumlek et al. 2017, section 3.
    """
    h = Hypotheses("conjugate.gamma_poisson")
    a, top = h.numbers(shape=shape, bound=bound)
    r, s, k = h.tempering(power, strength, draws)
    curve = _profile(h, "gamma-shape", log_error, shape=a * s, shift=r * top, draws=k)
    return h.guarantee(curve, unit=unit, draws=k)


theorem("conjugate.gamma_rate", "exact profile (Gamma rate)", SOURCE, *GAMMA, *TEMPERING, LOG_ERROR)


def gamma_rate(
    *,
    shape: float,
    rate: float,
    n: int,
    bound: float,
    shape_per_record: float,
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of Gamma(s a + r n q, s b + r sum t) with record statistics t in [0, B]: rates s b against s b + r B.

    q = 1, t = x: exponential data. q = 1/2, t = (x - mean)^2/2: precision of a normal with known mean.
    `shape` is a, `rate` b, `bound` B, `shape_per_record` q, `power` r, `strength` s; the worst case has all other statistics 0.
    Source: docs/proofs/conjugate.md.
    """
    h = Hypotheses("conjugate.gamma_rate")
    a, b = h.numbers(shape=shape, rate=rate)
    count = h.count(n, "records")
    top, q = h.numbers(bound=bound, shape_per_record=shape_per_record)
    r, s, k = h.tempering(power, strength, draws)
    curve = _profile(h, "gamma-rate", log_error, shape=a * s + r * count * q, rate=b * s, shift=r * top, draws=k)
    return h.guarantee(curve, unit=unit, draws=k)


theorem(
    "conjugate.network", "exact profile (Bayesian network)", SOURCE,
    Hypothesis("nodes", "number of nodes", "K", "at least 1", "Name the nodes."),
    Hypothesis("cell", "smallest prior cell of a node", "x_k", POSITIVE, "Use a proper prior.", "prior"),
    *TEMPERING, LOG_ERROR,
)  # fmt: skip


def network(
    *,
    smallest_cells: Sequence[float],
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """One draw of every table of a discrete Bayesian network with Dirichlet priors, one record replaced.

    Dominated by the product over nodes k of Beta(x_k + r, x_k) against Beta(x_k, x_k + r), x_k the smallest prior cell of
    node k, whether or not the record changes its parents' configuration. N draws: times N. Tables by group, whose sizes are
    private, are the case of one node: a replaced record leaves one group's table and enters another's.
    `log_error` bounds the error of all tables of one draw together, and so that of each node's: it is charged to every
    node in full, because how it divides among them is not known here.
    """
    h = Hypotheses("conjugate.network")
    h.holds(len(smallest_cells) >= 1, "nodes", given=len(smallest_cells))
    for cell in smallest_cells:
        h.number(cell, "cell")
    r, s, k = h.tempering(power, strength, draws)
    counts = Counter(float(cell) * s for cell in smallest_cells)
    curves: list[Curve] = []
    for cell, times in counts.items():
        # Different cells enter as single draws, counted, so that all of them are convolved at once.
        alike, repeats = (k * times, 1) if len(counts) == 1 else (1, k * times)
        curves.append(repeats * _profile(h, "beta-pair", log_error, a=cell, b=cell, power=r, draws=alike))
    return h.guarantee(reduce(lambda x, y: x + y, curves), unit=unit, draws=k)
