"""Finite families under a distance: the assumptions of posterior sampling, evaluated by enumeration.

A family is a table log p_theta(x), one row per parameter and one column per POSSIBLE data set, with a table of
distances rho(x, y) and a prior. Everything here is a public fact about the family: no observed data enter.
Examples 1 and 2 and Figure 1 of the paper (the Bernoulli grid) are the first use.

Source: Dimitrakakis et al. 2017, Assumptions 1 and 2, Theorem 6, section 2.2.2. Proofs: docs/proofs/metric_finite.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.theorems._hypotheses import Hypotheses, Hypothesis

Array = NDArray[np.float64]
_SOURCE = "Dimitrakakis et al. 2017, "
_TINY_GAP = 1e-9  # log ratios closer than this count as equal: what rounding may leave of an exact equality


_SOME_SMOOTH = Hypothesis("", "some smooth parameter", "l", "finite somewhere", "Widen the family.", "likelihood")
_ALL_SMOOTH = Hypothesis(
    "", "finite Lipschitz constants", "l", "finite where the prior has mass",
    "Exclude the parameters 0 and 1 (bernoulli_grid) or use smooth_prior.", "likelihood",
)  # fmt: skip
_OFFSET = Hypothesis("", "offset at least the smallest Lipschitz constant", "L0", "at least {}",
                     "Below it the mass is 0 and no c > 0 exists.")  # fmt: skip
_POSSIBLE = Hypothesis("", "possible data sets", "phi(x)", "greater than 0 for each data set",
                       "Leave out data sets that no parameter of the prior can produce.", "likelihood")  # fmt: skip
_PRIOR = Hypothesis("", "prior", "xi", "one probability per parameter, summing to 1", "Normalise it.", "prior")
_TABLE = Hypothesis("", "table of log likelihoods", "log p", "a table (parameter, data set) of numbers below infinity",
                    "List every possible data set once.", "likelihood")  # fmt: skip


class Concentration(NamedTuple):
    """prior{l > t} <= exp(-concentration (t - offset)) for every t >= offset: (c, L0) of Assumption 2."""

    concentration: float
    offset: float


def bernoulli_grid(*, step: float) -> Array:
    """Parameters k Delta strictly between 0 and 1 (Example 1), where l(theta) = |log(theta/(1-theta))| per bit.

    0 and 1 are left out: there l is infinite. For 1/Delta a whole number L = ln((1-Delta)/Delta), a little below the
    printed ln(1/Delta); otherwise the last parameter is nearer to 1 than Delta and even the printed value is too small.
    `step` is Delta. Source: Dimitrakakis et al. 2017, Example 1.
    """
    h = Hypotheses("Bernoulli grid", _SOURCE + "Example 1")
    delta = h.number(step, "step of the grid", "Delta", "in (0, 1)", "Choose a step such as 0.2.")
    parts = round(1 / delta)
    if parts > 1 and abs(parts * delta - 1) < 1e-9:
        return np.array([k / parts for k in range(1, parts)])
    return np.array([delta * k for k in range(1, math.floor(1 / delta) + 1)])


def lipschitz_constants(*, log_likelihood: ArrayLike, distances: ArrayLike) -> Array:
    """l(theta) = max over x, y of |log p_theta(x) - log p_theta(y)| / rho(x, y), equation (2), for every theta.

    Infinite where some data set has probability 0, or where two data sets at distance 0 have different likelihoods.
    `log_likelihood` is the table log p_theta(x), `distances` the table rho(x, y).
    Source: Dimitrakakis et al. 2017, equation (2).
    """
    table, rho = _family(Hypotheses("Lipschitz constants", _SOURCE + "equation (2)"), log_likelihood, distances)
    constants = np.zeros(len(table))
    for k, row in enumerate(table):
        if np.isneginf(row).any():
            constants[k] = math.inf
            continue
        gaps = np.abs(row[:, None] - row[None, :])
        apart = rho > 0
        constants[k] = math.inf if (gaps[~apart] > _TINY_GAP).any() else np.max(gaps[apart] / rho[apart], initial=0.0)
    return constants


def smooth_prior(*, constants: ArrayLike, prior: ArrayLike | None = None, rate: float = 1.0) -> Array:
    """Prior proportional to base(theta) exp(-rate l(theta)) (Example 2): less mass where the likelihood is sensitive.

    A parameter whose l is infinite gets none. The tail of l then falls `rate` faster, which raises c of Assumption 2.
    `constants` are l(theta), `prior` the base (uniform by default), `rate` 0 or more.
    Source: Dimitrakakis et al. 2017, Example 2.
    """
    h = Hypotheses("prior weighted by smoothness", _SOURCE + "Example 2")
    l, base = _weights(h, constants, prior)
    speed = h.number(rate, "rate of the weight", "rate", "finite and 0 or greater", "Choose 0 or more.")
    finite = np.isfinite(l)
    h.holds(bool((base[finite] > 0).any()), _SOME_SMOOTH, given="none")
    weights = np.where(finite, base * np.exp(-speed * (np.where(finite, l, 0.0) - l[finite].min())), 0.0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def smooth_mass(*, constants: ArrayLike, lipschitz: float, prior: ArrayLike | None = None) -> float:
    """xi(Theta_L), the prior mass of {theta : l(theta) <= L}: the thick lines of Figure 1.

    `constants` are l(theta), one per parameter; `lipschitz` is L; `prior` is xi, uniform by default. A prior restricted to
    Theta_L satisfies Assumption 1 with this L.
    Source: Dimitrakakis et al. 2017, equation (4).
    """
    h = Hypotheses("mass of the smooth parameters", _SOURCE + "equation (4)")
    l, weights = _weights(h, constants, prior)
    level = h.number(lipschitz, "Lipschitz level", "L", "finite and 0 or greater", "Choose 0 or more.")
    return min(1.0, math.fsum(weights[l <= level]))


def best_concentration(
    *, constants: ArrayLike, prior: ArrayLike | None = None, offset: float | None = None, weight: float = 1.0
) -> Concentration:
    """Return the largest c for an offset L0; without one, the pair (c, L0) with the smallest L0 + weight/c.

    With a tail S_j = prior{l >= l_j}, the largest c is min over l_j > L0 of -ln(S_j)/(l_j - L0), because between two
    values of l the mass is constant and the exponential is lowest at the right end. L0 below the smallest l leaves
    c = 0 and is refused. `weight` 1 minimises the bound L0 + 1/c on the prior mean of l; 1 + ln C the cost of a draw.
    The thin lines of Figure 1 are 1 - exp(-c (L - L0)); c is rounded down.
    """
    h = Hypotheses("stochastic Lipschitz bound of a finite family", _SOURCE + "equation (5), Figure 1")
    l, mass = _weights(h, constants, prior)
    h.holds(bool(np.isfinite(l[mass > 0]).all()), _ALL_SMOOTH, given="an infinite one")
    values = np.unique(l[mass > 0])
    tails = np.array([math.fsum(mass[l >= value]) for value in values])
    a = h.number(weight, "weight of 1/c", "weight", "finite and greater than 0", "Choose a positive weight.")
    if offset is not None:
        start = h.number(offset, "Lipschitz offset", "L0", "finite and 0 or greater", "Choose 0 or more.")
        h.holds(start >= values[0], _OFFSET, given=start, bound=f"{values[0]:.6g}")
        return Concentration(_largest(values, tails, start), start)
    # L0 + weight * max_j (l_j - L0)/(-ln S_j) is convex in L0; every L0 gives a sound pair, so a search cannot harm.
    low, high = float(values[0]), float(values[-1])
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if left + a / _largest(values, tails, left) <= right + a / _largest(values, tails, right):
            high = right
        else:
            low = left
    candidates = [float(values[0]), low, high, float(values[-1])]
    best = min(candidates, key=lambda start: start + a / _largest(values, tails, start))
    return Concentration(_largest(values, tails, best), best)


def log_ratio(*, log_likelihood: ArrayLike, prior: ArrayLike) -> float:
    """Logarithm of C = max over x and theta of p_theta(x)/phi(x) (equation (9)), rounded up; never below 0.

    `log_likelihood` is the table log p_theta(x) of the whole data set, `prior` is xi, and phi(x) = sum_theta xi(theta)
    p_theta(x) is the marginal likelihood.
    Source: Dimitrakakis et al. 2017, equation (9).
    """
    h = Hypotheses("maximal over marginal likelihood", _SOURCE + "equation (9)")
    table, _ = _family(h, log_likelihood, None)
    _, mass = _weights(h, np.zeros(len(table)), prior)
    marginal = _log_marginal(h, table, mass)
    return max(0.0, float(np.max(table - marginal)) + 1e-12)


def necessary_condition(
    *, log_likelihood: ArrayLike, prior: ArrayLike, distances: ArrayLike, lipschitz: float
) -> list[tuple[int, int]]:
    """Ordered pairs (x, y) that prove a posterior NOT (2L, 0)-private under rho; empty if none is found (Theorem 6).

    A pair is such a proof when sup_theta ln p_theta(x)/p_theta(y) > L rho AND ln phi(y)/phi(x) > L rho: the sum of the
    two is the log ratio of the posteriors at that theta. An empty list proves nothing: the second inequality alone is
    too weak. (The paper's proof ends with "not L-differentially private"; its argument gives 2L.)
    """
    h = Hypotheses("necessary condition", _SOURCE + "Theorem 6")
    table, rho = _family(h, log_likelihood, distances)
    _, mass = _weights(h, np.zeros(len(table)), prior)
    level = h.number(lipschitz, "Lipschitz level", "L", "finite and 0 or greater", "Choose 0 or more.")
    table = table[mass > 0]
    marginal = _log_marginal(h, table, mass[mass > 0])
    with np.errstate(invalid="ignore"):  # impossible under both: such a theta is in neither posterior
        steepest = np.nanmax(table[:, :, None] - table[:, None, :], axis=0)
    falls = marginal[None, :] - marginal[:, None]
    broken = (steepest > level * rho + _TINY_GAP) & (falls > level * rho + _TINY_GAP)
    return [(int(x), int(y)) for x, y in np.argwhere(broken)]


def insufficient_pairs(
    *, log_likelihood: ArrayLike, distances: ArrayLike, prior: ArrayLike | None = None
) -> list[tuple[int, int]]:
    """Pairs x < y at distance 0 that a draw can tell apart: with one, no (eps, delta) holds under rho (section 2.2.2).

    Without a prior the LIKELIHOODS are compared: the statistic behind rho must be sufficient for either assumption.
    With one the POSTERIORS are (Bayes-sufficient, which Definition 2 itself needs): likelihoods may be proportional.
    `distances` is the table rho(x, y). Source: Dimitrakakis et al. 2017, section 2.2.2.
    """
    h = Hypotheses("sufficiency of the distance", _SOURCE + "section 2.2.2")
    table, rho = _family(h, log_likelihood, distances)
    if prior is not None:
        _, mass = _weights(h, np.zeros(len(table)), prior)
        table = table[mass > 0] - _log_marginal(h, table[mass > 0], mass[mass > 0])
    close = [(x, y) for x in range(len(rho)) for y in range(x + 1, len(rho)) if rho[x, y] == 0]
    return [(x, y) for x, y in close if not np.allclose(table[:, x], table[:, y], rtol=0, atol=_TINY_GAP)]


def _largest(values: Array, tails: Array, offset: float) -> float:
    above = values > offset
    if not above.any():
        return 1e300  # no parameter is above the offset: every c holds
    return float(np.min(-np.log(tails[above]) / (values[above] - offset))) * (1 - 1e-12)


def _log_marginal(h: Hypotheses, table: Array, mass: Array) -> Array:
    """Log of phi(x) = sum_theta xi(theta) p_theta(x), without underflow."""
    with np.errstate(divide="ignore"):
        terms = table + np.log(mass)[:, None]
    top = np.max(terms, axis=0)
    h.holds(bool(np.isfinite(top).all()), _POSSIBLE, given="0 somewhere")
    return np.asarray(top + np.log(np.sum(np.exp(terms - top), axis=0)), dtype=np.float64)


def _weights(h: Hypotheses, constants: ArrayLike, prior: ArrayLike | None) -> tuple[Array, Array]:
    l = np.asarray(constants, dtype=np.float64)
    mass = np.full(l.shape, 1 / max(l.size, 1)) if prior is None else np.asarray(prior, dtype=np.float64)
    proper = mass.shape == l.shape and l.ndim == 1 and (mass >= 0).all() and abs(mass.sum() - 1) < 1e-9
    h.holds(bool(proper), _PRIOR, given=mass.shape)
    return l, mass / math.fsum(mass)


def _family(h: Hypotheses, log_likelihood: ArrayLike, distances: ArrayLike | None) -> tuple[Array, Array]:
    table = np.asarray(log_likelihood, dtype=np.float64)
    h.holds(table.ndim == 2 and not np.isnan(table).any() and not np.isposinf(table).any(), _TABLE, given=table.shape)
    shape = (table.shape[1], table.shape[1])
    rho = np.zeros(shape) if distances is None else np.asarray(distances, dtype=np.float64)
    valid = rho.shape == shape and bool((rho >= 0).all()) and bool((rho == rho.T).all()) and not rho.diagonal().any()
    h.holds(valid, "pseudo-metric", "rho", "symmetric, 0 or greater and 0 on the diagonal", rho.shape, "Check rho.")
    return table, rho
